"""Objective perturbation: one query, the minimiser with a random linear term; two classes."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from numbers import Real
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from sklearn.utils._param_validation import Interval

from ..privacy.accounting.calculus import Calculus, PerturbedGaussianDP
from ..problem.losses import HuberisedHinge, Logistic, SquaredHinge
from ..problem.problem import Problem
from ..validation import check_hyperparameters, shown
from .base import Solution, Solver, name_of

if TYPE_CHECKING:
    from ..privacy.oracle import Oracle

__all__ = ["ObjectivePerturbation"]

_HYPERPARAMETERS: dict[str, list[Any]] = {
    "clip": [None, Interval(Real, 1e-50, 1e50, closed="both")],
    "strength": [Interval(Real, 0, 1e50, closed="both")],
}
_LEAST_CLIP = 0.25


@dataclass(frozen=True)
class ObjectivePerturbation(Solver):
    r"""Objective perturbation: one exact minimisation instead of many noisy steps.

    .. math:: w = \arg\min_w \sum_i c_i\, l_C(y_i, \langle w, x_i \rangle)
              + \tfrac12 \langle w, Q w \rangle + \langle b, w \rangle + \text{little noise},
              \qquad b \sim N(0, \sigma^2 I)

    The loss is clipped as in gradient descent, ``l_C`` being the convex loss with the clipped
    derivative. Q is n times the Hessian of the ridge penalty, with its eigenvalues raised to a
    strength that privacy asks for: ``S / (exp(0.4 mu) - 1)`` for S the largest curvature of one
    row's loss. Everything else is noise that is added once. There is no step size and no number of
    steps, and directions in which features hardly vary are not left behind. The minimiser is found
    inside the oracle; how many passes over the rows it took (usually about ten) is not told.

    Compared with gradient descent, whose clip has to be small, it clips less for the same error, so
    with many rows its probabilities are better calibrated at small budgets. With few rows for the
    budget and the number of features the strength makes probabilities timid, and gradient descent
    does better.

    Two classes, with the logistic loss or a hinge loss that is smooth; ridge penalty or none; no
    constraint. The intercept is a part of w, and the strength shrinks it too.

    Parameters
    ----------
    clip : float, optional
        Bound on the derivative of the loss of a row of full norm, that is, on a row's gradient in
        units of ``row_norm * max_weight``. Below the Lipschitz constant, the
        penalty is scaled down alike. By default ``0.15 sqrt(n mu / p)``, between 0.25 and 1.
    strength : float, default=0.0
        Least eigenvalue of Q in units of ``row_norm**2 * max_weight``; raised to what privacy asks
        for.

    References
    ----------
    Chaudhuri, Monteleoni and Sarwate (2011); Kifer, Smith and Thakurta (2012); Iyengar et al.
    (2019) for minimisers that are not exact; Redberg, Koskela and Wang (2023) for accounting. What
    is proved here is in :mod:`skdp.privacy.accounting.perturbation`.

    Examples
    --------
    >>> from skdp.solvers import ObjectivePerturbation
    >>> ObjectivePerturbation(clip=0.5).get_params()
    {'clip': 0.5, 'strength': 0.0}
    """

    calculus: ClassVar[Calculus] = PerturbedGaussianDP()
    two_classes: ClassVar[bool] = True
    takes_units: ClassVar[bool] = False

    clip: float | None = None
    strength: float = 0.0

    @property
    def counts_rows(self) -> bool:
        """Yes: what bounds the curvature of all rows together must not be an estimate."""
        return True

    def check(self, problem: Problem) -> None:
        """Refuse hyperparameters outside their range, and objectives that it is not proved for."""
        name = type(self).__name__
        check_hyperparameters(_HYPERPARAMETERS, self.get_params(), name)
        # By class: the query is proved for these, and takes nobody's word for it.
        if not isinstance(problem.loss, Logistic | HuberisedHinge | SquaredHinge):
            advice = "Use the solver 'gd'"
            if problem.loss.n_scores > 1:
                advice += (
                    ", or one model for each class (OneVsRestClassifier) within a budget that you "
                    "divide yourself"
                )
            raise ValueError(
                f"{name} needs a smooth convex loss for two classes, got "
                f"{name_of(problem.loss)}. {advice}."
            )
        if not (problem.penalty.quadratic and problem.constraint.whole_space):
            raise ValueError(
                f"{name} needs a ridge penalty or none and no constraint, got "
                f"{shown(problem.penalty)} and {shown(problem.constraint)}. Use the solver 'gd'."
            )

    def solve(self, problem: Problem, oracle: Oracle, rng: np.random.Generator) -> Solution:
        """Minimise the problem; all of the budget goes to one query."""
        del rng
        self.check(problem)
        budget, clip = oracle.budget, self.clip
        if clip is None:
            evidence = problem.n_samples * budget.mu / problem.n_rows
            clip = min(1.0, max(_LEAST_CLIP, 0.15 * sqrt(evidence)))
        scale = problem.row_norm * problem.max_weight
        w = oracle.perturbed_minimum(
            clip_norm=clip * scale,
            strength=self.strength * problem.row_norm * scale,
            spend=budget.whole(),
        )
        return Solution(w, n_iter=1)
