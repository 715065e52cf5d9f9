"""The mean gradient of the loss, its norm, and that along the intercept alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from math import ceil, inf, isinf, log2, sqrt
from typing import ClassVar, Self

import numpy as np

from ...problem.losses import Loss, OneVsRest, SquaredHinge
from ...problem.problem import Problem
from ..adjacency import Adjacency, PrivacyUnit
from ..rounding import of_sum, spread
from ..rows.base import RowStore
from ..rows.bounded_rows import BlockKernel, BoundedBlock, lengths_of, total_of_rows
from ..rows.score_cache import times_rows
from .base import LARGEST_SUM, LEAST_BOUND, GaussianQuery, Summed, kept

_LEAST_NORM = 1e-300
# Bound on the gradient of a row where means of privacy units are clipped, in units of their clip.
_ROW_OF_A_UNIT = 16.0


@dataclass(frozen=True, eq=False)
class GradientQuery(Summed):
    """Mean over the rows of the gradient of the weighted loss at w, each row clipped.

    The gradient of row i is ``v_i c_i l'(y_i, <w, x~_i>) x~_i^T`` with v_i in [0, 1] the weight of
    the row and c_i that of its class. In closed form ``l'`` is shrunk until
    ``max(c) ||l'|| ||x~_i||`` is at most ``clip_norm``, for rows of all weights alike, so that
    clipping does not undo them.

    Guarantees
    ----------
    - Under replace-one the exact answer moves by at most ``2 min(clip_norm, lipschitz) / n`` in l2,
      under zero-out by half of it: the sum has one vector a row (see ``Adjacency.of_sum``), and n
      is public. Proof that it has at most that norm: after clipping,
      ``||l'|| <= bound / (max(c) ||x~_i||)``, hence
      ``v_i c_i ||l'|| ||x~_i|| <= bound v_i c_i / max(c) <= bound``. Both are attained.
    - The bound holds whatever the rows, the targets and w, even if the loss declared a wrong
      Lipschitz constant, because the clip is applied in any case. It does presume that the loss is
      pointwise (see ``Loss.derivative``).
    - All rows of a privacy unit together move it by no more, with the number of units for n. With
      ``whole_units`` that is so because the sum has one vector a unit, scaled down to the clip, and
      which depends on nobody else's rows.
    - With ``label_blind`` the bound holds as well, even if the loss declared wrong worst
      derivatives, because the clip is applied behind them. Proof: theorem G4 of
      ``docs/proofs/gradients.md``.
    - Bounds so extreme that double precision could not keep them have an infinite sensitivity,
      with which the query is refused.
    """

    name: ClassVar[str] = "gradient"

    #: Where; public. Real numbers in the shape of the problem; copied to double precision.
    w: np.ndarray
    #: Bound on the norm of one row's gradient; None stands for the Lipschitz constant of the
    #: problem, with which clipping changes nothing.
    clip_norm: float | None = None
    #: Whether to clip the mean gradient of each privacy unit of several rows, and not that of each
    #: of its rows, which then is only bounded by 16 times the clip. Means are shorter than what
    #: they are of where rows differ, and so more of them are left whole.
    whole_units: bool = False
    #: Whether each row's gradient is bounded by a weight that depends on its features and public
    #: numbers, and not on its target: what a gradient of the worst target would be clipped by (see
    #: :meth:`Loss.label_blind_derivative`). The solution is then that of a weighted likelihood,
    #: where clipping moves it. The mean of a privacy unit is within the bound as its rows are; with
    #: ``whole_units`` the weights bound rows by 16 times the clip, and the clip of means depends on
    #: labels.
    label_blind: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "w", point(self.problem, self.w))
        if self.clip_norm is not None:
            object.__setattr__(self, "clip_norm", float(self.clip_norm))
        worst = self.problem.loss.worst_derivative
        if self.label_blind and isinf(worst(np.zeros((1, *self.w.shape[1:])))[0]):
            raise ValueError(
                "GradientQuery needs label_blind=False for a loss whose derivative at a score has "
                f"no bound over all targets, got {type(self.problem.loss).__name__}."
            )

    def at(self, w: np.ndarray) -> Self:
        """The query at another point; nothing that is the same there is worked out again."""
        other = object.__new__(type(self))
        vars(other).update(vars(self), w=point(self.problem, w))
        if self._steepest_of_smooth < inf:
            for name in ("_steepest_of_smooth", "rounding"):
                vars(other).pop(name, None)
        return other

    @cached_property
    def bound(self) -> float:
        """Bound on the norm of one row's gradient, or of the mean of those of a unit's rows."""
        lipschitz = self.problem.lipschitz
        return lipschitz if self.clip_norm is None else min(self.clip_norm, lipschitz)

    @cached_property
    def row_bound(self) -> float:
        """Bound on the norm of one row's gradient, before means over units are clipped."""
        if not self.whole_units:
            return self.bound
        return min(_ROW_OF_A_UNIT * self.bound, self.problem.lipschitz)

    @cached_property
    def rounding(self) -> float:
        """Margin for rounding of a sum of rows times derivatives, which is mapped afterwards.

        The mapped mean of a unit is as far off, in units of what its rows may be long, and clipping
        brings no two vectors further apart; then comes the sum over units.
        """
        problem, smooth = self.problem, self._steepest_of_smooth
        # Up to a power of 4, for receipts of few lines.
        smooth = 4.0 ** ceil(0.5 * log2(smooth)) if smooth < LARGEST_SUM else inf
        steepest = min(problem.loss.lipschitz, smooth) * problem.max_weight
        longer = spread(problem.bounds, steepest, self.row_bound)
        if self.whole_units:
            longer = longer * self.row_bound / self.bound + 1.0 if self.bound else 0.0
        return of_sum(problem.n_actual, longer, problem.bounds.mixed_features)

    @cached_property
    def _steepest_of_smooth(self) -> float:
        """Bound on clipped derivatives of a smooth loss that is least where score equals target.

        With smoothness b and K targets in [-1, 1] (signs, for a squared hinge) it is
        ``|l'| <= b (sqrt(K) + ||w|| m)`` for a row of length m, clipped ``|l'| <= bound / m``. The
        smaller is largest at the larger root of ``t^2 - b sqrt(K) t = b ||w|| bound``.
        """
        problem, loss, b = self.problem, self.problem.loss, self.problem.loss.smoothness
        of_one = type(loss.loss if type(loss) is OneVsRest else loss)
        if (problem.bounds.target is None and of_one is not SquaredHinge) or not b < inf:
            return inf
        norm, half = float(np.linalg.norm(self.w)), 0.5 * b * sqrt(loss.n_scores)
        return half + sqrt(half * half + b * norm * self.row_bound / problem.max_weight)

    @cached_property
    def extents(self) -> tuple[float, float]:
        """``2 bound`` and ``bound``; infinite unless double precision keeps the bound.

        That is the case if both the bound and its share ``bound / (row_norm max(c))`` on the
        derivative are at least 1e-140, and ``bound * n`` is at most 1e300.
        """
        problem, bound = self.problem, self.bound
        least = LEAST_BOUND * max(1.0, problem.row_norm * problem.max_weight)
        within = least <= bound and self.row_bound * problem.n_samples <= LARGEST_SUM
        return (2.0 * bound, bound) if within else (inf, inf)

    def evaluate(self, rows: RowStore) -> np.ndarray:
        """The exact mean of clipped gradients, in the shape of w."""
        total = self.summed(rows, self.of_block, self.of_units)
        total /= self.problem.n_samples
        return total

    def summed(
        self,
        rows: RowStore,
        of_block: BlockKernel,
        of_units: Callable[[np.ndarray], np.ndarray],
        *,
        exactly: bool = False,
    ) -> np.ndarray:
        """Sum of a function of blocks, or of sums of gradients and weights over whole units."""
        if not (self.whole_units and rows.unit is PrivacyUnit.DECLARED):
            return rows.bounded(self.problem.bounds).sum(of_block)
        pieces = partial(self.of_pieces, exactly=exactly)
        return rows.by_unit().bounded(self.problem.bounds).sum_of_units(pieces, of_units)

    def of_drawn(self, rows: RowStore, drawn: np.ndarray, rate: float) -> np.ndarray:
        """Sum of the clipped gradients of the rows that are marked, over ``rate * n``."""
        total = rows.bounded(self.problem.bounds).sum(self.of_block, drawn)
        total /= rate * self.problem.n_samples
        return total

    def public(self) -> tuple[object, ...]:
        return (self.w, self.bound, self.label_blind)

    def of_block(self, block: BoundedBlock) -> np.ndarray:
        """Sum of the clipped gradients of some rows."""
        return block.combine(self.weighted(block, self.slopes(block, block.scores(self.w))))

    def slopes(self, block: BoundedBlock, z: np.ndarray, bound: float | None = None) -> np.ndarray:
        """Derivatives of some rows with scores z, clipped by the bound or another one.

        Before weights of rows and classes.
        """
        # As a function of the base class: no loss can bring a clip of its own.
        bounded = Loss.label_blind_derivative if self.label_blind else Loss.clipped_derivative
        return bounded(self.problem.loss, block.y, z, self.derivative_bounds(block, bound))

    def of_pieces(self, block: BoundedBlock, *, exactly: bool) -> Iterator[np.ndarray]:
        """Sums over the pieces of units of the gradients of their rows, and of their weights."""
        r = self.weighted(block, self.slopes(block, block.scores(self.w), self.row_bound))
        return block.combine_pieces(r, exactly=exactly)

    def of_units(self, sums: np.ndarray) -> np.ndarray:
        """Sum of the clipped gradients of whole units, of weight v at most v times the clip each.

        So the clip applies to the mean over the weight, as it does to rows of any weight.
        """
        sums, weights = np.ascontiguousarray(sums[:, :-1]), np.minimum(sums[:, -1], 1.0)
        most = np.maximum(self.bound * weights, _LEAST_NORM)
        clipped = most / np.maximum(lengths_of(sums), most) @ sums
        return np.asarray(clipped).reshape(self.w.shape)

    def derivative_bounds(self, block: BoundedBlock, bound: float | None = None) -> np.ndarray:
        """Bounds on the derivatives of some rows, for the bound or another one, read-only."""
        heaviest, most = self._heaviest_and_most
        bound = self.bound if bound is None else bound
        return block.lengths.derivative_bounds(bound / heaviest, most)

    @cached_property
    def _heaviest_and_most(self) -> tuple[float, float]:
        """Largest weight of a class, and the most that a derivative may be whatever the bound."""
        # Negative weights are refused by the problem; the bound holds in spite of them.
        heaviest = max(map(abs, self.problem.class_weight or (1.0,)))
        # The derivative at an infinite score must not outlive a bound that overflows.
        return heaviest, LARGEST_SUM / self.problem.n_samples / max(1.0, heaviest)

    def weighted(self, block: BoundedBlock, r: np.ndarray) -> np.ndarray:
        """Derivatives of some rows times the weights of rows and classes; overwrites r."""
        alike = block.weights is None and self.problem.class_weight is None
        return r if alike else weighted(self.problem, block, r)


