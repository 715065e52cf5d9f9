"""Zero-concentrated differential privacy: from rho to (epsilon, delta) and back.

A release is rho-zCDP when its Renyi divergence of every order a > 1 between adjacent data sets is
at most rho a. This covers mechanisms that Gaussian DP does not, such as noisy selection
(eta^2 / 8), and adds up in composition. Gaussian noise alone is better served by `gdp`.

The conversion is Proposition 12 of Canonne, Kamath & Steinke (2020), found independently by
Asoodeh et al. (2020), optimised over the order:

    epsilon(rho, delta) = min_{a > 1} rho a + log(1 - 1/a) - log(delta a) / (a - 1).

Solved for log(delta) the right-hand side becomes

    L(a) = (a - 1) (rho a - epsilon + log(1 - 1/a)) - log(a),
    L'(a) = (2a - 1) rho + log(1 - 1/a) - epsilon,

and L' increases with a, so L is convex with one minimum. Setting L' = 0 in L leaves the pair

    rho (a - 1)^2 + log(a) = log(1/delta),    (2a - 1) rho + log(1 - 1/a) = epsilon,

of which each function below solves the part that contains its unknown only once. The order is
written a = 1 + b, which keeps digits when rho is large and b is small.

Guarantees
----------
- Every order gives a valid bound, so an inexact order costs accuracy and never privacy. At the
  minimum the bound is flat, hence the cost is of second order in the error of the order.
- `rho` is rounded down; `epsilon` and `delta` are rounded up.

All three functions take rho and epsilon in [0, inf] and delta in [1e-300, 1), and raise a
``ValueError`` for others.
"""

import math
from collections.abc import Callable

from scipy.optimize import brentq

from ...validation import check_delta, check_non_negative

# Rounding, expressed as a relative change of rho, stays below 1e-13 down to the smallest delta.
_MARGIN = 1e-12
# Widens brackets derived on paper, whose ends are themselves rounded.
_SLACK = 1e-9


def epsilon(rho: float, delta: float) -> float:
    """Smallest epsilon that the optimised conversion gives to a rho-zCDP release, rounded up.

    Zero where the formula is negative.
    """
    check_non_negative("zcdp.epsilon", "rho", rho)
    check_delta("zcdp.epsilon", delta)
    if rho == 0.0 or math.isinf(rho):
        return float(rho)
    level = float(rho) * (1.0 + _MARGIN)
    budget = -math.log(delta)

    def excess(log_b: float) -> float:
        b = math.exp(log_b)
        return level * b * b + math.log1p(b) - budget

    # Each of the two terms is at most the budget, and one of them is at least half of it.
    half_log_ratio = 0.5 * (math.log(budget) - math.log(level))
    log_low = min(half_log_ratio - 0.5 * math.log(2.0), _log_expm1(0.5 * budget))
    log_high = min(half_log_ratio, _log_expm1(budget))
    log_b = _root(excess, log_low, log_high)
    b = math.exp(log_b)
    return max(0.0, level * (1.0 + b) - _softplus(-log_b) + (budget - math.log1p(b)) / b)


def rho(epsilon: float, delta: float) -> float:
    """Largest rho to which the optimised conversion still gives (epsilon, delta)-DP, rounded down.

    Eliminating rho from the two conditions of the module gives

        (2b + 1) (log(1/delta) - log(1 + b)) / b^2 - log(1 + 1/b) = epsilon,

    whose left-hand side decreases with b: larger rho means larger epsilon and smaller b. The result
    is below the exact one by a relative 1e-12.
    """
    check_non_negative("zcdp.rho", "epsilon", epsilon)
    check_delta("zcdp.rho", delta)
    if math.isinf(epsilon):
        return math.inf
    epsilon, budget = float(epsilon), -math.log(delta)

    def shortfall(log_b: float) -> float:
        b = math.exp(log_b)
        implied = (2.0 + 1.0 / b) * (budget - math.log1p(b)) / b - _softplus(-log_b)
        return epsilon - implied

    # Low: with b <= budget/4 the left-hand side is at least budget / (4 b^2).
    # High: dropping the logarithms leaves a quadratic; and the order cannot exceed 1/delta.
    log_low, log_high = math.log(0.25 * budget), _log_expm1(budget)
    if epsilon > 0.0:
        half_log_ratio = 0.5 * (math.log(budget) - math.log(epsilon))
        ratio = math.exp(half_log_ratio)
        log_low = min(log_low, half_log_ratio - math.log(2.0))
        log_high = min(log_high, half_log_ratio + math.log(ratio + math.hypot(ratio, 1.0)))
    log_b = _root(shortfall, log_low, log_high)
    b = math.exp(log_b)
    level = (epsilon + _softplus(-log_b) - (budget - math.log1p(b)) / b) / (1.0 + b)
    return level * (1.0 - _MARGIN)


def delta(rho: float, epsilon: float) -> float:
    """Smallest delta that the optimised conversion gives to a rho-zCDP release, rounded up.

    Zero only if rho is zero or epsilon is infinite.
    """
    check_non_negative("zcdp.delta", "rho", rho)
    check_non_negative("zcdp.delta", "epsilon", epsilon)
    if rho == 0.0 or math.isinf(epsilon):
        return 0.0
    if math.isinf(rho):
        return 1.0
    level, epsilon = float(rho) * (1.0 + _MARGIN), float(epsilon)

    def slope(log_b: float) -> float:
        return (2.0 * math.exp(log_b) + 1.0) * level - _softplus(-log_b) - epsilon

    # The minimiser has b below exp(epsilon - rho), where the bound is one up to rounding.
    if level - epsilon > 50.0:
        return 1.0
    # Replacing log(1 + 1/b) by 1/b leaves a quadratic, whose root is at least the one sought, and
    # by convexity the latter is at least 1 / expm1(1 / high).
    spread = math.hypot(epsilon - level, math.sqrt(8.0) * math.sqrt(level))
    if epsilon > level:
        high = 0.25 * (epsilon - level + spread) / level
    else:
        high = 2.0 / (level - epsilon + spread)
    smallest = math.ulp(0.0)
    if high > 1e300:
        return smallest
    log_b = _root(slope, -_log_expm1(1.0 / high), math.log(high))
    b = math.exp(log_b)
    log_delta = b * (level * (1.0 + b) - epsilon - _softplus(-log_b)) - math.log1p(b)
    return min(1.0, max(smallest, math.exp(log_delta) * (1.0 + _MARGIN)))


def _root(function: Callable[[float], float], low: float, high: float) -> float:
    return float(brentq(function, low - _SLACK, high + _SLACK, xtol=1e-10, rtol=1e-12))


def _softplus(x: float) -> float:
    return max(x, 0.0) + math.log1p(math.exp(-abs(x)))


def _log_expm1(x: float) -> float:
    return x + math.log(-math.expm1(-x))
