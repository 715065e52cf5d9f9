"""Receipts of disjoint parts of a stream, which compose in parallel."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import chain

from .events import Event, Part, Site
from .ledger import Ledger, PrivacySpent

__all__ = ["Parts"]

# As many receipts are kept one by one.
_KEPT = 16


@dataclass(frozen=True)
class _Receipt:
    """What one part was charged."""

    part: Part
    events: tuple[Event, ...]
    spent: PrivacySpent


class Parts:
    """What a stream has spent: the most that has been spent on one of its parts.

    Whoever exchanges one row changes what one part holds. The answers about that part are
    (epsilon, delta)-DP by its own ledger, and all that is done before and after it does not depend
    on the row but through them. So parts that have no row in common compose in parallel: the spend
    of all is the largest spend of one.

    The latest 16 receipts are kept one by one. Earlier ones are folded: of consecutive parts the
    receipt of the most expensive one stays, under the positions of all of them and with their
    number, so that the spend can be recomputed from what is left and memory does not grow.

    Guarantees
    ----------
    - Parts follow each other without a row in common.
    - No folding changes the spend, and every row that was charged is on the receipt.
    """

    def __init__(self) -> None:
        self._receipts: list[_Receipt] = []
        self._stop = 0

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
        self._stop = part.stop
        events = tuple(_about(event, part) for event in ledger.receipt())
        self._receipts.append(_Receipt(part, events, ledger.spent()))
        if len(self._receipts) > _KEPT:
            self._receipts[:2] = [_folded(*self._receipts[:2])]

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
        """All events, each with the part that it is about.

        Parameters
        ----------
        named : bool, default=True
            If not, events do not name a part: for a model that has had one part only.
        """
        events = chain.from_iterable(receipt.events for receipt in self._receipts)
        return tuple(events if named else (_about(event, None) for event in events))

    def __copy__(self) -> Parts:
        other = Parts()
        other._receipts, other._stop = [*self._receipts], self._stop
        return other


def _about(event: Event, part: Part | None) -> Event:
    """The event with the part that it is about, and the site within it if it is about one."""
    site = event.part
    return replace(event, part=replace(site, within=part) if isinstance(site, Site) else part)


def _folded(first: _Receipt, second: _Receipt) -> _Receipt:
    part = Part(first.part.start, second.part.stop, first.part.count + second.part.count)
    worst = second if second.spent > first.spent else first
    events = tuple(_about(event, part) for event in worst.events)
    return _Receipt(part, events, worst.spent)
