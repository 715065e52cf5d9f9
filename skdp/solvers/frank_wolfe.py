"""Frank-Wolfe: feasible without projections, a vertex at a time."""

from __future__ import annotations

from dataclasses import dataclass
from math import isinf, log, sqrt
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from sklearn.utils._param_validation import Interval

from ..arguments import shown
from ..options import check_hyperparameters
from ..privacy.calculus import Calculus, GaussianDP, ZeroConcentratedDP
from ..problem import Problem
from .base import Solution
from .conditional_gradients import PENALTIES, by_gradients, by_vertices, l1_strength, ways_of
from .naming import name_of
from .online_frank_wolfe import OnlineFrankWolfe
from .rules import check_clip
from .walking import Walking, clip_for, entry_for, steps_for

if TYPE_CHECKING:
    from ..privacy.adjacency import Adjacency
    from ..privacy.oracle import Oracle

__all__ = ["FrankWolfe"]

_HYPERPARAMETERS: dict[str, list[Any]] = {
    "steps": [None, Interval(Integral, 1, None, closed="left")],
    "clip": [None, Interval(Real, 1e-50, None, closed="both")],
    "entry": [None, Interval(Real, 1e-50, 1, closed="right")],
    **OnlineFrankWolfe.OF_STREAMS,
}

# What averaging leaves of the noise of gradients.
_AVERAGED = 0.3
# Most that a step from zero should move a score, in units of the inverse of the smoothness.
_STRIDE = 0.5


