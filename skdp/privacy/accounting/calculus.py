"""The calculi that turn events into a total and a total into (epsilon, delta).

All but one count in the same unit, mu^2, so that a share of the budget means the same thing under
each: a Gaussian release costs (sensitivity / noise)^2, and rho-zCDP counts as mu^2 = 2 rho. Pure
epsilon, of which no share is Gaussian, counts in epsilon.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from dataclasses import dataclass
from math import inf, isnan, nan, sqrt
from typing import ClassVar

from ..adjacency import Adjacency
from . import gdp, perturbation, subsampling, zcdp
from .events import (
    Event,
    ExponentialEvent,
    GaussianEvent,
    NonPrivateEvent,
    ObjectivePerturbationEvent,
    PrefixSumEvent,
    PurePerturbationEvent,
    SampledGaussianEvent,
    ThresholdEvent,
)
from .subsampling import SampledReleases


@dataclass(frozen=True)
class Calculus(ABC):
    """Rule that prices events and converts totals into (epsilon, delta); the ledger adds them up.

    ``gaussian`` says that it has a price for Gaussian releases.
    """

    gaussian: ClassVar[bool] = True
    # The end of the sentence about a kind of event without a price.
    _no_price: ClassVar[str] = "no price for a {}."

    def cost(self, event: Event) -> float:
        """Price in the unit of the calculus, mu^2 unless it is pure, of a single such release."""
        if isinstance(event, NonPrivateEvent):
            return inf
        if isinstance(event, GaussianEvent) and self.gaussian:
            return event.mu_squared
        price = self._cost_of_other(event)
        if price is None:
            no_price = self._no_price.format(type(event).__name__)
            raise TypeError(f"{type(self).__name__} has {no_price}")
        return price

    def reserved(self, event: Event) -> tuple[float, int] | None:
        """The reserve out of which a release is paid, None if it has a price.

        A name for the reserve, and the number of releases that it is for. What is reserved costs
        nothing when it is charged, because ``limit`` and ``epsilon`` count all of it from the
        start.
        """
        del event
        return None

    @property
    def reserves(self) -> tuple[tuple[float, int], ...]:
        """All reserves."""
        return ()

    def for_units(self) -> Calculus:
        """The calculus under which neighbours differ in all rows of a privacy unit."""
        return self

    @abstractmethod
    def _cost_of_other(self, event: Event) -> float | None:
        """Price of a release that is not plainly Gaussian; None if it has none."""

    @abstractmethod
    def limit(self, epsilon: float, delta: float) -> float:
        """Largest total in mu^2 that still implies (epsilon, delta)-DP."""

    @abstractmethod
    def epsilon(self, total: float, delta: float) -> float:
        """Smallest epsilon that a total in mu^2 implies at this delta."""


@dataclass(frozen=True)
class GaussianDP(Calculus):
    """Exact for Gaussian releases, also when they are chosen adaptively.

    The sum of mu^2 is exact under composition and may be used as a filter: noise scales and
    sensitivities may depend on earlier answers as long as the running sum never exceeds the limit
    (Dong, Roth and Su, 2022; Smith and Thakurta, 2022; Koskela, Tobaben and Honkela, 2023).
    """

    _no_price: ClassVar[str] = (
        "no exact price for a {}; open the ledger with ZeroConcentratedDP() to mix it with "
        "Gaussian releases."
    )

    def _cost_of_other(self, event: Event) -> float | None:
        return event.mu_squared if isinstance(event, PrefixSumEvent) else None

    def limit(self, epsilon: float, delta: float) -> float:
        """Square of the largest mu that implies (epsilon, delta)-DP."""
        return gdp.mu(epsilon, delta) ** 2

    def epsilon(self, total: float, delta: float) -> float:
        """Exact epsilon of a sqrt(total)-GDP release at this delta."""
        return gdp.epsilon(sqrt(total), delta)


@dataclass(frozen=True)
class ZeroConcentratedDP(Calculus):
    """Zero-concentrated DP, for Gaussian releases mixed with exponential-mechanism choices.

    rho = sum mu^2 / 2 + sum eta^2 / 8, valid as a filter (Whitehouse et al., 2023), converted once
    by the optimised Renyi conversion (Canonne, Kamath and Steinke, 2020).
    """

    def _cost_of_other(self, event: Event) -> float | None:
        if isinstance(event, ExponentialEvent):
            return event.ratio * event.ratio / 4
        return event.mu_squared if isinstance(event, PrefixSumEvent) else None

    def limit(self, epsilon: float, delta: float) -> float:
        """Twice the largest rho that implies (epsilon, delta)-DP."""
        return 2 * zcdp.rho(epsilon, delta)

    def epsilon(self, total: float, delta: float) -> float:
        """Epsilon that (total / 2)-zCDP implies at this delta."""
        return zcdp.epsilon(total / 2, delta)


@dataclass(frozen=True)
class PerturbedGaussianDP(Calculus):
    """Calculus for one objective perturbation that outweighs all Gaussian releases beside it.

    Valid as a filter; see :mod:`skdp.privacy.accounting.perturbation`. A ledger takes
    the perturbation only if it is more than half of the total, and then nothing that would make it
    less (see ``Event.least_share``). Without one the answers are still right, and a little
    pessimistic.
    """

    #: Whether neighbours differ in all rows of a privacy unit. The two have no events of their own
    #: kind in common, as their Jacobians are bounded in different ways.
    of_units: bool = False

    def for_units(self) -> PerturbedGaussianDP:
        return PerturbedGaussianDP(of_units=True)

    def _cost_of_other(self, event: Event) -> float | None:
        if not isinstance(event, ObjectivePerturbationEvent):
            return None
        if event.of_units is not self.of_units:
            raise TypeError(
                "PerturbedGaussianDP has no price for a minimiser that is proved for "
                f"{'all rows of a unit' if event.of_units else 'single rows'}, where what is "
                f"protected are {'units' if self.of_units else 'rows'}."
            )
        share = perturbation.OUTPUT_SHARE
        ratios = event.ratio, event.jacobian / perturbation.KAPPA
        prices = [ratio * ratio / (1 - share) for ratio in ratios]
        prices.append(event.output_ratio * event.output_ratio / share)
        # A maximum would pass over what is not a number, which no ledger takes.
        return nan if any(map(isnan, prices)) else max(prices)

    def limit(self, epsilon: float, delta: float) -> float:
        """Square of the largest mu that implies (epsilon, delta)-DP."""
        return perturbation.mu(epsilon, delta, self.of_units) ** 2

    def epsilon(self, total: float, delta: float) -> float:
        return perturbation.epsilon(sqrt(total), delta, self.of_units)


@dataclass(frozen=True)
class PureDP(Calculus):
    """Calculus of pure epsilon, delta = 0: epsilons add up (Dwork et al., 2006, basic composition).

    Totals and limits are in epsilon and not in mu^2. Valid as a filter: the log-ratio of the
    likelihoods of all answers is a sum of terms each of which is at most the epsilon of its
    release, whatever chose that, and the sum of these never exceeds the limit. Gaussian releases
    and choices have no price here.
    """

    gaussian: ClassVar[bool] = False
    _no_price: ClassVar[str] = (
        "no price for a {}, which is not taken for pure epsilon; open the ledger with a positive "
        "delta for it."
    )

    #: Whether neighbours differ in all rows of a privacy unit.
    of_units: bool = False

    def for_units(self) -> PureDP:
        return PureDP(of_units=True)

    def _cost_of_other(self, event: Event) -> float | None:
        return event.epsilon if isinstance(event, PurePerturbationEvent) else None

    def limit(self, epsilon: float, delta: float) -> float:
        """Epsilon itself, whatever delta is."""
        del delta
        return epsilon

    def epsilon(self, total: float, delta: float) -> float:
        """The total itself, at any delta."""
        del delta
        return total


@dataclass(frozen=True)
class SubsampledGaussianDP(Calculus):
    """Calculus for a reserved block of Poisson-sampled Gaussian releases beside Gaussian ones.

    Valid as a filter in two parts; see :mod:`skdp.privacy.accounting.subsampling`. The
    limit is what is left for Gaussian releases once the whole block is paid. A ledger takes sampled
    releases of exactly this rate and relation only, each out of the reserve of the largest
    multiplier that is no larger than its own.
    """

    #: Probability with which a row is drawn, in (0, 1].
    sampling_rate: float
    #: In the order in which they are planned: noise multiplier, the standard deviation of the noise
    #: in units of the bound on one row, whatever the relation, and how many such releases.
    releases: tuple[tuple[float, int], ...]
    adjacency: Adjacency = Adjacency.REPLACE_ONE

    def __post_init__(self) -> None:
        sound = bool(self.releases) and all(0 < z < inf and n >= 1 for z, n in self.releases)
        if not (sound and 0 < self.sampling_rate <= 1):
            raise ValueError(
                "SubsampledGaussianDP needs a sampling rate in (0, 1] and positive finite noise "
                "multipliers of at least one release each, got "
                f"{self.sampling_rate} and {self.releases}."
            )

    @property
    def sampled(self) -> tuple[SampledReleases, ...]:
        """The releases, by their noise."""
        return tuple(
            SampledReleases(self.sampling_rate, z, count, self.adjacency)
            for z, count in self.reserves
        )

    @property
    def prices(self) -> list[float]:
        """Price in mu^2 of each release, in the planned order, if every row took part."""
        reach = self.adjacency.of_sum(1.0)
        return [(reach / z) * (reach / z) for z, count in self.releases for _ in range(count)]

    def reserved(self, event: Event) -> tuple[float, int] | None:
        """The level of a sampled release, and how many there are of that."""
        if not isinstance(event, SampledGaussianEvent):
            return None
        return max((r for r in self.reserves if r[0] <= event.noise_multiplier), default=None)

    @property
    def reserves(self) -> tuple[tuple[float, int], ...]:
        """Each level, by its multiplier, and how many releases it has."""
        totals: Counter[float] = Counter()
        for z, count in self.releases:
            totals[z] += count
        return tuple(sorted(totals.items()))

    def _cost_of_other(self, event: Event) -> float | None:
        if not isinstance(event, SampledGaussianEvent):
            return None
        fits = event.sampling_rate == self.sampling_rate and event.adjacency is self.adjacency
        return 0.0 if fits and self.reserved(event) is not None else inf

    def limit(self, epsilon: float, delta: float) -> float:
        """Largest mu^2 of Gaussian releases that leaves room for the whole block."""
        left = subsampling.limit(self.sampled, epsilon, delta)
        if not left > 0:
            raise ValueError(
                "SubsampledGaussianDP needs a block that is (epsilon, delta)-DP, but "
                f"{len(self.prices)} releases with sampling rate {self.sampling_rate:.3g} and "
                f"noise multipliers from {self.reserves[0][0]:.3g} on are not, at "
                f"epsilon={epsilon:g} and delta={delta:g}; raise the multipliers."
            )
        return left

    def epsilon(self, total: float, delta: float) -> float:
        """Epsilon of the whole block, however much of it was used, with Gaussian releases."""
        return subsampling.epsilon(self.sampled, total, delta)


@dataclass(frozen=True)
class ThresholdedGaussianDP(Calculus):
    """Calculus for releases of cells above a threshold beside Gaussian releases.

    The deltas of thresholds are taken off the whole delta from the start, so that it is a filter
    for the Gaussian releases with what is left, also where these are chosen adaptively: theorem T1
    of ``docs/proofs/histograms_and_counts.md``.
    """

    #: Delta, in (0, 1), that is reserved for a threshold. One with a larger delta is refused.
    threshold_delta: float
    #: How many such releases it is reserved for.
    releases: int = 1

    def reserved(self, event: Event) -> tuple[float, int] | None:
        """The delta that is reserved, and for how many releases."""
        return self.reserves[0] if isinstance(event, ThresholdEvent) else None

    @property
    def reserves(self) -> tuple[tuple[float, int], ...]:
        """The one reserve."""
        return ((self.threshold_delta, self.releases),)

    @property
    def set_aside(self) -> float:
        """The delta of all thresholds together."""
        return self.releases * self.threshold_delta

    def _cost_of_other(self, event: Event) -> float | None:
        if isinstance(event, ThresholdEvent):
            return event.counts.mu_squared if event.threshold_delta <= self.threshold_delta else inf
        return event.mu_squared if isinstance(event, PrefixSumEvent) else None

    def limit(self, epsilon: float, delta: float) -> float:
        """Square of the largest mu that implies (epsilon, delta)-DP beside the threshold."""
        return gdp.mu(epsilon, self._left(delta)) ** 2

    def epsilon(self, total: float, delta: float) -> float:
        """Exact epsilon of the Gaussian releases at the delta that the threshold leaves."""
        return gdp.epsilon(sqrt(total), self._left(delta))

    def _left(self, delta: float) -> float:
        left = delta - self.set_aside
        if not left > 0:
            raise ValueError(
                f"ThresholdedGaussianDP needs a delta above that of its thresholds, got {delta:g} "
                f"for {self.set_aside:g}; set less aside for them."
            )
        return left
