"""Whiten the rows, intercept column included, by noisy moments asked for several times."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import sqrt
from typing import TYPE_CHECKING

import numpy as np

from ..problem import Problem
from ..regularizers import Tikhonov
from ..row_map import RowMap
from .base import Conditioner

if TYPE_CHECKING:
    from ..privacy.oracle import Oracle

__all__ = ["Looks"]


@dataclass(frozen=True)
class Looks(Conditioner):
    r"""Moments asked for repeatedly, each time in the coordinates released so far.

    The noise of a look is isotropic in the coordinates in which it is asked, and as large as the
    rows' norm bound squared. In coordinates where the rows are already nearly white, rows are only
    as long as the root of the number of directions that stand out of the noise, and the noise is
    small beside every eigenvalue, so the next look resolves what the one before could not. Each
    look multiplies the coordinates by ``U diag(ev + lam)^{-1/2}``, where ``U, ev`` is the spectrum
    of the answer and ``lam`` half the expected spectral norm of its noise.

    The map that results is linear and leaves rows as long as they are, so a linear model after it
    is one before it. A constant column joins the features, and a ridge penalty becomes a quadratic
    form, with the same meaning in the user's coordinates.

    Parameters
    ----------
    share : float, default=0.4
        Share of mu^2 for all looks together.
    looks : int, default=3
        Number of looks. Further ones are left out, and cost nothing, if noise would drown them.
    row_clip : float, default=2.0
        Rows longer than this many times the root of the effective dimension are scaled down to it
        during the second and later looks.
    least : float, default=100.0
        If the number of rows times mu is smaller, there are no looks and the problem stays as it
        is: noise would hide what there is to learn about the coordinates.
    """

    share: float = 0.4
    looks: int = 3
    row_clip: float = 2.0
    least: float = 100.0

    def prepare(self, problem: Problem, oracle: Oracle, rng: np.random.Generator) -> Problem:
        """The problem with rows in coordinates where their second moment is about the identity."""
        del rng
        if problem.n_samples * oracle.budget.mu < self.least:
            return problem
        spends = oracle.budget.fraction(self.share).split(self.looks)
        bounds, p = problem.bounds, problem.n_rows
        matrix, look = np.eye(p), problem
        effective, sd = 1.0, 0.0
        for k, spend in enumerate(spends):
            if k > 0:
                norm = self.row_clip * sqrt(effective)
                # Noise grows with the square of the norm; eigenvalues are now 1 at most.
                if _ridge(sd * (norm / look.row_norm) ** 2, p) > 0.5:
                    break
                look = self._mapped(problem, matrix, norm)
            answer, sd = oracle.for_problem(look).second_moments(full=True, spend=spend)
            values, vectors = np.linalg.eigh(answer)
            values, ridge = np.maximum(values, 0.0), _ridge(sd, p)
            matrix = matrix @ (vectors / np.sqrt(values + ridge))
            effective = max(1.0, float(np.sum(values / (values + ridge))))
        reach = np.linalg.norm(matrix, 2) * bounds.row_norm
        conditioned = self._mapped(problem, matrix, _LONGER * float(reach))
        strength = sqrt(problem.strong_convexity)
        if strength > 0:
            penalty = Tikhonov(strength * matrix[: problem.n_features])
            conditioned = replace(conditioned, regularizer=penalty)
        return conditioned

    @staticmethod
    def _mapped(problem: Problem, matrix: np.ndarray, norm: float) -> Problem:
        d, bounds = problem.n_features, problem.bounds
        shift = np.zeros(len(matrix))
        if bounds.intercept_value:
            shift = -bounds.intercept_value * matrix[-1]
        row_map = RowMap(np.ones(d), matrix[:d], shift, norm)
        mapped = replace(bounds, intercept_value=0.0, row_map=row_map)
        return replace(problem, n_features=len(matrix), bounds=mapped)


# So that a row at the bound is not scaled down by rounding.
_LONGER = 1 + 1e-9


def _ridge(sd: float, p: int) -> float:
    """Half the expected spectral norm of symmetric noise, sd on the diagonal, sd / sqrt(2) off."""
    return 0.5 * sd * sqrt(2 * p)
