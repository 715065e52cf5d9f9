"""The running sums of a stream, whose noise is correlated over time."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from ..privacy.mechanisms.prefix_sums import PrefixSumMechanism
from ..privacy.randomness import SecretNoise
from .answers import Answer

__all__ = ["SumsAnswer"]


@dataclass(frozen=True, eq=False)
class SumsAnswer(Answer):
    """All running sums of a stream, with noise that is correlated over time.

    Parameters
    ----------
    mechanism : PrefixSumMechanism
        Where the noise came from.
    noise_scale : float
        Its scale.
    exact : tuple of list of ndarray
        The exact sums for each data set, one after each batch.
    given : list of ndarray
        What was published.
    """

    mechanism: PrefixSumMechanism
    noise_scale: float
    exact: tuple[list[np.ndarray], ...]
    given: list[np.ndarray]

    @property
    def published(self) -> np.ndarray:
        """All sums that were published, (releases, *shape)."""
        return np.stack(self.given)

    def log_ratio(self, answers: np.ndarray, first: int, second: int) -> np.ndarray:
        """The part of the whole stream along the difference of means, noise decorrelated."""
        one, other = np.stack(self.exact[first]), np.stack(self.exact[second])
        weights = self._weights(other - one)
        offset = float(np.vdot(weights, 0.5 * (one + other)))
        return np.tensordot(weights, answers, axes=weights.ndim) - offset

    def again(self, which: int, count: int, noise: SecretNoise) -> np.ndarray:
        """Fresh streams of noise on the same sums."""
        exact = self.exact[which]
        stream = self.mechanism.open((*exact[0].shape, count), self.noise_scale, noise)
        return np.stack([total[..., None] + stream.next() for total in exact])

    def squared_distance(self, first: int, second: int) -> float:
        """The mu^2 of the pair."""
        difference = np.stack(self.exact[second]) - np.stack(self.exact[first])
        return float(np.vdot(difference, self._weights(difference)))

    def _weights(self, difference: np.ndarray) -> np.ndarray:
        B = _rows_of_noise(self.mechanism)[: len(difference)]
        flat = difference.reshape(len(difference), -1)
        solved = np.linalg.solve(B @ B.T, flat) / self.noise_scale**2
        return solved.reshape(difference.shape)


@lru_cache(maxsize=8)
def _rows_of_noise(mechanism: PrefixSumMechanism) -> np.ndarray:
    """B, one row a step, found by giving unit vectors in place of normals."""
    taken = 0

    def counting(k: int) -> np.ndarray:
        nonlocal taken
        taken += k
        return np.zeros((k, 1))

    correlator = mechanism.correlator(1)
    for _ in range(mechanism.length):
        correlator.step(counting)
    unit, taken = np.eye(taken), 0

    def units(k: int) -> np.ndarray:
        nonlocal taken
        taken += k
        return unit[taken - k : taken].copy()

    correlator = mechanism.correlator(len(unit))
    return np.stack([correlator.step(units).copy() for _ in range(mechanism.length)])
