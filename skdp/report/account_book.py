"""The book of a ceiling: a small file that processes share.

One line a run: what is reserved for it, or what it has cost. Whoever writes takes the lock of the
file first, so that of two fits that would exceed the ceiling together one is refused, wherever they
run. Connections are opened for a single entry, because none may be taken along into a forked child.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from math import fsum, isinf
from pathlib import Path
from typing import NamedTuple, NoReturn, final

from ..exceptions import BudgetExceededError
from ..privacy.accounting.ledger import PrivacySpent
from ..privacy.adjacency import Adjacency
from .claims import Claim
from .filters import FILTERS, Amount, Filter
from .receipts import Receipt

__all__ = ["AccountBook", "Entry", "Summary"]

# Seconds to wait for others to finish their entry.
_PATIENCE = 120.0
# Stages of a run: nothing is released yet; something may be; it has ended and said what it was.
_PLANNED, _BEGUN, _ENDED = 0, 1, 2


@dataclass(frozen=True)
class Entry:
    """A run on the book of a ceiling.

    Parameters
    ----------
    who : str
        What was fitted.
    spent : PrivacySpent
        What the run has spent by its own account, or, while it is going on, may spend.
    amount : float
        What it counts against the ceiling, in the unit of the rule that keeps it.
    delta : float
        What it counts in delta, which only sums do.
    settled : bool
        Whether it has ended and said what it has spent.
    process : int
        Number of the process that it ran in.
    """

    who: str
    spent: PrivacySpent
    amount: float
    delta: float
    settled: bool
    process: int


class Summary(NamedTuple):
    """State of the store: all entries, the rule in force, and the total.

    Parameters
    ----------
    entries : tuple of Entry
        All runs, in order.
    rule : Filter
        The rule in force; before there is a run, the first that is possible.
    total : Amount
        The sum of all runs.
    """

    entries: tuple[Entry, ...]
    rule: Filter
    total: Amount


@final
@dataclass(frozen=True)
class AccountBook:
    """The book of a ceiling, and the rule that keeps it.

    Parameters
    ----------
    path : str
        The file.
    epsilon, delta : float
        The ceiling.
    adjacency : Adjacency
        Neighbouring relation.
    accounting : str
        ``'auto'`` or the name of a rule.

    Guarantees
    ----------
    - ``reserve`` either sets the whole amount aside or raises and changes nothing.
    - What is on the book never exceeds the limit of the rule.
    - An entry that was not settled keeps all that was reserved.
    """

    path: str
    epsilon: float
    delta: float
    adjacency: Adjacency
    accounting: str

    def create(self) -> None:
        """Begin the file, for its owner alone to read and write."""
        os.close(os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        with self._open(new=True) as book:
            book.execute("CREATE TABLE rule (name TEXT)")
            book.execute("CREATE TABLE closed (at TEXT)")
            book.execute(
                "CREATE TABLE runs (key TEXT PRIMARY KEY, who TEXT, epsilon REAL, own_delta REAL, "
                "amount REAL, delta REAL, stage INTEGER, process INTEGER)"
            )

    @property
    def here(self) -> bool:
        """Tell whether the file exists, which it does as long as the budget is open."""
        return os.path.exists(self.path)

    def reserve(self, key: str, who: str, most: Claim | Receipt, *, begins: bool) -> None:
        """Set aside what a run may spend, or raise what is set aside for it already.

        Parameters
        ----------
        key : str
            Which run.
        who : str
            What is fitted.
        most : Claim or Receipt
            What it may spend at most.
        begins : bool
            Whether something may be released from now on.

        Raises
        ------
        BudgetExceededError
            If the ceiling would be exceeded.
        """
        with self._open() as book:
            others = _total(book, "WHERE key != ?", (key,))
            rule = self._rule(book, but=key)
            tried = [rule] if rule is not None else self._possible
            for candidate in tried:
                amount = candidate.reserved(most)
                held = self._held(book, key)
                amount = Amount(max(amount.main, held.main), max(amount.delta, held.delta))
                total = Amount(others.main + amount.main, others.delta + amount.delta)
                if candidate.holds(total):
                    break
            else:
                self._refuse(who, most, candidate, others)
            if rule is None:
                book.execute("DELETE FROM rule")
                book.execute("INSERT INTO rule VALUES (?)", (candidate.name,))
            stated = _stated(most)
            found = book.execute("SELECT stage FROM runs WHERE key = ?", (key,)).fetchone()
            stage = min(_BEGUN, found[0]) if found else _PLANNED
            book.execute(
                "INSERT OR REPLACE INTO runs VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                (key, who, *stated, *amount, max(stage, int(begins)), os.getpid()),
            )

    def settle(self, key: str, receipt: Receipt) -> None:
        """Replace what is reserved for a run by what it has cost.

        Parameters
        ----------
        key : str
            Which run.
        receipt : Receipt
            What it has released.
        """
        with self._open() as book:
            rule = self._rule(book)
            if rule is None:
                return
            amount = rule.settled(self._held(book, key), receipt)
            if not any(amount):
                book.execute("DELETE FROM runs WHERE key = ?", (key,))
                return
            book.execute(
                "UPDATE runs SET amount = ?, delta = ?, epsilon = ?, own_delta = ?, stage = ? "
                "WHERE key = ?",
                (*amount, *receipt.spent, _ENDED, key),
            )

    def cancel(self, key: str) -> None:
        """Take a run off the book, unless it may have released something.

        Parameters
        ----------
        key : str
            Which run.
        """
        with self._open() as book:
            book.execute("DELETE FROM runs WHERE key = ? AND stage = ?", (key, _PLANNED))

    def read(self) -> Summary:
        """Current state of the store."""
        with self._open() as book:
            return self._summary(book)

    def close(self) -> Summary:
        """Let nothing be written any more, whoever has the file open, and read it once more."""
        with self._open() as book:
            book.execute("INSERT INTO closed VALUES ('now')")
            return self._summary(book)

    def _summary(self, book: sqlite3.Connection) -> Summary:
        lines = book.execute(
            "SELECT who, epsilon, own_delta, amount, delta, stage, process FROM runs ORDER BY rowid"
        ).fetchall()
        entries = tuple(
            Entry(who, PrivacySpent(epsilon, own), amount, delta, stage == _ENDED, process)
            for who, epsilon, own, amount, delta, stage, process in lines
        )
        return Summary(entries, self._rule(book) or self._possible[0], _total(book))

    @cached_property
    def _possible(self) -> list[Filter]:
        names = list(FILTERS) if self.accounting == "auto" else [self.accounting]
        return [FILTERS[name](self.epsilon, self.delta, self.adjacency) for name in names]

    def _rule(self, book: sqlite3.Connection, but: str = "") -> Filter | None:
        """The rule in force, which is settled by the first run that stays on the book.

        A run that has not begun yet does not bind itself.
        """
        if len(self._possible) == 1:
            return self._possible[0]
        binding = "SELECT 1 FROM runs WHERE key != ? OR stage != ? LIMIT 1"
        if book.execute(binding, (but, _PLANNED)).fetchone() is None:
            return None
        (name,) = book.execute("SELECT name FROM rule").fetchone()
        return next(rule for rule in self._possible if rule.name == name)

    @staticmethod
    def _held(book: sqlite3.Connection, key: str) -> Amount:
        line = book.execute("SELECT amount, delta FROM runs WHERE key = ?", (key,)).fetchone()
        return Amount(*line) if line else Amount(0.0)

    def _refuse(self, who: str, most: Claim | Receipt, rule: Filter, others: Amount) -> NoReturn:
        left, stated = rule.left(others), _stated(most)
        advice = "give it a smaller budget, or end here"
        if rule.name == "gaussian" and isinf(rule.reserved(most).main):
            advice = (
                "its releases have no price in the Gaussian accounting that the first fit has "
                "settled; open the budget with accounting='renyi' to mix them"
            )
        raise BudgetExceededError(
            f"{who} may spend epsilon={stated.epsilon:.6g} at delta={stated.delta:.6g}, but of the "
            f"PrivacyBudget(epsilon={self.epsilon:.6g}, delta={self.delta:.6g}) there is "
            f"epsilon={left.epsilon:.6g} at delta={left.delta:.6g} left; {advice}. Nothing was "
            "read."
        )

    @contextmanager
    def _open(self, *, new: bool = False) -> Iterator[sqlite3.Connection]:
        """A transaction that has the file to itself.

        Raises
        ------
        FileNotFoundError
            If the ceiling is closed.
        """
        address = Path(self.path).absolute().as_uri() + "?mode=rw"
        try:
            book = sqlite3.connect(address, uri=True, timeout=_PATIENCE, isolation_level=None)
        except sqlite3.OperationalError as failure:
            raise FileNotFoundError(self.path) from failure
        try:
            # A machine that stops takes its processes along; only these have to be survived.
            book.execute("PRAGMA synchronous = OFF")
            book.execute("BEGIN IMMEDIATE")
            try:
                # A file that was removed may still be open here.
                if not new and book.execute("SELECT 1 FROM closed").fetchone():
                    raise FileNotFoundError(self.path)
                yield book
            except BaseException:
                book.execute("ROLLBACK")
                raise
            book.execute("COMMIT")
        finally:
            book.close()


def _total(book: sqlite3.Connection, where: str = "", values: tuple[str, ...] = ()) -> Amount:
    lines = book.execute(f"SELECT amount, delta FROM runs {where}", values).fetchall()
    return Amount(fsum(line[0] for line in lines), fsum(line[1] for line in lines))


def _stated(most: Claim | Receipt) -> PrivacySpent:
    fits = 1
    if isinstance(most, Claim):
        most, fits = most.most, most.fits
    return PrivacySpent(fits * most.spent.epsilon, min(1.0, fits * most.spent.delta))
