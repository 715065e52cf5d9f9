r"""Noise on the slope of an objective, before it is minimised: normal, or of pure epsilon.

Normal noise
------------
See :mod:`skdp.privacy.accounting.perturbation`.

Pure epsilon
------------
z in R^p has a density in proportion to ``exp(-||z|| / s)``: s times the norm of p + 1 standard
normals times a vector of p more. Released is the minimiser of ``F(w) + <b, w>``, with F as
there, but that derivatives may have either sign, as a computed point with noise of scale t. With D
the most by which gradients of neighbours differ at one point, J the bound on the logarithm of the
ratio of their Jacobians, and O the most by which their computed points for one exact minimiser can
be apart, it is epsilon-DP with delta = 0, for every outcome, for

    epsilon = D / s + J + O / t.

Proofs of the law of the noise and of the price: theorem Q1 of ``docs/proofs/pure_epsilon.md``, and
U4 of ``docs/proofs/people.md`` for privacy units. Nothing is said of how likely a slope is: the
tolerance is above the rounding of gradients whatever is drawn (:attr:`PurePerturbation.longest`).

References
----------
Chaudhuri, Monteleoni and Sarwate (2011), algorithm 2, whose theorem is about exact minimisers and
counts the Jacobian twice.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from math import prod, sqrt
from typing import ClassVar, Self, final

import numpy as np

from ..accounting.events import (
    ObjectivePerturbationEvent,
    PerturbationEvent,
    PurePerturbationEvent,
)
from ..accounting.ledger import Spend
from ..accounting.perturbation import KAPPA, OUTPUT_SHARE
from ..randomness import LONGEST, SecretNoise
from .base import ROUND_UP, PerturbingMechanism, check_sensitivity
from .noise_grid import noisy_on_grid

# Standard deviations within which the norm of a normal vector surely is, beyond its root p.
_SURELY = 10.0
# Most of a pure epsilon that the Jacobian may take, measured to be a good balance of noise and
# strength; and its part for the noise on the computed minimiser.
_PURE_JACOBIAN_SHARE, _PURE_OUTPUT_SHARE = 0.2, 1 / 32


def largest_jacobian(spend: Spend) -> float:
    """Most that the logarithm of the ratio of Jacobians may be for a spend."""
    return KAPPA * sqrt(spend.amount * (1 - OUTPUT_SHARE)) / ROUND_UP


def largest_pure_jacobian(spend: Spend) -> float:
    """Most that the logarithm of the ratio of Jacobians may be for a spend in epsilon."""
    return _PURE_JACOBIAN_SHARE * spend.amount / ROUND_UP


@dataclass(frozen=True)
class RandomSlope(PerturbingMechanism):
    """A random slope for the objective, and a little noise of its kind on the computed minimum."""

    fact: ClassVar[type[PerturbationEvent]]

    shape: tuple[int, ...]
    #: Most by which the gradient of the objective can move between neighbours, at one point.
    sensitivity: float
    #: Scale of the slope.
    noise_scale: float
    #: Bound on the logarithm of the ratio of the Jacobians of two neighbours.
    jacobian: float
    #: Most by which computed minimisers with the same exact one can be apart.
    output_sensitivity: float
    #: Scale of the noise on the computed minimiser.
    output_noise_scale: float

    @classmethod
    @final
    def calibrated(
        cls,
        shape: tuple[int, ...],
        sensitivity: float,
        jacobian: float,
        output_sensitivity: float,
        spend: Spend,
        **facts: bool,
    ) -> Self:
        """The least noise for which the release costs at most ``spend``.

        ``facts`` are further fields of the mechanism.
        """
        check_sensitivity(cls.__name__, sensitivity)
        check_sensitivity(cls.__name__, output_sensitivity)
        largest, of_slope, of_output = cls._ratios(jacobian, spend)
        if not 0 <= jacobian <= largest:
            raise ValueError(
                f"{cls.__name__} needs a Jacobian ratio of at most exp({largest:.3g}) for this "
                f"spend, got exp({jacobian:.3g}); make the quadratic part of the objective "
                "stronger."
            )
        return cls(
            shape,
            sensitivity,
            sensitivity / of_slope * ROUND_UP,
            jacobian,
            output_sensitivity,
            output_sensitivity / of_output * ROUND_UP,
            **facts,
        )

    @classmethod
    @abstractmethod
    def _ratios(cls, jacobian: float, spend: Spend) -> tuple[float, float, float]:
        """The largest Jacobian, and the ratios of sensitivity to noise of slope and output."""

    @property
    @abstractmethod
    def longest(self) -> float:
        """Norm that no slope exceeds."""


@dataclass(frozen=True)
class ObjectivePerturbation(RandomSlope):
    """A slope with normal entries, whose standard deviation is its scale; so for the output.

    Guarantees
    ----------
    - See :mod:`skdp.privacy.accounting.perturbation`.
    """

    fact = ObjectivePerturbationEvent

    #: Whether neighbours differ in all rows of a privacy unit.
    of_units: bool = False

    @classmethod
    def _ratios(cls, jacobian: float, spend: Spend) -> tuple[float, float, float]:
        del jacobian
        slope, output = spend.amount * (1 - OUTPUT_SHARE), spend.amount * OUTPUT_SHARE
        return largest_jacobian(spend), sqrt(slope), sqrt(output)

    @property
    def longest(self) -> float:
        """Norm that no slope exceeds but with a probability of e^-50."""
        return self.noise_scale * (sqrt(prod(self.shape)) + _SURELY)

    def perturbation(self, noise: SecretNoise) -> np.ndarray:
        return self.noise_scale * noise.normal(self.shape)

    def randomize(self, value: np.ndarray, noise: SecretNoise) -> np.ndarray:
        return noisy_on_grid(value, self.output_sensitivity, self.output_noise_scale, noise)


@dataclass(frozen=True)
class PurePerturbation(RandomSlope):
    """A slope with a density in proportion to ``exp(-||b|| / noise_scale)``; so for the output.

    Spends are in epsilon. What the Jacobian leaves of its share goes to the slope.

    Guarantees
    ----------
    - A release is epsilon-DP for the epsilon of its event, as the docstring of the module says.
    """

    fact = PurePerturbationEvent

    @classmethod
    def _ratios(cls, jacobian: float, spend: Spend) -> tuple[float, float, float]:
        output = spend.amount * _PURE_OUTPUT_SHARE
        return largest_pure_jacobian(spend), spend.amount - output - jacobian, output

    @property
    def longest(self) -> float:
        """Norm that no slope exceeds, because no normal that is drawn is beyond 14."""
        p = prod(self.shape)
        return self.noise_scale * LONGEST**2 * sqrt(p * (p + 1.0))

    def perturbation(self, noise: SecretNoise) -> np.ndarray:
        return self.noise_scale * _norm(self.shape, noise) * noise.normal(self.shape)

    def randomize(self, value: np.ndarray, noise: SecretNoise) -> np.ndarray:
        stretch = _norm(self.shape, noise)
        return noisy_on_grid(
            value, self.output_sensitivity, self.output_noise_scale, noise, stretch=stretch
        )


def _norm(shape: tuple[int, ...], noise: SecretNoise) -> float:
    """Norm of one more standard normal than there are entries; secret."""
    return float(np.linalg.norm(noise.normal(prod(shape) + 1)))
