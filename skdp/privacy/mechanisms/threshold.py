"""Counts of cells that nobody has declared, published above a threshold."""

from __future__ import annotations

from dataclasses import dataclass
from math import expm1, inf, log1p, sqrt

import numpy as np
from scipy.special import ndtri

from ..accounting.events import ThresholdEvent
from ..accounting.ledger import Spend
from ..randomness import SecretNoise
from .base import ROUND_UP, Mechanism, check_sensitivity
from .noise_grid import noisy_on_grid, spacing


@dataclass(frozen=True)
class ThresholdMechanism(Mechanism):
    """Adds Gaussian noise to counts of the cells that occur, and publishes those above a threshold.

    Each person counts 1 in one cell of each of ``columns`` tables and 0 in all others, so that at
    most so many cells are theirs alone. What is not published is -inf, and who publishes names has
    to leave it out.

    Parameters
    ----------
    sensitivity : float
        Most that the counts can move in l2, over all cells that there might be.
    noise_scale : float
        Standard deviation of the noise.
    columns : int
        Number of tables.
    threshold_delta : float
        Largest probability with which a cell is published that one person alone is in, whichever
        it is.

    Guarantees
    ----------
    - The cells that are published, with their noisy counts, are what a (sensitivity /
      noise_scale)-GDP release and a (0, threshold_delta)-DP one together say: theorem T1 of
      ``docs/proofs/histograms_and_counts.md``.
    - Neither the grid of the noise nor the threshold depend on which cells there are, nor on how
      many.
    """

    sensitivity: float
    noise_scale: float
    columns: int
    threshold_delta: float

    @classmethod
    def calibrated(
        cls, sensitivity: float, columns: int, threshold_delta: float, spend: Spend
    ) -> ThresholdMechanism:
        """The least noise for which the counts cost at most ``spend``."""
        check_sensitivity(cls.__name__, sensitivity)
        scale = sensitivity / sqrt(spend.amount) * ROUND_UP
        return cls(sensitivity, scale, columns, threshold_delta)

    @property
    def threshold(self) -> float:
        """The count above which a cell is published.

        Noise on the count of one person exceeds it in any of ``columns`` cells with probability
        ``threshold_delta``; noise is rounded to a grid, by half of its spacing at most.
        """
        tail = -expm1(log1p(-self.threshold_delta) / self.columns)
        noise = -float(ndtri(tail)) * self.noise_scale * ROUND_UP
        # Above 1 whatever delta is: a count of one person alone is no reason to publish it.
        return 1.0 + max(noise, 0.0) + spacing(self.sensitivity, self.noise_scale, 1)

    def event(self, query: str) -> ThresholdEvent:
        """The event to charge for one release."""
        return ThresholdEvent(
            query=query,
            sensitivity=self.sensitivity,
            noise_scale=self.noise_scale,
            threshold_delta=self.threshold_delta,
        )

    def randomize(self, value: np.ndarray, noise: SecretNoise) -> np.ndarray:
        """Noisy counts above the threshold, and -inf for the others."""
        noisy = noisy_on_grid(value, self.sensitivity, self.noise_scale, noise, counts=True)
        return np.where(noisy > self.threshold, noisy, -inf)
