"""The minimiser of the objective with a random slope."""

from __future__ import annotations

from dataclasses import dataclass
from math import expm1, inf, log1p, sqrt
from typing import ClassVar, Self

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.sparse.linalg import LinearOperator, cg

from ...data.base import BoundedRows, RowStore
from ...data.blocks import BoundedBlock
from ...losses import HuberisedHinge, Logistic, Loss, SquaredHinge
from ...problem import Problem
from ...regularizers import L2, ElasticNet, NoRegularizer, Tikhonov
from ..adjacency import Adjacency
from ..ledger import Spend
from ..mechanisms.perturbation import ObjectivePerturbation, largest_jacobian, slope_scale
from ..minimizer import SmoothObjective, minimize
from .base import PerturbedQuery
from .gradient import GradientQuery

__all__ = ["PerturbedMinimumQuery"]

# The losses whose derivative has a sign that the label fixes: minus that of 2 y - 1.
_ONE_SIDED = (Logistic, HuberisedHinge, SquaredHinge)
# Of the quadratic part, relative to the largest curvature of the sum of losses. Weaker ones would
# make the minimiser hard to compute.
_LEAST_STRENGTH = 1e-6
# Of the quadratic part, relative to its own largest curvature. Of weaker ones rounding would leave
# nothing, and whether Newton's equations can be solved would depend on the rows.
_LEAST_OF_LARGEST = 1e-10
# Noise on the computed minimiser relative to the least that the random slope may do to it.
_LITTLE = 0.03
# Rounding of a gradient in units of the last place of its largest part.
_ROUNDING = 16 * float(np.finfo(np.float64).eps)
# Standard deviations within which the norm of a normal vector surely is, beyond its root p.
_SURELY = 10.0
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

    ``l_C`` is the convex loss whose derivative is that of the loss, clipped as for gradients: the
    norm of a row's gradient is at most ``clip``; v_i in [0, 1] is the weight of the row. Q is the
    Hessian of n times the penalty, scaled down with the loss where it is clipped, with its
    eigenvalues raised to at least ``strength``. The intercept is a part of w, so its curvature is
    ``strength``.

    Parameters
    ----------
    problem : Problem
        A loss for two classes whose derivative is Lipschitz, a quadratic penalty or none; public.
        A constraint is disregarded.
    clip : float or None
        Bound on the norm of one row's gradient; None stands for the Lipschitz constant of the
        problem, with which clipping changes nothing.
    strength : float
        Least eigenvalue of Q, positive and finite.
    tolerance : float
        Norm of the gradient at which the minimiser counts as found, positive.

    Raises
    ------
    ValueError
        If the loss or the penalty is of another kind.

    Guarantees
    ----------
    - At any point the gradients of the objectives of two neighbours differ by at most
      ``2 clip`` under replace-one and by ``clip`` under zero-out, which is the sensitivity.
    - The log-ratio of their Jacobian determinants is at most ``jacobian``. Proof:
      ``skdp.privacy.perturbation``, step 2, with ``S = curvature``. The derivative of row i is
      clipped to ``C_i = clip / (max(c) ||x_i||)``, and its slope is at most ``smoothness``. The
      logistic loss has a slope of ``a (1 - a)`` where the derivative is a in size, so with
      ``C_i < 1/2`` the slope is at most ``C_i (1 - C_i)``, and then
      ``max(c) ||x_i||^2 C_i (1 - C_i) = clip ||x_i|| - clip^2 / max(c)`` is largest for the longest
      row. For rows so short that C_i is larger, ``max(c) ||x_i||^2 / 4 <= clip ||x_i|| / 2`` is
      less than that. A weight v_i makes derivative and slope smaller and keeps the sign.
    - It is found to the tolerance for all rows, targets and slopes, but for rounding, in a bounded
      number of passes over the rows. How many there were is not told.
    """

    name: ClassVar[str] = "perturbed_minimum"

    problem: Problem
    clip: float | None
    strength: float
    tolerance: float

    def __post_init__(self) -> None:
        problem = self.problem
        penalty = problem.regularizer
        quadratic = isinstance(penalty, NoRegularizer | L2 | Tikhonov) or (
            isinstance(penalty, ElasticNet) and penalty.l1_ratio == 0
        )
        if not (isinstance(problem.loss, _ONE_SIDED) and quadratic):
            raise ValueError(
                "PerturbedMinimumQuery needs a smooth loss for two classes and a ridge penalty or "
                f"none, got {type(problem.loss).__name__} and {penalty}."
            )

    @classmethod
    def planned(
        cls,
        problem: Problem,
        clip: float | None,
        strength: float,
        adjacency: Adjacency,
        spend: Spend,
    ) -> Self:
        """The question with as much strength and precision as a spend asks for.

        Strength is raised until the Jacobian is within its part of the spend and the minimiser can
        be computed. The tolerance is such that the noise that hides what is left of it matters
        little, and such that it exceeds the rounding of gradients, whose parts are at most
        ``L ||w|| + n clip`` with ``||w*|| <= 2 ||b|| / m + sqrt(2 F(0) / m)`` for an objective F
        of strength m.

        Parameters
        ----------
        problem : Problem
            As above.
        clip : float or None
            As above.
        strength : float
            Least strength that is asked for, at least 0.
        adjacency : Adjacency
            Neighbouring relation.
        spend : Spend
            Price.
        """
        query = cls(problem, clip, 0.0, inf)
        n, p, bound = problem.n_samples, problem.n_rows, query.gradient.bound
        # Beyond this power, exp is not needed: other bounds on strength are larger.
        most = min(largest_jacobian(spend), 500.0)
        least = query.curvature / expm1(most) * _ROUND_UP
        computable = _LEAST_STRENGTH * n * query.curvature
        computable = max(computable, _LEAST_OF_LARGEST * float(query._penalty()[1]))
        strength = max(strength, least, computable)
        query = cls(problem, clip, strength, inf)
        slope = slope_scale(query.sensitivity(adjacency), spend)
        output = _LITTLE * slope * p / (n * query.curvature + strength)
        # What the mechanism will make of the tolerance, solved for it.
        unit = ObjectivePerturbation.calibrated((), 1.0, 0.0, 1.0, spend).output_noise_scale
        tolerance = output * strength / (2 * unit)
        at_zero = problem.loss.value(np.array([0.0, 1.0]), np.zeros(2)).max() * problem.max_weight
        longest = 2 * slope * (sqrt(p) + _SURELY) / strength + sqrt(2 * n * at_zero / strength)
        smoothness = n * query.curvature + float(query._penalty()[1])
        rounding = _ROUNDING * (smoothness * longest + n * bound)
        return cls(problem, clip, strength, max(tolerance, rounding))

    @property
    def gradient(self) -> GradientQuery:
        """The question for the mean of the clipped gradients, at zero."""
        return GradientQuery(self.problem, np.zeros(self.problem.shape), self.clip)

    @property
    def curvature(self) -> float:
        """Bound S on the norm of the Hessian of one row's clipped loss."""
        problem = self.problem
        slope = problem.loss.smoothness
        if isinstance(problem.loss, Logistic):
            share = min(0.5, self.gradient.bound / (problem.row_norm * problem.max_weight))
            slope = share * (1 - share)
        return slope * problem.row_norm**2 * problem.max_weight

    @property
    def jacobian(self) -> float:
        """``log(1 + S / strength)``."""
        return log1p(self.curvature / self.strength)

    def sensitivity(self, adjacency: Adjacency) -> float:
        """Most that the gradient of the objective can move, at any one point."""
        return self.gradient.sensitivity(adjacency) * self.problem.n_samples

    def mechanism(self, adjacency: Adjacency, spend: Spend) -> ObjectivePerturbation:
        """The least random slope for the spend."""
        return ObjectivePerturbation.calibrated(
            self.problem.shape,
            self.sensitivity(adjacency),
            self.jacobian,
            2 * self.tolerance / self.strength,
            spend,
        )

    def evaluate(self, rows: RowStore) -> np.ndarray:
        """The minimiser without a random slope."""
        return self.evaluate_under(rows, np.zeros(self.problem.shape))

    def evaluate_under(self, rows: RowStore, perturbation: np.ndarray) -> np.ndarray:
        """The minimiser with a given slope."""
        objective = _Objective(self, rows.bounded(self.problem.bounds), perturbation)
        return minimize(objective, self.problem.start(), self.tolerance)

    def slope_at(self, rows: RowStore, w: np.ndarray) -> np.ndarray:
        """The slope b for which w is the minimiser."""
        nothing = np.zeros(self.problem.shape)
        return -_Objective(self, rows.bounded(self.problem.bounds), nothing).gradient(w)

    def public(self) -> tuple[object, ...]:
        """The bound on gradients, the strength and the tolerance."""
        return (self.gradient.bound, self.strength, self.tolerance)

    def _penalty(self) -> tuple[np.ndarray, np.ndarray]:
        """The matrix Q, or its diagonal if it is diagonal, and its largest eigenvalue."""
        problem, penalty = self.problem, self.problem.regularizer
        lipschitz = problem.lipschitz
        weight = problem.n_samples * (1.0 if lipschitz == inf else self.gradient.bound / lipschitz)
        d = problem.n_features
        if not isinstance(penalty, Tikhonov):
            diagonal = np.full(problem.n_rows, self.strength)
            diagonal[:d] = max(self.strength, weight * penalty.strong_convexity)
            return diagonal, diagonal.max()
        if penalty.diagonal:
            diagonal = np.full(problem.n_rows, self.strength)
            diagonal[:d] = np.maximum(self.strength, weight * np.square(penalty.factor))
            return diagonal, diagonal.max()
        values, vectors = np.linalg.eigh(weight * (penalty.factor.T @ penalty.factor))
        # So that the product is that strong after rounding.
        values = np.maximum(values, self.strength) + d * _ROUNDING * values.max(initial=0.0)
        matrix = np.diag(np.full(problem.n_rows, self.strength))
        matrix[:d, :d] = vectors * values @ vectors.T
        return matrix, values.max()


