r"""Privacy filters: a budget over fits, each of which may depend on the fits before it.

A *privacy filter* keeps a budget: a rule, fixed in advance, that says of each further fit whether
it may begin. What has been spent is kept by :mod:`skdp.reporting.budget_store`, and within a fit by
its :class:`~skdp.privacy.accounting.ledger.Ledger`. Four rules are known to keep a promise of
(E, D) against somebody who chooses fits, and their budgets, with all earlier answers in view.

*Gaussian*: ``sum mu^2 <= m^2`` for the largest m that implies (E, D) (Smith and Thakurta, 2022;
Koskela, Tobaben and Honkela, 2023). Exact for Gaussian releases. Choices count as Gaussian
releases, for about pi/2 times their price under zCDP (:mod:`skdp.reporting.divergences`).
Perturbed objectives and searches have no finite price.

*Thresholds*: the Gaussian rule at 95 % of D, and at most 5 % of D for the deltas of releases above
a threshold (theorem T1 of ``docs/proofs/histograms_and_counts.md``). How D is divided has to be
settled before anything is released: a rule that took a delta off when it is spent would let
somebody spend it on those paths alone where earlier answers tell little, and the whole D of the
Gaussian rule on the others.

*Renyi*: ``sum D_a <= R`` for the Renyi divergences of one order a that is fixed when the budget is
opened (Feldman and Zrnic, 2021). Proof for completeness: given what was released before, the next
release has ``E_Q[(P/Q)^a] <= e^((a - 1) D_a)``, so that ``(P/Q)^a e^(-(a - 1) sum D_a)`` is a
supermartingale under Q, whose value at the end is at least ``(P/Q)^a e^(-(a - 1) R)``. Hence the
whole has a divergence of at most R. The order is the best one for releases whose divergences grow
in proportion to it, and R what the conversion of Canonne, Kamath and Steinke (2020) allows at it.
Everything that has a Renyi divergence has a price; Gaussian fits cost some 8 % more in noise than
under the first rule.

*Sums*: epsilons add up to at most E and deltas to at most D (Rogers, Roth, Ullman and Vadhan,
2016). Everything has a price.

Only one rule can be in force
-----------------------------
To accept a fit when *any* of the rules does would not keep (E, D): somebody who lets answers decide
which rule the rest will follow gets, in the worst case, the D of each of them. (Every transcript is
complete under one of the rules; add the bounds for the transcripts of each.) So the rule has to be
settled before anything is released. ``"auto"`` settles it at the first fit, by what that fit may
spend, a public fact: Gaussian if it fits under that, else thresholds, else Renyi, else sums; but
Gaussian is left out where :meth:`skdp.PrivacyBudget.fit` sees that a step will need a threshold.

Reservation and settlement
--------------------------
What a fit may spend at most is reserved before it reads a row, and replaced by what it has released
when it ends. The first two rules hold release by release, so what was reserved and not released was
never counted by them; at every moment the sum over releases is at most the sum over reservations,
which never exceeds the limit. Sums hold fit by fit, for parameters: there a fit that has released
anything keeps all that was reserved. If a process dies its reservation stands.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from functools import cached_property
from math import inf, log, log1p, sqrt
from typing import ClassVar, NamedTuple, final

from scipy.optimize import minimize_scalar

from ..privacy.accounting import gdp, zcdp
from ..privacy.accounting.calculus import (
    PerturbedGaussianDP,
    PureDP,
    SubsampledGaussianDP,
    ThresholdedGaussianDP,
    ZeroConcentratedDP,
)
from ..privacy.accounting.events import PurePerturbationEvent
from ..privacy.accounting.ledger import PrivacySpent
from ..privacy.accounting.perturbation import KAPPA
from ..privacy.adjacency import Adjacency
from .divergences import CHOICE_AS_GAUSSIAN, added_delta, perturbed_renyi, price_beside_delta
from .receipts import Receipt, SpendBound

# Of the total of squares, for the four vertices of a perturbation beside Gaussian releases.
_VERTICES = (1.0, 0.625, 0.625, 0.5)
# So that shares which sum to the whole, but for the rounding of their sum, are the whole. Limits of
# Gaussian budgets are rounded down by twice as much.
_ROUNDING = 2e-14
# Of delta, for thresholds, under the rule that has them.
_FOR_THRESHOLDS = 0.05
# Calculi of which a budget says nothing about single releases.
_WITHOUT_LEVEL = PerturbedGaussianDP, ThresholdedGaussianDP


class Amount(NamedTuple):
    """Amount that counts against a budget.

    Parameters
    ----------
    main : float
        In the unit of the filter.
    delta : float, default=0.0
        In delta, where that counts by itself.
    """

    main: float
    delta: float = 0.0


@dataclass(frozen=True)
class Filter(ABC):
    """Privacy filter: a rule that keeps a budget.

    Parameters
    ----------
    epsilon, delta : float
        The budget.
    adjacency : Adjacency
        Neighbouring relation of the promise.
    """

    name: ClassVar[str]

    epsilon: float
    delta: float
    adjacency: Adjacency

    @property
    @abstractmethod
    def limit(self) -> Amount:
        """The most that may be spent."""

    @abstractmethod
    def _reserved(self, bound: SpendBound) -> Amount: ...

    @abstractmethod
    def price(self, receipt: Receipt) -> Amount:
        """Cost of a fit with this receipt."""

    @abstractmethod
    def spent(self, total: Amount) -> PrivacySpent:
        """(epsilon, delta) of a total."""

    @abstractmethod
    def left(self, total: Amount) -> PrivacySpent:
        """The largest budget that a further fit, with Gaussian releases, may have."""

    @final
    def reserved(self, most: SpendBound | Receipt) -> Amount:
        """Amount to be reserved for what a fit may spend at most, or will release.

        As long as it is open how a fit will count, it is the least that it can be.
        """
        if isinstance(most, Receipt):
            return self.price(most)
        main, delta = self._reserved(most)
        return Amount(most.fits * main, most.fits * delta)

    def settled(self, reserved: Amount, receipt: Receipt) -> Amount:
        """Cost of a fit that has ended, for which so much was set aside."""
        del reserved
        return self.price(receipt)

    @final
    def holds(self, total: Amount) -> bool:
        """Tell whether a total is within the budget."""
        main, delta = self.limit
        return total.main <= main * (1 + _ROUNDING) and total.delta <= delta * (1 + _ROUNDING)

    @final
    def _squares(self, bound: SpendBound) -> tuple[float, float]:
        """The mu^2 that a ledger accepts, and of a block that is reserved besides."""
        # Group size: steps of the fit's relation in one step of the budget's.
        zero_out = bound.adjacency is Adjacency.ZERO_OUT
        steps = 2 if zero_out and self.adjacency is Adjacency.REPLACE_ONE else 1
        block, limit = bound.calculus, bound.limit * steps**2
        if not isinstance(block, SubsampledGaussianDP):
            return limit, 0.0
        block = replace(block, adjacency=self.adjacency) if steps == 2 else block
        return limit, sum(block.prices)


@dataclass(frozen=True)
class GaussianFilter(Filter):
    """Sums of mu^2, exact for Gaussian releases."""

    name: ClassVar[str] = "gaussian"

    @cached_property
    def limit(self) -> Amount:
        """Square of the largest mu."""
        return Amount(gdp.mu(self.epsilon, self.delta) ** 2)

    def _reserved(self, bound: SpendBound) -> Amount:
        if isinstance(bound.calculus, PureDP):
            return self.price(_of_pure(bound))
        limit, block = self._squares(bound)
        if isinstance(bound.calculus, ZeroConcentratedDP):
            return Amount(limit * CHOICE_AS_GAUSSIAN)
        return Amount(inf if isinstance(bound.calculus, _WITHOUT_LEVEL) else limit + block)

    def price(self, receipt: Receipt) -> Amount:
        """The sum over releases."""
        return Amount(receipt.under(self.adjacency).gaussian_price())

    def spent(self, total: Amount) -> PrivacySpent:
        """Exact at the delta of the budget, of which thresholds have their part."""
        left = self.delta - max(self.limit.delta, total.delta)
        return _at_most(gdp.epsilon(sqrt(total.main), left), self)

    def left(self, total: Amount) -> PrivacySpent:
        """Epsilon of the remaining mu^2 at the delta of the budget."""
        rest = max(0.0, self.limit.main - total.main)
        return _at_most(gdp.epsilon(sqrt(rest), self.delta), self)


@final
@dataclass(frozen=True)
class ThresholdFilter(GaussianFilter):
    """Sums of mu^2 at a part of delta, and of the deltas of thresholds, which have the rest."""

    name: ClassVar[str] = "thresholds"

    @cached_property
    def limit(self) -> Amount:
        """Square of the largest mu at 95 % of delta, and 5 % of delta."""
        of_thresholds = _FOR_THRESHOLDS * self.delta
        return Amount(gdp.mu(self.epsilon, self.delta - of_thresholds) ** 2, of_thresholds)

    def _reserved(self, bound: SpendBound) -> Amount:
        if not isinstance(bound.calculus, ThresholdedGaussianDP):
            return super()._reserved(bound)
        # Two steps of zero-out have no price as events.
        other = bound.adjacency is Adjacency.ZERO_OUT is not self.adjacency
        return Amount(inf if other else bound.limit, bound.calculus.set_aside)

    def price(self, receipt: Receipt) -> Amount:
        """The sums over releases."""
        receipt = receipt.under(self.adjacency)
        if receipt.nothing:
            return Amount(0.0)
        return Amount(receipt.most(price_beside_delta), receipt.most(added_delta))


@final
@dataclass(frozen=True)
class RenyiFilter(Filter):
    """Sums of Renyi divergences of one order."""

    name: ClassVar[str] = "renyi"

    @cached_property
    def order(self) -> float:
        """The order, best for divergences in proportion to it."""

        def missing(log_b: float) -> float:
            order = 1 + 10**log_b
            return -self._room(order) / order

        found = minimize_scalar(missing, bounds=(-3, 6), method="bounded", options={"xatol": 1e-9})
        return float(1 + 10**found.x)

    @cached_property
    def limit(self) -> Amount:
        """The divergence that the conversion allows at the order."""
        return Amount(max(0.0, self._room(self.order)))

    def _room(self, order: float) -> float:
        return self.epsilon - log1p(-1 / order) + log(self.delta * order) / (order - 1)

    def _reserved(self, bound: SpendBound) -> Amount:
        if isinstance(bound.calculus, PureDP):
            return self.price(_of_pure(bound))
        if isinstance(bound.calculus, ThresholdedGaussianDP):
            return Amount(inf)
        order, (limit, block) = self.order, self._squares(bound)
        if isinstance(bound.calculus, PerturbedGaussianDP):
            # By step 5 of theorem O1 (docs/proofs), for any split into one perturbation and others.
            squares = [share * limit for share in _VERTICES]
            return Amount(perturbed_renyi(KAPPA * sqrt(limit), squares, order))
        if bound.calculus is None:
            limit *= zcdp.rho(bound.epsilon, bound.delta) * 2 / bound.limit
        return Amount(order * limit / 2 + order * block / 2)

    def price(self, receipt: Receipt) -> Amount:
        """The sum over releases."""
        return Amount(receipt.under(self.adjacency).renyi(self.order))

    def spent(self, total: Amount) -> PrivacySpent:
        """(epsilon, delta) by the conversion at the one order that counts."""
        if total.main == 0:
            return PrivacySpent(0.0, self.delta)
        epsilon = self.epsilon - self._room(self.order) + total.main
        return _at_most(max(0.0, epsilon), self)

    def left(self, total: Amount) -> PrivacySpent:
        """Epsilon of the rest for a Gaussian fit at the delta of the budget."""
        rest = max(0.0, self.limit.main - total.main)
        return _at_most(gdp.epsilon(sqrt(2 * rest / self.order), self.delta), self)


@final
@dataclass(frozen=True)
class SumsFilter(Filter):
    """Sums of epsilons and of deltas."""

    name: ClassVar[str] = "sums"

    @property
    def limit(self) -> Amount:
        """The budget itself."""
        return Amount(self.epsilon, self.delta)

    def _reserved(self, bound: SpendBound) -> Amount:
        return self.price(replace(bound.most, fits=1))

    def price(self, receipt: Receipt) -> Amount:
        """The (epsilon, delta) of the fit."""
        epsilon, delta = receipt.under(self.adjacency).spent
        return Amount(receipt.fits * epsilon, receipt.fits * delta)

    def settled(self, reserved: Amount, receipt: Receipt) -> Amount:
        """All that was set aside, unless nothing was released."""
        if receipt.nothing:
            return Amount(0.0)
        price = self.price(receipt)
        return Amount(max(reserved.main, price.main), max(reserved.delta, price.delta))

    def spent(self, total: Amount) -> PrivacySpent:
        """The sums."""
        return PrivacySpent(*total)

    def left(self, total: Amount) -> PrivacySpent:
        """Remaining epsilon and delta."""
        return PrivacySpent(max(0.0, self.epsilon - total.main), max(0.0, self.delta - total.delta))


def _of_pure(bound: SpendBound) -> Receipt:
    """Receipt of one fit whose whole budget of pure epsilon is one release."""
    event = PurePerturbationEvent(
        query="fit",
        sensitivity=bound.limit,
        noise_scale=1.0,
        jacobian=0.0,
        output_sensitivity=0.0,
        output_noise_scale=0.0,
    )
    return Receipt((event,), PrivacySpent(bound.epsilon, bound.delta), bound.adjacency)


def _at_most(epsilon: float, budget: Filter) -> PrivacySpent:
    # What is the budget but for rounding is reported as the budget.
    near = budget.epsilon * (1 - 1e-9) < epsilon < budget.epsilon * (1 + 1e-9)
    return PrivacySpent(budget.epsilon if near else epsilon, budget.delta)


# In the order in which "auto" tries them.
FILTERS: dict[str, type[Filter]] = {
    kind.name: kind for kind in (GaussianFilter, ThresholdFilter, RenyiFilter, SumsFilter)
}
