"""Oracles for tests: one that records, one that replays without rows, one without noise."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any, TypeAlias, final

import numpy as np

from ..privacy.accounting.events import NonPrivateEvent
from ..privacy.accounting.ledger import Ledger, Spend
from ..privacy.adjacency import Adjacency
from ..privacy.mechanisms.gaussian import GaussianMechanism, SampledGaussian
from ..privacy.mechanisms.gumbel import GumbelMechanism
from ..privacy.oracle import Oracle, PrivateOracle
from ..privacy.queries.base import Query
from ..privacy.queries.categories import CategoryCountsQuery
from ..privacy.randomness import SecretNoise
from ..privacy.rows.base import RowStore
from ..privacy.streams.stream_plan import StreamRequest
from ..privacy.streams.stream_session import (
    StreamAnswers,
    StreamedRows,
    StreamOpening,
    StreamSession,
)

Entry: TypeAlias = tuple[str, tuple[object, ...], float, Any]


@dataclass
class Transcript:
    """Queries with their prices, and the answers they got.

    Parameters
    ----------
    entries : list of tuple
        ``(name, public content, price, answer)`` of each exchange, in order; within a stream and
        within the run of a bandit, which are paid for at their start, the price is 0.
    """

    entries: list[Entry] = field(default_factory=list)

    def add(self, name: str, public: tuple[object, ...], price: float, answer: Any) -> Any:
        """Append one exchange with a copy of the answer, and return the answer."""
        self.entries.append((name, public, price, deepcopy(answer)))
        return answer

    def __iter__(self) -> Iterator[Entry]:
        return iter(self.entries)


def expected(coming: Iterator[Entry], name: str, public: tuple[object, ...], price: float) -> Any:
    """The recorded answer to what is asked.

    Raises
    ------
    AssertionError
        If it differs from what was recorded in kind, content or price.
    """
    recorded, content, paid, answer = next(coming, ("nothing", (), 0.0, None))
    assert name == recorded, f"asked for {name} where {recorded} was recorded"
    assert price == paid, f"{name} was given another price than recorded"
    same = len(public) == len(content) and all(
        np.array_equal(a, b)  # type: ignore[arg-type]
        for a, b in zip(public, content, strict=True)
    )
    assert same, (
        f"{name} was asked with another content than recorded; what is drawn, as the rows that a "
        "fit starts on, takes the random_state of the recorded run to be drawn again"
    )
    return deepcopy(answer)


@final
class RecordingOracle(Oracle):
    """A private oracle that writes down what it is asked and what it answers.

    Parameters
    ----------
    rows, ledger, adjacency, noise
        As for :class:`~skdp.privacy.oracle.PrivateOracle`.
    transcript : Transcript
        Where exchanges are recorded.
    """

    def __init__(
        self,
        rows: RowStore,
        ledger: Ledger,
        adjacency: Adjacency,
        noise: SecretNoise,
        transcript: Transcript,
    ) -> None:
        super().__init__(ledger, adjacency)
        self._inner = PrivateOracle(rows, ledger, adjacency, noise)
        self._transcript = transcript

    def _release(self, query: Query, spend: Spend) -> np.ndarray:
        answer = self._passed_to(self._inner)._release(query, spend)
        public = (*query.public(), *self._sample)
        found: np.ndarray = self._transcript.add(query.name, public, spend.amount, answer)
        return found

    def _open(self, opening: StreamOpening) -> StreamAnswers:
        inner, transcript = self._inner._open(opening), self._transcript
        transcript.add("stream", _public_of(opening), opening.spend.amount, np.empty(0))

        def answer(request: StreamRequest, query: Query) -> Any:
            public = (request.rows, *query.public())
            return transcript.add(query.name, public, 0.0, inner.answer(request))

        return _Answers(opening, answer)


@final
class ReplayOracle(Oracle):
    """Answers from a transcript. It holds no rows at all.

    Parameters
    ----------
    ledger : Ledger
        Charged as in the recorded run.
    adjacency : Adjacency
        As in the recorded run.
    transcript : Transcript or iterator over one
        The answers, in order. Oracles of one run share an iterator.

    Raises
    ------
    AssertionError
        If a query differs from the recorded one in kind, content or price.
    """

    def __init__(self, ledger: Ledger, adjacency: Adjacency, transcript: Iterable[Entry]) -> None:
        super().__init__(ledger, adjacency)
        self._coming = iter(transcript)

    def finished(self) -> bool:
        """True if every recorded answer was asked for."""
        return next(self._coming, None) is None

    def _release(self, query: Query, spend: Spend) -> np.ndarray:
        public = (*query.public(), *self._sample)
        found: np.ndarray = expected(self._coming, query.name, public, spend.amount)
        self._ledger.charge(query.mechanism(self._adjacency, spend).event(query.name))
        return found

    def _open(self, opening: StreamOpening) -> StreamAnswers:
        coming = self._coming
        expected(coming, "stream", _public_of(opening), opening.spend.amount)
        self._ledger.charge(opening.event)

        def answer(request: StreamRequest, query: Query) -> Any:
            return expected(coming, query.name, (request.rows, *query.public()), 0.0)

        return _Answers(opening, answer)


@final
class _Answers(StreamAnswers):
    """Answers about a stream, by a function of each request and its query."""

    def __init__(
        self, opening: StreamOpening, answered: Callable[[StreamRequest, Query], Any]
    ) -> None:
        super().__init__(opening)
        self._answered = answered

    def answer(self, request: StreamRequest) -> np.ndarray:
        found: np.ndarray = self._answered(request, self._opening.query(request))
        return found


def _public_of(opening: StreamOpening) -> tuple[object, ...]:
    """Public declarations about a stream."""
    plan = opening.plan
    return (plan.releases, plan.clip, plan.mechanism)


@final
class ExactOracle(Oracle):
    """Answers without noise, for debugging, and says so on its receipt.

    Parameters
    ----------
    rows : RowStore
        The data.
    ledger : Ledger
        Gives the nominal budget that a solver plans with; charged as if noise were added.
    adjacency : Adjacency
        Neighbouring relation.
    receipt : Ledger
        A ledger of infinite epsilon, charged with a non-private event for every answer.
    """

    def __init__(
        self, rows: RowStore, ledger: Ledger, adjacency: Adjacency, receipt: Ledger
    ) -> None:
        super().__init__(ledger, adjacency)
        self._rows = rows
        self._receipt = receipt

    def _release(self, query: Query, spend: Spend) -> np.ndarray:
        mechanism = query.mechanism(self._adjacency, spend)
        self._ledger.charge(mechanism.event(query.name))
        self._receipt.charge(NonPrivateEvent(query=query.name))
        rows = self._of(self._rows)
        exact = query.evaluate(rows)
        if isinstance(query, CategoryCountsQuery):
            return query.named(rows, mechanism.randomize(exact, _Silence()))
        if isinstance(mechanism, GaussianMechanism | SampledGaussian):
            return exact
        if isinstance(mechanism, GumbelMechanism):
            return mechanism.best(exact)
        return mechanism.randomize(exact, _Silence())

    def _open(self, opening: StreamOpening) -> StreamAnswers:
        session = StreamSession(opening, self._ledger, _Silence())
        self._receipt.charge(NonPrivateEvent(query=opening.event.query))
        return StreamedRows(session, self._rows)


class _Silence(SecretNoise):
    """No noise: what a mechanism publishes is then the exact answer."""

    def normal(self, shape: int | tuple[int, ...]) -> np.ndarray:
        return np.zeros(shape)

    def gumbel(self, shape: int | tuple[int, ...]) -> np.ndarray:
        return np.zeros(shape)

    def chosen(self, size: int, rate: float) -> np.ndarray:
        """All."""
        del rate
        return np.ones(size, dtype=bool)
