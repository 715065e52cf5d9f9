"""Accounts of sites, for queries that several sites answer at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import nan

from ...exceptions import BudgetExceededError
from .calculus import Calculus
from .events import Event, Site


class SiteAccounts:
    """An account for each site; the fullest one counts, because sites have no row in common.

    Each account is a filter of its own: of two neighbouring data sets only one site's rows differ,
    and what the others release is the same function of what was released before.

    Parameters
    ----------
    calculus : Calculus
        How events are priced.
    """

    def __init__(self, calculus: Calculus) -> None:
        self._calculus = calculus
        self._accounts: dict[Site, _Account] = {}
        self.total = 0.0
        self.reserved_used = 0

    def charge(self, events: Sequence[Event], room: float, reserved_room: int) -> None:
        """Record one event for each of several sites, or none of them.

        No site may spend more than ``room`` in mu^2, or make more than ``reserved_room`` reserved
        releases.

        Raises
        ------
        BudgetExceededError
            If a site would exceed one of them.
        ValueError
            If an event is not about a site, or two are about the same.
        """
        planned: dict[Site, tuple[_Account, Event, bool, float, int]] = {}
        for event in events:
            site = event.part
            if not isinstance(site, Site) or site in planned or event.least_share:
                raise ValueError(
                    "Ledger needs events of different sites to be charged at once, got "
                    f"{event.part!r} for {event.query}."
                )
            account = self._accounts.get(site) or _Account()
            repeats = account.last is event or account.last == event
            price = account.price if repeats else self._calculus.cost(event)
            total = account.total(repeats, price, event.count)
            used = account.reserved_used
            if self._calculus.reserved(event) is not None:
                used += event.count
            if not total <= room:
                raise BudgetExceededError(
                    f"{event.query} would cost mu^2={event.count * price:.3g} at the site "
                    f"{site.label!r}, which would then have spent {total:.3g} of {room:.3g}. "
                    "Nothing was read."
                )
            if used > reserved_room:
                raise BudgetExceededError(
                    f"{event.query} was reserved {reserved_room} times and would be asked {used} "
                    f"times at the site {site.label!r}. Nothing was read."
                )
            planned[site] = account, event, repeats, price, used
        for site, (account, event, repeats, price, used) in planned.items():
            account.record(event, repeats, price, used)
            self._accounts[site] = account
            self.total = max(self.total, account.total(True, price, 0))
            self.reserved_used = max(self.reserved_used, used)

    def receipt(self) -> list[Event]:
        """The events of all sites, site by site, runs of equal ones folded into one."""
        return [event for account in self._accounts.values() for event in account.events()]


class _Account:
    """Events of one site; the last one is open to be repeated."""

    __slots__ = ("count", "earlier", "last", "price", "reserved_used", "rounded", "settled")

    def __init__(self) -> None:
        self.earlier: list[Event] = []
        self.last: Event | None = None
        self.count = 0
        # Of what is before the last event, as a sum and what rounding took from it.
        self.settled = self.rounded = 0.0
        self.price = nan
        self.reserved_used = 0

    def total(self, repeats: bool, price: float, more: int) -> float:
        """Total in mu^2 with ``more`` of the last event, or else of a new one."""
        if repeats:
            return self.settled + ((self.count + more) * price + self.rounded)
        settled, rounded = self._closed()
        return settled + (more * price + rounded)

    def record(self, event: Event, repeats: bool, price: float, used: int) -> None:
        if not repeats:
            self.settled, self.rounded = self._closed()
            self.earlier = [*self.events()]
            self.last, self.price, self.count = event, price, 0
        self.count += event.count
        self.reserved_used = used

    def events(self) -> list[Event]:
        if self.last is None:
            return self.earlier
        return [*self.earlier, replace(self.last, count=self.count)]

    def _closed(self) -> tuple[float, float]:
        if self.last is None:
            return 0.0, 0.0
        added = self.count * self.price
        total = self.settled + added
        shifted = total - self.settled
        return total, self.rounded + (self.settled - (total - shifted)) + (added - shifted)
