"""The high-dimensional bandit of Han et al. (2022): online Frank-Wolfe with synthetic rows."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, sqrt
from numbers import Integral, Real
from typing import Any, ClassVar, Literal

import numpy as np
from sklearn.utils._param_validation import Interval

from ...privacy.accounting.calculus import Calculus, ZeroConcentratedDP
from ...privacy.bandit_sessions.bandit_plans import Plan
from ...problem.bandit_problem import BanditProblem
from ...problem.bounds import RowBounds
from ...problem.constraints import L1Ball
from ...solvers.streaming import StreamingSolver
from .base import POSITIVE, Ask, Policy, toward, zero_weights
from .choices import Preselecting, RoundRobin, Rule
from .ftrl import few_at_first, streams_plan


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

    hyperparameters: ClassVar[dict[str, list[Any]]] = {
        "radius": [POSITIVE],
        "stream_clip": [POSITIVE],
        "forced": [None, Interval(Integral, 1, None, closed="left")],
        "margin": [None, Interval(Real, 0, None, closed="both")],
        "solver": [None, StreamingSolver],
    }

    radius: float = 1.0
    stream_clip: float = 0.25
    forced: int | None = None
    margin: float | None = None
    solver: Any = None

    def check(self, problem: BanditProblem) -> None:
        """The horizon has to leave room for the forced users."""
        super().check(problem)
        if self._forced(problem) * problem.n_arms > problem.horizon:
            raise ValueError(
                "HDBPolicy needs no more forced users an arm than horizon / n_arms, got "
                f"forced={self._forced(problem)} with a horizon of {problem.horizon} and "
                f"{problem.n_arms} arms."
            )

    def plan(self, problem: BanditProblem, *, at_once: bool = False) -> Plan:
        """A vertex for every arm after every user, also of a log, or what the solver asks."""
        del at_once
        forced = self._forced(problem)
        if self.solver is not None:
            # Entries are in [-1, 1], so that no row is scaled.
            bounds = RowBounds(sqrt(problem.n_rows), feature_bound=1.0)
            return streams_plan(problem, self.solver, forced, bounds, L1Ball(self.radius))
        ends = range(1, problem.horizon + 1)
        return Plan("steps", ends, self.calculus, self.stream_clip, forced=forced)

    def start(self, problem: BanditProblem) -> tuple[Rule, Any]:
        """Every arm to its forced users in turn."""
        w = zero_weights(problem)
        steps = np.zeros(problem.n_arms, dtype=np.intp)
        return RoundRobin(w, self._forced(problem)), _Memory(w, w, w, steps)

    def learn(self, problem: BanditProblem, ask: Ask, seen: int, memory: Any) -> tuple[Rule, Any]:
        """One step of every arm whose turn it is, or the weights that the solver has released."""
        last, forced = memory, self._forced(problem) * problem.n_arms
        if self.solver is not None:
            w, before, steps = ask(), last.w, last.steps
        else:
            vertices = ask(last.w, last.before)
            w = toward(last.w, vertices, self.radius, 1 / (last.steps + 1))
            stepped = vertices >= 0
            before = last.w
            if not stepped.all():
                before = np.where(stepped[:, np.newaxis], last.w, last.before)
            steps = last.steps + stepped
        now = _Memory(w, before, w if seen <= forced else last.first, steps)
        if seen < forced:
            return RoundRobin(w, self._forced(problem)), now
        margin = inf if self.margin is None else self.margin / 2
        return Preselecting(w, now.first, margin), now

    def _forced(self, problem: BanditProblem) -> int:
        return few_at_first(problem) if self.forced is None else self.forced