def point(problem: Problem, w: np.ndarray) -> np.ndarray:
    """A copy of w in double precision; refused unless of real numbers in the problem's shape."""
    w = np.asarray(w)
    if w.dtype.kind not in "iuf" or w.shape != problem.shape:
        raise ValueError(
            f"GradientQuery needs a w of real numbers and of shape {problem.shape}, got {w.dtype} "
            f"of shape {w.shape}; ask at arrays like problem.start()."
        )
    return np.array(w, dtype=np.float64)


def weighted(
    problem: Problem, block: BoundedBlock, r: np.ndarray, *, relatively: bool = False
) -> np.ndarray:
    """Numbers of rows, (m,) or (m, K), times the weights of rows and of their classes, in place.

    Those of classes are taken ``relatively`` to the largest of them, or as they are.
    """
    if problem.class_weight is not None:
        # Negative weights are refused by the problem; the bound holds in spite of them.
        of_classes = np.abs(problem.class_weight)
        of_classes = of_classes / of_classes.max() if relatively else of_classes
        times_rows(r, np.take(of_classes, block.y.astype(np.intp), mode="clip"))
    return r if block.weights is None else times_rows(r, block.weights)


@dataclass(frozen=True, eq=False)
class GradientNormQuery(GaussianQuery):
    """Norm (l2) of the mean of clipped gradients, a number (array of shape ()).

    Guarantees
    ----------
    - It moves by no more than the gradient itself, by the reverse triangle inequality.
    """

    name: ClassVar[str] = "gradient_norm"

    gradient: GradientQuery

    @property
    def problem(self) -> Problem:
        """Loss and public bounds."""
        return self.gradient.problem

    @property
    def rounding(self) -> float:
        """Margin for rounding of the gradient, and of its norm."""
        return 2.0 * self.gradient.rounding

    def sensitivity(self, adjacency: Adjacency) -> float:
        """Sensitivity of the gradient, which bounds that of its norm."""
        return self.gradient.sensitivity(adjacency)

    def evaluate(self, rows: RowStore) -> np.ndarray:
        # In units of the bound, because squares of what is far from 1 overflow or underflow.
        unit = self.gradient.bound
        return np.asarray(unit * np.linalg.norm(self.gradient.evaluate(rows) / unit))

    def public(self) -> tuple[object, ...]:
        return self.gradient.public()


