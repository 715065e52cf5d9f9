"""Means over test rows of bounded metrics of single predictions, and of their squares."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, fields
from functools import cached_property
from math import inf, sqrt
from typing import ClassVar, final

import numpy as np

from ...problem.column_bounds import ColumnBounds
from ..adjacency import Adjacency
from ..rows.base import RowStore
from ..rows.bounded_rows import RawBlock
from ..rows.predicted_rows import PredictedBlock
from .base import GaussianQuery
from .column_moments import ColumnMomentsQuery
from .outcome_counts import coded

# Ends of a range are at most so far from zero, and at least so far apart.
_FARTHEST, _NEAREST = 1e300, 1e-280


@dataclass(frozen=True, eq=False)
class RowMetric(ABC):
    """A number for each prediction, in a public range. Its fields are public.

    Guarantees
    ----------
    - The number of a row is a function of that row, of what the model says of it, and of public
      numbers. The query clips it to the range, so that nothing else rests on these classes.
    """

    @property
    @abstractmethod
    def range(self) -> tuple[float, float]:
        """Low and high end, finite and apart. What is not a number counts as the high end."""

    @abstractmethod
    def of(self, given: PredictedBlock) -> np.ndarray:
        """The number of each row, shape (m,)."""

    @final
    def public(self) -> tuple[object, ...]:
        """Name of the metric and its fields."""
        return (type(self).__name__, *(getattr(self, field.name) for field in fields(self)))


@final
@dataclass(frozen=True, eq=False)
class LogLoss(RowMetric):
    """``-log p_y``, probabilities of the label below ``floor`` counting as that.

    Parameters
    ----------
    floor : float
        In (0, 1).
    """

    floor: float

    @property
    def range(self) -> tuple[float, float]:
        """Ends 0 and ``-log floor``."""
        return 0.0, float(-np.log(self.floor))

    def of(self, given: PredictedBlock) -> np.ndarray:
        """The loss of each row."""
        return -np.log(np.maximum(given.score_of_label(), self.floor))


@final
@dataclass(frozen=True, eq=False)
class BrierScore(RowMetric):
    """``1/2 sum_k (p_k - [y = k])^2``, for two classes the squared error of the probability."""

    @property
    def range(self) -> tuple[float, float]:
        """Ends 0 and 1."""
        return 0.0, 1.0

    def of(self, given: PredictedBlock) -> np.ndarray:
        """The squared error of each row."""
        p = np.clip(given.scores, 0.0, 1.0)
        true = given.y[:, None] == np.arange(p.shape[1])
        return 0.5 * np.sum((p - true) ** 2, axis=1)


@final
@dataclass(frozen=True, eq=False)
class RocAreaTerm(RowMetric):
    r"""Term of a row in the area under the ROC curve, to first order in the two distributions.

    With ``F_0`` and ``F_1`` the distribution functions of the score in each class, given at edges
    and linear between them, A the area under their curve and p the share of class 1, it is
    ``(F_0(s) - A) / p`` for rows of class 1 and ``(1 - F_1(s) - A) / (1 - p)`` for those of class
    0. All of these are public. Of several classes one is class 1, and the rest are class 0.

    Parameters
    ----------
    edges : ndarray of shape (b + 1,)
        Increasing.
    zeros, ones : ndarray of shape (b + 1,)
        ``F_0`` and ``F_1`` there, from 0 to 1.
    area : float
        The area A.
    share : float
        The share p, in (0, 1).
    of_class : int, default=1
        Code of class 1.
    """

    edges: np.ndarray
    zeros: np.ndarray
    ones: np.ndarray
    area: float
    share: float
    of_class: int = 1

    @property
    def range(self) -> tuple[float, float]:
        """Ends ``-A / m`` and ``(1 - A) / m``, with m the smaller share of the two classes."""
        smaller = min(self.share, 1.0 - self.share)
        return -self.area / smaller, (1.0 - self.area) / smaller

    def of(self, given: PredictedBlock) -> np.ndarray:
        """The term of each row; the lowest where there is no score."""
        s = given.score_of(self.of_class)
        below, above = np.interp(s, self.edges, self.zeros), 1 - np.interp(s, self.edges, self.ones)
        ones = (below - self.area) / self.share
        found = np.where(given.y == self.of_class, ones, (above - self.area) / (1 - self.share))
        return np.where(np.isnan(s), self.range[0], found)


@final
@dataclass(frozen=True, eq=False)
class MeanRocAreaTerm(RowMetric):
    """Mean over K classes of the terms of a row in the areas of each against the rest.

    Parameters
    ----------
    edges : ndarray of shape (b + 1,)
        Increasing.
    zeros, ones : ndarray of shape (K, b + 1)
        Distribution functions of the score of each class at edges, of other rows and of its own.
    areas, shares : ndarray of shape (K,)
        Areas, and shares of the classes, in (0, 1).
    """

    edges: np.ndarray
    zeros: np.ndarray
    ones: np.ndarray
    areas: np.ndarray
    shares: np.ndarray

    @property
    def range(self) -> tuple[float, float]:
        """The lowest and highest mean, over which of the classes, if one, is the row's own."""
        K = len(self.areas)
        weight = np.where(np.eye(K + 1, K, dtype=bool), self.shares, 1.0 - self.shares)
        low, high = -self.areas / weight, (1.0 - self.areas) / weight
        return float(low.mean(axis=1).min()), float(high.mean(axis=1).max())

    def of(self, given: PredictedBlock) -> np.ndarray:
        """The mean of each row's terms; the lowest ones where there is no score."""
        each = zip(self.zeros, self.ones, self.areas.tolist(), self.shares.tolist(), strict=True)
        terms = [RocAreaTerm(self.edges, *facts, k).of(given) for k, facts in enumerate(each)]
        return np.mean(terms, axis=0)


