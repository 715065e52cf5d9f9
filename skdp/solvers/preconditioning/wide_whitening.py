"""Centre many dense features and whiten them by noisy moments, asked for twice."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import sqrt
from typing import TYPE_CHECKING

import numpy as np

from ...problem.bounds import RowMap
from ...problem.penalties import NoPenalty
from ...problem.problem import Problem
from ..defaults import WideWhitening as tuned
from .base import Preconditioner, half_edge, mapped

if TYPE_CHECKING:
    from ...privacy.oracle import Oracle


@dataclass(frozen=True)
class WideWhitening(Preconditioner):
    r"""Rows centred and whitened down to the noise, for hundreds to thousands of dense features.

    Coordinates are ``U diag(max(ev, 0) + lam)^{-1/2}`` with ``U, ev`` the spectrum of noisy second
    moments and ``lam`` half the expected spectral norm of their noise. Directions of large variance
    are made as short as those in which moments are lost in noise, so that rows become a fraction of
    their length, and noise as much smaller beside what is left. Second moments are asked for
    twice: the second time rows are shorter already, so that noise is smaller by the square of it
    and further directions stand out. If rows have hardly become shorter after the first time, the
    spectrum is flat, there is little to gain, and the rest of the share is left to the solver.

    Made for features such as embeddings, in which fine directions tell classes apart, too. Where
    they hardly do, as among the pixels of images,
    :class:`skdp.solvers.preconditioning.Whitening` is the better choice.

    With more features than ``most_coordinates`` each coordinate is the sum of some of them with
    random signs, a public sketch.

    Parameters
    ----------
    share : float, default=0.26
        Share of mu^2 for the mean (a thirteenth of it) and the moments (four and eight).
    most_coordinates : int, default=2000
        Largest number of coordinates.

    Notes
    -----
    A ridge penalty keeps its meaning in the user's coordinates, where it shrinks coefficients along
    fine directions most. A strong one takes away what whitening has gained: leave C at None, or
    take 10 and more for rows of norm 1.

    Where noise would be too large, which public facts alone decide, nothing is asked and rows stay
    as they are: below ``n mu`` of about 240 times the root of the number of coordinates. The
    option ``'wide'`` of a model is ``'auto'`` there.
    """

    share: float = 0.26
    most_coordinates: int = 2000

    def acts(self, problem: Problem, mu: float, *, known: bool) -> bool:
        """Tell whether noise of the first moments is well below the squared norm of rows."""
        k, first = min(problem.n_features, self.most_coordinates), self.share * _portions()[1]
        # Those of replace-one, under which the noise of moments is largest.
        sd = sqrt(2.0 / first) / (problem.n_samples * mu)
        return 2.0 * half_edge(sd, k) <= tuned.LARGEST_NOISE

    def resolves(self, problem: Problem, mu: float) -> bool:
        """True if the leading second moments will stand clearly out of their noise."""
        return self.acts(problem, mu, known=False)

    def _prepare(
        self,
        problem: Problem,
        oracle: Oracle,
        rng: np.random.Generator,
        known: RowMap | None,
    ) -> Problem:
        budget = oracle.budget
        if not self.acts(problem, budget.mu, known=False):
            return problem
        d, plain = problem.n_features, replace(problem.bounds, intercept_value=0.0)
        k = min(d, self.most_coordinates)
        row_map = RowMap(np.ones(d), None, np.zeros(d))
        if k < d:
            signs, sketch = rng.choice([-1.0, 1.0], d), rng.permutation(d) % k
            row_map = RowMap(signs, None, np.zeros(k), sketch=sketch)
        asked = replace(problem, penalty=NoPenalty(), n_features=k)
        shares = [self.share * portion for portion in _portions()]
        # Squared length of rows, and of their mean as far as it is not noise.
        square, length = plain.data_norm**2, 0.0
        mean = np.zeros(k)
        # Without an intercept nothing could make up for a shift.
        if problem.bounds.intercept_value:
            bounds = replace(plain, row_map=replace(row_map, norm=plain.data_norm))
            spend = budget.fraction(shares[0]).whole()
            asked = replace(asked, bounds=bounds)
            mean, sd = oracle.for_problem(asked).row_means(by_class=False, spend=spend)
            total = float(mean @ mean)
            length = max(0.0, total - k * sd**2)
            mean = mean * (length / total if total else 0.0)
        square = max(square - length, 0.01 * square)
        moments = None
        for share in shares[1:]:
            shift = mean if row_map.matrix is None else row_map.matrix.T @ mean
            row_map = replace(row_map, shift=shift, norm=sqrt(square))
            asked = replace(asked, bounds=replace(plain, row_map=row_map))
            spend = budget.fraction(share).whole()
            answer, sd = oracle.for_problem(asked).second_moments(full=True, spend=spend)
            # In units of the squared length of rows.
            values, vectors = np.linalg.eigh(answer / square)
            kept = np.maximum(values, 0.0)
            factors = 1.0 / (kept + half_edge(sd / square, k))
            # The longest stretch is 1, so that no row is made longer.
            stretch = np.sqrt(factors / factors.max())
            moments = square * kept * stretch**2
            left = min(1.0, whitened_mean_square(values, factors, sd / square) / factors.max())
            square *= left
            matrix = vectors * stretch
            if row_map.matrix is not None:
                matrix = row_map.matrix @ matrix
            row_map = replace(row_map, matrix=matrix)
            if left > tuned.FLAT_SPECTRUM:
                break
        assert row_map.matrix is not None
        shift = row_map.matrix.T @ mean
        row_map = replace(row_map, shift=shift, norm=sqrt(square), moments=moments)
        return mapped(problem, row_map)


def _portions() -> list[float]:
    """Parts of the share that the mean and the moments take."""
    whole = tuned.MEAN_SHARE + sum(tuned.MOMENTS_SHARES)
    return [share / whole for share in (tuned.MEAN_SHARE, *tuned.MOMENTS_SHARES)]


def whitened_mean_square(values: np.ndarray, factors: np.ndarray, sd: float) -> float:
    r"""Mean squared length of rows after directions are scaled by the roots of the factors.

    With S the noisy moments and f the function that makes factors of eigenvalues, ``tr(f(S) S)`` is
    too large, because f leans on the noise. By Stein's lemma it is so by ``sd^2`` times the
    divergence of f, which for a function of the spectrum is

    .. math:: \sum_i f'(\lambda_i) + \sum_{i<j} \frac{f_i - f_j}{\lambda_i - \lambda_j}.

    Parameters
    ----------
    values : ndarray of shape (k,)
        Eigenvalues of S in ascending order.
    factors : ndarray of shape (k,)
        ``1 / (max(values, 0) + lam)``.
    sd : float
        Standard deviation of the noise on the diagonal of S; off it smaller by sqrt(2).
    """
    gaps = values[:, None] - values
    apart = np.abs(gaps) > 1e-12 * max(1e-300, float(np.abs(values).max()))
    slopes = np.where(values > 0, -(factors**2), 0.0)
    ratios = np.divide(factors[:, None] - factors, gaps, out=np.diag(slopes), where=apart)
    divergence = float(np.trace(ratios) + ratios.sum()) / 2
    # One direction that stands out is a length of one at least.
    return max(1.0, float(factors @ values) - sd**2 * divergence)
