"""Centre, scale and, where it is worth it, whiten the rows by their noisy moments."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import inf, sqrt
from typing import TYPE_CHECKING

import numpy as np

from ...problem.bounds import RowMap
from ...problem.problem import Problem
from ..defaults import Whitening as tuned
from .base import Preconditioner, half_edge, mapped, warn_of_one_column, warn_of_wide_bounds
from .class_frequencies import curvature_at_start

if TYPE_CHECKING:
    from ...privacy.accounting.ledger import Spend
    from ...privacy.oracle import Oracle

_MOST_FEATURES = 500


@dataclass(frozen=True)
class Whitening(Preconditioner):
    r"""Rows in coordinates of about equal size, and clipped to their typical length there.

    Gaussian noise is isotropic, so it hurts least where the signal is. A row whose length is
    mostly the common mean, or one long feature, spends its sensitivity on nothing. A look at the
    diagonal and one column of the second moments of ``[x, R]`` gives means and variances. With
    enough data a second look, at all second moments of the rows that these have centred and scaled,
    gives their covariance, and coordinates are ``U diag(ev + floor)^{-1/2}`` of its spectrum, with
    a floor at the level of its noise. Looked at in the user's coordinates instead, the noise would
    be scaled up together with the features that vary little. If the second look shows no direction
    that stands clearly out of its noise, it only makes the variances more precise.

    Of classes, a block of a stream takes the coordinates of the block before as they are, at no
    cost, if noise has left second moments there off by no more than themselves in any direction.
    Each time they are taken to be half as good, so that rows that change are looked at again.

    Parameters
    ----------
    share : float, default=0.1
        Share of mu^2 for the noisy moments: three tenths of it for the first look if there is a
        second one, else all.
    full : bool, optional
        Whether to whiten by the full covariance, or only to centre and scale, which takes memory
        for a few rows only. By default full up to 500 features, for two classes if noise and
        classes leave enough to tell of all directions (``n mu >= 700``, ``n mu c >= 1.5 d**1.5``
        and ``n c**2 >= 3 d`` with c = 4 p (1 - p) for the share p of a class), for K of them from
        ``n mu >= 10 (d + 1) (K - 1)`` on. Then also neither, at no cost, where not even the mean
        is resolved: ``n mu < 6 sqrt(d)``.
    """

    share: float = 0.1
    full: bool | None = None

    def acts(self, problem: Problem, mu: float, *, known: bool) -> bool:
        """Tell whether noise would leave something to learn about the coordinates."""
        mu_of_moments = sqrt(self.share) * mu
        return (
            self.full is not None
            or problem.n_samples * mu_of_moments >= tuned.LEAST_EVIDENCE * sqrt(problem.n_features)
        )

    def resolves(self, problem: Problem, mu: float) -> bool:
        """True if second moments in all directions can be told from their noise."""
        d, k, n = problem.n_features, problem.loss.n_scores, problem.n_samples
        if self.full is not None:
            return self.full
        if d > _MOST_FEATURES:
            return False
        if k > 1:
            return n * mu >= tuned.EVIDENCE_OF_SEVERAL * (d + 1) * (k - 1)
        # Other losses of two classes bend as that of balanced ones.
        told = problem.loss.log_odds or problem.loss.log_means
        bend = min(1.0, curvature_at_start(problem)) if told else 1.0
        evidence = n * mu * sqrt((1 - tuned.FIRST_SHARE) * self.share) * bend
        resolved = (
            evidence >= tuned.RESOLVED_EVIDENCE * d**1.5 and n * bend**2 >= tuned.ROWS_A_FEATURE * d
        )
        return resolved and n * mu >= tuned.TELLING_EVIDENCE

    def keeps(self, known: RowMap) -> bool:
        """True if noise has left so little doubt of the coordinates that they serve once more."""
        return known.blur <= tuned.MOST_BLUR

    def _prepare(
        self,
        problem: Problem,
        oracle: Oracle,
        rng: np.random.Generator,
        known: RowMap | None,
    ) -> Problem:
        if known is not None and self.keeps(known):
            # Rows may have changed since, and the longer ago the more.
            return mapped(problem, replace(known, blur=2 * known.blur))
        budget, d, R = oracle.budget, problem.n_features, problem.bounds.data_norm
        if not self.acts(problem, budget.mu, known=False):
            return problem
        again = self.resolves(problem, budget.mu)
        first = self.share * (tuned.FIRST_SHARE if again else 1.0)
        # [x, R]: the last column of its second moments is R times the mean.
        asked = replace(problem, bounds=replace(problem.bounds, intercept_value=R))
        (squares, mean), sd = oracle.for_problem(asked).second_moments(
            full=False, spend=budget.fraction(first).whole()
        )
        squares = squares[:d]
        warn_of_one_column(problem, squares, sd)
        mean = _shrunk_mean(problem, mean[:d] / R, sd / R)
        variances = squares - mean**2
        warn_of_wide_bounds(problem, variances, sd)
        scale = 1 / np.sqrt(np.maximum(variances, 2 * sd) + tuned.LEAST_VARIANCE * R**2 / d)
        shift = mean * scale
        found = RowMap(scale, None, shift, _length(variances, scale, shift, R))
        if again:
            spend = budget.fraction(self.share - first).whole()
            found = self._whitened(problem, oracle, spend, found)
        # Cutting to the typical length is a bias that small budgets want and huge ones do not.
        longest = found.norm * min(tuned.MOST_ROW_LENGTH, max(1.0, budget.mu / 2))
        row_map = replace(found, norm=longest, typical=found.norm)
        return mapped(problem, row_map, found.norm)

    def _whitened(self, problem: Problem, oracle: Oracle, spend: Spend, seen: RowMap) -> RowMap:
        """Coordinates from a look at all second moments in those that were seen first."""
        d, R = problem.n_features, seen.norm
        long = replace(
            problem.bounds, intercept_value=R, row_map=replace(seen, norm=tuned.ROW_LENGTH * R)
        )
        asked = oracle.for_problem(replace(problem, bounds=long))
        moments, sd = asked.second_moments(full=True, spend=spend)
        mean = _shrunk_mean(problem, moments[d, :d] / R, sd / R)
        covariance = moments[:d, :d] - np.outer(mean, mean)
        values, vectors = np.linalg.eigh(covariance)
        values, edge = np.maximum(values, 0.0), 2 * half_edge(sd, d)
        if (
            self.full is None
            and problem.loss.n_scores == 1
            and values[-1] < tuned.CLEAR_EIGENVALUE * edge
        ):
            variances = np.diag(covariance)
            finer = 1 / np.sqrt(np.maximum(variances, 2 * sd) + tuned.LEAST_VARIANCE_AGAIN)
            shift = (seen.shift + mean) * finer
            norm = _length(variances, finer, mean * finer, tuned.ROW_LENGTH * R)
            return RowMap(seen.scale * finer, None, shift, norm)
        floor = tuned.FLOOR_OF_NOISE * edge + tuned.FLOOR * values.mean()
        matrix = vectors / np.sqrt(values + floor)
        kept = values / (values + floor)
        shift, blur = (seen.shift + mean) @ matrix, edge / float(values[0] + floor)
        blur = inf if problem.loss.log_means else blur
        norm = sqrt(max(1.0, float(kept.sum())))
        return RowMap(seen.scale, matrix, shift, norm, moments=kept, blur=blur)


def _shrunk_mean(problem: Problem, mean: np.ndarray, sd: float) -> np.ndarray:
    """A noisy mean from the last column of second moments, as James and Stein would have it.

    A mean that is all noise is no mean. Without an intercept nothing could make up for a shift.
    """
    length, noise = float(mean @ mean), mean.size * sd**2 / 2
    if not (problem.bounds.intercept_value and length > noise):
        return np.zeros_like(mean)
    return mean * (1 - noise / length)


def _length(variances: np.ndarray, scale: np.ndarray, shift: np.ndarray, longest: float) -> float:
    """Typical length of rows of at most this length that are scaled by their noisy variances.

    Noise makes many small variances too large together, but no row is longer than the largest scale
    and the shift can make it.
    """
    square = float(np.maximum(variances * scale**2, 0.0).sum())
    most = longest * float(scale.max()) + float(np.linalg.norm(shift))
    return max(1.0, min(sqrt(square), most))
