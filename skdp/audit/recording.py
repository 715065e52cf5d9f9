"""Recording of one run of a program, and its replay over another data set.

A run on the first data set is recorded: every query, and every answer that was given. A replay
runs the same program over another data set, with the same public randomness; what it asks is
answered by the record, while the exact answer on its own rows is noted beside. All that happens
between answers is a function of them, so a replay has to ask the same queries in the same order,
and has to publish the same. If it does not, rows were read elsewhere than behind the oracle.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, final

import numpy as np

from ..privacy.accounting.ledger import Ledger, Spend
from ..privacy.adjacency import Adjacency
from ..privacy.bandit_sessions.arm_session import ArmSession
from ..privacy.bandit_sessions.bandit_plans import ArmMoments, Plan
from ..privacy.mechanisms import prefix_sums_by
from ..privacy.mechanisms.gumbel import GumbelMechanism
from ..privacy.mechanisms.prefix_sums import PrefixSumMechanism
from ..privacy.oracle import Oracle, PrivateOracle
from ..privacy.queries.base import Query
from ..privacy.randomness import SecretNoise, SystemNoise
from ..privacy.rows.base import ResidentRows, RowStore
from ..privacy.streams.stream_plan import StreamRequest
from ..privacy.streams.stream_session import StreamAnswers, StreamOpening
from ..problem.bandit_problem import BanditProblem
from .likelihoods import (
    Answer,
    GaussianAnswer,
    NoiseOfSums,
    VertexAnswer,
    answer_to,
)

# Makes an answer of what it comes to under each data set.
Maker = Callable[[tuple[Any, ...]], Answer]


class DivergedError(Exception):
    """A replay asked something else than was recorded."""


@final
class Tape:
    """Queries and given answers of a run, and what they come to under each data set."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, tuple[object, ...], Any]] = []
        self._makers: list[Maker] = []
        self._sides: list[list[Any]] = [[]]
        self._at = 0
        self.streams: set[str] = set()
        self.recording = True
        self.divergence: str | None = None

    def rewind(self) -> None:
        """Begin the replay of another data set."""
        self._sides.append([])
        self._at, self.recording, self.divergence = 0, False, None

    def forget(self) -> None:
        """Drop the replay that was begun last."""
        self._sides.pop()

    def finish(self) -> None:
        """End a replay, which has to have asked for all that was recorded."""
        if not self.recording and self.divergence is None and self._at < len(self.asked):
            name = self.asked[self._at][0]
            self.divergence = f"it ends before query {self._at + 1}, {name}"

    def exchange(self, name: str, facts: tuple[object, ...], answer: Callable[[], Any]) -> Any:
        """The answer to a query: a fresh one that is recorded, or that of the record."""
        if self.recording:
            self.asked.append((name, facts, answer()))
            return _copy(self.asked[-1][2])
        recorded, before, given = (
            self.asked[self._at] if self._at < len(self.asked) else ("no query", (), None)
        )
        if recorded != name:
            self.divergence = f"query {self._at + 1} is {name} in place of {recorded}"
        elif differences(before, facts):
            self.divergence = f"query {self._at + 1}, {name}, has another public content"
        if self.divergence is not None:
            raise DivergedError(self.divergence)
        self._at += 1
        return _copy(given)

    def note(self, maker: Maker, side: Any) -> None:
        """Note what the last answer is made of under the present data set."""
        if self.recording:
            self._makers.append(maker)
        self._sides[-1].append(side)

    def note_choice(
        self, mechanism: GumbelMechanism, given: np.ndarray, scores: np.ndarray
    ) -> None:
        """Note the scores behind a choice."""
        self.note(lambda sides: VertexAnswer(sides, given, mechanism), scores)

    def note_sums(
        self,
        mechanism: PrefixSumMechanism,
        noise_scale: float,
        given: list[np.ndarray],
        exact: list[np.ndarray],
    ) -> None:
        """Note the running sums of a stream, in lists that grow with it."""

        def make(sides: tuple[list[np.ndarray], ...]) -> GaussianAnswer:
            stacked = tuple(np.stack(side) for side in sides)
            return NoiseOfSums(mechanism, noise_scale).answer(stacked, np.stack(given))

        self.note(make, exact)

    def answers(self) -> list[Answer]:
        """All answers, under all data sets in the order in which they were replayed."""
        sides = list(zip(*self._sides, strict=True))
        return [make(side) for make, side in zip(self._makers, sides, strict=True)]


