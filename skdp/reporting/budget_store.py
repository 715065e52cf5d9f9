"""Store of an open privacy budget: a small file that processes share.

One line a run: what is reserved for it, or what it has cost. Whoever writes takes the lock of the
file first, so that of two fits that would exceed the budget together one is refused, wherever they
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
from typing import Any, NamedTuple, NoReturn, Self, final

from ..exceptions import BudgetExceededError
from ..privacy.accounting.ledger import PrivacySpent
from ..privacy.adjacency import Adjacency, PrivacyUnit
from .filters import FILTERS, Amount, Filter, SumsFilter
from .receipts import Receipt, SpendBound

# Seconds to wait for others to finish their entry.
_PATIENCE = 120.0
# Stages of a run: nothing is released yet; something may be; it has ended and said what it was.
_RESERVED, _BEGUN, _ENDED = 0, 1, 2


@dataclass(frozen=True)
class Entry:
    """Entry of a run in the store of a privacy budget.

    Parameters
    ----------
    who : str
        What was fitted.
    spent : PrivacySpent
        What the run has spent by its own account, or, while it is going on, may spend.
    amount : float
        What it counts against the budget, in the unit of the rule that keeps it.
    delta : float
        What it counts in delta, which only sums do.
    settled : bool
        Whether it has ended and said what it has spent.
    process : int
        Number of the process that it ran in.
    adjacency : Adjacency, default=Adjacency.REPLACE_ONE
        Neighbouring relation of ``spent``, which is that of the run; ``amount`` and ``delta`` are
        under that of the budget.
    copied : bool, default=False
        Whether the estimator was a copy that was made while the budget was open, as code around
        fits makes them.
    looked_up : bool, default=False
        Whether :meth:`skdp.PrivacyBudget.fit` has looked up the code around the run.
    """

    who: str
    spent: PrivacySpent
    amount: float
    delta: float
    settled: bool
    process: int
    adjacency: Adjacency = Adjacency.REPLACE_ONE
    copied: bool = False
    looked_up: bool = False


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
class BudgetStore:
    """An open privacy budget: the file that keeps its entries, and the rule by which they add up.

    Parameters
    ----------
    path : str
        The file.
    epsilon, delta : float
        The budget.
    adjacency : Adjacency
        Neighbouring relation.
    unit : PrivacyUnit
        What its fits protect.
    accounting : str
        ``'auto'`` or the name of a rule.
    owner : int
        Number of the process that opened the budget.
    host : str
        Name of its machine.

    Guarantees
    ----------
    - ``reserve`` either sets the whole amount aside or raises and changes nothing.
    - The total of all entries never exceeds the limit of the rule.
    - An entry that was not settled keeps all that was reserved.
    """

    path: str
    epsilon: float
    delta: float
    adjacency: Adjacency
    unit: PrivacyUnit
    accounting: str
    owner: int
    host: str

    @property
    def token(self) -> tuple[Any, ...]:
        """All fields in plain types, to be pickled."""
        numbers = self.path, self.epsilon, self.delta
        promise = str(self.adjacency), str(self.unit), self.accounting
        return (*numbers, *promise, self.owner, self.host)

    @classmethod
    def of_token(cls, token: tuple[Any, ...]) -> Self:
        """Store of a token.

        Parameters
        ----------
        token : tuple
            As ``token`` returns it.
        """
        path, epsilon, delta, adjacency, unit, *rest = token
        return cls(path, epsilon, delta, Adjacency(adjacency), PrivacyUnit(unit), *rest)

    def create(self) -> None:
        """Begin the file, for its owner alone to read and write."""
        os.close(os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        with self._open(new=True) as db:
            db.execute("CREATE TABLE rule (name TEXT)")
            db.execute("CREATE TABLE closed (at TEXT)")
            db.execute(
                "CREATE TABLE runs (key TEXT PRIMARY KEY, who TEXT, epsilon REAL, own_delta REAL, "
                "amount REAL, delta REAL, stage INTEGER, process INTEGER, "
                "adjacency TEXT, copied INTEGER, looked_up INTEGER)"
            )

    @property
    def is_open(self) -> bool:
        """True as long as the file exists, which it does until the budget is closed."""
        return os.path.exists(self.path)

    @property
    def is_void(self) -> bool:
        """True if the budget is closed and this is the process that opened it."""
        return self.owner == os.getpid() and not self.is_open

    def reserve(
        self,
        key: str,
        who: str,
        most: SpendBound | Receipt,
        *,
        begins: bool,
        copied: bool = False,
    ) -> None:
        """Set aside what a run may spend, or raise what is set aside for it already.

        Parameters
        ----------
        key : str
            Which run.
        who : str
            What is fitted.
        most : SpendBound or Receipt
            What it may spend at most.
        begins : bool
            Whether something may be released from now on.
        copied : bool, default=False
            Whether the estimator is a copy that was made while the budget was open.

        Raises
        ------
        BudgetExceededError
            If the budget would be exceeded.
        ValueError
            If the run protects another privacy unit.
        """
        if most.unit is not self.unit:
            declared = most.unit is PrivacyUnit.DECLARED
            instead = "fit without privacy_unit" if declared else "pass privacy_unit to the fit"
            raise ValueError(
                f"{who} protects a {most.unit.one}, and the PrivacyBudget that is open needs fits "
                f"that protect a {self.unit.one}. Open one with privacy_unit={declared}, or "
                f"{instead}. Nothing was read."
            )
        with self._open() as db:
            others = _total(db, "WHERE key != ?", (key,))
            rule = self._rule(db, but=key)
            tried = [rule] if rule is not None else self._possible
            for candidate in tried:
                amount = candidate.reserved(most)
                before = self._reserved_for(db, key)
                amount = Amount(max(amount.main, before.main), max(amount.delta, before.delta))
                total = Amount(others.main + amount.main, others.delta + amount.delta)
                if candidate.holds(total):
                    break
            else:
                self._refuse(who, most, candidate, others)
            if rule is None:
                db.execute("DELETE FROM rule")
                db.execute("INSERT INTO rule VALUES (?)", (candidate.name,))
            stated, relation = _stated(most), str(most.adjacency)
            found = db.execute("SELECT stage FROM runs WHERE key = ?", (key,)).fetchone()
            stage = min(_BEGUN, found[0]) if found else _RESERVED
            db.execute(
                "INSERT OR REPLACE INTO runs VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 0)",
                (
                    *(key, who, *stated, *amount, max(stage, int(begins)), os.getpid(), relation),
                    int(copied),
                ),
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
        with self._open() as db:
            rule = self._rule(db)
            if rule is None:
                return
            amount = rule.settled(self._reserved_for(db, key), receipt)
            if not any(amount):
                db.execute("DELETE FROM runs WHERE key = ?", (key,))
                return
            db.execute(
                "UPDATE runs SET amount = ?, delta = ?, epsilon = ?, own_delta = ?, "
                "adjacency = ?, stage = ? WHERE key = ?",
                (*amount, *receipt.spent, str(receipt.adjacency), _ENDED, key),
            )

    def cancel(self, key: str) -> None:
        """Take a run out of the store, unless it may have released something.

        Parameters
        ----------
        key : str
            Which run.
        """
        with self._open() as db:
            db.execute("DELETE FROM runs WHERE key = ? AND stage = ?", (key, _RESERVED))

    def latest(self) -> int:
        """Number of the latest reservation; later ones have larger numbers."""
        with self._open() as db:
            (number,) = db.execute("SELECT coalesce(max(rowid), 0) FROM runs").fetchone()
            return int(number)

    def note_looked_up(self, after: int) -> None:
        """Note that the code around runs was looked up.

        Parameters
        ----------
        after : int
            Number of the latest reservation before them.
        """
        with self._open() as db:
            db.execute("UPDATE runs SET looked_up = 1 WHERE rowid > ?", (after,))

    def read(self) -> Summary:
        """Current state of the store."""
        with self._open() as db:
            return self._summary(db)

    def close(self) -> Summary:
        """Let nothing be written any more, whoever has the file open, and read it once more."""
        with self._open() as db:
            db.execute("INSERT INTO closed VALUES ('now')")
            return self._summary(db)

    def _summary(self, db: sqlite3.Connection) -> Summary:
        lines = db.execute(
            "SELECT who, epsilon, own_delta, amount, delta, stage, process, adjacency, copied, "
            "looked_up FROM runs ORDER BY rowid"
        ).fetchall()
        entries = tuple(
            Entry(
                *(who, PrivacySpent(e, own), amount, delta, stage == _ENDED, process),
                Adjacency(of),
                bool(copied),
                bool(looked_up),
            )
            for who, e, own, amount, delta, stage, process, of, copied, looked_up in lines
        )
        return Summary(entries, self._rule(db) or self._possible[0], _total(db))

    @cached_property
    def _possible(self) -> list[Filter]:
        # Sums alone are of pure epsilon.
        every = list(FILTERS) if self.delta else [SumsFilter.name]
        names = every if self.accounting == "auto" else [self.accounting]
        return [FILTERS[name](self.epsilon, self.delta, self.adjacency) for name in names]

    def _rule(self, db: sqlite3.Connection, but: str = "") -> Filter | None:
        """The rule in force, which is settled by the first run that stays in the store.

        A run that has not begun yet does not bind itself.
        """
        if len(self._possible) == 1:
            return self._possible[0]
        binding = "SELECT 1 FROM runs WHERE key != ? OR stage != ? LIMIT 1"
        if db.execute(binding, (but, _RESERVED)).fetchone() is None:
            return None
        (name,) = db.execute("SELECT name FROM rule").fetchone()
        return next(rule for rule in self._possible if rule.name == name)

    @staticmethod
    def _reserved_for(db: sqlite3.Connection, key: str) -> Amount:
        line = db.execute("SELECT amount, delta FROM runs WHERE key = ?", (key,)).fetchone()
        return Amount(*line) if line else Amount(0.0)

    def _refuse(
        self, who: str, most: SpendBound | Receipt, rule: Filter, others: Amount
    ) -> NoReturn:
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
            If the budget is closed.
        """
        address = Path(self.path).absolute().as_uri() + "?mode=rw"
        try:
            db = sqlite3.connect(address, uri=True, timeout=_PATIENCE, isolation_level=None)
        except sqlite3.OperationalError as failure:
            raise FileNotFoundError(self.path) from failure
        try:
            # A machine that stops takes its processes along; only these have to be survived.
            db.execute("PRAGMA synchronous = OFF")
            db.execute("BEGIN IMMEDIATE")
            try:
                # A file that was removed may still be open here.
                if not new and db.execute("SELECT 1 FROM closed").fetchone():
                    raise FileNotFoundError(self.path)
                yield db
            except BaseException:
                db.execute("ROLLBACK")
                raise
            db.execute("COMMIT")
        finally:
            db.close()


def _total(db: sqlite3.Connection, where: str = "", values: tuple[str, ...] = ()) -> Amount:
    lines = db.execute(f"SELECT amount, delta FROM runs {where}", values).fetchall()
    return Amount(fsum(line[0] for line in lines), fsum(line[1] for line in lines))


def _stated(most: SpendBound | Receipt) -> PrivacySpent:
    fits = 1
    if isinstance(most, SpendBound):
        most, fits = most.most, most.fits
    return PrivacySpent(fits * most.spent.epsilon, min(1.0, fits * most.spent.delta))
