"""Private bounds: close for ordinary data, unmoved by outliers, honest when they see nothing."""

import warnings

import numpy as np
import pytest
from known_noise import seeded

from skdp import DPLinearRegression
from skdp.estimators import private_data_norm, private_target_bounds, unseen_targets
from skdp.privacy import Adjacency, PrivateOracle
from skdp.privacy.accounting import Budget, Ledger
from skdp.privacy.rows import DenseRows
from skdp.solvers import GD, Blocks
from skdp.testing import RecordingOracle, ReplayOracle, Transcript, check_parts, record, replay

SHARE = 0.04
STEP = 4 ** (1 / 12)
SEEDS = range(8)


def norm_of(X, seed=0, epsilon=1.0, adjacency=Adjacency.REPLACE_ONE):
    ledger = Ledger(epsilon, 1e-5)
    rows = DenseRows(np.asarray(X, dtype=float), np.zeros(len(X)))
    oracle = PrivateOracle(rows, ledger, adjacency, seeded(seed))
    return private_data_norm(oracle, Budget(SHARE * ledger.limit), rows.n_samples, rows.n_features)


def bounds_of(y, seed=0, epsilon=1.0, centred=True):
    ledger = Ledger(epsilon, 1e-5)
    rows = DenseRows(np.ones((len(y), 1)), np.asarray(y, dtype=float))
    oracle = PrivateOracle(rows, ledger, Adjacency.REPLACE_ONE, seeded(seed))
    return private_target_bounds(oracle, Budget(SHARE * ledger.limit), len(y), centred=centred)


def rows(n, d=20, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d))


def clipped(y, bounds):
    return np.mean((y < bounds.low) | (y > bounds.high))


ROWS = {
    "normal": lambda rng, n: rng.normal(size=(n, 10)),
    "unit rows": lambda rng, n: np.tile([0.6, 0.8], (n, 1)),
    "heavy tails": lambda rng, n: rng.standard_t(2, size=(n, 5)),
    "skewed": lambda rng, n: np.exp(rng.normal(size=(n, 1))),
    "counts": lambda rng, n: rng.poisson(0.1, size=(n, 50)),
    "pixels": lambda rng, n: rng.uniform(0, 255, size=(n, 16)),
    "half of the rows zero": lambda rng, n: np.where(rng.random((n, 1)) < 0.5, 0.0, 7.0),
    "columns of zeros": lambda rng, n: np.pad(rng.normal(size=(n, 3)), ((0, 0), (0, 9))),
}
TARGETS = {
    "normal": lambda rng, n: rng.normal(size=n),
    "wide": lambda rng, n: rng.normal(scale=1e4, size=n),
    "a year": lambda rng, n: rng.uniform(1995, 2005, size=n),
    "negative": lambda rng, n: -rng.uniform(3, 4, size=n),
    "skewed": lambda rng, n: np.exp(rng.normal(size=n)),
    "prices": lambda rng, n: 2e5 * np.exp(0.5 * rng.normal(size=n)),
    "zero or one": lambda rng, n: rng.integers(0, 2, size=n).astype(float),
}


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("make", ROWS.values(), ids=ROWS)
def test_the_norm_is_near_the_95_percent_quantile(make, seed):
    X = make(np.random.default_rng(seed), 20_000)
    ratio = norm_of(X, seed) / np.quantile(np.linalg.norm(X, axis=1), 0.95)
    assert 1 / STEP <= ratio <= STEP**2


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("make", TARGETS.values(), ids=TARGETS)
def test_the_interval_is_short_and_holds_nearly_all_targets(make, seed):
    y = make(np.random.default_rng(seed), 50_000)
    bounds = bounds_of(y, seed)
    assert clipped(y, bounds) <= 0.03
    assert bounds.high - bounds.low <= 2.5 * np.subtract(*np.quantile(y, [0.99, 0.01]))


@pytest.mark.parametrize("seed", SEEDS)
def test_few_rows_give_a_rough_norm(seed):
    X = rows(500)
    ratio = norm_of(X, seed) / np.quantile(np.linalg.norm(X, axis=1), 0.95)
    assert 0.5 <= ratio <= 4


def test_few_rows_give_a_rough_interval():
    """Most of the time: at n = 500 the noise of a count is about a tenth of all rows."""
    y = np.random.default_rng(0).uniform(35, 65, size=500)
    found = [bounds_of(y, seed) for seed in range(20)]
    good = [b for b in found if clipped(y, b) < 0.4 and b.high - b.low < 90]
    assert len(good) >= 14


