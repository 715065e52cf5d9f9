"""Centre, scale and, where it is worth it, whiten the rows by their noisy moments."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import sqrt
from typing import TYPE_CHECKING

import numpy as np

from ...problem.bounds import RowMap
from ...problem.problem import Problem
from .base import Preconditioner, mapped, warn_of_one_column

if TYPE_CHECKING:
    from ...privacy.oracle import Oracle

# Eigenvalues stand out of the noise where n mu exceeds this many sqrt(d).
_RESOLVED = 100.0
_MOST_FEATURES = 500
# Well enough for steps to rely on them, a class.
_CLEAR = 150.0
# Below this many sqrt(d) the noise of the mean is longer than the rows themselves.
_LEAST = 2.0


@dataclass(frozen=True)
class Whitening(Preconditioner):
    """Rows in coordinates of about equal size, and clipped to their typical length there.

    Gaussian noise is isotropic, so it hurts least where the signal is. A row whose length is
    mostly the common mean, or one long feature, spends its sensitivity on nothing. Noisy
    second moments of ``[x, R]`` give mean and variances; with enough data also the covariance C of
    the scaled features, whose inverse fourth root (with a ridge at the level of its noise) makes
    directions more alike without blowing up those that are all noise.

    Parameters
    ----------
    share : float, default=0.1
        Share of mu^2 for the noisy moments.
    full : bool, optional
        Whether to use the full covariance, or only to centre and scale, which takes memory for a
        few rows only. By default full where its eigenvalues are resolved: ``n mu >= 100 sqrt(d)``
        for the mu of the answer, d <= 500. Then also neither, at no cost, where not even the mean
        is resolved: ``n mu < 2 sqrt(d)``.
    """

    share: float = 0.1
    full: bool | None = None

    def acts(self, problem: Problem, mu: float, *, known: bool) -> bool:
        """Tell whether noise would leave something to learn about the coordinates."""
        del known
        mu_of_moments = sqrt(self.share) * mu
        return self.full is not None or problem.n_samples * mu_of_moments >= _LEAST * sqrt(
            problem.n_features
        )

    def resolves(self, problem: Problem, mu: float) -> bool:
        """True if second moments in all directions will stand clearly out of their noise."""
        if self.full is False:
            return False
        d, k = problem.n_features, max(1, problem.loss.n_scores - 1)
        evidence = problem.n_samples * sqrt(self.share) * mu
        return d <= _MOST_FEATURES and evidence >= _CLEAR * sqrt(d * k)

    def _prepare(
        self,
        problem: Problem,
        oracle: Oracle,
        rng: np.random.Generator,
        known: RowMap | None,
    ) -> Problem:
        del known
        budget = oracle.budget
        portion = budget.fraction(self.share)
        n, d, R = problem.n_samples, problem.n_features, problem.bounds.data_norm
        full = self.full
        if full is None:
            if not self.acts(problem, budget.mu, known=False):
                return problem
            full = d <= _MOST_FEATURES and n * portion.mu >= _RESOLVED * sqrt(d)
        # [x, R]: the last column of its second moments is R times the mean.
        asked = replace(problem, bounds=replace(problem.bounds, intercept_value=R))
        moments, sd = oracle.for_problem(asked).second_moments(full=full, spend=portion.whole())
        squares, mean = (np.diag(moments), moments[d]) if full else moments
        squares, mean = squares[:d], mean[:d] / R
        warn_of_one_column(problem, squares, sd)
        length = float(mean @ mean)
        # James and Stein: a mean that is all noise is no mean. Without an intercept nothing could
        # make up for a shift.
        noise = d * sd**2 / (2 * R**2)
        centred = problem.bounds.intercept_value > 0 and length > noise
        mean = mean * (1 - noise / length) if centred else np.zeros(d)
        variances = squares - mean**2
        scale = 1 / np.sqrt(np.maximum(variances, 2 * sd) + 1e-4 * R**2 / d)
        matrix = moments_there = None
        spread = np.maximum(variances * scale**2, 0.0)
        if full:
            covariance = scale[:, None] * (moments[:d, :d] - np.outer(mean, mean)) * scale
            values, vectors = np.linalg.eigh(covariance)
            values = np.maximum(values, 0.0)
            floor = 0.25 * _edge(scale, sd, rng) + 0.001 * values.mean()
            matrix = vectors * (values + floor) ** -0.25
            moments_there = np.sqrt(values + floor)
            spread = values / moments_there
        # Clipping at the typical length is a bias that small budgets want and huge ones do not.
        typical = sqrt(max(float(spread.sum()), 1.0)) * min(4.0, max(1.0, budget.mu / 2))
        shift = RowMap(scale, matrix, np.zeros(d)).push_forward(mean)
        return mapped(problem, RowMap(scale, matrix, shift, typical, moments=moments_there))


def _edge(scale: np.ndarray, sd: float, rng: np.random.Generator) -> float:
    """Spectral norm of a simulated noise matrix as large as the one in the scaled covariance."""
    normals = rng.standard_normal((scale.size, scale.size))
    noise = scale[:, None] * ((normals + normals.T) * (sd / 2)) * scale
    return float(np.linalg.norm(noise, 2))
