"""The minimiser of the objective with a random slope."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from math import expm1, inf, log1p, sqrt
from typing import ClassVar, Self

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve
from scipy.sparse.linalg import LinearOperator, cg

from ...problem.losses import Huber, HuberisedHinge, Logistic, Loss, Squared, SquaredHinge
from ...problem.penalties import L2, ElasticNet, NoPenalty, Tikhonov
from ...problem.problem import Problem
from ..accounting.ledger import Spend
from ..adjacency import Adjacency
from ..mechanisms.perturbed_objective import (
    ObjectivePerturbation,
    PurePerturbation,
    RandomSlope,
    largest_jacobian,
    largest_pure_jacobian,
)
from ..minimizer import SmoothObjective, minimize
from ..rounding import UNIT, gamma, inflated, of_sum
from ..rows.base import BoundedRows, RowStore
from ..rows.bounded_rows import BoundedBlock, product_over_rows
from .base import PerturbedQuery
from .gradient import GradientQuery

# The losses whose derivative has a sign that the label fixes: minus that of 2 y - 1.
_ONE_SIDED = (Logistic, HuberisedHinge, SquaredHinge)
# Those whose derivative has either sign, which only pure epsilon is proved for.
_TWO_SIDED = (Squared, Huber)
# Of the quadratic part, relative to the largest curvature of the sum of losses. Weaker ones would
# make the minimiser hard to compute. Pure noise that hides what is left by rounding is longer, so
# that more pays.
_LEAST_STRENGTH, _LEAST_PURE_STRENGTH = 1e-6, 1e-5
# Of the quadratic part, relative to its own largest curvature. Of weaker ones rounding would leave
# nothing, and whether Newton's equations can be solved would depend on the rows.
_LEAST_OF_LARGEST = 1e-10
# Noise on the computed minimiser relative to the least that the random slope may do to it.
_LITTLE = 0.03
# Relative error of a product of eigenvectors and eigenvalues.
_ROUNDING = 16 * float(np.finfo(np.float64).eps)
# The tolerance in units of the rounding of gradients; how the proof uses it is said in ``planned``.
_ROUNDINGS = 2.5
# Above, the equations of Newton's method are solved by conjugate gradients.
_MOST_COLUMNS = 1000
_STEP = 1e-4
# Far above the rounding between a strength and the Jacobian that is computed back from it.
_ROUND_UP = 1 + 1e-9


@dataclass(frozen=True, eq=False)
class PerturbedMinimumQuery(PerturbedQuery):
    r"""Minimiser of the sum of clipped losses, a quadratic penalty, and a random linear function.

    .. math:: \sum_i v_i c_i\, l_C(y_i, \langle w, \tilde x_i\rangle)
              + \tfrac12 \langle w, Q w\rangle + \langle b, w\rangle,
              \qquad b \sim N(0, \sigma^2 I)

    or, if ``pure``, with a density of b in proportion to ``exp(-||b|| / sigma)``. ``l_C`` is the
    convex loss whose derivative is that of the loss, clipped as for gradients: the norm of a row's
    gradient is at most C, or ``clip_norm``. v_i in [0, 1] is the row's weight. Q is the Hessian of
    n times the penalty, scaled down with the loss where it is clipped, with its eigenvalues raised
    to at least ``strength``. The intercept is a part of w, so its curvature is ``strength``.

    Guarantees
    ----------
    - At any point the gradients of the objectives of two neighbours differ by at most
      ``2 C`` under replace-one and by ``C`` under zero-out, which is the sensitivity.
    - The log-ratio of their Jacobian determinants is at most ``jacobian``. Proof:
      step 2 of O1, and theorem O2, of ``docs/proofs/objective_perturbation.md``, with
      ``S = curvature``. Of a privacy unit, whose rows share the weight of one, gradients are means
      of those of rows, and the trace of its Hessian is at most S: theorem U3 of
      ``docs/proofs/people.md``.
    - Where the computed gradient is at most half the tolerance, which is what is asked of the
      minimiser, the exact gradient is at most the tolerance, for all rows, targets and slopes.
      See :meth:`planned` and :meth:`rounding`.
    - That point is found in a bounded number of passes over the rows, but for rounding on the way.
      How many there were is not told.
    """

    name: ClassVar[str] = "perturbed_minimum"
    # Only with a Jacobian and a calculus of their own.
    takes_units: ClassVar[bool] = False

    #: A loss for two classes whose derivative is Lipschitz, or if ``pure`` the squared or Huber's
    #: loss with bounded targets and without a map of the rows; a quadratic penalty or none; public.
    #: A constraint is disregarded.
    problem: Problem
    #: Bound on the norm of one row's gradient; None stands for the Lipschitz constant of the
    #: problem, with which clipping changes nothing.
    clip_norm: float | None
    #: Least eigenvalue of Q, positive and finite.
    strength: float
    #: Norm of the gradient at which the minimiser counts as found, positive.
    tolerance: float
    #: Whether the noise is that of pure epsilon, in which a spend is counted then. See
    #: :mod:`skdp.privacy.mechanisms.perturbed_objective`.
    pure: bool = False
    #: Class that is held against all others, where targets number several classes: it counts as 1
    #: and the others as 0. Classes have no weights then.
    label: int | None = None
    #: Whether neighbours differ in all rows of a privacy unit, which is what holds for rows too.
    of_units: bool = False

    def __post_init__(self) -> None:
        problem, penalty, bounds = self.problem, self.problem.penalty, self.problem.bounds
        quadratic = isinstance(penalty, NoPenalty | L2 | Tikhonov) or (
            isinstance(penalty, ElasticNet) and penalty.l1_ratio == 0
        )
        kind = type(problem.loss)  # A class derived from it may have another derivative.
        proved = kind in _ONE_SIDED
        if self.pure and bounds.row_map is None and bounds.target is not None:
            proved |= kind in _TWO_SIDED and self.label is None
        # Those of two classes would be looked up by the number of one of several.
        proved &= self.label is None or problem.class_weight is None
        if not (proved and quadratic):
            raise ValueError(
                "PerturbedMinimumQuery needs a smooth loss for two classes and a ridge penalty or "
                f"none, got {kind.__name__} and {penalty}."
            )

    @classmethod
    def planned(
        cls,
        problem: Problem,
        clip_norm: float | None,
        strength: float,
        adjacency: Adjacency,
        spend: Spend,
        *,
        pure: bool = False,
        label: int | None = None,
        of_units: bool = False,
    ) -> Self:
        r"""The query with as much strength and precision as a spend asks for.

        Strength m is raised until the Jacobian is within its part of the spend and the minimiser
        can be computed. The tolerance T is such that the noise that hides what is left of it
        matters little, and at least 2.5 times the rounding of gradients, for which m is at least
        20 times the growth of that rounding with ``||w||``.

        Then the exact gradient is at most T where the computed one is at most T / 2: theorem O3 of
        ``docs/proofs/objective_perturbation.md``, in which ``||b||`` is at most ``longest`` of the
        mechanism, with normal noise but for a probability of ``e^-50``, and with that of pure
        epsilon whatever is drawn.
        """
        query = cls(problem, clip_norm, 0.0, inf, pure, label, of_units)
        n, p = problem.n_actual, problem.n_rows
        largest_of = largest_pure_jacobian if pure else largest_jacobian
        # Beyond this power, exp is not needed: other bounds on strength are larger.
        most = min(largest_of(spend), 500.0)
        rank = query._rank
        least = query.curvature / (rank * expm1(most / rank)) * _ROUND_UP
        computable = (_LEAST_PURE_STRENGTH if pure else _LEAST_STRENGTH) * n * query.curvature
        computable = max(computable, _LEAST_OF_LARGEST * float(query._penalty()[1]))
        strength = max(strength, least, computable)
        strength = max(strength, 20.0 * replace(query, strength=strength)._growth())
        query = replace(query, strength=strength)
        # With the noise that the mechanism will make of a tolerance of a half of the strength.
        made = query._calibrated(adjacency, spend, 1.0)
        output = _LITTLE * made.noise_scale / (n * query.curvature / p + strength)
        tolerance = output * strength / (2 * made.output_noise_scale)
        at_zero = problem.loss.value(np.array([0.0, 1.0]), np.zeros(2)).max() * problem.max_weight
        longest = 2 * made.longest / strength + sqrt(2 * n * at_zero / strength)
        rounding = _ROUNDINGS * query.rounding(longest, made.longest)
        return replace(query, tolerance=max(tolerance, rounding))

    @property
    def gradient(self) -> GradientQuery:
        """The query for the mean of the clipped gradients, at zero."""
        return GradientQuery(self.problem, np.zeros(self.problem.shape), self.clip_norm)

    @property
    def curvature(self) -> float:
        """Bound S on the norm of the Hessian of one row's clipped loss, with a margin for norms."""
        problem = self.problem
        slope = problem.loss.smoothness
        if isinstance(problem.loss, Logistic):
            share = min(0.5, self.gradient.bound / (problem.row_norm * problem.max_weight))
            slope = share * (1 - share)
        return inflated(slope * problem.row_norm**2 * problem.max_weight, 0.0)

    @property
    def holds_for_units(self) -> bool:
        """True if it was asked for."""
        return self.of_units

    @property
    def jacobian(self) -> float:
        """``r log(1 + S / (r strength))`` for a Hessian of rank r, 1 of a row."""
        return self._rank * log1p(self.curvature / (self._rank * self.strength))

    @property
    def _rank(self) -> int:
        """Most that the rank of the Hessian of what neighbours differ in can be."""
        return self.problem.n_rows if self.of_units else 1

    def rounding(self, length: float, slope: float) -> float:
        r"""Bound on the rounding error of a computed gradient, in l2.

        With n rows v of norm at most R, weighted by at most c, derivatives r of smoothness s and
        ``|r| c ||v|| <= C``, curvature S of a row, q entries a row, ``gamma_k`` as in
        :mod:`skdp.privacy.rounding` and ``k = q + 16``, the gradient is
        ``sum_i r_i v_i + Q w + b`` and its error at most

        .. math:: n (S \gamma_k \|w\| + 16 u s (1 + h) R c + \gamma_k C)
                  + n \gamma_{h_n} C + \bigl(4 \sqrt{p} \gamma_k + 2 u\bigr) \|Q\| \|w\|
                  + 2 u n C + 16 u \|b\|,

        and if ``pure`` ``(16 + p) u ||b||`` in the place of the last term.

        Rows in other coordinates, ``v = f (x B - s)``, have scores and sums of parts that cancel:
        with l the bound on the length of these parts, k is ``4 q + 16``, S is at most
        ``s R l c``, and the terms with C are multiplied by
        :func:`~skdp.privacy.rounding.spread`. The bound is for w and b of norms of at most
        ``length`` and ``slope``. Proof: below theorem O3 of
        ``docs/proofs/objective_perturbation.md``.
        """
        problem, loss = self.problem, self.problem.loss
        n, bound = problem.n_actual, self.gradient.bound
        sums = self.gradient.rounding / 2
        products = sums / (of_sum(n) / 2) * n * gamma(self._roundings)
        width = loss.width if isinstance(loss, HuberisedHinge) else 0.0
        steep = loss.smoothness * (1 + width) * problem.row_norm * problem.max_weight
        constant = bound * (sums + products) + 16 * UNIT * n * steep
        of_slope = 16 + self.pure * problem.n_rows
        return self._growth() * length + constant + UNIT * (2 * n * bound + of_slope * slope)

    def _growth(self) -> float:
        """The part of the rounding that is multiplied by the norm of w."""
        problem, products = self.problem, gamma(self._roundings)
        curvature, row_map = self.curvature, problem.bounds.row_map
        if row_map is not None:
            parts = problem.bounds.longest + abs(problem.bounds.intercept_value)
            norm = problem.row_norm * problem.max_weight
            curvature = problem.loss.smoothness * norm * max(parts, problem.row_norm)
        matrix, largest = self._penalty()
        of_penalty = 4 * UNIT if matrix.ndim == 1 else 4 * sqrt(problem.n_rows) * products
        return problem.n_actual * curvature * products + (of_penalty + 2 * UNIT) * float(largest)

    @property
    def _roundings(self) -> int:
        """Operations that an entry of a row, or of its score, passes through, but for sums."""
        problem = self.problem
        row_map = problem.bounds.row_map
        if row_map is None:
            return problem.n_rows + 16
        return 4 * max(problem.n_rows, row_map.scale.size) + 16

    def sensitivity(self, adjacency: Adjacency) -> float:
        """Most that the gradient of the objective can move, at any one point."""
        return self.gradient.sensitivity(adjacency) * self.problem.n_samples

    def mechanism(self, adjacency: Adjacency, spend: Spend) -> RandomSlope:
        apart = inflated(2 * self.tolerance / self.strength, 0.0)
        return self._calibrated(adjacency, spend, apart)

    def _calibrated(
        self, adjacency: Adjacency, spend: Spend, output_sensitivity: float
    ) -> RandomSlope:
        # With the margin for norms of rows; sums are rounded within the tolerance.
        computed = inflated(self.sensitivity(adjacency), 0.0)
        known = self.problem.shape, computed, self.jacobian, output_sensitivity, spend
        if self.pure:
            return PurePerturbation.calibrated(*known)
        return ObjectivePerturbation.calibrated(*known, of_units=self.of_units)

    def evaluate(self, rows: RowStore) -> np.ndarray:
        """The minimiser without a random slope."""
        return self.evaluate_under(rows, np.zeros(self.problem.shape))

    def evaluate_under(self, rows: RowStore, perturbation: np.ndarray) -> np.ndarray:
        """The minimiser with a given slope."""
        objective = _Objective(self, rows.bounded(self.problem.bounds), perturbation)
        return minimize(objective, self.problem.start(), self.tolerance / 2)

    def slope_at(self, rows: RowStore, w: np.ndarray) -> np.ndarray:
        """The slope b for which w is the minimiser."""
        nothing = np.zeros(self.problem.shape)
        return -_Objective(self, rows.bounded(self.problem.bounds), nothing).gradient(w)

    def public(self) -> tuple[object, ...]:
        return (self.gradient.bound, self.strength, self.tolerance, self.label)

    def _penalty(self) -> tuple[np.ndarray, np.ndarray]:
        """The matrix Q, or its diagonal if it is diagonal, and its largest eigenvalue."""
        problem, penalty = self.problem, self.problem.penalty
        lipschitz = problem.lipschitz
        weight = problem.n_samples * (1.0 if lipschitz == inf else self.gradient.bound / lipschitz)
        d = problem.n_features
        if not isinstance(penalty, Tikhonov) or penalty.diagonal:
            diagonal = np.full(problem.n_rows, self.strength)
            curvature: float | np.ndarray = penalty.strong_convexity
            if isinstance(penalty, Tikhonov):
                curvature = np.square(penalty.factor)
            diagonal[:d] = np.maximum(self.strength, weight * curvature)
            return diagonal, diagonal.max()
        values, vectors = np.linalg.eigh(weight * (penalty.factor.T @ penalty.factor))
        # So that the product is that strong after rounding.
        values = np.maximum(values, self.strength) + d * _ROUNDING * values.max(initial=0.0)
        matrix = np.diag(np.full(problem.n_rows, self.strength))
        matrix[:d, :d] = vectors * values @ vectors.T
        return matrix, values.max()


