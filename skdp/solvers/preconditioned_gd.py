"""Noisy gradient descent in few steps, each direction at the pace of its released moment."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from math import ceil, sqrt
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from scipy.special import expit, softmax
from sklearn.utils._param_validation import Interval

from ..problem.problem import Problem
from ..validation import check_hyperparameters
from .base import Solution, Solver
from .descent import clips_whole_units

if TYPE_CHECKING:
    from ..privacy.oracle import Oracle

_HYPERPARAMETERS: dict[str, list[Any]] = {
    "steps": [None, Interval(Integral, 1, None, closed="left")],
    "clip": [None, Interval(Real, 1e-50, None, closed="both")],
    "momentum": [None, Interval(Real, 0, 1, closed="left")],
    "average": [Interval(Real, 0, 1, closed="both")],
    "score_noise": [Interval(Real, 0, None, closed="neither")],
}
_CLIP = 0.3
# Steps a unit of the root of how far apart curvatures may be, as heavy-ball steps need them, and
# the fewest and the most.
_PACE, _FEWEST, _MOST = 8.0, 12, 24
_FARTHEST_APART = 1e-6
# Curvature of the clipped loss that steps assume, in units of the second moment of a direction: a
# loss clipped at .3 bends by at most .21, and heavy-ball steps are stable to 2 (1 + momentum) over
# that. From step to step less is assumed, because rows whose scores have grown bend the loss less,
# unless the latest two gradients tell of so much that steps would swing. The first gradient points
# along the difference of the classes and is the largest, and a full step along it would take scores
# so far that clipping leaves no row whole.
_CURVATURE, _LAST_CURVATURE, _FIRST_CURVATURE = 0.07, 0.025, 0.25
# Share of the curvature along the latest move that is assumed at least: what is stable, and a bit.
_OF_MEASURED = 0.35
# Noise counts twice when iterates are combined, as weights are fitted to the very noise that they
# shall keep small; and a little in any case, against weights that grow without bounds.
_NOISE_COUNTS, _LEAST_NOISE = 2.0, 1e-3
# Curvature of the unclipped loss over that of the clipped one, a unit of its smoothness, and how
# many times as many steps huge budgets take.
_MOST_BEND, _LONGER = 4.8, 50.0
# Least curvature at the start, for rare classes, in units of that for balanced ones.
_LEAST_CURVATURE = 0.3


@dataclass(frozen=True)
class PreconditionedGD(Solver):
    r"""Noisy gradient descent whose steps are scaled by the released moments of the coordinates.

    .. math:: v_{t+1} = \beta v_t - P (g_t + Q w_t), \qquad w_{t+1} = w_t + v_{t+1},

    with ``g_t`` the noisy mean of clipped gradients, Q the Hessian of the ridge and P diagonal:
    ``1 / P_j`` is the assumed curvature of the loss times the second moment of coordinate j, the
    share of the ridge, and what keeps the noise in the score of a typical row below a constant.
    Noise has the geometry of the coordinates, steps that of the loss, so that all directions are
    learned at one pace. The model is the combination of late iterates at which their gradients
    cancel best, for their noise, which costs nothing: it is made of answers that are paid for. So
    12 to 24 steps do what up to a hundred of :class:`skdp.solvers.GD` do.

    Made for coordinates whose second moments stand out of their noise, which
    :class:`skdp.solvers.preconditioning.Whitening` releases; elsewhere all directions count as
    equal.

    Parameters
    ----------
    steps : int, optional
        Number of gradients. By default 12 to 24, more the further released moments are apart and
        for rare classes, and 24 where no moments were released; more at budgets beyond mu = 2.
    clip : float, optional
        Bound on the derivative of the loss of a row of full norm, that is, on a row's gradient in
        units of ``row_norm * max_weight``. By default 0.3, more at budgets beyond mu = 2.
    momentum : float, optional
        Heavy-ball coefficient beta, in [0, 1); 0.7 for two classes and 0.75 for more.
    average : float, default=0.5
        Share of the steps, the last ones, whose iterates are combined, in [0, 1]; 0 returns the
        last iterate.
    score_noise : float, default=6.0
        Bound on the standard deviation, under replace-one, that noise puts on the score of a
        typical row before iterates are combined. The smaller, the shorter the steps; 1.5 suits
        rows of many features that are white.

    References
    ----------
    Anderson (1965), "Iterative procedures for nonlinear integral equations", Journal of the ACM
    12(4), for combining iterates by their residuals; here with a ridge for noise, as by Mallows.

    Examples
    --------
    >>> from skdp.solvers import PreconditionedGD
    >>> PreconditionedGD(steps=20).get_params()["steps"]
    20
    """

    descends: ClassVar[bool] = True

    steps: int | None = None
    clip: float | None = None
    momentum: float | None = None
    average: float = 0.5
    score_noise: float = 6.0

    def check(self, problem: Problem) -> None:
        """Refuse hyperparameters outside their range, and problems that steps do not suit."""
        check_hyperparameters(_HYPERPARAMETERS, self.get_params(), "PreconditionedGD")
        if not problem.loss.log_odds:
            raise ValueError(
                "PreconditionedGD needs the logistic or softmax loss, whose curvature its steps "
                f"assume, got {type(problem.loss).__name__}. Use the solver 'gd'."
            )
        if not (problem.penalty.quadratic and problem.constraint.whole_space):
            raise ValueError(
                "PreconditionedGD needs a ridge penalty or none, and no constraint, got "
                f"{type(problem.penalty).__name__} and {type(problem.constraint).__name__}. Use "
                "the solver 'gd'."
            )

    def solve(self, problem: Problem, oracle: Oracle, rng: np.random.Generator) -> Solution:
        """Minimise the problem; deterministic given the oracle's answers."""
        del rng
        self.check(problem)
        two = problem.loss.n_scores == 1
        momentum = (0.7 if two else 0.75) if self.momentum is None else self.momentum
        budget = oracle.budget
        growth = max(1.0, budget.mu / 2)
        steps = self.steps
        if steps is None:
            steps = ceil(_enough_steps(problem) * min(growth, _LONGER))
        clip = _CLIP * growth if self.clip is None else self.clip
        clip = min(clip, problem.loss.lipschitz)
        # A loss that is clipped less bends more, and goes on to where scores have grown.
        bend = min(max(1.0, clip / _CLIP), _MOST_BEND * problem.loss.smoothness)
        last = _LAST_CURVATURE if clip <= _CLIP else _CURVATURE
        ridge = problem.penalty_hessian() * (clip / problem.loss.lipschitz)
        scale = problem.row_norm * problem.max_weight
        # Units of the total step size, and its inverse that the noise allows.
        unit = problem.row_norm * scale
        afforded = self.score_noise * problem.n_samples * budget.mu / (2 * clip)
        slowest = steps * unit / (afforded * (1 - momentum))
        # No symmetric matrix exceeds the diagonal of the sums of its rows' sizes.
        slowest = slowest + np.abs(ridge).sum(axis=1)
        curvature = _assumed_at_start(problem) * problem.max_weight
        moments = curvature * _second_moments(problem)
        w = problem.start()
        pace = np.zeros_like(w)
        late: deque[tuple[np.ndarray, np.ndarray]] = deque(
            maxlen=max(1, ceil(self.average * steps))
        )
        oracle = oracle.for_problem(problem.unshortened())
        oracle.note(planned=steps)
        whole_units = clips_whole_units(problem)
        noise = oracle.gradient_scale(spend=budget.split(steps)[0], clip_norm=clip * scale)
        falls = np.geomspace(_CURVATURE, last, steps)
        for t, spend in enumerate(budget.split(steps)):
            g = oracle.gradient(w, spend=spend, clip_norm=clip * scale, whole_units=whole_units)
            g = g + ridge @ w
            of_loss = _FIRST_CURVATURE
            if t:
                of_move = float(np.sum(moments * (pace**2).T)) or 1.0
                measured = float(np.sum((g - late[-1][1]) * pace)) / of_move
                of_loss = min(_CURVATURE, max(falls[t], _OF_MEASURED * measured))
            late.append((w, g))
            stretch = 1 / (bend * of_loss * moments + slowest)
            stretch = stretch if two else stretch[:, None]
            pace = momentum * pace - stretch * g
            w = w + pace
        return Solution(_combined(late, stretch, noise) if self.average else w, n_iter=steps)


