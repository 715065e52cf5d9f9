"""Reservations of fits under the privacy budgets that are open.

Ceilings are set by :class:`skdp.PrivacyBudget`. A fit is under

* all that are open in its process, whichever thread it runs in, because libraries that spread work
  over threads do not pass context along;
* all whose token it carries. Estimators take tokens along when they are cloned, copied or pickled
  while a ceiling is open, so that a worker process that clones once more still charges;
* all that were open in the process that has started its process when it did so, and above that:
  processes inherit the tokens in their environment, for estimators that are made there.

What neither carries a token nor inherits one is not charged: an estimator that is made in a worker
which was started before the ceiling was opened.

A token of a ceiling that is closed is void in the process that had opened it. In any other process
the fit is refused: it belongs to work that was handed out under a ceiling, and there is no book
left to charge it to.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import platform
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from secrets import token_hex
from typing import Any, Self, final

from ..exceptions import BudgetExceededError
from ..privacy.adjacency import Adjacency
from .account_book import AccountBook, Summary
from .claims import Claim
from .receipts import Receipt

__all__ = [
    "RUN",
    "TOKENS",
    "Ceiling",
    "Charge",
    "charge_for",
    "covered",
    "tokens_of",
    "valid_tokens",
]

# Attribute in which estimators carry tokens.
TOKENS = "_budget_tokens"
# Attribute in which they keep the name of their latest run.
RUN = "_budget_run"
# Of folders: with the number of the process that opened the ceiling.
_PREFIX = "skdp-budget-"
_BOOK_FILE = "book.sqlite"
# Variable of the environment with the tokens of open ceilings, which processes inherit.
_ENVIRONMENT = "SKDP_OPEN_BUDGETS"

# By their books. Without a lock, which an interruption could leave closed: each use is a single
# operation of the dictionary.
_open: dict[str, Ceiling] = {}
# What stands on a book for a run of this process that has begun: streams ask with every call.
_standing: dict[tuple[str, str], Claim | Receipt] = {}
_is_covered: ContextVar[bool] = ContextVar("covered", default=False)


@final
@dataclass(frozen=True)
class Ceiling:
    """An open ceiling, as processes know it.

    Parameters
    ----------
    book : AccountBook
        Where fits are charged.
    owner : int
        Number of the process that opened it.
    host : str
        Name of its machine.
    """

    book: AccountBook
    owner: int
    host: str

    @classmethod
    def opened(cls, epsilon: float, delta: float, adjacency: Adjacency, accounting: str) -> Self:
        """Set a ceiling over this process, with a book in a folder of its own.

        Parameters
        ----------
        epsilon, delta : float
            The ceiling.
        adjacency : Adjacency
            Neighbouring relation.
        accounting : str
            ``'auto'`` or the name of a rule.
        """
        folder = os.path.abspath(tempfile.mkdtemp(prefix=f"{_PREFIX}{os.getpid()}-"))
        book = AccountBook(os.path.join(folder, _BOOK_FILE), epsilon, delta, adjacency, accounting)
        ceiling = cls(book, os.getpid(), platform.node())
        book.create()
        _open[book.path] = ceiling
        _tell_children()
        return ceiling

    def close(self) -> Summary | None:
        """Lift the ceiling; in the process that opened it, for all others as well.

        Returns
        -------
        tuple or None
            What the book says in the end; None in a process that has not opened it.
        """
        _open.pop(self.book.path, None)
        for line in [line for line in _standing if line[0] == self.book.path]:
            _standing.pop(line, None)
        if self.owner != os.getpid():
            return None
        _tell_children()
        try:
            return self.book.close()
        finally:
            shutil.rmtree(Path(self.book.path).parent, ignore_errors=True)

    @property
    def token(self) -> tuple[Any, ...]:
        """All there is to know about it, in plain types, to be pickled."""
        book = self.book
        fields = book.path, book.epsilon, book.delta, str(book.adjacency), book.accounting
        return (*fields, self.owner, self.host)

    @classmethod
    def of_token(cls, token: tuple[Any, ...]) -> Self:
        """The ceiling of a token.

        Parameters
        ----------
        token : tuple
            As ``token`` returns it.
        """
        path, epsilon, delta, adjacency, accounting, owner, host = token
        book = AccountBook(path, epsilon, delta, Adjacency(adjacency), accounting)
        return cls(book, owner, host)

    @property
    def void(self) -> bool:
        """True if the budget is closed and this is the process that opened it."""
        return self.owner == os.getpid() and not self.book.here


def tokens_of(model: Any) -> tuple[tuple[Any, ...], ...]:
    """Tokens of the ceilings that a copy of the model has to stay under.

    Parameters
    ----------
    model : object
        An estimator.
    """
    carried = [Ceiling.of_token(token) for token in vars(model).get(TOKENS, ())]
    known = [*_opened_here(), *(c for c in carried if not c.void)]
    return tuple(dict.fromkeys(ceiling.token for ceiling in known))


def valid_tokens(tokens: tuple[tuple[Any, ...], ...]) -> tuple[tuple[Any, ...], ...]:
    """Tokens, of those just unpickled, that still mean something here.

    What is loaded from a file long after, on the same machine and not in a worker, is a new piece
    of work, and tokens of ceilings that are closed are dropped.

    Parameters
    ----------
    tokens : tuple
        As they were pickled.
    """
    worker = multiprocessing.parent_process() is not None
    kept = []
    for token in tokens:
        ceiling = Ceiling.of_token(token)
        if worker or ceiling.book.here or ceiling.host != platform.node():
            kept.append(token)
    return tuple(kept)


@final
class Charge:
    """One run, and the ceilings it is under. Without any it does nothing.

    Parameters
    ----------
    key : str
        Which run.
    who : str
        What is fitted.
    ceilings : list of Ceiling
        All open.

    Guarantees
    ----------
    - If one ceiling refuses a run that has not begun, none is charged for it.
    """

    def __init__(self, key: str, who: str, ceilings: list[Ceiling]) -> None:
        self.key = key
        self._who = who
        self._ceilings = ceilings

    def remember(self, model: Any) -> None:
        """Let the model know the run, so that it can go on; of no ceiling there is nothing to know.

        Parameters
        ----------
        model : estimator
            Whose latest run this is.
        """
        if self._ceilings:
            setattr(model, RUN, self.key)

    def reserve(self, most: Claim | Receipt, *, begins: bool) -> None:
        """Set aside what the run may spend at most, under each ceiling.

        Parameters
        ----------
        most : Claim or Receipt
            What it may spend, or what it will release.
        begins : bool
            Whether something may be released from now on.

        Raises
        ------
        BudgetExceededError
            If a ceiling would be exceeded, or was closed in the meantime.
        """
        # Under several ceilings all have to agree before the run begins under any.
        stages = (False, True) if begins and len(self._ceilings) > 1 else (begins,)
        try:
            for stage in stages:
                for ceiling in self._ceilings:
                    self._reserve(ceiling, most, stage)
        except BaseException:
            self.cancel()
            raise

    def _reserve(self, ceiling: Ceiling, most: Claim | Receipt, begins: bool) -> None:
        line = ceiling.book.path, self.key
        if _standing.get(line) == most:
            return
        try:
            ceiling.book.reserve(self.key, self._who, most, begins=begins)
        except FileNotFoundError:
            raise _closed(self._who, ceiling) from None
        if begins:
            _standing[line] = most

    def settle(self, receipt: Receipt) -> None:
        """Replace what is set aside by what was spent. After closing, what was set aside stays.

        Parameters
        ----------
        receipt : Receipt
            What the run has released.
        """
        for ceiling in self._ceilings:
            _standing.pop((ceiling.book.path, self.key), None)
            try:
                ceiling.book.settle(self.key, receipt)
            except FileNotFoundError:
                continue

    def cancel(self) -> None:
        """Give back what is set aside for a run that has not begun."""
        for ceiling in self._ceilings:
            try:
                ceiling.book.cancel(self.key)
            except FileNotFoundError:
                continue


def charge_for(model: Any, *, goes_on: bool = False) -> Charge:
    """The charge of a run of an estimator; to be asked for before it touches its data.

    Parameters
    ----------
    model : estimator
        Which is about to be fitted.
    goes_on : bool, default=False
        Whether its latest run goes on with rows that nobody has asked about, so that what is set
        aside for one part of them is for all. It has to be in the process where it began.

    Raises
    ------
    BudgetExceededError
        If the estimator belongs to work under a ceiling that is closed.
    """
    who, key = type(model).__name__, f"{os.getpid()}-{token_hex(16)}"
    latest = vars(model).get(RUN, "")
    if goes_on and latest.startswith(f"{os.getpid()}-"):
        key = latest
    if _is_covered.get():
        return Charge(key, who, [])
    found: dict[str, Ceiling] = {}
    for ceiling in _opened_here():
        if not ceiling.book.here:
            raise _closed(who, ceiling)
        found[ceiling.book.path] = ceiling
    for ceiling in (Ceiling.of_token(token) for token in vars(model).get(TOKENS, ())):
        if ceiling.void:
            continue
        if not ceiling.book.here:
            raise _closed(who, ceiling)
        found[ceiling.book.path] = ceiling
    for ceiling in _opened_above():
        found[ceiling.book.path] = ceiling
    return Charge(key, who, [*found.values()])


@contextmanager
def covered() -> Iterator[None]:
    """Fits in the block, in this thread, are paid for by a charge of the code around it.

    For methods that fit several times and publish one event for all of it.
    """
    token = _is_covered.set(True)
    try:
        yield
    finally:
        _is_covered.reset(token)


def _opened_here() -> list[Ceiling]:
    return [*_open.values()]


def _tell_children() -> None:
    """Keep the environment of processes that begin from now on up to date."""
    above = [ceiling for ceiling in _opened_above() if ceiling.book.path not in _open]
    tokens = [ceiling.token for ceiling in (*above, *_opened_here())]
    if tokens:
        os.environ[_ENVIRONMENT] = json.dumps(tokens)
    else:
        os.environ.pop(_ENVIRONMENT, None)


def _opened_above() -> list[Ceiling]:
    """Ceilings that are open in the process that has started this one, or above it."""
    tokens = [tuple(token) for token in json.loads(os.environ.get(_ENVIRONMENT, "[]"))]
    found = [Ceiling.of_token(token) for token in tokens if token[-1] == platform.node()]
    return [ceiling for ceiling in found if ceiling.owner != os.getpid() and ceiling.book.here]


def _closed(who: str, ceiling: Ceiling) -> BudgetExceededError:
    book = ceiling.book
    return BudgetExceededError(
        f"{who} was handed out under a PrivacyBudget(epsilon={book.epsilon:.6g}, "
        f"delta={book.delta:.6g}) that is closed or whose file is gone, so that there is nothing "
        "to charge. Keep the budget open until all work is done, or make a new estimator. Nothing "
        "was read."
    )
