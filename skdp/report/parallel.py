"""Receipts of disjoint parts of a stream, which compose in parallel."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import chain
from typing import Self

from ..privacy.accounting.events import Event, GaussianEvent, Part, PrefixSumEvent, Site
from ..privacy.accounting.ledger import Ledger, PrivacySpent
from .receipts import Receipt

__all__ = ["Parts"]

# As many receipts are kept one by one.
_KEPT = 16


@dataclass(frozen=True)
class _Receipt:
    """Receipt of one part; without events its whole budget, as long as the part goes on."""

    part: Part
    events: tuple[Event, ...] | None
    spent: PrivacySpent


class Parts:
    """Parallel composition of the parts of a stream: the largest spend of one part.

    Whoever exchanges one row changes what one part holds. The answers about that part are
    (epsilon, delta)-DP by its own ledger, and all that is done before and after it does not depend
    on the row but through them. So parts that have no row in common compose in parallel: the spend
    of all is the largest spend of one.

    The latest 16 receipts are kept one by one. Earlier ones are folded: of consecutive parts the
    receipt of the most expensive one stays, under the positions of all of them and with their
    number, so that the spend can be recomputed from what is left and memory does not grow. Gaussian
    receipts are folded with Gaussian ones, and others with others.

    Guarantees
    ----------
    - Parts follow each other without a row in common.
    - No folding changes the spend, and every row that was charged is on the receipt.
    """

    def __init__(self) -> None:
        self._receipts: list[_Receipt] = []
        self._stop = 0

    @classmethod
    def after(cls, receipt: Receipt, n_samples: int) -> Self:
        """Parts of which the first is all that a receipt is about.

        Parameters
        ----------
        receipt : Receipt
            Of earlier rows, which have no row in common with those to come.
        n_samples : int
            Number of earlier rows.
        """
        parts = cls()
        parts._stop = n_samples
        if not receipt.nothing:
            part = Part(0, max(1, n_samples))
            parts._stop = part.stop
            events = tuple(_about(event, part) for event in receipt.unlocated().events)
            parts._receipts = [_Receipt(part, events, receipt.spent)]
        return parts

    @property
    def several(self) -> bool:
        """True if more than one part was queried."""
        return len(self._receipts) > 1

    @property
    def stop(self) -> int:
        """Number of rows that belong to the parts so far."""
        return self._stop

    def add(self, n_samples: int, ledger: Ledger) -> None:
        """Record what the ledger of the next part was charged.

        Parameters
        ----------
        n_samples : int
            Number of rows of the part, which start where the part before it stopped.
        ledger : Ledger
            Opened for these rows and no others.
        """
        part = Part(self._stop, self._stop + n_samples)
        self._receipts = [*self._receipts, _receipt(part, ledger)]
        self._stop = part.stop
        self._fold()

    def open(self, n_samples: int, ledger: Ledger) -> None:
        """Record the whole budget of the next part, which stands until the part is settled.

        A program may be interrupted between any two lines, also where it writes receipts.

        Parameters
        ----------
        n_samples : int
            Number of rows of the part, which start where the part before it stopped.
        ledger : Ledger
            Opened for these rows and no others.
        """
        part = Part(self._stop, self._stop + n_samples)
        whole = _Receipt(part, None, PrivacySpent(ledger.epsilon, ledger.delta))
        self._receipts, self._stop = [*self._receipts, whole], part.stop

    def settle(self, ledger: Ledger) -> None:
        """Replace the budget of the latest part by what its ledger was charged.

        Parameters
        ----------
        ledger : Ledger
            With which the part was opened.
        """
        self._receipts[-1] = _receipt(self._receipts[-1].part, ledger)
        self._fold()

    def cover(self, events: tuple[Event, ...], spent: PrivacySpent) -> None:
        """Replace the receipt of the latest part by one that covers more than its own ledger.

        Parameters
        ----------
        events : tuple of Event
            All that was released about the rows of the part.
        spent : PrivacySpent
            What that stands for.
        """
        part = self._receipts[-1].part
        named = tuple(_about(event, part) for event in events)
        self._receipts = [*self._receipts[:-1], _Receipt(part, named, spent)]

    def skip(self, n_samples: int) -> None:
        """Pass over rows that nobody has asked about, and nobody will.

        Parameters
        ----------
        n_samples : int
            Number of rows.
        """
        self._stop += n_samples

    def spent(self) -> PrivacySpent:
        """The largest spend of a part."""
        return PrivacySpent(
            max((r.spent.epsilon for r in self._receipts), default=0.0),
            max((r.spent.delta for r in self._receipts), default=0.0),
        )

    def events(self, *, named: bool = True) -> tuple[Event, ...]:
        """All events, each with the part that it is about; none while a part is not settled.

        Parameters
        ----------
        named : bool, default=True
            If not, events do not name a part: for a model that has had one part only.
        """
        known = [receipt.events for receipt in self._receipts if receipt.events is not None]
        if len(known) < len(self._receipts):
            return ()
        events = chain.from_iterable(known)
        return tuple(events if named else (_about(event, None) for event in events))

    def _fold(self) -> None:
        """Fold the first two neighbours of one kind, if there are many receipts.

        The costlier of two Gaussian receipts is so in every respect, which is not so of one that is
        Gaussian beside one that is not.
        """
        if len(self._receipts) <= _KEPT:
            return
        kinds = [_gaussian(receipt) for receipt in self._receipts]
        for i in range(len(kinds) - 1):
            if kinds[i] == kinds[i + 1]:
                self._receipts[i : i + 2] = [_folded(*self._receipts[i : i + 2])]
                return

    def __copy__(self) -> Parts:
        other = Parts()
        other._receipts, other._stop = [*self._receipts], self._stop
        return other


def _about(event: Event, part: Part | None) -> Event:
    """The event with the part that it is about, and the site within it if it is about one."""
    site = event.part
    return replace(event, part=replace(site, within=part) if isinstance(site, Site) else part)


def _receipt(part: Part, ledger: Ledger) -> _Receipt:
    events = tuple(_about(event, part) for event in ledger.receipt(whole=True))
    return _Receipt(part, events, ledger.spent())


def _gaussian(receipt: _Receipt) -> bool | None:
    if receipt.events is None:
        return None
    return all(isinstance(event, GaussianEvent | PrefixSumEvent) for event in receipt.events)


def _folded(first: _Receipt, second: _Receipt) -> _Receipt:
    part = Part(first.part.start, second.part.stop, first.part.count + second.part.count)
    worst = second if second.spent > first.spent else first
    if worst.events is None:
        return _Receipt(part, None, worst.spent)
    return _Receipt(part, tuple(_about(event, part) for event in worst.events), worst.spent)