@dataclass(frozen=True, eq=False)
class _Losses:
    """Sums over the rows of a block for the clipped losses; holds neither rows nor a slope."""

    query: GradientQuery
    label: int | None

    def gradient(self, block: BoundedBlock, w: np.ndarray) -> np.ndarray:
        slopes = self._slopes(block, block.scores(w))
        return block.combine(self.query.weighted(block, slopes))

    def hessian(self, block: BoundedBlock, w: np.ndarray) -> np.ndarray:
        V = block.rows()
        return product_over_rows(V * self._bends(block, w)[:, None], V)

    def hessian_times(self, block: BoundedBlock, w: np.ndarray, v: np.ndarray) -> np.ndarray:
        return block.combine(self._bends(block, w) * block.scores(v, offset=False))

    def _slopes(self, block: BoundedBlock, z: np.ndarray) -> np.ndarray:
        """Derivatives of the clipped losses, for classes with no other sign than the label's."""
        loss, y = self.query.problem.loss, block.y
        if self.label is not None:
            y = (y == self.label).astype(np.float64)
        # As a function of the base class, as for gradients.
        r = Loss.clipped_derivative(loss, y, z, self.query.derivative_bounds(block))
        if isinstance(loss, _TWO_SIDED):
            return r
        below = y == 0
        np.maximum(r, 0.0, out=r, where=below)
        np.minimum(r, 0.0, out=r, where=~below)
        return r

    def _bends(self, block: BoundedBlock, w: np.ndarray) -> np.ndarray:
        """Second derivatives of the clipped losses, times the weights of the classes."""
        z = block.scores(w)
        bends = self._slopes(block, z + _STEP) - self._slopes(block, z - _STEP)
        bends /= 2 * _STEP
        return np.maximum(self.query.weighted(block, bends), 0.0)