@final
class TapedOracle(Oracle):
    """A private oracle whose answers are recorded, or one that gives recorded answers."""

    def __init__(self, rows: RowStore, ledger: Ledger, adjacency: Adjacency, tape: Tape) -> None:
        super().__init__(ledger, adjacency)
        # Whatever the seed: whoever audits with a seed audits the seed.
        self._inner = PrivateOracle(rows, ledger, adjacency, SystemNoise())
        self._rows, self._tape = rows, tape

    def _release(self, query: Query, spend: Spend) -> np.ndarray:
        mechanism = query.mechanism(self._adjacency, spend)
        event = mechanism.event(query.name)
        facts = (query.public(), *self._sample, spend.amount, event)
        inner = self._passed_to(self._inner)
        given = self._tape.exchange(query.name, facts, lambda: inner._release(query, spend))
        if not self._tape.recording:
            self._ledger.charge(event)
        rows = self._of(self._rows)
        self._tape.note(partial(answer_to, query, mechanism, given.copy()), rows)
        return given

    def _open(self, opening: StreamOpening) -> StreamAnswers:
        inner = None
        if self._tape.recording:
            inner = self._inner._open(opening)
        else:
            self._ledger.charge(opening.event)
        return _TapedAnswers(opening, inner, self._rows, self._tape)


@final
class _TapedAnswers(StreamAnswers):
    def __init__(
        self, opening: StreamOpening, inner: StreamAnswers | None, rows: RowStore, tape: Tape
    ) -> None:
        super().__init__(opening)
        self._inner, self._rows, self._tape = inner, rows, tape
        self._start, self._total = 0, np.zeros(())
        self._exact: list[np.ndarray] = []
        self._given: list[np.ndarray] = []
        plan = opening.plan
        tape.streams.add(opening.event.query)
        tape.exchange("stream", (plan, opening.event), lambda: None)
        if not plan.chooses_vertices:
            tape.note_sums(opening.sums, opening.noise_scale, self._given, self._exact)

    def answer(self, request: StreamRequest) -> np.ndarray:
        query = self._opening.query(request)

        def fresh() -> np.ndarray:
            assert self._inner is not None
            return self._inner.answer(request)

        given = self._tape.exchange(query.name, (request.rows, query.public()), fresh)
        start, self._start = self._start, self._start + request.rows
        assert isinstance(self._rows, ResidentRows)
        with np.errstate(all="ignore"):
            self._total = self._total + query.evaluate(self._rows.part(start, self._start))
        if self._opening.plan.chooses_vertices:
            of_all = self._opening.gumbel
            once = GumbelMechanism(of_all.sensitivity, of_all.noise_scale, 1)
            self._tape.note_choice(once, given.copy(), self._total)
        else:
            self._exact.append(self._total)
            self._given.append(given.copy())
        return given


def _copy(given: Any) -> Any:
    return given.copy() if isinstance(given, np.ndarray) else given


