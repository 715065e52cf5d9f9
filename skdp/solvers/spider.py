"""Rounds of normalised descent in which the gradient is followed by its differences."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, hypot, inf, isinf, log, sqrt
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from ..exceptions import warn_user
from ..problem.problem import Problem
from ..validation import count, interval
from .base import Solution, name_of
from .descent import Descent
from .descent_rules import DescentRule, DescentSolver

if TYPE_CHECKING:
    from ..privacy.accounting.ledger import Budget
    from ..privacy.oracle import Oracle

# More rounds than anybody waits for.
_MOST_ROUNDS = 1_000_000
# Least price of a difference, as a share of that of the longest step.
_LEAST_SHARE = 1e-6


@dataclass(frozen=True)
class Spider(DescentSolver):
    r"""Rounds of descent that follow the gradient by its differences from step to step.

    Round k begins with a noisy full gradient, and goes on with differences of consecutive iterates,

    .. math:: v_{t+1} = v_t + \nabla F(w_{t+1}) - \nabla F(w_t) + N(0, \sigma_k^2 I), \qquad
              \|w_{t+1} - w_t\| \le \eta G_k,

    towards a target ``G_k`` for the norm of the gradient. Steps are no longer than the target
    allows, so that differences move little when a row is replaced, and less in each round as
    targets fall. A difference is charged by the actual length of the step: its price is the square
    of that length over the longest one, times the price that the round has set aside. A round ends
    early, which costs nothing as the noisy gradient is public, when the gradient (with what
    penalty and constraint leave of it) is shorter than the target. What a round has not spent goes
    to later ones, which is sound because the budget is a filter.

    A target Phi for the excess risk stands behind ``G``: if ``F(w) - min F <= (gamma ||grad||)
    ^kappa``, which holds with kappa = 1 and the diameter for convex losses and with kappa = 2 and
    ``1 / sqrt(2 lambda)`` for strongly convex ones, then ``Phi^(1/kappa) = gamma G``. By default
    the target is ``stop`` times the norm that the round starts with, and never rises; the steps of
    a round follow the law of the paper, ``first * (C / G_k)^(2 - kappa)``, but are at most
    ``longest`` and at most twice those of the round before. Step sizes, momentum and clip are those
    of :class:`skdp.solvers.GD`, and the answer is the mean of the last iterates. A round also ends
    where differences have become as costly as a new gradient.
    :meth:`from_theory` gives the constants of the paper.

    When it works: smooth losses; as well as gradient descent at the budgets of practice. When it
    does not: the errors of differences add up along a round, so many long steps, as badly scaled
    features want them, are better made with gradients. The exact accounting of Gaussian noise
    makes even gradient descent reach the rate that the paper proves for convex losses; the method
    has its advantage in theory for losses that are not convex. Nor does it reach the rate of the
    paper around a flat minimum (kappa near 1), as no solver does with few steps: for the mean of
    ``|w_j - y_j|^5 / 5`` (kappa = 1.25) between 2,000 and 512,000 rows the excess risk fell with
    exponent .80 in 200 steps and 1.12 in 4,000 (gradient descent: .74 and 1.18). Noise would allow
    a longer way there than so few stable steps can go, so pass ``steps`` if that matters.

    Parameters
    ----------
    steps : int, optional
        Largest number of steps in all rounds together.
    average : float, default=0.5
        Share of the last iterates that are averaged, in [0, 1]; 0 returns the last one.
    kappa : float, optional
        Exponent of the relation between risk and gradient, in [1, 2]. By default 2 where the ridge
        penalty is strong enough to matter within the distance that the steps can cover, else 1.
    gamma : float, optional
        Factor of that relation. If given, targets, lengths, steps and number of rounds are those
        of the paper, see :meth:`from_theory`.
    initial_risk : float, optional
        Bound on the excess risk of the starting point, for the constants of the paper.
    failure : float, default=0.05
        Probability with which the bound of the paper may fail.
    first : int, default=4
        Steps of a round whose target is the clip.
    longest : int, default=8
        Most steps in a round.
    reach : float, default=0.5
        Largest error of all differences of a round, in units of the sensitivity of a gradient.
    share : float, default=0.2
        Share of the budget of a round that goes to its differences, in (0, 1).
    stop : float, default=0.875
        Share of the gradient's norm at which the round aims, in (0, 1).

    References
    ----------
    Menart, Ullah, Arora, Bassily and Guzman (2023), algorithm 1; Fang, Li, Lin and Zhang (2018).

    Examples
    --------
    >>> from skdp.solvers import Spider
    >>> Spider(steps=50).get_params()["steps"]
    50
    """

    descends: ClassVar[bool] = True

    hyperparameters: ClassVar[dict[str, list[Any]]] = {
        "kappa": [None, interval(1, 2, "both")],
        "gamma": [None, interval(0, None, "neither")],
        "initial_risk": [None, interval(0, None, "neither")],
        "failure": [interval(0, 1, "neither")],
        "first": [count()],
        "longest": [count()],
        "reach": [interval(0, None, "both")],
        "share": [interval(0, 1, "neither")],
        "stop": [interval(0, 1, "neither")],
    }

    average: float = 0.5
    kappa: float | None = None
    gamma: float | None = None
    initial_risk: float | None = None
    failure: float = 0.05
    first: int = 4
    longest: int = 8
    reach: float = 0.5
    share: float = 0.2
    stop: float = 0.875

    @classmethod
    def from_theory(
        cls,
        gamma: float,
        kappa: float,
        *,
        clip: float | None = None,
        initial_risk: float | None = None,
        failure: float = 0.05,
    ) -> Self:
        """The constants of the paper, for a loss with ``F(w) - min F <= (gamma ||grad||)^kappa``.

        Steps of length ``G_k / (4 L)``, where L is the smoothness, targets that fall by a constant
        factor to the level of the noise, and half of the budget for the differences. The paper's
        number of rounds is large, so that gradient descent does better in practice. Where the first
        gradient of a round meets its target, the next target is taken up with the same gradient, at
        no cost. Once the last target is met, one more gradient takes all that is left of the
        budget, so that what a fit has spent does not tell when that was; there is a last step if
        that gradient is beyond the target after all.

        Parameters
        ----------
        gamma : float
            Factor of the relation; the diameter for a convex loss.
        kappa : float
            Its exponent, from 1 to 2.
        clip : float, optional
            Bound on a row's gradient; needed for a loss whose derivative is unbounded.
        initial_risk : float, optional
            Bound on the excess risk of the starting point; by default ``(lipschitz gamma)^kappa``.
        failure : float, default=0.05
            Probability with which the bound may fail.

        Warns
        -----
        UserWarning
            By ``solve``, if targets cannot fall because noise is at or above the first, so that the
            start may be the answer. It depends on the budget, sizes and constants alone.
        """
        return cls(
            clip=inf if clip is None else clip,
            momentum=0.0,
            average=0.0,
            kappa=kappa,
            gamma=gamma,
            initial_risk=initial_risk,
            failure=failure,
            first=1,
            reach=inf,
            share=0.5,
        )

    def refuse(self, problem: Problem) -> None:
        loss = problem.loss
        if isinf(loss.smoothness):
            raise ValueError(
                f"Spider needs a smooth loss, whose gradients change little over short steps, got "
                f"{name_of(loss)}. Use the solver 'gd'."
            )
        if self.gamma is not None and self.kappa is None:
            raise ValueError(
                "Spider needs kappa along with gamma, got gamma alone. Use Spider.from_theory."
            )

    def solve(self, problem: Problem, oracle: Oracle, rng: np.random.Generator) -> Solution:
        self.check(problem)
        if self.gamma is not None:
            return self._by_theory(problem, oracle)
        rule = self.rule(problem, oracle.budget.mu)
        descent = Descent(problem, rule, self.average)
        kappa = self._kappa(problem, rule)
        # Norm of the noise of a gradient that is asked for in each step.
        noise = 2 * descent.clip_norm / (problem.n_samples * oracle.budget.mu)
        floor = noise * sqrt(rule.steps * problem.n_parameters)

        left, k, target = rule.steps, 1, descent.clip_norm
        while left > 0:
            # The last step asks for a gradient, with all that is unspent by then.
            k = max(1, min(k, left - 1))
            budget = oracle.budget.fraction(k / left)
            v = self._gradient(oracle, descent, budget, k)
            target = max(floor, min(target, self.stop * descent.gradient_map(v)))
            done = self._walk(problem, oracle, descent, v, budget, k, target, target > floor)
            left -= done
            law = ceil(self.first * (descent.clip_norm / target) ** (2 - kappa))
            k = min(law, self.longest, 2 * k) if done == k else done
        return Solution(descent.mean(), n_iter=descent.n_steps)

    def _gradient(self, oracle: Oracle, descent: Descent, budget: Budget, k: int) -> np.ndarray:
        """The gradient with which a round of k steps begins."""
        full = budget.fraction(1 - self.share) if k > 1 else budget
        return oracle.gradient(descent.w, spend=full.whole(), **descent.bounds)

    def _walk(
        self,
        problem: Problem,
        oracle: Oracle,
        descent: Descent,
        v: np.ndarray,
        budget: Budget,
        k: int,
        target: float,
        may_stop: bool,
    ) -> int:
        """Take at most k steps towards a target, and return their number."""
        longest = descent.stride * target
        farthest = self.reach * 2 * descent.clip_norm / problem.smoothness
        walked = 0.0
        for done in range(1, k + 1):
            before = descent.w
            descent.move(v, longest)
            length = float(np.linalg.norm(descent.w - before))
            walked = hypot(walked, length)
            if done == k or walked > farthest:
                return done
            if length > 0:
                share = max(_LEAST_SHARE, min(1.0, length / longest) ** 2)
                spend = budget.fraction(self.share / (k - 1) * share).whole()
                v = v + oracle.gradient_difference(descent.w, before, spend=spend, **descent.bounds)
            if may_stop and descent.gradient_map(v) < target:
                return done
        return k

    def _kappa(self, problem: Problem, rule: DescentRule) -> float:
        if self.kappa is not None:
            return self.kappa
        # In the units of the rule the clip is what a gradient may be, and moves w this far.
        distance = min(problem.diameter * problem.row_norm, rule.total_step_size * rule.clip)
        unit = problem.row_norm**2 * problem.max_weight
        return 2.0 if problem.strong_convexity / unit * distance >= rule.clip else 1.0

    def _by_theory(self, problem: Problem, oracle: Oracle) -> Solution:
        """Algorithm 1 with its constants; see :meth:`from_theory`."""
        assert self.gamma is not None
        assert self.kappa is not None
        scale = problem.row_norm * problem.max_weight
        clip = min(problem.loss.lipschitz, inf if self.clip is None else self.clip)
        # 2 / (7 L), so that a step as long as the target allows is G_k / (4 L).
        total_step_size = 2 * problem.row_norm * scale / (7 * problem.smoothness)
        descent = Descent(problem, DescentRule(1, total_step_size, clip, 0.0), self.average)
        rounds, top, decay, floor = self._constants(problem, oracle.budget.mu, clip * scale)
        if floor >= top:
            warn_user(
                "Spider.from_theory needs noise below its first target to learn, got noise of "
                f"{floor / top:.3g} times that with {problem.n_samples} rows, gamma={self.gamma:g} "
                f"and kappa={self.kappa:g}; it may return its start. Take more rows, a larger "
                "epsilon or a smaller gamma, or Spider() for practical defaults.",
                UserWarning,
            )
        floor, aim = min(floor, top), top
        while rounds > 0:
            budget = oracle.budget.fraction(1 / rounds)
            v = self._gradient(oracle, descent, budget, 2)
            norm = descent.gradient_map(v)
            aim, rounds = max(floor, decay * aim), rounds - 1
            while norm < self.stop * aim and aim > floor and rounds > 0:
                aim, rounds = max(floor, decay * aim), rounds - 1
            if norm < self.stop * aim:
                break
            k = ceil((top / aim) ** (2 - self.kappa)) + 1
            self._walk(problem, oracle, descent, v, budget, k, self.stop * aim, True)
        # A sum whose end was chosen by answers is no guarantee, so nothing is left over.
        rest = oracle.budget
        if rest.amount > 0:
            noise = oracle.gradient_scale(spend=rest.whole(), clip_norm=descent.clip_norm)
            v = self._gradient(oracle, descent, rest, 1)
            norm = descent.gradient_map(v)
            if norm >= self.stop * aim and noise * sqrt(problem.n_parameters) < aim:
                descent.move(v, descent.stride * aim)
        return Solution(descent.w, n_iter=descent.n_steps)

    def _constants(
        self, problem: Problem, mu: float, lipschitz: float
    ) -> tuple[int, float, float, float]:
        """Rounds K, first target, factor from target to target, and last target, all for G."""
        gamma, kappa = self.gamma or 1.0, self.kappa or 1.0
        n, d, rho = problem.n_samples, problem.n_parameters, mu**2 / 2
        top = lipschitz
        if self.initial_risk is not None:
            top = min(top, self.initial_risk ** (1 / kappa) / gamma)
        # The exponents of F_0 and gamma in the paper, with F_0 = (gamma top)^kappa.
        slowness = 64 * gamma**kappa * top ** (kappa - 2) * problem.smoothness
        resolution = lipschitz * sqrt(d) / (n * sqrt(rho) * top)
        rounds = ceil((1 + slowness) * max(1.0, -kappa * log(resolution)))
        if rounds > _MOST_ROUNDS:
            raise ValueError(
                f"Spider needs at most {_MOST_ROUNDS} rounds, but the constants of the paper ask "
                f"for {rounds:.3g} at gamma={gamma:g} and kappa={kappa:g}. Pass a smaller gamma, "
                "or leave it out for practical defaults."
            )
        failing = self.failure / rounds * min(1.0, sqrt(rounds) * resolution) ** (2 - kappa)
        floor = 32 * top * resolution * sqrt(rounds * log(1 / failing))
        return rounds, top, (1 + 1 / slowness) ** (-1 / kappa), floor
