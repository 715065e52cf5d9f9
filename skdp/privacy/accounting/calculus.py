"""The calculi that turn events into a total and a total into (epsilon, delta).

All count in the same unit, mu^2, so that a share of the budget means the same thing under
each: a Gaussian release costs (sensitivity / noise)^2, and rho-zCDP counts as mu^2 = 2 rho.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from math import inf, isnan, nan, sqrt

from ..adjacency import Adjacency
from . import gdp, perturbation, subsampling, zcdp
from .events import (
    Event,
    ExponentialEvent,
    GaussianEvent,
    NonPrivateEvent,
    ObjectivePerturbationEvent,
    PrefixSumEvent,
    SampledGaussianEvent,
)

__all__ = [
    "Calculus",
    "GaussianDP",
    "PerturbedGaussianDP",
    "SubsampledGaussianDP",
    "ZeroConcentratedDP",
]

# A multiplier planned by the central limit theorem is raised until this much of what was planned
# for the other releases is left for them.
_ENOUGH, _MORE_NOISE = 0.75, 1.25


@dataclass(frozen=True)
class Calculus(ABC):
    """Reads events; never counts them (that is done in one place, by the ledger)."""

    def cost(self, event: Event) -> float:
        """Price in mu^2 of a single release of this kind.

        Raises
        ------
        TypeError
            If the calculus has no valid price for the event.
        """
        if isinstance(event, NonPrivateEvent):
            return inf
        if isinstance(event, GaussianEvent):
            ratio = event.sensitivity / event.noise_scale if event.noise_scale else inf
            # A product overflows to infinity, a power to an error.
            return ratio * ratio
        return self._cost_of_other(event)

    def reserved(self, event: Event) -> int | None:
        """Number of releases like this one that the limit reserves; None if each has a price.

        What is reserved costs nothing when it is charged, because ``limit`` and ``epsilon`` count
        all of it from the start.
        """
        del event
        return None

    @abstractmethod
    def _cost_of_other(self, event: Event) -> float: ...

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

    def _cost_of_other(self, event: Event) -> float:
        if isinstance(event, PrefixSumEvent):
            return _cost_of_prefix_sums(event)
        raise TypeError(
            f"GaussianDP has no exact price for a {type(event).__name__}; "
            "open the ledger with ZeroConcentratedDP() to mix it with Gaussian releases."
        )

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

    def _cost_of_other(self, event: Event) -> float:
        if isinstance(event, ExponentialEvent):
            eta = event.sensitivity / event.noise_scale if event.noise_scale else inf
            return eta * eta / 4
        if isinstance(event, PrefixSumEvent):
            return _cost_of_prefix_sums(event)
        raise TypeError(f"ZeroConcentratedDP has no price for a {type(event).__name__}.")

    def limit(self, epsilon: float, delta: float) -> float:
        """Twice the largest rho that implies (epsilon, delta)-DP."""
        return 2 * zcdp.rho(epsilon, delta)

    def epsilon(self, total: float, delta: float) -> float:
        """Epsilon that (total / 2)-zCDP implies at this delta."""
        return zcdp.epsilon(total / 2, delta)


@dataclass(frozen=True)
class PerturbedGaussianDP(Calculus):
    """Calculus for one objective perturbation that outweighs all Gaussian releases beside it.

    Valid as a filter; the proof is in :mod:`skdp.privacy.accounting.perturbation`. A ledger takes
    the perturbation only if it is more than half of the total, and then nothing that would make it
    less (see ``Event.least_share``). Without one the answers are still right, and a little
    pessimistic.
    """

    def _cost_of_other(self, event: Event) -> float:
        if not isinstance(event, ObjectivePerturbationEvent):
            raise TypeError(f"PerturbedGaussianDP has no price for a {type(event).__name__}.")
        moves = event.sensitivity / event.noise_scale if event.noise_scale else inf
        turns = event.jacobian / perturbation.KAPPA
        output = inf if event.output_sensitivity else 0.0
        if event.output_noise_scale:
            output = event.output_sensitivity / event.output_noise_scale
        share = perturbation.OUTPUT_SHARE
        prices = [ratio * ratio / (1 - share) for ratio in (moves, turns)]
        prices.append(output * output / share)
        # A maximum would pass over what is not a number, which no ledger takes.
        return nan if any(map(isnan, prices)) else max(prices)

    def limit(self, epsilon: float, delta: float) -> float:
        """Square of the largest mu that implies (epsilon, delta)-DP."""
        return perturbation.mu(epsilon, delta) ** 2

    def epsilon(self, total: float, delta: float) -> float:
        """Epsilon that a total in mu^2 implies at this delta."""
        return perturbation.epsilon(sqrt(total), delta)


@dataclass(frozen=True)
class SubsampledGaussianDP(Calculus):
    """Calculus for a reserved block of Poisson-sampled Gaussian releases beside Gaussian ones.

    Valid as a filter in two parts; the proof is in :mod:`skdp.privacy.accounting.subsampling`. The
    limit is what is left for Gaussian releases once the whole block is paid. A ledger takes at most
    ``count`` sampled releases, of exactly this rate and relation and at least this multiplier.

    Parameters
    ----------
    sampling_rate : float
        Probability with which a row is drawn, in (0, 1].
    noise_multiplier : float
        Standard deviation of the noise in units of the bound on one row, whatever the relation.
    count : int
        Number of sampled releases, at least 1.
    adjacency : Adjacency, default=Adjacency.REPLACE_ONE
        Neighbouring relation.

    Raises
    ------
    ValueError
        If a parameter is outside its range.
    """

    sampling_rate: float
    noise_multiplier: float
    count: int
    adjacency: Adjacency = Adjacency.REPLACE_ONE

    def __post_init__(self) -> None:
        sound = 0 < self.sampling_rate <= 1 and 0 < self.noise_multiplier < inf and self.count >= 1
        if not sound:
            raise ValueError(
                "SubsampledGaussianDP needs a sampling rate in (0, 1], a positive finite noise "
                f"multiplier and a count >= 1, got {self.sampling_rate}, {self.noise_multiplier} "
                f"and {self.count}."
            )

    @classmethod
    def planned(
        cls,
        sampling_rate: float,
        count: int,
        share: float,
        epsilon: float,
        delta: float,
        adjacency: Adjacency,
    ) -> SubsampledGaussianDP:
        """A block that takes about this share of the budget.

        Parameters
        ----------
        sampling_rate, count, adjacency
            As above.
        share : float
            In (0, 1).
        epsilon, delta : float
            The budget.

        Raises
        ------
        ImportError
            If dp-accounting is needed and missing.
        """
        whole = gdp.mu(epsilon, delta) ** 2
        z = subsampling.multiplier(sampling_rate, count, share * whole, adjacency)
        block = cls(sampling_rate, z, count, adjacency)
        # Ends where sampling would not be needed, at the latest.
        while subsampling.limit(*block._block, epsilon, delta) < _ENOUGH * (1 - share) * whole:
            block = cls(sampling_rate, block.noise_multiplier * _MORE_NOISE, count, adjacency)
        return block

    @property
    def unsampled_price(self) -> float:
        """Price in mu^2 of one of the releases if every row took part."""
        return subsampling.unsampled_price(self.noise_multiplier, self.adjacency)

    def reserved(self, event: Event) -> int | None:
        """The count for sampled releases."""
        return self.count if isinstance(event, SampledGaussianEvent) else None

    def _cost_of_other(self, event: Event) -> float:
        if not isinstance(event, SampledGaussianEvent):
            raise TypeError(f"SubsampledGaussianDP has no price for a {type(event).__name__}.")
        fits = (
            event.sampling_rate == self.sampling_rate
            and event.adjacency is self.adjacency
            and event.noise_multiplier >= self.noise_multiplier
        )
        return 0.0 if fits else inf

    def limit(self, epsilon: float, delta: float) -> float:
        """Largest mu^2 of Gaussian releases that leaves room for the whole block."""
        left = subsampling.limit(*self._block, epsilon, delta)
        if not left > 0:
            raise ValueError(
                f"SubsampledGaussianDP needs a block that is (epsilon, delta)-DP, but {self.count} "
                f"releases with sampling rate {self.sampling_rate:.3g} and noise multiplier "
                f"{self.noise_multiplier:.3g} are not, at epsilon={epsilon:g} and delta={delta:g}; "
                "raise the multiplier."
            )
        return left

    def epsilon(self, total: float, delta: float) -> float:
        """Epsilon of the whole block, however much of it was used, with Gaussian releases."""
        return subsampling.epsilon(*self._block, total, delta)

    @property
    def _block(self) -> tuple[float, float, int, Adjacency]:
        return self.sampling_rate, self.noise_multiplier, self.count, self.adjacency


def _cost_of_prefix_sums(event: PrefixSumEvent) -> float:
    """The whole stream's mu^2, which its steps share out among them whatever comes in between."""
    moves = event.sensitivity * event.column_norm
    ratio = moves / event.noise_scale if event.noise_scale else inf
    return ratio * ratio
