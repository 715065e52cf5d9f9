r"""Privacy of the best of a secret, random number of trials.

A search runs a mechanism Q, which trains a model and releases a noisy score with it, K times, with
K secret, and returns the outcome of the highest score. Let p be the probability, under Q, that a
trial beats the outcome y; ties are broken at random, which makes p well defined. With the
generating function f(q) = E[q^K], the search returns y with density f'(1 - p) Q(y).

If Q is mu-GDP, a neighbour changes p into p' with Phi^-1(p') <= Phi^-1(p) + mu, because "beats y"
is a test like any other. So a search A beside releases that are sqrt(more)-GDP has

.. math::

    \int [A - e^{\epsilon} A']_+
    \le \int \sup_p \, [f'(1 - p) \, dP - e^{\epsilon} f'(1 - p') \, dP']_+

with P = N(m, 1), P' = N(0, 1) and m^2 = mu^2 + more. There are mechanisms that come close. Without
the geometry of Gaussian noise, the supremum is split into its two factors,

    delta_A(epsilon) <= E[K] delta_P(epsilon - log R),   R = sup_p f'(1 - p) / f'(1 - p').

Proofs: theorems R1 and R2 of ``docs/proofs/search.md``. Liu and Talwar (2019) began this, Papernot
and Steinke (2022) treat Renyi divergences, and Koskela, Redberg and Wang (2024) have the split form
with R bounded by one point of the profile.

Guarantees
----------
- All functions here err on the safe side: the supremum is bounded over cells, not sampled.
- The divergences of :meth:`NumberOfTrials.renyi` are those of Papernot and Steinke; they are for
  totals that hold more than this module covers.

Arguments
---------
Of the functions below; others than these raise a ``ValueError``.

mu : float
    Level of Gaussian differential privacy of a trial, its score included, in [0, inf].
epsilon : float
    Privacy loss of the whole search, in [0, inf].
delta : float
    Failure probability, in [1e-300, 1).
trials : NumberOfTrials
    Distribution of the number of trials.
trial : callable
    The delta of a trial of any kind, its score included, for a given epsilon >= 0.
more : float, default=0.0
    Sum of mu^2 of Gaussian releases besides.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from math import expm1, hypot, inf, isinf, log, log1p, log2, pi, sqrt
from typing import final

import numpy as np
from scipy.optimize import brentq
from scipy.special import log_ndtr, ndtr, ndtri

from ..privacy.accounting import gdp
from ..validation import check_delta, check_non_negative

# Means beyond would ask for more trials than anybody waits for.
_LARGEST_MEAN = 1e6
# Probability left when a draw stops adding up: below the resolution of the uniform number.
_NOTHING = 1e-18
# Distributions of a smaller log(E[K]) are taken to be a single trial.
_NO_SPREAD = 1e-9
# Outcomes are told apart up to this quantile of the standard normal distribution.
_REACH = 9.0
# How finely: more so if epsilon is small, up to a factor.
_CELLS, _SMALL, _FINEST = 6000, 0.03, 6.0
# Curvatures change by far less than this factor between points of the grid, and lines are moved by
# no more than this share.
_SLACK, _SMOOTH = 1.2, 0.2
_QUANTILES = 8000
_LOSSES = (0.0, *np.geomspace(1e-3, 30.0, 80).tolist())
# From this level on the number of trials hardly matters, and exponents lose digits.
_COARSE = 1e4
# No smaller answer is looked for.
_LEAST_EPSILON, _LEAST_DELTA = 1e-4, 1e-300
# Far above the rounding of the sums below, as a relative change of the answers.
_MARGIN = 1e-9


@final
@dataclass(frozen=True)
class NumberOfTrials:
    r"""Logarithmic distribution of the number of trials K >= 1 of a search.

    .. math:: P[K = k] = \frac{(1 - \gamma)^k}{k \log(1 / \gamma)}

    Its generating function f has f'(1 - p) = E[K] / (1 + p (1 - gamma) / gamma). It is the
    truncated negative binomial distribution of Papernot and Steinke with eta = 0.

    Parameters
    ----------
    mean : float
        Expected number of trials, in [1, 1e6].

    Raises
    ------
    ValueError
        If the mean is outside its range.

    References
    ----------
    Papernot and Steinke, "Hyperparameter tuning with Renyi differential privacy", 2022.
    """

    mean: float

    def __post_init__(self) -> None:
        if not 1 <= self.mean <= _LARGEST_MEAN:
            raise ValueError(
                f"{type(self).__name__} needs a mean in [1, 1e6], got {self.mean}; let n_iter be "
                "in this range."
            )

    @cached_property
    def log_gamma(self) -> float:
        """log(gamma) for which E[K] = (1 / gamma - 1) / log(1 / gamma) is the mean."""
        target = log(self.mean)
        if target < _NO_SPREAD:
            return 0.0

        def excess(g: float) -> float:
            return log(-expm1(g)) - g - log(-g) - target

        low, high = -1.0, -1e-12
        while excess(low) < 0:
            low, high = 2 * low, low
        return float(brentq(excess, low, high, xtol=1e-13))

    @cached_property
    def odds(self) -> float:
        """(1 - gamma) / gamma, by one more than which f'(1) exceeds f'(0) as a factor."""
        return expm1(-self.log_gamma)

    @property
    def once(self) -> float:
        """Probability of a single trial, f'(0)."""
        return self.mean / (1 + self.odds)

    def slope(self, beaten: np.ndarray) -> np.ndarray:
        """f'(1 - p) for probabilities p of being beaten, in [0, 1]; decreases from the mean."""
        return self.mean / (1 + self.odds * beaten)

    def at(self, z: np.ndarray) -> np.ndarray:
        """F(z) = f'(1 - p) for p = Phi(-z); increases from ``once`` to the mean."""
        return self.slope(ndtr(-z))

    def curvature(self, z: np.ndarray, apart: float = 0.0) -> np.ndarray:
        """Bound on the size of F''(z), and on the square of F'(z), relative to F(z).

        That is ``r (2 r + |z|)`` with r = phi(z) / (gamma / (1 - gamma) + p): F' = r F, and
        r' = r (r - z). Added to ``|z|``, ``apart`` makes it nearly a bound for all points that are
        no further from z: what is left is how much r changes.
        """
        r = self.odds * np.exp(-z * z / 2) / sqrt(2 * pi) / (1 + self.odds * ndtr(-z))
        return r * (2 * r + np.abs(z) + apart)

    def renyi(self, order: float, rho: float) -> float:
        """Renyi divergence of a search whose trials are rho-zCDP.

        Theorem 2 of Papernot and Steinke (2022), at the best second order.

        Parameters
        ----------
        order : float
            Order a > 1.
        rho : float
            Level of zero-concentrated differential privacy of a trial, that is, a bound rho a on
            its divergence of every order a.
        """
        if not 0 < rho < inf:
            return 0.0 if rho == 0 else inf
        # (1 - 1/b) b rho + log(1/gamma) / b is least over b >= 1 at this b.
        second = max(1.0, sqrt(-self.log_gamma / rho))
        growth = (second - 1) * rho - self.log_gamma / second
        # Divergences increase with the order, so that one of a larger order will do.
        larger = max(order, 1 + sqrt(log(self.mean) / rho))
        return min(a * rho + growth + log(self.mean) / (a - 1) for a in (order, larger))

    def draw(self, uniform: float) -> int:
        """Number of trials, by inversion of a uniform number in (0, 1).

        Parameters
        ----------
        uniform : float
            Secret.
        """
        k, share = 1, self.once
        below = share
        while below < uniform and (k < self.mean or share > _NOTHING):
            share *= -expm1(self.log_gamma) * k / (k + 1)
            below += share
            k += 1
        return k


