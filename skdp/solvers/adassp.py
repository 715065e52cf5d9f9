"""One shot for least squares: noisy normal equations, solved with as much ridge as noise needs."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from ..problem.problem import Problem
from ..validation import interval
from .base import Solution, Solver, refuse_all_but_ridge

if TYPE_CHECKING:
    from ..privacy.oracle import Oracle


@dataclass(frozen=True)
class AdaSSP(Solver):
    r"""Least squares from noisy sufficient statistics, with ridge where there is only noise.

    .. math:: w = U\,\mathrm{diag}\bigl(1 / \max(\lambda_j, k s \sqrt{2 p})\bigr)\, U' \hat v,
              \qquad \hat M + P = U\,\mathrm{diag}(\lambda_j)\, U'

    where ``M^`` and ``v^`` are the noisy ``mean x x'`` and ``mean y x``, answered together, P is
    the Hessian of the ridge penalty, and ``s sqrt(2 p)`` is about the spectral norm of the noise in
    ``M^`` with the standard deviation s on its diagonal.

    In Wang's algorithm the noise level of the matrix less its smallest eigenvalue, for which a
    third of the budget is spent, is added to all eigenvalues alike. Here the spectrum is read off
    ``M^``, which costs nothing more and by Weyl's inequality is right up to the noise level, and
    only the eigenvalues below the level are raised: directions that stand out of the noise are not
    shrunk.

    A baseline: no steps, one pass over the rows, noise that depends on the number of features only
    through the norm of rows. Its noise is in proportion to ``row_norm**2``, whatever the residuals
    are, so it needs many rows for the number of features. The loss is squared, and targets are
    clipped; residuals are not. Works with p by p matrices.

    Parameters
    ----------
    floor : float, default=0.75
        Least eigenvalue k in units of the noise level.
    balance : float, default=0.5
        Weight of ``mean y x`` beside ``mean x x'``, in (0, 1]: the more the less noise it has.

    References
    ----------
    Wang (2018), algorithm 2, AdaSSP.

    Examples
    --------
    >>> from skdp.solvers import AdaSSP
    >>> AdaSSP().get_params()
    {'floor': 0.75, 'balance': 0.5}
    """

    hyperparameters: ClassVar[dict[str, list[Any]]] = {
        "floor": [interval(0, 1e6, "right")],
        "balance": [interval(0, 1, "right")],
    }

    floor: float = 0.75
    balance: float = 0.5

    def refuse(self, problem: Problem) -> None:
        if not (problem.loss.squared and problem.bounds.target is not None):
            raise ValueError(
                f"{type(self).__name__} needs the squared loss and bounded targets, got "
                f"{type(problem.loss).__name__}. Use the solver 'gd'."
            )
        refuse_all_but_ridge(self, problem)

    def solve(self, problem: Problem, oracle: Oracle, rng: np.random.Generator) -> Solution:
        """Solve the normal equations; all of the budget goes to one query."""
        self.check(problem)
        moments, cross = oracle.normal_equations(balance=self.balance, spend=oracle.budget.whole())
        values, vectors = np.linalg.eigh(moments.value + problem.penalty_hessian())
        level = self.floor * moments.scale * sqrt(2 * problem.n_rows)
        raised = np.maximum(values, level)
        # One column a target, if there are several.
        w = vectors @ ((vectors.T @ cross).T / raised).T
        return Solution(w, n_iter=1)
