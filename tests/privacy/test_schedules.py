"""Schedules never overspend, and the optimal ones are optimal."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skdp.solvers import schedules

positive = st.floats(1e-300, 1e300)
EXAMPLES = {
    "uniform": schedules.uniform(7),
    "one step": schedules.uniform(1),
    "long uniform": schedules.uniform(100_003),
    "exponential": schedules.exponential(200, 0.97),
    "underflowing exponential": schedules.exponential(5_000, 0.5),
    "momentum": schedules.momentum(200, 0.97, 0.9),
    "underflowing momentum": schedules.momentum(5_000, 0.5, 0.3),
    "custom": schedules.custom([1e308, 5e-324, 2.0]),
}


def momentum_influence(steps, gamma, beta):
    """The double sum of U_3, read column by column."""
    influence = np.zeros(steps)
    for t in range(1, steps + 1):
        for i in range(1, t + 1):
            average = (1 - beta) / (1 - beta**t) * beta ** (t - i)
            influence[i - 1] += gamma ** (steps - t) * average**2
    return influence


def assert_never_overspends(shares):
    assert math.fsum(shares) <= 1.0
    for total in (1.0, 0.0718, 3e-7):
        costs = [total * share for share in shares]
        assert math.fsum(costs) <= total
        assert sum(costs) <= total
        scales = [2.0 / math.sqrt(cost) for cost in costs]
        assert math.fsum((2.0 / scale) ** 2 for scale in scales) <= total


@pytest.mark.parametrize("shares", EXAMPLES.values(), ids=EXAMPLES.keys())
def test_never_overspends_and_leaves_nothing_worth_having(shares):
    assert_never_overspends(shares)
    assert math.fsum(shares) >= 1.0 - 1e-15 * (shares.size + 20)


@given(st.lists(positive, min_size=1, max_size=60))
def test_no_shape_makes_it_overspend(shape):
    assert_never_overspends(schedules.custom(shape))


@pytest.mark.parametrize("shares", EXAMPLES.values(), ids=EXAMPLES.keys())
def test_every_share_is_positive_with_finite_squared_noise(shares):
    assert shares.dtype == np.float64
    assert shares.ndim == 1
    assert np.all(shares > 0.0)
    assert np.all(np.isfinite((1e6 / np.sqrt(1e-6 * shares)) ** 2))


def test_exponential_follows_the_published_noise():
    """sigma_t^2 = (1/R) sum_i sqrt(q_i / q_t) at R = 1, and share = 1 / sigma_t^2."""
    steps, gamma = 30, 0.8
    influence = gamma ** (steps - np.arange(1, steps + 1))
    variance = [np.sqrt(influence / q).sum() for q in influence]
    np.testing.assert_allclose(schedules.exponential(steps, gamma), 1 / np.array(variance), 1e-12)


@pytest.mark.parametrize(
    ("steps", "gamma", "beta"),
    [(1, 0.9, 0.5), (2, 0.9, 0.5), (40, 0.9, 0.9), (40, 0.5, 0.9), (40, 0.81, 0.9), (40, 1.0, 0.1)],
)
def test_momentum_uses_the_coefficients_of_the_double_sum(steps, gamma, beta):
    expected = np.sqrt(momentum_influence(steps, gamma, beta))
    np.testing.assert_allclose(
        schedules.momentum(steps, gamma, beta), expected / expected.sum(), rtol=1e-11
    )


def weighted_noise(influence, shares):
    return float(np.sum(influence / shares))


@pytest.mark.parametrize("seed", range(5))
def test_no_other_schedule_of_the_same_budget_has_less_weighted_noise(seed):
    rng = np.random.default_rng(seed)
    influence = np.exp(rng.normal(0.0, 2.0, size=12))
    best = schedules.custom(np.sqrt(influence))
    least = weighted_noise(influence, best)
    assert least == pytest.approx(np.sqrt(influence).sum() ** 2, rel=1e-12)
    for _ in range(200):
        elsewhere = rng.dirichlet(np.ones(12)) + 1e-12
        nearby = best * np.exp(rng.normal(0.0, 1e-2, size=12))
        for other in (elsewhere, nearby):
            assert weighted_noise(influence, other / other.sum()) > least


@pytest.mark.parametrize("beta", [0.0, 0.5, 0.9])
def test_dynamic_shares_beat_uniform_ones(beta):
    influence = momentum_influence(60, 0.9, beta)
    dynamic = weighted_noise(influence, schedules.momentum(60, 0.9, beta))
    assert dynamic < 0.9 * weighted_noise(influence, schedules.uniform(60))