class _Objective(SmoothObjective):
    def __init__(
        self, query: PerturbedMinimumQuery, rows: BoundedRows, perturbation: np.ndarray
    ) -> None:
        self._losses, self._rows = _Losses(query.gradient, query.label), rows
        self._b, (self._penalty, largest) = perturbation, query._penalty()
        self.smoothness = query.problem.n_actual * query.curvature + float(largest)
        self.strength = query.strength

    def gradient(self, w: np.ndarray) -> np.ndarray:
        g = self._rows.sum(partial(self._losses.gradient, w=w))
        g += self._times_penalty(w)
        g += self._b
        return g

    def newton_step(self, w: np.ndarray, gradient: np.ndarray) -> np.ndarray:
        p = w.size
        if p > _MOST_COLUMNS:
            return self._rough_step(w, gradient)
        H = self._rows.sum(partial(self._losses.hessian, w=w))
        H[np.diag_indices(p)] += self._penalty if self._penalty.ndim == 1 else 0.0
        if self._penalty.ndim == 2:
            H += self._penalty
        try:
            return cho_solve(cho_factor(H, overwrite_a=True, check_finite=False), -gradient)
        except LinAlgError:
            # Whether rounding makes it singular depends on the rows, which no exception may tell.
            return self._rough_step(w, gradient)

    def _rough_step(self, w: np.ndarray, gradient: np.ndarray) -> np.ndarray:
        def times(v: np.ndarray) -> np.ndarray:
            of_losses = self._rows.sum(partial(self._losses.hessian_times, w=w, v=v))
            return of_losses + self._times_penalty(v)

        hessian = LinearOperator((w.size, w.size), matvec=times)
        return cg(hessian, -gradient, rtol=0.01, maxiter=100)[0]

    def _times_penalty(self, v: np.ndarray) -> np.ndarray:
        return self._penalty @ v if self._penalty.ndim == 2 else self._penalty * v
