r"""Composition of several fits on the same rows into one (epsilon, delta).

Each fit is private by its own account, whatever was released before it: its parameters may have
been chosen, and its rows transformed one by one, with earlier releases in view. So fits compose
like releases. The neighbouring relation has to be one for all (see :meth:`Receipt.under`), and a
row has to have the same place in all of them: rows may be left out, or transformed, by public rules
only.

Several bounds hold, and the least of them is returned.

1. *Gaussian.* Fits of known mu^2 are together mu-GDP with the sum of these (Dong, Roth and Su,
   2022), exactly if all releases are Gaussian. Choices have a mu, too
   (:mod:`skdp.reporting.divergences`), and so has pure epsilon.
2. *Perturbed objectives* beside Gaussian releases. Step 4 of the proof in
   :mod:`skdp.privacy.accounting.perturbation` bounds the log-ratio of all that is released by
   ``sum_j (J_j + max_v L_jv)`` over perturbations j, plus the Gaussian part. The sum of maxima is
   the maximum over all ways to take one vertex each, so that

       delta(epsilon) <= sum_(v_1, ..., v_k) HS_(epsilon - sum J_j)(sqrt(G + sum_j T_j,v_j)),

   by the same argument, in which nothing depends on how many maxima there are. Of privacy units K
   stands in place of HS, as there.
3. *Renyi.* Divergences of one order add up, also for releases that are chosen adaptively (Mironov,
   2017); then every order gives an epsilon (Canonne, Kamath and Steinke, 2020).
4. *Searches.* One search of Gaussian trials beside Gaussian releases, by
   :mod:`skdp.reporting.number_of_trials`.
5. *Privacy loss distributions*, if dp-accounting is installed and there are sampled releases or
   fits of which (epsilon, delta) is all that is known: products of dominating pairs dominate (Zhu,
   Dong and Wang, 2022). The pair of a fit that is (epsilon, delta)-DP is that of Kairouz, Oh and
   Viswanath (2015).
6. *Sums.* Fits of which none of this is known add their (epsilon, delta) to the bounds 1 to 4 of
   the others (Dwork, Kenthapadi, McSherry, Mironov and Naor, 2006), and all fits may. A ledger that
   holds such a fit as an event beside others is taken apart for it. Fits of pure epsilon alone
   are of pure epsilon together.

Like the spend of a single fit, the total is a running one: it stands for the budget of somebody who
would have stopped there. Amounts that were themselves chosen by looking at answers are covered by
:class:`skdp.PrivacyBudget`, which sets its budget in advance.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import ceil, hypot, inf, isclose, isinf, log, sqrt
from typing import Any, Self, TypeGuard

import numpy as np
from scipy.optimize import brentq

from ..privacy.accounting import gdp, perturbation
from ..privacy.accounting.calculus import (
    Calculus,
    PerturbedGaussianDP,
    PureDP,
    ZeroConcentratedDP,
)
from ..privacy.accounting.events import (
    Event,
    ExponentialEvent,
    GaussianEvent,
    NonPrivateEvent,
    ObjectivePerturbationEvent,
    Part,
    PrefixSumEvent,
    SampledGaussianEvent,
    SearchEvent,
    Site,
    ThresholdEvent,
)
from ..privacy.accounting.ledger import Ledger, PrivacySpent
from ..privacy.accounting.subsampling import SampledReleases
from ..privacy.accounting.subsampling import epsilon as epsilon_by_distributions
from ..privacy.adjacency import Adjacency, PrivacyUnit
from ..validation import check_numbers, shown
from . import number_of_trials as trials
from .divergences import added_delta, gaussian_price, price_beside_delta
from .number_of_trials import NumberOfTrials
from .receipts import ORDERS, Receipt, epsilon_by_renyi

# More ways to take one vertex each are not summed over.
_MOST_VERTICES = 4096
_VERTICES = ((1.0, 1), (0.25, 2), (0.0, 1))
_ROUNDING = 1e-12
# In units of the largest level: as good as 0, and logarithms of bounds remain finite.
_LEAST_LEVEL = 1e-9
# As many receipts are kept one by one.
_KEPT = 16
# What each rule does, in words.
RULES = {
    "pure": "epsilons add up: sensitivity / noise, of slope and output, and the Jacobian",
    "gaussian": "mu^2 = count * (sensitivity / noise)^2 adds up, exactly for Gaussian noise",
    "thresholds": "mu^2 adds up, at the delta that is left by those of thresholds, which add up",
    "concentrated": "zero-concentrated: count * (sensitivity / noise)^2, a quarter for choices",
    "perturbation": "one objective perturbation that outweighs the Gaussian releases beside it",
    "renyi": "Renyi divergences add up, order by order",
    "sum": "the epsilons of the fits add up, and the deltas",
    "stated": "by a longer computation, which needs skdp",
}
# Of the events that the script has a Gaussian price and Renyi divergences for.
_OF_SCRIPT = GaussianEvent, PrefixSumEvent, ExponentialEvent, NonPrivateEvent
# What rounding, and a total that is reported as the budget it fills, may change.
_AS_STATED = 1e-7
# A function of receipts and a delta: their epsilon, or, without a delta, whether there is one.
_Bound = Callable[[Sequence[Receipt], Any], float]


def compose(
    receipts: Iterable[Receipt | Any],
    delta: float | None = None,
    adjacency: Adjacency | str | None = None,
) -> PrivacySpent:
    """Composition of several fits on the same rows into one (epsilon, delta).

    Parameters
    ----------
    receipts : iterable of Receipt or fitted object
        Of each fit. Objects with ``privacy_ledger_`` and ``privacy_spent_`` are read.
    delta : float, optional
        At which delta the total is wanted. By default the largest of the receipts that is below 1,
        or, if there is no bound at that, the sum of them.
    adjacency : {'replace_one', 'zero_out'}, optional
        Neighbouring relation of the total. By default that of all receipts; if they differ, the
        stronger one, replace-one, for which those under zero-out count about twice.

    Returns
    -------
    PrivacySpent
        The total, the least that is known to be valid; (0, 0) if nothing was spent. Its epsilon is
        infinite if something was released without noise, or nothing is known at this delta.

    Raises
    ------
    ValueError
        If delta is outside [0, 1), or receipts are about different privacy units.
    """
    found = [r if isinstance(r, Receipt) else Receipt.of(r) for r in receipts]
    common_unit(found)
    if delta is not None:
        check_numbers("compose", delta=delta)
        delta = float(delta)
        if not 0 <= delta < 1:
            raise ValueError(f"compose needs a delta in [0, 1) or None, got {shown(delta)}.")
    relation = common_adjacency(found) if adjacency is None else Adjacency(adjacency)
    found = [receipt for receipt in found if not receipt.nothing]
    # A delta of 1, to which those of groups grow, promises nothing.
    at = max((r.spent.delta for r in found if r.spent.delta < 1), default=0.0)
    found = [receipt.under(relation) for receipt in found]
    if not found:
        return PrivacySpent(0.0, 0.0)
    if delta is not None:
        return PrivacySpent(_epsilon(found, delta), delta)
    deltas = [receipt.fits * receipt.spent.delta for receipt in found]
    least = _epsilon(found, at)
    total = min(1.0, sum(deltas))
    if isinf(least) and at < total < 1:
        return PrivacySpent(_epsilon(found, total), total)
    return PrivacySpent(least, at)


def common_adjacency(receipts: Sequence[Receipt]) -> Adjacency:
    """Zero-out if all receipts are under it, and else replace-one.

    Parameters
    ----------
    receipts : sequence of Receipt
        Those that spent nothing do not count.
    """
    relations = {r.adjacency for r in receipts if not r.nothing}
    return relations.pop() if len(relations) == 1 else Adjacency.REPLACE_ONE


def common_unit(receipts: Sequence[Receipt]) -> PrivacyUnit:
    """The privacy unit that all receipts are about.

    A total of fits of which some protect rows and others all rows of a unit would be one about
    rows, which nobody who has declared units means.

    Parameters
    ----------
    receipts : sequence of Receipt
        Those that spent nothing do not count.

    Raises
    ------
    ValueError
        If they differ.
    """
    units = {receipt.unit for receipt in receipts if not receipt.nothing}
    if len(units) > 1:
        by_rows = sorted({r.who or "a fit" for r in receipts if r.unit is PrivacyUnit.ROW})
        raise ValueError(
            "A total needs fits with one privacy unit, got some that protect all rows of a unit, "
            f"and some that protect single rows ({', '.join(by_rows)}). Pass privacy_unit to all "
            "of them, or to none."
        )
    return units.pop() if units else PrivacyUnit.ROW


@dataclass(frozen=True)
class _Receipt:
    """Receipt of one part of a stream; while the part goes on, its whole budget and no events.

    Events do not name the part, since folding changes the positions that it stands for.
    """

    part: Part
    events: tuple[Event, ...] | None
    spent: PrivacySpent


class ParallelComposition:
    """Parallel composition of the parts of a stream: the largest spend of one part.

    Whoever exchanges one row changes what one part holds. The answers about that part are
    (epsilon, delta)-DP by its own ledger, and all that is done before and after it does not depend
    on the row but through them. So parts that have no row in common compose in parallel: the spend
    of all is the largest spend of one.

    The latest 16 receipts are kept one by one. Earlier ones are folded: of consecutive parts the
    receipt of the most expensive one stays, under the positions of all of them and with their
    number, so that the spend can be recomputed from what is left and memory does not grow. Gaussian
    receipts are folded with Gaussian ones, and others with others.

    Attributes
    ----------
    stop : int
        Number of rows that belong to the parts so far, or come before the next. Larger if it is
        set: of the rows between nobody has asked, and nobody will.

    Guarantees
    ----------
    - Parts follow each other without a row in common.
    - No folding changes the spend, and every row that was charged is on the receipt.
    """

    def __init__(self) -> None:
        self._receipts: list[_Receipt] = []
        self.stop = 0

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
        parts.stop = n_samples
        if not receipt.nothing:
            part = Part(0, max(1, n_samples))
            parts.stop = part.stop
            parts._receipts = [_Receipt(part, receipt.unlocated().events, receipt.spent)]
        return parts

    @property
    def several(self) -> bool:
        """True if more than one part was queried."""
        return len(self._receipts) > 1

    def add(self, n_samples: int, ledger: Ledger) -> None:
        """Record what the ledger of the next part was charged.

        Parameters
        ----------
        n_samples : int
            Number of rows of the part, which start where the part before it stopped.
        ledger : Ledger
            Opened for these rows and no others.
        """
        self.open(n_samples, ledger)
        self.settle(ledger)

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
        part = Part(self.stop, self.stop + n_samples)
        whole = _Receipt(part, None, PrivacySpent(ledger.epsilon, ledger.delta))
        self._receipts, self.stop = [*self._receipts, whole], part.stop

    def settle(self, ledger: Ledger) -> None:
        """Replace the budget of the latest part by what its ledger was charged.

        Parameters
        ----------
        ledger : Ledger
            With which the part was opened.
        """
        part = self._receipts[-1].part
        self._receipts[-1] = _Receipt(part, ledger.receipt(whole=True), ledger.spent())
        self._fold()

    def spent(self) -> PrivacySpent:
        """The largest spend of a part."""
        spends = [r.spent for r in self._receipts] or [PrivacySpent(0.0, 0.0)]
        return PrivacySpent(*map(max, zip(*spends, strict=True)))

    def events(self, *, named: bool = True) -> tuple[Event, ...]:
        """All events, each with the part that it is about; none while a part is not settled.

        Parameters
        ----------
        named : bool, default=True
            If not, events do not name a part: for a model that has had one part only.
        """
        found: list[Event] = []
        for receipt in self._receipts:
            if receipt.events is None:
                return ()
            part = receipt.part
            found += [_about(e, part) for e in receipt.events] if named else receipt.events
        return tuple(found)

    def _fold(self) -> None:
        """Fold the first two neighbours of one kind, if there are many receipts.

        The costlier of two Gaussian receipts is so in every respect, which is not so of one that is
        Gaussian beside one that is not.
        """
        if len(self._receipts) <= _KEPT:
            return
        kinds = [_is_gaussian(receipt) for receipt in self._receipts]
        for i in range(len(kinds) - 1):
            if kinds[i] == kinds[i + 1]:
                self._receipts[i : i + 2] = [_folded(*self._receipts[i : i + 2])]
                return

    def __copy__(self) -> ParallelComposition:
        other = ParallelComposition()
        other._receipts, other.stop = [*self._receipts], self.stop
        return other


def _epsilon(receipts: Sequence[Receipt], delta: float) -> float:
    if delta == 0:
        # Of pure epsilon.
        return _sum(receipts, delta)
    if all(receipt.exact and receipt.complete for receipt in receipts):
        # Gaussian releases compose exactly, so that no other bound can be below.
        return min(_sum(receipts, delta), _gaussian(receipts, delta))
    apart = [part for receipt in receipts for part in _apart(receipt)]
    least = min(_sum(receipts, delta), *(_by_kind(some, delta) for some in (receipts, apart)))
    if all(r.complete and r.exact if r.events else r.spent.epsilon == 0 for r in apart):
        # Gaussian releases beside what adds to delta alone: nothing else has more to say.
        return least
    return min(least, _distributions(receipts, delta, least))


def _by_kind(receipts: Sequence[Receipt], delta: float) -> float:
    bounds = _gaussian, _perturbed, _renyi, _searched
    return min(_beside_sums(receipts, delta, bound) for bound in bounds)


def _apart(receipt: Receipt) -> list[Receipt]:
    """A ledger without the events that state an (epsilon, delta), and a receipt of each of those.

    A release of cells above a threshold is a Gaussian one and one that states (0, delta). What the
    others have spent by their own account is not known.
    """
    stated = [
        event
        for event in receipt.events
        if isinstance(event, SearchEvent)
        and (event.calculus, event.published) == ("approximate", "all")
    ]
    thresholds = [event for event in receipt.events if isinstance(event, ThresholdEvent)]
    if not (stated or thresholds) or len(stated) == len(receipt.events) or not receipt.complete:
        # Of parts that are remembered by the costliest (epsilon, delta) no event says more.
        return [receipt]
    others = tuple(
        event.counts if isinstance(event, ThresholdEvent) else event
        for event in receipt.events
        if event not in stated
    )
    rest = replace(receipt, events=others, spent=PrivacySpent(inf, receipt.spent.delta))
    return [
        rest,
        *(_stated(event, receipt.adjacency) for event in stated),
        *_added_deltas(thresholds, receipt.adjacency),
    ]


def _added_deltas(events: Sequence[ThresholdEvent], adjacency: Adjacency) -> list[Receipt]:
    """Receipts of what thresholds add to delta."""
    return [
        Receipt((), PrivacySpent(0.0, event.threshold_delta), adjacency, fits=event.count)
        for event in events
    ]


def _stated(event: SearchEvent, adjacency: Adjacency) -> Receipt:
    epsilon = event.ratio
    fits = event.count * ceil(event.mean_trials)
    return Receipt((), PrivacySpent(epsilon, event.trial_delta), adjacency, fits=fits)


def _sum(receipts: Sequence[Receipt], delta: float) -> float:
    if sum(r.fits * r.spent.delta for r in receipts) > delta * (1 + _ROUNDING):
        return inf
    return sum(r.fits * r.spent.epsilon for r in receipts)


def _beside_sums(receipts: Sequence[Receipt], delta: float, bound: _Bound) -> float:
    """A bound for those receipts that it can read, and sums for the others."""
    read = [r for r in receipts if bound([r], None) < inf]
    others = [r for r in receipts if bound([r], None) == inf]
    left = delta - sum(r.fits * r.spent.delta for r in others)
    if not read or left <= 0:
        return inf
    return bound(read, left) + sum(r.fits * r.spent.epsilon for r in others)


def _gaussian(receipts: Sequence[Receipt], delta: float | None) -> float:
    total = sum(r.gaussian_price() for r in receipts)
    return total if delta is None or isinf(total) else gdp.epsilon(sqrt(total), delta)


def _perturbed(receipts: Sequence[Receipt], delta: float | None) -> float:
    plain, jacobians, ways, of_units = 0.0, 0.0, {0.0: 1}, False
    for receipt in receipts:
        events = _of_all_rows(receipt)
        perturbed = [e for e in events if isinstance(e, ObjectivePerturbationEvent)]
        if not perturbed:
            plain += receipt.gaussian_price()
            continue
        plain += sum(gaussian_price(e) for e in events if e not in perturbed)
        for event in perturbed:
            moves = event.ratio * event.ratio
            plain += event.count * (event.output_ratio * event.output_ratio)
            jacobians += event.count * event.jacobian
            of_units |= event.of_units
            for _ in range(event.count):
                ways = _with_vertices(ways, moves)
                if len(ways) > _MOST_VERTICES:
                    return inf
    if isinf(plain + jacobians) or isinf(max(ways)):
        return inf
    return plain if delta is None else jacobians + _union(plain, ways, delta, of_units)


def _of_all_rows(receipt: Receipt) -> tuple[Event, ...]:
    """The events, if all rows took part in the same ones."""
    slices = receipt.slices
    return slices[0] if len(slices) == 1 and receipt.complete else ()


def _with_vertices(ways: dict[float, int], moves: float) -> dict[float, int]:
    """Multiplicity of each T among the ways to take one vertex more."""
    found: dict[float, int] = {}
    for t, n in ways.items():
        for share, copies in _VERTICES:
            key = t + share * moves
            found[key] = found.get(key, 0) + n * copies
    return found


def _union(plain: float, ways: dict[float, int], delta: float, of_units: bool) -> float:
    """Least e with ``sum_v HS_e(sqrt(plain + T_v)) <= delta``, rounded up; of units with K."""
    # Of units a vertex that does not move counts as well: at a loss of 0 a tangent may be above 0.
    least = _LEAST_LEVEL * sqrt(plain + max(ways)) if of_units else 0.0
    moved = [(max(sqrt(plain + t), least), n) for t, n in ways.items()]
    mus = [(level * (1 + _ROUNDING), log(n)) for level, n in moved if level > 0]
    goal = log(delta)

    def excess(e: float) -> float:
        if of_units:
            return perturbation.log_delta_of_units(mus, e) - goal
        return float(np.logaddexp.reduce([n + gdp.log_delta(m, e) for m, n in mus])) - goal

    if not mus or excess(0.0) <= 0:
        return 0.0
    count = sum(ways.values())
    largest = max(m for m, _ in mus)
    low = gdp.epsilon(largest, delta) * (1 - 1e-9)
    high = gdp.epsilon(largest, max(delta / count, 1e-300)) * (1 + 1e-9)
    while excess(high) > 0:
        high *= 2
    # Next to zero the ends are closer than the rounding of logarithms.
    if excess(low) <= 0:
        return high
    return float(brentq(excess, low, high, xtol=1e-16 * high, rtol=1e-14)) * (1 + _ROUNDING)


def _searched(receipts: Sequence[Receipt], delta: float | None) -> float:
    """A search of Gaussian trials, the first if there are several, beside Gaussian releases."""
    searches = [e for r in receipts for e in _of_all_rows(r) if _of_gaussian_trials(e)]
    if not searches:
        # To be read beside one.
        return sum(r.gaussian_price() for r in receipts) if delta is None else inf
    search = searches[0]
    more = 0.0
    for receipt in receipts:
        events = _of_all_rows(receipt)
        mine = search in events and len(searches) == 1
        others = [e for e in events if e != search]
        more += sum(map(gaussian_price, others)) if mine else receipt.gaussian_price()
    if delta is None or isinf(more):
        return more
    together = partial(gdp.epsilon, hypot(search.ratio, sqrt(more)))
    trial = partial(gdp.delta, search.ratio)
    return trials.epsilon(delta, NumberOfTrials(search.mean_trials), trial, together)


def _of_gaussian_trials(event: Event) -> TypeGuard[SearchEvent]:
    if not isinstance(event, SearchEvent) or event.count > 1 or not event.noise_scale:
        return False
    return event.calculus == "gaussian" and event.published == "best"


def _renyi(receipts: Sequence[Receipt], delta: float | None) -> float:
    if delta is None:
        return min(sum(r.renyi(order) for r in receipts) for order in (ORDERS[24], ORDERS[40]))
    return epsilon_by_renyi(receipts, delta)


def _distributions(receipts: Sequence[Receipt], delta: float, about: float) -> float:
    """Epsilon by privacy loss distributions, where they have something to add."""
    gaussian, blocks, pairs = 0.0, [], []
    for receipt in receipts:
        events = _of_all_rows(receipt)
        sampled = [e for e in events if isinstance(e, SampledGaussianEvent)]
        plain = sum(gaussian_price(e) for e in events if e not in sampled)
        if sampled and plain < inf:
            gaussian += plain
            blocks += [
                SampledReleases(e.sampling_rate, e.noise_multiplier, e.count, e.adjacency)
                for e in sampled
            ]
        elif receipt.gaussian_price() < inf:
            gaussian += receipt.gaussian_price()
        else:
            pairs += [receipt.spent] * receipt.fits
    if not blocks and not pairs:
        return inf
    try:
        return epsilon_by_distributions(tuple(blocks), gaussian, delta, pairs, about)
    except ImportError:
        return inf


def _about(event: Event, part: Part) -> Event:
    """The event with the part that it is about, and the site within it if it is about one."""
    site = event.part
    return event.changed(part=replace(site, within=part) if isinstance(site, Site) else part)


def _is_gaussian(receipt: _Receipt) -> bool | None:
    if receipt.events is None:
        return None
    return all(isinstance(event, GaussianEvent | PrefixSumEvent) for event in receipt.events)


def _folded(first: _Receipt, second: _Receipt) -> _Receipt:
    part = Part(first.part.start, second.part.stop, first.part.count + second.part.count)
    worst = second if second.spent > first.spent else first
    return replace(worst, part=part)


# Rules by which anybody can recompute a total from events, each short enough for a script of the
# standard library, ``examples/recompute_report.py``. A report names the rule that gives its own
# total, if there is one, so that no other has to be tried.


def rule_of(receipts: Sequence[Receipt], total: PrivacySpent) -> str:
    """The first rule that gives the total of fits on the same rows; ``'stated'`` if none does."""
    several = len(receipts) > 1
    # What a single fit states is no sum that anybody could check.
    names = [name for name in _RECOMPUTED if several or name != "sum"]
    return next((name for name in names if follows(name, receipts, total)), "stated")


def follows(rule: str, receipts: Sequence[Receipt], total: PrivacySpent) -> bool:
    """Tell whether a rule gives the total of fits on the same rows; ``'stated'`` never does."""
    if rule not in _RECOMPUTED:
        return False
    epsilon = _RECOMPUTED[rule](receipts, total.delta)
    return isclose(epsilon, total.epsilon, rel_tol=_AS_STATED)


def _by(calculus: Calculus) -> _Bound:
    """Epsilon at a delta in the range of a calculus, where all events have a price by it."""

    def priced(receipt: Receipt) -> float:
        if not receipt.complete:
            return inf
        try:
            return max(sum(e.count * calculus.cost(e) for e in rows) for rows in receipt.slices)
        except TypeError:
            return inf

    def epsilon(receipts: Sequence[Receipt], delta: float) -> float:
        price = sum(map(priced, receipts))
        # Delta is 0 for pure epsilon and for nothing else.
        known = delta == 0 if isinstance(calculus, PureDP) else 1e-299 < delta < 1
        return calculus.epsilon(price, delta) if known and not isinf(price) else inf

    return epsilon


def _scripted(bound: _Bound) -> _Bound:
    """A bound where the script has a price for all events; infinite elsewhere."""

    def epsilon(receipts: Sequence[Receipt], delta: float) -> float:
        events = (event for receipt in receipts for event in receipt.events)
        known = 0 < delta < 1 and all(isinstance(event, _OF_SCRIPT) for event in events)
        return bound(receipts, delta) if known else inf

    return epsilon


def _thresholds(receipts: Sequence[Receipt], delta: float) -> float:
    events = [event for receipt in receipts for event in receipt.events]
    left = delta - sum(map(added_delta, events))
    price = sum(receipt.most(price_beside_delta) for receipt in receipts)
    known = all(isinstance(event, (*_OF_SCRIPT, ThresholdEvent)) for event in events)
    return gdp.epsilon(sqrt(price), left) if known and not isinf(price) and left > 0 else inf


def _sum_of_all(receipts: Sequence[Receipt], delta: float) -> float:
    deltas = sum(receipt.fits * receipt.spent.delta for receipt in receipts)
    return _sum(receipts, inf) if isclose(deltas, delta, rel_tol=_AS_STATED) else inf


_RECOMPUTED: dict[str, _Bound] = {
    "pure": _by(PureDP()),
    "gaussian": _scripted(_gaussian),
    "thresholds": _thresholds,
    "concentrated": _by(ZeroConcentratedDP()),
    "perturbation": _by(PerturbedGaussianDP()),
    "renyi": _scripted(_renyi),
    "sum": _sum_of_all,
}
