"""Running sums of gradients for every arm, from which a streaming solver learns its weights."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from math import sqrt
from typing import Any, ClassVar, Literal, final

import numpy as np

from ...privacy.accounting.calculus import Calculus
from ...privacy.bandit_sessions.bandit_plans import Plan
from ...privacy.streams.stream_plan import StreamPlan
from ...problem.bandit_problem import BanditProblem
from ...problem.bounds import RowBounds
from ...problem.constraints import Constraint, Unconstrained
from ...problem.problem import Problem
from ...solvers.ftrl import FTRL
from ...solvers.streaming import Learner, StreamingSolver
from .base import POSITIVE, Ask, Policy
from .choices import Greedy, RoundRobin, Rule

# Clip and reach for each arm, by experience, and the largest clip. The noise of a stream is the
# same however many arms there are, but an arm's share of users is not: it needs longer steps, and
# where it is rarely the right one, a clip that does not hide the few rewards it gets.
_CLIP, _LARGEST_CLIP, _REACH = 0.1, 0.5, 0.4
# Largest standard deviation of the noise in the score of a row of full norm.
_SCORE_NOISE = 0.3


@dataclass(frozen=True)
class StreamPolicy(Policy, ABC):
    """A base of policies by which a streaming solver learns the weights of each arm.

    Every arm has a learner of its own, for which each user is one row: the user's own if that arm
    was pulled, else zeros. All take their steps together, at the ends of the batches of the solver.
    """

    def check(self, problem: BanditProblem) -> None:
        """The horizon has to leave room for the first users of every arm."""
        super().check(problem)
        if self.turns(problem) * problem.n_arms > problem.horizon:
            raise ValueError(
                f"{type(self).__name__} needs users for the first turn of each of its "
                f"{problem.n_arms} arms, {self.turns(problem)} an arm, got {problem.horizon} users "
                "in all."
            )

    @abstractmethod
    def learns_by(self, problem: BanditProblem) -> StreamingSolver:
        """The solver that learns the weights of an arm."""

    def constraint(self) -> Constraint:
        """Constraint on the weights of an arm; by default none."""
        return Unconstrained()

    def turns(self, problem: BanditProblem) -> int:
        """Users given to each arm at first: ``max(1, sqrt(T) / (2 K))``, and none later on."""
        if problem.initial is not None:
            return 0
        return max(1, int(sqrt(problem.horizon) / (2 * problem.n_arms)))

    @final
    def plan(self, problem: BanditProblem, *, at_once: bool = False) -> Plan:
        """Running sums of gradients of every arm; a log is read once, in its order."""
        del at_once
        _, of_arm, calculus, plan = self._of_arm(problem)
        ends = tuple(plan.end(k, of_arm.n_samples) for k in range(1, plan.releases + 1))
        releases: Literal["steps", "sums"] = "steps" if plan.chooses_vertices else "sums"
        return Plan(releases, ends, calculus, plan.clip, mechanism=plan.mechanism)

    def go_on(self, problem: BanditProblem, rule: Rule, memory: Any, seen: int) -> tuple[Rule, Any]:
        """Act greedily on the weights so far, at which the streams start."""
        del problem, memory, seen
        return Greedy(rule.w), None

    def learn(self, problem: BanditProblem, ask: Ask, seen: int, memory: Any) -> tuple[Rule, Any]:
        """Let every arm's learner take a step, and act greedily."""
        w, memory = self.stepped(problem, ask, memory)
        each = self.turns(problem)
        return RoundRobin(w, each) if seen < each * problem.n_arms else Greedy(w), memory

    @final
    def stepped(self, problem: BanditProblem, ask: Ask, memory: Any) -> tuple[np.ndarray, Any]:
        """Weights of all arms after a step of each, and the learners; there are none at first."""
        streams = memory or self._streams(problem, 0.0)
        requests = [learner.request() for learner in streams.learners]
        # What a learner asks of its first batch does not depend on points before.
        at = [[r.w for r in requests], [r.before for r in requests if r.before is not None]]
        answer = ask(*(np.stack(points) for points in at if points))
        if streams.chooses:
            own = answer[:, np.newaxis]
        else:
            sums, deviation = answer
            own = sums / streams.unit
            # Nor does it depend on the noise.
            streams = memory or self._streams(problem, deviation / streams.unit)
        for learner, of_arm in zip(streams.learners, own, strict=True):
            learner.learn(of_arm)
        return np.stack([learner.solution.w for learner in streams.learners]), streams

    def _of_arm(
        self, problem: BanditProblem
    ) -> tuple[StreamingSolver, Problem, Calculus, StreamPlan]:
        """Solver, problem, calculus and plan of the stream of one arm.

        Bounds are such that no bounded row is scaled.
        """
        entries = 1.0 if self.contexts == "entries" else None
        of_arm = Problem(
            loss=problem.loss,
            n_samples=problem.horizon,
            n_features=problem.n_rows,
            bounds=RowBounds(problem.longest_row, feature_bound=entries),
            constraint=self.constraint(),
        )
        solver = self.learns_by(problem)
        solver.check(of_arm)
        solver.check_stream(of_arm)
        budget = problem.epsilon, problem.delta
        calculus = solver.calculus_for_stream(of_arm, *budget, problem.adjacency)
        return solver, of_arm, calculus, solver.plan(of_arm, sqrt(calculus.limit(*budget)))

    def _streams(self, problem: BanditProblem, deviation: float) -> _Streams:
        solver, of_arm, _, plan = self._of_arm(problem)
        initial = [None] * problem.n_arms if problem.initial is None else problem.initial
        learners = [
            solver.learner(replace(of_arm, initial=w), plan, deviation, None) for w in initial
        ]
        return _Streams(learners, plan.clip * of_arm.row_norm, plan.chooses_vertices)


@dataclass(frozen=True, eq=False)
class _Streams:
    """Memory of a stream policy: a learner for each arm, whose answers are in these units."""

    learners: list[Learner]
    unit: float
    chooses: bool


@dataclass(frozen=True)
class FTRLPolicy(StreamPolicy):
    """Follow the regularized leader, an arm each, on running sums of clipped gradients.

    Every arm has a stream of its own (:class:`~skdp.solvers.FTRL`), in which each user is one row:
    the user's own if that arm was pulled, else zeros. All streams together cost what one costs.
    Nothing but sums of gradients is released, d numbers an arm, where moments are d^2; noise is
    correlated so that it is about the same at all times, and all users weigh about the same. The
    first ``sqrt(T) / 2`` users are given to the arms in turn, all others to the arm with the
    largest score. The rule changes at the ends of the solver's batches.

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

    def learns_by(self, problem: BanditProblem) -> StreamingSolver:
        """FTRL, with a clip and a reach for as many arms."""
        clip, reach = self.clip, self.reach
        if not problem.logistic:
            clip = min(_LARGEST_CLIP, _CLIP * problem.n_arms) if clip is None else clip
            most = _SCORE_NOISE * sqrt(problem.n_rows)
            reach = min(most, _REACH * problem.n_arms) if reach is None else reach
        return FTRL(clip=clip, reach=reach)
