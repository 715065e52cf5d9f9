"""Gaussian differential privacy: the exact exchange between mu and (epsilon, delta).

A release is mu-GDP when telling two adjacent data sets apart from it is at least as hard as telling
N(0, 1) from N(mu, 1). Adding noise of standard deviation s to an answer of sensitivity D gives
mu = D / s, and several such releases, also adaptively chosen ones, compose to
mu^2 = sum (D / s)^2. Nothing is lost in composition, so one scalar carries the whole account.

The privacy profile (Balle & Wang 2018, Theorem 8; Dong, Roth & Su 2022, Corollary 2.13) is

    delta(epsilon) = Phi(mu/2 - epsilon/mu) - exp(epsilon) Phi(-mu/2 - epsilon/mu).

With x1 = epsilon/mu - mu/2 and x2 = epsilon/mu + mu/2 we have x2^2 - x1^2 = 2 epsilon, hence

    delta = phi(x1) (m(x1) - m(x2)),    m(x) = Phi(-x) / phi(x)  (Mills ratio),

in which exp(epsilon) no longer appears. All functions here evaluate this form.

Guarantees
----------
- `mu` never returns more, and `epsilon` never less, than the exact value: both leave a relative
  margin of 2e-14 in mu, ten times the rounding error of the evaluation.
- That margin is also all that is given away.

All functions take mu and epsilon in [0, inf] and delta in [1e-300, 1), and raise a ``ValueError``
for others. `mu` is infinite if epsilon is, and `epsilon` if mu is.
"""

import math
from functools import lru_cache

import numpy as np
from scipy.optimize import brentq
from scipy.special import erfcx, erfinv, ndtr, ndtri

from ...validation import check_delta, check_non_negative

# Against 60-digit arithmetic the answers were never off by more than 2e-15 in mu.
_MARGIN = 2e-14
# Widens brackets derived on paper, whose ends are themselves rounded.
_SLACK = 1e-11
_SQRT2 = math.sqrt(2.0)
_SQRT_HALF_PI = math.sqrt(0.5 * math.pi)
_DENSITY_AT_ZERO = 1.0 / math.sqrt(2.0 * math.pi)
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(10)
_ASYMPTOTIC_FROM = 30.0


def log_delta(mu: float, epsilon: float) -> float:
    """Natural logarithm of the delta that a mu-GDP release has at a given epsilon.

    The logarithm stays informative where delta itself underflows. It is evaluated without
    cancellation: the relative error is that of a relative change of about 1e-15 in mu. It is -inf
    if mu is zero or epsilon is infinite.
    """
    check_non_negative("gdp.log_delta", "mu", mu)
    check_non_negative("gdp.log_delta", "epsilon", epsilon)
    exponent, factor = _profile(float(mu), float(epsilon))
    return exponent + math.log(factor)


def delta(mu: float, epsilon: float) -> float:
    """Smallest delta for which a mu-GDP release is (epsilon, delta)-DP.

    This is the exact profile rounded to nearest (underflowing to zero below 1e-323); `mu` and
    `epsilon` are the functions that round towards privacy.
    """
    check_non_negative("gdp.delta", "mu", mu)
    check_non_negative("gdp.delta", "epsilon", epsilon)
    exponent, factor = _profile(float(mu), float(epsilon))
    return math.exp(exponent) * factor


def mu(epsilon: float, delta: float) -> float:
    """Largest level mu whose releases are (epsilon, delta)-DP, rounded down.

    The profile increases with mu, so the answer is its unique root. It lies between the level
    at which already Phi(-x1) <= delta and sqrt(2 epsilon) + mu_0, where mu_0 is the level allowed
    at epsilon = 0: along mu = s + mu_0, epsilon = s^2 / 2 the profile grows at the rate
    phi(x1) (1 - s m(x2)), which is positive because x2 >= s and s m(s) < 1. What is returned is
    below the root by a relative 2e-14.
    """
    check_non_negative("gdp.mu", "epsilon", epsilon)
    check_delta("gdp.mu", delta)
    if math.isinf(epsilon):
        return math.inf
    return _mu(float(epsilon), float(delta))


