"""Streams: rows go in, models come out, and all of it is paid for before there is a row."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import ceil, sqrt
from typing import TYPE_CHECKING, final

from ...problem.problem import Problem
from ...validation import shown
from ..accounting.ledger import Budget, Ledger
from ..adjacency import Adjacency, PrivacyUnit
from ..randomness import SecretNoise, SecretState
from ..rows.base import ResidentRows
from .stream_session import StreamOpening, StreamSession
from .visits import Call, Visits

if TYPE_CHECKING:
    from ...solvers.base import Solution
    from ...solvers.streaming import Learner, StreamingSolver

# Rows of the first part of a stream whose length is not known: at least so many, and so many
# times the root of the number of parameters over mu, below which noise hides everything.
_LEAST_ROWS, _LEAST_EVIDENCE = 100, 8.0


@final
class Stream(SecretState):
    """An open stream: rows go in, and the model is current after each public batch.

    With a horizon everything is charged here, before there is a row. Without one the stream is cut
    into parts, each as long as all before it together, and each with sums, noise and a ledger of
    its own that are opened when its first row comes. Parts have no row in common, so they compose
    in parallel; a part goes on from the model that the one before it has released.

    Parameters
    ----------
    problem : Problem
        What is to be solved; its number of rows does not matter.
    solver : StreamingSolver
        How.
    ledger : Ledger
        Pays for the first part with all that it has left. Each further part gets an empty ledger
        of the same budget.
    adjacency : Adjacency
        Neighbouring relation: one row of the stream is replaced, or left out in its place.
    noise : SecretNoise
        Source of the noise.
    horizon : int or None
        Number of rows that the stream will have at most, if it is known.
    stated : callable, optional
        The problem of so many rows in all, if its penalty depends on them. Each part is solved with
        the penalty for all rows up to its end. By default it is that of the problem.
    visits : Visits, optional
        How often each person has counted, in a stream of persons, to which rows come with labels.
        What is said of numbers of rows here is about persons then.
    who : str, default='Stream'
        For whom it calls, whose parameter the horizon is.

    Attributes
    ----------
    learner : Learner
        The public state of the solver.
    seen : int
        Number of rows so far.
    receipts : list of (int, Ledger)
        Number of rows and ledger of each part that was opened, in order.

    Raises
    ------
    ValueError
        If the solver does not take the problem or the horizon is below 1. Nothing is charged.

    Guarantees
    ----------
    - All models that are ever released are together private as the most expensive ledger says.
    - A row is read once, in the call that brings it, and not kept; it is part of one batch.
    - Rows beyond the horizon are refused before any row of that call is read.
    - Models do not depend on how rows are spread over calls, but for the rounding of sums.
    """

    learner: Learner
    _session: StreamSession
    _end: int

    def __init__(
        self,
        problem: Problem,
        solver: StreamingSolver,
        ledger: Ledger,
        adjacency: Adjacency,
        noise: SecretNoise,
        horizon: int | None,
        stated: Callable[[int], Problem] | None = None,
        visits: Visits | None = None,
        who: str = "Stream",
    ) -> None:
        if horizon is not None and horizon < 1:
            raise ValueError(
                f"{who} needs a horizon of at least 1 row or None, got {shown(horizon)}."
            )
        self._who, self._problem, self._solver, self._stated = who, problem, solver, stated
        self._adjacency = adjacency
        self._visits, self._batch = visits or Visits(unit=PrivacyUnit.ROW), 0
        self._horizon, self.seen = horizon, 0
        self.receipts: list[tuple[int, Ledger]] = []
        length = horizon
        if length is None:
            evidence = sqrt(ledger.remaining) / sqrt(problem.n_parameters)
            length = max(_LEAST_ROWS, ceil(_LEAST_EVIDENCE / evidence))
        self._open_part(length, ledger, noise, None)

    @property
    def solution(self) -> Solution:
        """The latest released model, one object until the next; at first the public start."""
        return self.learner.solution

    def feed(self, rows: ResidentRows | Call) -> None:
        """Take the next rows, at least one.

        Raises
        ------
        ValueError
            If they go beyond the horizon. None of them is read then.
        RuntimeError
            If reading rows has failed before.
        """
        call = rows if isinstance(rows, Call) else Call(rows)
        n_samples = call.n_samples
        if self._horizon is not None and self.seen + n_samples > self._horizon:
            counted = "rows" if call.labels is None else "visits of persons"
            raise ValueError(
                f"{self._who} needs no more {counted} than its horizon of {self._horizon}, of "
                f"which {self._horizon - self.seen} are left, got {n_samples}; nothing was read. "
                "Start another stream with a clone, for which a longer horizon may be set."
            )
        for part in call.pieces(self._room, self._session.noise):
            # Counted first: one that is interrupted must not have its rows passed in again. A
            # session that has failed waits for no row, and refuses all of them.
            self.seen += part.n_samples if self._session.missing > 0 else 0
            self._session.read(self._visits.counted(part, self._batch))
            if not self._session.missing:
                self._batch += 1
                self.learner.learn(self._session.release())
                if self.seen < self._end:
                    self._session.ask(self.learner.request())

    def _room(self) -> int:
        """Number of rows until the batch is complete, the first of a new part if one has ended."""
        if self.seen == self._end:
            ledger = self.receipts[-1][1].anew()
            self._open_part(self.seen, ledger, self._session.noise, self.learner)
        return self._session.missing

    def _open_part(
        self, length: int, ledger: Ledger, noise: SecretNoise, before: Learner | None
    ) -> None:
        problem = replace(self._problem, n_samples=length)
        if self._stated is not None:
            problem = replace(problem, penalty=self._stated(self.seen + length).penalty)
        self._solver.check(problem)
        self._solver.check_stream(problem)
        budget = Budget(ledger.remaining)
        plan = self._solver.plan(problem, budget.mu)
        facts = problem, plan, self._adjacency, budget.whole()
        opening = StreamOpening(*facts, self._visits.max_visits)
        ledger.note("coefficients")
        session = StreamSession(opening, ledger, noise)
        self.receipts.append((length, ledger))
        of_part = problem, plan, opening.deviation
        self.learner = self._solver.learner(*of_part, before)
        session.ask(self.learner.request())
        self._session, self._end = session, self.seen + length
