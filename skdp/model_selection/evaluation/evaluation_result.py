"""Results of a private evaluation."""

from __future__ import annotations

from dataclasses import dataclass
from math import isnan
from typing import Any, NamedTuple, final

import numpy as np

from ...privacy.accounting.events import Event
from ...privacy.accounting.ledger import PrivacySpent
from ...privacy.adjacency import Adjacency, PrivacyUnit
from ...reporting.open_budgets import BudgetedEstimator
from ...validation import shown
from .score_estimates import Estimate, difference


class Score(NamedTuple):
    """A released score with its interval.

    Parameters
    ----------
    value : float
        The score; not a number where noise hides it altogether.
    low, high : float
        Ends of the interval, which covers noise and the choice of the rows; not numbers where
        noise hides them.
    """

    value: float
    low: float
    high: float


@dataclass(frozen=True, eq=False)
class ConfusionMatrix:
    """Released numbers of rows by label and predicted class.

    Parameters
    ----------
    classes : ndarray of shape (K,)
        Labels.
    counts : ndarray of shape (K, K)
        Rows by label (first axis) and predicted class; they add up to the number of rows, and
        noise may make those of empty cells negative.
    low, high : ndarray of shape (K, K)
        Ends of the interval of each.
    """

    classes: np.ndarray
    counts: np.ndarray
    low: np.ndarray
    high: np.ndarray


@dataclass(frozen=True, eq=False)
class RocCurve:
    """Released points of a ROC curve.

    Parameters
    ----------
    thresholds : ndarray of shape (b + 1,)
        Rows of at least this score are predicted as the second class; decreasing.
    fpr, tpr : ndarray of shape (b + 1,)
        False and true positive rates, never decreasing, from 0 to 1.
    fpr_low, fpr_high, tpr_low, tpr_high : ndarray of shape (b + 1,)
        Ends of the interval of each rate at each threshold, for itself.
    """

    thresholds: np.ndarray
    fpr: np.ndarray
    tpr: np.ndarray
    fpr_low: np.ndarray
    fpr_high: np.ndarray
    tpr_low: np.ndarray
    tpr_high: np.ndarray


@dataclass(frozen=True, eq=False)
class CalibrationCurve:
    """Released shares of the second class among rows of like predicted probability.

    Parameters
    ----------
    edges : ndarray of shape (b + 1,)
        Edges of the bins of the predicted probability.
    share : ndarray of shape (b,)
        Share of the second class in each; not a number where noise hides how many rows there are.
    low, high : ndarray of shape (b,)
        Ends of its interval.
    rows : ndarray of shape (b,)
        Numbers of rows in each, with noise.
    """

    edges: np.ndarray
    share: np.ndarray
    low: np.ndarray
    high: np.ndarray
    rows: np.ndarray


@final
class Evaluation(BudgetedEstimator):
    """Scores of a model on test rows, as :func:`skdp.evaluate` returns them.

    Like a fitted model it has a receipt, which ``skdp.privacy_spent`` adds up with others.

    Attributes
    ----------
    scores : dict of str to Score
        By name, ``scores["accuracy"].value``; ``low`` and ``high`` are the ends of the interval.
    noise : dict of str to float
        Standard deviation that noise alone gives to each.
    by_group : dict
        Scores by group and name, ``by_group["f"]["accuracy"]``; empty without groups.
    confusion_matrix : ConfusionMatrix or None
        If asked for, as are the next two.
    roc_curve : RocCurve or None
        See above.
    calibration_curve : CalibrationCurve or None
        See above.
    n_samples : int
        Number of rows, or of privacy units, which is public.
    confidence : float
        Level of the intervals, each for itself.
    adjacency : Adjacency
        Neighbouring relation of the guarantee.
    privacy_spent_ : PrivacySpent
        What was spent of the budget of the test rows.
    privacy_ledger_ : tuple of Event
        The releases behind it.
    privacy_unit_ : str
        ``'row'``, or ``'privacy_unit'`` if all rows of one are protected together.
    """

    confidence: float
    adjacency: Adjacency
    n_samples: int
    privacy_unit_: str = str(PrivacyUnit.ROW)
    privacy_spent_: PrivacySpent
    privacy_ledger_: tuple[Event, ...]

    def __init__(self) -> None:
        self.scores: dict[str, Score] = {}
        self.noise: dict[str, float] = {}
        self.by_group: dict[Any, dict[str, Score]] = {}
        self.confusion_matrix: ConfusionMatrix | None = None
        self.roc_curve: RocCurve | None = None
        self.calibration_curve: CalibrationCurve | None = None

    def difference(self, metric: str, group: Any, other: Any) -> Score:
        """Score of one group less that of another, with an interval.

        The groups are taken for independent, as they are where nobody has rows in both. Otherwise
        the ends of an interval that holds whatever they have in common are at most sqrt(2) times as
        far from the value.

        Parameters
        ----------
        metric : str
            Name of the score.
        group, other : label
            Groups, as in ``group_values``.

        Raises
        ------
        ValueError
            If one of them was not asked about.
        """
        found = []
        for label in (group, other):
            of_group = self.by_group.get(label, {})
            if metric not in of_group:
                raise ValueError(
                    "Evaluation.difference needs a metric and groups that were asked about, got "
                    f"{shown(metric)} and {shown(label)}."
                )
            found.append(Estimate(*of_group[metric], noise=0.0))
        return Score(*difference(*found)[:3])

    def summary(self) -> str:
        """Table of all scores with their intervals."""
        width = max([len(name) for name in self.scores], default=0)
        level = f"{100 * self.confidence:.4g} % interval"
        lines = [f"{'':{width}}  {'score':>8}  {level:^20}  noise (sd)"]
        for name, score in self.scores.items():
            noise = self.noise[name]
            lines.append(f"{name:{width}}  {_line(score)}  {noise:10.2g}")
        for label, scores in self.by_group.items():
            lines.append(f"group {label!s}")
            lines += [f"  {name:{width}}  {_line(score)}" for name, score in scores.items()]
        spent = self.privacy_spent_
        of_rows = self.privacy_unit_ == PrivacyUnit.ROW
        counted = "test rows" if of_rows else "privacy units of test rows"
        lines.append(
            f"{self.n_samples} {counted}, epsilon={spent.epsilon:.6g} at delta={spent.delta:.6g} "
            f"({self.adjacency.value})"
        )
        return "\n".join(lines)

    @property
    def hidden(self) -> list[str]:
        """Names of scores that noise has left without an interval."""
        found = [name for name, score in self.scores.items() if isnan(score.low)]
        for label, scores in self.by_group.items():
            found += [f"{name} of group {label!s}" for name, s in scores.items() if isnan(s.low)]
        curve = self.calibration_curve
        if curve is not None and np.isnan(curve.low).all():
            found.append("calibration_curve")
        return found

    def _repr_mimebundle_(self, **options: Any) -> dict[str, str]:
        # Notebooks would draw the diagram of an estimator.
        del options
        return {"text/plain": self.summary()}

    def __repr__(self) -> str:
        shown_scores = ", ".join(f"{name}={s.value:.3g}" for name, s in self.scores.items())
        return f"Evaluation({shown_scores})"


def _line(score: Score) -> str:
    value, low, high = score
    return f"{value:8.4f}  [{low:8.4f}, {high:8.4f}]"
