"""Offset and scale of the predictions of a regression, without the bias of clipped residuals."""

from __future__ import annotations

from dataclasses import replace
from math import inf, sqrt
from typing import TYPE_CHECKING

import numpy as np

from ..problem.bounds import RowMap
from ..problem.penalties import NoPenalty
from ..problem.problem import Problem
from .defaults import Calibration as tuned
from .descent import clips_whole_units
from .shrinkage import direction_of_constant

if TYPE_CHECKING:
    from ..privacy.accounting.ledger import Budget
    from ..privacy.oracle import Oracle

# Length of a direction, in units of that of a solution, that may be rounding.
_ROUNDING = 1e-9


def calibrated(problem: Problem, oracle: Oracle, w: np.ndarray, budget: Budget) -> np.ndarray:
    r"""The solution with offset and scale such that residuals sum to zero alone and along scores.

    Clipped residuals make a fit of skewed targets one of their middle and not of their mean. A
    model ``a + b s`` of the scores s of a solution has two coefficients, whose noise is so small
    that clips can be wide. Gradients are asked for in the two coordinates ``(1, s / |s|)`` alone,
    of which second moments are about 1. The clip is the octave at which what is cut off, which is
    known from noisy counts of the gradients' norms, and noise together are least. Each of the two
    moves is taken back as far as noise and the error of sampling explain it.

    Parameters
    ----------
    problem : Problem
        With one target, in private coordinates that hold the constant.
    oracle : Oracle
        Answers queries about the rows.
    w : ndarray of shape (p,)
        The solution.
    budget : Budget
        What it may cost.
    """
    row_map = problem.bounds.row_map
    assert row_map is not None
    assert row_map.moments is not None
    constant, one = direction_of_constant(problem, row_map)
    offset = float(constant @ w)
    slopes = w - offset * constant
    scale = sqrt(float(row_map.moments @ slopes**2))
    basis, start = one * constant[:, None], np.array([offset / one])
    # Of a model that noise hid, which is the mean for all rows, rounding leaves a direction.
    if scale > _ROUNDING * float(np.linalg.norm(w)):
        basis, start = np.column_stack([basis, slopes / scale]), np.append(start, scale)
    matrix = row_map.jacobian() @ basis
    flat = RowMap(np.ones(len(matrix)), matrix, row_map.shift @ basis)
    longest = flat.longest(problem.bounds.data_norm)
    bounds = replace(problem.bounds, row_map=replace(flat, norm=max(1.0, longest)))
    few = replace(problem, n_features=start.size, bounds=bounds, penalty=NoPenalty(), initial=None)
    end, variance = widely_clipped(few, oracle, start, budget, tuned.STEPS)
    move = end - start
    with np.errstate(divide="ignore", invalid="ignore"):
        kept = np.where(move != 0, np.maximum(0.0, 1 - tuned.THRESHOLD * variance / move**2), 0.0)
    return w + basis @ (kept * move)


def widely_clipped(
    problem: Problem, oracle: Oracle, v: np.ndarray, budget: Budget, steps: int
) -> tuple[np.ndarray, float]:
    """Solution of least squares from one that is near, and the variance of each of its entries.

    Steps are those of Newton's method, as second moments are about 1. The clip is the octave at
    which what is cut off, which is known from noisy counts of the gradients' norms, and noise
    together are least; it may be wide, as there is little noise where there are rows enough. The
    solution is the mean of the second half of the steps.

    Parameters
    ----------
    problem : Problem
        With one target, in coordinates whose second moments are about 1.
    oracle : Oracle
        Answers queries about the rows.
    v : ndarray of shape (p,)
        The solution that is near.
    budget : Budget
        What it may cost.
    steps : int
        Number of steps, even.
    """
    oracle, p, half = oracle.for_problem(problem), v.size, steps // 2
    spends = budget.fraction(1 - tuned.COUNT_SHARE).split(steps)
    whole_units = clips_whole_units(problem, counted=True)
    looking = budget.fraction(tuned.COUNT_SHARE).whole()
    # Of rows as long as the root of the number of coordinates.
    octaves = sqrt(p / 2) * tuned.OCTAVES
    counts = oracle.gradient_sizes(v, octaves, spend=looking, whole_units=whole_units)
    rows = np.where(counts.value > tuned.VISIBLE_COUNT * counts.scale, counts.value, 0.0)
    upper = np.append(octaves, 2 * octaves[-1])
    least, clip = inf, float(octaves[-1])
    for edge in octaves:
        lost = float(rows @ np.maximum(upper - edge, 0.0)) / problem.n_samples
        noise = oracle.gradient_scale(spend=spends[0], clip_norm=edge)
        risk = lost**2 + p * noise**2 / half
        if risk < least:
            least, clip = risk, float(edge)
    # Of the mean of the last iterates, of which each is a step from all before.
    variance = oracle.gradient_scale(spend=spends[0], clip_norm=clip) ** 2 / half
    variance += float(rows @ np.minimum(0.75 * upper, clip) ** 2) / (p * problem.n_samples**2)
    end = np.zeros(p)
    for k, spend in enumerate(spends):
        v = v - oracle.gradient(v, spend=spend, clip_norm=clip, whole_units=whole_units)
        if k >= half:
            end += v / half
    return end, variance
