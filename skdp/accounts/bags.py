"""What ensembles have spent that fit to samples of the rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import isinf
from typing import Any

import numpy as np
from sklearn import get_config
from sklearn.utils.validation import has_fit_parameter

from ..privacy.receipts import Receipt
from .findings import Findings

__all__ = ["in_bags"]


def in_bags(thing: Any, who: str, look: Callable[[Any, str], Findings]) -> Findings:
    """All fits of a bagging ensemble, each as often as it holds a row.

    Samples are drawn by public coins, so that it is public which rows a fit holds. A fit that holds
    a row k times, drawn with replacement, protects it as k rows are (see :meth:`Receipt.between`);
    one that does not hold it is post-processing for it. Where the fit takes ``sample_weight``,
    scikit-learn passes the numbers k as weights, which ``max_weight`` bounds whatever they are, so
    that each counts once.

    The spend is that of the row that costs most, exactly if all releases are Gaussian; else every
    fit counts as often as it holds the row that it holds most often.

    Parameters
    ----------
    thing : BaggingClassifier or BaggingRegressor
        Fitted.
    who : str
        Its name.
    look : callable
        Finds the fits in a part.
    """
    # A fit that fails on its way leaves an empty list behind.
    if not getattr(thing, "estimators_", ()):
        return Findings(refused=[f"{who} is not fitted"])
    if getattr(thing, "_sample_weight", None) is not None:
        return Findings(refused=[f"{who} draws its samples by sample_weight, which tells of rows"])
    parts = [look(part, f"{who}.estimators_[{k}]") for k, part in enumerate(thing.estimators_)]
    found = Findings()
    for part in parts:
        found.join(replace(part, receipts=[]))
    if thing.oob_score:
        found.leaks.append(f"{who} has exact scores in oob_score_; pass oob_score=False")
    if found.refused:
        return found
    counts = np.stack([np.bincount(s, minlength=thing._n_samples) for s in _samples(thing)])
    once = has_fit_parameter(thing.estimator_, "sample_weight")
    if once and not get_config()["enable_metadata_routing"]:
        counts = np.minimum(counts, 1)
    prices = [sum(r.gaussian_price() for r in part.receipts) for part in parts]
    exact = all(r.exact for part in parts for r in part.receipts)
    if exact and not any(map(isinf, prices)):
        row = int(np.argmax(np.asarray(prices) @ counts**2))
        times = counts[:, row]
    else:
        times = counts.max(axis=1)
    for part, k in zip(parts, times, strict=True):
        found.receipts += [_held(receipt, int(k)) for receipt in part.receipts if k]
    return found


def _samples(thing: Any) -> list[np.ndarray]:
    return list(thing.estimators_samples_)


def _held(receipt: Receipt, times: int) -> Receipt:
    return receipt if times == 1 else receipt.between(times)
