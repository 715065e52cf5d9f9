"""Which ceilings a fit is under, and how it is charged to them.

Ceilings are set by :class:`skdp.PrivacyBudget`. A fit is under

* all that are open in its process, whichever thread it runs in, because libraries that spread work
  over threads do not pass context along;
* all whose token it carries. Estimators take tokens along when they are cloned, copied or pickled
  while a ceiling is open, so that a worker process that clones once more still charges;
* all that are open in the process that has started its process as a worker, or above that where
  the system tells, for estimators that are made in the worker.

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
from contextlib import contextmanager, suppress
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
_TOKEN_FILE, _BOOK_FILE = "token.json", "book.sqlite"
# Where workers look, too: their folder for temporary files may be another than that of the process
# that has started them.
_COMMON = "/tmp" if os.name == "posix" else os.path.expanduser("~/AppData/Local/Temp")

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
        token = json.dumps(ceiling.token)
        Path(folder, _TOKEN_FILE).write_text(token)
        for place in ceiling._places[1:]:
            # It may be read-only, and then all processes have been given another folder.
            with suppress(OSError):
                place.mkdir(mode=0o700)
                (place / _TOKEN_FILE).write_text(token)
        _open[book.path] = ceiling
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
        try:
            return self.book.close()
        finally:
            for place in self._places:
                shutil.rmtree(place, ignore_errors=True)

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
    def _places(self) -> tuple[Path, ...]:
        """Folders that tell of it; the book is in the first."""
        folder = Path(self.book.path).parent
        return tuple(dict.fromkeys((folder, Path(_COMMON, folder.name))))

    @property
    def void(self) -> bool:
        """Whether it is closed, and this the process that opened it."""
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
    """Those of tokens just unpickled that still mean something here.

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
    for ceiling in _opened_by_parent():
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


def _opened_by_parent() -> list[Ceiling]:
    above, found = _processes_above(), {}
    homes = dict.fromkeys((tempfile.gettempdir(), _COMMON))
    for folder in (f for home in homes if above for f in Path(home).glob(f"{_PREFIX}*")):
        if folder.name.removeprefix(_PREFIX).partition("-")[0] not in above:
            continue
        try:
            # Other users may make folders of any name, but none that is this user's.
            if hasattr(os, "getuid") and folder.stat().st_uid != os.getuid():
                continue
            ceiling = Ceiling.of_token(tuple(json.loads((folder / _TOKEN_FILE).read_text())))
        except (OSError, ValueError):
            continue
        if ceiling.book.here and str(ceiling.owner) in above:
            found[ceiling.book.path] = ceiling
    return [*found.values()]


def _processes_above() -> list[str]:
    """The process that has started this worker, and those above it where the system tells."""
    parent = multiprocessing.parent_process()
    above = [] if parent is None else [str(parent.pid)]
    with suppress(OSError):
        while above:
            status = Path("/proc", above[-1], "stat").read_text(errors="replace")
            above.append(status.rpartition(")")[2].split()[1])
    return above


def _closed(who: str, ceiling: Ceiling) -> BudgetExceededError:
    book = ceiling.book
    return BudgetExceededError(
        f"{who} was handed out under a PrivacyBudget(epsilon={book.epsilon:.6g}, "
        f"delta={book.delta:.6g}) that is closed or whose file is gone, so that there is nothing "
        "to charge. Keep the budget open until all work is done, or make a new estimator. Nothing "
        "was read."
    )
