"""The zCDP conversion against direct minimisation over the Renyi order."""

import math

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skdp.privacy.accounting import zcdp

EPSILONS = [0.0, 1e-4, 1e-2, 1.0, 10.0, 100.0, 1e6]
DELTAS = [1e-300, 1e-100, 1e-20, 1e-5, 1e-2, 0.5, 0.9]
RHOS = [1e-10, 1e-4, 0.03, 1.0, 40.0, 1e6]

moderate_rho = st.floats(1e-6, 100.0)
small_delta = st.floats(-100.0, -0.302).map(lambda exponent: 10.0**exponent)


def minimum(bound):
    """Smallest value of bound(b) over orders 1 + b, by golden section in log(b)."""
    ratio = (mpmath.sqrt(5) - 1) / 2
    low, high = mpmath.mpf(-750), mpmath.mpf(750)
    inner = [high - ratio * (high - low), low + ratio * (high - low)]
    values = [bound(mpmath.exp(u)) for u in inner]
    while high - low > mpmath.mpf(10) ** -14:
        if values[0] < values[1]:
            high, inner[1], values[1] = inner[1], inner[0], values[0]
            inner[0] = high - ratio * (high - low)
            values[0] = bound(mpmath.exp(inner[0]))
        else:
            low, inner[0], values[0] = inner[0], inner[1], values[1]
            inner[1] = low + ratio * (high - low)
            values[1] = bound(mpmath.exp(inner[1]))
    return min(values)


def exact_epsilon(rho, delta):
    """min over a = 1 + b of rho a + log(1 - 1/a) - log(delta a) / (a - 1), not clipped."""
    with mpmath.workdps(40):
        rho, log_delta = mpmath.mpf(rho), mpmath.log(mpmath.mpf(delta))
        return minimum(
            lambda b: rho * (1 + b) - mpmath.log1p(1 / b) - (log_delta + mpmath.log1p(b)) / b
        )


def exact_log_delta(rho, epsilon):
    """min over a = 1 + b of (a - 1) (rho a - epsilon) + a log(1 - 1/a) - log(a - 1)."""
    with mpmath.workdps(400):
        rho, epsilon = mpmath.mpf(rho), mpmath.mpf(epsilon)
        return minimum(
            lambda b: b * (rho * (1 + b) - epsilon) - (1 + b) * mpmath.log1p(1 / b) - mpmath.log(b)
        )


@pytest.mark.parametrize("delta", DELTAS)
@pytest.mark.parametrize("epsilon", EPSILONS)
def test_rho_is_safe_and_tight(epsilon, delta):
    rho = zcdp.rho(epsilon, delta)
    if rho < 1e-290:
        assert epsilon == 0.0
        return
    assert exact_epsilon(rho, delta) <= epsilon
    assert exact_epsilon(rho * (1 + 1e-11), delta) > epsilon
    assert exact_epsilon(rho * (1 + 1e-6), delta) > epsilon


@pytest.mark.parametrize("delta", DELTAS)
@pytest.mark.parametrize("rho", RHOS)
def test_epsilon_is_safe_and_tight(rho, delta):
    epsilon = zcdp.epsilon(rho, delta)
    exact = exact_epsilon(rho, delta)
    assert epsilon >= exact
    if epsilon > 0.0:
        assert epsilon < exact_epsilon(rho * (1 + 1e-11), delta)
    else:
        assert exact <= 0


@pytest.mark.parametrize("epsilon", [0.0, 1e-3, 0.5, 3.0, 50.0])
@pytest.mark.parametrize("rho", [1e-6, 1e-3, 0.03, 1.0, 10.0])
def test_delta_is_safe_and_tight(rho, epsilon):
    exact = exact_log_delta(rho, epsilon)
    delta = zcdp.delta(rho, epsilon)
    if exact < -700:
        assert 0.0 < delta < 1e-300
    else:
        excess = float(mpmath.log(delta) - exact)
        assert 0.0 <= excess < 1e-11 * (1 - float(exact))


@given(moderate_rho, small_delta, st.floats(-8.0, 8.0))
def test_no_order_does_better(rho, delta, log_b):
    b = math.exp(log_b)
    bound = rho * (1 + b) - math.log1p(1 / b) - (math.log(delta) + math.log1p(b)) / b
    assert zcdp.epsilon(rho, delta) <= max(0.0, bound) * (1 + 1e-11) + 1e-11


@pytest.mark.parametrize("multiplier", [0.7, 4.0, 30.0])
def test_agrees_with_the_renyi_accountant_of_dp_accounting(multiplier):
    accounting = pytest.importorskip("dp_accounting")
    rdp = pytest.importorskip("dp_accounting.rdp")
    accountant = rdp.RdpAccountant(orders=1 + np.geomspace(1e-2, 1e4, 3000))
    accountant.compose(accounting.GaussianDpEvent(multiplier))
    epsilon = zcdp.epsilon(1 / (2 * multiplier**2), 1e-5)
    # It minimises the same bound over a given list of orders, so it can only be larger.
    assert epsilon * (1 - 1e-11) <= accountant.get_epsilon(1e-5) <= epsilon * (1 + 1e-4)


def test_limits():
    assert zcdp.epsilon(0.0, 1e-5) == 0.0
    assert zcdp.epsilon(math.inf, 1e-5) == math.inf
    assert zcdp.rho(math.inf, 1e-5) == math.inf
    assert zcdp.delta(0.0, 0.0) == 0.0
    assert zcdp.delta(math.inf, 3.0) == 1.0
    assert zcdp.delta(1.0, math.inf) == 0.0
    assert zcdp.delta(1e6, 1.0) == 1.0
    assert zcdp.epsilon(1e-20, 0.5) == 0.0


@pytest.mark.parametrize("value", [5e-324, 1e-150, 1e-20, 1e16, 1e150, 1.7e308])
@pytest.mark.parametrize("delta", [1e-300, 1e-5, 0.9, 1 - 1e-16])
def test_no_extreme_level_breaks_the_search(value, delta):
    rho = zcdp.rho(value, delta)
    assert zcdp.epsilon(rho, delta) == pytest.approx(value, rel=1e-9, abs=1e-11)
    assert zcdp.epsilon(value, delta) >= 0.0
    for other in (0.0, 1e-300, 1.0, 1e300):
        assert 0.0 < zcdp.delta(value, other) <= 1.0
