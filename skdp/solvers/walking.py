"""How far and how carefully Frank-Wolfe goes: functions of public facts alone."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, log, sqrt

import numpy as np

from ..problem import Problem

__all__ = ["Walking", "clip_for", "entry_for", "evidence", "steps_for"]

# Steps for a signal-to-noise ratio of 1, and the most of them.
_PACE, _MOST_STEPS = 0.2, 2000
# Losses of residuals curve by 1, but along few features at a time by no more than this.
_CURVED = 0.25
# Share of the rows that have to agree on a coordinate for it to be seen through the noise.
_AGREEING = 0.15
# The clip with little evidence, and the evidence up to which that is so.
_CLIP, _PLENTY = 0.1, 50.0
# How much more than at ordinary budgets there has to be for the classical steps.
_CLASSICAL = 5.0
# Where it costs little signal to clip the entries of rows: of text, and in units of the root of the
# inverse of the number of features.
_ENTRY_OF_TEXT, _ENTRY = 0.07, 2.0


@dataclass(frozen=True)
class Walking:
    """How far and how carefully to go.

    Parameters
    ----------
    steps : int
        Number of steps.
    clip : float
        Bound on the derivative of the loss of a row.
    entry : float
        Bound on entries of rows, in units of ``data_norm``.
    growth : float
        How much more than at ordinary budgets there is to spend; 1 or more.
    stride : float
        Most of the way from zero to a vertex that a single step should go.
    """

    steps: int
    clip: float
    entry: float
    growth: float
    stride: float

    def lengths(self, t: int, start: np.ndarray, *, warm: bool) -> tuple[float, float]:
        """What w is multiplied by in step t = 0, 1, ..., and the vertex that is added to it.

        From zero w is the sum of vertices over T, so that it grows through the solutions in smaller
        sets (forward stagewise; Rosset, Zhu and Hastie, 2004). Few steps to the end of a wide set
        would overshoot and take each other back; they are cut short, and w stays inside. With much
        to spend, or from elsewhere, it is the classical step: a mean of all vertices that tends to
        ``2 / (t + 2)``. A ``warm`` start counts as one of the vertices.
        """
        if self.growth < _CLASSICAL and not start.any():
            return 1.0, min(1 / self.steps, self.stride)
        weight = 2 - 1 / self.growth
        length = weight / (t + warm + weight)
        return 1 - length, length


def steps_for(problem: Problem, mu: float, reach: float, clip: float) -> int:
    """As many steps as balance what is left to be gained against the noise of each.

    After T steps the objective is ``L s^2 / T`` from its minimum, with L the smoothness of the loss
    (at most 1/4 is counted) and s the most that a score moves along the way (``reach``), but for
    noise of ``s clip sqrt(T) log(2 p) / (n mu)``: both are as large at
    ``T = (L s n mu / (clip log(2 p)))**(2/3)``. No more, though, than leave noise on scores of
    ``2 clip entry sqrt(T) log(2 p) / (n mu)`` below what 15 % of the rows can make of them,
    ``0.15 clip entry``.

    Parameters
    ----------
    problem : Problem
        Loss and sizes.
    mu : float
        Gaussian-DP parameter of the budget.
    reach : float
        Most that a score moves from one end of the set to its middle.
    clip : float
        Bound on derivatives.
    """
    plenty = evidence(problem, mu)
    curved = min(problem.loss.smoothness, _CURVED) * reach
    balanced = _PACE * (curved * plenty / clip) ** (2 / 3)
    return ceil(min(_MOST_STEPS, balanced, (_AGREEING * plenty / 2) ** 2))


def evidence(problem: Problem, mu: float) -> float:
    """Rows times budget, over the logarithm of the number of ways to go.

    Parameters
    ----------
    problem : Problem
        Sizes.
    mu : float
        Gaussian-DP parameter of the budget.
    """
    p = problem.n_features * problem.loss.n_scores
    return problem.n_samples * mu / log(2 * p + 1)


def clip_for(problem: Problem, mu: float) -> float:
    """Bound on derivatives: their signs with little evidence, their sizes with much.

    Parameters
    ----------
    problem : Problem
        Loss and sizes.
    mu : float
        Gaussian-DP parameter of the budget.
    """
    if problem.bounds.target is not None:
        # The signs of residuals say nearly as much as their sizes.
        return min(_CLIP * max(1.0, mu / 2), problem.loss.lipschitz)
    more = max(1.0, evidence(problem, mu) / _PLENTY)
    clip = max(_CLIP * (sqrt(more) if problem.wide else more), _CLIP * mu / 2)
    return min(clip, problem.loss.lipschitz)


def entry_for(problem: Problem, growth: float) -> float:
    """Bound on entries of rows that costs little signal, in units of ``data_norm``.

    Parameters
    ----------
    problem : Problem
        Sizes, and whether rows are sparse.
    growth : float
        See :class:`Walking`.
    """
    usual = _ENTRY_OF_TEXT if problem.wide else _ENTRY / sqrt(problem.n_features)
    return min(1.0, usual * growth)
