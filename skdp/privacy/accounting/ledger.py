"""The ledger: a privacy filter that is charged before rows are read, and its receipt."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from math import fsum, inf, isinf, nan, sqrt
from typing import NamedTuple

from ...exceptions import BudgetExceededError
from .calculus import Calculus, GaussianDP
from .default_delta import nominal
from .events import Event, NonPrivateEvent, Site

# Shares of such limits, and noise for them, neither underflow nor overflow.
_SMALLEST_LIMIT, _LARGEST_LIMIT = 1e-250, 1e250
# Different events that are remembered with their purpose.
_MOST_NAMED = 64


class PrivacySpent(NamedTuple):
    """Privacy loss of a fit, which is (epsilon, delta)-differentially private.

    Parameters
    ----------
    epsilon : float
        Bound on the log-likelihood ratio between neighbouring data sets.
    delta : float
        Slack with which that bound holds.
    """

    epsilon: float
    delta: float


@dataclass(frozen=True)
class Spend:
    """Price of one answer, in mu^2. Solvers pass it on; only the oracle looks inside."""

    amount: float

    def __post_init__(self) -> None:
        if not 0 < self.amount < inf:
            raise ValueError(f"Spend needs a positive finite amount, got {self.amount}.")


@dataclass(frozen=True)
class Budget:
    """A public amount of mu^2 that may still be spent; a plan, not an account.

    Splitting a budget reserves nothing: the ledger decides, when it is charged, whether the total
    still fits.
    """

    amount: float

    @property
    def mu(self) -> float:
        """Gaussian-DP parameter of the whole budget, sqrt(amount)."""
        return sqrt(self.amount)

    def split(self, shares: int | Sequence[float] | Iterable[float]) -> list[Spend]:
        """Cut the budget into so many equal spends, or by positive shares that sum to at most 1."""
        if isinstance(shares, int):
            if shares < 1:
                raise ValueError(f"Budget.split needs at least 1 part, got {shares}.")
            return [Spend(self.amount / shares)] * shares
        parts = [float(s) for s in shares]
        if not parts or min(parts) <= 0 or fsum(parts) > 1 + 1e-12:
            raise ValueError("Budget.split needs positive shares that sum to at most 1.")
        return [Spend(self.amount * s) for s in parts]

    def whole(self) -> Spend:
        """The budget as one spend."""
        return Spend(self.amount)

    def fraction(self, share: float) -> Budget:
        """A budget of ``share`` times this one, 0 < share <= 1."""
        if not 0 < share <= 1:
            raise ValueError(f"Budget.fraction needs a share in (0, 1], got {share}.")
        return Budget(self.amount * share)


@dataclass(frozen=True, eq=False)
class Stage:
    """Stage of a fit: what charges are for, in public terms.

    Parameters
    ----------
    purpose : str, default=''
        In words.
    planned : int or None, default=None
        How often each query is going to be asked, if that is known.
    """

    purpose: str = ""
    planned: int | None = None


class _Account:
    """Events about the same rows, in order, and the exact sum of their prices.

    The last event is open to be repeated.
    """

    __slots__ = ("end", "events", "reserved_used")

    def __init__(self) -> None:
        self.events: list[Event] = []
        self.end: _Entry | None = None
        # Of each reserve.
        self.reserved_used: Counter[float] = Counter()

    @property
    def prices(self) -> list[float]:
        """Numbers whose sum is the total."""
        return [*self.end.settled, self.end.price] if self.end else [0.0]


class _Entry(NamedTuple):
    """Last event of an account, its price, and the exact sum of all before it as a few numbers.

    Adding all of them up at each charge would take time in proportion to the square of their
    number.
    """

    event: Event
    price: float
    settled: list[float]
    # Whether it is the event before once more, as it was charged, with a count of its own, what one
    # such release costs, and the reserve that it is paid out of.
    repeats: bool
    charged: Event
    cost: float
    reserve: tuple[float, int] | None


class Ledger:
    """Adds up events and refuses the one that would exceed the budget.

    Parameters
    ----------
    epsilon : float
        Budget, in (0, inf]. Infinity is for answers without noise.
    delta : float
        Budget, in (0, 1).
    calculus : Calculus, default=GaussianDP()
        How events are priced and totals converted.

    Guarantees
    ----------
    - ``charge`` either records the event or raises and records nothing.
    - The recorded total never exceeds the limit, so everything charged so far is together
      (epsilon, delta)-DP, whatever made the choices and whenever they stop.
    - Nothing can be taken back: a charge stands whatever happens after it.
    - Each site has an account of its own, next to what all rows were asked, and the fullest one
      counts, because sites have no row in common: of two neighbouring data sets only one site's
      rows differ, and what the others release is the same function of what was released before.
    - One of infinite epsilon accepts every event and lists it as non-private, whatever noise the
      event speaks of: its spend is infinite from the first event on. Total and remaining are those
      of a large nominal budget, by which solvers plan their steps.
    """

    def __init__(self, epsilon: float, delta: float, *, calculus: Calculus | None = None) -> None:
        self._epsilon = float(epsilon)
        self._delta = float(delta)
        self._calculus = GaussianDP() if calculus is None else calculus
        self._limit = self._whole_budget()
        self._whole = _Account()
        self._sites: dict[Site, _Account] = {}
        # Of the sites that have spent, and used of reserves, most.
        self._site_total, self._site_used = 0.0, 0
        self._demanding = False
        self._listener: Callable[[Event | tuple[Event, ...]], None] | None = None
        self._stage = Stage()
        # By the identity of what was charged: loops charge the same events again and again.
        self._named: dict[int, tuple[Event | tuple[Event, ...], Event | tuple[Event, ...]]] = {}

    @property
    def calculus(self) -> Calculus:
        """Calculus by which events are priced and totals converted."""
        return self._calculus

    @property
    def epsilon(self) -> float:
        """The epsilon that was set as the budget."""
        return self._epsilon

    @property
    def delta(self) -> float:
        """The delta at which the budget was set."""
        return self._delta

    @property
    def limit(self) -> float:
        """Whole budget in mu^2."""
        return inf if isinf(self._epsilon) else self._limit

    @property
    def exact(self) -> bool:
        """True if epsilon is infinite, so that answers have no noise and nothing is private."""
        return isinf(self._epsilon)

    @property
    def total(self) -> float:
        """Sum of charges, in mu^2, at the site that has spent most if there are several."""
        return fsum([*self._whole.prices, self._site_total])

    @property
    def remaining(self) -> float:
        """Rest of the budget, in mu^2."""
        return max(0.0, self._limit - self.total)

    @property
    def stage(self) -> Stage:
        """Stage of the fit that charges are for now; a new object for each."""
        return self._stage

    def note(self, purpose: str | None = None, planned: int | None = None) -> None:
        """Note what the events to come are for, in words; they bear it.

        ``planned`` is how often each query is going to be asked, a public fact. Without a purpose
        that of the events before stays.
        """
        self._stage = Stage(self._stage.purpose if purpose is None else purpose, planned)
        self._named = {}

    def anew(self) -> Ledger:
        """An empty ledger of the same budget, for rows that this one says nothing about."""
        return Ledger(self._epsilon, self._delta, calculus=self._calculus)

    def charge(self, event: Event | tuple[Event, ...]) -> None:
        """Record an event, or events of different sites at once, or refuse all of it.

        Raises
        ------
        BudgetExceededError
            If the total would exceed the limit, if an event that has to be a certain share of the
            total would be less, or if all that was reserved for such events is used. Nothing is
            recorded.
        TypeError
            If the calculus has no price for this kind of event.
        """
        if self._stage.purpose:
            given, named = self._named.get(id(event), (None, event))
            event = named if given is event else self._with_purpose(event)
        self._record(event)
        if self._listener is not None:
            self._listener(event)

    def tell(self, listener: Callable[[Event | tuple[Event, ...]], None] | None) -> None:
        """Let a listener hear of each event when it is recorded, before anything is read for it.

        What it hears is public. If it raises, the charge stands and nothing is read. None lets
        nobody hear.
        """
        self._listener = listener

    def _with_purpose(self, event: Event | tuple[Event, ...]) -> Event | tuple[Event, ...]:
        named: Event | tuple[Event, ...]
        if isinstance(event, tuple):
            named = tuple(each.changed(purpose=self._stage.purpose) for each in event)
        else:
            named = event.changed(purpose=self._stage.purpose)
        if len(self._named) < _MOST_NAMED:
            self._named[id(event)] = event, named
        return named

    def _record(self, event: Event | tuple[Event, ...]) -> None:
        if isinstance(event, tuple):
            self._record_at_sites(event)
            return
        account = self._whole
        entry = self._affordable(event, account, [self._site_total])
        if entry.reserve is not None:
            # What sites were asked counts against each reserve.
            name, count = entry.reserve
            _check_reserved(event, account.reserved_used[name] + self._site_used, count)
        # Looking through all events at each charge would take time in proportion to its square.
        demanding, kept = self._demanding or event.least_share > 0, len(account.events)
        kept -= entry.repeats
        if demanding:
            total = fsum([*entry.settled, entry.price, self._site_total])
            self._check_shares([*account.events[:kept], entry.event], total)
        account.events[kept:], account.end = [entry.event], entry
        self._demanding = demanding
        if entry.reserve is not None:
            account.reserved_used[entry.reserve[0]] += event.count

    def _record_at_sites(self, events: tuple[Event, ...]) -> None:
        """Record one event for each of several sites, or none of them."""
        if self._demanding:
            raise BudgetExceededError(
                "Sites cannot be asked beside a release that has to be most of all that is "
                "charged. Nothing was read."
            )
        # Out of whichever reserve a site is paid, it counts against all of them.
        reserved = min((count for _, count in self._calculus.reserves), default=0)
        reserved -= self._whole.reserved_used.total()
        whole, planned = self._whole.prices, dict[Site, tuple[_Account, _Entry]]()
        for event in events:
            site = event.part
            if not isinstance(site, Site) or site in planned or event.least_share:
                raise ValueError(
                    "Ledger needs events of different sites to be charged at once, got "
                    f"{event.part!r} for {event.query}."
                )
            account = self._sites.get(site) or _Account()
            entry = self._affordable(event, account, whole)
            if entry.reserve is not None:
                _check_reserved(event, account.reserved_used.total(), reserved)
            planned[site] = account, entry
        for event, (site, (account, entry)) in zip(events, planned.items(), strict=True):
            account.events[len(account.events) - entry.repeats :] = [entry.event]
            account.end = entry
            if entry.reserve is not None:
                account.reserved_used[entry.reserve[0]] += event.count
                self._site_used = max(self._site_used, account.reserved_used.total())
            self._sites[site] = account
            self._site_total = max(self._site_total, fsum(account.prices))

    def spent(self) -> PrivacySpent:
        """Sum of charges so far, as (epsilon, delta) at the budget's delta."""
        total = self.total
        if total == 0 and not (self._whole.reserved_used or self._site_used):
            return PrivacySpent(0.0, 0.0)
        if isinf(total) or self.exact:
            return PrivacySpent(inf, self._delta)
        epsilon = self._calculus.epsilon(total, self._delta)
        # The filter guarantees the budget itself, so what is the budget but for rounding is
        # reported as the budget.
        if epsilon > self._epsilon * (1 - 1e-9):
            epsilon = self._epsilon
        return PrivacySpent(epsilon, self._delta)

    def receipt(self, *, whole: bool = False) -> tuple[Event, ...]:
        """The events so far, runs of equal ones folded into one with their count.

        With ``whole``, what is left of reserves that were touched is listed as well: nothing of it
        is given back, since answers may have decided how much was used.
        """
        events = [*self._whole.events]
        reserves = self._calculus.reserves if whole else ()
        paid = [k for k, e in enumerate(events) if reserves and self._calculus.reserved(e)]
        for name, count in reserves if paid else ():
            unused = count - self._whole.reserved_used[name] - self._site_used
            like = [k for k in paid if self._calculus.reserved(events[k]) == (name, count)]
            if like:
                events[like[-1]] = events[like[-1]].changed(count=events[like[-1]].count + unused)
            elif unused:
                last = events[paid[-1]]
                own = self._calculus.reserved(last)
                assert own is not None
                noise = last.noise_scale * name / own[0]
                events.append(replace(last, noise_scale=noise, count=unused))
        listed = (*events, *(e for account in self._sites.values() for e in account.events))
        return _as_exact(listed) if self.exact else listed

    def _affordable(self, event: Event, account: _Account, beside: list[float]) -> _Entry:
        """The entry of an event in an account, with what was spent beside it."""
        end, charged, settled = account.end, event, list[float]()
        # Loops and sites charge the same events again and again.
        if end is not None and event is end.charged:
            repeats, cost, reserve = True, end.cost, end.reserve
        else:
            repeats = (
                end is not None
                and end.event.noise_scale == event.noise_scale
                and end.event.changed(count=event.count) == event
            )
            reserve, cost = self._calculus.reserved(event), self._calculus.cost(event)
        if end is not None:
            settled = end.settled if repeats else _added(end.settled, end.price)
            event = end.event.changed(count=end.event.count + event.count) if repeats else event
        # The one place where counts enter.
        entry = _Entry(event, event.count * cost, settled, repeats, charged, cost, reserve)
        total = fsum([*beside, *settled, entry.price])
        # The limit is no less than that, and infinite where nothing is private.
        if not total <= self._limit and not total <= self.limit:
            added = entry.price - (account.prices[-1] if entry.repeats else 0.0)
            left = max(0.0, self._limit - fsum([*beside, *account.prices]))
            raise BudgetExceededError(
                f"{event.query} would cost mu^2={added:.3g}{_where(event)} but {left:.3g} of "
                f"{self._limit:.3g} is left. Nothing was read."
            )
        return entry

    def _check_shares(self, events: Sequence[Event], total: float) -> None:
        for event in [event for event in events if event.least_share and not isinf(total)]:
            price = self._calculus.cost(event)
            if price < event.least_share * total:
                raise BudgetExceededError(
                    f"{event.query} has to be at least {event.least_share:.0%} of all that is "
                    f"charged but would be one of mu^2={price:.3g} in {total:.3g}; give it a "
                    "larger share, and ask it once. Nothing was read."
                )

    def _whole_budget(self) -> float:
        try:
            limit = self._calculus.limit(nominal(self._epsilon), self._delta)
        except ArithmeticError:
            limit = nan
        if _SMALLEST_LIMIT <= limit <= _LARGEST_LIMIT:
            return limit
        raise ValueError(
            f"Ledger needs epsilon and delta whose budget in mu^2 lies in [{_SMALLEST_LIMIT:g}, "
            f"{_LARGEST_LIMIT:g}], got epsilon={self._epsilon:g} and delta={self._delta:g}. Choose "
            "a less extreme epsilon, or epsilon=inf for no privacy."
        )


