"""Private ranges of features hold what they should, find any size, and yield to no single row."""

import numpy as np
import pytest

from skdp.preprocessing import evidence_of, private_column_ranges, share_of_ranges
from skdp.privacy import Adjacency, PrivateOracle, SeededNoise
from skdp.privacy.accounting import Ledger
from skdp.privacy.rows import DenseRows
from skdp.problem import ColumnBounds
from skdp.testing import ExactOracle

N = 5000


def stores(X):
    return DenseRows(X, np.zeros(len(X)))


def searched(X, oracle, within=None, codes=True):
    columns = tuple(range(X.shape[1]))
    options = {"within": within, "codes": codes}
    return private_column_ranges(oracle, oracle.budget, len(X), columns, **options)


def without_noise(X, within=None, epsilon=1.0):
    ledger = Ledger(epsilon, 1e-5)
    receipt = Ledger(float("inf"), 1e-5)
    return searched(X, ExactOracle(stores(X), ledger, Adjacency.REPLACE_ONE, receipt), within)


def with_noise(X, seed=0, within=None, epsilon=1.0, codes=True):
    noise = SeededNoise(np.random.default_rng(seed))
    ledger = Ledger(epsilon, 1e-5)
    oracle = PrivateOracle(stores(X), ledger, Adjacency.REPLACE_ONE, noise)
    return searched(X, oracle, within, codes), ledger


def columns_of_all_kinds(n=N):
    """Sizes from 1e-8 to 1e12, long tails, many zeros, far from zero, percentages, counts."""
    rng = np.random.default_rng(0)
    return np.column_stack(
        [
            1e-8 * rng.normal(size=n),
            1e12 * rng.normal(size=n),
            rng.lognormal(5, 1, n),
            -rng.lognormal(0, 0.5, n),
            np.where(rng.random(n) < 0.5, 0.0, rng.uniform(5e3, 1e4, n)),
            1950 + 30 * rng.random(n),
            100 * rng.random(n),
            rng.poisson(3.0, n),
        ]
    )


def correlations(X, bounds):
    """Squared correlations of the columns with themselves within their ranges."""
    held = np.clip(X, bounds.low, bounds.high)
    return np.array([np.corrcoef(a, b)[0, 1] ** 2 for a, b in zip(X.T, held.T, strict=True)])


@pytest.mark.parametrize("seed", [None, *range(4)])
def test_columns_of_all_sizes_are_found_and_fill_their_ranges(seed):
    X = columns_of_all_kinds()
    found = without_noise(X) if seed is None else with_noise(X, seed)[0]
    assert found.seen.all()
    bounds = found.bounds
    assert np.all(correlations(X, bounds) > 0.75)
    held = np.clip(X, bounds.low, bounds.high)
    assert np.all(held.std(axis=0) > 0.05 * bounds.half_width)
    # Years are not measured from the birth of Christ.
    assert bounds.low[5] > 1900
    assert bounds.high[5] < 2030


