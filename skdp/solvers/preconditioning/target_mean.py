"""Noisy mean of targets, or of the rate of counts, and the start that follows from it."""

from __future__ import annotations

from dataclasses import replace
from math import log, sqrt
from typing import TYPE_CHECKING

import numpy as np

from ...problem.bounds import CountBounds
from ...problem.problem import Problem
from ..defaults import TargetMean as tuned

if TYPE_CHECKING:
    from ...privacy.oracle import Oracle

# Score at which no event is expected.
_NONE = -700.0
# Rates that are told apart.
_RATES = 500


def share_of_mean(problem: Problem, mu: float, *, conditioned: bool) -> float:
    """Share of mu^2 for the mean: the fewer rows for each coefficient, the more it decides.

    Rows in private coordinates are fitted to the rest of the budget in any case. There the mean
    only spares rows that are long, as those of rare categories are, to be taken far on the way:
    gradients of such rows are cut so short that they would not come back.

    Parameters
    ----------
    problem : Problem
        Public sizes.
    mu : float
        Gaussian-DP parameter of what is left.
    conditioned : bool
        Whether rows will be in private coordinates.

    Returns
    -------
    float
        0 if the mean is not worth asking for.
    """
    if not conditioned:
        return min(
            tuned.MOST_SHARE, max(tuned.LEAST_SHARE, tuned.SHARE / problem.evidence_for_each(mu))
        )
    share = (2 / (tuned.NOISE_IF_PRIVATE * problem.n_samples * mu)) ** 2
    return max(share, tuned.LEAST_SHARE_IF_PRIVATE) if share <= tuned.MOST_SHARE_IF_PRIVATE else 0.0


def share_of_rate(problem: Problem, mu: float) -> float:
    """Share of mu^2 for the mean rate, at which its noise is a small part of the cap on counts.

    Parameters
    ----------
    problem : Problem
        Public sizes.
    mu : float
        Gaussian-DP parameter of what is left.
    """
    needed = (1 / (tuned.NOISE_OF_RATE * problem.n_samples * mu)) ** 2
    return max(tuned.LEAST_SHARE, min(tuned.MOST_SHARE_OF_RATE, needed / (1 + needed)))


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
        seen = np.where(mean != 0, np.maximum(0.0, 1 - tuned.THRESHOLD * variance / mean**2), 0.0)
    start[-1:] = (mean * seen * tuned.PRIOR_SQUARE / (tuned.PRIOR_SQUARE + variance)).reshape(
        start[-1:].shape
    ) / constant
    return replace(problem, initial=start)


def with_mean_rate(problem: Problem, oracle: Oracle, share: float) -> Problem:
    """The problem with a start at the mean rate: the logarithm of mean count over mean exposure.

    The mean count is asked for as the gradient along the intercept where half of the cap is
    expected, from which no count is further than that, or where no event is if rows have weights
    that differ. The start is the mean of all rates up to the cap given the answer, where their
    logarithms were equally likely before: it has the least expected deviance. The least rate is a
    thousandth of the cap, or a tenth of the standard deviation of the noise if that is less.
    Exposure is the total weight of the rows, where that was asked.

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
    # The number of rows is known, and what they weigh is not.
    guess, reach = (0.5, 0.5) if problem.actual_rows is None else (0.0, 1.0)
    there = np.zeros(problem.shape)
    there[-1] = ((log(guess) if guess else _NONE) + target.log_unit) / constant
    spend = oracle.budget.fraction(share).whole()
    answer = oracle.for_problem(problem).intercept_gradient(there, clip=reach, spend=spend)
    least = min(tuned.LEAST_RATE, tuned.LEAST_RATE_OF_NOISE * answer.scale)
    rates = np.geomspace(least, 1.0, _RATES)
    off = (rates - (guess - float(answer.value[0]))) ** 2 / (2 * answer.scale**2)
    mean = float(np.average(rates, weights=np.exp(off.min() - off)))
    start[-1] = (log(mean) + target.log_unit) / constant
    return replace(problem, initial=start)
