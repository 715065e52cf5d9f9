r"""Scores and their intervals from paid answers: no rows, no noise, nothing but arithmetic.

An interval covers what both rows that happened to be drawn and noise have done to a score; for
that it takes the test rows for independent draws of the population that is asked about. Noise is
normal and of known size, so that each interval is the set of values that a test at the level would
not refuse.

*Ratios of counts* ``r = N / D``, of rows counted in some cells over rows counted in more of them.
The statistic ``N^ - q D^`` has, for the right q, mean 0 and variance

.. math:: D q (1 - q) + s^2 (|a|^2 - 2 q\, a \cdot b + q^2 |b|^2),

with a and b the cells of N and D and s the noise of a cell, so the interval is where a quadratic is
negative: Wilson's, and Fieller's, with noise. Where the number of rows is public, answers are first
corrected to add up to it, which takes their mean off a and b.

*Means of bounded metrics* are normal; their variance over rows is released beside them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import hypot, inf, isnan, nan, sqrt
from typing import NamedTuple

import numpy as np
from scipy.optimize import isotonic_regression

# A denominator below so many standard deviations of its noise says nothing of a ratio.
LEAST_EVIDENCE = 5.0
# Values of a score of which neither end of its interval has a closed form.
_GRID = np.linspace(0.0, 1.0, 4001)
# Share of rows that the smaller of two classes is taken to have at least, and noise it stands out
# of, where its size divides.
_LEAST_SHARE, _LEAST_NOISE = 0.005, 2.0


class Estimate(NamedTuple):
    """A score with its interval.

    Parameters
    ----------
    value : float
        The score.
    low, high : float
        Ends of the interval; not numbers where noise hides the score.
    noise : float
        Standard deviation that noise alone gives to the value.
    """

    value: float
    low: float
    high: float
    noise: float

    def with_noise(self, more: float, z: float) -> Estimate:
        """The score with noise of its own beside that which it has, at the quantile z."""
        below, above = (hypot(end - self.value, z * more) for end in (self.low, self.high))
        ends = max(self.value - below, 0.0), self.value + above
        return Estimate(self.value, *ends, hypot(self.noise, more))


@dataclass(frozen=True, eq=False)
class OutcomeTable:
    """Released counts of rows by label and outcome.

    Parameters
    ----------
    counts : ndarray of shape (labels, outcomes)
        Noisy counts.
    scale : float
        Standard deviation of the noise of each.
    total : int or None, default=None
        Number of rows, if it is public; the counts add up to it then.
    """

    counts: np.ndarray
    scale: float
    total: int | None = None

    @classmethod
    def of(cls, counts: np.ndarray, scale: float, total: int) -> OutcomeTable:
        """A table of all rows, corrected to their public number."""
        return cls(counts + (total - counts.sum()) / counts.size, scale, total)

    def sum(self, cells: np.ndarray) -> float:
        """Sum of the counts, each times its weight."""
        return float(np.sum(self.counts * cells))

    def noise(self, a: np.ndarray, b: np.ndarray) -> float:
        """Covariance of the noise of two such sums."""
        together = 0.0 if self.total is None else float(a.sum() * b.sum()) / self.counts.size
        return self.scale**2 * (float(np.sum(a * b)) - together)

    def _moments(self, a: np.ndarray, b: np.ndarray) -> tuple[float, ...] | None:
        """Two sums, and covariances of their noise; None where noise hides the second sum."""
        bb = self.noise(b, b)
        if not self.sum(b) > LEAST_EVIDENCE * sqrt(max(bb, 0.0)):
            return None
        return self.sum(a), self.sum(b), self.noise(a, a), self.noise(a, b), bb

    def proportion(self, part: np.ndarray, whole: np.ndarray, z: float) -> Estimate:
        """Share of rows of the cells ``part`` among those of ``whole``, which holds them.

        Parameters
        ----------
        part, whole : ndarray
            Cells, 1 for those that count and 0 for others.
        z : float
            Quantile of the normal distribution.
        """
        if (moments := self._moments(part, whole)) is None:
            return _HIDDEN
        above, below, aa, ab, bb = moments
        value, z2 = min(max(above / below, 0.0), 1.0), z * z
        square = below**2 + z2 * (below - bb)
        middle = above * below + z2 * (below / 2 - ab)
        root = sqrt(max(middle**2 - square * (above**2 - z2 * aa), 0.0))
        low, high = (float(np.clip((middle + sign * root) / square, 0, 1)) for sign in (-1, 1))
        noise = sqrt(max(aa - 2 * value * ab + value**2 * bb, 0.0)) / below
        return Estimate(value, min(low, value), max(high, value), noise)

    def f1(self, both: np.ndarray, either: np.ndarray, z: float) -> Estimate:
        """Harmonic mean of precision and recall, twice ``both`` over the sum of ``either``.

        With q the score, a row of ``both`` moves ``N - q D`` by ``2 - 2 q`` and each of those of
        one kind alone by q, which gives a variance of ``D q (1 - q) (2 - q)``.

        Parameters
        ----------
        both : ndarray
            Cells of rows that are labelled and predicted as a class.
        either : ndarray
            Sum of the cells of rows that are labelled and of those that are predicted so.
        z : float
            Quantile of the normal distribution.
        """
        if (moments := self._moments(2.0 * both, either)) is None:
            return _HIDDEN
        above, below, aa, ab, bb = moments
        q = _GRID
        variance = below * q * (1 - q) * (2 - q) + aa - 2 * q * ab + q * q * bb
        inside = q[(above - q * below) ** 2 <= z * z * variance]
        value = min(max(above / below, 0.0), 1.0)
        low, high = (float(inside[0]), float(inside[-1])) if inside.size else (value, value)
        noise = sqrt(max(aa - 2 * value * ab + value**2 * bb, 0.0)) / below
        return Estimate(value, min(low, value), max(high, value), noise)

    def mean_f1(self, pairs: list[tuple[np.ndarray, np.ndarray]], z: float) -> Estimate:
        """Mean of the F1 scores of several classes, which share rows, to first order in counts.

        Parameters
        ----------
        pairs : list of (ndarray, ndarray)
            Arguments of :meth:`f1` for each class.
        z : float
            Quantile of the normal distribution.
        """
        scores = [self.f1(both, either, z) for both, either in pairs]
        value = float(np.mean([score.value for score in scores]))
        if isnan(value):
            return _HIDDEN
        slopes = [
            (2.0 * both - score.value * either) / self.sum(either)
            for score, (both, either) in zip(scores, pairs, strict=True)
        ]
        slope = np.mean(slopes, axis=0)
        noise = self.noise(slope, slope)
        reach = z * sqrt(float(np.sum(np.maximum(self.counts, 0.0) * slope**2)) + noise)
        return Estimate(value, max(value - reach, 0.0), min(value + reach, 1.0), sqrt(noise))


def of_counts(name: str, table: OutcomeTable, z: float) -> Estimate:
    """A score of a classifier that is a function of labels and predicted classes.

    Precision, recall and F1 are those of class 1 of two, and means over classes of several. Means
    of proportions of rows that no two of them share have the interval of Zou and Donner (2008).

    Parameters
    ----------
    name : str
        Of the score.
    table : OutcomeTable
        Counts by label and predicted class; of one label, by mistakes and hits.
    z : float
        Quantile of the normal distribution.
    """
    labels, classes = table.counts.shape
    everything = np.ones((labels, classes))
    hits = np.eye(classes) if labels > 1 else np.array([[0.0, 1.0]])
    of_label = [np.outer(np.eye(classes)[k], np.ones(classes)) for k in range(labels)]
    as_class = [cells.T for cells in of_label] if labels > 1 else []
    match name:
        case "accuracy":
            return table.proportion(hits, everything, z)
        case "selection_rate":
            return table.proportion(as_class[1], everything, z)
        case "false_positive_rate":
            return table.proportion(as_class[1] * of_label[0], of_label[0], z)
        case "true_positive_rate":
            return table.proportion(as_class[1] * of_label[1], of_label[1], z)
        case "recall" | "balanced_accuracy":
            chosen = of_label[1:] if labels == 2 and name == "recall" else of_label
            return _mean([table.proportion(hits * cells, cells, z) for cells in chosen])
        case "precision":
            chosen = as_class[1:] if labels == 2 else as_class
            return _mean([table.proportion(hits * cells, cells, z) for cells in chosen])
        case "f1":
            pairs = [(hits * a, a + b) for a, b in zip(of_label, as_class, strict=True)]
            return table.f1(*pairs[1], z) if labels == 2 else table.mean_f1(pairs, z)
    raise ValueError(f"No score of counts is called {name}.")


def difference(one: Estimate, other: Estimate) -> Estimate:
    """The first less the second, of independent estimates (Newcombe 1998).

    Parameters
    ----------
    one, other : Estimate
        Of groups that nobody has rows in both of. Of others the standard deviation of the gap is
        at most the sum of the two, which is at most sqrt(2) times what it is taken to be.
    """
    gap = one.value - other.value
    below = sqrt((one.value - one.low) ** 2 + (other.high - other.value) ** 2)
    above = sqrt((one.high - one.value) ** 2 + (other.value - other.low) ** 2)
    return Estimate(gap, gap - below, gap + above, sqrt(one.noise**2 + other.noise**2))


def mean_of(
    mean: float, square: float, scale: float, ends: tuple[float, float], n: int, z: float
) -> Estimate:
    """Mean of a bounded metric.

    Parameters
    ----------
    mean, square : float
        Released means of the metric and of its square, on the scale of [-1, 1].
    scale : float
        Noise of the first; that of the second is smaller by sqrt(2).
    ends : (float, float)
        The range of the metric.
    n : int
        Number of rows.
    z : float
        Quantile of the normal distribution.
    """
    low, high = ends
    centre, half = (low + high) / 2, (high - low) / 2
    # Noise hides a variance that is as small as that.
    variance = min(max(square - mean**2 + scale**2, scale / sqrt(2.0)), 1.0)
    value = float(np.clip(centre + half * mean, low, high))
    reach = z * half * sqrt(variance / n + scale**2)
    at = centre + half * mean
    return Estimate(
        value, min(max(at - reach, low), value), max(min(at + reach, high), value), half * scale
    )


class Mean(NamedTuple):
    """Released mean of a bounded metric, in its own units.

    Parameters
    ----------
    value : float
        The mean.
    spread : float
        Standard deviation of the metric over rows.
    noise : float
        Standard deviation of the noise of the mean.
    """

    value: float
    spread: float
    noise: float

    @classmethod
    def of(cls, mean: float, square: float, scale: float, ends: tuple[float, float]) -> Mean:
        """The mean of released numbers, which are those of :func:`mean_of`."""
        half = (ends[1] - ends[0]) / 2
        variance = min(max(square - mean**2 + scale**2, scale / sqrt(2.0)), 1.0)
        return cls(ends[0] + half * (1 + mean), half * sqrt(variance), half * scale)


def ratio_of(top: Mean, bottom: Mean, n: int, z: float) -> Estimate:
    """Ratio of two means, to first order in them.

    What rows that are drawn do to it is at most as much as if both metrics moved against each
    other, ``(s_1 + |q| s_2)^2 / n`` with s their standard deviations and q the ratio.

    Parameters
    ----------
    top, bottom : Mean
        The bottom one of a metric that is not negative.
    n : int
        Number of rows.
    z : float
        Quantile of the normal distribution.
    """
    if not bottom.value > LEAST_EVIDENCE * bottom.noise:
        return _HIDDEN
    q = top.value / bottom.value
    noise = sqrt(top.noise**2 + (q * bottom.noise) ** 2) / bottom.value
    of_rows = (top.spread + abs(q) * bottom.spread) / sqrt(n) / bottom.value
    reach = z * sqrt(noise**2 + of_rows**2)
    return Estimate(q, q - reach, q + reach, noise)


def group_mean_of(
    share: float,
    total: float,
    square: float,
    scales: tuple[float, float],
    ends: tuple[float, float],
    n: int,
    z: float,
) -> Estimate:
    """Mean of a bounded metric over a group whose size is not public.

    With N the share of the group and T the sum of the metric, ``T - m N`` has mean 0 for the right
    m, and the interval is where a quadratic in m is negative, as for ratios of counts.

    Parameters
    ----------
    share : float
        Released share N of the group in the rows.
    total, square : float
        Released sums of the metric on the scale of [-1, 1], and of its square less 3/4, over n.
    scales : (float, float)
        Noise of the total and of the share; that of the square is smaller than the first by
        sqrt(2).
    ends : (float, float)
        The range of the metric.
    n : int
        Number of all rows.
    z : float
        Quantile of the normal distribution.
    """
    (low, high), (scale, of_share) = ends, scales
    if not share > LEAST_EVIDENCE * of_share:
        return _HIDDEN
    mean, of_square, z2 = total / share, square / share + 0.75, z * z
    least = scale / share / sqrt(2.0)
    own = (scale**2 + (mean * of_share) ** 2) / share**2
    variance = min(max(of_square - mean**2 + own, least), 1.0)
    first = share**2 - z2 * of_share**2
    last = total**2 - z2 * (share * variance / n + scale**2)
    root = sqrt(max((total * share) ** 2 - first * last, 0.0))
    centre, half = (low + high) / 2, (high - low) / 2
    at = (mean, (total * share - root) / first, (total * share + root) / first)
    value, below, above = (float(np.clip(centre + half * m, low, high)) for m in at)
    return Estimate(value, min(below, value), max(above, value), half * sqrt(own))


@dataclass(frozen=True, eq=False)
class RocArea:
    """Distributions of scores by class, from released counts, and the area under their curve.

    Parameters
    ----------
    zeros, ones : ndarray of shape (b + 1,)
        Distribution functions in class 0 and class 1 at the edges of bins.
    area : float
        Area under the curve that is linear between edges.
    share : float
        Share of class 1, held away from 0 and 1.
    smaller : float
        Share of the smaller class as it was released; may be negative.
    """

    zeros: np.ndarray
    ones: np.ndarray
    area: float
    share: float
    smaller: float


def roc_area(table: OutcomeTable) -> RocArea:
    """First approximation of the area under the ROC curve, to be corrected by one more answer.

    Parameters
    ----------
    table : OutcomeTable
        Counts by label and bin of the score, of a public total.
    """
    assert table.total is not None
    n, bins = table.total, table.counts.shape[1]
    least = max(_LEAST_SHARE * n, _LEAST_NOISE * table.scale * sqrt(bins))
    ones = float(table.counts[1].sum())
    share = 0.5 if least >= n / 2 else min(max(ones, least), n - least) / n
    below, above = (_distribution(row) for row in table.counts)
    area = float(np.sum(np.diff(above) * (below[1:] + below[:-1]) / 2))
    return RocArea(below, above, min(max(area, 0.0), 1.0), share, min(ones / n, 1 - ones / n))


def r2_of(
    target: tuple[float, float],
    error: float,
    scale: float,
    influence: tuple[float, float],
    units: tuple[float, float],
    n: int,
    z: float,
) -> Estimate:
    """Share of the variance of targets that predictions explain.

    With V the variance of targets and e the mean squared residual, ``u V - e`` has mean 0 for the
    right ``u = 1 - R2``; the interval is where a quadratic in u is negative.

    Parameters
    ----------
    target : (float, float)
        Released means of the target and of its square, on the scale of [-1, 1].
    error : float
        Released mean of the squared residual, on that scale.
    scale : float
        Noise of means; that of squares is smaller by sqrt(2).
    influence : (float, float)
        Released mean of the squared term of a row, and its noise, as shares of its range.
    units : (float, float)
        Half the width of the bounds of targets, and the bound on residuals.
    n : int
        Number of rows.
    z : float
        Quantile of the normal distribution.
    """
    half, bound = units
    mean, square = target
    variance = half**2 * (square - mean**2 + scale**2)
    noise = half**2 * scale * sqrt(0.5 + 4 * mean**2)
    mse, error_noise = bound**2 * (1 + error) / 2, bound**2 * scale / 2
    if not variance > LEAST_EVIDENCE * noise:
        return _HIDDEN
    spread = bound**4 * max(influence[0], influence[1]) / n
    z2, u = z * z, max(mse, 0.0) / variance
    first = variance**2 - z2 * noise**2
    root = sqrt(max((variance * mse) ** 2 - first * (mse**2 - z2 * (spread + error_noise**2)), 0.0))
    low, high = (max((variance * mse + sign * root) / first, 0.0) for sign in (-1, 1))
    return Estimate(
        1 - u, 1 - max(high, u), 1 - min(low, u), sqrt(error_noise**2 + (u * noise) ** 2) / variance
    )


def _mean(parts: list[Estimate]) -> Estimate:
    """Mean of independent proportions; nothing if one of them is hidden by noise."""
    value, below, above, noise = (
        float(np.mean([p.value for p in parts])),
        *(sqrt(sum(f(p) ** 2 for p in parts)) / len(parts) for f in _REACHES),
    )
    low, high = max(value - below, 0.0), min(value + above, 1.0)
    return Estimate(value, low, high, noise) if not isnan(below) else _HIDDEN


_HIDDEN = Estimate(nan, nan, nan, inf)
_REACHES: tuple[Callable[[Estimate], float], ...] = (
    lambda p: p.value - p.low,
    lambda p: p.high - p.value,
    lambda p: p.noise,
)


def _distribution(counts: np.ndarray) -> np.ndarray:
    """Distribution function at the edges of bins, from 0 to 1 and never decreasing."""
    reached = np.cumsum(counts)
    steps = np.clip(isotonic_regression(reached / max(float(reached[-1]), 1.0)).x, 0.0, 1.0)
    steps[-1] = 1.0
    return np.concatenate([[0.0], steps])