@pytest.mark.parametrize("huge", [1e12, 1e300])
@pytest.mark.parametrize("seed", SEEDS)
def test_a_few_huge_rows_change_nothing(huge, seed):
    X, y = rows(5000), np.random.default_rng(0).normal(size=5000)
    spoilt_X, spoilt_y = X.copy(), y.copy()
    spoilt_X[:5], spoilt_y[:5] = huge, huge
    assert norm_of(X, seed) / STEP <= norm_of(spoilt_X, seed) <= STEP * norm_of(X, seed)
    clean, spoilt = bounds_of(y, seed), bounds_of(spoilt_y, seed)
    width = clean.high - clean.low
    assert abs(spoilt.low - clean.low) <= 0.5 * width
    assert abs(spoilt.high - clean.high) <= 0.5 * width


@pytest.mark.parametrize("budget", [1.0, 1e6])
def test_a_few_huge_rows_change_nothing_although_they_are_visible(budget):
    X = rows(1000)
    X[:5] = 1e12
    assert norm_of(X, epsilon=budget) < 10


def test_rows_of_zeros_give_the_public_norm_without_a_complaint():
    assert norm_of(np.zeros((5000, 9))) == 3.0
    assert 0 < bounds_of(np.zeros(5000)).high < 1e-12


def test_amounts_among_many_zeros_are_not_taken_for_zeros_in_silence():
    rng = np.random.default_rng(0)
    # Of four in ten rows that are spread over twenty powers of ten.
    y = np.where(rng.random(800) < 0.6, 0.0, 10.0 ** rng.uniform(-10, 10, size=800))
    for seed in SEEDS:
        with pytest.warns(UserWarning, match="model can only predict 0. Pass target_bounds"):
            assert bounds_of(y, seed) == unseen_targets(centred=True)


@pytest.mark.parametrize("constant", [42.0, -1e-6, 1e9])
def test_a_constant_target_lies_inside_an_interval(constant):
    for seed in SEEDS:
        bounds = bounds_of(np.full(20_000, constant), seed)
        assert bounds.low <= constant <= bounds.high
        assert 0 < bounds.half_width <= 0.1 * abs(constant)


@pytest.mark.parametrize("size", [1e-40, 1e-29, 1e29, 1e40, 1e200])
def test_sizes_at_and_beyond_the_ends_of_the_grid_give_valid_bounds(size):
    assert 0 < norm_of(np.full((2000, 1), size)) < np.inf
    for sign in (-1, 1):
        bounds = bounds_of(np.full(2000, sign * size))
        assert -np.inf < bounds.low < bounds.high < np.inf


@pytest.mark.parametrize("n", [1, 2, 30])
def test_too_few_rows_warn_and_give_the_public_fallback(n):
    with pytest.warns(UserWarning, match="Pass data_norm"):
        assert norm_of(np.full((n, 4), 1e6)) == 2.0
    with pytest.warns(UserWarning, match="Pass target_bounds"):
        assert bounds_of(np.full(n, 1e6)) == unseen_targets(centred=True)


def test_noise_alone_is_not_taken_for_rows():
    """The threshold lets noise alone pass less often than once in 10000 looks."""
    looks = 2500
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for seed in range(looks):
            norm_of(np.ones((1, 4)), seed)
    # At a rate of 1e-4, more than 3 false alarms have a chance of 1.4e-4.
    assert len(caught) >= looks - 3


@pytest.mark.parametrize("seed", SEEDS)
def test_one_row_is_enough_if_noise_is_no_object(seed):
    found = norm_of([[3.0, 4.0]], seed, epsilon=1e7)
    assert 5 <= found <= 5 * STEP
    bounds = bounds_of([7.0], seed, epsilon=1e7)
    assert bounds.low <= 7 <= bounds.high
    assert bounds.high - bounds.low < 0.2


def test_more_noise_under_replace_one_than_under_zero_out():
    """What the functions know of the noise follows the adjacency, so both find the same."""
    X = rows(20_000)
    zero_out = norm_of(X, adjacency=Adjacency.ZERO_OUT)
    assert 1 / STEP <= zero_out / norm_of(X) <= STEP


@pytest.mark.parametrize("centred", [True, False])
def test_the_request_for_centring_is_passed_on(centred):
    assert bounds_of(np.ones(5000), centred=centred).centred is centred
    with pytest.warns(UserWarning, match="Pass target_bounds"):
        assert bounds_of(np.ones(5), centred=centred).centred is centred


