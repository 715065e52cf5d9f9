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
from math import exp, hypot, inf, isinf, log, log1p, log2, sqrt

import numpy as np
from scipy.optimize import brentq
from scipy.special import ndtr, ndtri

from ...validation import check_delta, check_non_negative
from . import gdp
from .run_laws import RunLaw
from .upper_envelope import envelope, integrals

__all__ = ["delta", "epsilon", "largest_ratio", "mu", "renyi_delta", "split_delta"]

# Outcomes are told apart up to this quantile of the standard normal law.
_REACH = 9.0
# How finely: more so if epsilon is small, up to a factor.
_CELLS, _SMALL, _FINEST = 6000, 0.03, 6.0
# Curvatures change by far less than this factor between points of the grid, and lines are moved by
# no more than this share.
_SLACK, _SMOOTH = 1.2, 0.2
_QUANTILES = 8000
_LOSSES = (0.0, *np.geomspace(1e-3, 30.0, 80).tolist())
_ORDERS = tuple((1 + np.geomspace(0.1, 3000, 60)).tolist())
# From this level on the law of runs hardly matters, and exponents lose digits.
_COARSE = 1e4
# No smaller answer is looked for.
_LEAST_EPSILON, _LEAST_DELTA = 1e-4, 1e-300
_TINY = 1e-290
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
    total = hypot(mu, sqrt(more))
    if isinf(epsilon) or total == 0:
        return 0.0
    if isinf(total):
        return 1.0
    left = (epsilon - _widest(law)) / total - total / 2
    rough = min(1.0, law.mean * float(ndtr(-left)))
    if total > _COARSE:
        return rough
    slopes, offsets = _lines(mu, epsilon, law)
    # Floats that are nearly too small have few digits; up and down is the safe side.
    slopes, offsets = np.maximum(slopes, _TINY), np.where(offsets < _TINY, 0.0, offsets)
    kept = envelope(slopes.tolist(), offsets.tolist())
    return min(rough, float(integrals(slopes[kept], offsets[kept], total, epsilon).sum()))


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

    Returns
    -------
    float
        At least 1; infinite if it is too large for a float.
    """
    p = ndtr(np.linspace(-_REACH, _REACH, _QUANTILES))
    # A cell is judged by the p at its left and the p' at its right end.
    left, right = np.append(0.0, p), np.append(p, 1.0)
    other = np.ones_like(right)
    for x in _LOSSES if losses is None else losses:
        slack = run(x)
        np.minimum(other, np.exp(x) * right + slack, out=other)
        np.minimum(other, 1 - np.exp(-x) * (1 - right - slack), out=other)
    log_ratio = np.max(law.log_slope(left) - law.log_slope(np.minimum(other, 1.0)))
    with np.errstate(over="ignore"):
        return float(np.exp(log_ratio))


@lru_cache(maxsize=256)
def _epsilon(mu: float, delta_: float, law: RunLaw, more: float) -> float:
    goal = log(delta_)

    def excess(loss: float) -> float:
        return log(max(delta(mu, loss, law, more), 1e-320)) - goal

    total = hypot(mu, sqrt(more))
    if total == 0:
        return 0.0
    if total > _COARSE:
        wide = _widest(law) + total * (total / 2 - float(ndtri(delta_ / law.mean)))
        return max(0.0, wide * (1 + _MARGIN))
    # The supremum is at least its value at p = 0, where selection multiplies delta by the mean.
    single = max(delta_ / law.mean, _LEAST_DELTA)
    low = max(_LEAST_EPSILON, gdp.epsilon(total, single) * (1 - _MARGIN))
    if excess(low) <= 0:
        return low
    high = 2 * low
    while excess(high) > 0:
        high *= 2
    root = _root(excess, low, high)
    margin = _MARGIN
    while excess(out := root * (1 + margin) + 1e-12) > 0:
        margin *= 2
    return out


@lru_cache(maxsize=256)
def _mu(epsilon: float, delta_: float, law: RunLaw, refit: float) -> float:
    goal, ratio = log(delta_), refit / (1 - refit)

    def excess(log_level: float) -> float:
        level = 2.0**log_level
        return log(max(delta(level, epsilon, law, level * level * ratio), 1e-320)) - goal

    # Selection costs something, so that a run has less than the whole.
    high = log2(gdp.mu(epsilon, delta_))
    low, step, margin = high, 1.0, _MARGIN
    while excess(low) > 0:
        low -= step
        step *= 2
    root = low if low == high else _root(excess, low, high)
    while excess(root - margin) > 0:
        margin *= 2
    return 2.0 ** (root - margin)


def _root(excess: Callable[[float], float], low: float, high: float) -> float:
    # How close it comes does not matter for what is claimed: the callers check what they return.
    return float(brentq(excess, low, high, xtol=1e-12, rtol=1e-12, disp=False))


def _widest(law: RunLaw) -> float:
    """Logarithm of the largest f' over the least.

    With R so large in the split form, and delta_P(x) at most Phi(m / 2 - x / m), which is what is
    left of it if m is large, no integral is needed.
    """
    return log(law.mean) - law.log_once


def _lines(mu: float, epsilon: float, law: RunLaw) -> tuple[np.ndarray, np.ndarray]:
    """Lines ``a t - b`` whose maximum is at least that of all ``f'(1 - p) t - f'(1 - p')``.

    Outcomes are told apart by z with p = Phi(-z) and p' = Phi(mu - z), so that a = F(z) and
    b = F(z - mu) for one increasing function F. Over a cell of width h, a is at most that of its
    right end and b at least that of its left end. For small mu that is too rough: where
    g = F(z) t - F(z - mu) is largest its slope is 0, so that the nearest point of a grid falls
    short by h^2 / 8 times a bound on |g''|, that is, on the curvature of F relative to F. Cells in
    which F rises too steeply for that stay rough ones; F has no size there, unless runs are few.
    """
    n = _CELLS if mu > 1 else int(_CELLS * min(_FINEST, max(1.0, sqrt(_SMALL / (epsilon + 1e-9)))))
    z = np.linspace(-_REACH, _REACH + mu, n)
    own, other = law.at(z), law.at(z - mu)
    h = float(z[1] - z[0])
    more, less = _missing(h, law.curvature(z)), _missing(h, law.curvature(z - mu))
    smooth = (np.maximum(more, less) < _SMOOTH) & (mu <= 1)
    rough = ~(smooth[1:] & smooth[:-1])
    own_fine, other_fine = own[smooth] * (1 + more[smooth]), other[smooth] * (1 - less[smooth])
    slopes = np.concatenate([own[:1], own[1:][rough], own_fine, [law.mean]])
    offsets = np.concatenate([[law.once], other[:-1][rough], other_fine, other[-1:]])
    order = np.lexsort((offsets, slopes))
    return slopes[order], offsets[order]


def _missing(h: float, curvature: np.ndarray) -> np.ndarray:
    """Most by which F may exceed a line through a point, half a cell away, relative to F."""
    # The root bounds the relative slope of F, and so how much larger F gets within the cell.
    with np.errstate(over="ignore"):
        return _SLACK * h * h / 8 * curvature * np.exp(h * np.sqrt(curvature))
