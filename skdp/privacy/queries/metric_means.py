"""Means over test rows of bounded metrics of single predictions, and of their squares."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from math import inf, log, sqrt
from typing import ClassVar, Concatenate, ParamSpec

import numpy as np
from scipy.special import xlogy

from ..adjacency import Adjacency
from ..rows.base import RowStore
from ..rows.bounded_rows import RawBlock
from ..rows.predicted_rows import PredictedBlock
from .base import GaussianQuery, coded
from .columns import UnitMoments

P = ParamSpec("P")

# Ends of a range are at most so far from zero, and at least so far apart.
_FARTHEST, _NEAREST = 1e300, 1e-280


@dataclass(frozen=True, eq=False)
class RowMetric:
    """A number for each prediction, in a public range."""

    #: For transcripts.
    name: str
    #: Low and high end, finite and apart. What is not a number counts as the high end.
    range: tuple[float, float]
    #: The number of each row of a block, shape (m,): a function of that row, of what the model says
    #: of it, and of ``facts``. The query clips it to the range, so that nothing else rests on it.
    of: Callable[[PredictedBlock], np.ndarray]
    #: Public numbers that it depends on.
    facts: tuple[object, ...] = ()


def _metric(
    name: str, ends: Callable[P, tuple[float, float]]
) -> Callable[[Callable[Concatenate[PredictedBlock, P], np.ndarray]], Callable[P, RowMetric]]:
    """The metric that a function of rows and of public facts computes, within these ends."""

    def of_function(
        of: Callable[Concatenate[PredictedBlock, P], np.ndarray],
    ) -> Callable[P, RowMetric]:
        @wraps(of)
        def metric(*facts: P.args, **named: P.kwargs) -> RowMetric:
            given = *facts, *named.values()
            low, high = ends(*facts, **named)
            return RowMetric(name, (low, high), lambda rows: of(rows, *facts, **named), given)

        return metric

    return of_function


@_metric("LogLoss", lambda floor: (0.0, float(-np.log(floor))))
def log_loss(given: PredictedBlock, floor: float) -> np.ndarray:
    """``-log p_y``, probabilities of the label below ``floor``, in (0, 1), counting as that."""
    return -np.log(np.maximum(given.score_of_label(), floor))


@_metric("BrierScore", lambda: (0.0, 1.0))
def brier_score(given: PredictedBlock) -> np.ndarray:
    """``1/2 sum_k (p_k - [y = k])^2``, for two classes the squared error of the probability."""
    p = np.clip(given.scores, 0.0, 1.0)
    true = given.y[:, None] == np.arange(p.shape[1])
    return 0.5 * np.sum((p - true) ** 2, axis=1)


def roc_area_term(
    edges: np.ndarray,
    zeros: np.ndarray,
    ones: np.ndarray,
    area: float,
    share: float,
    of_class: int = 1,
) -> RowMetric:
    r"""Term of a row in the area under the ROC curve, to first order in the two distributions.

    With ``F_0`` and ``F_1`` the distribution functions of the score in each class, given at edges
    and linear between them, A the area under their curve and p the share of class 1, it is
    ``(F_0(s) - A) / p`` for rows of class 1 and ``(1 - F_1(s) - A) / (1 - p)`` for those of class
    0. All of these are public. Of several classes one is class 1, and the rest are class 0. The
    ends of the range are ``-A / m`` and ``(1 - A) / m``, with m the smaller share of the two; the
    lowest stands for a score that is missing.
    """
    smaller = min(share, 1.0 - share)
    ends = -area / smaller, (1.0 - area) / smaller

    def of(given: PredictedBlock) -> np.ndarray:
        s = given.score_of(of_class)
        below, above = np.interp(s, edges, zeros), 1 - np.interp(s, edges, ones)
        of_rest = (above - area) / (1 - share)
        found = np.where(given.y == of_class, (below - area) / share, of_rest)
        return np.where(np.isnan(s), ends[0], found)

    facts = edges, zeros, ones, area, share, of_class
    return RowMetric("RocAreaTerm", ends, of, facts)


def mean_roc_area_term(
    edges: np.ndarray, zeros: np.ndarray, ones: np.ndarray, areas: np.ndarray, shares: np.ndarray
) -> RowMetric:
    """Mean over K classes of the terms of a row in the areas of each against the rest.

    The range is from the lowest to the highest mean, over which of the classes, if one, is the
    row's own.

    ``zeros`` and ``ones``, (K, b + 1), are the distribution functions of the score of each class at
    the b + 1 edges, of other rows and of its own; areas and shares of the classes are (K,).
    """
    K = len(areas)
    weight = np.where(np.eye(K + 1, K, dtype=bool), shares, 1.0 - shares)
    low, high = (-areas / weight).mean(axis=1), ((1.0 - areas) / weight).mean(axis=1)
    each = zip(zeros, ones, areas.tolist(), shares.tolist(), strict=True)
    terms = [roc_area_term(edges, *facts, k) for k, facts in enumerate(each)]

    def of(given: PredictedBlock) -> np.ndarray:
        return np.mean([term.of(given) for term in terms], axis=0)

    ends = float(low.min()), float(high.max())
    return RowMetric("MeanRocAreaTerm", ends, of, (edges, zeros, ones, areas, shares))


# Metrics of regressions have targets clipped to [low, high], and residuals to [-bound, bound], in
# the units of the target. Where there is no prediction the residual is at its bound.


@_metric("SquaredError", lambda low, high, bound: (0.0, _power(bound, 2)))
def squared_error(given: PredictedBlock, low: float, high: float, bound: float) -> np.ndarray:
    """The squared residual."""
    return _residual(given, low, high, bound) ** 2


@_metric("AbsoluteError", lambda low, high, bound: (0.0, bound))
def absolute_error(given: PredictedBlock, low: float, high: float, bound: float) -> np.ndarray:
    """The absolute residual."""
    return np.abs(_residual(given, low, high, bound))


@_metric("Target", lambda low, high, bound: (low, high))
def clipped_target(given: PredictedBlock, low: float, high: float, bound: float) -> np.ndarray:
    """The target itself."""
    del bound
    return np.clip(given.y, low, high)


def pinball_loss(quantiles: tuple[float, ...], low: float, high: float, bound: float) -> RowMetric:
    """Mean over the quantiles of the pinball losses of the residuals."""
    q = np.array(quantiles)

    def of(given: PredictedBlock) -> np.ndarray:
        r = np.clip(np.clip(given.y, low, high)[:, None] - given.predictions, -bound, bound)
        return np.maximum(q * r, (q - 1) * r).mean(axis=1)

    ends = 0.0, bound * float(np.maximum(q, 1 - q).mean())
    return RowMetric("PinballLoss", ends, of, (*quantiles, low, high, bound))


@_metric("IntervalCoverage", lambda low, high, bound: (0.0, 1.0))
def interval_coverage(given: PredictedBlock, low: float, high: float, bound: float) -> np.ndarray:
    """1 if the target is from the first to the last prediction, or up to the only one, else 0."""
    del bound
    y, predicted = np.clip(given.y, low, high), given.predictions
    above = predicted[:, 0] <= y if predicted.shape[1] > 1 else True
    return np.asarray(above & (y <= predicted[:, -1]), dtype=np.float64)


@_metric("SquaredR2Term", lambda low, high, bound, mean, unexplained: (0.0, _power(bound, 4)))
def squared_r2_term(
    given: PredictedBlock, low: float, high: float, bound: float, mean: float, unexplained: float
) -> np.ndarray:
    """Square of a row's first-order term in R2, ``r^2 - (1 - R2)(y - m)^2``.

    ``mean`` and ``unexplained`` are public estimates of the mean m of targets and of 1 - R2.
    """
    total = (np.clip(given.y, low, high) - mean) ** 2
    return (_residual(given, low, high, bound) ** 2 - unexplained * total) ** 2


# Metrics of counts have the events of a row, its rate times its exposure, clipped to [0, cap], and
# expected ones to [cap / 1000, cap]. Exposures come as groups do, and count up to 1.

_LEAST_EXPECTED = 1e-3


@_metric("PoissonDeviance", lambda cap: (0.0, _largest_deviance(cap)))
def poisson_deviance(given: PredictedBlock, cap: float) -> np.ndarray:
    """``2 (k log(k / m) - k + m)``, of k events where m are expected."""
    return _deviance(given, cap, given.prediction)


@_metric("ConstantDeviance", lambda cap, rate: (0.0, _largest_deviance(cap)))
def constant_deviance(given: PredictedBlock, cap: float, rate: float) -> np.ndarray:
    """The deviance of a model that says the same public rate of all rows."""
    return _deviance(given, cap, np.full(given.y.size, rate))


@_metric("DevianceGain", lambda cap, rate: (-_largest_deviance(cap), _largest_deviance(cap)))
def deviance_gain(given: PredictedBlock, cap: float, rate: float) -> np.ndarray:
    """Deviance of the public rate less that of the model."""
    constant = _deviance(given, cap, np.full(given.y.size, rate))
    gain = -(_deviance(given, cap, given.prediction) - constant)
    # What is not a number is the worst that a model can say.
    return np.nan_to_num(gain, nan=-_largest_deviance(cap))


@_metric("Events", lambda cap: (0.0, cap))
def events(given: PredictedBlock, cap: float) -> np.ndarray:
    """Number of events."""
    return np.clip(given.y * _exposure(given), 0.0, cap)


@_metric("ExpectedEvents", lambda cap: (0.0, cap))
def expected_events(given: PredictedBlock, cap: float) -> np.ndarray:
    """Number of events that the model expects."""
    return _expected(given, cap, given.prediction)


@_metric("Exposure", lambda: (0.0, 1.0))
def exposure(given: PredictedBlock) -> np.ndarray:
    """Exposure of the row."""
    return _exposure(given)


def _exposure(given: PredictedBlock) -> np.ndarray:
    return np.clip(given.group, 0.0, 1.0)


def _expected(given: PredictedBlock, cap: float, rate: np.ndarray) -> np.ndarray:
    return np.clip(rate * _exposure(given), _LEAST_EXPECTED * cap, cap)


def _deviance(given: PredictedBlock, cap: float, rate: np.ndarray) -> np.ndarray:
    k = np.clip(given.y * _exposure(given), 0.0, cap)
    m = _expected(given, cap, rate)
    return 2.0 * (xlogy(k, k / m) - k + m)


def _largest_deviance(cap: float) -> float:
    """Deviance of as many events as count where as few are expected as count."""
    return 2.0 * cap * (_LEAST_EXPECTED - 1.0 - log(_LEAST_EXPECTED))


def _residual(given: PredictedBlock, low: float, high: float, bound: float) -> np.ndarray:
    r = np.clip(given.y, low, high) - given.prediction
    return np.clip(np.where(np.isnan(r), bound, r), -bound, bound)


def _power(bound: float, exponent: int) -> float:
    try:
        return bound**exponent
    except OverflowError:
        return inf


@dataclass(frozen=True, eq=False)
class MetricMeansQuery(UnitMoments):
    """Moments of bounded metrics of predictions, each clipped to its range and brought to [-1, 1].

    Guarantees
    ----------
    - Those of moments hold whatever metrics and models return: what is not a number is at the high
      end. The proof asks for nothing but a number of each row in that interval.
    """

    name: ClassVar[str] = "metric_means"

    #: At least one.
    metrics: tuple[RowMetric, ...]
    #: Number of rows n to divide by.
    n_samples: int

    def __post_init__(self) -> None:
        for metric in self.metrics:
            low, high = metric.range
            if not (max(-low, high) <= _FARTHEST and high - low >= _NEAREST):
                raise ValueError(
                    f"MetricMeansQuery needs ranges within {_FARTHEST:g} of zero and at least "
                    f"{_NEAREST:g} wide, got {low:.3g} to {high:.3g} for {metric.name}. Change the "
                    "unit of the target."
                )

    @property
    def entries(self) -> int:
        """Number of metrics."""
        return len(self.metrics)

    def public(self) -> tuple[object, ...]:
        return tuple(content for m in self.metrics for content in (m.name, *m.facts))

    def _of_block(self, block: RawBlock) -> np.ndarray:
        return self.of_scaled(self.units(PredictedBlock.of(block)), block.shares)

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
    :class:`~skdp.privacy.queries.columns.ColumnMomentsQuery`.

    Guarantees
    ----------
    - Replacing a row moves the answer by at most ``2 sqrt(k) / n``, as much as means of all rows,
      so that groups and their sizes come for free; zeroing it out by ``sqrt(2 k) / n``. Both are
      attained. Proof: theorem C4 of ``docs/proofs/columns_and_metrics.md``.
    - This holds whatever groups, metrics and models return.
    """

    name: ClassVar[str] = "group_means"

    #: The metrics, and n.
    means: MetricMeansQuery
    #: Number of groups G, encoded 0, ..., G - 1. Rows of others count towards the nearest one,
    #: those of no number towards the first.
    n_groups: int

    @property
    def n_samples(self) -> int:
        """Number of rows n to divide by."""
        return self.means.n_samples

    @property
    def _weight(self) -> float:
        """Number that each row counts as, sqrt(7 k / 8)."""
        return sqrt(0.875 * len(self.means.metrics))

    def sensitivity(self, adjacency: Adjacency) -> float:
        """``2 sqrt(k) / n`` under replace-one, ``sqrt(2 k) / n`` under zero-out."""
        square = 4.0 if adjacency is Adjacency.REPLACE_ONE else 2.0
        return sqrt(square * len(self.means.metrics)) / self.n_samples

    @property
    def rounding(self) -> float:
        return self.means.rounding

    def evaluate(self, rows: RowStore) -> np.ndarray:
        """The exact answer, of shape (G, 1 + 2 k)."""
        return rows.sum(self._of_block) / self.n_samples

    def public(self) -> tuple[object, ...]:
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
