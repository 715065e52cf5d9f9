"""Models are not worse than a constant, and tend to those without privacy as the budget grows."""

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression

import skdp
from skdp import (
    DPLassoRegressor,
    DPLinearRegression,
    DPLogisticRegression,
    DPPoissonRegressor,
    DPQuantileRegressor,
)
from skdp.estimators import TargetMean

pytestmark = [
    pytest.mark.filterwarnings("ignore::skdp.SeededNoiseWarning"),
    pytest.mark.filterwarnings("ignore::skdp.BudgetWarning"),
]

BOUNDS = {"data_norm": 1.0, "target_bounds": (-1.0, 1.0), "delta": 1e-6}


def rows(n, d, seed):
    X = np.random.default_rng(seed).normal(size=(n, d))
    return X / np.linalg.norm(X, axis=1, keepdims=True)


def ratios(make, n, d, epsilon, seeds=12, kind=DPLinearRegression):
    """Mean squared error over that of the middle of the bounds, on fresh rows, for each seed."""
    out = []
    for seed in range(seeds):
        X = rows(n + 2000, d, seed)
        y = make(X, np.random.default_rng(100 + seed))
        model = kind(epsilon=epsilon, random_state=seed, **BOUNDS).fit(X[:n], y[:n])
        error = model.predict(X[n:]) - y[n:].reshape(2000, *y.shape[1:])
        out.append(np.mean(error**2) / np.mean(y[n:] ** 2))
    return np.array(out)


def no_signal(X, rng):
    return rng.uniform(-0.5, 0.5, size=len(X))


@pytest.mark.parametrize("epsilon", [0.01, 0.1, 0.5, 1.0, 3.0])
@pytest.mark.parametrize(("n", "d"), [(200, 3), (500, 10), (1000, 30)])
def test_targets_without_a_signal_cost_next_to_nothing(n, d, epsilon):
    found = ratios(no_signal, n, d, epsilon)
    # Of the mean over seeds, which are fixed.
    error = found.std(ddof=1) / np.sqrt(len(found))
    # Least squares without noise is worse than a constant by this.
    assert found.mean() <= 1.05 + (d + 1) / n + 2 * error


@pytest.mark.parametrize("kind", [DPLinearRegression, DPLassoRegressor])
def test_nor_do_they_for_the_lasso_or_several_targets(kind):
    several = kind is DPLinearRegression
    found = ratios(
        lambda X, rng: rng.uniform(-0.5, 0.5, size=(len(X), 3) if several else len(X)),
        *(300, 5, 0.1),
        kind=kind,
    )
    assert found.mean() <= 1.05 + 2 * found.std(ddof=1) / np.sqrt(len(found))


def narrow(X, rng):
    return 0.1 * rng.normal(size=len(X))


@pytest.mark.parametrize(
    ("n", "d", "epsilon", "kind"),
    [
        (2000, 10, 0.2, DPLinearRegression),
        (5000, 60, 0.5, DPLinearRegression),
        (2000, 10, 0.01, DPLassoRegressor),
        (1000, 30, 0.1, DPLassoRegressor),
    ],
)
def test_nor_do_targets_far_narrower_than_their_bounds(n, d, epsilon, kind):
    found = ratios(narrow, n, d, epsilon, kind=kind)
    assert found.mean() <= 1.05 + (d + 1) / n + 2 * found.std(ddof=1) / np.sqrt(len(found))


def with_signal(X, rng):
    d = X.shape[1]
    slopes = np.where(np.arange(d) % 2, 0.3, -0.3)
    return np.clip(X @ slopes + 0.1 * rng.normal(size=len(X)), -1, 1)


@pytest.mark.parametrize(("n", "d", "most"), [(1000, 3, 0.5), (2000, 10, 0.4), (5000, 10, 0.26)])
def test_a_signal_is_learned(n, d, most):
    assert ratios(with_signal, n, d, 1.0, seeds=6).mean() < most


def test_an_offset_of_the_targets_is_learned_where_little_else_can_be():
    def offset(X, rng):
        return -0.6 + 0.05 * rng.normal(size=len(X))

    assert ratios(offset, 300, 5, 0.5, seeds=6).mean() < 0.1


