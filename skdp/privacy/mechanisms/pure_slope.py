r"""Objective perturbation of pure epsilon: noise whose density falls exponentially with its norm.

The noise
---------
z in R^p with a density in proportion to ``exp(-||z|| / s)``: its norm has the Gamma law of shape p
and scale s, and its direction is uniform. It is drawn as s times the norm of p + 1 standard normals
times a vector of p more. Proof. The squared norm v has a density in proportion to
``v^((p - 1) / 2) e^(-v / 2)``, and given v the vector has the density
``(2 pi v)^(-p / 2) e^(-r^2 / (2 v))`` at distance r. The integral over v of the product is, but for
constants, that of ``v^(-1 / 2) e^(-v / 2 - r^2 / (2 v))``, which is ``sqrt(2 pi) e^(-r)``.

Proof of privacy
----------------
Released is the minimiser ``w*`` of ``F(w) + <b, w>``, with F as in
:mod:`skdp.privacy.accounting.perturbation`, but that derivatives may have either sign.

1. *Density.* By step 1 there, which does not ask for the law of b, w* has the density
   ``f(b(w)) |det grad b(w)|`` with ``b(w) = -grad F(w)`` and ``f(b) = c e^(-||b|| / s)``.
2. *Jacobians.* By step 2 there the ratio of determinants of two neighbours is at most e^J.
3. *Slopes.* At one w the slopes b(w) of neighbours are at most D apart, D the sensitivity, so that
   by the triangle inequality ``f(b) <= e^(D / s) f(b')``.
4. *Minimisers are computed.* As in step 6 there, think of w* as released, and then of the computed
   point with noise of scale t. Given w*, the points of neighbours are at most O apart, and the
   densities of what is published have a ratio of at most ``e^(O / t)``.

*Privacy units of several rows*: a unit's gradient is a mean of those of rows, so slopes are D apart
in 3, and J is that of step 2' there. Nothing else changes.

Together the log-ratio is at most ``D / s + J + O / t``, for every outcome and with delta = 0.
Unlike there nothing is said of how likely a slope is: whatever numbers the sources of noise draw,
the tolerance is above the rounding of gradients (:attr:`PurePerturbation.longest`).

What computers change about it is on the page ``docs/auditors/finite_precision.md``.

References
----------
Chaudhuri, Monteleoni and Sarwate (2011), algorithm 2. For a row that is replaced they count
``2 log(1 + S / Lambda)`` for the Jacobian; as both data sets have the other rows in common, once is
enough (step 2). Their theorem is about exact minimisers, which nobody can compute.
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
    - A release is epsilon-DP for the epsilon of its event; proof in the docstring of the module.
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