def _enough_steps(problem: Problem) -> int:
    """Number of steps for curvatures as far apart as released moments and classes let expect."""
    row_map = problem.bounds.row_map
    if row_map is None or row_map.moments is None:
        return _MOST
    largest, least = float(row_map.moments.max()), float(row_map.moments.min())
    # Scores of rare classes bend the loss less than is assumed of all.
    of_rarest = float(_curvatures_at_start(problem).min()) / _assumed_at_start(problem)
    least = max(least * min(1.0, of_rarest), _FARTHEST_APART * largest)
    if least == 0:
        # All moments were lost in noise.
        return _MOST
    return min(_MOST, max(_FEWEST, ceil(_PACE * sqrt(largest / least))))


def _assumed_at_start(problem: Problem) -> float:
    """Curvature of the loss that steps assume, in units of that for balanced classes."""
    return max(_LEAST_CURVATURE, curvature_at_start(problem))


def _combined(
    late: Iterable[tuple[np.ndarray, np.ndarray]], stretch: np.ndarray, noise: float
) -> np.ndarray:
    r"""A step from the combination of iterates whose gradients cancel best for their noise.

    With gradients g_t of noise sd, P the stretch of a step and weights c that sum to 1, it is

    .. math:: \sum_t c_t (w_t - P g_t), \qquad
              \min_c \Bigl\|\sum_t c_t g_t\Bigr\|_P^2 + 2\, sd^2\, tr(P) \|c\|^2.

    Parameters
    ----------
    late : iterable of (ndarray, ndarray)
        Iterates w_t and the noisy gradients at them.
    stretch : ndarray
        Diagonal of P, of a shape that broadcasts to theirs.
    noise : float
        Standard deviation of the noise of an entry of a gradient.
    """
    points, gradients = map(np.array, zip(*late, strict=True))
    stretched = stretch * gradients
    k = len(points)
    products = gradients.reshape(k, -1) @ stretched.reshape(k, -1).T
    size = float(np.trace(products)) / k or 1.0
    of_noise = noise**2 * float(np.broadcast_to(stretch, points[0].shape).sum())
    ridge = _NOISE_COUNTS * of_noise / size + _LEAST_NOISE
    weights = np.linalg.solve(products / size + ridge * np.eye(k), np.ones(k))
    weights /= weights.sum()
    return np.asarray(np.tensordot(weights, points - stretched, axes=1))


def _second_moments(problem: Problem) -> np.ndarray:
    """Second moments of the coordinates of a row with its constant, (p,)."""
    row_map, constant = problem.bounds.row_map, problem.bounds.intercept_value
    if row_map is not None and row_map.moments is not None:
        moments = row_map.moments
    else:
        # As if all rows lay along each of them.
        moments = np.full(problem.n_features, problem.row_norm**2)
    return np.append(moments, constant**2) if constant else moments


def curvature_at_start(problem: Problem) -> float:
    """Curvature of the loss at the starting intercept, in units of that for balanced classes.

    Parameters
    ----------
    problem : Problem
        With the logistic or softmax loss; its initial point holds the log-odds of the classes.
    """
    return float(_curvatures_at_start(problem).mean())


def _curvatures_at_start(problem: Problem) -> np.ndarray:
    """Curvature in the score of each class at the starting intercept, in the same units."""
    constant = problem.bounds.intercept_value
    if not constant or problem.initial is None:
        return np.ones(1)
    scores = problem.start()[-1:] * constant
    p = expit(scores) if problem.loss.n_scores == 1 else softmax(scores[0])
    k = max(2, p.size)
    return np.asarray(p * (1 - p) * k / (1 - 1 / k))