def skewed(kind, seed, n=20_000, d=8):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, size=(n, d)) / np.sqrt(d)
    z = X @ np.linspace(-1, 1, d) * 2
    if kind == "exponential":
        return X, np.exp(z) * rng.exponential(1, n), (0, 40)
    return X, np.exp(z + 1.2 * rng.normal(size=n)), (0, 200)


@pytest.mark.parametrize("epsilon", [4.0, 16.0, 64.0])
@pytest.mark.parametrize("kind", ["exponential", "lognormal"])
def test_skewed_targets_are_fitted_near_least_squares(kind, epsilon):
    X, y, bounds = skewed(kind, 0)
    model = DPLinearRegression(
        epsilon=epsilon, delta=1e-6, data_norm=1.0, target_bounds=bounds, random_state=0
    ).fit(X, y)
    best = LinearRegression().fit(X, np.clip(y, *bounds))
    assert model.score(X, y) > best.score(X, y) - 0.01
    # The mean of what is predicted is that of the targets, and not their median.
    assert abs(model.predict(X).mean() - y.mean()) < 0.05 * y.mean()


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_rare_categories_are_not_left_behind_by_a_mean_far_from_the_middle(seed):
    rng = np.random.default_rng(seed)
    n, k = 30_000, 60
    # Some categories have thousands of rows and some have dozens.
    shares = np.geomspace(1.0, 2e-3, k)
    codes = rng.choice(k, size=n, p=shares / shares.sum())
    X = np.hstack([rng.uniform(-1, 1, size=(n, 2)), np.eye(k)[codes]]) / np.sqrt(3)
    y = 5 * X[:, 0] + rng.exponential(10, n)
    model = DPLinearRegression(
        epsilon=4.0, delta=1e-6, data_norm=1.0, target_bounds=(-10, 1000), random_state=seed
    ).fit(X, y)
    best = LinearRegression().fit(X, y)
    # Gone too far on the way they would be wrong by nearly all of the width of the bounds.
    assert model.score(X, y) > best.score(X, y) - 0.1
    assert np.abs(model.predict(X) - best.predict(X)).max() < 250


@pytest.mark.parametrize("epsilon", [64.0, 256.0])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_a_category_without_rows_is_given_no_prediction_far_from_all_others(seed, epsilon):
    rng = np.random.default_rng(seed)
    n, k = 20_000, 40
    shares = np.append(np.geomspace(1.0, 1e-3, k - 1), 0.0)
    codes = rng.choice(k, size=n, p=shares / shares.sum())
    X = np.hstack([rng.uniform(-1, 1, size=(n, 2)), np.eye(k)[codes]]) / np.sqrt(3)
    y = np.clip(5 * X[:, 0] + rng.exponential(10, n), -10, 1000)
    model = DPLinearRegression(
        epsilon=epsilon,
        delta=1e-6,
        data_norm=1.0,
        target_bounds=(-10, 1000),
        clip_predictions=False,
        random_state=seed,
    ).fit(X, y)
    unseen = np.hstack([np.zeros(2), np.eye(k)[-1]]) / np.sqrt(3)
    assert abs(model.predict(unseen[None])[0] - y.mean()) < 150


@pytest.mark.filterwarnings("ignore:Nearly all targets")
def test_bounds_that_are_far_too_wide_cost_nothing():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(20_000, 8)) / np.sqrt(8)
    y = X @ np.linspace(-2, 2, 8) + 0.3 * rng.normal(size=len(X))
    options = {"delta": 1e-6, "data_norm": 1.0, "random_state": 0, "epsilon": 1.0}
    wide, near = (
        DPLinearRegression(target_bounds=(-b, b), **options).fit(X, y).score(X, y)
        for b in (300.0, 4.0)
    )
    assert wide > near - 0.01


# Classes, counts and quantiles. Bounds are more than five standard errors above what is measured.


def log_losses(n, d, K, epsilon, slope, seeds=40):
    """Log-loss over that of equal frequencies, on fresh rows, for each seed."""
    out = []
    for seed in range(seeds):
        X, rng = rows(n + 500, d, seed), np.random.default_rng(100 + seed)
        scores = np.zeros((len(X), K))
        scores[:, 0] = slope * np.sqrt(d) * X[:, 0]
        y = np.argmax(scores + rng.gumbel(size=scores.shape), axis=1)
        model = DPLogisticRegression(
            epsilon=epsilon, data_norm=1.0, classes=list(range(K)), random_state=seed
        ).fit(X[:n], y[:n])
        chances = model.predict_proba(X[n:])[np.arange(500), y[n:]]
        out.append(-np.mean(np.log(chances)) / np.log(K))
    return np.array(out)


