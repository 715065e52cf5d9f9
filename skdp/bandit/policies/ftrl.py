"""Running sums of gradients for every arm, with a new rule some two hundred times in a stream."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import Any, ClassVar

from ...privacy.bandit_sessions.bandit_plans import Plan
from ...problem.bandit_problem import BanditProblem
from ...problem.bounds import RowBounds
from ...problem.constraints import Constraint, Unconstrained
from ...problem.problem import Problem
from ...solvers.ftrl import FTRL
from ...solvers.streaming import StreamingSolver
from .base import POSITIVE, Ask, Policy, zero_weights
from .choices import Greedy, RoundRobin, Rule

# Times at which the rule looks at the weights of streams.
_LOOKS = 200
# Clip and reach for each arm, by experience, and the largest clip. The noise of a stream is the
# same however many arms there are, but an arm's share of users is not: it needs longer steps, and
# where it is rarely the right one, a clip that does not hide the few rewards it gets.
_CLIP, _LARGEST_CLIP, _REACH = 0.1, 0.5, 0.4
# Largest standard deviation of the noise in the score of a row of full norm.
_SCORE_NOISE = 0.3


@dataclass(frozen=True)
class FTRLPolicy(Policy):
    """Follow the regularized leader, an arm each, on running sums of clipped gradients.

    Every arm has a stream of its own (:class:`~skdp.solvers.FTRL`), in which each user is one row:
    the user's own if that arm was pulled, else zeros. All streams together cost what one costs.
    Nothing but sums of gradients is released, d numbers an arm, where moments are d^2; noise is
    correlated so that it is about the same at all times, and all users weigh about the same. The
    first ``sqrt(T) / 2`` users are given to the arms in turn, all others to the arm with the
    largest score. The weights are looked at some two hundred times in a stream.

    Parameters
    ----------
    clip : float, optional
        Bound on the derivative of the loss of a row, for rewards mapped to [-1, 1]. By default 0.1
        times the number of arms, but at most 0.5; with the logistic loss the solver's own.
    reach : float, optional
        Length of the noise in the weights of an arm, see :class:`~skdp.solvers.FTRL`. By default
        0.4 times the number of arms, but at most 0.3 times the root of the number of parameters of
        an arm; with the logistic loss the solver's own.
    """

    hyperparameters: ClassVar[dict[str, list[Any]]] = {
        "clip": [None, POSITIVE],
        "reach": [None, POSITIVE],
    }

    clip: float | None = None
    reach: float | None = None

    def check(self, problem: BanditProblem) -> None:
        """The horizon has to leave a user for every arm."""
        super().check(problem)
        if problem.horizon < problem.n_arms:
            raise ValueError(
                f"FTRLPolicy needs a user for each of its {problem.n_arms} arms, got "
                f"{problem.horizon} users in all."
            )

    def plan(self, problem: BanditProblem, *, at_once: bool = False) -> Plan:
        """Running sums of the gradients of every arm; a log is read once, in its order."""
        del at_once
        clip, reach = self.clip, self.reach
        if not problem.logistic:
            clip = min(_LARGEST_CLIP, _CLIP * problem.n_arms) if clip is None else clip
            most = _SCORE_NOISE * sqrt(problem.n_rows)
            reach = min(most, _REACH * problem.n_arms) if reach is None else reach
        solver, forced = FTRL(clip=clip, reach=reach), few_at_first(problem)
        return streams_plan(problem, solver, forced, RowBounds(1.0), Unconstrained())

    def start(self, problem: BanditProblem) -> tuple[Rule, Any]:
        """Every arm to its first users in turn."""
        return RoundRobin(zero_weights(problem), few_at_first(problem)), None

    def go_on(self, problem: BanditProblem, rule: Rule, memory: Any, seen: int) -> tuple[Rule, Any]:
        """Act greedily on the weights so far, at which the streams start."""
        del problem, memory, seen
        return Greedy(rule.w), None

    def learn(self, problem: BanditProblem, ask: Ask, seen: int, memory: Any) -> tuple[Rule, Any]:
        """Look at the weights that the streams have released, and act greedily."""
        w, each = ask(), few_at_first(problem)
        forced = problem.initial is None and seen < each * problem.n_arms
        return RoundRobin(w, each) if forced else Greedy(w), memory


def few_at_first(problem: BanditProblem) -> int:
    """Users given to each arm before any is chosen: ``max(1, sqrt(T) / (2 K))``, or 1 later on."""
    if problem.initial is not None:
        return 1
    return max(1, int(sqrt(problem.horizon) / (2 * problem.n_arms)))


def streams_plan(
    problem: BanditProblem,
    solver: StreamingSolver,
    forced: int,
    bounds: RowBounds,
    constraint: Constraint,
) -> Plan:
    """Plan of a stream for each arm, from which a streaming solver learns the arm's weights.

    The constraint is on the weights of an arm; bounds are such that no bounded row is scaled.
    """
    horizon, n_arms = problem.horizon, problem.n_arms
    alone = Problem(
        loss=problem.loss,
        n_samples=horizon - (n_arms - 1) * forced,
        n_features=problem.n_rows,
        bounds=bounds,
        constraint=constraint,
    )
    solver.check(alone)
    solver.check_stream(alone)
    counted = solver.calculus_for_stream(alone, problem.epsilon, problem.delta, problem.adjacency)
    # Ends of forced turns, then multiples of some number of users.
    turns, every = range(forced, n_arms * forced + 1, forced), max(1, horizon // _LOOKS)
    looks = range((n_arms * forced // every + 1) * every, horizon, every)
    ends = tuple(sorted({*turns, *looks, horizon}))
    return Plan("streams", ends, counted, forced=forced, solver=solver, problem=alone)
