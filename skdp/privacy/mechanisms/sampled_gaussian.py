"""Gaussian noise on a sum over rows that are drawn in secret."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..accounting.events import SampledGaussianEvent
from ..accounting.ledger import Spend
from ..adjacency import Adjacency
from ..randomness import SecretNoise
from .base import PerturbingMechanism
from .gaussian import GaussianMechanism
from .noise_grid import noisy_on_grid

__all__ = ["SampledGaussian"]


@dataclass(frozen=True)
class SampledGaussian(PerturbingMechanism):
    """Draws rows from the secret noise source, then adds normal noise to each coordinate.

    Parameters
    ----------
    n_samples : int
        Number of rows, public.
    sampling_rate : float
        Probability with which a row is drawn.
    sensitivity : float
        Most that a neighbour can move the answer, if the row in question is drawn.
    noise_scale : float
        Standard deviation of the noise.
    adjacency : Adjacency
        Neighbouring relation.

    Guarantees
    ----------
    - See :mod:`skdp.privacy.accounting.subsampling`. A row is drawn with a probability of at most
    the rate.
    """

    n_samples: int
    sampling_rate: float
    sensitivity: float
    noise_scale: float
    adjacency: Adjacency

    @classmethod
    def calibrated(
        cls,
        n_samples: int,
        sampling_rate: float,
        sensitivity: float,
        adjacency: Adjacency,
        spend: Spend,
    ) -> SampledGaussian:
        """The least noise for which the release would cost the spend if every row took part.

        Parameters
        ----------
        n_samples, sampling_rate, sensitivity, adjacency
            As above.
        spend : Spend
            That price.

        Raises
        ------
        ValueError
            If the sensitivity is not positive and finite.
        """
        noise = GaussianMechanism.calibrated(sensitivity, spend).noise_scale
        return cls(n_samples, sampling_rate, sensitivity, noise, adjacency)

    def event(self, query: str) -> SampledGaussianEvent:
        """The fact to charge for one release."""
        return SampledGaussianEvent(
            query=query,
            sensitivity=self.sensitivity,
            noise_scale=self.noise_scale,
            sampling_rate=self.sampling_rate,
            adjacency=self.adjacency,
        )

    def perturbation(self, noise: SecretNoise) -> np.ndarray:
        """Poisson sample of rows as a mask of shape (n_samples,), drawn afresh each time."""
        return noise.chosen(self.n_samples, self.sampling_rate)

    def randomize(self, value: np.ndarray, noise: SecretNoise) -> np.ndarray:
        """``value`` plus fresh noise."""
        return noisy_on_grid(value, self.sensitivity, self.noise_scale, noise)
