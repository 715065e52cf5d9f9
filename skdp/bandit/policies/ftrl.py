"""Running sums of gradients for every arm, with a new rule some two hundred times in a stream."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import TYPE_CHECKING, Any, ClassVar, Literal, cast

from ...privacy.accounting.calculus import Calculus, GaussianDP
from ...privacy.bandit_sessions.bandit_plans import Plan, StreamsPlan
from ...problem.bandit_problem import BanditProblem
from ...problem.bounds import RowBounds
from ...problem.constraints import Constraint, Unconstrained
from ...problem.problem import Problem
from ...solvers.ftrl import FTRL
from ...solvers.streaming import StreamingSolver
from ...validation import check_numbers, shown
from .base import Policy, zero_weights
from .choices import Greedy, RoundRobin, Rule

if TYPE_CHECKING:
    from ...privacy.bandit_sessions.arm_streams import ArmStreams
    from ...privacy.bandit_sessions.base import ArmSession

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

    calculus: ClassVar[Calculus] = GaussianDP()
    contexts: ClassVar[Literal["norm", "entries"]] = "norm"

    clip: float | None = None
    reach: float | None = None

    def check(self, problem: BanditProblem) -> None:
        """The horizon has to leave a user for every arm.

        Parameters
        ----------
        problem : BanditProblem
            Public facts.
        """
        for name in ("clip", "reach"):
            value = getattr(self, name)
            if value is None:
                continue
            check_numbers("FTRLPolicy", **{name: value})
            if not 1e-50 <= value <= 1e6:
                raise ValueError(
                    f"FTRLPolicy needs {name} in [1e-50, 1e6] or None, got {name}={shown(value)}."
                )
        if problem.horizon < problem.n_arms:
            raise ValueError(
                f"FTRLPolicy needs a user for each of its {problem.n_arms} arms, got "
                f"{problem.horizon} users in all."
            )

    def plan(self, problem: BanditProblem) -> Plan:
        """Running sums of the gradients of every arm."""
        clip, reach = self.clip, self.reach
        if not problem.logistic:
            clip = min(_LARGEST_CLIP, _CLIP * problem.n_arms) if clip is None else clip
            most = _SCORE_NOISE * sqrt(problem.n_rows)
            reach = min(most, _REACH * problem.n_arms) if reach is None else reach
        return streams_plan(
            problem,
            FTRL(clip=clip, reach=reach),
            few_at_first(problem),
            RowBounds(1.0),
            Unconstrained(),
        )

    def plan_at_once(self, problem: BanditProblem) -> Plan:
        """The plan of a stream: users are read once, in their order."""
        return self.plan(problem)

    def start(self, problem: BanditProblem) -> tuple[Rule, Any]:
        """Every arm to its first users in turn."""
        return RoundRobin(zero_weights(problem), few_at_first(problem)), None

    def go_on(self, problem: BanditProblem, rule: Rule, memory: Any, seen: int) -> tuple[Rule, Any]:
        """Act greedily on the weights so far, at which the streams start."""
        del problem, memory, seen
        return Greedy(rule.w), None

    def learn(self, problem: BanditProblem, session: ArmSession, memory: Any) -> tuple[Rule, Any]:
        """Look at the weights that the streams have released, and act greedily."""
        del memory
        asked, each = cast("ArmStreams", session), few_at_first(problem)
        w = asked.weights()
        forced = problem.initial is None and asked.seen < each * problem.n_arms
        rule = RoundRobin(w, each) if forced else Greedy(w)
        return rule, None


def few_at_first(problem: BanditProblem) -> int:
    """Users given to each arm before any is chosen: ``max(1, sqrt(T) / (2 K))``, or 1 later on.

    Parameters
    ----------
    problem : BanditProblem
        Public facts.
    """
    if problem.initial is not None:
        return 1
    return max(1, int(sqrt(problem.horizon) / (2 * problem.n_arms)))


def streams_plan(
    problem: BanditProblem,
    solver: StreamingSolver,
    forced: int,
    bounds: RowBounds,
    constraint: Constraint,
) -> StreamsPlan:
    """Plan of a stream for each arm, that a streaming solver learns from.

    Parameters
    ----------
    problem : BanditProblem
        Public facts.
    solver : StreamingSolver
        Learns the weights of one arm.
    forced : int
        Users given to each arm at first.
    bounds : RowBounds
        Of bounded rows, so that none is scaled.
    constraint : Constraint
        On the weights of an arm.
    """
    alone = Problem(
        loss=problem.loss,
        n_samples=problem.horizon - (problem.n_arms - 1) * forced,
        n_features=problem.n_rows,
        bounds=bounds,
        constraint=constraint,
    )
    solver.check(alone)
    solver.check_stream(alone)
    counted = solver.calculus_for_stream(alone, problem.epsilon, problem.delta, problem.adjacency)
    every = max(1, problem.horizon // _LOOKS)
    return StreamsPlan(problem.horizon, problem.n_arms, forced, solver, alone, counted, every)
