"""The Gaussian mechanism."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt

import numpy as np

from ..accounting.events import GaussianEvent
from ..accounting.ledger import Spend
from ..randomness import SecretNoise
from .base import ROUND_UP, Mechanism, check_sensitivity
from .noise_grid import noisy_on_grid


@dataclass(frozen=True)
class GaussianMechanism(Mechanism):
    """Adds independent normal noise of standard deviation ``noise_scale`` to each coordinate.

    Answers and noise lie on a public grid; see :mod:`skdp.privacy.mechanisms.noise_grid`.

    Guarantees
    ----------
    - A query of l2 sensitivity at most ``sensitivity`` becomes (sensitivity / noise_scale)-GDP.
    """

    sensitivity: float
    noise_scale: float

    @classmethod
    def calibrated(cls, sensitivity: float, spend: Spend) -> GaussianMechanism:
        """The least noise for which the release costs at most ``spend``."""
        check_sensitivity(cls.__name__, sensitivity)
        return cls(sensitivity, sensitivity / sqrt(spend.amount) * ROUND_UP)

    def event(self, query: str) -> GaussianEvent:
        """The event to charge for one release."""
        return GaussianEvent(
            query=query, sensitivity=self.sensitivity, noise_scale=self.noise_scale
        )

    def randomize(self, value: np.ndarray, noise: SecretNoise) -> np.ndarray:
        """``value`` plus fresh noise."""
        return noisy_on_grid(value, self.sensitivity, self.noise_scale, noise)