def delta(mu: float, epsilon: float, trials: NumberOfTrials, more: float = 0.0) -> float:
    """A delta for which a search over mu-GDP trials is (epsilon, delta)-DP."""
    for name, value in (("mu", mu), ("epsilon", epsilon), ("more", more)):
        check_non_negative("trials.delta", name, value)
    total = hypot(mu, sqrt(more))
    if isinf(epsilon) or total == 0:
        return 0.0
    if isinf(total):
        return 1.0
    left = (epsilon - log1p(trials.odds)) / total - total / 2
    rough = min(1.0, trials.mean * float(ndtr(-left)))
    # With R the largest f' over the least, in the split form, and delta_P(x) at most
    # Phi(m / 2 - x / m), which is what is left of it if m is large, no integral is needed.
    if total > _COARSE:
        return rough
    slopes, offsets = _lines(mu, epsilon, trials)
    kept = _envelope(slopes.tolist(), offsets.tolist())
    return min(rough, float(_integrals(slopes[kept], offsets[kept], total, epsilon).sum()))


def epsilon(mu: float, delta: float, trials: NumberOfTrials, more: float = 0.0) -> float:
    """Smallest epsilon for which the bound makes a search (epsilon, delta)-DP, rounded up."""
    check_delta("trials.epsilon", delta)
    check_non_negative("trials.epsilon", "mu", mu)
    check_non_negative("trials.epsilon", "more", more)
    if isinf(mu) or isinf(more):
        return inf
    return _epsilon(float(mu), float(delta), trials, float(more))


