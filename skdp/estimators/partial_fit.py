"""``partial_fit``: streams of rows, and what goes on from one call to the next."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable
from copy import copy
from dataclasses import replace
from functools import partial
from math import ceil, isinf, sqrt
from typing import Any, TypeVar, final

import numpy as np
from sklearn.utils.validation import validate_data

from ..exceptions import warn_user
from ..federated import DaskSites
from ..privacy.accounting.calculus import GaussianDP, ZeroConcentratedDP
from ..privacy.adjacency import Adjacency, PrivacyUnit
from ..privacy.lock import ProcessGuard, run_locked
from ..privacy.oracle_factory import Opened, PrivateSession
from ..privacy.randomness import public_generator
from ..privacy.rows.base import ResidentRows
from ..privacy.rows.buffer import RowBuffer
from ..privacy.rows.chunked import Chunks
from ..privacy.rows.dask_rows import is_collection
from ..privacy.rows.privacy_units import PrivacyUnits
from ..privacy.rows.reading import columns_of, in_order, redacted
from ..privacy.rows.row_stores import resident_rows
from ..privacy.streams.stream import Call, Stream
from ..privacy.streams.visits import CallOfUnits, Visits, epsilon_of_share
from ..problem.penalties import Penalty
from ..problem.problem import Problem
from ..reporting.budget_warnings import warn_of_promise, warn_of_rows
from ..reporting.open_budgets import RUN, reservation_for
from ..reporting.receipts import SpendBound
from ..solvers import Blocks, Solution
from ..solvers.streaming import StreamingSolver
from ..validation import check_parameters, shown, telling_sizes
from .announcements import announce_release
from .base import PrivateLinearModel
from .choices import choose_for_stream, planned_mu, settled_calculus
from .fit_plan import FitPlan, plan_stream
from .opening import ACCEPTED
from .progress import Progress, Released, declared_disjoint

Model = TypeVar("Model", bound=PrivateLinearModel)

# A bound that is sought privately takes this many rows over mu to be seen.
_TO_FIND_BOUNDS = 200.0


def advance(
    model: Model, X: Any, y: Any, classes: Any, sample_weight: Any, privacy_unit: Any
) -> Model:
    """Take the rows of one call of ``partial_fit``, when the calls before have ended.

    Parameters
    ----------
    model : estimator
        Whose method was called.
    X, y, classes, sample_weight, privacy_unit
        As passed to it.
    """
    given = X, y, classes, sample_weight, privacy_unit
    run_locked(model, "partial_fit", _advance, model, *given, waits=True)
    return model


def _advance(
    model: PrivateLinearModel, X: Any, y: Any, classes: Any, sample_weight: Any, units: Any
) -> None:
    """Go on with the stream, or begin one."""
    session, progress = vars(model).get("_session"), vars(model).get("_progress")
    if progress is not None:
        progress.check_unchanged(model)
    if session is None or not session.guard.in_own_process:
        _begin(model, X, y, classes, sample_weight, units)
        return
    _check_units(model, units, named=session.visits is not None)
    _charge(model, session.claim)
    facts = {"weighted": model._progress.weighted, "first": False}
    _feed(model, session, _open_call(model, X, y, classes, sample_weight, units, **facts))


def _begin(
    model: PrivateLinearModel, X: Any, y: Any, classes: Any, sample_weight: Any, units: Any
) -> None:
    """Begin a stream, or go on with one whose session did not travel with it."""
    before, earlier = vars(model).copy(), vars(model).get("_progress")
    if earlier is not None and earlier.secretive:
        raise ValueError(
            f"{type(model).__name__} needs the secret state of its stream to go on, which "
            "copies, pickles and forked processes leave behind. Take the state along with "
            "skdp.save_checkpoint and skdp.load_checkpoint, or call fit to start anew."
        )
    try:
        check_parameters(model)
        _check_units(model, units, named=units is not None or model.max_visits > 1)
        if units is not None and earlier is not None:
            raise ValueError(
                f"{type(model).__name__} needs privacy_unit=None to go on from rows that it has "
                "been given before, because nobody has counted how often persons were among them. "
                "Call partial_fit of a clone."
            )
        model._declare(model.horizon)
        if earlier is not None and not (earlier.streaming or declared_disjoint(model)):
            # The rows of the stream may be those of the fit: a run of its own.
            model.__dict__.pop(RUN, None)
        unit = PrivacyUnit.ROW if units is None else PrivacyUnit.DECLARED
        _charge(model, None, unit=unit)
        first, weighted = earlier is None, sample_weight is not None
        if earlier is not None and earlier.streaming:
            weighted = earlier.weighted
        rows = _open_call(
            model, X, y, classes, sample_weight, units, weighted=weighted, first=first
        )
        if earlier is None:
            model._forget()
        model._progress = progress = Progress(model) if earlier is None else earlier
        session, secretive = _open_session(model, rows)
        facts: dict[str, Any] = {"secretive": secretive, "weighted": weighted}
        facts |= {"unit": unit, "visits": session.parts_of_a_person}
        model._progress = progress.begun(model, before=before, **facts)
        model._session = session
        warn_of_promise(type(model).__name__, model.epsilon, model.delta_, model.horizon)
        model._publish_receipt()
        if not hasattr(model, "coef_"):
            _publish_start(model, rows)
    except BaseException:
        reservation_for(model, goes_on=True).cancel()
        model.__dict__.clear()
        model.__dict__.update(before)
        raise
    _feed(model, session, rows)


def _feed(model: PrivateLinearModel, session: Session, rows: Call) -> None:
    if isinstance(rows, CallOfUnits):
        assert session.visits is not None
        session.visits.expect(rows.kind)
    progress = model._progress
    seen = progress.seen
    if not _warned_beforehand(model):
        warn_of_rows(type(model).__name__, model.delta_, seen, seen + rows.n_samples)
    # Rows count as taken before they are, or an interruption could have them taken twice.
    model.n_samples_seen_ = seen + rows.n_samples
    try:
        session.feed(model, rows)
    finally:
        model.n_samples_seen_ = progress.seen


def _warned_beforehand(model: PrivateLinearModel) -> bool:
    """True if the horizon of a stream has shown that delta is too large for it."""
    return model.horizon is not None and model.delta_ * model.horizon >= 1


def _open_call(
    model: PrivateLinearModel,
    X: Any,
    y: Any,
    classes: Any,
    sample_weight: Any,
    units: Any,
    *,
    weighted: bool,
    first: bool,
) -> Call:
    """Validate the rows of one call, and let the kernel lay them in a row store."""
    if isinstance(X, Chunks | DaskSites) or any(map(is_collection, (X, y, sample_weight, units))):
        what = type(X).__name__ if isinstance(X, Chunks | DaskSites) else "a dask collection"
        raise ValueError(
            f"{type(model).__name__}.partial_fit needs the rows themselves, got {what}; call "
            "it once with each chunk."
        )
    if model._target_columns is not None or (redacted(columns_of, y) or 1) > 1:
        raise ValueError(
            f"{type(model).__name__}.partial_fit needs one target a row, in a vector, got a table "
            "of targets, now or in fit before. Call fit with all rows, or use one model a target."
        )
    encode = model._encoder_of_stream(classes, first=first)
    if sample_weight is not None and not weighted:
        raise ValueError(
            f"{type(model).__name__}.partial_fit needs sample_weight=None in a stream that "
            "began without weights. Pass weights from the first call on, or call fit to start "
            "anew."
        )
    if units is not None:
        # Messages of other checks would say how many rows there are.
        PrivacyUnits.of(units).check(X, y, sample_weight)
    named = first or hasattr(model, "feature_names_in_")
    with telling_sizes(units is None):
        if named or not in_order(X, y, model.n_features_in_, ACCEPTED["dtype"]):
            options = {"multi_output": False, "reset": first, **ACCEPTED}
            X, y = redacted(validate_data, model, X, y, **options)
        if weighted and sample_weight is None:
            sample_weight = 1.0
        rows = resident_rows(X, y, encode, sample_weight, model.max_weight)
    return rows if units is None else CallOfUnits(rows, units)


def _check_units(model: PrivateLinearModel, units: Any, *, named: bool) -> None:
    """Refuse a call that names persons in a stream of rows, or none in a stream of persons."""
    if named == (units is not None):
        return
    name = type(model).__name__
    if not named:
        raise ValueError(
            f"{name}.partial_fit needs privacy_unit=None in a stream that began without it. Name "
            "persons from the first call on, or call partial_fit of a clone."
        )
    raise ValueError(
        f"{name}.partial_fit needs privacy_unit, the label of the person of each row, in every "
        f"call of a stream of persons and with max_visits > 1, got None and max_visits="
        f"{model.max_visits}."
    )


def _charge(
    model: PrivateLinearModel,
    claim: SpendBound | None,
    unit: PrivacyUnit = PrivacyUnit.ROW,
) -> None:
    """Put a stream under the privacy budgets that are open, once for all of its parts."""
    progress = vars(model).get("_progress")
    unit = progress.unit if progress is not None and progress.streaming else unit
    charge, most = reservation_for(model, goes_on=True), claim or model._claim(unit)
    if progress is not None and claim is not None:
        # A person may count in several parts.
        most = replace(most, fits=progress.visits)
    charge.reserve(most, begins=claim is not None)
    charge.remember(model)


def _publish_start(model: PrivateLinearModel, rows: Call) -> None:
    """The model before any row is asked about, with stand-ins for bounds not given."""
    outline = model._outline(1, rows.sparse, rows.weighted)
    model._publish(outline, Solution(outline.start(), 0), _dtype(rows))
    model._publish_bounds(outline.bounds)


def _dtype(rows: Call) -> np.dtype:
    return rows.dtype if isinstance(rows, CallOfUnits) else rows.X.dtype


def _open_session(model: PrivateLinearModel, rows: Call) -> tuple[Session, bool]:
    """The session for a stream, by the model's parameters and public facts of its first call.

    Parameters
    ----------
    model : estimator
        Its parameters are valid, and targets are known how to encode.
    rows : ResidentRows or CallOfUnits
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
    visits = Visits(model.max_visits) if isinstance(rows, CallOfUnits) else None
    if isinstance(solver, StreamingSolver):
        if model.delta == 0:
            raise ValueError(
                f"{name} with delta=0 needs the solver 'blocks' for a stream, and buffer=True, "
                f"because running sums have Gaussian noise, got {solver.option()!r}. Use it, or "
                "leave delta out."
            )
        return _streaming(model, solver, rows, visits), True
    if not isinstance(solver, Blocks):
        plan_part(model, visits, rows.n_samples, rows.sparse, weighted=rows.weighted)
        private = PrivateSession(model.random_state)
        session = BatchSession(private, public_generator(model.random_state), visits)
        return session, visits is not None
    if not model.buffer:
        raise ValueError(
            f"{name} needs buffer=True for the solver 'blocks', which keeps the rows of a block "
            "until it is full, got buffer=False. Use the solver 'ftrl', which keeps none."
        )
    solver.check(outline)
    of_budget = planned_mu(model) / sqrt(1 if visits is None else visits.max_visits)
    least = solver.least(outline, of_budget)
    if model._progress.released is None and solver.first is None and model._bounds_to_find:
        least = max(least, ceil(_TO_FIND_BOUNDS / of_budget))
    horizon = model.horizon
    first = solver.cut_after(0, least=least, horizon=horizon)
    plan_part(model, visits, first, rows.sparse, weighted=rows.weighted)
    private = PrivateSession(model.random_state)
    public_rng = public_generator(model.random_state)
    of_rows: dict[str, Any] = {"least": least, "horizon": horizon, "sparse": rows.sparse}
    return BlockSession(copy(solver), private, public_rng, visits, **of_rows), True