@dataclass(frozen=True, eq=False)
class _Residual(RowMetric):
    """Base of metrics of regressions; targets are clipped to bounds, and residuals to a bound.

    Parameters
    ----------
    low, high : float
        Bounds on targets.
    residual_bound : float
        Bound on residuals, in units of the target.
    """

    low: float
    high: float
    residual_bound: float

    @final
    def target(self, given: PredictedBlock) -> np.ndarray:
        """Targets within their bounds, shape (m,)."""
        return np.clip(given.y, self.low, self.high)

    @final
    def residual(self, given: PredictedBlock) -> np.ndarray:
        """Residuals within their bound; at it where there is no prediction."""
        r = self.target(given) - given.prediction
        bound = self.residual_bound
        return np.clip(np.where(np.isnan(r), bound, r), -bound, bound)


@final
class SquaredError(_Residual):
    """The squared residual."""

    @property
    def range(self) -> tuple[float, float]:
        """Ends 0 and the square of the bound."""
        return 0.0, self.residual_bound**2

    def of(self, given: PredictedBlock) -> np.ndarray:
        """The square of each row's residual."""
        return self.residual(given) ** 2


@final
class AbsoluteError(_Residual):
    """The absolute residual."""

    @property
    def range(self) -> tuple[float, float]:
        """Ends 0 and the bound."""
        return 0.0, self.residual_bound

    def of(self, given: PredictedBlock) -> np.ndarray:
        """The size of each row's residual."""
        return np.abs(self.residual(given))


@final
class Target(_Residual):
    """The target itself."""

    @property
    def range(self) -> tuple[float, float]:
        """Bounds on targets."""
        return self.low, self.high

    def of(self, given: PredictedBlock) -> np.ndarray:
        """The target of each row."""
        return self.target(given)


@final
@dataclass(frozen=True, eq=False)
class SquaredR2Term(_Residual):
    """Square of a row's first-order term in R2, ``r^2 - (1 - R2)(y - m)^2``, in target units.

    Parameters
    ----------
    low, high, residual_bound : float
        As for the errors.
    mean : float
        Public estimate m of the mean of targets.
    unexplained : float
        Public estimate of 1 - R2.
    """

    mean: float
    unexplained: float

    @property
    def range(self) -> tuple[float, float]:
        """Ends 0 and the fourth power of the bound on residuals."""
        return 0.0, self.residual_bound**4

    def of(self, given: PredictedBlock) -> np.ndarray:
        """The square of each row's term."""
        total = (self.target(given) - self.mean) ** 2
        return (self.residual(given) ** 2 - self.unexplained * total) ** 2


@dataclass(frozen=True, eq=False)
class MetricMeansQuery(GaussianQuery):
    """Means over the rows of bounded metrics and of their squares.

    Each metric is clipped to its range and brought to [-1, 1], and its moments are those that
    :class:`~skdp.privacy.queries.column_moments.ColumnMomentsQuery` takes of a feature, whose proof
    asks for nothing but a number of each row in that interval.

    Parameters
    ----------
    metrics : tuple of RowMetric
        At least one.
    n_samples : int
        Number of rows n to divide by.

    Raises
    ------
    ValueError
        If a range is so large or so small that numbers cannot be brought to [-1, 1] by it.

    Guarantees
    ----------
    - Replacing a row moves the answer for k metrics by at most ``2 sqrt(k) / n`` in l2, as much as
      the means alone; the squares come for free. Zeroing it out moves it by at most
      ``sqrt(9 k / 8) / n``. Both as there, and both are attained.
    - This holds whatever metrics and models return: what is not a number is at the high end.
    """

    name: ClassVar[str] = "metric_means"

    metrics: tuple[RowMetric, ...]
    n_samples: int

    def __post_init__(self) -> None:
        for metric in self.metrics:
            try:
                low, high = metric.range
            except OverflowError:
                low, high = -inf, inf
            if not (max(-low, high) <= _FARTHEST and high - low >= _NEAREST):
                raise ValueError(
                    f"MetricMeansQuery needs ranges within {_FARTHEST:g} of zero and at least "
                    f"{_NEAREST:g} wide, got {low:.3g} to {high:.3g} for "
                    f"{type(metric).__name__}. Change the unit of the target."
                )

    @cached_property
    def moments(self) -> ColumnMomentsQuery:
        """The query for moments of as many numbers in [-1, 1]."""
        ones = np.ones(len(self.metrics))
        return ColumnMomentsQuery(ColumnBounds(-ones, ones), self.n_samples)

    def sensitivity(self, adjacency: Adjacency) -> float:
        """``2 sqrt(k) / n`` under replace-one, ``sqrt(9 k / 8) / n`` under zero-out."""
        return self.moments.sensitivity(adjacency)

    @property
    def rounding(self) -> float:
        """Margin for rounding, that of the moments."""
        return self.moments.rounding

    def evaluate(self, rows: RowStore) -> np.ndarray:
        """The exact answer, of shape (2, k)."""
        return rows.sum(self._of_block) / self.n_samples

    def public(self) -> tuple[object, ...]:
        """Names and fields of the metrics."""
        return tuple(content for metric in self.metrics for content in metric.public())

    def _of_block(self, block: RawBlock) -> np.ndarray:
        return self.moments.of_scaled(self.units(PredictedBlock.of(block)), block.shares)

    def units(self, given: PredictedBlock) -> np.ndarray:
        """Metrics of some rows on the scale of their ranges, which is [-1, 1]; shape (m, k)."""
        units = np.empty((given.y.size, len(self.metrics)))
        for k, metric in enumerate(self.metrics):
            units[:, k] = _in_units(metric.of(given), *metric.range)
        return units


