"""Noisy gradient descent in few steps, each direction at the pace of its released moment."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from scipy.special import expit, softmax
from sklearn.utils._param_validation import Interval

from ..problem.problem import Problem
from ..validation import check_hyperparameters
from .base import Solution, Solver
from .descent import TailMean, clips_whole_units

if TYPE_CHECKING:
    from ..privacy.oracle import Oracle

__all__ = ["PreconditionedGD", "curvature_at_start"]

_HYPERPARAMETERS: dict[str, list[Any]] = {
    "steps": [None, Interval(Integral, 1, None, closed="left")],
    "clip": [None, Interval(Real, 1e-50, None, closed="both")],
    "momentum": [None, Interval(Real, 0, 1, closed="left")],
    "average": [Interval(Real, 0, 1, closed="both")],
    "score_noise": [Interval(Real, 0, None, closed="neither")],
}
_STEPS, _CLIP = 24, 0.3
# Curvature of the clipped loss that steps assume, in units of the second moment of a direction: a
# loss clipped at .3 bends by at most .21, and heavy-ball steps are stable to 2 (1 + momentum) over
# that. The first gradient points along the difference of the classes and is the largest, and a full
# step along it would take scores so far that clipping leaves no row whole.
_CURVATURE, _FIRST_CURVATURE = 0.07, 0.25
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
    learned at one pace, and 24 steps do what up to a hundred of :class:`skdp.solvers.GD` do.

    Made for coordinates whose second moments stand out of their noise, which
    :class:`skdp.solvers.preconditioning.Whitening` releases; elsewhere all directions count as
    equal.

    Parameters
    ----------
    steps : int, optional
        Number of gradients; 24 by default, more at budgets beyond mu = 2.
    clip : float, optional
        Bound on the derivative of the loss of a row of full norm, that is, on a row's gradient in
        units of ``row_norm * max_weight``. By default 0.3, more at budgets beyond mu = 2.
    momentum : float, optional
        Heavy-ball coefficient beta, in [0, 1); 0.7 for two classes and 0.75 for more.
    average : float, default=0.5
        Share of the last iterates that are averaged, in [0, 1]; 0 returns the last one.
    score_noise : float, default=6.0
        Bound on the standard deviation, under replace-one, that noise puts on the score of a
        typical row before iterates are averaged. The smaller, the shorter the steps; 1.5 suits
        rows of many features that are white.

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
        steps = ceil(_STEPS * min(growth, _LONGER)) if self.steps is None else self.steps
        clip = _CLIP * growth if self.clip is None else self.clip
        clip = min(clip, problem.loss.lipschitz)
        # A loss that is clipped less bends more.
        bend = min(max(1.0, clip / _CLIP), _MOST_BEND * problem.loss.smoothness)
        ridge = problem.penalty_hessian() * (clip / problem.loss.lipschitz)
        scale = problem.row_norm * problem.max_weight
        # Units of the total step size, and its inverse that the noise allows.
        unit = problem.row_norm * scale
        afforded = self.score_noise * problem.n_samples * budget.mu / (2 * clip)
        slowest = steps * unit / (afforded * (1 - momentum))
        # No symmetric matrix exceeds the diagonal of the sums of its rows' sizes.
        slowest = slowest + np.abs(ridge).sum(axis=1)
        curvature = max(_LEAST_CURVATURE, curvature_at_start(problem)) * problem.max_weight
        moments = curvature * _second_moments(problem)
        w = problem.start()
        pace, tail = np.zeros_like(w), TailMean(steps, self.average)
        oracle = oracle.for_problem(problem.unshortened())
        oracle.note(planned=steps)
        whole_units = clips_whole_units(problem)
        for t, spend in enumerate(budget.split(steps)):
            g = oracle.gradient(w, spend=spend, clip_norm=clip * scale, whole_units=whole_units)
            g = g + ridge @ w
            of_loss = bend * (_CURVATURE if t else _FIRST_CURVATURE)
            stretch = 1 / (of_loss * moments + slowest)
            pace = momentum * pace - (stretch if two else stretch[:, None]) * g
            w = w + pace
            tail.add(w)
        return Solution(tail.value(), n_iter=steps)


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
    constant = problem.bounds.intercept_value
    if not constant or problem.initial is None:
        return 1.0
    scores = problem.start()[-1:] * constant
    if problem.loss.n_scores == 1:
        p = expit(float(scores[0]))
        return float(4 * p * (1 - p))
    p = softmax(scores[0])
    return float((1 - p @ p) / (1 - 1 / p.size))
