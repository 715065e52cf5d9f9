"""The trusted session of a stream: exact sums, the open batch, and the noise of what is released.

All that is here is as secret as the rows, except what ``release`` returns.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import final

import numpy as np

from ...problem.problem import Problem
from ..accounting.events import Event
from ..accounting.ledger import Ledger, Spend
from ..adjacency import Adjacency
from ..mechanisms import prefix_sums_by
from ..mechanisms.gumbel import GumbelMechanism
from ..mechanisms.noise_grid import on_grid, spacing
from ..mechanisms.prefix_sums import PrefixNoise, PrefixSumMechanism
from ..no_noise import noise_under
from ..queries.stream_terms import StreamScoresQuery, StreamTermQuery
from ..randomness import SecretNoise, SecretState
from ..rounding import inflated
from ..rows.base import BlockStore, RowStore
from ..rows.in_memory import rows_in_memory
from .stream_plan import StreamPlan, StreamRequest


@dataclass(frozen=True)
class StreamOpening:
    """Price and mechanism of a stream: public, and known before any row.

    The spend is for the whole stream, in which the rows of one person count in ``max_visits``
    batches at most.

    Raises
    ------
    ValueError
        If the mechanism is unknown, a bound cannot be kept in double precision, or the problem has
        no vertices to choose from.

    Guarantees
    ----------
    - Everything that a session with this opening releases is together private at the price of
      ``event``, if each row is read once, and a person counts in at most ``max_visits`` batches,
      in each with rows whose weights sum to 1 at most. Running sums: by theorems X1 and X6 of
      ``docs/proofs/streams.md``. Vertices: each release is an exponential mechanism with the range
      of the query; a row moves all releases from its batch on, at most all of them, and all are
      charged (X5). The ranges of several visits add up.
    """

    problem: Problem
    plan: StreamPlan
    adjacency: Adjacency
    spend: Spend
    max_visits: int = 1

    def query(self, request: StreamRequest) -> StreamTermQuery | StreamScoresQuery:
        """Query about the rows of a batch."""
        kind = StreamScoresQuery if self.plan.chooses_vertices else StreamTermQuery
        return kind(self.problem, request.w, request.before, request.index, self.plan.clip)

    @cached_property
    def sensitivity(self) -> float:
        """Most that a neighbour moves the answer of one batch; the same for all queries.

        With the margin for rounding (see :mod:`skdp.privacy.rounding`).
        """
        query = self.query(StreamRequest(1, np.zeros(self.problem.shape)))
        # For adding the answer of each batch to a running total.
        of_totals = 2.0**-52 * self.plan.releases * self.problem.n_samples
        return inflated(query.sensitivity(self.adjacency), query.rounding + of_totals)

    @cached_property
    def gumbel(self) -> GumbelMechanism:
        """The mechanism of all choices together."""
        moved = self.sensitivity * self.max_visits
        return GumbelMechanism.calibrated(moved, self.plan.releases, self.spend)

    @cached_property
    def sums(self) -> PrefixSumMechanism:
        """The mechanism of all running sums together."""
        return prefix_sums_by(self.plan.mechanism, self.plan.releases)

    @cached_property
    def noise_scale(self) -> float:
        """Scale of the independent noise that releases are made of."""
        if self.plan.chooses_vertices:
            return self.gumbel.noise_scale
        return self.sums.noise_scale(self.sensitivity, self.spend, self.max_visits)

    @cached_property
    def _grid(self) -> float:
        return spacing(self.sensitivity, self.noise_scale, prod(self.problem.shape))

    def on_grid(self, values: np.ndarray) -> np.ndarray:
        """Values of terms, or noise, rounded to the grid of answers; choices are left as they are.

        Terms on the grid have running sums on it, to which rounded noise is added: a function of
        the exact sum plus noise. What rounding moves is within the margin of the sensitivity:
        *Sums on a grid* in ``docs/proofs/streams.md``.
        """
        return values if self.plan.chooses_vertices else on_grid(values, self._grid)

    @cached_property
    def deviation(self) -> float:
        """Noise of the last release: standard deviation of an entry, or scale of a score."""
        if self.plan.chooses_vertices:
            return self.noise_scale
        last = self.sums.variances(np.array([self.plan.releases]))
        return self.noise_scale * float(np.sqrt(last[0]))

    @property
    def event(self) -> Event:
        """The event to charge, once, for the whole stream."""
        if self.plan.chooses_vertices:
            return self.gumbel.event(StreamScoresQuery.name)
        facts = self.sensitivity, self.noise_scale, self.max_visits
        return self.sums.event(StreamTermQuery.name, *facts)


@final
class StreamSession(SecretState):
    """Adds up what rows are asked and releases one private answer after each batch.

    The ledger is charged for the whole declared length here, before there is a row. Then each batch
    goes ``ask``, ``read`` as often as its rows come in pieces, ``release``.

    Attributes
    ----------
    opening : StreamOpening
        Declared price and mechanism. Public.
    missing : int
        Rows that the open batch still waits for; below 0 if reading has failed. Public.
    noise : SecretNoise
        Source of the noise, also for the session of the rows that come after these.

    Guarantees
    ----------
    - Running sums and their noise are whole multiples of a public power of two.
    - Each release has noise of its own; none is made twice, nor for a batch that is not complete.
    - Rows beyond the batch are refused before they are read, and so is a query beyond the
      declared number. One that fails half-way closes the session: what was added is not known.
    - Numerical accidents in single rows neither raise nor warn.
    """

    def __init__(self, opening: StreamOpening, ledger: Ledger, noise: SecretNoise) -> None:
        self.opening = opening
        ledger.charge(opening.event)
        self.noise = noise_under(ledger, noise)
        self._prefix: PrefixNoise | None = None
        if not opening.plan.chooses_vertices:
            shape = opening.problem.shape
            self._prefix = opening.sums.open(shape, opening.noise_scale, self.noise)
        # Of the batches that are released, and of the open one so far.
        self._total: np.ndarray | None = None
        self._term: np.ndarray | None = None
        self._query: StreamTermQuery | StreamScoresQuery | None = None
        self.missing = 0
        self._left = opening.plan.releases

    def ask(self, request: StreamRequest) -> None:
        """Open the next batch.

        Raises
        ------
        RuntimeError
            If the batch before is not released, or all declared releases are made.
        """
        if self._query is not None or not self._left or request.rows < 1:
            raise RuntimeError(
                "StreamSession.ask needs the batch before released, a release left and at least 1 "
                f"row, got {self.missing} rows missing, {self._left} releases left and "
                f"{request.rows} rows. What was charged covers no more; open another session for "
                "new rows."
            )
        query = self.opening.query(request)
        if not query.sensitivity(self.opening.adjacency) <= self.opening.sensitivity:
            raise RuntimeError("StreamSession.ask needs the sensitivity that was declared.")
        self._query, self.missing = query, request.rows

    def read(self, rows: RowStore) -> None:
        """Add the next rows of the open batch.

        Raises
        ------
        RuntimeError
            If there are more than are missing, or reading was interrupted before; none is read.
        """
        if self.missing < 0:
            raise RuntimeError(
                "StreamSession.read was interrupted while it added rows, and nobody could say "
                "which; a row is part of one batch. Start another stream, with rows that are new."
            )
        if self._query is None or rows.n_samples > self.missing:
            raise RuntimeError(
                f"StreamSession.read needs at most the {self.missing} rows that the batch waits "
                f"for, got {rows.n_samples}; a row is part of one batch."
            )
        query, missing = self._query, self.missing - rows.n_samples
        # Until they are added, so that no failure can have them added twice.
        self._query, self.missing = None, -1
        with np.errstate(all="ignore"):
            part = query.evaluate(rows)
            self._term = part if self._term is None else self._term + part
        self._query, self.missing = query, missing

    def release(self) -> np.ndarray:
        """The noisy running sum, in the shape of w, or the chosen vertex, an integer array (1,).

        Raises
        ------
        RuntimeError
            If the batch is not complete.
        """
        term, prefix = self._term, self._prefix
        if self._query is None or self.missing or term is None:
            raise RuntimeError(
                f"StreamSession.release needs a complete batch, got one that waits for "
                f"{self.missing} rows."
            )
        self._query = self._term = None
        self._left -= 1
        # Rounded as a whole, so that it does not matter in which pieces the rows came.
        term = self.opening.on_grid(term)
        total = self._total = term if self._total is None else self._total + term
        if prefix is not None:
            answer = self.opening.on_grid(prefix.next())
            answer += total
            return answer
        gumbel = self.opening.gumbel
        once = GumbelMechanism(gumbel.sensitivity, gumbel.noise_scale, 1)
        return once.randomize(total, self.noise)


class StreamAnswers(ABC):
    """Answers of a session whose rows are all there, as a solver sees them.

    Attributes
    ----------
    deviation : float
        Noise of the last release, see :attr:`StreamOpening.deviation`.
    """

    def __init__(self, opening: StreamOpening) -> None:
        self._opening, self.deviation = opening, opening.deviation

    @abstractmethod
    def answer(self, request: StreamRequest) -> np.ndarray:
        """The release after the next ``query.rows`` rows."""


@final
class StreamedRows(StreamAnswers):
    """A session, just opened, that takes its rows, in their order, from a store.

    Raises
    ------
    ValueError
        If the rows are not in this process, where they have an order. Nothing is read then.
    """

    def __init__(self, session: StreamSession, rows: RowStore) -> None:
        if not isinstance(rows, BlockStore):
            raise ValueError(
                "A stream needs rows that this process can read one after another, got a "
                f"{type(rows).__name__}; choose a solver for whole data sets."
            )
        super().__init__(session.opening)
        self._session, self._pieces = session, self._cut(rows)

    def answer(self, request: StreamRequest) -> np.ndarray:
        """The release after the next ``query.rows`` rows."""
        self._session.ask(request)
        while self._session.missing:
            self._session.read(next(self._pieces))
        return self._session.release()

    def _cut(self, rows: BlockStore) -> Iterator[RowStore]:
        """Rows up to the end of the open batch or of a block, whichever comes first."""
        for block in rows.blocks():
            used = 0
            while used < len(block.y):
                these = slice(used, min(used + self._session.missing, len(block.y)))
                own = None if block.weights is None else block.weights[these]
                yield rows_in_memory(block.X[these], block.y[these], own)
                used = these.stop
