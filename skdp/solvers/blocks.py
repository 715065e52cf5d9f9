"""Disjoint growing blocks of a stream, each fitted with the whole budget."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, sqrt
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils._param_validation import Interval

from ..problem.problem import Problem
from ..validation import check_hyperparameters
from .base import Solution, Solver
from .batch_solvers import batch_kind_of
from .defaults import Blocks as tuned
from .gd import GD
from .minibatch_noise import refuse_batch_size

if TYPE_CHECKING:
    from ..privacy.accounting.calculus import Calculus
    from ..privacy.adjacency import Adjacency
    from ..privacy.oracle import Oracle

_HYPERPARAMETERS: dict[str, list[Any]] = {
    "ratio": [None, Interval(Real, 1.01, 1e6, closed="both")],
    "first": [None, Interval(Integral, 1, None, closed="left")],
    "largest": [None, Interval(Integral, 1, None, closed="left")],
    "warm": ["boolean"],
    "solver": [str, Solver],
}


@dataclass(frozen=True)
class Blocks(Solver):
    r"""A stream cut at public positions into blocks, each fitted like a data set of its own.

    A stream needs a current model, not a new one at each row. Rows of the open block are kept;
    when it is full, a batch solver fits it, starting at the model so far, and the new model is in
    force until the next block is full. Blocks have no row in common, so each may spend the whole
    budget: there is no price for the length of the stream.

    With a horizon of T rows declared, the cuts are ``T, T / ratio, T / ratio**2, ...``, so that
    the model at the horizon rests on most of the rows; beyond the horizon each block doubles the
    number of rows. Without one the cuts are ``first, ratio first, ratio**2 first, ...``.

    It takes memory for the rows of the open block. ``fit`` takes a data set as one block.

    Parameters
    ----------
    ratio : float, optional
        Growth of the cuts, in [1.01, 1e6]. 4 with a declared horizon, 2 without one, by default.
    first : int, optional
        Least number of rows of the first block. By default so many that the noise does not hide
        the model: in proportion to the number of parameters for regression and to its root for
        classification, over the mu of the budget.
    largest : int, optional
        Most rows of a block; longer ones are cut into even pieces. For data that change over
        time, see ``warm``.
    warm : bool, default=True
        Whether a block starts at the model before it. If not, the model of a block says nothing of
        rows before the block: with ``largest`` the past is forgotten by a public schedule.
    solver : str or Solver, default='auto'
        Fits a block: any solver for a data set, not one for streams. What ``'auto'`` is the
        estimator decides; without one it is :class:`GD`.

    Examples
    --------
    >>> from skdp.solvers import Blocks
    >>> solver, cut, cuts = Blocks(), 0, []
    >>> while cut < 20_000:
    ...     cut = solver.cut_after(cut, least=500, horizon=10_000)
    ...     cuts.append(cut)
    >>> cuts
    [625, 2500, 10000, 20000]
    """

    ratio: float | None = None
    first: int | None = None
    largest: int | None = None
    warm: bool = True
    solver: str | Solver = "auto"

    def check(self, problem: Problem) -> None:
        check_hyperparameters(_HYPERPARAMETERS, self.get_params(), "Blocks")
        # What 'auto' is, and so what it refuses, is up to the estimator.
        if self.solver != "auto":
            inner = self._inner()
            refuse_batch_size("Blocks", inner)
            inner.check(problem)

    def calculus_for(
        self, problem: Problem, epsilon: float, delta: float, adjacency: Adjacency
    ) -> Calculus:
        """Calculus of the solver of a block."""
        return self._inner().calculus_for(problem, epsilon, delta, adjacency)

    def solve(self, problem: Problem, oracle: Oracle, rng: np.random.Generator) -> Solution:
        """Minimise the problem, all of it as one block."""
        self.check(problem)
        return self._inner().solve(problem, oracle, rng)

    def least(self, problem: Problem, mu: float) -> int:
        """Least number of rows of the first block.

        Parameters
        ----------
        problem : Problem
            Loss and number of parameters.
        mu : float
            Gaussian-DP parameter of the whole budget.
        """
        if self.first is not None:
            return self.first
        size = problem.n_parameters
        return max(
            1, ceil(tuned.LEAST_EVIDENCE * (size if problem.loss.of_residuals else sqrt(size)) / mu)
        )

    def cut_after(self, seen: int, *, least: int, horizon: int | None = None) -> int:
        """Position of the first cut after this many rows, from public facts.

        Parameters
        ----------
        seen : int
            Number of rows so far.
        least : int
            Least number of rows of the first block.
        horizon : int, optional
            Declared number of rows.
        """
        before, cut = self._around(seen, least, horizon)
        if self.largest is None or cut - before <= self.largest:
            return cut
        pieces = ceil((cut - before) / self.largest)
        done = (seen - before) * pieces // (cut - before)
        while before + ceil(done * (cut - before) / pieces) <= seen:
            done += 1
        return before + ceil(done * (cut - before) / pieces)

    def _around(self, seen: int, least: int, horizon: int | None) -> tuple[int, int]:
        """The last cut at or before a position, and the first after it, long blocks left whole."""
        if horizon is not None and seen < horizon:
            ratio = tuned.TOWARDS_A_HORIZON if self.ratio is None else self.ratio
            before = after = horizon
            k = 0
            while before > seen:
                k, after = k + 1, before
                before = int(horizon / ratio**k)
                if before < least:
                    return 0, after
            return before, after
        before, after, ratio = 0, least, tuned.AT_ANY_TIME if self.ratio is None else self.ratio
        if horizon is not None:
            before, after, ratio = horizon, 2 * horizon, tuned.AT_ANY_TIME
        while after <= seen:
            before, after = after, max(after + 1, int(after * ratio))
        return before, after

    def _inner(self) -> Solver:
        """The solver of a block; without an estimator, which decides what 'auto' is, GD."""
        if isinstance(self.solver, Solver):
            return self.solver
        return GD() if self.solver == "auto" else batch_kind_of(self.solver)()


def within_a_block(solver: str | Solver) -> str | Solver:
    """The solver for a whole data set: the given one, or the one inside of blocks.

    Parameters
    ----------
    solver : str or Solver
        As passed to an estimator.
    """
    if isinstance(solver, Blocks):
        return solver.solver
    return Blocks().solver if solver == Blocks.option() else solver
