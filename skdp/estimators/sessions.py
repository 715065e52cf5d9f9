"""Secret state that goes from one call of ``partial_fit`` to the next, never published."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from copy import copy
from dataclasses import replace
from functools import partial
from math import ceil
from typing import TYPE_CHECKING, Any, ClassVar, final

import numpy as np

from ..privacy.accounting.gdp import mu
from ..privacy.accounting.ledger import Ledger
from ..privacy.adjacency import Adjacency
from ..privacy.lock import ProcessGuard
from ..privacy.randomness import SecretNoise, public_generator, secret_noise
from ..privacy.rows.base import ResidentRows
from ..privacy.rows.buffer import RowBuffer
from ..privacy.rows.call_digests import SeenCalls
from ..problem.penalties import Penalty
from ..problem.problem import Problem
from ..report.receipts import SpendBound
from ..solvers import Blocks, Solution
from ..solvers.streaming import StreamingSolver
from ..validation import shown
from .announcements import announce_release
from .auto import FitPlan, choose_for_stream, plan_stream
from .stream import Stream

if TYPE_CHECKING:
    from .base import PrivateLinearModel

__all__ = ["BatchSession", "BlockSession", "Session", "StreamingSession", "open_session"]

# A bound that is sought privately takes this many rows over mu to be seen.
_TO_FIND_BOUNDS = 200.0


class Session(ABC):
    """Goes on from call to call, and holds what pickles must not: noise, and maybe rows.

    Parameters
    ----------
    noise : SecretNoise
        Source of the noise of all calls.
    public_rng : Generator
        Public randomness of all calls.

    Attributes
    ----------
    guard : ProcessGuard
        The process in which ``feed`` may be called.
    claim : SpendBound or None
        The most that any part may spend; None before a part was planned.
    calls : SeenCalls
        Which calls have come.
    """

    # Whether rows of several calls are answered together: one after another they cost less.
    shared: ClassVar[bool]

    def __init__(self, noise: SecretNoise, public_rng: np.random.Generator) -> None:
        self.noise = noise
        self.public_rng = public_rng
        self.guard = ProcessGuard()
        self.claim: SpendBound | None = None
        self.calls = SeenCalls()

    @final
    def set_aside(self, model: PrivateLinearModel, ledger: Ledger) -> None:
        """Set aside what a part may spend, before it is asked about, once for all parts."""
        self.claim = SpendBound.of_ledger(ledger, Adjacency(model.adjacency))
        model._charge(self.claim)

    @abstractmethod
    def feed(self, model: PrivateLinearModel, rows: ResidentRows) -> None:
        """Take the rows of one call, and publish what they bring about."""

    @abstractmethod
    def resume(self) -> None:
        """Go on after a checkpoint was loaded: hand the noise to what could not take it along."""


@final
class BatchSession(Session):
    """Each call is a data set of its own, fitted from the model so far with the whole budget."""

    shared: ClassVar[bool] = False

    def feed(self, model: PrivateLinearModel, rows: ResidentRows) -> None:
        """Fit the rows of one call."""
        released = model._progress.released
        found = None if released is None else released.bounds
        facts: dict[str, Any] = {"weighted": rows.weighted, "origin": released, "found": found}
        plan = model._plan(rows.n_samples, rows.sparse, **facts)
        ledger = plan.ledger()
        self.set_aside(model, ledger)
        model._progress.seen += rows.n_samples
        opened = rows, plan, ledger, self.noise, self.public_rng, rows.X.dtype
        model._fit_part(*opened, origin=released)

    def resume(self) -> None:
        """Nothing is missing."""


@final
class BlockSession(Session):
    """Rows are kept until the open block is full, and then fitted as one data set.

    Parameters
    ----------
    solver : Blocks
        Where to cut.
    noise : SecretNoise
        Source of the noise of all calls.
    public_rng : Generator
        Public randomness of all calls.
    least : int
        Least number of rows of the first block.
    horizon : int or None
        Declared number of rows.
    sparse : bool
        Whether rows are kept sparsely.
    """

    shared: ClassVar[bool] = True

    def __init__(
        self,
        solver: Blocks,
        noise: SecretNoise,
        public_rng: np.random.Generator,
        *,
        least: int,
        horizon: int | None,
        sparse: bool,
    ) -> None:
        super().__init__(noise, public_rng)
        self._solver, self._least, self._horizon = solver, least, horizon
        self._sparse = sparse
        self._seen = 0
        self._buffer: RowBuffer | None = None
        self._cut = self._next_cut()

    def feed(self, model: PrivateLinearModel, rows: ResidentRows) -> None:
        """Keep the rows of one call, and fit the blocks that they fill, in order."""
        taken = 0
        while taken < rows.n_samples:
            # A call that was interrupted may have left a block that is full.
            if self._seen == self._cut:
                self._close(model)
            stop = min(rows.n_samples, taken + self._cut - self._seen)
            chunk = rows if stop - taken == rows.n_samples else rows.part(taken, stop)
            self._seen += stop - taken
            model._progress.seen += stop - taken
            taken = stop
            if self._buffer is None:
                self._buffer = RowBuffer(rows.n_features, self._sparse)
            self._buffer.append(chunk)
        if self._seen == self._cut:
            self._close(model)

    def resume(self) -> None:
        """Nothing is missing."""

    def _close(self, model: PrivateLinearModel) -> None:
        # Whatever happens now, these rows are not asked about again.
        held, self._buffer, self._cut = self._buffer, None, self._next_cut()
        if held is not None and held.n_samples:
            self._close_block(model, held.rows())

    def _close_block(self, model: PrivateLinearModel, block: ResidentRows) -> None:
        released = model._progress.released
        origin = released if self._solver.warm else None
        facts: dict[str, Any] = {"weighted": block.weighted, "block": True, "origin": origin}
        facts["found"] = None if released is None else released.bounds
        try:
            plan = model._plan(block.n_samples, block.sparse, **facts)
            ledger = plan.ledger()
            self.set_aside(model, ledger)
        except BaseException:
            model._progress.parts.skip(block.n_samples)
            raise
        opened = block, plan, ledger, self.noise, self.public_rng, block.X.dtype
        model._fit_part(*opened, origin=origin)

    def _next_cut(self) -> int:
        return self._solver.cut_after(self._seen, least=self._least, horizon=self._horizon)


@final
class StreamingSession(Session):
    """A streaming solver reads each row once, in the call that brings it.

    Parameters
    ----------
    stream : Stream
        Paid for, before the first row.
    plan : FitPlan
        What it was opened by.
    problem : Problem
        What it solves.
    noise : SecretNoise
        Source of its noise.
    public_rng : Generator
        Public randomness of all calls.
    """

    shared: ClassVar[bool] = True

    def __init__(
        self,
        stream: Stream,
        plan: FitPlan,
        problem: Problem,
        noise: SecretNoise,
        public_rng: np.random.Generator,
    ) -> None:
        super().__init__(noise, public_rng)
        self._stream, self._plan, self._problem = stream, plan, problem
        self._latest: Solution | None = None
        self._receipts = 0

    def feed(self, model: PrivateLinearModel, rows: ResidentRows) -> None:
        """Let the solver read the rows of one call."""
        progress = model._progress
        others = progress.seen - self._stream.seen
        self.note_charges(model)
        # Should something come between reading and counting, no row is passed in again.
        progress.seen += rows.n_samples
        try:
            self._stream.feed(rows)
        finally:
            progress.seen = others + self._stream.seen
            self.note_charges(model)
        solution = self._stream.solution
        if solution is not self._latest:
            self._latest = solution
            problem = self._problem
            model._release(self._plan, problem, problem.bounds, solution, rows.X.dtype)
            announce_release(model)

    def resume(self) -> None:
        """Give the stream its noise."""
        self._stream.resume(self.noise)

    def note_charges(self, model: PrivateLinearModel) -> None:
        """Put on the receipt what has been charged since it was last written."""
        receipts = self._stream.receipts
        for length, ledger in receipts[self._receipts :]:
            model._progress.parts.add(length, ledger)
        if len(receipts) > self._receipts:
            self._receipts = len(receipts)
            model._publish_receipt()


def open_session(model: PrivateLinearModel, rows: ResidentRows) -> tuple[Session, bool]:
    """The session for a stream, by the model's parameters and public facts of its first call.

    Parameters
    ----------
    model : estimator
        Its parameters are valid, and targets are known how to encode.
    rows : ResidentRows
        Of the first call; only their kind and numbers are used.

    Returns
    -------
    session : Session
        Before the first row.
    secretive : bool
        Whether the stream cannot go on without it.

    Raises
    ------
    ValueError
        If the parameters do not go together with a stream.
    """
    name = type(model).__name__
    outline = model._outline(rows.n_samples, rows.sparse, rows.weighted)
    solver = choose_for_stream(model.solver, outline, buffer=model.buffer)
    if isinstance(solver, StreamingSolver):
        return _streaming(model, solver, rows), True
    if not isinstance(solver, Blocks):
        model._plan(rows.n_samples, rows.sparse, weighted=rows.weighted)
        return BatchSession(secret_noise(model.random_state), _public_rng(model)), False
    if not model.buffer:
        raise ValueError(
            f"{name} needs buffer=True for the solver 'blocks', which keeps the rows of a block "
            "until it is full, got buffer=False. Use the solver 'ftrl', which keeps none."
        )
    solver.check(outline)
    of_budget = mu(model.epsilon, model.delta)
    least = solver.least(outline, of_budget)
    if model._progress.released is None and solver.first is None and model._bounds_to_find:
        least = max(least, ceil(_TO_FIND_BOUNDS / of_budget))
    horizon = model.horizon
    first = solver.cut_after(0, least=least, horizon=horizon)
    model._plan(first, rows.sparse, weighted=rows.weighted)
    noise = secret_noise(model.random_state)
    session = BlockSession(
        copy(solver), noise, _public_rng(model), least=least, horizon=horizon, sparse=rows.sparse
    )
    return session, True


def _public_rng(model: PrivateLinearModel) -> np.random.Generator:
    return public_generator(model.random_state)


def _streaming(
    model: PrivateLinearModel, solver: StreamingSolver, rows: ResidentRows
) -> StreamingSession:
    name, option = type(model).__name__, solver.option()
    released = model._progress.released
    if released is None and model._bounds_to_find:
        raise ValueError(
            f"{name} needs all bounds of rows and targets for the solver {option!r}, which cannot "
            "look for them in rows that are yet to come. Pass data_norm, and target_bounds for a "
            "regressor."
        )
    if model.precondition not in (None, "auto"):
        raise ValueError(
            f"{name} needs precondition=None for a stream with the solver {option!r}, got "
            f"{shown(model.precondition)}."
        )
    if getattr(model, "class_weight", None) == "balanced":
        raise ValueError(
            f"{name} needs public class weights for a stream with the solver {option!r}, got "
            "class_weight='balanced', which takes counts of rows that are yet to come."
        )
    bounds = model._given_bounds() if released is None else released.bounds
    # Of the number of rows only the penalty depends.
    stated = partial(copy(model)._stated, bounds=bounds, sparse=rows.sparse, weighted=rows.weighted)
    problem = stated(model.horizon or 1)
    if released is not None:
        start = problem.from_user_coordinates(released.coef, released.intercept)
        problem = replace(problem, initial=start)
    solver.check(problem)
    plan = plan_stream(model, problem, solver, weighted=rows.weighted)
    ledger, adjacency = plan.ledger(), plan.adjacency
    noise = secret_noise(model.random_state)
    public_rng = _public_rng(model)
    penalty = partial(_penalty, stated)
    claim = SpendBound.of_ledger(ledger, adjacency)
    model._charge(claim)
    stream = Stream(problem, solver, ledger, adjacency, noise, public_rng, model.horizon, penalty)
    session = StreamingSession(stream, plan, problem, noise, public_rng)
    session.claim = claim
    return session


def _penalty(stated: Callable[[int], Problem], n_samples: int) -> Penalty:
    return stated(n_samples).penalty