@dataclass(frozen=True)
class FrankWolfe(OnlineFrankWolfe):
    r"""A step towards the extreme point that looks best, again and again.

    .. math:: v_t \approx \arg\min_{v \in W} \langle \nabla F(w_t), v \rangle, \qquad
              w_{t+1} = (1 - \gamma_t) w_t + \gamma_t v_t

    W is the bounded constraint. Under :class:`skdp.constraints.L1Ball` and
    :class:`skdp.constraints.Simplex` each step touches one coefficient, so that w has at most
    ``steps`` of them that are not zero, and only the number of the vertex need be released: it is
    chosen by Gumbel noise (:class:`skdp.privacy.queries.vertex.VertexQuery`), which grows with the
    logarithm of the number of features. Single entries of rows and derivatives are clipped for it.
    The intercept, which no constraint binds, takes a damped Newton step before each choice, along
    a noisy mean of the derivatives that costs 5 % of the budget. Under other bounded sets, and
    where few features make entries as large as rows, noisy gradients are released, averaged and
    minimised over exactly. With K scores a row the set holds all d K coefficients at once.

    Gumbel noise it is if ``entry sqrt(log(2 d K) / 2) < 0.3``. On equal budgets, with derivatives
    of at most c and rows of at most R, the best of 2 d K noisy scores is off by about
    ``2 c entry R log(2 d K) / (n mu)`` under Gumbel noise and by
    ``2 c R sqrt(2 log(2 d K)) / (n mu)`` under Gaussian noise, of which averaging leaves about 0.3.

    A lasso (squared loss with an l1 penalty alpha, without a constraint) is solved in the ball that
    holds its solution: with targets in [-1, 1] the objective at zero is at most 1/2, so
    ``||w*||_1 <= 1 / (2 alpha)``, and zero is one of the points to go to. The ridge part of a
    penalty enters by its gradient.

    Started at zero, w is blown up rather: ``w_{t+1} = w_t + v_t / T``, which follows the solutions
    in smaller sets. Where that would move a score by more than 1/2 over the smoothness of the loss,
    steps are shorter and w stays inside. Simplices, warm starts and budgets beyond mu = 10 take the
    classical steps, of ``1 / (t + 1)`` and with much to spend ``2 / (t + 2)``. Beyond mu = 2
    averaging and clips fade.

    On sparse rows a step costs their stored entries, whatever the number of features: scores
    change by the entries of one column, and a choice takes about ``2 sqrt(2 d K)`` random numbers.

    Under an l1 ball it mostly does better than projected or mirror descent in the same ball, least
    so with few features and little budget. It does not work where many coefficients matter a
    little: on text it stays far behind 'dual_averaging' without a ball, and of rare classes it
    learns next to nothing. The radius decides how far it gets, and no default is right.
    docs/choosing_a_solver.md has figures.

    Parameters
    ----------
    batch : int, optional
        Rows of a stream between two updates; see :class:`OnlineFrankWolfe`.
    stream_clip : float, optional
        Bound on the vector of a row of a stream.
    noise : {'auto', 'gumbel', 'gaussian'}, default='auto'
        Whether vertices are chosen or gradients, of a stream their sums, are released.
    mechanism : {'blt', 'toeplitz', 'honaker', 'tree'}, default='blt'
        How the Gaussian noise of the running sums of a stream is correlated.
    steps : int, optional
        Number of steps T for a data set. By default what balances ``s^2 / T``, s being how far a
        step can move a score, against the noise; fewer if the noise would hide what 15 % of the
        rows agree on.
    clip : float, optional
        Bound on the derivative of the loss of a row of a data set. 0.1 by default, more with
        much evidence.
    entry : float, optional
        Bound on entries of rows where vertices are chosen, in units of ``data_norm``, in (0, 1].
        By default 0.07 for sparse rows of more than a thousand features, ``2 / sqrt(d)`` for
        others, and more beyond mu = 2. Entries beyond it count as the bound when a vertex is
        chosen; the scores of rows are what they are.

    References
    ----------
    Frank and Wolfe (1956), Jaggi (2013); Talwar, Thakurta and Zhang (2015) for private choices of
    vertices; Raff, Khanna and Lu (2023) for steps that cost what is stored; Han et al. (online,
    2022) for streams.

    Examples
    --------
    >>> from skdp import DPLogisticRegression
    >>> from skdp.constraints import L1Ball
    >>> model = DPLogisticRegression(solver="frank_wolfe", constraint=L1Ball(30.0))
    """

    steps: int | None = None
    clip: float | None = None
    entry: float | None = None

    calculus: ClassVar[Calculus] = ZeroConcentratedDP()

    def check(self, problem: Problem) -> None:
        """Refuse hyperparameters outside their range, and problems without a bounded set."""
        name = type(self).__name__
        check_hyperparameters(_HYPERPARAMETERS, self.get_params(), name)
        ways = ways_of(problem)
        if problem.bounds.row_map is not None or not isinstance(problem.regularizer, PENALTIES):
            raise ValueError(
                f"{name} needs the user's coordinates, in which its set has vertices, got others. "
                "Pass precondition=None."
            )
        if ways is None and isinf(problem.diameter):
            raise ValueError(
                f"{name} needs a bounded constraint, such as L1Ball(10.0), got "
                f"{shown(problem.constraint)}. Use the solver 'gd'."
            )
        if isinf(problem.loss.smoothness):
            raise ValueError(
                f"{name} needs a smooth loss, got {name_of(problem.loss)}. Use the solver 'gd'."
            )
        if ways is None and l1_strength(problem) > 0:
            raise ValueError(
                f"{name} needs an L1Ball or a Simplex to go with an l1 penalty, got "
                f"{shown(problem.constraint)}. Use the solver 'gd'."
            )
        if ways is None and self.noise == "gumbel":
            raise ValueError(
                f"{name} needs an L1Ball or a Simplex to choose vertices of, got "
                f"{shown(problem.constraint)}. Leave noise out."
            )
        check_clip(name, self.clip, problem)

    def calculus_for(
        self, problem: Problem, epsilon: float, delta: float, adjacency: Adjacency
    ) -> Calculus:
        """Exact for Gaussian noise, zero-concentrated for choices."""
        del epsilon, delta, adjacency
        return ZeroConcentratedDP() if self._chooses(problem) else GaussianDP()

    def solve(self, problem: Problem, oracle: Oracle, rng: np.random.Generator) -> Solution:
        """Minimise the problem; deterministic given the oracle's answers."""
        del rng
        self.check(problem)
        ways, walking = ways_of(problem), self._walking(problem, oracle.budget.mu)
        if ways is not None and self._chooses(problem):
            return by_vertices(problem, oracle, ways, walking)
        return by_gradients(problem, oracle, ways, walking)

    def _walking(self, problem: Problem, mu: float) -> Walking:
        growth = max(1.0, mu / 2)
        clip = clip_for(problem, mu)
        if self.clip is not None:
            clip = min(problem.loss.lipschitz, self.clip)
        entry = entry_for(problem, growth) if self.entry is None else self.entry
        ways, reach = ways_of(problem), problem.row_norm * problem.diameter / 2
        if ways is not None:
            reach = entry * problem.bounds.data_norm * ways.radius
        steps = steps_for(problem, mu, reach, clip) if self.steps is None else self.steps
        return Walking(steps, clip, entry, growth, _STRIDE / (problem.loss.smoothness * reach))

    def _chooses(self, problem: Problem) -> bool:
        """Whether vertices are chosen by Gumbel noise, by facts that hold before bounds are known.

        See the docstring of the class for the rule.
        """
        ways = ways_of(problem)
        if ways is None or self.noise == "gaussian":
            return False
        p = problem.n_features * problem.loss.n_scores
        entry = entry_for(problem, 1.0) if self.entry is None else self.entry
        return self.noise == "gumbel" or entry * sqrt(log(2 * p) / 2) < _AVERAGED