@pytest.mark.parametrize("n", [1, 500, 20_000])
@pytest.mark.parametrize("amount", [1e-6, 1e-3, 1.0])
def test_no_more_than_the_budget_is_spent_and_results_depend_on_answers_alone(n, amount):
    X, y = rows(n, d=4), 2000 + rows(n, d=1)[:, 0]

    def find(oracle):
        return (
            private_data_norm(oracle, Budget(amount), n, 4),
            private_target_bounds(oracle, Budget(amount), n, centred=True),
        )

    transcript, first, second = Transcript(), Ledger(30.0, 1e-5), Ledger(30.0, 1e-5)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        found = find(
            RecordingOracle(DenseRows(X, y), first, Adjacency.REPLACE_ONE, seeded(0), transcript)
        )
        replay = ReplayOracle(second, Adjacency.REPLACE_ONE, transcript)
        assert find(replay) == found
    assert replay.finished()
    assert 0 < first.total <= 2 * amount
    assert first.receipt() == second.receipt()
    assert {event.query for event in first.receipt()} == {"histogram"}


@pytest.mark.parametrize("unit", [1e-9, 1.0, 1e9])
def test_targets_of_which_nothing_is_seen_are_predicted_as_zero(unit):
    """Bounds of a size of their own would bring noise of that size into small targets."""
    X = rows(20, d=3)
    model = DPLinearRegression(epsilon=1.0, data_norm=3.0)
    with pytest.warns(UserWarning, match="model can only predict 0. Pass target_bounds"):
        model.fit(X, unit * X[:, 0])
    assert np.all(np.abs(model.predict(X)) < 1e-20)
    assert "histogram" not in {event.query for event in model.privacy_ledger_}


def test_few_rows_set_aside_what_bounds_of_targets_take():
    """With 4 % of the budget noise would hide targets in so few rows."""
    X = rows(300, d=3)
    model = DPLinearRegression(epsilon=1.0, data_norm=3.0).fit(X, 2000 + X[:, 0])
    assert 0.1 < dict(model.plan_.bounds)["target_bounds"] <= 0.5
    # One bin of sizes holds all of them, which is seen by nine standard deviations.
    assert model.target_bounds_[1] > 100


def test_a_stream_looks_again_until_it_has_seen_targets():
    X = rows(4020, d=3)
    y = 1e6 * (5 + X[:, 0])
    stream = DPLinearRegression(data_norm=3.0, solver=Blocks(first=20, ratio=201))
    with pytest.warns(UserWarning, match="can only predict 0"):
        stream.partial_fit(X[:20], y[:20])
    assert stream.target_bounds_[1] < 1e-20
    stream.partial_fit(X[20:], y[20:])
    assert stream.score(X, y) > 0.5
    assert stream.privacy_spent_.epsilon <= 1.0


@pytest.mark.filterwarnings("ignore::skdp.SeededNoiseWarning", "ignore:.*predict 0:UserWarning")
def test_what_a_stream_looks_for_again_is_charged_and_told_by_answers_alone():
    X = rows(4020, d=3)
    ends = slice(0, 20), slice(20, 4020)
    calls = [(X[part], 1e6 * (5 + X[part, 0])) for part in ends]
    others = [(np.ones_like(X[part]), np.full(len(X[part]), -1e-3)) for part in ends]
    solver = Blocks(first=20, ratio=201, largest=4000, solver=GD(steps=2))
    first, second = (
        DPLinearRegression(data_norm=3.0, solver=solver, random_state=0) for _ in range(2)
    )
    few, many = (record(lambda call=call: first.partial_fit(*call)) for call in calls)
    assert ["histogram" in {name for name, *_ in asked} for asked in (few, many)] == [False, True]
    check_parts(first)
    for transcript, call in zip((few, many), others, strict=True):
        replay(lambda call=call: second.partial_fit(*call), transcript)
    assert first.target_bounds_ == second.target_bounds_
    assert first.target_bounds_[1] > 1e6
    assert first.privacy_ledger_ == second.privacy_ledger_
    # What has been seen is not looked for once more.
    more = record(lambda: first.partial_fit(rows(4000, d=3), np.zeros(4000)))
    assert more.entries
    assert all(name != "histogram" for name, *_ in more)


def test_a_stream_does_not_look_for_bounds_that_are_given():
    """Also if they are those that stand for targets of which nothing was seen."""
    low, high = unseen_targets(centred=True).ends
    model = DPLinearRegression(data_norm=3.0, target_bounds=(low, high), solver=GD(steps=2))
    for seed in range(2):
        model.partial_fit(rows(40, d=3, seed=seed), np.zeros(40))
        assert model.plan_.bounds == ()
    assert model.target_bounds_ == (low, high)
