"""The private steps of an estimator: which there are, how they count, and what each may spend."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import OneToOneFeatureMixin, clone
from sklearn.pipeline import Pipeline

from ..estimators.base import PrivateLinearModel
from ..preprocessing.base import PrivateTransformer
from ..privacy.accounting.calculus import Calculus, GaussianDP, ZeroConcentratedDP
from ..privacy.accounting.ledger import PrivacySpent
from ..privacy.adjacency import Adjacency
from ..privacy.rows.reading import strict_checks
from ..report.verdicts import TABLE, fitted_parts, nested_estimators, problems_of, spends
from ..validation import check_parameters

__all__ = [
    "PublicFacts",
    "adjacency_of",
    "calculi",
    "check_made",
    "check_steps",
    "check_targets",
    "private_steps",
    "set_budgets",
]


def private_steps(estimator: Any, *, fitted: bool = False) -> dict[str, Any]:
    """Steps that have a privacy budget, by the paths of their parameters.

    Parameters
    ----------
    estimator : estimator
        With its parameters set.
    fitted : bool, default=False
        Whether the steps are wanted that were fitted: some estimators fit copies of theirs.

    Returns
    -------
    dict
        In the order of paths; that of the estimator itself is ``''``.
    """
    found: dict[str, Any] = {}
    looked_at = [("", estimator)]
    for path, part in looked_at:
        if spends(part):
            found[path] = part
        elif type(part) in TABLE:
            parts = fitted_parts(part) if fitted else TABLE[type(part)].parts(part)
            looked_at += [(f"{path}__{name}" if path else name, step) for name, step in parts or []]
    return dict(sorted(found.items()))


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


def check_steps(who: str, estimator: Any) -> list[str]:
    """Refuse an estimator of which not all parts are covered, and name what leaks.

    Parameters
    ----------
    who : str
        The search.
    estimator : estimator
        With its parameters set.

    Returns
    -------
    list of str
        What is public beyond all receipts.

    Raises
    ------
    ValueError
        If no step has a budget, a part is not covered by :data:`skdp.report.TABLE` or fits a step
        more than once, or steps differ in their adjacency.
    """
    steps = private_steps(estimator)
    if not steps:
        raise ValueError(
            f"{who} needs a private estimator, or a pipeline with one, which has epsilon and "
            f"delta, got {type(estimator).__name__}."
        )
    refused, leaks = problems_of(estimator)
    refused += [
        f"{name} fits its parts a number of times that is not known beforehand"
        for name, part in nested_estimators(estimator, type(estimator).__name__)
        if type(part) in TABLE and TABLE[type(part)].composed and not TABLE[type(part)].once
    ]
    if refused:
        raise ValueError(
            f"{who} needs steps that say what they spend, or learn nothing, and fit private steps "
            f"once, got others: {'; '.join(refused)}."
        )
    relations = {step.adjacency for step in steps.values()}
    if len(relations) > 1:
        raise ValueError(f"{who} needs private steps of one adjacency, got {sorted(relations)}.")
    return leaks


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
        with strict_checks():
            clone(last)._prepare_targets(y)(np.asarray(y))


def adjacency_of(estimator: Any) -> Adjacency:
    """The neighbouring relation of the private steps.

    Parameters
    ----------
    estimator : estimator
        One that :func:`check_steps` accepts.
    """
    found = {Adjacency(step.adjacency) for step in private_steps(estimator).values()}
    return Adjacency.ZERO_OUT if Adjacency.ZERO_OUT in found else Adjacency.REPLACE_ONE


@dataclass(frozen=True)
class PublicFacts:
    """Public facts about the rows that a trial is fitted to.

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
    """Calculus of each private step; None where its (epsilon, delta) alone is relied on.

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
        _calculus(step, y, rows, _keeps_features(estimator, path))
        for path, step in private_steps(estimator).items()
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
    for step, (epsilon, delta) in zip(private_steps(estimator).values(), budgets, strict=True):
        step.set_params(epsilon=epsilon, delta=delta)


def _keeps_features(estimator: Any, path: str) -> bool:
    """Tell whether the step at the path is given as many features as the whole estimator."""
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
        found = probe._plan(rows.n_samples, rows.sparse, weighted=rows.weighted).calculus
    else:
        found = step._claim().calculus
    return found if isinstance(found, GaussianDP | ZeroConcentratedDP) else None
