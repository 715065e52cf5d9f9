"""Rules by which anybody can recompute the total of a report from its events.

Each is short enough for a script of the standard library, ``examples/recompute_report.py``. A
report names the rule that gives its own total, if there is one, so that no other has to be tried.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import inf, isclose, isinf, sqrt

from ..privacy.accounting import gdp
from ..privacy.accounting.calculus import (
    Calculus,
    PerturbedGaussianDP,
    PureDP,
    ZeroConcentratedDP,
)
from ..privacy.accounting.events import (
    ExponentialEvent,
    GaussianEvent,
    NonPrivateEvent,
    PrefixSumEvent,
    ThresholdEvent,
)
from ..privacy.accounting.ledger import PrivacySpent
from .divergences import added_delta, price_beside_delta
from .receipts import Receipt, epsilon_by_renyi

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
_SCRIPTED = GaussianEvent, PrefixSumEvent, ExponentialEvent, NonPrivateEvent
# What rounding, and a total that is reported as the budget it fills, may change.
_ROUNDING = 1e-7


def rule_of(receipts: Sequence[Receipt], total: PrivacySpent) -> str:
    """The first rule that gives the total of fits on the same rows; ``'stated'`` if none does."""
    several = len(receipts) > 1
    # What a single fit states is no sum that anybody could check.
    names = [name for name in _EPSILONS if several or name != "sum"]
    return next((name for name in names if follows(name, receipts, total)), "stated")


def follows(rule: str, receipts: Sequence[Receipt], total: PrivacySpent) -> bool:
    """Tell whether a rule gives the total of fits on the same rows; ``'stated'`` never does."""
    if rule not in _EPSILONS:
        return False
    return isclose(_EPSILONS[rule](receipts, total.delta), total.epsilon, rel_tol=_ROUNDING)


def _by(calculus: Calculus) -> Callable[[Sequence[Receipt], float], float]:
    """Epsilon at a delta in the range of a calculus, where all events have a price by it."""

    def epsilon(receipts: Sequence[Receipt], delta: float) -> float:
        price = sum(_priced(receipt, calculus) for receipt in receipts)
        # Delta is 0 for pure epsilon and for nothing else.
        known = delta == 0 if isinstance(calculus, PureDP) else 1e-299 < delta < 1
        return calculus.epsilon(price, delta) if known and not isinf(price) else inf

    return epsilon


def _priced(receipt: Receipt, calculus: Calculus) -> float:
    """The price of a fit by a calculus; infinite if it has no price for one of the events."""
    if not receipt.complete:
        return inf
    try:
        return max(sum(e.count * calculus.cost(e) for e in rows) for rows in receipt.slices)
    except TypeError:
        return inf


def _scripted(receipts: Sequence[Receipt]) -> bool:
    return all(isinstance(event, _SCRIPTED) for receipt in receipts for event in receipt.events)


def _gaussian(receipts: Sequence[Receipt], delta: float) -> float:
    price = sum(receipt.gaussian_price() for receipt in receipts)
    known = _scripted(receipts) and not isinf(price) and 0 < delta < 1
    return gdp.epsilon(sqrt(price), delta) if known else inf


def _thresholds(receipts: Sequence[Receipt], delta: float) -> float:
    events = [event for receipt in receipts for event in receipt.events]
    left = delta - sum(map(added_delta, events))
    price = sum(receipt.most(price_beside_delta) for receipt in receipts)
    known = all(isinstance(event, (*_SCRIPTED, ThresholdEvent)) for event in events)
    return gdp.epsilon(sqrt(price), left) if known and not isinf(price) and left > 0 else inf


def _renyi(receipts: Sequence[Receipt], delta: float) -> float:
    known = 0 < delta < 1 and _scripted(receipts)
    return epsilon_by_renyi(receipts, delta) if known else inf


def _sum(receipts: Sequence[Receipt], delta: float) -> float:
    deltas = sum(receipt.fits * receipt.spent.delta for receipt in receipts)
    if not isclose(deltas, delta, rel_tol=_ROUNDING):
        return inf
    return sum(receipt.fits * receipt.spent.epsilon for receipt in receipts)


_EPSILONS: dict[str, Callable[[Sequence[Receipt], float], float]] = {
    "pure": _by(PureDP()),
    "gaussian": _gaussian,
    "thresholds": _thresholds,
    "concentrated": _by(ZeroConcentratedDP()),
    "perturbation": _by(PerturbedGaussianDP()),
    "renyi": _renyi,
    "sum": _sum,
}
