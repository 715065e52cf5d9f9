"""Noisy gradient descent on the scores of all arms, in blocks that each begin anew."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import sqrt
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from ...privacy.bandit_sessions.bandit_plans import GradientPlan, Plan
from ...problem.bandit_problem import BanditProblem
from ...validation import check_integers, check_numbers, shown
from .base import LEAST_GROWTH, Average, Policy, growing_blocks, zero_weights
from .choices import Greedy, RoundRobin, Rule

if TYPE_CHECKING:
    from ...privacy.bandit_sessions.base import ArmSession
    from ...privacy.bandit_sessions.block_rows import GradientSession

_LEAST_FIRST_BLOCK = 16
_MOMENTUM = 0.9
_FARTHEST = 4000.0


@dataclass(frozen=True)
class GDPolicy(Policy):
    """Noisy gradient descent, for real rewards and contexts that vary alike in all directions.

    At the end of each block, gradient descent with momentum fits the weights of all arms to the
    users of that block, from zero. The derivative of the loss is clipped far below its range, which
    leaves little more than signs of residuals: noise falls with the clip, the signs stay. The rule
    is greedy on the average of the models of all blocks, weighted by the squares of their sizes.

    The product of step size and number of steps follows ``n mu / (clip sqrt(K p))``, the distance
    at which noise catches up with signal, as long as momentum stays stable.

    Parameters
    ----------
    steps : int, default=50
        Gradients a block.
    clip : float, default=0.1
        Bound on the derivative of the loss of a row, for rewards mapped to [-1, 1].
    growth : float, default=2.0
        Factor by which blocks grow, in [1.001, 1e6].
    """

    steps: int = 50
    clip: float = 0.1
    growth: float = 2.0

    def check(self, problem: BanditProblem) -> None:
        """Any problem is taken.

        Parameters
        ----------
        problem : BanditProblem
            Public facts.
        """
        check_integers("GDPolicy", steps=self.steps)
        check_numbers("GDPolicy", clip=self.clip, growth=self.growth)
        if not (
            self.steps >= 1 and 1e-50 <= self.clip <= 1e6 and LEAST_GROWTH <= self.growth <= 1e6
        ):
            raise ValueError(
                "GDPolicy needs at least 1 step, clip in [1e-50, 1e6] and a growth in [1.001, "
                f"1e6], got steps={self.steps}, clip={shown(self.clip)} and "
                f"growth={shown(self.growth)}."
            )

    def plan(self, problem: BanditProblem) -> Plan:
        """Gradients at the ends of growing blocks."""
        first = max(2 * problem.n_arms, _LEAST_FIRST_BLOCK)
        ends = growing_blocks(problem.horizon, first, self.growth)
        return GradientPlan(ends, self.clip, self.steps)

    def plan_at_once(self, problem: BanditProblem) -> Plan:
        """Gradients over all users."""
        return GradientPlan((problem.horizon,), self.clip, self.steps)

    def start(self, problem: BanditProblem) -> tuple[Rule, Any]:
        """Every arm in turn."""
        w = zero_weights(problem)
        return RoundRobin(w), Average(w)

    def go_on(self, problem: BanditProblem, rule: Rule, memory: Any, seen: int) -> tuple[Rule, Any]:
        """Go on with the average, to which the users before count as one block."""
        del problem
        average = Average(rule.w, float(seen) ** 2) if memory is None else replace(memory, seen=0)
        return Greedy(average.w), average

    def learn(self, problem: BanditProblem, session: ArmSession, memory: Any) -> tuple[Rule, Any]:
        """Descend, average, act greedily."""
        asked = cast("GradientSession", session)
        n = asked.seen - memory.seen
        reach = n * sqrt(self.amount(problem) / (problem.n_arms * problem.n_rows)) / self.clip
        rate = (1 - _MOMENTUM) * min(_FARTHEST, reach) / self.steps
        w = zero_weights(problem)
        velocity = np.zeros_like(w)
        for _ in range(self.steps):
            velocity = _MOMENTUM * velocity - rate * asked.gradient(w)
            w = w + velocity
        average = memory.with_block(w, asked.seen)
        return Greedy(average.w), average
