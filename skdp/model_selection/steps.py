"""The private steps of an estimator: which there are, how they count, and what each may spend."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import OneToOneFeatureMixin, clone
from sklearn.pipeline import Pipeline

from ..accounts.declared import spends
from ..accounts.walk import planned_in
from ..data.reading import vigilant
from ..estimators.base import PrivateLinearModel
from ..options import check_parameters
from ..preprocessing.base import PrivateTransformer
from ..privacy.adjacency import Adjacency
from ..privacy.calculus import Calculus, GaussianDP, ZeroConcentratedDP
from ..privacy.ledger import PrivacySpent

__all__ = [
    "PublicFacts",
    "adjacency_of",
    "calculi",
    "check_made",
    "check_steps",
    "check_targets",
    "private_steps",
    "set_budgets",
    "step_at",
]


def private_steps(estimator: Any) -> list[str]:
    """Paths of the steps that have a budget, ``''`` for the estimator itself.

    Parameters
    ----------
    estimator : estimator
        With its parameters set.
    """
    parts = {"": estimator} | {
        name: value
        for name, value in estimator.get_params(deep=True).items()
        if hasattr(value, "get_params") and not isinstance(value, type)
    }
    found: list[str] = []
    for path in sorted(parts, key=lambda path: path.count("__")):
        if spends(parts[path]) and not any(_within(path, other) for other in found):
            found.append(path)
    return sorted(found)


def step_at(estimator: Any, path: str) -> Any:
    """The step at a path.

    Parameters
    ----------
    estimator : estimator
        The whole.
    path : str
        As from :func:`private_steps`.
    """
    return estimator.get_params(deep=True)[path] if path else estimator


def check_made(who: str, estimator: Any) -> None:
    """Refuse a class in place of an estimator.

    Parameters
    ----------
    who : str
        The search.
    estimator : estimator
        Has ``get_params``.

    Raises
    ------
    ValueError
        If it is a class.
    """
    if isinstance(estimator, type):
        raise ValueError(
            f"{who} needs an estimator, got the class {estimator.__name__}; make one of it."
        )


def check_steps(who: str, estimator: Any) -> None:
    """Refuse an estimator whose parts do not all say what they spend.

    Parameters
    ----------
    who : str
        The search.
    estimator : estimator
        With its parameters set.

    Raises
    ------
    ValueError
        If no step has a budget, a step learns from rows without a receipt, something fits a private
        step more than once, or steps differ in their adjacency.
    """
    paths = private_steps(estimator)
    if not paths:
        raise ValueError(
            f"{who} needs a private estimator, or a pipeline with one, which has epsilon and "
            f"delta, got {type(estimator).__name__}."
        )
    refused = planned_in(estimator, type(estimator).__name__).refused
    if refused:
        raise ValueError(
            f"{who} needs steps that say what they spend, or learn nothing, and fit private steps "
            f"once: {'; '.join(refused)}."
        )
    relations = {step_at(estimator, path).adjacency for path in paths}
    if len(relations) > 1:
        raise ValueError(f"{who} needs private steps of one adjacency, got {sorted(relations)}.")


def check_targets(estimator: Any, y: Any) -> None:
    """Refuse targets that every fit would refuse, as the model itself does before it spends.

    Parameters
    ----------
    estimator : estimator
        With parameters and classes set.
    y : array-like
        Targets.

    Raises
    ------
    ValueError
        If labels are not among the classes, or targets of a regression are no finite numbers.
    """
    last = estimator.steps[-1][1] if isinstance(estimator, Pipeline) else estimator
    if isinstance(last, PrivateLinearModel):
        check_parameters(last)
        with vigilant():
            clone(last)._prepare_targets(y)(np.asarray(y))


def adjacency_of(estimator: Any) -> Adjacency:
    """The neighbouring relation of the private steps.

    Parameters
    ----------
    estimator : estimator
        One that :func:`check_steps` accepts.
    """
    found = {Adjacency(step_at(estimator, path).adjacency) for path in private_steps(estimator)}
    return Adjacency.ZERO_OUT if Adjacency.ZERO_OUT in found else Adjacency.REPLACE_ONE


@dataclass(frozen=True)
class PublicFacts:
    """What is public about the rows that a run is fitted to.

    Parameters
    ----------
    n_samples, n_features : int
        How many rows, and features before the first step.
    sparse : bool
        Whether rows are sparse.
    weighted : bool
        Whether rows have weights.
    """

    n_samples: int
    n_features: int
    sparse: bool
    weighted: bool


def calculi(estimator: Any, y: Any, rows: PublicFacts) -> list[Calculus | None]:
    """How each private step counts; None if its (epsilon, delta) is all that is to be relied on.

    Parameters
    ----------
    estimator : estimator
        With parameters and classes set.
    y : array-like
        Targets, of which classifiers with known classes read nothing.
    rows : PublicFacts
        About those that are trained on.

    Raises
    ------
    ValueError
        If parameters of a step are invalid, or clash in a way that public facts tell.
    """
    return [
        _calculus(step_at(estimator, path), y, rows, _keeps_features(estimator, path))
        for path in private_steps(estimator)
    ]


def set_budgets(estimator: Any, budgets: Sequence[PrivacySpent]) -> None:
    """Give each private step its part, in the order of paths.

    Parameters
    ----------
    estimator : estimator
        Changed in place.
    budgets : sequence of PrivacySpent
        One for each of :func:`private_steps`.
    """
    for path, (epsilon, delta) in zip(private_steps(estimator), budgets, strict=True):
        step_at(estimator, path).set_params(epsilon=epsilon, delta=delta)


def _within(path: str, other: str) -> bool:
    return other == "" or path.startswith(other + "__")


def _keeps_features(estimator: Any, path: str) -> bool:
    """Whether the step at the path sees as many features as there are at first."""
    if not path:
        return True
    if not isinstance(estimator, Pipeline) or "__" in path:
        return False
    before = [step for name, step in estimator.steps[: [n for n, _ in estimator.steps].index(path)]]
    return all(
        step in (None, "passthrough") or isinstance(step, OneToOneFeatureMixin) for step in before
    )


def _calculus(step: Any, y: Any, rows: PublicFacts, same_features: bool) -> Calculus | None:
    if not isinstance(step, PrivateLinearModel | PrivateTransformer):
        return None
    check_parameters(step)
    if isinstance(step, PrivateTransformer):
        return GaussianDP()
    if same_features:
        probe = clone(step)
        probe.n_features_in_ = rows.n_features
        probe._prepare_targets(y)
        found = probe._plan(rows.n_samples, rows.sparse, weighted=rows.weighted).ledger.calculus
    else:
        found = step._claim().calculus
    return found if isinstance(found, GaussianDP | ZeroConcentratedDP) else None
