"""Noisy mean of targets, or of the rate of counts, and the start that follows from it."""

from __future__ import annotations

from dataclasses import replace
from math import log, sqrt
from typing import TYPE_CHECKING

import numpy as np

from ...problem.bounds import CountBounds
from ...problem.problem import Problem

if TYPE_CHECKING:
    from ...privacy.oracle import Oracle

# Share of mu^2, over the evidence for each coefficient, and its limits.
_SHARE, _LEAST, _MOST = 0.2, 0.02, 0.5
# Score at which no event is expected.
_NONE = -700.0
# Square of a mean below which it is taken for noise, in units of the noise; and the square that
# means of targets in [-1, 1] have where nothing is known.
_THRESHOLD, _PRIOR = 3.0, 0.2


def share_of_mean(problem: Problem, mu: float) -> float:
    """Share of mu^2 for the mean: the fewer rows for each coefficient, the more it decides.

    Parameters
    ----------
    problem : Problem
        Public sizes.
    mu : float
        Gaussian-DP parameter of what is left.
    """
    return min(_MOST, max(_LEAST, _SHARE / problem.evidence_for_each(mu)))


def with_target_mean(problem: Problem, oracle: Oracle, share: float) -> Problem:
    r"""The problem with a start at the mean of the targets, as far as it stands out of its noise.

    It is asked for as the gradient along the intercept at zero, where residuals are targets. Noise
    of standard deviation s is taken off an answer m by the factor

    .. math:: \max(0, 1 - 3 s^2 / m^2) \cdot \frac{0.2}{0.2 + s^2}

    so that a mean that noise hides is that which is known without the rows, the middle of the
    bounds.

    Parameters
    ----------
    problem : Problem
        With an intercept, and no starting point.
    oracle : Oracle
        Answers queries about the rows.
    share : float
        Share of mu^2 that it costs.
    """
    start = problem.start()
    constant, several = problem.bounds.intercept_value, problem.loss.n_scores
    spend = oracle.budget.fraction(share).whole()
    answer = oracle.for_problem(problem).intercept_gradient(
        np.zeros(problem.shape), clip=sqrt(several), spend=spend
    )
    mean, variance = -answer.value, answer.scale**2
    with np.errstate(divide="ignore", invalid="ignore"):
        seen = np.where(mean != 0, np.maximum(0.0, 1 - _THRESHOLD * variance / mean**2), 0.0)
    start[-1:] = (mean * seen * _PRIOR / (_PRIOR + variance)).reshape(start[-1:].shape) / constant
    return replace(problem, initial=start)


def with_mean_rate(problem: Problem, oracle: Oracle, share: float) -> Problem:
    """The problem with a start at the mean rate: the logarithm of mean count over mean exposure.

    The mean count is asked for as the gradient along the intercept where no event is expected. It
    counts as at least its noise. Exposure is the total weight of the rows, where that was asked.

    Parameters
    ----------
    problem : Problem
        With a loss of counts, an intercept, and no starting point.
    oracle : Oracle
        Answers queries about the rows.
    share : float
        Share of mu^2 that it costs.
    """
    target, constant, start = problem.bounds.target, problem.bounds.intercept_value, problem.start()
    assert isinstance(target, CountBounds)
    nowhere = np.zeros(problem.shape)
    nowhere[-1] = (_NONE + target.log_unit) / constant
    spend = oracle.budget.fraction(share).whole()
    answer = oracle.for_problem(problem).intercept_gradient(nowhere, clip=1.0, spend=spend)
    mean = min(1.0, max(-float(answer.value[0]), answer.scale))
    start[-1] = (log(mean) + target.log_unit) / constant
    return replace(problem, initial=start)
