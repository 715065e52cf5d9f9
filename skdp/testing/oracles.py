"""Oracles for tests: one that records, one that replays without rows, one without noise."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TypeAlias, final

import numpy as np

from ..privacy.accounting.events import NonPrivateEvent
from ..privacy.accounting.ledger import Ledger, Spend
from ..privacy.adjacency import Adjacency
from ..privacy.mechanisms.gaussian import GaussianMechanism
from ..privacy.mechanisms.gumbel import GumbelMechanism
from ..privacy.mechanisms.sampled_gaussian import SampledGaussian
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


@dataclass
class Transcript:
    """Queries with their prices, and the answers they got.

    Parameters
    ----------
    entries : list of tuple
        ``(name, public content, price, answer)`` of each exchange, in order.
    """

    entries: list[tuple[str, tuple[object, ...], float, np.ndarray]] = field(default_factory=list)

    def add(self, query: Query, spend: Spend, answer: np.ndarray) -> None:
        """Append one exchange."""
        self.entries.append((query.name, query.public(), spend.amount, answer.copy()))


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
        answer = self._inner._release(query, spend)
        self._transcript.add(query, spend, answer)
        return answer.copy()

    def _open(self, opening: StreamOpening) -> StreamAnswers:
        entries = self._transcript.entries
        inner = self._inner._open(opening)
        entries.append(("stream", public_of(opening), opening.spend.amount, np.empty(0)))
        return RecordedAnswers(opening, inner, entries)


@final
class ReplayOracle(Oracle):
    """Answers from a transcript. It holds no rows at all.

    Parameters
    ----------
    ledger : Ledger
        Charged as in the recorded run.
    adjacency : Adjacency
        As in the recorded run.
    transcript : Transcript
        The answers, in order.

    Raises
    ------
    AssertionError
        If a query differs from the recorded one in kind, content or price.
    """

    def __init__(self, ledger: Ledger, adjacency: Adjacency, transcript: Transcript) -> None:
        super().__init__(ledger, adjacency)
        self._coming = iter(transcript.entries)

    def finished(self) -> bool:
        """True if every recorded answer was asked for."""
        return next(self._coming, None) is None

    def _release(self, query: Query, spend: Spend) -> np.ndarray:
        name, public, amount, answer = next(self._coming, ("nothing", (), 0.0, np.empty(0)))
        assert query.name == name, f"asked for {query.name} where {name} was recorded"
        assert spend.amount == amount, f"{name} was given another price than recorded"
        same = all(np.array_equal(a, b) for a, b in zip(query.public(), public, strict=True))  # type: ignore[arg-type]
        assert same, f"{name} was asked with another content than recorded"
        mechanism = query.mechanism(self._adjacency, spend)
        self._ledger.charge(mechanism.event(query.name))
        return answer.copy()

    def _open(self, opening: StreamOpening) -> StreamAnswers:
        name, public, amount, _ = next(self._coming, ("nothing", (), 0.0, np.empty(0)))
        assert name == "stream", f"opened a stream where {name} was recorded"
        assert public == public_of(opening), "opened another stream than recorded"
        assert opening.spend.amount == amount, "gave the stream another price than recorded"
        self._ledger.charge(opening.event)
        return ReplayedAnswers(opening, self._coming)


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
        exact = query.evaluate(self._rows)
        if isinstance(query, CategoryCountsQuery):
            return query.named(self._rows, mechanism.randomize(exact, _Silence()))
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


Entry: TypeAlias = tuple[str, tuple[object, ...], float, np.ndarray]


def public_of(opening: StreamOpening) -> tuple[object, ...]:
    """Public declarations about a stream, for transcripts."""
    plan = opening.plan
    return (plan.releases, plan.clip, plan.mechanism)


@final
class RecordedAnswers(StreamAnswers):
    """Passes queries on and appends each exchange to a transcript.

    Parameters
    ----------
    opening : StreamOpening
        What was declared.
    inner : StreamAnswers
        Answers.
    entries : list of tuple
        Where exchanges are recorded.
    """

    def __init__(self, opening: StreamOpening, inner: StreamAnswers, entries: list[Entry]) -> None:
        super().__init__(opening)
        self._inner = inner
        self._entries = entries

    def answer(self, request: StreamRequest) -> np.ndarray:
        """The answer of the inner one."""
        answer = self._inner.answer(request)
        query = self._opening.query(request)
        public = (request.rows, *query.public())
        self._entries.append((query.name, public, 0.0, answer.copy()))
        return answer.copy()


@final
class ReplayedAnswers(StreamAnswers):
    """Answers from a transcript. It holds no rows at all.

    Parameters
    ----------
    opening : StreamOpening
        What was declared.
    coming : iterator of tuple
        The recorded exchanges from here on.

    Raises
    ------
    AssertionError
        If a query differs from the recorded one in content or size.
    """

    def __init__(self, opening: StreamOpening, coming: Iterator[Entry]) -> None:
        super().__init__(opening)
        self._coming = coming

    def answer(self, request: StreamRequest) -> np.ndarray:
        """The recorded answer."""
        name, public, _, answer = next(self._coming, ("nothing", (), 0.0, np.empty(0)))
        query = self._opening.query(request)
        assert query.name == name, f"asked a stream where {name} was recorded"
        asked = (request.rows, *query.public())
        same = all(np.array_equal(a, b) for a, b in zip(asked, public, strict=True))  # type: ignore[arg-type]
        assert same, "a batch was asked with another content than recorded"
        return answer.copy()
