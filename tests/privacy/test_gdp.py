"""Gaussian DP against high-precision arithmetic, dp-accounting and its own inverse."""

import math

import mpmath
import pytest

from skdp.privacy.accounting import gdp

EPSILONS = [0.0, 1e-4, 1e-2, 1.0, 10.0, 100.0, 1e6, 1e8]
DELTAS = [1e-300, 1e-100, 1e-20, 1e-5, 1e-2, 0.09, 0.11, 0.5, 0.9, 1 - 1e-10]
# Levels at which the evaluation changes branch: short interval, long interval, x1 < 0, series.
LEVELS = [1e-12, 1e-3, 0.49, 0.51, 1.0, 3.0, 30.0]


def exact_log_delta(mu, epsilon):
    """The defining formula; digits are enough for the cancellation in every case used here."""
    with mpmath.workdps(700):
        mu, epsilon = mpmath.mpf(mu), mpmath.mpf(epsilon)

        def upper_tail(x):
            return mpmath.erfc(x / mpmath.sqrt(2)) / 2

        middle = epsilon / mu
        return mpmath.log(
            upper_tail(middle - mu / 2) - mpmath.exp(epsilon) * upper_tail(middle + mu / 2)
        )


def exact_log(delta):
    with mpmath.workdps(700):
        return mpmath.log(mpmath.mpf(delta))


def scaled(value, factor):
    """value * (1 + factor) without rounding to a float."""
    with mpmath.workdps(700):
        return mpmath.mpf(value) * (1 + mpmath.mpf(factor))


@pytest.mark.parametrize("delta", DELTAS)
@pytest.mark.parametrize("epsilon", EPSILONS)
def test_mu_is_safe_and_tight(epsilon, delta):
    mu = gdp.mu(epsilon, delta)
    assert exact_log_delta(mu, epsilon) <= exact_log(delta)
    assert exact_log_delta(scaled(mu, 1e-13), epsilon) > exact_log(delta)
    assert exact_log_delta(mu * (1 + 1e-6), epsilon) > exact_log(delta)


@pytest.mark.parametrize("exponent", range(-295, -95, 20))
def test_rounding_of_large_logarithms_does_not_reach_mu(exponent):
    """At epsilon = 0 an error in log(delta) is an equal relative error in mu."""
    for digits in (1.3, 2.7, 5.9):
        delta = digits * 10.0**exponent
        mu = gdp.mu(0.0, delta)
        assert exact_log_delta(mu, 0.0) <= exact_log(delta)
        assert exact_log_delta(scaled(mu, 4e-14), 0.0) > exact_log(delta)


@pytest.mark.parametrize("delta", DELTAS)
@pytest.mark.parametrize("mu", LEVELS)
def test_epsilon_is_safe_and_tight(mu, delta):
    epsilon = gdp.epsilon(mu, delta)
    assert exact_log_delta(mu, epsilon) <= exact_log(delta)
    if epsilon > 0.0:
        assert exact_log_delta(scaled(mu, 1e-13), epsilon) > exact_log(delta)
        assert exact_log_delta(mu * (1 + 1e-6), epsilon) > exact_log(delta)


@pytest.mark.parametrize("epsilon", [0.0, 1e-8, 1e-4, 0.3, 1.0, 5.0, 40.0, 1e3])
@pytest.mark.parametrize("mu", LEVELS)
def test_profile_matches_high_precision(mu, epsilon):
    with mpmath.workdps(40):
        # A relative 3e-15 in mu changes log(delta) by d log(delta) / d log(mu) times that.
        density = mpmath.npdf(mpmath.mpf(epsilon) / mu - mpmath.mpf(mu) / 2)
        exact = exact_log_delta(mu, epsilon)
        conditioning = float(mu * density / mpmath.exp(exact))
        exact = float(exact)
    tolerance = 3e-15 * (1 + conditioning)
    assert abs(gdp.log_delta(mu, epsilon) - exact) <= tolerance + 3e-16 * abs(exact)
    if exact > -700:
        assert gdp.delta(mu, epsilon) == pytest.approx(math.exp(exact), rel=tolerance + 1e-13)