@pytest.mark.parametrize(
    ("n", "d", "K", "epsilon"),
    [
        (100, 5, 2, 0.05),
        (200, 10, 2, 0.5),
        (500, 5, 2, 0.5),
        (1000, 30, 2, 0.5),
        (200, 10, 3, 0.2),
        (1000, 30, 3, 0.5),
    ],
)
def test_labels_without_a_signal_cost_next_to_nothing(n, d, K, epsilon):
    assert log_losses(n, d, K, epsilon, 0.0).mean() < 1.09


@pytest.mark.parametrize(("n", "epsilon", "most"), [(500, 1.0, 0.85), (2000, 1.0, 0.65)])
def test_a_signal_in_labels_is_learned(n, epsilon, most):
    assert log_losses(n, 5, 2, epsilon, 4.0, seeds=10).mean() < most


@pytest.mark.parametrize(
    ("n", "epsilon", "most"), [(500, 0.1, 2.2), (500, 0.5, 1.4), (2000, 0.5, 1.3)]
)
def test_rare_events_have_about_their_rate_where_features_tell_nothing(n, epsilon, most):
    out = []
    for seed in range(30):
        X, y = rows(n, 5, seed), np.random.default_rng(100 + seed).poisson(0.07, size=n)
        model = DPPoissonRegressor(
            epsilon=epsilon, data_norm=1.0, target_bounds=(0, 6), random_state=seed
        ).fit(X, y)
        # Expected deviances of a rate of .07, up to what the counts alone contribute.
        mean, rate = np.maximum(model.predict(X), 1e-9), 0.07
        excess = np.mean(mean - rate + rate * np.log(rate / mean))
        out.append(1 + excess / (rate * np.log(1 / rate)))
    assert np.mean(out) < most


def test_quantiles_that_noise_hides_are_those_of_the_bounds():
    q = np.array([0.25, 0.5, 0.9])
    out = []
    for seed in range(30):
        X, y = rows(200, 5, seed), no_signal(np.zeros((200, 1)), np.random.default_rng(seed))
        model = DPQuantileRegressor(
            quantile=q, epsilon=0.02, data_norm=1.0, target_bounds=(-1, 1), random_state=seed
        ).fit(X, y)
        losses = [
            np.mean(np.maximum(q * (y[:, None] - z), (q - 1) * (y[:, None] - z)))
            for z in (model.predict(X), 2 * q - 1)
        ]
        out.append(losses[0] / losses[1])
    assert np.mean(out) < 1.25


# The release.


@pytest.mark.parametrize(
    ("kind", "width"),
    # Counts over their cap lie in [0, 1], and other targets in [-1, 1].
    [(DPLinearRegression, 2.0), (DPPoissonRegressor, 1.0)],
)
@pytest.mark.parametrize("adjacency", ["replace_one", "zero_out"])
def test_the_mean_costs_its_share_and_no_row_moves_it_further(kind, width, adjacency):
    X, rng = rows(300, 4, 0), np.random.default_rng(0)
    counts = kind is DPPoissonRegressor
    y = rng.poisson(2.0, size=300) if counts else with_signal(X, rng)
    bounds = {"target_bounds": (0, 6)} if counts else {}
    model = kind(epsilon=0.3, adjacency=adjacency, random_state=0, **BOUNDS | bounds)
    stage = skdp.plan(model, 300, 4).stage(TargetMean)
    model.fit(X, y)
    (event,) = [e for e in model.privacy_ledger_ if e.query == "intercept_gradient"]
    factor = width if adjacency == "replace_one" else width / 2
    assert event.sensitivity == pytest.approx(factor / 300, rel=1e-4)
    assert counts or 0.02 <= stage.share <= 0.5
    limit = model.plan_.ledger().remaining
    assert (event.sensitivity / event.noise_scale) ** 2 == pytest.approx(stage.share * limit)
    spent = sum(e.count * (e.sensitivity / e.noise_scale) ** 2 for e in model.privacy_ledger_)
    assert spent == pytest.approx(limit)