class _Objective(SmoothObjective):
    def __init__(
        self, query: PerturbedMinimumQuery, rows: BoundedRows, perturbation: np.ndarray
    ) -> None:
        self._query, self._rows, self._b = query.gradient, rows, perturbation
        self._loss: Loss = query.problem.loss
        self._penalty, largest = query._penalty()
        self.smoothness = query.problem.n_samples * query.curvature + float(largest)
        self.strength = query.strength

    def gradient(self, w: np.ndarray) -> np.ndarray:
        query = self._query

        def of_block(block: BoundedBlock) -> np.ndarray:
            return block.combine(query.weighted(block, _slopes(query, block, block.scores(w))))

        g = self._rows.sum(of_block)
        g += self._times_penalty(w)
        g += self._b
        return g

    def newton_step(self, w: np.ndarray, gradient: np.ndarray) -> np.ndarray:
        p = w.size
        if p > _MOST_COLUMNS:
            hessian = LinearOperator((p, p), matvec=lambda v: self._hessian_times(w, v))
            return cg(hessian, -gradient, rtol=0.01, maxiter=100)[0]

        query = self._query

        def of_block(block: BoundedBlock) -> np.ndarray:
            V = block.rows()
            return (V * _bends(query, block, block.scores(w))[:, None]).T @ V

        H = self._rows.sum(of_block)
        H[np.diag_indices(p)] += self._penalty if self._penalty.ndim == 1 else 0.0
        if self._penalty.ndim == 2:
            H += self._penalty
        return cho_solve(cho_factor(H, overwrite_a=True, check_finite=False), -gradient)

    def _hessian_times(self, w: np.ndarray, v: np.ndarray) -> np.ndarray:
        query = self._query

        def of_block(block: BoundedBlock) -> np.ndarray:
            return block.combine(_bends(query, block, block.scores(w)) * block.scores(v))

        return self._rows.sum(of_block) + self._times_penalty(v)

    def _times_penalty(self, v: np.ndarray) -> np.ndarray:
        return self._penalty @ v if self._penalty.ndim == 2 else self._penalty * v


# Apart from the objective, so that what is summed over blocks holds neither rows nor the slope.
def _slopes(query: GradientQuery, block: BoundedBlock, z: np.ndarray) -> np.ndarray:
    """Derivatives of the clipped losses, with no other sign than the label's."""
    r = query.slopes(block, z)
    below = block.y == 0
    np.maximum(r, 0.0, out=r, where=below)
    np.minimum(r, 0.0, out=r, where=~below)
    return r


def _bends(query: GradientQuery, block: BoundedBlock, z: np.ndarray) -> np.ndarray:
    """Second derivatives of the clipped losses, times the weights of the classes."""
    bends = _slopes(query, block, z + _STEP) - _slopes(query, block, z - _STEP)
    bends /= 2 * _STEP
    return np.maximum(query.weighted(block, bends), 0.0)
