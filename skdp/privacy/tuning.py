r"""The price of a private search: what selection adds to the privacy of a single run.

A search runs a mechanism Q, which trains a model and releases a noisy score with it, K times, with
K secret and of a known law, and returns the outcome of the highest score. Let p be the probability,
under Q, that a run beats the outcome y; ties are broken at random, which makes p well defined. With
the generating function f of K, the search returns y with density f'(1 - p) Q(y).

If Q is mu-GDP, a neighbour changes p into p' with Phi^-1(p') <= Phi^-1(p) + mu, because "beats y"
is a test like any other, and f' does not decrease. So, for a search A followed or preceded by
releases that are sqrt(more)-GDP,

.. math::

    \int [A - e^{\epsilon} A']_+
    \le \int \sup_p \, [f'(1 - p) \, dP - e^{\epsilon} f'(1 - p') \, dP']_+

where (P, P') are all the releases together but for the selection. The right-hand side is an
f-divergence of P and P', since a supremum of linear functions is convex and homogeneous. Therefore
it is at most that of N(m, 1) and N(0, 1) with m^2 = mu^2 + more, of which (P, P') is a
post-processing. Outcomes of high loss are rare, so they can be placed at any p without moving the
other probabilities: there are mechanisms that come close to the bound.

Without the geometry of Gaussian noise, the supremum is split into its two factors,

    delta_A(epsilon) <= E[K] delta_P(epsilon - log R),   R = sup_p f'(1 - p) / f'(1 - p').

Liu and Talwar (2019) began this, Papernot and Steinke (2022) treat Renyi divergences, and Koskela,
Redberg and Wang (2024) have the split form with R bounded by one point of the profile.

Guarantees
----------
- All functions here err on the safe side: the supremum is bounded over cells, not sampled.
- The divergences of :meth:`RunLaw.renyi` are those of Papernot and Steinke; they are for totals
  that hold more than this module covers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from math import exp, inf, isinf, log, log1p, sqrt

import numpy as np
from scipy.optimize import brentq
from scipy.special import log_ndtr, ndtr

from . import gdp
from .arguments import check_delta, check_non_negative
from .run_laws import RunLaw

__all__ = ["delta", "epsilon", "largest_ratio", "mu", "renyi_delta", "split_delta"]

# Outcomes are told apart up to this quantile of the standard normal law.
_REACH = 9.0
# How finely: more so if epsilon is small, up to a factor.
_CELLS, _SMALL, _FINEST = 6000, 0.03, 6.0
# Curvatures change by far less than this factor between points of the grid.
_SLACK = 1.2
_QUANTILES = 8000
_LOSSES = (0.0, *np.geomspace(1e-3, 30.0, 80).tolist())
_ORDERS = tuple((1 + np.geomspace(0.1, 3000, 60)).tolist())
# No smaller answer is looked for.
_LEAST_EPSILON = 1e-4
# Far above the rounding of the sums below, as a relative change of the answers.
_MARGIN = 1e-9


def delta(mu: float, epsilon: float, law: RunLaw, more: float = 0.0) -> float:
    """A delta for which a search over mu-GDP runs is (epsilon, delta)-DP.

    Parameters
    ----------
    mu : float
        Level of Gaussian differential privacy of a run, its score included, in [0, inf].
    epsilon : float
        Privacy loss, in [0, inf].
    law : RunLaw
        Law of the number of runs.
    more : float, default=0.0
        Sum of mu^2 of Gaussian releases besides.

    Returns
    -------
    float
        delta in [0, 1].

    Raises
    ------
    ValueError
        If mu, epsilon or more is negative or not a number.
    """
    for name, value in (("mu", mu), ("epsilon", epsilon), ("more", more)):
        check_non_negative("tuning.delta", name, value)
    total = sqrt(mu * mu + more)
    if isinf(epsilon) or total == 0:
        return 0.0
    if isinf(total):
        return 1.0
    slopes, offsets = _lines(mu, epsilon, law)
    kept = _envelope(slopes.tolist(), offsets.tolist())
    return min(1.0, float(_integrals(slopes[kept], offsets[kept], total, epsilon).sum()))


def epsilon(mu: float, delta: float, law: RunLaw, more: float = 0.0) -> float:
    """Smallest epsilon for which the bound makes a search (epsilon, delta)-DP, rounded up.

    Parameters
    ----------
    mu : float
        Level of Gaussian differential privacy of a run, its score included, in [0, inf].
    delta : float
        Failure probability, in [1e-300, 1).
    law : RunLaw
        Law of the number of runs.
    more : float, default=0.0
        Sum of mu^2 of Gaussian releases besides.

    Returns
    -------
    float
        Privacy loss; infinite if mu is.

    Raises
    ------
    ValueError
        If mu or more is negative or not a number, or delta is outside [1e-300, 1).
    """
    check_delta("tuning.epsilon", delta)
    check_non_negative("tuning.epsilon", "mu", mu)
    check_non_negative("tuning.epsilon", "more", more)
    if isinf(mu) or isinf(more):
        return inf
    return _epsilon(float(mu), float(delta), law, float(more))


def mu(epsilon: float, delta: float, law: RunLaw, refit: float = 0.0) -> float:
    """Largest level mu of a run that keeps a search within (epsilon, delta), rounded down.

    Parameters
    ----------
    epsilon : float
        Privacy loss of the whole search, in [0, inf].
    delta : float
        Failure probability, in [1e-300, 1).
    law : RunLaw
        Law of the number of runs.
    refit : float, default=0.0
        Share of mu^2 that a Gaussian release after the search takes, beside the share 1 - refit of
        a run, in [0, 1).

    Returns
    -------
    float
        The level; infinite if epsilon is.

    Raises
    ------
    ValueError
        If epsilon is negative or not a number, delta is outside [1e-300, 1), or refit outside
        [0, 1).
    """
    check_non_negative("tuning.mu", "epsilon", epsilon)
    check_delta("tuning.mu", delta)
    if not 0 <= refit < 1:
        raise ValueError(f"tuning.mu needs refit in [0, 1), got {refit}.")
    if isinf(epsilon):
        return inf
    return _mu(float(epsilon), float(delta), law, float(refit))


def split_delta(
    epsilon: float,
    law: RunLaw,
    run: Callable[[float], float],
    together: Callable[[float], float],
) -> float:
    """A delta for which a search is (epsilon, delta)-DP, for runs of any kind.

    Parameters
    ----------
    epsilon : float
        Privacy loss, in [0, inf).
    law : RunLaw
        Law of the number of runs.
    run : callable
        The delta of a run, its score included, for a given epsilon >= 0.
    together : callable
        The same for a run composed with all releases besides.

    Returns
    -------
    float
        delta in [0, 1].
    """
    left = epsilon - log(largest_ratio(law, run))
    return min(1.0, law.mean * together(left)) if left >= 0 else 1.0


def renyi_delta(
    epsilon: float, law: RunLaw, rho: float, run: Callable[[float], float], more: float = 0.0
) -> float:
    """A delta for which a search over rho-zCDP runs is (epsilon, delta)-DP, by divergences.

    Better than :func:`split_delta` for some Poisson laws.

    Parameters
    ----------
    epsilon : float
        Privacy loss, in [0, inf).
    law : RunLaw
        Law of the number of runs.
    rho : float
        Level of zero-concentrated differential privacy of a run, in (0, inf).
    run : callable
        The delta of a run for a given epsilon >= 0.
    more : float, default=0.0
        Sum of rho of the releases besides.

    Returns
    -------
    float
        delta in [0, 1].
    """
    best = 0.0
    for order in _ORDERS:
        loss = law.renyi(order, rho, run) + more * order - epsilon + log1p(-1 / order)
        best = min(best, (order - 1) * loss - log(order))
    return exp(best)


def largest_ratio(
    law: RunLaw, run: Callable[[float], float], losses: Sequence[float] | None = None
) -> float:
    """Most by which f'(1 - p) can exceed its value for a neighbour, whatever the outcome.

    For every x, p' <= e^x p + delta(x) and 1 - p <= e^x (1 - p') + delta(x).

    Parameters
    ----------
    law : RunLaw
        Law of the number of runs.
    run : callable
        The delta of a run for a given epsilon >= 0.
    losses : sequence of float, optional
        The x to use; by default many between 0 and 30.
    """
    p = ndtr(np.linspace(-_REACH, _REACH, _QUANTILES))
    # A cell is judged by the p at its left and the p' at its right end.
    left, right = np.append(0.0, p), np.append(p, 1.0)
    other = np.ones_like(right)
    for x in _LOSSES if losses is None else losses:
        slack = run(x)
        np.minimum(other, np.exp(x) * right + slack, out=other)
        np.minimum(other, 1 - np.exp(-x) * (1 - right - slack), out=other)
    return float(np.max(law.slope(left) / law.slope(np.minimum(other, 1.0))))


@lru_cache(maxsize=256)
def _epsilon(mu: float, delta_: float, law: RunLaw, more: float) -> float:
    goal = log(delta_)

    def excess(loss: float) -> float:
        return log(max(delta(mu, loss, law, more), 1e-320)) - goal

    total = sqrt(mu * mu + more)
    if total == 0:
        return 0.0
    # The supremum is at least its value at p = 0, where selection multiplies delta by the mean.
    low = max(_LEAST_EPSILON, gdp.epsilon(total, delta_ / law.mean) * (1 - _MARGIN))
    if excess(low) <= 0:
        return low
    high = 2 * low
    while excess(high) > 0:
        high *= 2
    root = float(brentq(excess, low, high, xtol=1e-12, rtol=1e-12))
    return root * (1 + _MARGIN) + 1e-12


@lru_cache(maxsize=256)
def _mu(epsilon: float, delta_: float, law: RunLaw, refit: float) -> float:
    goal, ratio = log(delta_), refit / (1 - refit)

    def excess(level: float) -> float:
        return log(max(delta(level, epsilon, law, level * level * ratio), 1e-320)) - goal

    # Selection costs something, so that a run has less than the whole.
    high = gdp.mu(epsilon, delta_)
    if excess(high) <= 0:
        return high * (1 - _MARGIN)
    low = high / 2
    while excess(low) > 0:
        low /= 2
    return float(brentq(excess, low, high, xtol=1e-300, rtol=1e-12)) * (1 - _MARGIN)


def _lines(mu: float, epsilon: float, law: RunLaw) -> tuple[np.ndarray, np.ndarray]:
    """Lines ``a t - b`` whose maximum is at least that of all ``f'(1 - p) t - f'(1 - p')``.

    Outcomes are told apart by z with p = Phi(-z) and p' = Phi(mu - z), so that a = F(z) and
    b = F(z - mu) for one increasing function F. Over a cell of width h, a is at most that of its
    right end and b at least that of its left end. For small mu that is too rough: where
    g = F(z) t - F(z - mu) is largest its slope is 0, so that the nearest point of a grid falls
    short by h^2 / 8 times a bound on |g''|, that is, on the curvature of F relative to F.
    """
    n = _CELLS if mu > 1 else int(_CELLS * min(_FINEST, max(1.0, sqrt(_SMALL / (epsilon + 1e-9)))))
    z = np.linspace(-_REACH, _REACH + mu, n)
    own, other = law.at(z), law.at(z - mu)
    h = z[1] - z[0]
    missing = _SLACK * h * h / 8
    shrinks = missing * law.curvature(z - mu)
    # Laws of very many runs rise too steeply for the grid, and would leave less than nothing.
    if mu > 1 or not shrinks.max() < 1:
        return np.append(own, law.mean), np.append(law.once, other)
    own = own * (1 + missing * law.curvature(z))
    other = other * (1 - shrinks)
    slopes = np.concatenate([law.at(z[:1]), own, [law.mean]])
    offsets = np.concatenate([[law.once], other, law.at(z[-1:] - mu)])
    order = np.lexsort((offsets, slopes))
    return slopes[order], offsets[order]


def _envelope(slopes: list[float], offsets: list[float]) -> np.ndarray:
    """Which lines ``slopes * t - offsets`` are the largest, and positive, for some t > 0.

    Slopes are given in increasing order, and so are the answers.
    """
    kept: list[int] = []
    # Where each line that is kept takes over from the one before, the first one from zero.
    starts = [0.0]
    a0 = b0 = 0.0
    for j, (a, b) in enumerate(zip(slopes, offsets, strict=True)):
        while kept:
            before = kept[-1]
            a0, b0 = slopes[before], offsets[before]
            # Once a line is no better where the last one begins, it is better nowhere before.
            if a > a0 and b - b0 > starts[-1] * (a - a0):
                break
            if a <= a0 and b >= b0:
                break
            kept.pop()
            starts.pop()
        else:
            a0 = b0 = 0.0
        if a > a0:
            kept.append(j)
            starts.append((b - b0) / (a - a0))
    return np.array(kept)


def _integrals(slopes: np.ndarray, offsets: np.ndarray, mu: float, epsilon: float) -> np.ndarray:
    """Integral of ``slopes * dP - e^epsilon offsets * dP'`` over Gaussians, line by line."""
    steps = np.diff(offsets, prepend=0.0) / np.diff(slopes, prepend=0.0)
    # The likelihood ratio exp(mu y - mu^2 / 2) passes e^epsilon steps at y.
    with np.errstate(divide="ignore"):
        y = (np.log(steps) + epsilon) / mu + mu / 2
    ends = np.append(y[1:], inf)
    own = ndtr(mu - y) - ndtr(mu - ends)
    other = np.exp(epsilon + log_ndtr(-y)) - np.exp(epsilon + log_ndtr(-ends))
    return slopes * own - offsets * other
