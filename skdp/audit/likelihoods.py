"""Likelihood ratios of answers: how an answer of the oracle looks under neighbouring data sets.

For each kind of mechanism: the logarithm of the likelihood ratio of an answer, which is the
statistic that tells two data sets apart best (Neyman and Pearson), and fresh answers of the
mechanism. Any function of answers gives a valid audit, so where the ratio is costly the part of it
that matters is taken. Noise may also enter the computation, by rows that are drawn in secret or by
a random linear term; such answers are made of the rows themselves.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from functools import lru_cache
from math import inf, log, sqrt
from typing import Any, Self, cast, final

import numpy as np
from scipy.special import logsumexp

from ..privacy.mechanisms.base import Mechanism
from ..privacy.mechanisms.gaussian import GaussianMechanism, SampledGaussian
from ..privacy.mechanisms.gumbel import GumbelMechanism
from ..privacy.mechanisms.perturbed_objective import ObjectivePerturbation, PurePerturbation
from ..privacy.mechanisms.prefix_sums import PrefixSumMechanism
from ..privacy.mechanisms.site_noise import SiteNoise
from ..privacy.queries.base import PerturbedQuery, Query
from ..privacy.queries.perturbed_minimum import PerturbedMinimumQuery
from ..privacy.randomness import SecretNoise
from ..privacy.rows.base import RowStore

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
    """Exact answers with independent noise of one scale, or with noise that is correlated.

    Parameters
    ----------
    sides, given
        Exact answers, and what was published.
    mechanism : GaussianMechanism, SiteNoise or NoiseOfSums
        Source of the noise.
    covariance : ndarray of shape (k, k), optional
        Of the noise along the first axis, of k sites or running sums; by default that of one scale.
    summed : bool, default=False
        Whether the sum over the first axis is published.
    """

    mechanism: GaussianMechanism | SiteNoise | NoiseOfSums
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
@dataclass(frozen=True)
class NoiseOfSums:
    """Noise of all running sums of a stream together, correlated over time.

    Parameters
    ----------
    mechanism : PrefixSumMechanism
        Its source.
    noise_scale : float
        Its scale.
    """

    mechanism: PrefixSumMechanism
    noise_scale: float

    def answer(self, sides: tuple[np.ndarray, ...], given: np.ndarray) -> GaussianAnswer:
        """All sums of a stream as one answer.

        Parameters
        ----------
        sides, given
            Exact and published sums, (releases, ...) each.
        """
        B = rows_of_noise(self.mechanism)[: len(given)] * self.noise_scale
        return GaussianAnswer(sides, given, self, B @ B.T)

    def randomize(self, exact: np.ndarray, noise: SecretNoise) -> np.ndarray:
        """Exact sums (releases, ...) with a fresh stream of noise.

        Parameters
        ----------
        exact : ndarray
            The sums.
        noise : SecretNoise
            Source of normals.
        """
        stream = self.mechanism.open(exact.shape[1:], self.noise_scale, noise)
        return np.stack([total + stream.next() for total in exact])


@lru_cache(maxsize=8)
def rows_of_noise(mechanism: PrefixSumMechanism) -> np.ndarray:
    """B, one row a step, found by giving unit vectors in place of normals."""
    correlator = mechanism.correlator(mechanism.length)
    return np.stack([correlator.step(z) for z in np.eye(mechanism.length)])


@final
@dataclass(frozen=True, eq=False)
class SampledAnswer(Answer):
    """A sum over rows that were drawn in secret, with normal noise.

    The likelihood is taken as if rows that both data sets share were drawn in their mean, which is
    exact if they contribute nothing.

    Sides are the rows of each data set.
    """

    mechanism: SampledGaussian
    query: PerturbedQuery
    #: The row in which data sets differ, in the order in which rows are drawn.
    row: int

    # Each sample is summed up by itself.
    cost = 3000.0

    def log_ratio(self, answers: np.ndarray) -> np.ndarray:
        """Log-ratio of mixtures of two normals."""
        return self._log_density(answers, 1) - self._log_density(answers, 0)

    def again(self, which: int, count: int, noise: SecretNoise) -> np.ndarray:
        """Fresh answers, each from rows of its own."""
        rows = self.sides[which]
        sums = [
            self.query.evaluate_under(rows, self.mechanism.perturbation(noise))
            for _ in range(count)
        ]
        return self.mechanism.randomize(np.stack(sums, axis=-1), noise)

    def coordinates(self, which: int) -> np.ndarray:
        """Coordinates as if the row were in every sample, scaled down by the rate."""
        rate = self.mechanism.sampling_rate / self.mechanism.noise_scale
        return np.ravel(self._parts(which)[1]) * rate

    def _parts(self, which: int) -> tuple[np.ndarray, np.ndarray]:
        """Mean without the row in question, and what the row adds if it is drawn."""
        rows, rate = self.sides[which], self.mechanism.sampling_rate
        marks = np.zeros(self.mechanism.n_samples, dtype=bool)
        none = self.query.evaluate_under(rows, marks)
        everything = self.query.evaluate_under(rows, ~marks)
        own = np.zeros_like(none)
        if rows.n_samples == self.mechanism.n_samples:
            marks[self.row] = True
            own = self.query.evaluate_under(rows, marks) - none
        return none + rate * (everything - none - own), own

    def _log_density(self, answers: np.ndarray, which: int) -> np.ndarray:
        mean, own = self._parts(which)
        rate, variance = self.mechanism.sampling_rate, self.mechanism.noise_scale**2
        axes = tuple(range(mean.ndim))

        def normal(centre: np.ndarray) -> np.ndarray:
            away = answers - centre.reshape(*centre.shape, *[1] * (answers.ndim - centre.ndim))
            return -0.5 * np.square(away).sum(axis=axes) / variance

        without = log(1 - rate) if rate < 1 else -inf
        return np.logaddexp(without + normal(mean), log(rate) + normal(mean + own))


@final
@dataclass(frozen=True, eq=False)
class MinimumAnswer(Answer):
    """The minimiser of an objective with a random linear term.

    Its density is that of the slope for which it is the minimiser, times a Jacobian, which is left
    out here, as is the noise on the output: both are a small part of what is charged. Sides are the
    rows of each data set.
    """

    mechanism: ObjectivePerturbation | PurePerturbation
    query: PerturbedMinimumQuery

    # Each minimiser is found by itself.
    cost = 50_000.0

    def log_ratio(self, answers: np.ndarray) -> np.ndarray:
        """Log-ratio of the random linear terms."""
        flat = answers.reshape(*self.given.shape, -1)
        out = np.empty(flat.shape[-1])
        for k in range(out.size):
            one, other = (self._slope(flat[..., k], which) for which in (0, 1))
            if isinstance(self.mechanism, PurePerturbation):
                out[k] = np.linalg.norm(one) - np.linalg.norm(other)
            else:
                out[k] = (np.vdot(one, one) - np.vdot(other, other)) / 2
        return out.reshape(answers.shape[self.given.ndim :])

    def again(self, which: int, count: int, noise: SecretNoise) -> np.ndarray:
        rows, mechanism = self.sides[which], self.mechanism
        found = (
            self.query.evaluate_under(rows, mechanism.perturbation(noise)) for _ in range(count)
        )
        return np.stack([mechanism.randomize(w, noise) for w in found], axis=-1)

    def coordinates(self, which: int) -> np.ndarray:
        """The gradient at the published point, which the random linear term balances."""
        return np.ravel(self._slope(self.given, which))

    def _slope(self, w: np.ndarray, which: int) -> np.ndarray:
        return self.query.slope_at(self.sides[which], w) / self.mechanism.noise_scale


def answer_to(
    query: Query, mechanism: Mechanism, given: np.ndarray, sides: tuple[RowStore, ...]
) -> Answer:
    """The answer to a query, under the rows of several data sets."""
    if isinstance(mechanism, ObjectivePerturbation | PurePerturbation):
        return MinimumAnswer(sides, given, mechanism, cast(PerturbedMinimumQuery, query))
    if isinstance(mechanism, SampledGaussian):
        asked = cast(PerturbedQuery, query)
        row = _row_drawn(asked, mechanism.n_samples, sides)
        return SampledAnswer(sides, given, mechanism, asked, row)
    with np.errstate(all="ignore"):
        exact = tuple(query.evaluate(rows) for rows in sides)
    if isinstance(mechanism, GumbelMechanism):
        return VertexAnswer(exact, given, mechanism)
    if isinstance(mechanism, GaussianMechanism):
        return GaussianAnswer(exact, given, mechanism)
    if isinstance(mechanism, SiteNoise):
        covariance = covariance_of(mechanism)
        return GaussianAnswer(exact, given, mechanism, covariance, mechanism.trust.summed)
    raise UnknownLikelihoodError(type(mechanism).__name__)


def _row_drawn(query: PerturbedQuery, n: int, sides: tuple[RowStore, ...]) -> int:
    """Index of the row in which the data sets differ."""
    for k in range(n):
        marks = np.arange(n) == k
        sums = [query.evaluate_under(rows, marks) for rows in sides]
        if not all(np.array_equal(sums[0], other) for other in sums[1:]):
            return k
    return 0


def covariance_of(mechanism: SiteNoise) -> np.ndarray:
    """Covariance of the messages of sites, before they are summed, (n_active, n_active).

    Parameters
    ----------
    mechanism : SiteNoise
        Their noise.
    """
    own = np.diag(mechanism.own_noise_scales**2)
    n = len(own)
    if mechanism.trust.source == "central":
        return np.eye(n) * mechanism.noise_scales[0] ** 2 / n
    if mechanism.trust.source != "pairwise":
        return own
    laplacian = n * np.eye(n) - np.ones((n, n))
    if mechanism.edges is not None:
        laplacian = np.zeros((n, n))
        for i, j in mechanism.edges.tolist():
            laplacian[[i, j], [i, j]] += 1
            laplacian[[i, j], [j, i]] -= 1
    scale = mechanism.trust.ratio * mechanism.own_noise_scales
    return own + np.outer(scale, scale) * laplacian