# Fits of one budget ask the same several times.
@lru_cache(maxsize=128)
def _mu(epsilon: float, delta: float) -> float:
    without_loss = _mu_at_zero_epsilon(delta)
    quantile = -float(ndtri(delta))
    root = math.sqrt(2.0) * math.sqrt(epsilon)
    spread = math.hypot(quantile, root)
    # Two forms of the positive solution of mu^2 + 2 quantile mu = root^2, neither of which cancels.
    tail_only = root / (quantile + spread) * root if quantile > 0.0 else spread - quantile
    low = max(without_loss, tail_only) * (1.0 - _SLACK)
    high = (without_loss + root) * (1.0 + _SLACK)

    def excess(log_ratio: float) -> float:
        return _log_excess(low * math.exp(log_ratio), epsilon, delta)

    solution = brentq(excess, 0.0, math.log(high / low), xtol=1e-16, rtol=1e-15)
    return low * math.exp(solution) * (1.0 - _MARGIN)


def epsilon(mu: float, delta: float) -> float:
    """Smallest epsilon for which a mu-GDP release is (epsilon, delta)-DP, rounded up.

    Rounding up is done by solving for mu (1 + 2e-14) in place of mu, which is meaningful also where
    epsilon is close to zero and a relative margin on it would not be.
    """
    check_non_negative("gdp.epsilon", "mu", mu)
    check_delta("gdp.epsilon", delta)
    return _epsilon(float(mu) * (1.0 + _MARGIN), float(delta))


@lru_cache(maxsize=128)
def _epsilon(level: float, delta: float) -> float:
    if _log_excess(level, 0.0, delta) <= 0.0:
        return 0.0
    high = level * (0.5 * level - float(ndtri(delta))) * (1.0 + _SLACK)
    if math.isinf(high):
        return math.inf
    beyond = max(0.0, level - _mu_at_zero_epsilon(delta)) * (1.0 - _SLACK)
    low = 0.5 * beyond * beyond

    def excess(loss: float) -> float:
        return _log_excess(level, loss, delta)

    return float(brentq(excess, low, high, xtol=1e-16 * high, rtol=1e-15))


def _log_excess(mu: float, epsilon: float, delta: float) -> float:
    """log(delta(mu, epsilon) / delta), keeping the digits that log(delta) would round away.

    A small delta is divided out before taking logarithms, because the rounding of a logarithm near
    -700 is a relative 1e-13. A large one is not, because its information is in 1 - delta.
    """
    scale = delta if delta < 0.1 else 1.0
    exponent, factor = _profile(mu, epsilon)
    return exponent + math.log(factor / scale) - math.log(delta / scale)


def _profile(mu: float, epsilon: float) -> tuple[float, float]:
    """The pair (exponent, factor) with delta = exp(exponent) * factor."""
    if mu == 0.0 or math.isinf(epsilon):
        return -math.inf, 1.0
    if math.isinf(mu):
        return 0.0, 1.0
    x1 = epsilon / mu - 0.5 * mu
    x2 = epsilon / mu + 0.5 * mu
    exponent = -0.5 * x1 * x1
    if mu <= 0.5 * max(1.0, x1):
        factor = _DENSITY_AT_ZERO * _short_mills_drop(mu, epsilon / mu)
        return (exponent, factor) if factor > 0.0 else (-math.inf, 1.0)
    if x1 >= 0.0:
        return exponent, _DENSITY_AT_ZERO * (_mills(x1) - _mills(x2))
    # Here delta is not small, and what carries the information near one is the complement.
    complement = float(ndtr(x1)) + _DENSITY_AT_ZERO * math.exp(exponent) * _mills(x2)
    return math.log1p(-complement), 1.0


def _mills(x: float) -> float:
    return _SQRT_HALF_PI * float(erfcx(x / _SQRT2))


def _short_mills_drop(length: float, centre: float) -> float:
    """m(centre - length/2) - m(centre + length/2) by Gauss-Legendre quadrature of -m'.

    Subtracting two nearly equal Mills ratios would lose digits in proportion to centre / length.
    Ten nodes reach rounding level if the interval is at most half as long as max(1, its left end).
    """
    x = centre + 0.5 * length * _NODES
    if centre < _ASYMPTOTIC_FROM:
        slope = 1.0 - x * _SQRT_HALF_PI * erfcx(x / _SQRT2)
    else:
        # -m'(x) = sum_k (-1)^k (2k+1)!! x^(-2k-2): here 1 - x m(x) would cancel.
        inverse = x**-2.0
        series = np.ones_like(x)
        for odd in range(17, 1, -2):
            series = 1.0 - odd * inverse * series
        slope = inverse * series
    return 0.5 * length * float(_WEIGHTS @ slope)


def _mu_at_zero_epsilon(delta: float) -> float:
    # At epsilon = 0 the profile is the total variation distance erf(mu / sqrt(8)).
    return 2.0 * _SQRT2 * float(erfinv(delta))
