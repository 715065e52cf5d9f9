"""Likelihood ratios of answers: how an answer of the oracle looks under neighbouring data sets.

For each kind of mechanism: the logarithm of the likelihood ratio of an answer, which is the
statistic that tells two data sets apart best (Neyman and Pearson), and fresh answers of the
mechanism. Any function of answers gives a valid audit, so where the ratio is costly the part of it
that matters is taken.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from functools import lru_cache
from math import inf, sqrt
from typing import Any, Self, final

import numpy as np
from scipy.special import logsumexp

from ..privacy.mechanisms.gaussian import GaussianMechanism
from ..privacy.mechanisms.gumbel import GumbelMechanism
from ..privacy.mechanisms.prefix_sums import PrefixSumMechanism
from ..privacy.mechanisms.site_noise import SiteNoise
from ..privacy.randomness import SecretNoise

# Share of the squared distance of two answers that may be left out to draw fewer numbers.
_NEGLIGIBLE = 0.002


class UnknownLikelihoodError(TypeError):
    """A kind of answer whose likelihood is not known.

    Parameters
    ----------
    kind : str
        What gave the answer.
    """

    def __init__(self, kind: str) -> None:
        super().__init__(
            f"An audit of answers needs a likelihood for {kind}, and knows none; audit what is "
            "published instead, with sees='model'."
        )


@dataclass(frozen=True, eq=False)
class Answer(ABC):
    """A query that was answered, as it looks under several data sets.

    Arrays of several answers have one more axis, the last.

    Parameters
    ----------
    sides : tuple
        What the answer is made of under each data set: an exact answer, or rows.
    given : ndarray
        The answer that was given.
    """

    sides: tuple[Any, ...]
    given: np.ndarray

    def between(self, first: int, second: int) -> Self:
        """Restriction of the answer to two of its data sets."""
        return replace(self, sides=(self.sides[first], self.sides[second]))

    @abstractmethod
    def log_ratio(self, answers: np.ndarray) -> np.ndarray:
        """Log-likelihood of answers under the second data set less that under the first."""

    @abstractmethod
    def again(self, which: int, count: int, noise: SecretNoise) -> np.ndarray:
        """Fresh answers for one of the data sets, from the mechanism that gave the first."""

    @abstractmethod
    def coordinates(self, which: int) -> np.ndarray:
        """A vector for a data set; two of them are mu apart, or what stands for it."""

    @property
    def cost(self) -> float:
        """Rough time that a fresh answer takes, in units of that of one normal variable."""
        return self.given.size


@final
@dataclass(frozen=True, eq=False)
class GaussianAnswer(Answer):
    """Exact answers with independent noise of one scale, or with noise that sites add.

    Parameters
    ----------
    sides, given
        Exact answers, and what was published.
    mechanism : Mechanism
        Source of the noise.
    covariance : ndarray of shape (k, k), optional
        Of the noise of the messages of k sites, the first axis; by default that of one scale.
    summed : bool, default=False
        Whether the sum over the first axis is published.
    """

    mechanism: GaussianMechanism | SiteNoise
    covariance: np.ndarray | None = None
    summed: bool = False

    def between(self, first: int, second: int) -> Self:
        """The entries in which the two data sets differ; the noise of others says nothing."""
        pair = super().between(first, second)
        if self.covariance is not None:
            return pair
        sides = [np.ravel(side) for side in pair.sides]
        squares = np.square(sides[1] - sides[0])
        order = np.argsort(squares)
        dropped = np.cumsum(squares[order]) <= _NEGLIGIBLE * squares.sum()
        kept = np.sort(order[~dropped])
        of_kept = tuple(side[kept] for side in sides)
        return replace(pair, sides=of_kept, given=np.ravel(self.given)[kept])

    def log_ratio(self, answers: np.ndarray) -> np.ndarray:
        """The part of each answer along the difference of means, about their middle."""
        one, other = self._mean(0), self._mean(1)
        weights = self._weights(other - one)
        offset = float(np.vdot(weights, 0.5 * (one + other)))
        return np.tensordot(weights, answers, axes=weights.ndim) - offset

    def again(self, which: int, count: int, noise: SecretNoise) -> np.ndarray:
        """Fresh answers."""
        value = self.sides[which]
        repeated = np.broadcast_to(value[..., None], (*value.shape, count))
        return self.mechanism.randomize(repeated, noise)

    def coordinates(self, which: int) -> np.ndarray:
        """The mean in coordinates in which noise is standard and independent."""
        mean = self._mean(which)
        if self.covariance is None or self.summed:
            return np.ravel(mean) * np.sqrt(self._weights(np.ones(1))[0])
        root = np.linalg.cholesky(self.covariance)
        return np.ravel(np.linalg.solve(root, mean.reshape(len(mean), -1)))

    def _mean(self, which: int) -> np.ndarray:
        return self.sides[which].sum(axis=0) if self.summed else self.sides[which]

    def _weights(self, difference: np.ndarray) -> np.ndarray:
        if self.covariance is None:
            assert isinstance(self.mechanism, GaussianMechanism)
            return difference / self.mechanism.noise_scale**2
        if self.summed:
            return difference / float(self.covariance.sum())
        flat = difference.reshape(len(difference), -1)
        return np.linalg.solve(self.covariance, flat).reshape(difference.shape)


@final
@dataclass(frozen=True, eq=False)
class VertexAnswer(Answer):
    """The order of the best candidates after Gumbel noise.

    Parameters
    ----------
    sides, given
        Scores (m,), and what was chosen (k,).
    mechanism : GumbelMechanism
        Source of the noise.
    """

    mechanism: GumbelMechanism

    def log_ratio(self, answers: np.ndarray) -> np.ndarray:
        """Log-ratio of the probabilities of the choices, one after the other."""
        return self._log_probability(answers, 1) - self._log_probability(answers, 0)

    def again(self, which: int, count: int, noise: SecretNoise) -> np.ndarray:
        """Fresh choices."""
        scores = self.sides[which]
        chosen = [self.mechanism.randomize(scores, noise) for _ in range(count)]
        return np.stack(chosen, axis=-1)

    def coordinates(self, which: int) -> np.ndarray:
        """Scores in units of the noise, whose range is charged."""
        scores = self.sides[which] - self.sides[which].mean()
        return scores * (0.5 * sqrt(self.mechanism.choices) / self.mechanism.noise_scale)

    @property
    def cost(self) -> float:
        """Choices are drawn one by one."""
        return 300.0 + self.sides[0].size

    def _log_probability(self, answers: np.ndarray, which: int) -> np.ndarray:
        scores = self.sides[which] / self.mechanism.noise_scale
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


@final
@dataclass(frozen=True, eq=False)
class SumsAnswer(Answer):
    """All running sums of a stream, with noise that is correlated over time.

    Parameters
    ----------
    sides, given
        Exact and published sums, (releases, ...) each.
    mechanism : PrefixSumMechanism
        Source of the noise.
    noise_scale : float
        Its scale.
    """

    mechanism: PrefixSumMechanism
    noise_scale: float

    def log_ratio(self, answers: np.ndarray) -> np.ndarray:
        """The part of the whole stream along the difference of means, noise decorrelated."""
        one, other = self.sides
        weights = self._weights(other - one)
        offset = float(np.vdot(weights, 0.5 * (one + other)))
        return np.tensordot(weights, answers, axes=weights.ndim) - offset

    def again(self, which: int, count: int, noise: SecretNoise) -> np.ndarray:
        """Fresh streams of noise on the same sums."""
        exact = self.sides[which]
        stream = self.mechanism.open((*exact.shape[1:], count), self.noise_scale, noise)
        return np.stack([total[..., None] + stream.next() for total in exact])

    def coordinates(self, which: int) -> np.ndarray:
        """The sums in coordinates in which noise is standard and independent."""
        exact = self.sides[which]
        B = rows_of_noise(self.mechanism)[: len(exact)]
        root = np.linalg.cholesky(B @ B.T) * self.noise_scale
        return np.ravel(np.linalg.solve(root, exact.reshape(len(exact), -1)))

    def _weights(self, difference: np.ndarray) -> np.ndarray:
        B = rows_of_noise(self.mechanism)[: len(difference)]
        flat = difference.reshape(len(difference), -1)
        solved = np.linalg.solve(B @ B.T, flat) / self.noise_scale**2
        return solved.reshape(difference.shape)


@lru_cache(maxsize=8)
def rows_of_noise(mechanism: PrefixSumMechanism) -> np.ndarray:
    """B, one row a step, found by giving unit vectors in place of normals."""
    correlator = mechanism.correlator(mechanism.length)
    return np.stack([correlator.step(z) for z in np.eye(mechanism.length)])
