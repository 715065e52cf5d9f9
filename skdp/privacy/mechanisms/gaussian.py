"""Gaussian noise: on an answer, on a sum over rows drawn in secret, and on counts to be named."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, replace
from math import expm1, inf, log1p, sqrt

import numpy as np
from scipy.special import ndtri

from ..accounting.events import (
    Event,
    GaussianEvent,
    SampledGaussianEvent,
    Site,
    ThresholdEvent,
)
from ..accounting.ledger import Spend
from ..adjacency import Adjacency
from ..randomness import SecretNoise
from .base import ROUND_UP, Mechanism, PerturbingMechanism, check_sensitivity
from .noise_grid import noisy_on_grid, spacing


@dataclass(frozen=True)
class GaussianMechanism(Mechanism):
    """Adds independent normal noise of standard deviation ``noise_scale`` to each coordinate.

    Answers and noise lie on a public grid; see :mod:`skdp.privacy.mechanisms.noise_grid`.

    Guarantees
    ----------
    - A query of l2 sensitivity at most ``sensitivity`` becomes (sensitivity / noise_scale)-GDP.
    """

    fact = GaussianEvent

    sensitivity: float
    noise_scale: float

    @classmethod
    def calibrated(cls, sensitivity: float, spend: Spend) -> GaussianMechanism:
        """The least noise for which the release costs at most ``spend``."""
        check_sensitivity(cls.__name__, sensitivity)
        return cls(sensitivity, sensitivity / sqrt(spend.amount) * ROUND_UP)

    def randomize(self, value: np.ndarray, noise: SecretNoise) -> np.ndarray:
        return noisy_on_grid(value, self.sensitivity, self.noise_scale, noise)


@dataclass(frozen=True)
class SampledGaussian(PerturbingMechanism):
    """Draws rows from the secret noise source, then adds normal noise to each coordinate.

    Guarantees
    ----------
    - See :mod:`skdp.privacy.accounting.subsampling`, site by site if there are several. A row is
      drawn with a probability of at most the rate.
    """

    fact = SampledGaussianEvent

    #: Number of rows, public.
    n_samples: int
    #: Probability with which a row is drawn.
    sampling_rate: float
    #: Most that a neighbour can move the answer, if the row in question is drawn.
    sensitivity: float
    #: Standard deviation of the noise.
    noise_scale: float
    adjacency: Adjacency
    #: Names of the sites of whose rows there is an answer each, and noise on each. Who is asked is
    #: public; who is drawn is not.
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
        """The least noise for which the release would cost the spend if every row took part."""
        noise = GaussianMechanism.calibrated(sensitivity, spend).noise_scale
        return cls(n_samples, sampling_rate, sensitivity, noise, adjacency, sites)

    def event(self, query: str) -> Event | tuple[Event, ...]:
        """The event to charge for one release, for each of the sites if there are several."""
        fact = super().event(query)
        if self.sites is None or isinstance(fact, tuple):
            return fact
        return tuple(replace(fact, part=Site(label)) for label in self.sites)

    def perturbation(self, noise: SecretNoise) -> np.ndarray:
        """Poisson sample of rows as a mask of shape (n_samples,), drawn afresh each time."""
        return noise.chosen(self.n_samples, self.sampling_rate)

    def randomize(self, value: np.ndarray, noise: SecretNoise) -> np.ndarray:
        return noisy_on_grid(value, self.sensitivity, self.noise_scale, noise)


@dataclass(frozen=True)
class ThresholdMechanism(Mechanism):
    """Adds Gaussian noise to counts of the cells that occur, and publishes those above a threshold.

    Each person counts 1 in one cell of each of ``columns`` tables and 0 in all others, so that at
    most so many cells are theirs alone. What is not published is -inf, and who publishes names has
    to leave it out.

    Guarantees
    ----------
    - The cells that are published, with their noisy counts, are what a (sensitivity /
      noise_scale)-GDP release and a (0, threshold_delta)-DP one together say: theorem T1 of
      ``docs/proofs/histograms_and_counts.md``.
    - Neither the grid of the noise nor the threshold depend on which cells there are, nor on how
      many.
    """

    fact = ThresholdEvent

    #: Most that the counts can move in l2, over all cells that there might be.
    sensitivity: float
    #: Standard deviation of the noise.
    noise_scale: float
    #: Number of tables.
    columns: int
    #: Largest probability with which a cell is published that one person alone is in, whichever it
    #: is.
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

    def randomize(self, value: np.ndarray, noise: SecretNoise) -> np.ndarray:
        """Noisy counts above the threshold, and -inf for the others."""
        noisy = noisy_on_grid(value, self.sensitivity, self.noise_scale, noise, counts=True)
        return np.where(noisy > self.threshold, noisy, -inf)