def plan_part(
    model: PrivateLinearModel, visits: Visits | None, n_samples: int, sparse: bool, **facts: Any
) -> FitPlan:
    """Plan of a part of a stream that is fitted by itself.

    Somebody who counts in k such parts pays for each of them. So a part has the budget of which k
    make up the whole: a k-th of it in mu^2, which adds up, also for parts that are planned when
    earlier ones are known.

    Parameters
    ----------
    model : estimator
        In a stream.
    visits : Visits or None
        How often persons may count; None if every row is the record of another one.
    n_samples : int
        Number of rows, or persons.
    sparse : bool
        Whether rows are stored sparsely.
    **facts
        See ``_plan``.

    Raises
    ------
    ValueError
        If parameters do not go together, or the solver's noise has no such sum.
    """
    most = 1 if visits is None else visits.max_visits
    facts["unit"] = PrivacyUnit.ROW if visits is None else PrivacyUnit.DECLARED
    if most == 1 or isinf(model.epsilon):
        return model._plan(n_samples, sparse, **facts)
    if model.delta == 0:
        raise ValueError(
            f"{type(model).__name__} needs max_visits=1 with delta=0, which is promised for one "
            f"part of a stream, got max_visits={most}. Pass max_visits=1, or leave delta out."
        )
    # The same for all parts, also where one is fitted by Gaussian noise and another by choices: a
    # share of the whole by each calculus would be more than the whole by either.
    constraint = getattr(model, "constraint", None)
    settled = settled_calculus(model._batch_solver, constraint, selects=model._may_select)
    calculus = GaussianDP() if settled == GaussianDP() else ZeroConcentratedDP()
    part = copy(model)
    part.epsilon = epsilon_of_share(calculus, model.epsilon, model.delta_, most, most)
    plan = part._plan(n_samples, sparse, **facts)
    if plan.calculus in (GaussianDP(), calculus):
        return replace(plan, calculus=calculus)
    raise ValueError(
        f"{type(model).__name__} needs max_visits=1 with the solver {plan.solver.option()!r}, "
        f"whose answers to several parts do not add up exactly, got max_visits={most}. Use a "
        "solver such as 'gd'."
    )


