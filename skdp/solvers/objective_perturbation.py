"""Objective perturbation: one query, the minimiser with a random linear term."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import sqrt
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from ..privacy.accounting.calculus import Calculus, PerturbedGaussianDP
from ..problem.losses import (
    Huber,
    HuberisedHinge,
    Logistic,
    Loss,
    OneVsRest,
    Softmax,
    Squared,
    SquaredHinge,
)
from ..problem.problem import Problem
from ..validation import interval
from .base import Solution, Solver, name_of, refuse_all_but_ridge
from .defaults import ObjectivePerturbation as tuned

if TYPE_CHECKING:
    from ..privacy.accounting.ledger import Budget
    from ..privacy.oracle import Oracle

_OF_CLASSES = (Logistic, HuberisedHinge, SquaredHinge)


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

    With ``privacy_unit=`` a person's gradient is the mean of those of his rows and may turn in many
    directions; noise is up to 1 % more then, and the strength a little more.

    It is the solver of pure epsilon, ``delta=0``. The density of b is in proportion to
    ``exp(-||b|| / s)`` then, which makes b about ``sqrt(p)`` times as long as normal noise would be
    at the same epsilon. A fifth of epsilon at most goes to the curvature of one row, and the
    strength is ``S / (exp(epsilon / 5) - 1)``, or what noise asks for if that is more. Least
    squares and Huber's loss are taken as well, with residuals that are clipped. Each of several
    classes is fitted against the rest for its share of epsilon, by the logistic loss in place of
    the softmax.

    Parameters
    ----------
    clip : float, optional
        Bound on the derivative of the loss of a row of full norm, that is, on a row's gradient in
        units of ``row_norm * max_weight``. Below the Lipschitz constant, the
        penalty is scaled down alike. By default ``0.15 sqrt(n mu / p)``, between 0.25 and 1, where
        budgets beyond mu = 2 open it up to 4 for steeper losses, and with pure epsilon
        ``0.08 sqrt(n epsilon / p^1.5)``, between 0.25 (0.7 if the derivative of the loss is
        steeper than 1) and 1.
    strength : float, default=0.0
        Least eigenvalue of Q in units of ``row_norm**2 * max_weight``; raised to what privacy asks
        for, and with pure epsilon to a quarter of the noise in a direction.

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

    hyperparameters: ClassVar[dict[str, list[Any]]] = {
        "clip": [None, interval(1e-50, 1e50, "both")],
        "strength": [interval(0, 1e50, "both")],
    }

    clip: float | None = None
    strength: float = 0.0

    @property
    def counts_rows(self) -> bool:
        """True: what bounds the curvature of all rows together must not be an estimate."""
        return True

    def refuse(self, problem: Problem) -> None:
        # By class, no derived one: the query is proved for these, and takes nobody's word for it.
        if type(problem.loss) not in _OF_CLASSES:
            advice = "Use the solver 'gd'"
            if problem.loss.n_scores > 1:
                advice += (
                    ", or one model for each class (OneVsRestClassifier) within a budget that you "
                    "divide yourself"
                )
            self._refuse_loss(problem, "for two classes", advice)
        refuse_all_but_ridge(self, problem)

    def check_pure(self, problem: Problem) -> None:
        """Refuse hyperparameters outside their range, and what pure epsilon is not proved for."""
        self.check_ranges(problem)
        if problem.loss.vector_targets:
            raise ValueError(
                f"{type(self).__name__} with delta=0 needs one target a row, got "
                f"{problem.loss.n_scores}. Fit one target at a time, each with a part of epsilon, "
                "or leave delta out."
            )
        loss = _of_a_class(problem.loss)
        if type(loss) not in (*_OF_CLASSES, Squared, Huber):
            kind = "for classes or for residuals, with delta=0"
            self._refuse_loss(problem, kind, "Use another, or leave delta out")
        if problem.loss.n_scores > 1 and problem.class_weight is not None:
            raise ValueError(
                f"{type(self).__name__} needs class_weight=None for more than two classes with "
                "delta=0, got weights. Leave them or delta out."
            )
        advice = ". Use a ridge penalty and no constraint, or leave delta out."
        refuse_all_but_ridge(self, problem, advice)

    def _refuse_loss(self, problem: Problem, kind: str, advice: str) -> None:
        raise ValueError(
            f"{type(self).__name__} needs a smooth convex loss {kind}, got "
            f"{name_of(problem.loss)}. {advice}."
        )

    def solve(self, problem: Problem, oracle: Oracle, rng: np.random.Generator) -> Solution:
        """Minimise the problem; all of the budget goes to one query, or to one for each class."""
        (self.check_pure if oracle.pure else self.check)(problem)
        n_classes = problem.loss.n_scores
        if n_classes == 1:
            return Solution(self._minimum(problem, oracle, oracle.budget), n_iter=1)
        one = replace(problem, loss=_of_a_class(problem.loss), initial=None)
        asked, share = oracle.for_problem(one), oracle.budget.fraction(1 / n_classes)
        found = [self._minimum(one, asked, share, label=k) for k in range(n_classes)]
        return Solution(np.column_stack(found), n_iter=1)

    def _minimum(
        self, problem: Problem, oracle: Oracle, budget: Budget, label: int | None = None
    ) -> np.ndarray:
        """The minimiser for two classes or for residuals, at the price of this budget."""
        clip, scale = self.clip, problem.row_norm * problem.max_weight
        strength = self.strength
        n, p = problem.n_samples, problem.n_rows
        if oracle.pure:
            epsilon = budget.amount
            if clip is None:
                least = (
                    tuned.LEAST_CLIP if problem.loss.smoothness <= 1 else tuned.LEAST_CLIP_OF_STEEP
                )
                clip = min(1.0, max(least, tuned.PURE_CLIP * sqrt(n * epsilon / p**1.5)))
            noise = oracle.adjacency.of_sum(clip) * sqrt(p) / epsilon
            strength = max(strength, tuned.PURE_STRENGTH * noise)
        elif clip is None:
            clip = min(1.0, max(tuned.LEAST_CLIP, tuned.CLIP * sqrt(n * budget.mu / p)))
            opened = min(tuned.MOST_CLIP, clip * max(1.0, budget.mu / 2))
            clip = min(problem.loss.lipschitz, opened)
        return oracle.perturbed_minimum(
            clip_norm=clip * scale,
            strength=strength * problem.row_norm * scale,
            spend=budget.whole(),
            label=label,
        )


def _of_a_class(loss: Loss) -> Loss:
    """The loss of one class against the rest, if there are several; the loss itself if not."""
    if isinstance(loss, OneVsRest):
        return loss.loss
    return Logistic() if isinstance(loss, Softmax) else loss
