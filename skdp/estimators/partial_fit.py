"""``partial_fit``: streams of rows, and what goes on from one call to the next."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable
from copy import copy
from dataclasses import replace
from functools import partial
from math import ceil, isinf, sqrt
from typing import Any, TypeAlias, TypeVar, final

from sklearn.utils.validation import validate_data

from ..exceptions import warn_user
from ..federated import DaskSites
from ..privacy.accounting.calculus import GaussianDP, ZeroConcentratedDP
from ..privacy.accounting.default_delta import delta_for
from ..privacy.adjacency import Adjacency, PrivacyUnit
from ..privacy.lock import ProcessGuard
from ..privacy.oracle_factory import noise_for, open_rows
from ..privacy.randomness import public_generator
from ..privacy.rows.base import ResidentRows
from ..privacy.rows.buffer import RowBuffer
from ..privacy.rows.chunked import Chunks
from ..privacy.rows.dask_rows import is_collection
from ..privacy.rows.privacy_units import PrivacyUnits
from ..privacy.rows.reading import columns_of, in_order, redacted
from ..privacy.rows.row_stores import resident_rows
from ..privacy.streams.stream import Stream
from ..privacy.streams.visits import Call, Visits, epsilon_of_share
from ..reporting.budget_warnings import warn_of_promise, warn_of_rows
from ..reporting.open_budgets import RUN, reservation_for, rollback
from ..reporting.receipts import SpendBound
from ..solvers import Blocks, Solution, within_a_block
from ..solvers.defaults import Stages as tuned
from ..solvers.streaming import StreamingSolver
from ..validation import check_parameters, telling_sizes
from .announcements import announce_release
from .base import PrivateLinearModel
from .fit_history import EarlierModel, FitHistory, declared_disjoint
from .fit_plan import FitPlan, plan_stream
from .opening import ACCEPTED
from .refusals import of_stream, refuse
from .solver_choice import choose_for_stream, planned_mu, settled_calculus

Model = TypeVar("Model", bound=PrivateLinearModel)

# Features, targets, classes, weights and labels, as passed to ``partial_fit``.
_Given: TypeAlias = tuple[Any, ...]


def advance(
    model: Model, X: Any, y: Any, classes: Any, sample_weight: Any, privacy_unit: Any
) -> Model:
    """Go on with the stream, or begin one, with the rows of one call of ``partial_fit``.

    Each row that is passed in counts as the record of another person, unless ``privacy_unit``
    says whose rows they are, and the receipt holds on this condition. Nothing notices rows that
    come again. Whoever has the same rows in k calls is protected as the owner of k records is:
    what the parts of the stream that hold them have spent adds up, so that twenty calls with
    the same rows cost that person twenty fits, or more.

    By default rows are kept until a block of public size is full, and then the block is fitted
    from the model so far with the whole budget; see :class:`skdp.solvers.Blocks`. Until then
    the model stays as it is, at first one that says nothing about the rows. If ``solver``
    names a method for whole data sets, each call is fitted at once as a data set of its own,
    again with the whole budget. Parts have no row in common, so ``privacy_spent_`` is the
    largest spend of a part, and not their sum.

    After ``fit`` the stream goes on from the fitted model, whose receipt is taken along and
    added up with that of the stream, unless ``warm_start='disjoint'`` declares that the rows
    are others. For several passes over the same rows call ``fit`` once, with a solver that
    makes them, or declare them: name each row by ``privacy_unit``, and the number of passes by
    ``max_visits``.

    Copies and pickles of a model in the middle of a stream predict, but cannot go on where
    that takes rows or noise that they must not hold; see :func:`skdp.save_checkpoint`.

    Parameters
    ----------
    model : estimator
        Which goes on.
    X : array-like or CSR matrix of shape (n_samples, n_features)
        Features. Not ``Chunks``: call it once with each chunk.
    y : array-like of shape (n_samples,)
        Targets.
    classes : array-like, optional
        Labels that may occur, of a classifier.
    sample_weight : array-like of shape (n_samples,), optional
        Weights of the rows, as in ``fit``. A stream whose first call has none takes none
        later; rows of a later call without weights weigh 1 each.
    privacy_unit : array-like of shape (n_samples,), optional
        Label of the person of each row, from the first call on. Then persons are protected,
        with all their rows in all calls: they count in at most ``max_visits`` parts of the
        stream, with as much weight in each as one row. ``horizon`` and ``n_samples_seen_`` are
        about persons and their visits then.

    Returns
    -------
    self
        The model, as far as it is.

    Raises
    ------
    ValueError
        If parameters or data are malformed, if parameters have changed since the stream began,
        or if what it takes to go on is not there. No row has been taken then, nothing has been
        spent, and the stream may go on.
    BudgetExceededError
        If a :class:`skdp.PrivacyBudget` is open that has no room for it; likewise.

    Notes
    -----
    Bounds that are not given are paid for in the first part of the stream and hold for all of
    it; those of targets in the first part that is large enough to see them. If a fit fails, its
    part of the stream is used up: the receipt says what it has spent, the model is the one
    before, and ``n_samples_seen_`` says how many rows have been taken. The rows of the call
    beyond may be passed in again.
    """
    given = X, y, classes, sample_weight, privacy_unit
    session, progress = vars(model).get("_session"), vars(model).get("_progress")
    if progress is not None:
        progress.check_unchanged(model)
    if session is None or not session.guard.in_own_process:
        _begin(model, given)
        return model
    unit = session.visits.unit
    _check_units(model, privacy_unit, named=unit is PrivacyUnit.DECLARED)
    _charge(model, session.claim, unit)
    call = _open_call(model, given, weighted=model._progress.weighted, first=False)
    _feed(model, session, call)
    return model


def _begin(model: PrivateLinearModel, given: _Given) -> None:
    """Begin a stream, or go on with one whose session did not travel with it."""
    earlier = vars(model).get("_progress")
    *_, sample_weight, units = given
    if earlier is not None and earlier.secretive:
        raise ValueError(
            f"{type(model).__name__} needs the secret state of its stream to go on, which "
            "copies, pickles and forked processes leave behind. Take the state along with "
            "skdp.save_checkpoint and skdp.load_checkpoint, or call fit to start anew."
        )
    with rollback(model) as before:
        check_parameters(model)
        _check_units(model, units, named=units is not None or model.max_visits > 1)
        if units is not None and earlier is not None:
            raise ValueError(
                f"{type(model).__name__} needs privacy_unit=None to go on from rows that it has "
                "been given before, because nobody has counted how often persons were among them. "
                "Call partial_fit of a clone."
            )
        model.delta_ = delta_for(model.delta, model.horizon)
        if earlier is not None and not (earlier.streaming or declared_disjoint(model)):
            # The rows of the stream may be those of the fit: a run of its own.
            model.__dict__.pop(RUN, None)
        unit = PrivacyUnit.ROW if units is None else PrivacyUnit.DECLARED
        _charge(model, None, unit)
        weighted = sample_weight is not None
        if earlier is not None and earlier.streaming:
            weighted = earlier.weighted
        call = _open_call(model, given, weighted=weighted, first=earlier is None)
        if earlier is None:
            model._begin_anew()
        model._progress = progress = FitHistory(model) if earlier is None else earlier
        session = _open_session(model, call, Visits(model.max_visits, unit))
        model._progress = progress.begun(model, before, session, weighted=weighted)
        model._session = session
        warn_of_promise(type(model).__name__, model.epsilon, model.delta_, model.horizon)
        model._publish_receipt()
        if not hasattr(model, "coef_"):
            # The model before any row is asked about, with stand-ins for bounds not given.
            outline = model._stated(1, sparse=call.rows.sparse, weighted=call.rows.weighted)
            model._publish(outline, Solution(outline.start(), 0), call.rows.X.dtype)
            model._publish_bounds(outline.bounds)
    _feed(model, session, call)


def _feed(model: PrivateLinearModel, session: Session, call: Call) -> None:
    if call.labels is not None:
        session.visits.expect(call.kind)
    progress = model._progress
    seen = progress.seen
    # Else the horizon of the stream has shown that delta is too large for it.
    if model.horizon is None or model.delta_ * model.horizon < 1:
        warn_of_rows(type(model).__name__, model.delta_, seen, seen + call.n_samples)
    # Rows count as taken before they are, or an interruption could have them taken twice.
    model.n_samples_seen_ = seen + call.n_samples
    try:
        session.feed(model, call)
    finally:
        model.n_samples_seen_ = progress.seen


def _open_call(model: PrivateLinearModel, given: _Given, *, weighted: bool, first: bool) -> Call:
    """Validate the rows of one call, and let the kernel lay them in a row store."""
    X, y, classes, sample_weight, units = given
    if isinstance(X, Chunks | DaskSites) or any(map(is_collection, (X, y, sample_weight, units))):
        what = type(X).__name__ if isinstance(X, Chunks | DaskSites) else "a dask collection"
        raise ValueError(
            f"{type(model).__name__}.partial_fit needs the rows themselves, got {what}; call "
            "it once with each chunk."
        )
    with telling_sizes(units is None):
        columns = redacted(columns_of, y) or 1
    if model._target_columns is not None or columns > 1:
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
    return Call(rows, units)


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


def _charge(model: PrivateLinearModel, claim: SpendBound | None, unit: PrivacyUnit) -> None:
    """Put a stream under the privacy budgets that are open, once for all of its parts."""
    charge, most = reservation_for(model, goes_on=True), claim or model._claim(unit)
    if claim is not None:
        # A person may count in several parts.
        most = replace(most, fits=model._progress.visits)
    charge.reserve(most, begins=claim is not None)
    charge.remember(model)


def _open_session(model: PrivateLinearModel, call: Call, visits: Visits) -> Session:
    """The session for a stream, by the model's parameters and public facts of its first call.

    Of the call only the kind of its rows and their number, or that of persons, are used.

    Raises
    ------
    ValueError
        If the parameters do not go together with a stream.
    """
    rows = call.rows
    outline = model._stated(call.n_samples, sparse=rows.sparse, weighted=rows.weighted)
    solver = choose_for_stream(model.solver, outline, buffer=model.buffer)
    refuse(model, of_stream(model, solver))
    if isinstance(solver, StreamingSolver):
        return StreamingSession(model, visits, solver, rows)
    if not isinstance(solver, Blocks):
        plan_part(model, visits, call.n_samples, rows)
        return BatchSession(model, visits)
    solver.check(outline)
    of_budget = planned_mu(model) / sqrt(visits.max_visits)
    least = solver.least(outline, of_budget)
    if model._progress.released is None and solver.first is None and model._bounds_to_find:
        least = max(least, ceil(tuned.ROWS_TO_FIND_BOUNDS / of_budget))
    plan_part(model, visits, solver.cut_after(0, least=least, horizon=model.horizon), rows)
    return BlockSession(model, visits, solver, least=least, sparse=rows.sparse)


def plan_part(
    model: PrivateLinearModel, visits: Visits, n_samples: int, rows: ResidentRows, **facts: Any
) -> FitPlan:
    """Plan of a part of a stream that is fitted by itself, with so many rows, or persons.

    Somebody who counts in k such parts pays for each of them. So a part has the budget of which k
    make up the whole: a k-th of it in mu^2, which adds up, also for parts that are planned when
    earlier ones are known. Of the rows only the kind is used; for the other facts see ``_plan``.

    Raises
    ------
    ValueError
        If parameters do not go together, or the solver's noise has no such sum.
    """
    most = visits.max_visits
    planned: dict[str, Any] = {"weighted": rows.weighted, "unit": visits.unit, **facts}
    if most == 1 or isinf(model.epsilon):
        return model._plan(n_samples, rows.sparse, **planned)
    if model.delta == 0:
        raise ValueError(
            f"{type(model).__name__} needs max_visits=1 with delta=0, which is promised for one "
            f"part of a stream, got max_visits={most}. Pass max_visits=1, or leave delta out."
        )
    # The same for all parts, also where one is fitted by Gaussian noise and another by choices: a
    # share of the whole by each calculus would be more than the whole by either.
    asked = within_a_block(model.solver)
    settled = settled_calculus(asked, model.constraint, selects=model._may_select)
    calculus = GaussianDP() if settled == GaussianDP() else ZeroConcentratedDP()
    part = copy(model)
    part.epsilon = epsilon_of_share(calculus, model.epsilon, model.delta_, most, most)
    plan = part._plan(n_samples, rows.sparse, **planned)
    if plan.calculus in (GaussianDP(), calculus):
        return replace(plan, calculus=calculus)
    raise ValueError(
        f"{type(model).__name__} needs max_visits=1 with the solver {plan.solver.option()!r}, "
        f"whose answers to several parts do not add up exactly, got max_visits={most}. Use a "
        "solver such as 'gd'."
    )


class Session(ABC):
    """Goes on from call to call, and holds what pickles must not: noise, and maybe rows.

    Parameters
    ----------
    model : estimator
        Has the seed of the noise and of public randomness of all calls.
    visits : Visits
        How often each person has counted.

    Attributes
    ----------
    guard : ProcessGuard
        The process in which ``feed`` may be called.
    claim : SpendBound or None
        The most that any part may spend; None before a part was planned.
    secretive : bool
        Whether the stream cannot go on without it.
    parts_of_a_person : int
        Most parts, with a budget each, in which a person counts. Public.
    """

    def __init__(self, model: PrivateLinearModel, visits: Visits) -> None:
        self.noise = noise_for(model.random_state)
        self.public_rng = public_generator(model.random_state)
        self.visits, self._parts = visits, 0
        self.guard = ProcessGuard()
        self.claim: SpendBound | None = None
        # It says who has come how often; others also keep rows, or sums of them.
        self.secretive = visits.unit is PrivacyUnit.DECLARED
        self.parts_of_a_person = visits.max_visits

    @final
    def fit_part(
        self,
        model: PrivateLinearModel,
        call: Call,
        origin: EarlierModel | None,
        *,
        block: bool = False,
    ) -> None:
        """Fit rows by themselves, with a plan and an oracle of their own.

        What a part may spend is set aside before it is asked about, once for all parts. After
        that visits of persons are counted, and the rows of each person weigh one together. Rows
        of a block were counted when they came.
        """
        progress, released = model._progress, model._progress.released
        found = None if released is None else released.bounds
        facts: dict[str, Any] = {"origin": origin, "found": found, "block": block}
        plan = plan_part(model, self.visits, call.n_samples, call.rows, **facts)
        relation, unit = Adjacency(model.adjacency), self.visits.unit
        self.claim = SpendBound.of_ledger(plan.ledger(), relation, unit)
        _charge(model, self.claim, unit)
        self._parts += 1
        rows = self.visits.counted(call, self._parts)
        opened = open_rows(rows, plan, self.noise)
        progress.seen += 0 if block else call.n_samples
        model._fit_part(rows, plan, opened, self.public_rng, rows.X.dtype, origin=origin)

    @abstractmethod
    def feed(self, model: PrivateLinearModel, call: Call) -> None:
        """Take the rows of one call, and publish what they bring about."""


@final
class BatchSession(Session):
    """Each call is a data set of its own, fitted from the model so far with the whole budget."""

    def feed(self, model: PrivateLinearModel, call: Call) -> None:
        """Fit the rows of one call."""
        self.fit_part(model, call, model._progress.start)


@final
class BlockSession(Session):
    """Rows are kept, sparsely or not, until the open block is full and fitted as one data set.

    The first block has ``least`` rows at least.
    """

    def __init__(
        self, model: PrivateLinearModel, visits: Visits, solver: Blocks, *, least: int, sparse: bool
    ) -> None:
        super().__init__(model, visits)
        self._cut_after = partial(copy(solver).cut_after, least=least, horizon=model.horizon)
        self._warm, self._sparse, self.secretive = solver.warm, sparse, True
        self._start = self._seen = 0
        self._cut = self._cut_after(0)
        # Rows of the open block, and the labels of their persons if they have any.
        self._buffer: RowBuffer | None = None
        self._labels: list[Hashable] = []

    def feed(self, model: PrivateLinearModel, call: Call) -> None:
        """Keep the rows of one call, and fit the blocks that they fill, in order."""
        for part in call.pieces(lambda: self._room(model), self.noise):
            self._seen += part.n_samples
            model._progress.seen += part.n_samples
            if self._buffer is None:
                n_features, expected = part.rows.n_features, self._cut - self._start
                self._buffer = RowBuffer(n_features, self._sparse, expected)
            # An interruption may have left labels of rows that are not held.
            del self._labels[self._buffer.n_samples :]
            self._labels += part.row_labels()
            self._buffer.append(part.rows)
        self._room(model)

    def _room(self, model: PrivateLinearModel) -> int:
        """Number of rows until the block is full; one that is, is fitted first."""
        if self._seen == self._cut:
            self._close(model)
        return self._cut - self._seen

    def _close(self, model: PrivateLinearModel) -> None:
        # Whatever happens now, these rows are not asked about again.
        n_samples, self._start = self._seen - self._start, self._seen
        held, self._buffer, self._cut = self._buffer, None, self._cut_after(self._seen)
        labels, self._labels = self._labels, []
        if held is None or not held.n_samples:
            return
        named = self.visits.unit is PrivacyUnit.DECLARED
        block = Call(held.rows(), labels[: held.n_samples] if named else None)
        stop = model._progress.parts.stop + n_samples
        try:
            self._close_block(model, block)
        finally:
            # Rows of which nothing was asked; and persons who came several times are one unit.
            model._progress.parts.stop = stop

    def _close_block(self, model: PrivateLinearModel, block: Call) -> None:
        origin = model._progress.start if self._warm else None
        self.fit_part(model, block, origin, block=True)


@final
class StreamingSession(Session):
    """A streaming solver reads each row once, in the call that brings it.

    Of the rows of the first call only the kind is used here.
    """

    def __init__(
        self, model: PrivateLinearModel, visits: Visits, solver: StreamingSolver, rows: ResidentRows
    ) -> None:
        released = model._progress.released
        found = None if released is None else released.bounds
        # Of the number of rows only the penalty depends.
        stated = partial(
            copy(model)._stated, bounds=found, sparse=rows.sparse, weighted=rows.weighted
        )
        problem = stated(model.horizon or 1)
        if released is not None:
            problem = replace(problem, initial=released.start(problem))
        solver.check(problem)
        facts: dict[str, Any] = {"weighted": rows.weighted, "unit": visits.unit}
        plan = plan_stream(model, problem, solver, **facts)
        if plan.assumption is not None:
            warn_user(f"{type(model).__name__}: {plan.assumption}", UserWarning)
        ledger = plan.ledger()
        super().__init__(model, visits)
        # One budget, by which all visits of a person are priced.
        self.secretive, self.parts_of_a_person = True, 1
        self.claim = SpendBound.of_ledger(ledger, plan.adjacency, visits.unit)
        _charge(model, self.claim, visits.unit)
        # Paid for, before the first row.
        paid = ledger, plan.adjacency, self.noise
        of_rows = model.horizon, stated, visits
        who = f"{type(model).__name__}.partial_fit"
        self._stream = Stream(problem, solver, *paid, *of_rows, who=who)
        self._plan, self._problem = plan, problem
        self._latest: Solution | None = None
        self._receipts = 0

    def feed(self, model: PrivateLinearModel, call: Call) -> None:
        """Let the solver read the rows of one call."""
        progress = model._progress
        others = progress.seen - self._stream.seen
        self.note_charges(model)
        # Should something come between reading and counting, no row is passed in again.
        progress.seen += call.n_samples
        try:
            self._stream.feed(call)
        finally:
            progress.seen = others + self._stream.seen
            self.note_charges(model)
        solution = self._stream.solution
        if solution is not self._latest:
            self._latest = solution
            bounds, dtype = self._problem.bounds, call.rows.X.dtype
            model._release(self._plan, self._problem, bounds, solution, dtype)
            announce_release(model)

    def note_charges(self, model: PrivateLinearModel) -> None:
        """Put on the receipt what has been charged since it was last written."""
        receipts = self._stream.receipts
        for length, ledger in receipts[self._receipts :]:
            model._progress.parts.add(length, ledger)
        if len(receipts) > self._receipts:
            self._receipts = len(receipts)
            model._publish_receipt()
