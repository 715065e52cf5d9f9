"""The calculi that turn events into a total and a total into (epsilon, delta).

All count in the same unit, mu^2, so that a share of the budget means the same thing under
each: a Gaussian release costs (sensitivity / noise)^2, and rho-zCDP counts as mu^2 = 2 rho.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from math import inf, isnan, nan, sqrt

from . import gdp, perturbation, zcdp
from .events import (
    Event,
    ExponentialEvent,
    GaussianEvent,
    NonPrivateEvent,
    ObjectivePerturbationEvent,
)

__all__ = ["Calculus", "GaussianDP", "PerturbedGaussianDP", "ZeroConcentratedDP"]


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
    """For mixtures of Gaussian releases and exponential-mechanism choices.

    rho = sum mu^2 / 2 + sum eta^2 / 8, valid as a filter (Whitehouse et al., 2023), converted once
    by the optimised Renyi conversion (Canonne, Kamath and Steinke, 2020).
    """

    def _cost_of_other(self, event: Event) -> float:
        if isinstance(event, ExponentialEvent):
            eta = event.sensitivity / event.noise_scale if event.noise_scale else inf
            return eta * eta / 4
        raise TypeError(f"ZeroConcentratedDP has no price for a {type(event).__name__}.")

    def limit(self, epsilon: float, delta: float) -> float:
        """Twice the largest rho that implies (epsilon, delta)-DP."""
        return 2 * zcdp.rho(epsilon, delta)

    def epsilon(self, total: float, delta: float) -> float:
        """Epsilon that (total / 2)-zCDP implies at this delta."""
        return zcdp.epsilon(total / 2, delta)


@dataclass(frozen=True)
class PerturbedGaussianDP(Calculus):
    """For one objective perturbation that outweighs the Gaussian releases before and after it.

    Valid as a filter; the proof is in :mod:`skdp.privacy.perturbation`. A ledger takes the
    perturbation only if it is more than half of the total, and then nothing that would make it less
    (see ``Event.least_share``). Without one the answers are still right, and a little pessimistic.
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
