"""Ridge regression of every arm, released at the ends of growing blocks."""

from __future__ import annotations

from dataclasses import dataclass
from math import hypot, sqrt
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from sklearn.utils._param_validation import Interval

from ...privacy.bandit_sessions.bandit_plans import ArmMoments, Plan
from ...problem.bandit_problem import BanditProblem
from .base import GROWTH, Ask, Policy, growing_blocks
from .choices import Greedy, Rule, Thompson

# Variance of the noise of a mapped reward that the uncertainty of weights is computed with.
_REWARD_VARIANCE = 0.09
# Users an arm in the first block, in units of sqrt(p) / mu.
_TOLD_FROM_NOISE = 1.2


@dataclass(frozen=True)
class BlocksPolicy(Policy):
    r"""Ridge regression from few noisy sums; all users weigh the same.

    The rule changes at the ends of blocks that grow by a factor, about ``log(T) / log(growth)``
    times in all. Then the moments ``A_k = sum v v'`` and ``b_k = sum y v`` of each arm over all
    users so far are released, with noise whose factorisation over the releases keeps its standard
    deviation s almost the same for all of them. Let ``nu = s sqrt(2 p)`` be the spectral norm of
    the noise in ``A_k``. Eigenvalues below it cannot be told from zero, so ``B_k`` is
    ``A_k + nu / 4`` with eigenvalues raised to nu at least, plus 1, and

    .. math:: w_k = B_k^{-1} b_k, \qquad V_k = 0.09 B_k^{-1} + s^2 B_k^{-2},

    where V_k has a part for the noise of rewards and one for the noise of privacy; Thompson
    sampling explores by it, and not upper confidence bounds. Directions of which much is known are
    hardly shrunk, which matters between arms that had more users and arms that had fewer.

    The first block gives every arm in turn to users, and no other user is forced. It ends no sooner
    than at about ``1.2 K sqrt(p) / mu`` users, mu the Gaussian-DP parameter of the budget, when an
    arm has had a fifth of nu users (or at a quarter of the horizon): earlier releases would be
    noise, would be acted on, and would make the noise of all others larger.

    With logistic rewards the weights are twice as large: one Newton step from zero.

    Parameters
    ----------
    growth : float, default=1.2
        Factor by which blocks grow, in [1.001, 1e6].
    exploration : float, default=0.25
        Standard deviations by which Thompson sampling changes scores; 0 acts greedily, which is
        several times as fast and about as good.
    """

    hyperparameters: ClassVar[dict[str, list[Any]]] = {
        "growth": [GROWTH],
        "exploration": [Interval(Real, 0, 1e6, closed="both")],
    }

    growth: float = 1.2
    exploration: float = 0.25

    def plan(self, problem: BanditProblem, *, at_once: bool = False) -> Plan:
        """Moments at the ends of growing blocks, or of all users once."""
        K, mu = problem.n_arms, sqrt(self.amount(problem))
        told = min(_TOLD_FROM_NOISE * K * sqrt(problem.n_rows) / mu, problem.horizon / 4)
        ends = growing_blocks(problem, self.growth, at_once=at_once, first=int(told))
        return Plan("moments", ends, self.calculus)

    def go_on(self, problem: BanditProblem, rule: Rule, memory: Any, seen: int) -> tuple[Rule, Any]:
        """Go on acting as before, and add up moments with those of the epochs before."""
        if memory is not None:
            return rule, _Epochs(memory.total)
        # As many users as there were for each arm, all directions of their contexts alike.
        known = seen / (problem.n_arms * problem.n_rows)
        matrices = np.tile(known * np.eye(problem.n_rows), (problem.n_arms, 1, 1))
        return rule, _Epochs(ArmMoments.of(matrices, known * rule.w, 0.0, seen))

    def learn(self, problem: BanditProblem, ask: Ask, seen: int, memory: Any) -> tuple[Rule, Any]:
        """Ridge regression from noisy moments."""
        del seen
        memory = memory or _Epochs()
        moments = memory.added(ask())
        w, factors = _posterior(moments)
        if problem.logistic:
            w, factors = 2 * w, 2 * factors
        rule = Thompson(w, factors, self.exploration) if self.exploration else Greedy(w)
        return rule, _Epochs(memory.before, moments)


@dataclass(frozen=True, eq=False)
class _Epochs:
    """Memory of a stream in epochs: moments of earlier epochs, and of all users so far."""

    before: ArmMoments | None = None
    total: ArmMoments | None = None

    def added(self, now: ArmMoments) -> ArmMoments:
        """Moments of this epoch with those before.

        Noise is about the same in all epochs, so that those with fewer users count less: weights
        in proportion to users leave the least noise for the users that count.
        """
        if self.before is None:
            return now
        before, share = self.before, self.before.seen / now.seen
        ours, theirs = (1.0, share) if share < 1 else (1 / share, 1.0)
        return ArmMoments(
            ours * now.packed + theirs * before.packed,
            hypot(ours * now.scale, theirs * before.scale),
            round(ours * now.seen + theirs * before.seen),
        )


def _posterior(moments: ArmMoments) -> tuple[np.ndarray, np.ndarray]:
    """Weights (K, p), and factors (p, K, p) of their covariances."""
    s, p = moments.scale, moments.vectors.shape[1]
    noise = s * sqrt(2 * p)
    values, Q = np.linalg.eigh(moments.matrices)
    values = np.maximum(values + noise / 4, noise) + 1
    along = np.einsum("kij,ki->kj", Q, moments.vectors) / values
    w = np.einsum("kij,kj->ki", Q, along)
    deviations = np.sqrt(_REWARD_VARIANCE / values + (s / values) ** 2)
    return w, np.ascontiguousarray((Q * deviations[:, np.newaxis]).transpose(1, 0, 2))