def test_log_delta_stays_finite_where_delta_underflows():
    assert gdp.delta(0.01, 1.0) == 0.0
    assert gdp.log_delta(0.01, 1.0) == pytest.approx(float(exact_log_delta(0.01, 1.0)), rel=1e-14)
    assert gdp.log_delta(1e-3, 1e6) == pytest.approx(-5e17, rel=1e-9)


@pytest.mark.parametrize("epsilon", [0.0, 0.2, 1.0, 4.0])
@pytest.mark.parametrize("mu", [0.1, 0.5, 2.0])
def test_profile_is_the_hockey_stick_divergence(mu, epsilon):
    """delta = E max(0, 1 - exp(epsilon - loss)), loss = mu^2 / 2 + mu z, z ~ N(0, 1)."""
    start = mpmath.mpf(epsilon) / mu - mpmath.mpf(mu) / 2
    scale = 1 / (1 + max(start, 0))
    integral = mpmath.quad(
        lambda z: mpmath.npdf(z) * -mpmath.expm1(mu * (start - z)),
        [start + scale * knot for knot in (0, 1, 3, 8, 20, 50)],
    )
    assert gdp.delta(mu, epsilon) == pytest.approx(float(integral), rel=1e-11)


def test_limits():
    assert gdp.epsilon(0.0, 1e-5) == 0.0
    assert gdp.epsilon(math.inf, 1e-5) == math.inf
    assert gdp.mu(math.inf, 1e-5) == math.inf
    assert gdp.delta(0.0, 0.0) == 0.0
    assert gdp.delta(math.inf, 3.0) == 1.0
    assert gdp.delta(1.0, math.inf) == 0.0
    assert gdp.log_delta(0.0, 1.0) == -math.inf
    # A release so weak that its total variation is below delta needs no epsilon.
    assert gdp.epsilon(0.9 * gdp.mu(0.0, 1e-3), 1e-3) == 0.0
    assert gdp.epsilon(1.1 * gdp.mu(0.0, 1e-3), 1e-3) > 0.0


@pytest.mark.parametrize("delta", [1e-300, 1e-5, 0.5, 0.9])
@pytest.mark.parametrize("epsilon", [1.01e12, 1e20, 1e50, 1e150, 1e300, 1.7e308])
def test_huge_epsilon_is_safe_and_close(epsilon, delta):
    mu = gdp.mu(epsilon, delta)
    assert gdp.delta(mu, epsilon) <= delta
    # From x1 = epsilon/mu - mu/2 in [-8, 38] for these delta.
    assert abs(mu / math.sqrt(2.0) / math.sqrt(epsilon) - 1) < 40 / math.sqrt(2.0 * epsilon) + 1e-10
    assert gdp.epsilon(mu, delta) == pytest.approx(epsilon, rel=1e-9)


@pytest.mark.parametrize("mu", [5e-324, 1e-300, 1e-100, 1e6, 1e50, 1e154, 1.6e154, 1e308])
@pytest.mark.parametrize("delta", DELTAS)
def test_no_extreme_level_breaks_the_search(mu, delta):
    epsilon = gdp.epsilon(mu, delta)
    assert epsilon >= 0.0
    if 0.0 < epsilon < math.inf:
        assert gdp.mu(epsilon, delta) == pytest.approx(mu, rel=1e-9)


@pytest.mark.parametrize("delta", [1e-3, 1e-5, 1e-9])
@pytest.mark.parametrize("mu", [0.05, 0.25, 1.0, 4.0])
def test_agrees_with_dp_accounting(mu, delta):
    reference = pytest.importorskip("dp_accounting.gaussian_mechanism")
    epsilon = gdp.epsilon(mu, delta)
    assert epsilon == pytest.approx(reference.get_epsilon_gaussian(1 / mu, delta), rel=1e-9)
    sigma = reference.get_sigma_gaussian(epsilon, delta)
    assert 1 / gdp.mu(epsilon, delta) == pytest.approx(sigma, rel=1e-9)
