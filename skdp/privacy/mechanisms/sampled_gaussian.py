"""Gaussian noise on sums over rows that are drawn in secret."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, replace

import numpy as np

from ..accounting.events import Event, SampledGaussianEvent, Site
from ..accounting.ledger import Spend
from ..adjacency import Adjacency
from ..randomness import SecretNoise
from .base import PerturbingMechanism
from .gaussian import GaussianMechanism
from .noise_grid import noisy_on_grid


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
    sites : tuple, optional
        Names of the sites of whose rows there is an answer each, and noise on each. Who is asked is
        public; who is drawn is not.

    Guarantees
    ----------
    - See :mod:`skdp.privacy.accounting.subsampling`, site by site if there are several. A row is
      drawn with a probability of at most the rate.
    """

    n_samples: int
    sampling_rate: float
    sensitivity: float
    noise_scale: float
    adjacency: Adjacency
    sites: tuple[Hashable, ...] | None = None

    @classmethod
    def calibrated(
        cls,
        n_samples: int,
        sampling_rate: float,
        sensitivity: float,
        adjacency: Adjacency,
        spend: Spend,
        sites: tuple[Hashable, ...] | None = None,
    ) -> SampledGaussian:
        """The least noise for which the release would cost the spend if every row took part.

        Raises
        ------
        ValueError
            If the sensitivity is not positive and finite.
        """
        noise = GaussianMechanism.calibrated(sensitivity, spend).noise_scale
        return cls(n_samples, sampling_rate, sensitivity, noise, adjacency, sites)

    def event(self, query: str) -> Event | tuple[Event, ...]:
        """The event to charge for one release, for each of the sites if there are several."""
        fact = SampledGaussianEvent(
            query=query,
            sensitivity=self.sensitivity,
            noise_scale=self.noise_scale,
            sampling_rate=self.sampling_rate,
            adjacency=self.adjacency,
        )
        if self.sites is None:
            return fact
        return tuple(replace(fact, part=Site(label)) for label in self.sites)

    def perturbation(self, noise: SecretNoise) -> np.ndarray:
        """Poisson sample of rows as a mask of shape (n_samples,), drawn afresh each time."""
        return noise.chosen(self.n_samples, self.sampling_rate)

    def randomize(self, value: np.ndarray, noise: SecretNoise) -> np.ndarray:
        """``value`` plus fresh noise."""
        return noisy_on_grid(value, self.sensitivity, self.noise_scale, noise)