@dataclass(frozen=True, eq=False)
class GroupMeansQuery(GaussianQuery):
    """Sums over the rows of each group of metrics and of their squares, and of 1, over n.

    For k metrics a row of group g adds to the g-th line ``sqrt(7 k / 8)``, its k numbers u in
    [-1, 1], and ``sqrt(2) (u^2 - 3/4)`` for each, as in
    :class:`~skdp.privacy.queries.column_moments.ColumnMomentsQuery`.

    Parameters
    ----------
    means : MetricMeansQuery
        The metrics, and n.
    n_groups : int
        Number of groups G, encoded 0, ..., G - 1. Rows of others count towards the nearest one,
        those of no number towards the first.

    Guarantees
    ----------
    - Replacing a row moves the answer by at most ``2 sqrt(k) / n``, as much as means of all rows,
      so that groups and their sizes come for free; zeroing it out by ``sqrt(2 k) / n``. Both are
      attained. Proof: theorem C4 of ``docs/proofs/columns_and_metrics.md``.
    - This holds whatever groups, metrics and models return.
    """

    name: ClassVar[str] = "group_means"

    means: MetricMeansQuery
    n_groups: int

    @property
    def _weight(self) -> float:
        """Number that each row counts as, sqrt(7 k / 8)."""
        return sqrt(0.875 * len(self.means.metrics))

    def sensitivity(self, adjacency: Adjacency) -> float:
        """``2 sqrt(k) / n`` under replace-one, ``sqrt(2 k) / n`` under zero-out."""
        square = 4.0 if adjacency is Adjacency.REPLACE_ONE else 2.0
        return sqrt(square * len(self.means.metrics)) / self.means.n_samples

    @property
    def rounding(self) -> float:
        """Margin for rounding, that of the means."""
        return self.means.rounding

    def evaluate(self, rows: RowStore) -> np.ndarray:
        """The exact answer, of shape (G, 1 + 2 k)."""
        return rows.sum(self._of_block) / self.means.n_samples

    def public(self) -> tuple[object, ...]:
        """Number of groups, names and fields of the metrics."""
        return (self.n_groups, *self.means.public())

    def parts(self, answer: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, float]:
        """Shares of groups (G,), sums and what squares sum to beyond 3/4 (G, k), of an answer.

        The last number is by how much the noise of a share is smaller than that of a sum; that of
        squares is smaller by sqrt(2).
        """
        sums, squares = np.split(answer[:, 1:], 2, axis=1)
        return answer[:, 0] / self._weight, sums, squares / sqrt(2.0), self._weight

    def _of_block(self, block: RawBlock) -> np.ndarray:
        given = PredictedBlock.of(block)
        u, group = self.means.units(given), coded(given.group, self.n_groups)
        of_rows = (np.full((len(u), 1), self._weight), u, sqrt(2.0) * (u * u - 0.75))
        adds = np.concatenate(of_rows, axis=1)
        if block.bounded_weights is not None:
            adds *= block.bounded_weights[:, None]
        out = np.zeros((self.n_groups, adds.shape[1]))
        np.add.at(out, group, adds)
        return out


def _in_units(values: np.ndarray, low: float, high: float) -> np.ndarray:
    """Values on the scale on which [low, high] is [-1, 1], clipped to it."""
    units = (2.0 * np.clip(values, low, high) - low - high) / (high - low)
    # Rounding may pass an end.
    return np.clip(np.where(np.isnan(units), 1.0, units), -1.0, 1.0)