@final
class TapedSession:
    """A private session whose answers are recorded, or one that gives recorded answers.

    Beside it there is a twin, which is given the same rows, for exact sums.
    """

    def __init__(
        self,
        plan: Plan,
        problem: BanditProblem,
        ledger: Ledger,
        adjacency: Adjacency,
        noise: SecretNoise,
        *,
        tape: Tape,
    ) -> None:
        del noise
        # Without a record to make it is only charged, and says where in the plan the run is.
        self._inner = ArmSession(plan, problem, ledger, adjacency, SystemNoise())
        self._twin = ArmSession(plan, problem, ledger.anew(), adjacency, SystemNoise())
        self._plan, self._tape = plan, tape
        self._exact: list[np.ndarray] = []
        self._given: list[np.ndarray] = []

    def __getattr__(self, name: str) -> Any:
        # Public facts: where in the plan the run is.
        return getattr(self._inner, name)

    def add(self, *rows: Any) -> None:
        """Take the rows of some more users."""
        for session in (self._inner, self._twin):
            session.add(*rows)

    def close(self) -> None:
        """Go on to the next block."""
        for session in (self._inner, self._twin):
            session.close()

    def ask(self, *at: np.ndarray) -> Any:
        """The answer of the private session."""
        inner = self._inner
        # Its noise goes on from block to block, and so do the sums of its twin.
        fresh, exact = inner.ask(*at), self._twin._sums(*at).copy()
        given = self._tape.exchange(self._plan.releases, tuple(w.copy() for w in at), lambda: fresh)
        plan = self._plan
        if plan.chooses:
            # One choice for each arm.
            once = GumbelMechanism(1.0, inner.scale, 1)
            for arm, sums in enumerate(exact):
                self._tape.note_choice(once, given[[arm]], np.concatenate([-sums, sums]))
        elif plan.running:
            if not self._given:
                mechanism = prefix_sums_by(plan.mechanism, len(plan.ends))
                first = float(np.sqrt(mechanism.variances(np.array([1]))[0]))
                scale = float(inner.scale) / first
                self._tape.note_sums(mechanism, scale, self._given, self._exact)
            self._exact.append(exact)
            self._given.append(given.packed if isinstance(given, ArmMoments) else given[0])
        else:
            # Rows are there until the block is closed.
            n, of_sum, kept = len(inner._users()[0]), inner._mechanism, given.copy()
            of_mean = replace(
                of_sum, sensitivity=of_sum.sensitivity / n, noise_scale=of_sum.noise_scale / n
            )
            self._tape.note(lambda sides: GaussianAnswer(sides, kept, of_mean), exact / n)
        return given


def differences(first: Any, second: Any, name: str = "") -> list[str]:
    """Names of the parts in which two objects differ; of objects, what a pickle would hold.

    Sources of randomness are left out.
    """
    found: list[str] = []
    _compare(first, second, name, found, {})
    return found


def _compare(
    a: Any, b: Any, name: str, found: list[str], seen: dict[tuple[int, int], tuple[Any, Any]]
) -> None:
    if a is b or (id(a), id(b)) in seen:
        return
    # The objects themselves, too: others could come to lie where they have been.
    seen[id(a), id(b)] = a, b
    if isinstance(a, SecretNoise | np.random.Generator | np.random.RandomState):
        return
    if type(a) is not type(b):
        found.append(f"{name} ({type(a).__name__} or {type(b).__name__})")
    elif isinstance(a, np.ndarray) and a.dtype != object:
        if a.dtype != b.dtype or a.shape != b.shape or a.tobytes() != b.tobytes():
            found.append(name)
    elif isinstance(a, np.ndarray):
        _compare((a.shape, a.tolist()), (b.shape, b.tolist()), name, found, seen)
    elif isinstance(a, Mapping):
        if list(a) != list(b):
            found.append(f"names in {name}")
        for key in a:
            if key in b:
                part = f"{name}.{key}" if isinstance(key, str) else f"{name}[{key!r}]"
                _compare(a[key], b[key], part.lstrip("."), found, seen)
    elif isinstance(a, list | tuple):
        if len(a) != len(b):
            found.append(f"length of {name}")
        for k, (one, other) in enumerate(zip(a, b, strict=False)):
            _compare(one, other, f"{name}[{k}]", found, seen)
    elif isinstance(a, float | np.floating):
        if a != b and not (np.isnan(a) and np.isnan(b)):
            found.append(name)
    elif isinstance(a, str | bytes | int | complex | np.generic | frozenset | set | slice | type):
        if a != b:
            found.append(name)
    else:
        states = [_state(a), _state(b)]
        if states[0] is not None or states[1] is not None:
            _compare(states[0], states[1], name, found, seen)


def _state(part: Any) -> Any:
    """State that a pickle would hold; None of an object that cannot be pickled."""
    try:
        return part.__getstate__()
    except (AttributeError, TypeError):
        return None
