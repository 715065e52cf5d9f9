"""The steps of Frank-Wolfe on a whole data set."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING

import numpy as np

from ..constraints import L1Ball, NonNegative, Simplex, Unconstrained
from ..losses import Squared
from ..problem import Problem
from ..regularizers import L1, L2, ElasticNet, NoRegularizer
from .base import Solution
from .walking import Walking

if TYPE_CHECKING:
    from ..privacy.oracle import Oracle

__all__ = [
    "PENALTIES",
    "Ways",
    "by_gradients",
    "by_vertices",
    "l1_strength",
    "ways_of",
]

# Penalties that are understood: they treat each coordinate alike.
PENALTIES = (NoRegularizer, L1, L2, ElasticNet)

# Share of the budget that goes to the slopes of intercepts.
_INTERCEPT_SHARE = 0.05
# Bound on the derivatives that intercepts are moved by, in units of bounded targets.
_LARGEST_SLOPE = 1.0


@dataclass(frozen=True)
class Ways:
    """A set whose vertices are signed coordinates, and perhaps zero.

    Parameters
    ----------
    radius : float
        Size of the entry of a vertex.
    two_sided : bool
        Whether one may go down as well as up.
    zero : bool
        Whether zero is one of the points to go to.
    """

    radius: float
    two_sided: bool
    zero: bool

    def point(self, index: int, shape: tuple[int, ...]) -> tuple[int, float]:
        """Position among the entries of weights of this shape, and value, of a numbered vertex."""
        size = int(np.prod(shape))
        if index == size * (1 + self.two_sided):
            return 0, 0.0
        return index % size, self.radius if index < size else -self.radius

    def scores(self, slopes: np.ndarray, l1: float) -> np.ndarray:
        """How far the objective falls towards each vertex for these slopes, over the radius."""
        g = slopes.ravel()
        out = np.concatenate([-g, g]) if self.two_sided else -g
        return np.append(out - l1, 0.0) if self.zero else out


def ways_of(problem: Problem) -> Ways | None:
    """The set of signed coordinates that a problem is about, or None.

    Besides an l1 ball and a simplex it is the ball that holds the solution of a lasso: with targets
    in [-1, 1] the objective at zero is at most 1/2, so ``alpha ||w*||_1 <= 1/2``.

    Parameters
    ----------
    problem : Problem
        With its constraint and penalty.
    """
    constraint, l1 = problem.constraint, l1_strength(problem)
    if isinstance(constraint, L1Ball):
        return Ways(constraint.radius, True, l1 > 0)
    if isinstance(constraint, Simplex):
        return Ways(constraint.radius, False, False)
    lasso = isinstance(problem.loss, Squared) and problem.bounds.target is not None and l1 > 0
    if lasso and isinstance(constraint, Unconstrained | NonNegative):
        return Ways(0.5 / l1, isinstance(constraint, Unconstrained), True)
    return None


def l1_strength(problem: Problem) -> float:
    """Factor of ``||w||_1`` in the penalty.

    Parameters
    ----------
    problem : Problem
        With its penalty.
    """
    penalty = problem.regularizer
    if isinstance(penalty, L1):
        return penalty.alpha
    return penalty.alpha * penalty.l1_ratio if isinstance(penalty, ElasticNet) else 0.0


def by_vertices(problem: Problem, oracle: Oracle, ways: Ways, walking: Walking) -> Solution:
    """Go to vertices that are chosen by Gumbel noise.

    Parameters
    ----------
    problem : Problem
        What is to be solved.
    oracle : Oracle
        Its whole budget is spent.
    ways : Ways
        The vertices.
    walking : Walking
        Hyperparameters.
    """
    d, constant, loss = problem.n_features, problem.bounds.intercept_value, problem.loss
    share = _INTERCEPT_SHARE if constant else 0.0
    parts = [share, 1 - share] if constant else [1.0]
    spends = oracle.budget.split([part / walking.steps for part in parts] * walking.steps)
    entry = walking.entry * problem.bounds.data_norm
    slope_clip = min(loss.lipschitz, max(_LARGEST_SLOPE, walking.clip))
    penalty = _Penalty.of(problem, walking.clip)
    w, shrunk = _start(problem, ways), 1.0
    start, warm = w[:d].copy(), problem.initial is not None and bool(w[:d].any())
    for t in range(walking.steps):
        if constant:
            slope = oracle.slope(w, spend=spends[2 * t], clip=slope_clip, shrunk=shrunk)
            w[-1] -= slope.reshape(w[-1:].shape)[0] / (loss.smoothness * constant)
            shrunk = 1.0
        index = oracle.vertex(
            w,
            clip=walking.clip,
            entry=entry,
            two_sided=ways.two_sided,
            spend=spends[len(parts) * (t + 1) - 1],
            known=penalty.scores(w[:d], ways),
            shrunk=shrunk,
        )
        shrunk, length = walking.lengths(t, start, warm=warm)
        w[:d] *= shrunk
        j, value = ways.point(index, w[:d].shape)
        w[:d].reshape(-1)[j] += length * value
    return Solution(w, n_iter=walking.steps)


def by_gradients(problem: Problem, oracle: Oracle, ways: Ways | None, walking: Walking) -> Solution:
    """Go to minimisers of noisy gradients, averaged as long as there is noise.

    Parameters
    ----------
    problem : Problem
        What is to be solved.
    oracle : Oracle
        Its whole budget is spent.
    ways : Ways or None
        The vertices, if they are signed coordinates; else those of the constraint.
    walking : Walking
        Hyperparameters.
    """
    d, constant = problem.n_features, problem.bounds.intercept_value
    scale = problem.row_norm * problem.max_weight
    penalty = _Penalty.of(problem, walking.clip)
    w = _start(problem, ways)
    start, warm = w[:d].copy(), problem.initial is not None and bool(w[:d].any())
    mean = np.zeros_like(w)
    for t, spend in enumerate(oracle.budget.split(walking.steps)):
        g = oracle.gradient(w, spend=spend, clip=walking.clip * scale)
        if constant:
            curvature = problem.loss.smoothness * problem.max_weight * constant**2
            w[-1] -= g[-1] / curvature
        kept = (1 - 2 / (t + 2)) / walking.growth
        mean = kept * mean + (1 - kept) * g
        slopes = mean[:d] + penalty.ridge * w[:d]
        shrunk, length = walking.lengths(t, start, warm=warm)
        w[:d] *= shrunk
        if ways is None:
            w[:d] += length * problem.constraint.linear_minimizer(slopes)
        else:
            best = int(ways.scores(slopes, penalty.l1).argmax())
            j, value = ways.point(best, slopes.shape)
            w[:d].reshape(-1)[j] += length * value
    return Solution(w, n_iter=walking.steps)


@dataclass(frozen=True)
class _Penalty:
    """``ridge / 2 ||w||^2 + l1 ||w||_1``, scaled down as clipping scales the loss."""

    ridge: float
    l1: float
    heaviest: float

    @classmethod
    def of(cls, problem: Problem, clip: float) -> _Penalty:
        lipschitz = problem.loss.lipschitz
        weight = 1.0 if lipschitz == inf else clip / lipschitz
        ridge = problem.regularizer.strong_convexity
        return cls(weight * ridge, weight * l1_strength(problem), problem.max_weight)

    def scores(self, w: np.ndarray, ways: Ways) -> np.ndarray | None:
        """What the penalty adds to the scores of vertices, in the units of the oracle."""
        if self.ridge == 0 and not ways.zero:
            return None
        return ways.scores(self.ridge * w, self.l1) / self.heaviest


def _start(problem: Problem, ways: Ways | None) -> np.ndarray:
    """The public start, brought to the set if that is smaller than the constraint says."""
    w = problem.start()
    if ways is not None:
        d = problem.n_features
        size = float(np.abs(w[:d]).sum())
        if size > ways.radius:
            w[:d] *= ways.radius / size
    return w
