"""Frank-Wolfe with noisy vertices for every arm, in blocks that each begin anew."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import log
from typing import TYPE_CHECKING, Any, ClassVar, Literal, cast

import numpy as np

from ...privacy.accounting.calculus import Calculus, ZeroConcentratedDP
from ...privacy.bandit_sessions.bandit_plans import Plan, SelectionPlan
from ...problem.bandit_problem import BanditProblem
from ...validation import check_numbers, shown
from .base import LEAST_GROWTH, Average, Policy, growing_blocks, toward, zero_weights
from .choices import Greedy, RoundRobin, Rule

if TYPE_CHECKING:
    from ...privacy.bandit_sessions.base import ArmSession
    from ...privacy.bandit_sessions.block_rows import SelectionSession

_LEAST_FIRST_BLOCK = 16
_MOST_ROUNDS = 40


@dataclass(frozen=True)
class SparsePolicy(Policy):
    """Noisy Frank-Wolfe, for many features of which few matter; contexts bounded entrywise.

    At the end of each block, Frank-Wolfe over the l1 ball fits each arm to the users of that block.
    What is released of the rows is one signed feature an arm and round, by Gumbel noise. A user is
    in one block and pays for its rounds alone; their number follows from how many choices the
    budget makes well. The rule is greedy on the average of the models of all blocks, weighted by
    the squares of their sizes.

    Parameters
    ----------
    radius : float, default=1.0
        Radius of the l1 ball, for mapped rewards and entries in [-1, 1].
    clip : float, default=0.5
        Bound on the derivative of the loss of a row, for rewards mapped to [-1, 1].
    growth : float, default=2.0
        Factor by which blocks grow, in [1.001, 1e6].
    """

    calculus: ClassVar[Calculus] = ZeroConcentratedDP()
    contexts: ClassVar[Literal["norm", "entries"]] = "entries"

    radius: float = 1.0
    clip: float = 0.5
    growth: float = 2.0

    def check(self, problem: BanditProblem) -> None:
        """Any problem is taken.

        Parameters
        ----------
        problem : BanditProblem
            Public facts.
        """
        check_numbers("SparsePolicy", radius=self.radius, clip=self.clip, growth=self.growth)
        if not (
            1e-50 <= self.radius <= 1e6
            and 1e-50 <= self.clip <= 1e6
            and LEAST_GROWTH <= self.growth <= 1e6
        ):
            raise ValueError(
                "SparsePolicy needs radius and clip in [1e-50, 1e6] and a growth in [1.001, "
                f"1e6], got radius={shown(self.radius)}, clip={shown(self.clip)} and "
                f"growth={shown(self.growth)}."
            )

    def plan(self, problem: BanditProblem) -> Plan:
        """Selections at the ends of growing blocks."""
        first = max(2 * problem.n_arms, _LEAST_FIRST_BLOCK)
        ends = growing_blocks(problem.horizon, first, self.growth)
        sizes = np.diff((0, *ends))
        return SelectionPlan(ends, self.clip, tuple(self._rounds(problem, int(n)) for n in sizes))

    def plan_at_once(self, problem: BanditProblem) -> Plan:
        """Selections over all users."""
        n = problem.horizon
        return SelectionPlan((n,), self.clip, (self._rounds(problem, n),))

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
        """Frank-Wolfe, average, act greedily."""
        asked = cast("SelectionSession", session)
        w = zero_weights(problem)
        for t in range(self._rounds(problem, asked.seen - memory.seen)):
            w = toward(w, asked.select(w), self.radius, np.full(len(w), 2 / (t + 2)))
        average = memory.with_block(w, asked.seen)
        return Greedy(average.w), average

    def _rounds(self, problem: BanditProblem, n: int) -> int:
        """Number of rounds that leaves the noise below the largest score to be told apart."""
        rho = self.amount(problem) / 2
        told = n / (8 * problem.n_arms * self.clip * log(2 * problem.n_rows))
        return int(np.clip(told * told * rho / 2, 1, _MOST_ROUNDS))
