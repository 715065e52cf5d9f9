"""Noisy selection: the largest scores after Gumbel noise."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, sqrt

import numpy as np

from ..accounting.events import ExponentialEvent
from ..accounting.ledger import Spend
from ..randomness import SecretNoise
from .base import ROUND_UP, Mechanism, check_sensitivity

# From this many candidates on one choice is made in two stages.
_MANY = 1024


@dataclass(frozen=True)
class GumbelMechanism(Mechanism):
    r"""Adds independent Gumbel noise to every score and publishes the order of the largest.

    Publishing the ``choices`` largest noisy scores' indices, in order, is a sequence of exponential
    mechanisms, each choosing among the candidates that are left (Durfee and Rogers, 2019, lemma
    4.2). One choice among many candidates is made in two stages of the same law, a block of them
    and then one within it, which takes about as many random numbers as the root of their number.
    Proofs: theorem E1 of ``docs/proofs/choices.md``.

    Parameters
    ----------
    sensitivity : float
        The most by which the difference of two candidates' scores can move.
    noise_scale : float
        Scale b of the Gumbel noise.
    choices : int
        How many are published, at least 1; all of them if there are fewer.

    Guarantees
    ----------
    - With ``eta = sensitivity / noise_scale`` each choice is eta-bounded-range, so it is
      (eta^2 / 8)-zCDP (Cesar and Rogers, 2021), and all are together ``choices`` times that.
    """

    sensitivity: float
    noise_scale: float
    choices: int

    @classmethod
    def calibrated(cls, sensitivity: float, choices: int, spend: Spend) -> GumbelMechanism:
        """The least noise for which all choices together cost at most ``spend``.

        A spend in mu^2 is twice the zCDP parameter.

        Raises
        ------
        ValueError
            If the sensitivity is not positive and finite, or there is nothing to choose.
        """
        check_sensitivity(cls.__name__, sensitivity)
        if choices < 1:
            raise ValueError(f"GumbelMechanism needs at least 1 choice, got {choices}.")
        eta = sqrt(4 * spend.amount / choices)
        return cls(sensitivity, sensitivity / eta * ROUND_UP, choices)

    def event(self, query: str) -> ExponentialEvent:
        """The event to charge: one exponential mechanism for each choice."""
        return ExponentialEvent(
            query=query,
            sensitivity=self.sensitivity,
            noise_scale=self.noise_scale,
            count=self.choices,
        )

    def randomize(self, value: np.ndarray, noise: SecretNoise) -> np.ndarray:
        """Indices of the largest noisy scores, largest first."""
        # In units of the noise, where nothing overflows that did not before.
        scores = value / self.noise_scale
        if self.choices == 1 and scores.size >= _MANY:
            return _one_of_many(scores, noise)
        return self.best(scores + noise.gumbel(scores.shape))

    def best(self, scores: np.ndarray) -> np.ndarray:
        """Indices of the largest scores, largest first; of equal ones the first comes first."""
        if self.choices == 1:
            return np.array([scores.argmax()])
        return np.argsort(-scores, kind="stable")[: self.choices]


def _one_of_many(scores: np.ndarray, noise: SecretNoise) -> np.ndarray:
    """Index of the largest score after standard Gumbel noise, shape (1,)."""
    width = ceil(sqrt(scores.size))
    starts = np.arange(0, scores.size, width)
    # No exponential overflows, and that of the largest score of a block is 1.
    largest = np.maximum.reduceat(scores, starts)
    powers = np.exp(scores - np.repeat(largest, width)[: scores.size])
    totals = largest + np.log(np.add.reduceat(powers, starts))
    start = starts[(totals + noise.gumbel(totals.shape)).argmax()]
    block = scores[start : start + width]
    return np.array([start + (block + noise.gumbel(block.shape)).argmax()])