def limit_of(epsilon: float, delta: float, calculus: Calculus | None = None) -> float:
    """Whole budget, in mu^2, of a ledger that is opened so."""
    return Ledger(epsilon, delta, calculus=calculus).limit


def _check_reserved(event: Event, used: int, count: int) -> None:
    if used + event.count > count:
        raise BudgetExceededError(
            f"{event.query} was reserved {count} times and would be asked {used + event.count} "
            f"times{_where(event)}. Nothing was read."
        )


def _where(event: Event) -> str:
    return f" at the site {event.part.label!r}" if isinstance(event.part, Site) else ""


def _as_exact(events: Sequence[Event]) -> tuple[Event, ...]:
    """Non-private events of as many answers, those to one query about the same rows in one."""
    folded: dict[NonPrivateEvent, int] = {}
    for event in events:
        fact = NonPrivateEvent(query=event.query, part=event.part)
        folded[fact] = folded.get(fact, 0) + event.count
    return tuple(fact.changed(count=count) for fact, count in folded.items())


def _added(parts: Sequence[float], x: float) -> list[float]:
    """Numbers whose exact sum is that of all, few of them (Shewchuk 1997)."""
    if isinf(x) or inf in parts:
        return [inf]
    smaller = []
    for y in parts:
        if abs(x) < abs(y):
            x, y = y, x
        high = x + y
        low = y - (high - x)
        if low:
            smaller.append(low)
        x = high
    return [*smaller, x]
