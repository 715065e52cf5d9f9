"""Likelihoods of the answers to queries, by the mechanism that answers.

Here are also those of two mechanisms whose noise enters the computation: by rows that are drawn in
secret, and by a random linear term.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, log
from typing import cast, final

import numpy as np

from ..privacy.mechanisms.base import Mechanism
from ..privacy.mechanisms.gaussian import GaussianMechanism, SampledGaussian
from ..privacy.mechanisms.gumbel import GumbelMechanism
from ..privacy.mechanisms.perturbed_objective import ObjectivePerturbation, PurePerturbation
from ..privacy.mechanisms.site_noise import SiteNoise
from ..privacy.queries.base import PerturbedQuery, Query
from ..privacy.queries.perturbed_minimum import PerturbedMinimumQuery
from ..privacy.randomness import SecretNoise
from ..privacy.rows.base import RowStore
from .likelihoods import Answer, GaussianAnswer, UnknownLikelihoodError, VertexAnswer


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

    @property
    def cost(self) -> float:
        """Each sample is summed up by itself."""
        return 3000.0

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

    @property
    def cost(self) -> float:
        """Each minimiser is found by itself."""
        return 50_000.0

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