def test_no_more_than_the_budget_is_spent_and_votes_cost_the_same_for_any_number_of_columns():
    for d in (2, 40):
        X = np.tile(columns_of_all_kinds()[:, :2], (1, d // 2))
        _, ledger = with_noise(X)
        assert ledger.spent().epsilon <= 1.0 + 1e-9
        votes = [event for event in ledger.receipt() if event.query == "magnitude_votes"]
        assert [event.sensitivity for event in votes] == [pytest.approx(np.sqrt(2), rel=1e-4)]


def test_what_is_not_needed_of_a_budget_stays():
    X = np.random.default_rng(0).normal(size=(400, 1)) * 30
    _, ledger = with_noise(X, epsilon=0.5)
    assert ledger.spent().epsilon < 0.5


@pytest.mark.parametrize("low", [-1e300, 1e300])
def test_a_few_wild_rows_move_nothing(low):
    X = 30 * np.random.default_rng(1).normal(size=(N, 2))
    wild = X.copy()
    wild[:3], wild[3:6] = low, -1e9
    ours, theirs = without_noise(wild).bounds, without_noise(X).bounds
    np.testing.assert_allclose(ours.low, theirs.low, rtol=0.1)
    np.testing.assert_allclose(ours.high, theirs.high, rtol=0.1)


def test_codes_and_zeros_are_not_seen_and_hide_no_other_column():
    rng = np.random.default_rng(0)
    X = rng.choice([0.0, 1.0, -1.0], size=(N, 30))
    X[:, 0] = 0.0
    alone = X.copy()
    X[:, 7] = rng.normal(50, 10, N)
    for seed in range(3):
        found = with_noise(X, seed)[0]
        np.testing.assert_array_equal(np.flatnonzero(found.seen), [7])
        codes = np.arange(30) != 7
        np.testing.assert_array_equal(found.bounds.low[codes], -1.0)
        np.testing.assert_array_equal(found.bounds.high[codes], 1.0)
        assert not with_noise(alone, seed)[0].seen.any()


@pytest.mark.parametrize("constant", [5.0, -1e-3, 1e6])
def test_a_constant_lies_in_its_interval(constant):
    X = np.full((N, 1), constant)
    for found in (without_noise(X), with_noise(X)[0]):
        assert found.bounds.low[0] <= constant <= found.bounds.high[0]
        assert found.bounds.high[0] - found.bounds.low[0] <= 0.5 * abs(constant)


def test_known_bounds_are_never_left():
    X = columns_of_all_kinds()[:, 4:5]
    known = ColumnBounds(np.array([100.0]), np.array([20_000.0]))
    for found in (without_noise(X, within=known), with_noise(X, within=known)[0]):
        assert 100 <= found.bounds.low[0] < 5500
        assert 9000 < found.bounds.high[0] <= 20_000


def test_missing_values_vote_for_nothing_and_widen_nothing():
    rng = np.random.default_rng(0)
    X = rng.normal(50, 10, size=(N, 2))
    with_gaps = X.copy()
    with_gaps[rng.random(X.shape) < 0.3] = np.nan
    for seed in range(3):
        found = with_noise(with_gaps, seed)[0]
        assert found.seen.all()
        assert np.all(found.bounds.low > 0)
        assert np.all(found.bounds.high < 150)


@pytest.mark.parametrize("within", [None, ColumnBounds(np.array([-3.0]), np.array([5.0]))])
def test_where_noise_hides_all_nothing_is_asked(within):
    found, ledger = with_noise(np.full((50, 1), 7.0), within=within, epsilon=0.1)
    assert ledger.total == 0
    expected = (-1.0, 1.0) if within is None else (-3.0, 5.0)
    assert (found.bounds.low[0], found.bounds.high[0]) == expected


def test_evidence_says_whether_columns_are_found():
    """By public facts: of 16 columns most are missed below 8 and nearly all found from 24 on."""
    rng = np.random.default_rng(0)
    shares = {}
    for evidence in (7.0, 24.0):
        seen = []
        for seed in range(8):
            X = np.column_stack([rng.normal(50, 10, 1000) * 10.0**j for j in range(-8, 8)])
            noise = SeededNoise(np.random.default_rng(seed))
            ledger = Ledger(5.0, 1e-5)
            oracle = PrivateOracle(stores(X), ledger, Adjacency.REPLACE_ONE, noise)
            whole = evidence_of(oracle.adjacency, oracle.budget, 1000, 16)
            part = oracle.budget.fraction((evidence / whole) ** 2)
            columns = tuple(range(16))
            seen.append(private_column_ranges(oracle, part, 1000, columns).seen.mean())
        shares[evidence] = np.mean(seen)
    assert shares[7.0] < 0.5
    assert shares[24.0] > 0.95


def test_the_share_falls_with_evidence_and_rises_with_columns():
    ledger = Ledger(1.0, 1e-5)
    oracle = PrivateOracle(
        stores(np.ones((2, 1))),
        ledger,
        Adjacency.REPLACE_ONE,
        SeededNoise(np.random.default_rng(0)),
    )
    shares = [
        share_of_ranges(oracle.adjacency, oracle.budget, n, k)
        for n, k in ((100, 4), (1000, 4), (1000, 1), (100_000, 4))
    ]
    assert shares[0] == 0.2
    assert shares[3] == 0.1
    assert 0.1 <= shares[2] <= shares[1] < 0.2
