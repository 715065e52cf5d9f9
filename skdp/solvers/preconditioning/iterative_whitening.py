"""Whiten the rows, intercept column included, by noisy moments asked for several times."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import inf, sqrt
from typing import TYPE_CHECKING

import numpy as np

from ...problem.bounds import RowMap
from ...problem.penalties import Tikhonov
from ...problem.problem import Problem
from ..defaults import IterativeWhitening as tuned
from .base import Preconditioner, half_edge, warn_of_one_column

if TYPE_CHECKING:
    from ...privacy.oracle import Oracle

# So that a row at the bound is not scaled down by rounding.
_LONGER = 1 + 1e-9


@dataclass(frozen=True)
class IterativeWhitening(Preconditioner):
    r"""Moments asked for repeatedly, each time in the coordinates released so far.

    The noise of an iteration is isotropic in its coordinates, and as large as the rows' norm bound
    squared. In coordinates where the rows are already nearly white, rows are only
    as long as the root of the number of directions that stand out of the noise, and the noise is
    small beside every eigenvalue, so the next iteration resolves what the last could not. Each
    one multiplies the coordinates by ``U diag(ev + lam)^{-1/2}``, where ``U, ev`` is the spectrum
    of the answer and ``lam`` half the expected spectral norm of its noise.

    The map that results is linear and leaves rows as long as they are, so a linear model after it
    is one before it. A constant column joins the features, and a ridge penalty becomes a quadratic
    form, with the same meaning in the user's coordinates.

    Noise hides whether any row lies along some directions, as those of categories with few rows or
    none. Solvers are told of them, as far as a single row of typical length would have a second
    moment of 1 there: noise in a coefficient is far more in the prediction for such a row.

    Where coordinates are known from other rows of the same kind, as in the later parts of a stream,
    one iteration in those is enough, for an eighth of the share.

    Parameters
    ----------
    share : float, default=0.4
        Share of mu^2 for all iterations together.
    iterations : int, default=3
        Most iterations. Later ones are left out, and cost nothing, if noise would drown them, or,
        but for quantiles, if all directions stand clearly out of the noise of one before.
    least : float, default=100.0
        If the number of rows times mu is smaller, there are none and the problem stays as it is:
        noise would hide what there is to learn about the coordinates. Nor are there any if it is
        smaller than 6 % of this for each coefficient.
    shrink : bool, default=False
        Whether to take off the spread of eigenvalues that noise alone brings about, which leaves
        directions alike where noise hides how they differ.
    """

    share: float = 0.4
    iterations: int = 3
    least: float = 100.0
    shrink: bool = False

    def acts(self, problem: Problem, mu: float, *, known: bool) -> bool:
        """Tell whether noise would leave something to learn about the coordinates."""
        each = problem.evidence_for_each(mu)
        enough = min(problem.n_samples * mu, each / tuned.LEAST_OF_EACH)
        return known or enough >= self.least

    def _prepare(
        self,
        problem: Problem,
        oracle: Oracle,
        rng: np.random.Generator,
        known: RowMap | None,
    ) -> Problem:
        budget, bounds, p = oracle.budget, problem.bounds, problem.n_rows
        if known is None:
            if not self.acts(problem, budget.mu, known=False):
                return problem
            matrix, effective, moments, hidden = np.eye(p), 1.0, None, None
            spends = budget.fraction(self.share).split(self.iterations)
        else:
            matrix, effective = _matrix_of(known, bounds.intercept_value), _squared(known, p)
            moments, hidden = known.moments, known.hidden
            spends = [budget.fraction(tuned.FURTHER_ITERATION_SHARE * self.share).whole()]
        current, sd, square, d = problem, 0.0, 0.0, problem.n_features
        for k, spend in enumerate(spends):
            if k > 0 or known is not None:
                norm = tuned.ROW_LENGTH * sqrt(effective)
                # Noise grows with the square of the norm; eigenvalues are now 1 at most.
                noise = half_edge(sd * (norm / current.row_norm) ** 2, p)
                if noise > tuned.DROWNED_NOISE:
                    break
                if known is None and k == len(spends) - 1:
                    # Along rows that are cut, as those of rare categories, the loss bends more than
                    # second moments say, so that steps would swing.
                    whole = _LONGER * float(np.linalg.norm(matrix, 2)) * bounds.row_norm
                    longer = sqrt(tuned.NOISE_OF_LONG_ROWS / noise) if noise > 0 else inf
                    norm = max(norm, min(whole, norm * longer))
                current = self._mapped(problem, matrix, norm)
            answer, sd = oracle.for_problem(current).second_moments(full=True, spend=spend)
            if current is problem:
                variances = np.diag(answer)[:d]
                warn_of_one_column(problem, variances, sd)
                # The mean squared length of rows, less what may be noise.
                square = max(0.0, float(variances.sum()) - 2 * sd * sqrt(d))
            values, vectors = np.linalg.eigh(answer)
            ridge = half_edge(sd, p)
            without_noise = np.maximum(_shrunk(values, ridge), 0.0)
            values = without_noise if self.shrink else np.maximum(values, 0.0)
            if known is not None and ridge > tuned.DROWNED_NOISE:
                break
            # The less a direction holds, the longer are the few rows that lie in it, and the noise
            # of a model that hardly any row has told of it.
            longest = bounds.row_norm * float(np.linalg.norm(matrix, 2))
            least = tuned.LEAST_OF_A_ROW * longest**2 / problem.n_samples
            if known is not None:
                # Other rows have told of these coordinates, where moments are 1 at most.
                least = min(least, 1.0)
            squares = np.maximum(values + ridge, least)
            matrix = matrix @ (vectors / np.sqrt(squares))
            moments = without_noise / squares
            of_noise = ridge / np.maximum(without_noise + ridge, np.finfo(float).tiny)
            if known is None:
                # Second moments that a single row of typical length has along a direction.
                alone = square * np.sum(matrix[:d] ** 2, axis=0) / problem.n_samples
                hidden = of_noise**2 * np.minimum(1.0, alone)
            elif hidden is not None:
                hidden = of_noise**2 * (hidden @ vectors**2)
            effective = max(1.0, float(np.sum(values / squares)))
            # A further iteration has nothing left to tell apart; the solver has what it saves. That
            # was measured for residuals alone.
            resolved = float(moments.min()) >= tuned.RESOLVED_MOMENT
            if resolved and not problem.loss.quantiles:
                break
        reach = _LONGER * float(np.linalg.norm(matrix, 2) * bounds.row_norm)
        return self._mapped(problem, matrix, reach, sqrt(effective), moments, hidden)

    @staticmethod
    def _mapped(
        problem: Problem,
        matrix: np.ndarray,
        norm: float,
        typical: float | None = None,
        moments: np.ndarray | None = None,
        hidden: np.ndarray | None = None,
    ) -> Problem:
        d, bounds = problem.n_features, problem.bounds
        shift = np.zeros(len(matrix))
        if bounds.intercept_value:
            shift = -bounds.intercept_value * matrix[-1]
        row_map = RowMap(np.ones(d), matrix[:d], shift, norm, typical, moments, hidden)
        mapped = replace(bounds, intercept_value=0.0, row_map=row_map)
        penalty = Tikhonov.of(problem.penalty, matrix[:d])
        return replace(problem, n_features=len(matrix), bounds=mapped, penalty=penalty)


def _matrix_of(row_map: RowMap, constant: float) -> np.ndarray:
    """The matrix behind coordinates that this preconditioner has released."""
    matrix = row_map.jacobian()
    return np.vstack([matrix, -row_map.shift / constant]) if constant else matrix


def _squared(row_map: RowMap, p: int) -> float:
    return float(p) if row_map.typical is None else row_map.typical**2


def _shrunk(values: np.ndarray, ridge: float) -> np.ndarray:
    """Eigenvalues less the part of their spread that noise alone brings about.

    As in the estimator of James and Stein: those of noise are spread over a half circle of radius
    twice the ridge, whose variance is the square of the ridge.
    """
    spread = values - values.mean()
    variance = float(np.mean(spread**2))
    share = max(0.0, 1 - ridge**2 / variance) if variance > 0 else 0.0
    return values.mean() + share * spread