@dataclass(frozen=True, eq=False)
class InterceptGradientQuery(Summed):
    r"""``1/n sum_i v_i c_i/max(c) [l'(y_i, <w, x~_i>)]_clip``: the gradient along the intercept.

    The l2 norm of the derivative of a row is bounded by ``clip``. It has K entries, far fewer than
    a gradient, and its noise does not grow with the rows. ``shrunk`` is as for
    :class:`skdp.privacy.queries.selection.VertexQuery`.

    Guarantees
    ----------
    - The sum has one vector a row, of norm at most ``clip``, because the weight of its class is at
      most the largest one, and its own weight ``v_i`` at most 1 (see ``Adjacency.of_sum``). Both
      bounds are attained, by rows on the wrong side whose labels differ.
    - The bound holds whatever the rows, the targets and w.
    """

    name: ClassVar[str] = "intercept_gradient"

    w: np.ndarray
    clip: float
    shrunk: float = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "w", point(self.problem, self.w))

    @property
    def extents(self) -> tuple[float, float]:
        """``2 clip`` and ``clip``."""
        clip = kept(min(self.clip, self.problem.loss.lipschitz), self.problem.n_samples)
        return 2.0 * clip, clip

    def _of_block(self, block: BoundedBlock) -> np.ndarray:
        problem, z = self.problem, block.scores_along(self.w, self.shrunk)
        clip = min(self.clip, problem.loss.lipschitz)
        r = Loss.clipped_derivative(problem.loss, block.y, z, clip)
        return np.atleast_1d(total_of_rows(weighted(problem, block, r, relatively=True)))
