"""Store of an open privacy budget: a small file that processes share.

It keeps of each run what is reserved for it, or what it has cost. Whoever reads or writes has the
file to himself, so that of two fits that would exceed the budget together one is refused, wherever
they run. Connections are opened for a single use, because none may be taken along into a forked
child.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import lru_cache
from math import fsum, isinf
from pathlib import Path
from typing import NamedTuple, NoReturn, final

from ..exceptions import BudgetExceededError
from ..privacy.accounting.calculus import ThresholdedGaussianDP
from ..privacy.accounting.ledger import PrivacySpent
from ..privacy.adjacency import Adjacency, PrivacyUnit
from .privacy_filters import (
    FILTERS,
    Amount,
    Filter,
    GaussianFilter,
    RenyiFilter,
    SumsFilter,
    ThresholdFilter,
)
from .receipts import Receipt, SpendBound

# Set where it is known that a fit to come needs the rule with thresholds.
thresholds_to_come: ContextVar[bool] = ContextVar("thresholds_to_come", default=False)
# Seconds to wait for others to finish their entry.
_PATIENCE = 120.0


class Entry(NamedTuple):
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
    rule : str
        Name of the rule, which is the same for all runs.
    number : int
        Numbers increase in the order of reservations.
    process : int
        Number of the process that it ran in.
    adjacency : Adjacency
        Neighbouring relation of ``spent``, which is that of the run; ``amount`` and ``delta`` are
        under that of the budget.
    begun : bool
        Whether something may have been released.
    settled : bool, default=False
        Whether it has ended and said what it has spent.
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
    rule: str
    number: int
    process: int
    adjacency: Adjacency
    begun: bool
    settled: bool = False
    copied: bool = False
    looked_up: bool = False


class Summary(NamedTuple):
    """State of the store: all entries in order, the rule in force, and the total.

    Before there is a run, the rule is the first that is possible.
    """

    entries: tuple[Entry, ...]
    rule: Filter
    total: Amount


@final
@dataclass(frozen=True)
class BudgetStore:
    """An open privacy budget: the file that keeps its entries, and the rule by which they add up.

    Estimators carry it along in their pickles, so it holds no secret and no connection.

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

    def __post_init__(self) -> None:
        # As they come out of the environment of a process.
        object.__setattr__(self, "adjacency", Adjacency(self.adjacency))
        object.__setattr__(self, "unit", PrivacyUnit(self.unit))

    def create(self) -> None:
        """Begin the file, for its owner alone to read and write."""
        os.close(os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        with closing(self._connection()) as db:
            columns = ", ".join(Entry._fields).replace("spent", "own_epsilon, own_delta")
            db.execute(f"CREATE TABLE runs (key PRIMARY KEY, {columns})")

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
        """Set aside what a run may spend at most, or raise what is set aside for it already.

        ``begins`` tells that something may be released from now on.

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
        with self._runs() as runs:
            rule, number = self._rule(runs, but=key), _latest(runs) + 1
            before = runs.pop(key, None)
            kept, others = _reserved(before), _total(runs.values())
            possible = self._possible
            if thresholds_to_come.get() and self.accounting == "auto":
                possible = tuple(r for r in possible if r.name != GaussianFilter.name)
            for candidate in [rule] if rule is not None else possible:
                amount = candidate.reserved(most)
                amount = Amount(max(amount.main, kept.main), max(amount.delta, kept.delta))
                total = Amount(others.main + amount.main, others.delta + amount.delta)
                if candidate.holds(total):
                    break
            else:
                self._refuse(who, most, candidate, others)
            begun = begins or (before is not None and before.begun)
            runs[key] = Entry(
                *(who, _stated(most), *amount, candidate.name, number, os.getpid()),
                *(most.adjacency, begun),
                copied=copied,
            )

    def settle(self, key: str, receipt: Receipt) -> None:
        """Replace what is reserved for a run by what it has cost."""
        with self._runs() as runs:
            rule, run = self._rule(runs), runs.get(key)
            if rule is None or run is None:
                return
            main, delta = rule.settled(_reserved(run), receipt)
            run = run._replace(spent=receipt.spent, adjacency=receipt.adjacency)
            runs[key] = run._replace(amount=main, delta=delta, begun=True, settled=True)
            if not (main or delta):
                del runs[key]

    def cancel(self, key: str) -> None:
        """Take a run out of the store, unless it may have released something."""
        with self._runs() as runs:
            if key in runs and not runs[key].begun:
                del runs[key]

    def latest(self) -> int:
        """Number of the latest reservation; later ones have larger numbers."""
        with self._runs() as runs:
            return _latest(runs)

    def note_looked_up(self, after: int) -> None:
        """Note that the code around runs was looked up, of those with larger numbers."""
        with self._runs() as runs:
            for key, run in runs.items():
                if run.number > after:
                    runs[key] = run._replace(looked_up=True)

    def read(self) -> Summary:
        """Current state of the store."""
        with self._runs() as runs:
            return self._summary(runs)

    def close(self) -> Summary:
        """Let nothing be written any more, whoever has the file open, and read it once more."""
        with self._runs(closes=True) as runs:
            return self._summary(runs)

    def _summary(self, runs: dict[str, Entry]) -> Summary:
        entries = tuple(map(_plain, runs.values()))
        return Summary(entries, self._rule(runs) or self._possible[0], _total(entries))

    @property
    def _possible(self) -> tuple[Filter, ...]:
        return _filters(self.epsilon, self.delta, self.adjacency, self.accounting)

    def _rule(self, runs: dict[str, Entry], but: str = "") -> Filter | None:
        """The rule in force, which is settled by the first run that stays in the store.

        A run that has not begun yet does not bind itself.
        """
        if len(self._possible) == 1:
            return self._possible[0]
        names = [run.rule for key, run in runs.items() if key != but or run.begun]
        return next((rule for rule in self._possible if rule.name in names), None)

    def _refuse(
        self, who: str, most: SpendBound | Receipt, rule: Filter, others: Amount
    ) -> NoReturn:
        left, stated = rule.left(others), _stated(most)
        advice = "give it a smaller budget, or end here"
        if isinstance(rule, GaussianFilter) and isinf(rule.reserved(most).main):
            calculus = most.calculus if isinstance(most, SpendBound) else None
            has_threshold = isinstance(calculus, ThresholdedGaussianDP)
            needed = ThresholdFilter.name if has_threshold else RenyiFilter.name
            advice = (
                "its releases have no price in the Gaussian accounting that the first fit has "
                f"settled; open the budget with accounting='{needed}' to mix them"
            )
        raise BudgetExceededError(
            f"{who} may spend epsilon={stated.epsilon:.6g} at delta={stated.delta:.6g}, but of the "
            f"PrivacyBudget(epsilon={self.epsilon:.6g}, delta={self.delta:.6g}) there is "
            f"epsilon={left.epsilon:.6g} at delta={left.delta:.6g} left; {advice}. Nothing was "
            "read."
        )

    @contextmanager
    def _runs(self, *, closes: bool = False) -> Iterator[dict[str, Entry]]:
        """All runs in order, by their keys, with the file to itself; changes stay unless it fails.

        Raises
        ------
        FileNotFoundError
            If the budget is closed.
        """
        # Closed without a commit, it has changed nothing.
        with closing(self._connection()) as db:
            # A machine that stops takes its processes along; only these have to be survived.
            db.execute("PRAGMA synchronous = OFF")
            db.execute("BEGIN IMMEDIATE")
            # A file that was removed may still be open here.
            if db.execute("SELECT 1 FROM sqlite_master").fetchone() is None:
                raise FileNotFoundError(self.path)
            lines = db.execute("SELECT * FROM runs ORDER BY number")
            before = {k: Entry(who, PrivacySpent(e, own), *x) for k, who, e, own, *x in lines}
            after = dict(before)
            yield after
            for key in before.keys() - after.keys():
                db.execute("DELETE FROM runs WHERE key = ?", (key,))
            for key, run in after.items():
                if run is not before.get(key):
                    values = key, run.who, *run.spent, *run[2:]
                    marks = ", ".join("?" * len(values))
                    db.execute(f"INSERT OR REPLACE INTO runs VALUES ({marks})", values)
            if closes:
                db.execute("DROP TABLE runs")
            db.execute("COMMIT")

    def _connection(self) -> sqlite3.Connection:
        address = Path(self.path).absolute().as_uri() + "?mode=rw"
        try:
            return sqlite3.connect(address, uri=True, timeout=_PATIENCE, isolation_level=None)
        except sqlite3.OperationalError as failure:
            raise FileNotFoundError(self.path) from failure


@lru_cache(maxsize=32)
def _filters(
    epsilon: float, delta: float, adjacency: Adjacency, accounting: str
) -> tuple[Filter, ...]:
    """Rules that may come into force, in the order in which they are tried."""
    # Sums alone are of pure epsilon.
    every = list(FILTERS) if delta else [SumsFilter.name]
    names = every if accounting == "auto" else [accounting]
    return tuple(FILTERS[name](epsilon, delta, adjacency) for name in names)


def _plain(run: Entry) -> Entry:
    """Entry with the relation and the flags as such, which in the file are texts and numbers."""
    return run._replace(
        adjacency=Adjacency(run.adjacency),
        begun=bool(run.begun),
        settled=bool(run.settled),
        copied=bool(run.copied),
        looked_up=bool(run.looked_up),
    )


def _latest(runs: dict[str, Entry]) -> int:
    return max((run.number for run in runs.values()), default=0)


def _reserved(run: Entry | None) -> Amount:
    return Amount(0.0) if run is None else Amount(run.amount, run.delta)


def _total(runs: Iterable[Entry]) -> Amount:
    entries = [*runs]
    return Amount(fsum(run.amount for run in entries), fsum(run.delta for run in entries))


def _stated(most: SpendBound | Receipt) -> PrivacySpent:
    fits = 1
    if isinstance(most, SpendBound):
        most, fits = most.most, most.fits
    return PrivacySpent(fits * most.spent.epsilon, min(1.0, fits * most.spent.delta))