def mu(epsilon: float, delta: float, trials: NumberOfTrials) -> float:
    """Largest level mu of a trial that keeps a search within (epsilon, delta), rounded down."""
    check_non_negative("trials.mu", "epsilon", epsilon)
    check_delta("trials.mu", delta)
    if isinf(epsilon):
        return inf
    return _mu(float(epsilon), float(delta), trials)


def split_delta(epsilon: float, trials: NumberOfTrials, trial: Callable[[float], float]) -> float:
    """A delta for which a search is (epsilon, delta)-DP, for trials of any kind."""
    left = epsilon - log(largest_ratio(trials, trial))
    return min(1.0, trials.mean * trial(left)) if left >= 0 else 1.0


def largest_ratio(
    trials: NumberOfTrials, trial: Callable[[float], float], losses: Sequence[float] | None = None
) -> float:
    """Most by which f'(1 - p) can exceed its value for a neighbour, whatever the outcome.

    For every x, p' <= e^x p + delta(x) and 1 - p <= e^x (1 - p') + delta(x). ``losses`` are the x
    to use; by default many between 0 and 30.
    """
    p = ndtr(np.linspace(-_REACH, _REACH, _QUANTILES))
    # A cell is judged by the p at its left and the p' at its right end.
    left, right = np.append(0.0, p), np.append(p, 1.0)
    other = np.ones_like(right)
    for x in _LOSSES if losses is None else losses:
        slack = trial(x)
        np.minimum(other, np.exp(x) * right + slack, out=other)
        np.minimum(other, 1 - np.exp(-x) * (1 - right - slack), out=other)
    return float(np.max(trials.slope(left) / trials.slope(np.minimum(other, 1.0))))


@lru_cache(maxsize=256)
def _epsilon(mu: float, delta_: float, trials: NumberOfTrials, more: float) -> float:
    goal = log(delta_)

    def excess(loss: float) -> float:
        return log(max(delta(mu, loss, trials, more), 1e-320)) - goal

    total = hypot(mu, sqrt(more))
    if total == 0:
        return 0.0
    if total > _COARSE:
        wide = log1p(trials.odds) + total * (total / 2 - float(ndtri(delta_ / trials.mean)))
        return max(0.0, wide * (1 + _MARGIN))
    # The supremum is at least its value at p = 0, where selection multiplies delta by the mean.
    single = max(delta_ / trials.mean, _LEAST_DELTA)
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
def _mu(epsilon: float, delta_: float, trials: NumberOfTrials) -> float:
    goal = log(delta_)

    def excess(log_level: float) -> float:
        return log(max(delta(2.0**log_level, epsilon, trials), 1e-320)) - goal

    # Selection costs something, so that a trial has less than the whole.
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


