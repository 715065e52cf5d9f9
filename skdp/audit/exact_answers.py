"""Answers that are made of an exact one: normal noise on it, or the best of noisy scores."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

import numpy as np
from scipy.special import logsumexp

from ..privacy.mechanisms.gaussian import GaussianMechanism
from ..privacy.mechanisms.gumbel import GumbelMechanism
from ..privacy.mechanisms.sites import SiteNoise
from ..privacy.randomness import SecretNoise
from .answers import Answer

__all__ = ["GaussianAnswer", "VertexAnswer"]


@dataclass(frozen=True, eq=False)
class GaussianAnswer(Answer):
    """Exact answers with independent noise of one scale, or with noise that sites add.

    Parameters
    ----------
    mechanism : Mechanism
        What added the noise.
    exact : tuple of ndarray
        The exact answer for each data set.
    given : ndarray
        What was published.
    covariance : ndarray of shape (k, k), optional
        Of the noise of the messages of k sites, the first axis; by default that of one scale.
    summed : bool, default=False
        Whether the sum over the first axis is published.
    """

    mechanism: GaussianMechanism | SiteNoise
    exact: tuple[np.ndarray, ...]
    given: np.ndarray
    covariance: np.ndarray | None = None
    summed: bool = False

    @property
    def published(self) -> np.ndarray:
        """The answer that was given."""
        return self.given

    def log_ratio(self, answers: np.ndarray, first: int, second: int) -> np.ndarray:
        """The part of each answer along the difference of means, about their middle."""
        one, other = self._mean(first), self._mean(second)
        weights = self._weights(other - one)
        offset = float(np.vdot(weights, 0.5 * (one + other)))
        return np.tensordot(weights, answers, axes=weights.ndim) - offset

    def again(self, which: int, count: int, noise: SecretNoise) -> np.ndarray:
        """Fresh answers."""
        value = self.exact[which]
        repeated = np.broadcast_to(value[..., None], (*value.shape, count))
        return self.mechanism.randomize(repeated, noise)

    def squared_distance(self, first: int, second: int) -> float:
        """The mu^2 of the pair."""
        difference = self._mean(second) - self._mean(first)
        return float(np.vdot(difference, self._weights(difference)))

    def _mean(self, which: int) -> np.ndarray:
        return self.exact[which].sum(axis=0) if self.summed else self.exact[which]

    def _weights(self, difference: np.ndarray) -> np.ndarray:
        if self.covariance is None:
            assert isinstance(self.mechanism, GaussianMechanism)
            return difference / self.mechanism.noise_scale**2
        if self.summed:
            return difference / float(self.covariance.sum())
        flat = difference.reshape(len(difference), -1)
        return np.linalg.solve(self.covariance, flat).reshape(difference.shape)


@dataclass(frozen=True, eq=False)
class VertexAnswer(Answer):
    """The order of the best candidates after Gumbel noise.

    Parameters
    ----------
    mechanism : GumbelMechanism
        What chose.
    exact : tuple of ndarray of shape (m,)
        The scores for each data set.
    given : ndarray of int of shape (k,)
        What was chosen.
    """

    mechanism: GumbelMechanism
    exact: tuple[np.ndarray, ...]
    given: np.ndarray

    @property
    def published(self) -> np.ndarray:
        """The answer that was given."""
        return self.given

    def log_ratio(self, answers: np.ndarray, first: int, second: int) -> np.ndarray:
        """Of the probabilities of the choices, one after the other."""
        logs = [self._log_probability(answers, which) for which in (first, second)]
        return logs[1] - logs[0]

    def again(self, which: int, count: int, noise: SecretNoise) -> np.ndarray:
        """Fresh choices."""
        scores = self.exact[which]
        chosen = [self.mechanism.randomize(scores, noise) for _ in range(count)]
        return np.stack(chosen, axis=-1)

    def squared_distance(self, first: int, second: int) -> float:
        """Range of the change of scores, as it is charged."""
        eta = float(np.ptp(self.exact[second] - self.exact[first])) / self.mechanism.noise_scale
        return self.mechanism.choices * eta**2 / 4

    def _log_probability(self, answers: np.ndarray, which: int) -> np.ndarray:
        scores = self.exact[which] / self.mechanism.noise_scale
        total = np.full(answers.shape[1:], logsumexp(scores))
        left = np.ones((scores.size, *answers.shape[1:]), dtype=bool)
        out = np.zeros(answers.shape[1:])
        for chosen in answers:
            out += scores[chosen] - total
            np.put_along_axis(left, chosen[None], False, axis=0)
            # Summed up anew: what is left may be much less than what is taken.
            column = scores.reshape(-1, *[1] * out.ndim)
            total = logsumexp(np.where(left, column, -inf), axis=0)
        return out
