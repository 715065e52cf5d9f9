"""Noisy frequencies of the classes, and the start and the weights that follow from them."""

from __future__ import annotations

from dataclasses import replace
from math import sqrt
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import expit, softmax

from ...exceptions import warn_user
from ...problem.bounds import CountBounds
from ...problem.problem import Problem
from ..defaults import ClassPrior as tuned

if TYPE_CHECKING:
    from ...privacy.oracle import Oracle


def with_class_prior(problem: Problem, oracle: Oracle, *, balanced: bool) -> Problem:
    r"""The problem with a starting intercept, and weights if asked for, from noisy class counts.

    One histogram of the labels costs 2 % of what is left of the budget. The counts c are first
    brought to sum to the public number of rows n, which takes the common part off their noise:
    with two classes what is left is ``(n + c_1 - c_0) / 2``, as precise (standard deviation
    1 / mu under replace-one) as a count of one class alone would be. Counts are drawn to equal ones
    as far as noise explains the distance (Stein's positive-part factor, with so much of the noise
    that it is taken for a signal rarely). Shares ``p_k`` then have the standard deviation of that
    noise as a floor, and at least one row.

    For losses whose scores are log-odds, and with an intercept, the solver starts at the
    log-odds of the classes, with all other weights zero: a rare class need not first be found out
    to be rare. If balanced, the weight of a class is ``p_k^{-3/4}`` there, times a constant that
    makes the mean weight of a row 1, and :func:`balancing_offset` is the rest of the balance.
    Without an intercept, or for other losses, the weights are ``1 / (K p_k)``.

    Where the counts would be drowned in noise, which public facts alone decide, nothing is asked
    and the problem stays as it is. Else it bears the shares, whose curvature decides how far rows
    tell of coefficients, also where it starts at an earlier model, which knows better than they.

    Parameters
    ----------
    problem : Problem
        In the coordinates in which it is going to be solved.
    oracle : Oracle
        Counts the encoded labels.
    balanced : bool
        Whether classes get weights.

    Warns
    -----
    UserWarning
        If weights are asked for where counts would be drowned in noise.
    """
    if not asks_for_counts(problem, balanced=balanced):
        return problem
    k, n = max(2, problem.loss.n_scores), problem.n_samples
    spend = oracle.budget.fraction(tuned.COUNT_SHARE).whole()
    noise = oracle.adjacency.of_histogram() / sqrt(spend.amount) * sqrt((k - 1) / k)
    if k * noise > tuned.VISIBLE_NOISE * n:
        if balanced:
            warn_user(
                "class_weight='balanced' needs class counts, which noise would drown at this "
                f"budget, {n} rows and {k} classes; all classes get weight 1. Use a larger "
                "epsilon, or give public weights.",
                UserWarning,
            )
        return problem
    counts = oracle.histogram("target", np.arange(1, k) - 0.5, spend=spend)
    counts += (n - counts.sum()) / k
    away = counts - n / k
    beyond = 1 - (1 + tuned.SURE / sqrt(k - 1)) * k * noise**2 / max(float(away @ away), 1e-300)
    counts = n / k + max(0.0, beyond) * away
    shares = np.maximum(counts, max(1.0, noise))
    shares /= shares.sum()
    weights, w = problem.class_weight, problem.initial
    if balanced:
        raised = shares ** -(tuned.BALANCED_BY_WEIGHTS if _log_odds(problem) else 1.0)
        weights = tuple((raised / (shares @ raised)).tolist())
    # An earlier model knows better than the counts where to start.
    if w is None and _log_odds(problem) and min(weights or (1.0,)) > 0:
        w = problem.start()
        log_odds = _as_scores(np.log(shares * np.array(weights or 1.0)))
        w[-1:] = log_odds / problem.bounds.intercept_value
    known = tuple(shares.tolist())
    return replace(problem, class_shares=known, class_weight=weights, initial=w)


def asks_for_counts(problem: Problem, *, balanced: bool) -> bool:
    """Tell whether counts of the classes are of use, unless noise drowns them.

    Parameters
    ----------
    problem : Problem
        As for :func:`with_class_prior`.
    balanced : bool
        Whether classes get weights.
    """
    return balanced or (_log_odds(problem) and _start_is_finite(problem))


def curvatures_at_start(problem: Problem) -> np.ndarray:
    """Curvature of the loss in the score of each class, at the shares of the classes.

    Parameters
    ----------
    problem : Problem
        With the logistic or softmax loss, or one of counts. Shares are those that it bears,
        weighted as classes are, or else those that the intercept of its initial point stands for.

    Returns
    -------
    ndarray of shape (n_scores,)
        ``p (1 - p)``, or the mean count, in units of ``p (1 - p)`` for balanced classes.
    """
    scores = scores_at_start(problem)
    if problem.loss.log_means:
        return 4.0 * np.exp(np.minimum(scores, 0.0))
    p = expit(scores) if scores.size == 1 else softmax(scores)
    k = max(2, p.size)
    return np.asarray(p * (1 - p) * k / (1 - 1 / k))


def curvature_at_start(problem: Problem) -> float:
    """Mean of the curvatures of all classes, see :func:`curvatures_at_start`.

    Parameters
    ----------
    problem : Problem
        With the logistic or softmax loss.
    """
    return float(curvatures_at_start(problem).mean())


def scores_at_start(problem: Problem) -> np.ndarray:
    """Scores of the classes, or of a full row of counts, before features are looked at.

    Parameters
    ----------
    problem : Problem
        As for :func:`curvatures_at_start`.
    """
    constant, target = problem.bounds.intercept_value, problem.bounds.target
    if isinstance(target, CountBounds):
        return np.array([constant * problem.start()[-1] - target.log_unit])
    if not constant:
        return np.zeros(problem.loss.n_scores)
    if problem.class_shares is not None and _start_is_finite(problem):
        shares = np.array(problem.class_shares) * np.array(problem.class_weight or 1.0)
        return _as_scores(np.log(shares))
    return (problem.start()[-1:] * constant).ravel()


def balancing_offset(problem: Problem) -> np.ndarray:
    r"""Shift of the intercepts of a solution that makes classes count as equally frequent.

    With weights ``c_k`` the minimiser of the logistic loss over all functions is the log-odds plus
    ``log c_k``, so that weights ``p_k^{-3/4}`` move log-odds by three quarters of what separates
    the classes' frequencies. The offset, ``log(c_k) / 3``, is the last quarter. Together that is
    what weights ``1 / p_k`` would do, but rows of common classes, which those would all but
    silence, contribute more.

    Parameters
    ----------
    problem : Problem
        As returned by :func:`with_class_prior` with ``balanced=True``.

    Returns
    -------
    ndarray of shape (n_scores,)
        Zeros where the weights are the whole of the balance.
    """
    if problem.class_weight is None or not _log_odds(problem):
        return np.zeros(problem.loss.n_scores)
    return (1 / tuned.BALANCED_BY_WEIGHTS - 1) * _as_scores(np.log(problem.class_weight))


def _log_odds(problem: Problem) -> bool:
    """True if the intercept can carry log-odds of the classes."""
    return problem.loss.log_odds and problem.bounds.intercept_value > 0


def _start_is_finite(problem: Problem) -> bool:
    return min(problem.class_weight or (1.0,)) > 0


def _as_scores(log_shares: np.ndarray) -> np.ndarray:
    """Log-odds of the second class of two, or one score a class with mean zero."""
    if log_shares.size == 2:
        return log_shares[1:] - log_shares[:1]
    return log_shares - log_shares.mean()
