"""Reservations of fits under the privacy budgets that are open.

Budgets are set by :class:`skdp.PrivacyBudget`. A fit is under

* all that are open in its process, whichever thread it runs in, because libraries that spread work
  over threads do not pass context along;
* all whose token it carries. Estimators take tokens along when they are cloned, copied or pickled
  while a budget is open, so that a worker process that clones once more still charges;
* all that were open in the process that has started its process when it did so, and above that:
  processes inherit the tokens in their environment, for estimators that are made there.

What neither carries a token nor inherits one is not charged: an estimator that is made in a worker
which was started before the budget was opened.

A token of a budget that is closed is void in the process that had opened it. In any other process
the fit is refused: it belongs to work that was handed out under a budget, and there is nothing
left to charge it to.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import platform
import shutil
import tempfile
from collections.abc import Callable, Container, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar, copy_context
from dataclasses import dataclass
from pathlib import Path
from secrets import token_hex
from typing import Any, TypeVar, final
from weakref import WeakSet

from sklearn.base import BaseEstimator

from ..exceptions import BudgetExceededError, PrivacyLeakWarning, warn_user
from ..privacy.accounting.ledger import Ledger, PrivacySpent
from ..privacy.adjacency import Adjacency, PrivacyUnit
from .budget_store import BudgetStore, Summary
from .privacy_ledger import PrivacyLedger
from .receipts import Receipt, SpendBound

Outcome = TypeVar("Outcome")

# Attribute in which estimators carry tokens: the stores, without what is in their files.
TOKENS = "_budget_tokens"
# Attribute in which they keep the name of their latest run.
RUN = "_budget_run"
# Attributes one of which an estimator has as soon as rows may have been asked about.
_ANSWERED = ("privacy_spent_", "_progress")
# Of folders: with the number of the process that opened the budget.
_PREFIX = "skdp-budget-"
_FILE = "entries.sqlite"
# Variable of the environment with the tokens of open budgets, which processes inherit.
_ENVIRONMENT = "SKDP_OPEN_BUDGETS"

# By their files. Without a lock, which an interruption could leave closed: each use is a single
# operation of the dictionary.
_open: dict[str, BudgetStore] = {}
# Reservations of runs of this process that have begun: streams ask with every call.
_reserved: dict[tuple[str, str], SpendBound | Receipt] = {}
# Budgets that were made and never opened.
waiting: WeakSet[Any] = WeakSet()
_is_covered: ContextVar[bool] = ContextVar("covered", default=False)


def open_budget(
    epsilon: float, delta: float, adjacency: Adjacency, unit: PrivacyUnit, accounting: str
) -> BudgetStore:
    """Open a budget over this process, with its file in a folder of its own."""
    folder = os.path.abspath(tempfile.mkdtemp(prefix=f"{_PREFIX}{os.getpid()}-"))
    path, promise = os.path.join(folder, _FILE), (epsilon, delta, adjacency, unit, accounting)
    store = BudgetStore(path, *promise, os.getpid(), platform.node())
    store.create()
    _open[path] = store
    _tell_child_processes()
    return store


def close_budget(store: BudgetStore) -> Summary | None:
    """Close a budget; in the process that opened it, for all others as well.

    Returns the last state, and None in a process that has not opened it.
    """
    _open.pop(store.path, None)
    for line in [line for line in _reserved if line[0] == store.path]:
        _reserved.pop(line, None)
    if store.owner != os.getpid():
        return None
    _tell_child_processes()
    try:
        return store.close()
    finally:
        shutil.rmtree(Path(store.path).parent, ignore_errors=True)


def tokens_of(model: Any) -> tuple[BudgetStore, ...]:
    """Budgets that a copy of the model has to stay under."""
    return tuple(dict.fromkeys(_known_to(model)))


@final
@dataclass(frozen=True, eq=False)
class Reservation:
    """Reservation of one run under all budgets that it counts against. Without any it does nothing.

    Parameters
    ----------
    key : str
        Which run.
    who : str
        What is fitted.
    budgets : list of BudgetStore
        All open.
    carried : tuple of BudgetStore, default=()
        Those whose tokens the estimator carries, because it is a copy that was made under them.

    Guarantees
    ----------
    - If one budget refuses a run that has not begun, none is charged for it.
    """

    key: str
    who: str
    budgets: list[BudgetStore]
    carried: tuple[BudgetStore, ...] = ()

    def remember(self, model: Any) -> None:
        """Let the model know the run, so that it can go on, if there is a budget."""
        if self.budgets:
            setattr(model, RUN, self.key)

    def reserve(self, most: SpendBound | Receipt, *, begins: bool) -> None:
        """Set aside what the run may spend at most, or will release, under each budget.

        ``begins`` tells that something may be released from now on.

        Raises
        ------
        BudgetExceededError
            If a budget would be exceeded, or was closed in the meantime.
        """
        # Under several budgets all have to agree before the run begins under any.
        stages = (False, True) if begins and len(self.budgets) > 1 else (begins,)
        try:
            for stage in stages:
                for budget in self.budgets:
                    self._reserve(budget, most, stage)
        except BaseException:
            self.cancel()
            raise

    def _reserve(self, budget: BudgetStore, most: SpendBound | Receipt, begins: bool) -> None:
        line = budget.path, self.key
        if _reserved.get(line) == most:
            return
        try:
            copied = budget in self.carried
            budget.reserve(self.key, self.who, most, begins=begins, copied=copied)
        except FileNotFoundError:
            raise _closed(self.who, budget) from None
        if begins:
            _reserved[line] = most

    def settle(self, receipt: Receipt) -> None:
        """Replace what is set aside by what was spent. After closing, what was set aside stays."""
        for budget in self.budgets:
            _reserved.pop((budget.path, self.key), None)
            with suppress(FileNotFoundError):
                budget.settle(self.key, receipt)

    def cancel(self) -> None:
        """Give back what is set aside for a run that has not begun."""
        for budget in self.budgets:
            with suppress(FileNotFoundError):
                budget.cancel(self.key)


def reservation_for(model: Any, *, goes_on: bool = False) -> Reservation:
    """Reservation for a run of an estimator; to be asked for before it touches its data.

    ``goes_on`` tells that its latest run goes on with rows that nobody has asked about, so that
    what is set aside for one part of them is for all. It has to be in the process where it began.

    Raises
    ------
    BudgetExceededError
        If the estimator belongs to work under a budget that is closed.
    """
    who, key = type(model).__name__, vars(model).get(RUN, "") if goes_on else ""
    if not key.startswith(f"{os.getpid()}-"):
        key = f"{os.getpid()}-{token_hex(16)}"
    if _is_covered.get():
        return Reservation(key, who, [])
    known = _known_to(model)
    for budget in known:
        if not budget.is_open:
            raise _closed(who, budget)
    found = {budget.path: budget for budget in (*known, *_opened_by_parents())}
    if waiting and not found:
        warn_user(
            f"A PrivacyBudget was made and is not open, so that {who} does not count against it. "
            "Open it by 'with budget:' or budget.open().",
            PrivacyLeakWarning,
        )
    return Reservation(key, who, [*found.values()], vars(model).get(TOKENS, ()))


def covered(run: Callable[[], Outcome]) -> Outcome:
    """Return what a function returns whose fits the code around it has reserved a budget for.

    For methods that fit several times and publish one event for all of it. The function runs in a
    context of its own: wherever it is interrupted, later fits of the thread are not covered.
    """

    def paid() -> Outcome:
        _is_covered.set(True)
        return run()

    return copy_context().run(paid)


@contextmanager
def looked_up() -> Iterator[None]:
    """Fits that begin in the block are inside of code that was looked up in the table.

    Workers do not know what they are part of. So the budgets that are open note it, of all runs
    that have begun meanwhile, wherever they run; fits that another thread begins by itself in this
    time are taken for parts of the block.
    """
    latest: dict[BudgetStore, int] = {}
    for budget in (*_open.values(), *_opened_by_parents()):
        with suppress(FileNotFoundError):
            latest[budget] = budget.latest()
    try:
        yield
    finally:
        for budget, number in latest.items():
            with suppress(FileNotFoundError):
                budget.note_looked_up(number)


class BudgetedEstimator(BaseEstimator):
    """First base class of every estimator that spends a privacy budget.

    Clones, copies and pickles that are made while a :class:`skdp.PrivacyBudget` is open carry its
    token, the name of its file and no secret, so that their fits in another process are charged.
    Without one there is nothing to carry. A copy that goes on with a stream is another run.
    """

    # Whether the set of classes was read off the targets, which no receipt covers.
    _read_classes: bool = False

    def _forget(self, kept: Container[str] = ()) -> None:
        """Drop what an earlier fit published, so that no old model meets a new receipt.

        Attributes whose names are ``kept`` stay.
        """
        published = [a for a in vars(self) if a.endswith("_") and not a.startswith("_")]
        # Receipts last: at no moment there is a model without one.
        for name in sorted(published, key=lambda a: a.startswith("privacy_")):
            if name not in kept:
                delattr(self, name)

    @property
    def _always_dense(self) -> bool:
        """Tell whether a transformer returns dense columns whatever it is given."""
        return False

    def __getstate__(self) -> Any:
        state = {k: v for k, v in super().__getstate__().items() if k not in (RUN, TOKENS)}
        if "random_state" in state and not state.keys().isdisjoint(_ANSWERED):
            # A seed reproduces the noise, so it stays behind once there is what to take it off.
            state["random_state"] = None
        tokens = tokens_of(self)
        return state | {TOKENS: tokens} if tokens else state

    def __setstate__(self, state: dict[str, Any]) -> None:
        tokens: tuple[BudgetStore, ...] = state.get(TOKENS, ())
        # What is loaded from a file long after, on the same machine and not in a worker, is a new
        # piece of work, which budgets that are closed say nothing about.
        if multiprocessing.parent_process() is None:
            tokens = tuple(b for b in tokens if b.is_open or b.host != platform.node())
        rest = {name: value for name, value in state.items() if name != TOKENS}
        super().__setstate__(rest | {TOKENS: tokens} if tokens else rest)

    def __sklearn_clone__(self) -> Any:
        copy = super().__sklearn_clone__()
        tokens = tokens_of(self)
        if tokens:
            setattr(copy, TOKENS, tokens)
        return copy


@contextmanager
def rollback(model: Any, charge: Reservation | None = None) -> Iterator[dict[str, Any]]:
    """Context in which a model that fails keeps the attributes that it had before; yields these.

    Attributes are restored, not what they hold: within the context they may be replaced only. What
    is set aside for a run that has not begun is given back: in a reservation, or else in that of
    the latest run that the model knows then.
    """
    before = vars(model).copy()
    try:
        yield before
    except BaseException:
        (charge or reservation_for(model, goes_on=True)).cancel()
        vars(model).clear()
        vars(model).update(before)
        raise


@contextmanager
def charged(
    model: Any, ledger: Ledger, charge: Reservation, who: str, where: str
) -> Iterator[None]:
    """Queries about a model, which says what it has spent whatever becomes of them.

    Parameters
    ----------
    model : estimator
        Gets ``privacy_spent_`` and ``privacy_ledger_``: before its queries the whole budget and no
        event, and in the end what its ledger was charged.
    ledger : Ledger
        Of its queries.
    charge : Reservation
        What was set aside for them.
    who, where : str
        Beginning and end of the note on an exception that stops them.
    """
    # Until there is more to say, the whole budget counts as spent.
    model.privacy_spent_ = PrivacySpent(ledger.epsilon, ledger.delta)
    model.privacy_ledger_ = PrivacyLedger()
    try:
        yield
    except BaseException as failure:
        spent = ledger.spent()
        failure.add_note(
            f"{who} stopped after spending epsilon={spent.epsilon:.6g} at delta={spent.delta:.6g}"
            f"{where}."
        )
        raise
    finally:
        model.privacy_spent_ = ledger.spent()
        model.privacy_ledger_ = PrivacyLedger(ledger.receipt())
        charge.settle(Receipt.of(model))


def _known_to(model: Any) -> list[BudgetStore]:
    """Budgets that are open in this process, and those whose tokens the model carries."""
    carried = (budget for budget in vars(model).get(TOKENS, ()) if not budget.is_void)
    return [*_open.values(), *carried]


def _tell_child_processes() -> None:
    """Keep the environment of processes that begin from now on up to date."""
    above = [budget for budget in _opened_by_parents() if budget.path not in _open]
    if budgets := [*above, *_open.values()]:
        os.environ[_ENVIRONMENT] = json.dumps([vars(budget) for budget in budgets])
    else:
        os.environ.pop(_ENVIRONMENT, None)


def _opened_by_parents() -> list[BudgetStore]:
    """Budgets that are open in the process that has started this one, or above it."""
    told = json.loads(os.environ.get(_ENVIRONMENT, "[]"))
    found = [BudgetStore(**facts) for facts in told if facts["host"] == platform.node()]
    return [budget for budget in found if budget.owner != os.getpid() and budget.is_open]


def _closed(who: str, budget: BudgetStore) -> BudgetExceededError:
    return BudgetExceededError(
        f"{who} was handed out under a PrivacyBudget(epsilon={budget.epsilon:.6g}, "
        f"delta={budget.delta:.6g}) that is closed or whose file is gone, so that there is nothing "
        "to charge. Keep the budget open until all work is done, or make a new estimator. Nothing "
        "was read."
    )
