r"""Objective perturbation of pure epsilon: noise whose density falls exponentially with its norm.

z in R^p has a density in proportion to ``exp(-||z|| / s)``: its norm has the Gamma law of shape p
and scale s, and its direction is uniform. It is drawn as s times the norm of p + 1 standard normals
times a vector of p more.

Released is the minimiser of ``F(w) + <b, w>``, with F as in
:mod:`skdp.privacy.accounting.perturbation`, but that derivatives may have either sign, as a
computed point with noise of scale t. With D the most by which gradients of neighbours differ at one
point, J the bound on the logarithm of the ratio of their Jacobians, and O the most by which their
computed points for one exact minimiser can be apart, it is epsilon-DP for

    epsilon = D / s + J + O / t,

for every outcome and with delta = 0. Theorem Q1 of ``docs/proofs/pure_epsilon.md`` proves both, the
law of the noise and the price. Unlike with normal noise nothing is said of how likely a slope is:
whatever numbers the sources of noise draw, the tolerance is above the rounding of gradients
(:attr:`PurePerturbation.longest`). What computers change about it is on the page
``docs/auditors/finite_precision.md``.

References
----------
Chaudhuri, Monteleoni and Sarwate (2011), algorithm 2. For a row that is replaced they count
``2 log(1 + S / Lambda)`` for the Jacobian; once is enough. Their theorem is about exact minimisers,
which nobody can compute.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite, prod, sqrt

import numpy as np

from ..accounting.events import PurePerturbationEvent
from ..accounting.ledger import Spend
from ..randomness import LONGEST, SecretNoise
from .base import PerturbingMechanism
from .noise_grid import noisy_on_grid

__all__ = ["PurePerturbation", "largest_pure_jacobian"]

# Most of epsilon that the Jacobian may take: measured to be a good balance of noise and strength.
_JACOBIAN_SHARE = 0.2
# Of epsilon, for the noise on the computed minimiser.
_OUTPUT_SHARE = 1 / 32
# As for other mechanisms.
_ROUND_UP = 1 + 1e-12


def largest_pure_jacobian(spend: Spend) -> float:
    """Most that the logarithm of the ratio of Jacobians may be for a spend in epsilon."""
    return _JACOBIAN_SHARE * spend.amount / _ROUND_UP


@dataclass(frozen=True)
class PurePerturbation(PerturbingMechanism):
    """A slope for the objective of pure epsilon, and a little such noise on the minimiser.

    Parameters
    ----------
    shape : tuple of int
        Shape of the slope.
    sensitivity : float
        Most by which the gradient of the objective can move between neighbours, at one point.
    noise_scale : float
        Scale s of the slope: its density is in proportion to ``exp(-||b|| / s)``.
    jacobian : float
        Bound on the logarithm of the ratio of the Jacobians of two neighbours.
    output_sensitivity : float
        Most by which computed minimisers with the same exact one can be apart.
    output_noise_scale : float
        Scale of the noise on the computed minimiser.

    Guarantees
    ----------
    - A release is epsilon-DP for the epsilon of its event, as the docstring of the module says.
    """

    shape: tuple[int, ...]
    sensitivity: float
    noise_scale: float
    jacobian: float
    output_sensitivity: float
    output_noise_scale: float

    @classmethod
    def calibrated(
        cls,
        shape: tuple[int, ...],
        sensitivity: float,
        jacobian: float,
        output_sensitivity: float,
        spend: Spend,
    ) -> PurePerturbation:
        """The least noise for which the release costs at most ``spend``, in epsilon.

        Parameters
        ----------
        shape, sensitivity, jacobian, output_sensitivity
            As above. What the Jacobian leaves of its share goes to the slope.
        spend : Spend
            Price in epsilon.

        Raises
        ------
        ValueError
            If a sensitivity is not positive and finite, or the Jacobian is too large for the spend.
        """
        for number in (sensitivity, output_sensitivity):
            if not (isfinite(number) and number > 0):
                raise ValueError(
                    f"PurePerturbation needs positive finite sensitivities, got {number}; bound "
                    "the contribution of a row, for example with a clip."
                )
        largest = largest_pure_jacobian(spend)
        if not 0 <= jacobian <= largest:
            raise ValueError(
                f"PurePerturbation needs a Jacobian ratio of at most exp({largest:.3g}) for this "
                f"spend, got exp({jacobian:.3g}); make the quadratic part of the objective "
                "stronger."
            )
        output = spend.amount * _OUTPUT_SHARE
        slope = spend.amount - output - jacobian
        return cls(
            shape,
            sensitivity,
            sensitivity / slope * _ROUND_UP,
            jacobian,
            output_sensitivity,
            output_sensitivity / output * _ROUND_UP,
        )

    def event(self, query: str) -> PurePerturbationEvent:
        """The fact to charge for one release."""
        return PurePerturbationEvent(
            query=query,
            sensitivity=self.sensitivity,
            noise_scale=self.noise_scale,
            jacobian=self.jacobian,
            output_sensitivity=self.output_sensitivity,
            output_noise_scale=self.output_noise_scale,
        )

    @property
    def longest(self) -> float:
        """Norm that no slope exceeds, because no normal that is drawn is beyond 14."""
        p = prod(self.shape)
        return self.noise_scale * LONGEST**2 * sqrt(p * (p + 1.0))

    def perturbation(self, noise: SecretNoise) -> np.ndarray:
        """A fresh random slope."""
        return self.noise_scale * _norm(self.shape, noise) * noise.normal(self.shape)

    def randomize(self, value: np.ndarray, noise: SecretNoise) -> np.ndarray:
        """The computed minimiser plus fresh noise, on a grid."""
        stretch = _norm(self.shape, noise)
        return noisy_on_grid(
            value, self.output_sensitivity, self.output_noise_scale, noise, stretch=stretch
        )


def _norm(shape: tuple[int, ...], noise: SecretNoise) -> float:
    """Norm of one more standard normal than there are entries; secret."""
    return float(np.linalg.norm(noise.normal(prod(shape) + 1)))
