"""Change of the mean gradient of the loss from one point to another."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import inf, isfinite, sqrt
from typing import ClassVar

import numpy as np

from ...problem.problem import Problem
from ..adjacency import Adjacency
from ..rounding import of_sum, spread
from ..rows.base import RowStore
from ..rows.bounded_rows import BoundedBlock
from .base import LARGEST_SUM, LEAST_BOUND, GaussianQuery
from .gradient import GradientQuery, point

# Squares of longer ones overflow.
_LONGEST = 1e140

# Where the change of a row's derivative lies: a ball whose centre and radius are these multiples
# of smoothness times the change of the row's scores, and of its length.
_Ball = tuple[float, float]
_CONVEX: _Ball = (0.5, 0.5)
_ANY: _Ball = (0.0, 1.0)


@dataclass(frozen=True, eq=False)
class GradientDifferenceQuery(GaussianQuery):
    r"""Mean over the rows of the clipped gradient at w less that at w0, both in one pass.

    Gradients at near points are alike, so their difference moves little when a row is replaced:
    in proportion to ``delta = w - w0``. With ``L = problem.smoothness`` and C the clip,
    the difference of row i lies in the ball of

    - centre ``(L / 2) delta`` and radius ``(L / 2) ||delta||``, if the loss is convex;
    - centre 0 and radius ``L ||delta||``, if it is smooth;

    and in any case in the ball of centre 0 and radius 2 C. The smallest ball around the
    intersection of the two is what counts: let c be its centre, which is public, and r its radius.
    The query is ``c + sum_i (difference_i - c) / n``, or, for weighted rows whose number is not
    n, with the public multiple of c that makes it the sum of the differences over n.

    Guarantees
    ----------
    - Under replace-one the exact answer moves by at most ``2 r / n`` in l2, hence by at most
      ``L ||delta|| / n`` for a convex loss. Under zero-out, where a removed row contributes nothing
      to the sum of ``difference_i - c``, it moves by at most ``r / n``. Both are attained, by rows
      that see the full curvature or lie at the clip.
    - The bound holds whatever the rows and the targets, even if the loss declares to be smoother
      or more convex than it is, because each row's difference is projected onto its ball. As for
      gradients, the loss has to be pointwise.
    - Projecting changes nothing if the declarations are true and there is one score a row, or no
      clip. With several scores that are clipped it may bring a few rows closer to the centre, by at
      most 30 %, and by less than 2 % in all that was tried with softmax and a clip of 0.3.
    - So it is with bounds that labels do not enter, which may bend more than the loss does: a
      difference is then brought closer to the centre, for one score a row by at most half.
    - Bounds so extreme that double precision could not keep them, and no bound at all, have an
      infinite sensitivity, with which the query is refused.

    Proof: theorem D1 of ``docs/proofs/gradient_difference.md``.
    """

    name: ClassVar[str] = "gradient_difference"

    #: The gradient at w, with its clip.
    gradient: GradientQuery
    #: The other point; public, as w is.
    w0: np.ndarray

    def __post_init__(self) -> None:
        w0 = point(self.gradient.problem, self.w0)
        if np.array_equal(w0, self.gradient.w):
            raise ValueError(
                "GradientDifferenceQuery needs two points that differ, got the same one twice; "
                "there the difference is zero and need not be asked for."
            )
        object.__setattr__(self, "w0", w0)

    @property
    def _kind(self) -> _Ball:
        return _CONVEX if self.gradient.problem.loss.convex else _ANY

    @cached_property
    def _delta(self) -> np.ndarray:
        # At points that are not finite there is no smoothness to speak of.
        with np.errstate(over="ignore", invalid="ignore"):
            return self.gradient.w - self.w0

    @cached_property
    def _length(self) -> float:
        with np.errstate(over="ignore", invalid="ignore"):
            return sqrt(np.vdot(self._delta, self._delta))

    @cached_property
    def _ball(self) -> tuple[float, float]:
        """Distance of the centre from 0 in the direction of delta, and radius."""
        length = self._length
        # At most what a gradient may be, in each of two gradients.
        reach = 2.0 * self.gradient.bound
        longest = self.gradient.problem.smoothness * length
        squares = length >= LEAST_BOUND and self.gradient.problem.row_norm * length <= _LONGEST
        if not (squares and LEAST_BOUND <= longest <= _LONGEST):
            return 0.0, reach
        centre, radius = self._kind
        return around_both(centre * longest, radius * longest, reach)

    @property
    def radius(self) -> float:
        """Most that the difference of a row can be away from the public centre."""
        return self._ball[1]

    @property
    def rounding(self) -> float:
        """Margin for rounding of a sum of rows times differences, which is mapped afterwards."""
        problem, radius = self.gradient.problem, self.radius
        heaviest, smoothness = problem.max_weight, problem.loss.smoothness
        steepest = 2.0 * problem.loss.lipschitz * heaviest
        if smoothness < inf:
            # A difference is at most that times the row's length m times the distance, and at most
            # two radii over m: the smaller is largest where they meet.
            apart = float(np.linalg.norm(self.gradient.w - self.w0))
            steepest = min(steepest, sqrt(2.0 * smoothness * heaviest * apart * radius))
        # The centre is no further from zero than a radius, and is taken off after the rows are
        # added up: the lengths of both count.
        longer = 3.0 * spread(problem.bounds, steepest, radius)
        return of_sum(problem.n_actual, longer, problem.bounds.mixed_features)

    def sensitivity(self, adjacency: Adjacency) -> float:
        """``2 radius / n`` under replace-one; infinite unless double precision keeps the bound."""
        problem, radius = self.gradient.problem, self.radius
        least = LEAST_BOUND * max(1.0, problem.row_norm * problem.max_weight)
        # What is clipped to less than that is not kept by clipping.
        kept = least <= min(radius, self.gradient.bound)
        if not (kept and radius * problem.n_samples <= LARGEST_SUM):
            return inf
        return adjacency.of_sum(radius) / problem.n_samples

    def evaluate(self, rows: RowStore) -> np.ndarray:
        """The exact mean of differences, in the shape of w."""
        return self.of_drawn(rows, None, 1.0)

    @property
    def problem(self) -> Problem:
        """Loss and public bounds."""
        return self.gradient.problem

    def of_drawn(self, rows: RowStore, drawn: np.ndarray | None, rate: float) -> np.ndarray:
        """``h c + sum_i (difference_i - c) / (rate n)`` over the rows that are marked, or all.

        h is 1, or if rows are weighted their public number over what stands for it. Of a privacy
        unit, whose rows' differences are together as one's, the centre is taken off once.
        """
        problem, centre = self.gradient.problem, self._ball[0]
        c = self._delta * (centre / self._length) if centre else None
        total = rows.bounded(problem.bounds).sum(self._of_block, drawn)
        if c is not None:
            # The centre is the same for all, so it is taken off once, from the sum.
            there = rows.n_samples if drawn is None else int(np.count_nonzero(drawn))
            total -= there * c
        total /= rate * problem.n_samples
        return total if c is None else total + c * (problem.n_actual / problem.n_samples)

    def public(self) -> tuple[object, ...]:
        w, *others = self.gradient.public()
        return (w, self.w0, *others)

    def _of_block(self, block: BoundedBlock) -> np.ndarray:
        """Sum of the differences of some rows."""
        problem, gradient = self.gradient.problem, self.gradient
        z, t = block.scores(gradient.w), block.scores(self._delta, offset=False)
        a = gradient.slopes(block, z)
        z -= t
        a -= gradient.slopes(block, z)
        if np.isfinite(problem.loss.smoothness):
            _project(a, t, problem.loss.smoothness, self._kind)
        if not isfinite(np.vdot(a, a)):
            np.copyto(a, 0.0, where=~np.isfinite(a))
        return block.combine(gradient.weighted(block, a))


def around_both(centre: float, radius: float, reach: float) -> tuple[float, float]:
    """Smallest ball around the intersection of two, one of them with centre 0.

    Their boundaries meet in a sphere around a point between the centres; it is a great sphere of
    the smallest ball, unless that point lies beyond a centre, where the smaller ball is the answer.
    """
    if reach >= centre + radius:
        return centre, radius
    if not centre:
        return 0.0, reach
    # In this order, nothing is lost where the reach is short and centre and radius are equal.
    between = ((centre - radius) * (centre + radius) + reach**2) / (2 * centre)
    if between >= centre:
        return centre, radius
    if between <= 0:
        return 0.0, reach
    return between, sqrt((reach - between) * (reach + between))


def _project(a: np.ndarray, t: np.ndarray, smoothness: float, kind: _Ball) -> None:
    """Bring each a to the nearest point of its ball around a multiple of t, in place."""
    centre, radius = kind[0] * smoothness, kind[1] * smoothness
    if a.ndim == 1:
        middle, half = centre * t, np.abs(t)
        half *= radius
        np.maximum(a, middle - half, out=a)
        middle += half
        np.minimum(a, middle, out=a)
        return
    # Never in units of the centre: t may be so long that a is lost in it.
    tt = np.einsum("ij,ij->i", t, t)
    beyond = np.einsum("ij,ij->i", a, a) - 2.0 * centre * np.einsum("ij,ij->i", a, t)
    if centre != radius:
        beyond += (centre - radius) * (centre + radius) * tt
    out = np.flatnonzero(~(beyond <= 0))
    if out.size:
        within = radius**2 * tt[out]
        length, largest = np.sqrt(beyond[out] + within), np.sqrt(within)
        towards = centre * (beyond[out] / (length * (length + largest)))
        a[out] = (largest / length)[:, None] * a[out] + towards[:, None] * t[out]
