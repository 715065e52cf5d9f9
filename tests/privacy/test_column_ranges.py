"""Private bounds of features hold what they should, find any size, and yield to no single row."""

import numpy as np
import pytest

from skdp.preprocessing import Search, private_column_bounds
from skdp.privacy import Adjacency, PrivateOracle, SeededNoise
from skdp.privacy.accounting import Ledger
from skdp.privacy.rows import DenseRows
from skdp.problem import ColumnBounds
from skdp.testing import ExactOracle

N = 5000


def stores(X):
    return DenseRows(X, np.zeros(len(X)))


def without_noise(X, tail=0.01, within=None, epsilon=1.0):
    ledger = Ledger(epsilon, 1e-5)
    receipt = Ledger(float("inf"), 1e-5)
    oracle = ExactOracle(stores(X), ledger, Adjacency.REPLACE_ONE, receipt)
    return private_column_bounds(oracle, oracle.budget, *X.shape, tail=tail, within=within)


def with_noise(X, seed=0, tail=0.01, within=None, epsilon=1.0):
    noise = SeededNoise(np.random.default_rng(seed))
    ledger = Ledger(epsilon, 1e-5)
    oracle = PrivateOracle(stores(X), ledger, Adjacency.REPLACE_ONE, noise)
    found = private_column_bounds(oracle, oracle.budget, *X.shape, tail=tail, within=within)
    return found, ledger


def columns_of_all_kinds():
    """Sizes from 1e-30 to 1e30, heavy tails, few and many zeros, far from zero."""
    rng = np.random.default_rng(0)
    return np.column_stack(
        [
            1e-30 * rng.normal(size=N),
            1e30 * rng.normal(size=N),
            rng.lognormal(0, 3, N),
            -rng.pareto(1.0, N),
            np.where(rng.random(N) < 0.8, 0.0, rng.uniform(5e3, 1e4, N)),
            1.7e9 + 1e6 * rng.normal(size=N),
        ]
    )


def beyond(X, bounds):
    """Shares of rows below and above."""
    return (bounds.low > X).mean(axis=0), (bounds.high < X).mean(axis=0)


@pytest.mark.parametrize("tail", [0.01, 0.1])
def test_without_noise_no_more_than_the_tail_is_left_out(tail):
    X = columns_of_all_kinds()
    bounds = without_noise(X, tail, epsilon=1e3)
    for share in beyond(X, bounds):
        assert share.max() <= tail
    # And hardly more than what is inside is covered: the grid resolves a fraction of a quantile.
    low, high = np.quantile(X, [tail, 1 - tail], axis=0)
    spread = np.maximum(np.abs(low), np.abs(high))
    assert np.all(low - bounds.low <= 0.05 * spread)
    assert np.all(bounds.high - high <= 0.05 * spread)


@pytest.mark.parametrize("seed", range(5))
def test_with_noise_tails_are_about_what_was_planned(seed):
    X = columns_of_all_kinds()
    bounds, ledger = with_noise(X, seed)
    assert ledger.spent().epsilon == pytest.approx(1.0)
    # The tail that noise makes visible here, by the rule of the plan, and twice that.
    for share in beyond(X, bounds):
        assert share.max() <= 0.2
    assert np.all(bounds.high >= np.quantile(X, 0.7, axis=0))
    assert np.all(bounds.low <= np.quantile(X, 0.3, axis=0))
    # No bound is out by orders of magnitude.
    assert np.all(np.abs(bounds.high) <= 4 * np.abs(X).max(axis=0))
    assert np.all(np.abs(bounds.low) <= 4 * np.abs(X).max(axis=0))


def test_a_few_wild_rows_move_nothing():
    X = np.random.default_rng(1).normal(size=(N, 2))
    wild = X.copy()
    wild[:3] = 1e300
    wild[3:6] = -1e300
    np.testing.assert_allclose(without_noise(wild).high, without_noise(X).high, rtol=0.1)
    np.testing.assert_allclose(without_noise(wild).low, without_noise(X).low, rtol=0.1)


def test_features_that_are_nearly_always_zero_keep_their_units():
    X = np.zeros((N, 2))
    X[:10, 1] = 1.0
    for bounds in (without_noise(X), with_noise(X)[0]):
        np.testing.assert_array_equal([bounds.low, bounds.high], [[-1, -1], [1, 1]])


@pytest.mark.parametrize("constant", [5.0, -1e-3, 1e6])
def test_a_constant_lies_in_a_narrow_interval(constant):
    X = np.full((N, 1), constant)
    for bounds in (without_noise(X), with_noise(X)[0]):
        assert bounds.low[0] <= constant <= bounds.high[0]
        assert bounds.high[0] - bounds.low[0] <= 0.25 * abs(constant)


def test_known_bounds_are_never_left():
    X = columns_of_all_kinds()[:, 4:5]
    known = ColumnBounds(np.array([100.0]), np.array([7000.0]))
    for bounds in (without_noise(X, within=known), with_noise(X, within=known)[0]):
        assert 100 <= bounds.low[0] < 200
        assert 6000 < bounds.high[0] <= 7000


@pytest.mark.parametrize("within", [None, ColumnBounds(np.array([-3.0]), np.array([5.0]))])
def test_where_noise_hides_all_nothing_is_asked_and_that_is_said(within):
    ledger = Ledger(0.1, 1e-5)
    noise = SeededNoise(np.random.default_rng(0))
    rows = stores(np.ones((50, 1)))
    oracle = PrivateOracle(rows, ledger, Adjacency.REPLACE_ONE, noise)
    with pytest.warns(UserWarning, match="too small for this number of rows"):
        bounds = private_column_bounds(oracle, oracle.budget, 50, 1, tail=0.01, within=within)
    assert ledger.total == 0
    expected = (-1.0, 1.0) if within is None else (-3.0, 5.0)
    assert (bounds.low[0], bounds.high[0]) == expected


def test_the_plan_gives_room_for_noise_before_it_refines():
    ledger = Ledger(1.0, 1e-5)
    rows = stores(np.ones((2, 1)))
    oracle = PrivateOracle(
        rows, ledger, Adjacency.REPLACE_ONE, SeededNoise(np.random.default_rng(0))
    )
    plans = [
        Search.planned(oracle.adjacency, oracle.budget, n, 4, tail=0.01, within=False)
        for n in (100, 2_000, 20_000, 10**7)
    ]
    assert plans[0] is None
    tails = [plan.tail for plan in plans[1:]]
    assert tails == sorted(tails, reverse=True)
    assert tails[0] > 0.01 == tails[-1]
    steps = [plan.steps for plan in plans[1:]]
    assert steps == sorted(steps)
    assert steps[-1] > steps[0]
    for plan in plans[1:]:
        assert (plan.steps + plan.coarse) * plan.spend.amount == pytest.approx(ledger.limit)
    assert ledger.total == 0


@pytest.mark.parametrize("seed", range(3))
def test_no_comparison_goes_wrong_where_no_data_are(seed):
    # 200 features far from most of the grid: each makes a dozen comparisons with nothing around.
    X = np.full((4000, 200), 3.0) + np.random.default_rng(seed).uniform(size=(4000, 200))
    bounds, _ = with_noise(X, seed, epsilon=5.0)
    assert bounds.low.min() >= 0
    assert bounds.high.max() <= 16
