"""Validation of the arguments of an audit."""

from __future__ import annotations

from itertools import pairwise
from numbers import Integral, Real
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..model_selection.base import PrivateSearch
from ..privacy.adjacency import Adjacency
from ..privacy.queries.base import Query
from ..privacy.rows.base import RowStore
from ..validation import shown

SEES = ("auto", "answers", "model", "queries")

_STORES = ("first", "second")
# Fewer runs bound nothing.
_LEAST_RUNS = 10


def check_options(estimator: Any, *, runs: Any, calls: Any, confidence: float) -> None:
    """Refuse numbers outside their range, and what is no private estimator."""
    check_confidence("audit", confidence)
    if runs is not None:
        _check_runs("audit", runs)
    if calls is not None and not (isinstance(calls, Integral) and int(calls) >= 1):
        raise ValueError(f"audit needs at least 1 call, a whole number, got {shown(calls)}.")
    if isinstance(estimator, type) or not hasattr(estimator, "get_params"):
        raise ValueError(
            f"audit needs an estimator, got {type(estimator).__name__} without get_params."
        )


def check_kind(estimator: Any, *, sees: str, calls: Any, adjacency: str) -> None:
    """Refuse what a transformer or a search cannot be audited with.

    A search fits in secret number, with oracles that see parts of the rows, so that nothing is
    known of it but what it publishes.
    """
    who = type(estimator).__name__
    got = f"got sees={shown(sees)}, calls={shown(calls)}"
    if searches(estimator):
        possible = sees in ("auto", "model") and calls is None
        if not (possible and adjacency == Adjacency.REPLACE_ONE):
            raise ValueError(
                f"audit needs sees='model', calls=None and adjacency='replace_one' for "
                f"{who}, of which only the winner is published, {got} and adjacency="
                f"{shown(adjacency)}. Audit the estimator that is searched over for more."
            )
    elif calls is not None and not hasattr(estimator, "predict"):
        raise ValueError(f"audit needs calls=None for {who}, {got}.")


def searches(estimator: Any) -> bool:
    """Tell whether an estimator is a private search, or holds one.

    Parameters
    ----------
    estimator : estimator
        Of any kind.
    """
    parts = [estimator, *estimator.get_params(deep=True).values()]
    return any(isinstance(part, PrivateSearch) for part in parts)


def check_query(
    query: Any, stores: tuple[Any, Any], adjacency: Any, runs: Any, confidence: Any
) -> None:
    """Refuse what is no query about two data sets, and numbers outside their range."""
    who = "audit_query"
    wanted = [("query", query, Query), ("adjacency", adjacency, Adjacency)]
    wanted += [(name, rows, RowStore) for name, rows in zip(_STORES, stores, strict=True)]
    for name, value, kind in wanted:
        if not isinstance(value, kind):
            raise TypeError(
                f"{who} needs {name} to be of type {kind.__name__}, got {type(value).__name__}."
            )
    _check_runs(who, runs)
    check_confidence(who, confidence)
    widths = [rows.n_features for rows in stores]
    if widths[0] != widths[1]:
        raise ValueError(f"{who} needs data sets with the same features, got {widths} features.")


def _check_runs(who: str, runs: Any) -> None:
    if not isinstance(runs, Integral) or runs < _LEAST_RUNS:
        raise ValueError(
            f"{who} needs at least {_LEAST_RUNS} runs, a whole number, got {shown(runs)}."
        )


def check_confidence(who: str, confidence: Any) -> None:
    """Refuse what is no probability of being right."""
    real = isinstance(confidence, Real) and not isinstance(confidence, bool)
    if not real or not 0 < confidence < 1:
        raise ValueError(f"{who} needs a confidence in (0, 1), got {shown(confidence)}.")


def refuse_zero_out(other: Any, calls: int | None, *, bandit: bool) -> None:
    """Refuse options of an audit that have no meaning under zero-out."""
    if other is not None or calls is not None or bandit:
        raise ValueError(
            "audit under adjacency='zero_out' leaves rows out by itself, which needs other=None "
            "and one call of fit: no row stands for nothing in a stream. Audit streams and bandits "
            "with adjacency='replace_one'."
        )


def arrays(X: Any, y: Any) -> tuple[Any, Any]:
    """Arrays, or a dataframe, of which rows can be taken; a sparse matrix becomes CSR.

    Whole numbers become floats, so that a row can be replaced by any other.
    """
    if hasattr(X, "iloc"):
        X = X.astype({name: float for name in X.columns if X[name].dtype.kind in "iu"})
    else:
        X = sp.csr_array(X) if sp.issparse(X) else np.asarray(X)
        if X.dtype.kind == "c":
            raise ValueError("audit needs rows of real numbers, got complex ones.")
        X = X.astype(float) if X.dtype.kind in "iub" else X
    y = np.asarray(y)
    if X.ndim != 2 or y.ndim not in (1, 2) or X.shape[0] != len(y) or not len(y):
        raise ValueError(
            f"audit needs rows in two dimensions and as many targets, got X of shape {X.shape} and "
            f"y of shape {y.shape}."
        )
    return X, y


def cut(n: int, calls: int | None) -> tuple[slice, ...] | None:
    """The rows of each call of ``partial_fit``; None for a call of ``fit``.

    Parameters
    ----------
    n : int
        Number of rows.
    calls : int or None
        Number of calls.

    Raises
    ------
    ValueError
        If there are more calls than rows.
    """
    if calls is None:
        return None
    if calls > n:
        raise ValueError(f"audit needs no more calls than the {n} rows, got {shown(calls)}.")
    edges = np.linspace(0, n, calls + 1).astype(int).tolist()
    return tuple(slice(i, j) for i, j in pairwise(edges))
