"""Noise on the slope of an objective, before it is minimised."""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite, prod, sqrt

import numpy as np

from ..accounting.events import ObjectivePerturbationEvent
from ..accounting.ledger import Spend
from ..accounting.perturbation import KAPPA, OUTPUT_SHARE
from ..randomness import SecretNoise
from .base import PerturbingMechanism
from .noise_grid import noisy_on_grid

__all__ = ["ObjectivePerturbation", "largest_jacobian", "slope_scale"]

# Noise is rounded up by this relative amount, far above the rounding of the few operations between
# a spend and the price that the ledger computes back from the noise.
_ROUND_UP = 1 + 1e-12
# Standard deviations within which the norm of a normal vector surely is, beyond its root p.
_SURELY = 10.0


def largest_jacobian(spend: Spend) -> float:
    """Most that the logarithm of the ratio of Jacobians may be for a spend."""
    return KAPPA * sqrt(spend.amount * (1 - OUTPUT_SHARE)) / _ROUND_UP


def slope_scale(sensitivity: float, spend: Spend) -> float:
    """Standard deviation of the random slope for a spend."""
    return sensitivity / sqrt(spend.amount * (1 - OUTPUT_SHARE)) * _ROUND_UP


@dataclass(frozen=True)
class ObjectivePerturbation(PerturbingMechanism):
    """A normal slope for the objective, and a little normal noise on the computed minimiser.

    Parameters
    ----------
    shape : tuple of int
        Shape of the slope.
    sensitivity : float
        Most by which the gradient of the objective can move between neighbours, at one point.
    noise_scale : float
        Standard deviation of each entry of the slope.
    jacobian : float
        Bound on the logarithm of the ratio of the Jacobians of two neighbours.
    output_sensitivity : float
        Most by which computed minimisers with the same exact one can be apart.
    output_noise_scale : float
        Standard deviation of the noise on each entry of the computed minimiser.
    of_units : bool, default=False
        Whether neighbours differ in all rows of a privacy unit.

    Guarantees
    ----------
    - See :mod:`skdp.privacy.accounting.perturbation`.
    """

    shape: tuple[int, ...]
    sensitivity: float
    noise_scale: float
    jacobian: float
    output_sensitivity: float
    output_noise_scale: float
    of_units: bool = False

    @classmethod
    def calibrated(
        cls,
        shape: tuple[int, ...],
        sensitivity: float,
        jacobian: float,
        output_sensitivity: float,
        spend: Spend,
        of_units: bool = False,
    ) -> ObjectivePerturbation:
        """The least noise for which the release costs at most ``spend``.

        Parameters
        ----------
        shape, sensitivity, jacobian, output_sensitivity
            As above.
        spend : Spend
            Price.
        of_units : bool, default=False
            As above.

        Raises
        ------
        ValueError
            If a sensitivity is not positive and finite, or the Jacobian is too large for the spend.
        """
        for number in (sensitivity, output_sensitivity):
            if not (isfinite(number) and number > 0):
                raise ValueError(
                    f"ObjectivePerturbation needs positive finite sensitivities, got {number}; "
                    "bound the contribution of a row, for example with a clip."
                )
        if not jacobian <= largest_jacobian(spend):
            raise ValueError(
                "ObjectivePerturbation needs a Jacobian ratio of at most "
                f"exp({largest_jacobian(spend):.3g}) for this spend, got exp({jacobian:.3g}); "
                "make the quadratic part of the objective stronger."
            )
        output_noise = output_sensitivity / sqrt(spend.amount * OUTPUT_SHARE) * _ROUND_UP
        return cls(
            shape,
            sensitivity,
            slope_scale(sensitivity, spend),
            jacobian,
            output_sensitivity,
            output_noise,
            of_units,
        )

    def event(self, query: str) -> ObjectivePerturbationEvent:
        """The fact to charge for one release."""
        return ObjectivePerturbationEvent(
            query=query,
            sensitivity=self.sensitivity,
            noise_scale=self.noise_scale,
            jacobian=self.jacobian,
            output_sensitivity=self.output_sensitivity,
            output_noise_scale=self.output_noise_scale,
            of_units=self.of_units,
        )

    @property
    def longest(self) -> float:
        """Norm that no slope exceeds but with a probability of e^-50."""
        return self.noise_scale * (sqrt(prod(self.shape)) + _SURELY)

    def perturbation(self, noise: SecretNoise) -> np.ndarray:
        """A fresh random slope."""
        return self.noise_scale * noise.normal(self.shape)

    def randomize(self, value: np.ndarray, noise: SecretNoise) -> np.ndarray:
        """The computed minimiser plus fresh noise, on a grid."""
        return noisy_on_grid(value, self.output_sensitivity, self.output_noise_scale, noise)