def test_a_rate_far_below_the_cap_is_told_as_far_as_noise_tells_it():
    n, rate = 20_000, 0.5
    X, y = rows(n, 4, 0), np.random.default_rng(0).poisson(rate, size=n)
    model = DPPoissonRegressor(
        epsilon=200.0, data_norm=1.0, delta=1e-6, target_bounds=(0, 5000), random_state=0
    )
    # A ten-thousandth of the cap, where all rates were once a thousandth at least.
    assert rate / 2 < model.fit(X, y).predict(X).mean() < 2 * rate


def test_the_mean_rate_leaves_something_of_a_budget_that_tells_nothing():
    X, y = rows(100, 3, 0), np.zeros(100)
    model = DPPoissonRegressor(
        epsilon=1e-10, data_norm=1.0, delta=1e-12, target_bounds=(0, 6), random_state=0
    )
    assert skdp.plan(model, 100, 3).stage(TargetMean).share < 1
    assert np.isfinite(model.fit(X, y).predict(X)).all()


@pytest.mark.parametrize(
    ("options", "n"),
    [({"fit_intercept": False}, 300), ({}, 1500), ({"solver": "svrg"}, 300)],
    ids=["no intercept", "few rows in private coordinates", "a solver that does not shrink"],
)
def test_no_mean_is_asked_for_where_nobody_starts_at_it(options, n):
    assert skdp.plan(DPLinearRegression(**options, **BOUNDS), n, 4).stage(TargetMean) is None


def test_weights_and_people_are_taken_along():
    X = rows(600, 4, 0)
    y = 0.5 + 0.01 * np.random.default_rng(0).normal(size=600)
    options = {"epsilon": 0.4, "random_state": 0, **BOUNDS}
    weighted = DPLinearRegression(**options).fit(X, y, sample_weight=np.full(600, 0.5))
    people = DPLinearRegression(**options).fit(X, y, privacy_unit=np.repeat(np.arange(300), 2))
    for model in (weighted, people):
        assert "intercept_gradient" in {e.query for e in model.privacy_ledger_}
        assert np.abs(model.predict(X) - 0.5).mean() < 0.25


@pytest.mark.parametrize("epsilon", [64.0, 256.0, 1024.0])
def test_categories_of_one_row_or_none_cost_next_to_nothing_at_huge_budgets(epsilon):
    # Least squares explains 2 % of targets whose noise is skewed. Half of the categories have no
    # rows and a quarter have one or two. Were such directions brought to the size of others, noise
    # would cost more than a tenth at epsilon 64. Where noise hides the whole model it is the mean.
    rng = np.random.default_rng(0)
    n, k = 8000, 40
    shares = np.arange(1, k) ** -3.0
    codes = rng.choice(k - 1, size=(n, 3), p=shares / shares.sum())
    X = np.eye(k)[codes].reshape(n, -1) / np.sqrt(3)
    y = 0.02 * rng.normal(size=(3, k))[np.arange(3), codes].sum(axis=1)
    y = np.clip(y + 0.06 * (rng.lognormal(size=n) - 1.6), -1, 1)
    for seed in range(4):
        model = DPLinearRegression(epsilon=epsilon, random_state=seed, **BOUNDS).fit(X, y)
        assert np.mean((model.predict(X) - y) ** 2) < 1.03 * np.var(y)


@pytest.mark.parametrize("epsilon", [64.0, 256.0])
def test_rare_categories_do_not_hide_a_signal_at_huge_budgets(epsilon):
    # Descent once swung along rows of rare categories until noise was all that was left.
    rng = np.random.default_rng(0)
    n, k = 20_000, 40
    shares = np.append(np.geomspace(1.0, 1e-3, k - 1), 0.0)
    codes = rng.choice(k, size=n, p=shares / shares.sum())
    X = np.hstack([rng.uniform(-1, 1, size=(n, 2)), np.eye(k)[codes]]) / np.sqrt(3)
    y = np.clip(20 * X[:, 0] + rng.exponential(10, n), -10, 1000)
    best = LinearRegression().fit(X, y).score(X, y)
    for seed in range(3):
        model = DPLinearRegression(
            epsilon=epsilon, delta=1e-6, data_norm=1.0, target_bounds=(-10, 1000), random_state=seed
        )
        assert model.fit(X, y).score(X, y) > best - 0.005
