"""The high-dimensional bandit of Han et al. (2022): online Frank-Wolfe with synthetic rows."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, sqrt
from typing import TYPE_CHECKING, Any, ClassVar, Literal, cast

import numpy as np

from ...privacy.accounting.calculus import Calculus, ZeroConcentratedDP
from ...privacy.bandit_sessions.bandit_plans import Plan, StepPlan
from ...problem.bandit_problem import BanditProblem
from ...problem.bounds import RowBounds
from ...problem.constraints import L1Ball
from ...validation import check_integers, check_numbers, shown
from .base import Policy, toward, zero_weights
from .choices import Preselecting, RoundRobin, Rule
from .ftrl import few_at_first, streams_plan

if TYPE_CHECKING:
    from ...privacy.bandit_sessions.arm_streams import ArmStreams
    from ...privacy.bandit_sessions.base import ArmSession
    from ...privacy.bandit_sessions.noisy_steps import StepSession


@dataclass(frozen=True, eq=False)
class _Memory:
    """Weights now, before the last step of each arm, and when all had been forced."""

    w: np.ndarray
    before: np.ndarray
    first: np.ndarray
    steps: np.ndarray


@dataclass(frozen=True)
class HDBPolicy(Policy):
    """Algorithm 3 of Han et al. (2022), at the noise that its privacy needs, for comparison.

    First every arm is given to ``forced`` users in turn. From then on a user gets, among the arms
    whose estimate at the end of that phase is within ``margin / 2`` of the best, the one with the
    best present estimate. All estimates take a step of online Frank-Wolfe after every user, with a
    synthetic row of zeros for arms that were not pulled, by a vertex that Gumbel noise chooses from
    recursive gradients. Step sizes are ``1 / (i + 1)`` in an arm's own count of steps.

    A user's row is in the sums that all later choices look at, so that each of about T choices is
    paid for; :class:`~skdp.bandit.policies.SparsePolicy` learns the same models from a few choices
    a block.

    Parameters
    ----------
    radius : float, default=1.0
        Radius of the l1 ball, for mapped rewards and entries in [-1, 1].
    stream_clip : float, default=0.25
        Bound on the recursive derivative of a user, which weighs derivatives at two points, for
        rewards mapped to [-1, 1].
    forced : int, optional
        Users given to each arm at first, t0; ``max(1, sqrt(T) / (2 K))`` by default.
    margin : float, optional
        h, in units of scores. None keeps all arms.
    solver : StreamingSolver, optional
        Learns the arms' weights from their streams with synthetic rows, in place of the steps
        above; it has a bound of its own. Most release less often than after every user.
    """

    calculus: ClassVar[Calculus] = ZeroConcentratedDP()
    contexts: ClassVar[Literal["norm", "entries"]] = "entries"
    # Steps of the paper begin with one that forgets all weights.
    anytime: ClassVar[bool] = False

    radius: float = 1.0
    stream_clip: float = 0.25
    forced: int | None = None
    margin: float | None = None
    solver: Any = None

    def check(self, problem: BanditProblem) -> None:
        """The horizon has to leave room for the forced users.

        Parameters
        ----------
        problem : BanditProblem
            Public facts.
        """
        check_numbers("HDBPolicy", radius=self.radius, stream_clip=self.stream_clip)
        if self.margin is not None:
            check_numbers("HDBPolicy", margin=self.margin)
        if self.forced is not None:
            check_integers("HDBPolicy", forced=self.forced)
        solver = self.solver
        if solver is not None and (isinstance(solver, type) or not hasattr(solver, "check_stream")):
            raise ValueError(
                "HDBPolicy needs a solver for streams, such as FTRL(), or None, got a "
                f"{type(solver).__name__}."
            )
        margin, forced = self.margin, self._forced(problem)
        sound = (
            1e-50 <= self.radius <= 1e6
            and 1e-50 <= self.stream_clip <= 1e6
            and (margin is None or margin >= 0)
        )
        if not (sound and forced >= 1 and forced * problem.n_arms <= problem.horizon):
            raise ValueError(
                "HDBPolicy needs radius and stream_clip in [1e-50, 1e6], a margin of at least 0, "
                "from 1 to horizon / n_arms forced users an arm, got "
                f"radius={shown(self.radius)}, stream_clip={shown(self.stream_clip)}, "
                f"margin={shown(self.margin)} and forced={forced} with a horizon of "
                f"{problem.horizon} and {problem.n_arms} arms."
            )

    def plan(self, problem: BanditProblem) -> Plan:
        """A vertex for every arm after every user, or what the solver asks."""
        if self.solver is not None:
            return self._streams(problem)
        return StepPlan(problem.horizon, problem.n_arms, self._forced(problem), self.stream_clip)

    def plan_at_once(self, problem: BanditProblem) -> Plan:
        """The plan of a stream: the algorithm takes users one by one."""
        return self.plan(problem)

    def start(self, problem: BanditProblem) -> tuple[Rule, Any]:
        """Every arm to its forced users in turn."""
        w = zero_weights(problem)
        steps = np.zeros(problem.n_arms, dtype=np.intp)
        return RoundRobin(w, self._forced(problem)), _Memory(w, w, w, steps)

    def go_on(self, problem: BanditProblem, rule: Rule, memory: Any, seen: int) -> tuple[Rule, Any]:
        """Begin anew."""
        del rule, memory, seen
        return self.start(problem)

    def learn(self, problem: BanditProblem, session: ArmSession, memory: Any) -> tuple[Rule, Any]:
        """One step of every arm whose turn it is, or the weights that the solver has released."""
        if self.solver is not None:
            return self._from_streams(problem, session, memory)
        asked, last = cast("StepSession", session), cast(_Memory, memory)
        forced = self._forced(problem)
        vertices = asked.step(last.w, last.before)
        moved = toward(last.w, vertices, self.radius, 1 / (last.steps + 1))
        stepped = vertices >= 0
        before = last.w if stepped.all() else np.where(stepped[:, np.newaxis], last.w, last.before)
        first = moved if asked.seen <= forced * problem.n_arms else last.first
        now = _Memory(moved, before, first, last.steps + stepped)
        return self._rule(problem, asked.seen, now), now

    def _rule(self, problem: BanditProblem, seen: int, now: _Memory) -> Rule:
        forced = self._forced(problem)
        if seen < forced * problem.n_arms:
            return RoundRobin(now.w, forced)
        margin = inf if self.margin is None else self.margin / 2
        return Preselecting(now.w, now.first, margin)

    def _streams(self, problem: BanditProblem) -> Plan:
        # Entries are in [-1, 1], so that no row is scaled.
        bounds = RowBounds(sqrt(problem.n_rows), feature_bound=1.0)
        forced = self._forced(problem)
        return streams_plan(problem, self.solver, forced, bounds, L1Ball(self.radius))

    def _from_streams(
        self, problem: BanditProblem, session: ArmSession, memory: Any
    ) -> tuple[Rule, Any]:
        asked = cast("ArmStreams", session)
        w = asked.weights()
        first = w if asked.seen <= self._forced(problem) * problem.n_arms else memory.first
        now = _Memory(w, w, first, memory.steps)
        return self._rule(problem, asked.seen, now), now

    def _forced(self, problem: BanditProblem) -> int:
        return few_at_first(problem) if self.forced is None else self.forced
