"""Receipts of single fits, in a form that can be composed, and bounds on receipts to come."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from math import expm1, inf, isinf, isnan, log, log1p, nan, nextafter
from typing import Any, Self

from ..privacy.accounting.calculus import Calculus
from ..privacy.accounting.events import (
    Event,
    GaussianEvent,
    NonPrivateEvent,
    Part,
    PrefixSumEvent,
    SearchEvent,
    Site,
)
from ..privacy.accounting.ledger import Ledger, PrivacySpent, limit_of
from ..privacy.adjacency import Adjacency, PrivacyUnit
from .divergences import gaussian_price, grouped, renyi

# Attribute of what a search has published: a name of the search, and the receipt that it wrote. A
# fit that follows writes another one, so that the name is void then.
FOUND_BY = "_found_by"

# Query of an event that says what earlier fits were where their own events cannot.
_OF_EARLIER_FITS, _PURPOSE = "earlier_fits", "all that earlier fits released"
# The range of an event is positive.
_LEAST_EPSILON = 1e-300
# Exponents beyond overflow.
_LARGEST_EXPONENT = 700.0
# Orders at which Renyi divergences are taken.
ORDERS = tuple(1 + 10 ** (k / 12) for k in range(-24, 43))


@dataclass(frozen=True)
class Receipt:
    """Receipt of a fit: its events, and the (epsilon, delta) that they stand for.

    Parameters
    ----------
    events : tuple of Event
        What was released; of some parts of the rows only, where events say so. Empty if all that is
        known is ``spent``.
    spent : PrivacySpent
        What the fit is by its own account.
    adjacency : Adjacency, default=Adjacency.REPLACE_ONE
        Neighbouring relation of both.
    who : str, default=''
        Name of what was fitted.
    fits : int, default=1
        How many such fits; events are those of all, ``spent`` is that of one.
    search : str, default=''
        Name of the search whose receipt it is. All steps of its winner show the same receipt, which
        was spent once.
    unit : PrivacyUnit, default=PrivacyUnit.ROW
        What it is about: one row, or all rows of one privacy unit.
    """

    events: tuple[Event, ...]
    spent: PrivacySpent
    adjacency: Adjacency = Adjacency.REPLACE_ONE
    who: str = ""
    fits: int = 1
    search: str = ""
    unit: PrivacyUnit = PrivacyUnit.ROW

    @classmethod
    def of(cls, fitted: Any, who: str = "") -> Self:
        """The receipt of a fitted object that has ``privacy_ledger_`` and ``privacy_spent_``.

        Its ``adjacency`` is taken to be replace-one if it has none, and by default it is called by
        its class.
        """
        # The plan of a model says what it was fitted under, and others note it; parameters may have
        # changed since.
        planned = getattr(fitted, "plan_", fitted)
        given = getattr(planned, "adjacency", Adjacency.REPLACE_ONE)
        relation = Adjacency(getattr(fitted, "_adjacency", given))
        spent = PrivacySpent(*fitted.privacy_spent_)
        search, written = getattr(fitted, FOUND_BY, ("", None))
        return cls(
            tuple(fitted.privacy_ledger_),
            spent,
            relation,
            who or type(fitted).__name__,
            search=search if written is fitted.privacy_ledger_ else "",
            unit=PrivacyUnit(getattr(fitted, "privacy_unit_", PrivacyUnit.ROW)),
        )

    @property
    def nothing(self) -> bool:
        """True if nothing was spent."""
        return not self.events and self.spent.epsilon == 0 == self.spent.delta

    @cached_property
    def slices(self) -> tuple[tuple[Event, ...], ...]:
        """Events that a row took part in, for each set of rows that took part in the same ones.

        Events that name parts of a stream, or sites, are about the rows there and no others. What a
        neighbour can change is in one slice, so the fit costs what the costliest slice does, in
        whatever way costs are counted.
        """
        parts = [_rows_of(event) for event in self.events]
        ends = sorted({end for p in parts if p is not None for end in (p.start, p.stop)})
        spans = list(pairwise(ends)) or [(0, 0)]
        found: dict[tuple[Event, ...], None] = {}
        for start, stop in spans:
            here = [
                event
                for event, part in zip(self.events, parts, strict=True)
                if part is None or (part.start <= start and stop <= part.stop)
            ]
            labels = {event.part.label for event in here if isinstance(event.part, Site)}
            for label in labels or {None}:
                found[
                    tuple(
                        replace(event, part=None) if not isinstance(event.part, Site) else event
                        for event in here
                        if not isinstance(event.part, Site) or event.part.label == label
                    )
                ] = None
        return tuple(found)

    @property
    def exact(self) -> bool:
        """True if all events are Gaussian, so that mu says all there is to say."""
        return all(isinstance(event, GaussianEvent | PrefixSumEvent) for event in self.events)

    @property
    def complete(self) -> bool:
        """True if the events say for every row what it took part in.

        Where several parts are remembered by the costliest of them, it is the costliest in every
        respect if all are Gaussian, and else by the (epsilon, delta) of parts only.
        """
        parts = (_rows_of(event) for event in self.events)
        folded = any(part is not None and part.count > 1 for part in parts)
        return bool(self.events) and (self.exact or not folded)

    def explicit(self) -> Receipt:
        """Receipt whose ``spent`` is an event as well, if no events are known.

        Beside it on a ledger there may be others, and everybody can add up what is there.
        """
        if self.events or self.nothing:
            return self
        epsilon, delta = self.spent
        if isinf(epsilon) or delta >= 1:
            exact = NonPrivateEvent(query=_OF_EARLIER_FITS, purpose=_PURPOSE, count=self.fits)
            spent = PrivacySpent(inf, min(delta, nextafter(1.0, 0.0)))
            return replace(self, events=(exact,), spent=spent)
        event = SearchEvent(
            query=_OF_EARLIER_FITS,
            purpose=_PURPOSE,
            sensitivity=max(epsilon, _LEAST_EPSILON),
            noise_scale=1.0,
            count=self.fits,
            calculus="approximate",
            published="all",
            mean_trials=1.0,
            trial_delta=delta,
        )
        return replace(self, events=(event,))

    def unlocated(self) -> Receipt:
        """Receipt without positions of rows, which mean nothing to another fit.

        A row may lie anywhere in another fit, so what stays are the events of the rows that were
        asked most, as events about all rows. Where events do not say which rows that are, the
        (epsilon, delta) stays.
        """
        slices = self.slices if self.complete else []
        events: tuple[Event, ...] = ()
        if len(slices) == 1 or (slices and self.exact):
            costliest = max(slices, key=lambda rows: sum(map(gaussian_price, rows)))
            events = tuple(replace(event, part=None) for event in costliest)
        return replace(self, events=events, search="").explicit()

    def gaussian_price(self) -> float:
        """The mu^2 for which the fit is mu-GDP; infinite if none is known."""
        return self.most(gaussian_price)

    def most(self, price: Callable[[Event], float]) -> float:
        """Cost of the events of the rows for which it is most; infinite if that is not known."""
        if not self.complete:
            return 0.0 if self.nothing else inf
        return max(sum(map(price, rows)) for rows in self.slices)

    def renyi(self, order: float) -> float:
        """Renyi divergence of an order above 1; infinite if none is known."""
        return self.most(lambda event: renyi(event, order))

    def under(self, adjacency: Adjacency) -> Receipt:
        """Receipt of the fit under another neighbouring relation.

        What holds under replace-one holds under zero-out. A row that is replaced is one that is
        zeroed out and another put in its place, so what holds under zero-out holds under
        replace-one between data sets that are two steps apart.
        """
        if adjacency is self.adjacency:
            return self
        if adjacency is Adjacency.ZERO_OUT:
            return replace(self, adjacency=adjacency)
        return self.between(2, adjacency)

    def times(self, count: int) -> Receipt:
        """Receipt of so many such fits on the same rows, one after the other."""
        events = tuple(replace(event, count=count * event.count) for event in self.events)
        return replace(self, events=events, fits=count * self.fits)

    def between(self, steps: int, adjacency: Adjacency | None = None) -> Receipt:
        """Group privacy: receipt of the fit between data sets that are several steps apart.

        (epsilon, delta) becomes ``k epsilon`` and ``delta (e^(k epsilon) - 1) / (e^epsilon - 1)``,
        by going through the steps one after the other. The adjacency is the relation between both
        ends, by default that of a step.
        """
        relation = self.adjacency if adjacency is None else adjacency
        if steps == 1 and relation is self.adjacency:
            return self
        epsilon, delta = self.spent
        if isinf(epsilon) or steps * epsilon > _LARGEST_EXPONENT:
            grown = 1.0 if delta else 0.0
        else:
            grown = delta * (expm1(steps * epsilon) / expm1(epsilon) if epsilon else steps)
        spent = PrivacySpent(steps * epsilon, min(1.0, grown))
        apart = [grouped(event, steps, relation) for event in self.events]
        events = () if None in apart else tuple(e for e in apart if e is not None)
        return replace(self, events=events, spent=spent, adjacency=relation)


@dataclass(frozen=True)
class SpendBound:
    """Upper bound on the spend of a fit, known before it begins: whatever its ledger accepts.

    Parameters
    ----------
    epsilon, delta : float
        Budget of the fit.
    calculus : Calculus or None
        How its ledger counts; None as long as that is open.
    adjacency : Adjacency, default=Adjacency.REPLACE_ONE
        Neighbouring relation.
    unit : PrivacyUnit, default=PrivacyUnit.ROW
        What it is about.
    fits : int, default=1
        How many such fits on the same rows.
    limit : float, optional
        Most that its ledger accepts, in mu^2; by default it is computed.

    Raises
    ------
    ValueError
        If no ledger can be opened with this budget.
    """

    epsilon: float
    delta: float
    calculus: Calculus | None
    adjacency: Adjacency = Adjacency.REPLACE_ONE
    unit: PrivacyUnit = PrivacyUnit.ROW
    fits: int = 1
    limit: float = nan

    def __post_init__(self) -> None:
        if isnan(self.limit):
            limit = limit_of(self.epsilon, self.delta, self.calculus)
            object.__setattr__(self, "limit", limit)

    @property
    def most(self) -> Receipt:
        """Receipt of which the (epsilon, delta) of a fit is all that is known."""
        spent = PrivacySpent(self.epsilon, self.delta)
        return Receipt((), spent, self.adjacency, fits=self.fits, unit=self.unit)

    @classmethod
    def of_ledger(
        cls, ledger: Ledger, adjacency: Adjacency, unit: PrivacyUnit = PrivacyUnit.ROW
    ) -> Self:
        """Upper bound for a ledger that is still empty."""
        budget = ledger.epsilon, ledger.delta, ledger.calculus
        return cls(*budget, adjacency, unit, limit=ledger.limit)


def epsilon_by_renyi(receipts: Sequence[Receipt], delta: float) -> float:
    """Least epsilon that divergences of one order give to several fits (Canonne et al., 2020)."""
    bounds = []
    for order in ORDERS:
        total = sum(receipt.renyi(order) for receipt in receipts)
        bounds.append(total + log1p(-1 / order) - log(delta * order) / (order - 1))
    return max(0.0, min(bounds))


def _rows_of(event: Event) -> Part | None:
    return event.part.within if isinstance(event.part, Site) else event.part
