"""Base of streaming solvers, which learn from each batch of rows as it comes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ..privacy.streams.stream_plan import StreamPlan, StreamRequest
from ..problem.problem import Problem
from .base import Solution, Solver

if TYPE_CHECKING:
    from ..privacy.accounting.calculus import Calculus
    from ..privacy.adjacency import Adjacency
    from ..privacy.oracle import Oracle


class Learner(ABC):
    """The public state of a solver in the middle of a stream.

    A deterministic function of the problem, the plan and the answers so far. It may be pickled,
    published and looked at; it holds no rows and nothing that takes noise off.

    Attributes
    ----------
    solution : Solution
        The model so far, one object until the next; before the first answer the start.
    """

    solution: Solution

    @abstractmethod
    def request(self) -> StreamRequest:
        """Query about the rows of the next batch."""

    @abstractmethod
    def learn(self, answer: np.ndarray) -> None:
        """Take in what was released after that batch."""


@dataclass(frozen=True)
class StreamingSolver(Solver, ABC):
    """A solver that can learn from rows which come one after another and are not kept.

    What it will ask of them is declared in a plan, so that it can be paid for before there is a
    row; what it asks is a function of released answers and public facts. Whoever drives it (an
    oracle with all rows, a stream) therefore gets the same models from the same answers, however
    the rows were delivered.
    """

    def solve(self, problem: Problem, oracle: Oracle, rng: np.random.Generator) -> Solution:
        """Go once through the rows, in their order; deterministic given the oracle's answers."""
        del rng
        self.check(problem)
        budget = oracle.budget
        plan = self.plan(problem, budget.mu)
        answers = oracle.for_problem(problem).stream(plan, spend=budget.whole())
        learner = self.learner(problem, plan, answers.deviation, None)
        for _ in range(plan.releases):
            learner.learn(answers.answer(learner.request()))
        return learner.solution

    def check_stream(self, problem: Problem) -> None:
        """Refuse what it takes as a data set, but not as a stream; by default nothing.

        Called after ``check``, which see, before anything is paid.
        """

    def calculus_for_stream(
        self, problem: Problem, epsilon: float, delta: float, adjacency: Adjacency
    ) -> Calculus:
        """The calculus that the ledger of a stream is opened with; by default ``calculus_for``."""
        return self.calculus_for(problem, epsilon, delta, adjacency)

    @abstractmethod
    def plan(self, problem: Problem, mu: float) -> StreamPlan:
        """Plan of the stream, fixed before the first row.

        Parameters
        ----------
        problem : Problem
            Loss, penalty, constraint and public bounds; its number of rows is the horizon.
        mu : float
            Gaussian-DP parameter of the budget for the whole stream.
        """

    @abstractmethod
    def learner(
        self, problem: Problem, plan: StreamPlan, deviation: float, before: Learner | None
    ) -> Learner:
        """The state before the first row.

        Parameters
        ----------
        problem : Problem
            As in ``plan``.
        plan : StreamPlan
            The plan for it.
        deviation : float
            Noise of the last release: the standard deviation of each entry of the sum, in units of
            the bound on a row, or the scale of the noise on each score.
        before : Learner or None
            Of this solver, at the end of a stream that this one goes on from.
        """