def _streaming(
    model: PrivateLinearModel, solver: StreamingSolver, rows: Call, visits: Visits | None
) -> StreamingSession:
    name, option = type(model).__name__, solver.option()
    released = model._progress.released
    missing = set(model._bounds_to_find)
    if model.data_bounds is not None:
        # Bounds of features bound rows, if roughly.
        missing.discard("data_norm")
    if released is None and missing:
        raise ValueError(
            f"{name} needs all bounds of rows and targets for the solver {option!r}, which cannot "
            "look for them in rows that are yet to come. Pass data_norm or data_bounds, and "
            "target_bounds for a regressor."
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
    bounds = model._given_bounds(rows.sparse) if released is None else released.bounds
    # Of the number of rows only the penalty depends.
    stated = partial(copy(model)._stated, bounds=bounds, sparse=rows.sparse, weighted=rows.weighted)
    problem = stated(model.horizon or 1)
    if released is not None:
        start = problem.from_user_coordinates(released.coef, released.intercept)
        problem = replace(problem, initial=start)
    solver.check(problem)
    unit = PrivacyUnit.ROW if visits is None else PrivacyUnit.DECLARED
    plan = plan_stream(model, problem, solver, weighted=rows.weighted, unit=unit)
    if plan.assumption is not None:
        warn_user(f"{name}: {plan.assumption}", UserWarning)
    ledger, adjacency = plan.ledger(), plan.adjacency
    private = PrivateSession(model.random_state)
    public_rng = public_generator(model.random_state)
    penalty = partial(_penalty, stated)
    claim = SpendBound.of_ledger(ledger, adjacency, unit)
    _charge(model, claim, unit=unit)
    paid = ledger, adjacency, private.noise
    stream = Stream(problem, solver, *paid, public_rng, model.horizon, penalty, visits)
    session = StreamingSession(stream, plan, problem, private, public_rng, visits)
    session.claim = claim
    return session


def _penalty(stated: Callable[[int], Problem], n_samples: int) -> Penalty:
    return stated(n_samples).penalty


class Session(ABC):
    """Goes on from call to call, and holds what pickles must not: noise, and maybe rows.

    Parameters
    ----------
    private : PrivateSession
        Source of the noise of all calls.
    public_rng : Generator
        Public randomness of all calls.
    visits : Visits or None
        How often each person has counted; None if every row is the record of another person.

    Attributes
    ----------
    guard : ProcessGuard
        The process in which ``feed`` may be called.
    claim : SpendBound or None
        The most that any part may spend; None before a part was planned.
    """

    def __init__(
        self, private: PrivateSession, public_rng: np.random.Generator, visits: Visits | None
    ) -> None:
        self.private = private
        self.public_rng = public_rng
        self.visits, self._parts = visits, 0
        self.guard = ProcessGuard()
        self.claim: SpendBound | None = None

    @final
    def open_part(
        self, model: PrivateLinearModel, rows: Call, origin: Released | None, *, block: bool = False
    ) -> tuple[ResidentRows, FitPlan, Opened]:
        """Rows that are fitted by themselves, with a plan and an oracle of their own.

        What a part may spend is set aside before it is asked about, once for all parts. Only then
        do persons count as having come, of whom the rows of each weigh one.
        """
        progress = model._progress
        found = None if progress.released is None else progress.released.bounds
        facts: dict[str, Any] = {"weighted": rows.weighted, "origin": origin, "found": found}
        plan = plan_part(model, self.visits, rows.n_samples, rows.sparse, block=block, **facts)
        relation = Adjacency(model.adjacency)
        self.claim = SpendBound.of_ledger(plan.ledger(), relation, progress.unit)
        _charge(model, self.claim)
        if isinstance(rows, CallOfUnits):
            assert self.visits is not None
            self._parts += 1
            rows = self.visits.counted(rows, self._parts)
        return rows, plan, self.private.open(rows, plan.terms)

    @property
    def parts_of_a_person(self) -> int:
        """Most parts, with a budget each, in which a person counts. Public."""
        return 1 if self.visits is None else self.visits.max_visits

    @abstractmethod
    def feed(self, model: PrivateLinearModel, rows: Call) -> None:
        """Take the rows of one call, and publish what they bring about."""

    def resume(self) -> None:  # noqa: B027
        """Go on after a checkpoint was loaded: hand the noise to what could not take it along."""


@final
class BatchSession(Session):
    """Each call is a data set of its own, fitted from the model so far with the whole budget."""

    def feed(self, model: PrivateLinearModel, rows: Call) -> None:
        """Fit the rows of one call."""
        origin, n_samples = model._progress.start, rows.n_samples
        counted, plan, opened = self.open_part(model, rows, origin)
        model._progress.seen += n_samples
        model._fit_part(counted, plan, opened, self.public_rng, counted.X.dtype, origin=origin)


@final
class BlockSession(Session):
    """Rows are kept until the open block is full, and then fitted as one data set.

    Parameters
    ----------
    solver : Blocks
        Where to cut.
    private : PrivateSession
        Source of the noise of all calls.
    public_rng : Generator
        Public randomness of all calls.
    visits : Visits or None
        How often each person has counted; None if every row is the record of another person.
    least : int
        Least number of rows of the first block.
    horizon : int or None
        Declared number of rows.
    sparse : bool
        Whether rows are kept sparsely.
    """

    def __init__(
        self,
        solver: Blocks,
        private: PrivateSession,
        public_rng: np.random.Generator,
        visits: Visits | None,
        *,
        least: int,
        horizon: int | None,
        sparse: bool,
    ) -> None:
        super().__init__(private, public_rng, visits)
        self._solver, self._least, self._horizon = solver, least, horizon
        self._sparse = sparse
        self._start = self._seen = 0
        self._buffer: RowBuffer | None = None
        # Of the rows in the buffer, in a stream of persons.
        self._labels: list[Hashable] = []
        self._cut = self._next_cut()

    def feed(self, model: PrivateLinearModel, rows: Call) -> None:
        """Keep the rows of one call, and fit the blocks that they fill, in order."""
        taken = 0
        if isinstance(rows, CallOfUnits) and self._seen + rows.n_samples > self._cut:
            rows = rows.shuffled(self.private.noise)
        while taken < rows.n_samples:
            # A call that was interrupted may have left a block that is full.
            if self._seen == self._cut:
                self._close(model)
            stop = min(rows.n_samples, taken + self._cut - self._seen)
            chunk: Call = rows if stop - taken == rows.n_samples else rows.part(taken, stop)
            self._seen += stop - taken
            model._progress.seen += stop - taken
            taken = stop
            if self._buffer is None:
                expected = self._cut - self._start
                self._buffer = RowBuffer(rows.n_features, self._sparse, expected)
            if isinstance(chunk, CallOfUnits):
                # An interruption may have left labels of rows that are not held.
                del self._labels[self._buffer.n_samples :]
                self._labels += chunk.row_labels()
                chunk = chunk.rows
            self._buffer.append(chunk)
        if self._seen == self._cut:
            self._close(model)

    def _close(self, model: PrivateLinearModel) -> None:
        # Whatever happens now, these rows are not asked about again.
        start, self._start = self._start, self._seen
        held, self._buffer, self._cut = self._buffer, None, self._next_cut()
        labels, self._labels = self._labels, []
        if held is None or not held.n_samples:
            return
        block: Call = held.rows()
        if self.visits is not None:
            block = CallOfUnits(held.rows(), labels[: held.n_samples])
        try:
            self._close_block(model, block)
        finally:
            if isinstance(block, CallOfUnits):
                # Persons who came several times are one unit of the block.
                model._progress.parts.skip(self._seen - start - block.n_samples)

    def _close_block(self, model: PrivateLinearModel, block: Call) -> None:
        origin = model._progress.start if self._solver.warm else None
        try:
            rows, plan, opened = self.open_part(model, block, origin, block=True)
        except BaseException:
            model._progress.parts.skip(block.n_samples)
            raise
        model._fit_part(rows, plan, opened, self.public_rng, rows.X.dtype, origin=origin)

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
    private : PrivateSession
        Source of its noise.
    public_rng : Generator
        Public randomness of all calls.
    visits : Visits or None
        How often each person has counted; None if every row is the record of another person.
    """

    def __init__(
        self,
        stream: Stream,
        plan: FitPlan,
        problem: Problem,
        private: PrivateSession,
        public_rng: np.random.Generator,
        visits: Visits | None,
    ) -> None:
        super().__init__(private, public_rng, visits)
        self._stream, self._plan, self._problem = stream, plan, problem
        self._latest: Solution | None = None
        self._receipts = 0

    def feed(self, model: PrivateLinearModel, rows: Call) -> None:
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
            model._release(self._plan, problem, problem.bounds, solution, _dtype(rows))
            announce_release(model)

    @property
    def parts_of_a_person(self) -> int:
        """One budget, by which all visits of a person are priced."""
        return 1

    def resume(self) -> None:
        """Give the stream its noise."""
        self._stream.resume(self.private.noise)

    def note_charges(self, model: PrivateLinearModel) -> None:
        """Put on the receipt what has been charged since it was last written."""
        receipts = self._stream.receipts
        for length, ledger in receipts[self._receipts :]:
            model._progress.parts.add(length, ledger)
        if len(receipts) > self._receipts:
            self._receipts = len(receipts)
            model._publish_receipt()