def _lines(mu: float, epsilon: float, trials: NumberOfTrials) -> tuple[np.ndarray, np.ndarray]:
    """Lines ``a t - b`` whose maximum is at least that of all ``f'(1 - p) t - f'(1 - p')``.

    Outcomes are told apart by z with p = Phi(-z) and p' = Phi(mu - z), so that a = F(z) and
    b = F(z - mu) for one increasing function F. Over a cell of width h, a is at most that of its
    right end and b at least that of its left end. For small mu that is too rough, and lines through
    the points of the grid are raised by what they can miss (the lemma below R1 of
    ``docs/proofs/search.md``). Cells in which F rises too steeply for that stay rough ones; F has
    no size there, unless trials are few.
    """
    n = _CELLS if mu > 1 else int(_CELLS * min(_FINEST, max(1.0, sqrt(_SMALL / (epsilon + 1e-9)))))
    z = np.linspace(-_REACH, _REACH + mu, n)
    own, other = trials.at(z), trials.at(z - mu)
    h = float(z[1] - z[0])
    more = _missing(h, trials.curvature(z, apart=h))
    less = _missing(h, trials.curvature(z - mu, apart=h))
    smooth = (np.maximum(more, less) < _SMOOTH) & (mu <= 1)
    rough = ~(smooth[1:] & smooth[:-1])
    own_fine, other_fine = own[smooth] * (1 + more[smooth]), other[smooth] * (1 - less[smooth])
    slopes = np.concatenate([own[:1], own[1:][rough], own_fine, [trials.mean]])
    offsets = np.concatenate([[trials.once], other[:-1][rough], other_fine, other[-1:]])
    order = np.lexsort((offsets, slopes))
    return slopes[order], offsets[order]


def _missing(h: float, curvature: np.ndarray) -> np.ndarray:
    """Most by which F may exceed a line through a point, half a cell away, relative to F."""
    # The root bounds the relative slope of F, and so how much larger F gets within the cell.
    with np.errstate(over="ignore"):
        return _SLACK * h * h / 8 * curvature * np.exp(h * np.sqrt(curvature))


def _envelope(slopes: list[float], offsets: list[float]) -> np.ndarray:
    """Indices of the lines ``slopes * t - offsets`` that are largest, and positive, at some t > 0.

    Parameters
    ----------
    slopes : list of float
        In increasing order.
    offsets : list of float
        As many, none below 0.

    Returns
    -------
    ndarray of int
        Their positions, in increasing order.
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
    """Integral of ``slopes * dP - e^epsilon offsets * dP'`` over Gaussians, line by line.

    Parameters
    ----------
    slopes, offsets : ndarray
        Lines of which each is the largest somewhere, in increasing order.
    mu : float
        Distance of the two Gaussians of standard deviation 1, positive.
    epsilon : float
        At least 0.

    Returns
    -------
    ndarray
        At least 0 for each line, over those likelihood ratios for which it is the largest.
    """
    steps = np.diff(offsets, prepend=0.0) / np.diff(slopes, prepend=0.0)
    # The likelihood ratio exp(mu y - mu^2 / 2) passes e^epsilon steps at y.
    with np.errstate(divide="ignore", over="ignore"):
        y = (np.log(steps) + epsilon) / mu + mu / 2
        scale = np.log(offsets) + epsilon
    ends = np.append(y[1:], inf)
    own = ndtr(mu - y) - ndtr(mu - ends)
    # Together, since exp(epsilon) may be too large for a float; the product never is.
    other = np.exp(scale + log_ndtr(-y)) - np.exp(scale + log_ndtr(-ends))
    return np.maximum(slopes * own - other, 0.0)
