"""The private lasso: the objective in the user's units, sparsity, bounds, and the receipt."""

from math import sqrt

import numpy as np
import pytest
from sklearn.linear_model import Lasso, LinearRegression

from skdp import DPLassoRegressor, DPLinearRegression, SeededNoiseWarning
from skdp.privacy.accounting import zcdp
from skdp.solvers import GD, Screening
from skdp.testing import exact_fit

N, D = 2000, 60


def data(seed=0, n=N, d=D, unit=1.0, shift=0.0):
    """Features in [-1, 1], of which three matter; targets of any unit."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, size=(n, d))
    y = X[:, [1, 5, 7]] @ [1.0, -0.8, 0.6] + 0.2 * rng.normal(size=n)
    return X, unit * y + shift


def bounds(y):
    """As wide as the targets need, and not symmetric about their mean."""
    return float(np.floor(y.min())), float(np.ceil(y.max())) + 1.0


# So many stable steps that they reach the optimum, without clipping.
PRECISE = GD(steps=1500, total_step_size=15_000.0, clip=40.0, momentum=0.9, average=0.05)


@pytest.mark.nightly
@pytest.mark.parametrize("solver", [PRECISE, "auto"], ids=["gd", "auto"])
@pytest.mark.parametrize(("unit", "shift"), [(1.0, 0.0), (30.0, -70.0)])
@pytest.mark.parametrize("positive", [False, True])
@pytest.mark.parametrize("fit_intercept", [False, True])
def test_a_huge_budget_gives_the_solution_of_scikit_learn(
    solver, unit, shift, positive, fit_intercept
):
    X, y = data(unit=unit, shift=shift if fit_intercept else 0.0, d=8)
    alpha = 0.05 * unit
    shared = {"alpha": alpha, "positive": positive, "fit_intercept": fit_intercept}
    # The default takes more steps the larger the budget.
    epsilon = 1e9 if solver is PRECISE else 1e4
    model = DPLassoRegressor(
        epsilon=epsilon, data_norm=sqrt(8), target_bounds=bounds(y), solver=solver, **shared
    ).fit(X, y)
    best = Lasso(**shared, tol=1e-10).fit(X, y)
    scale = np.abs(best.coef_).max()
    # The clip of tracked_gd leaves out few residuals, but some.
    tolerance = 1e-3 if solver is PRECISE else 1e-2
    np.testing.assert_allclose(model.coef_, best.coef_, atol=tolerance * scale)
    assert model.intercept_ == pytest.approx(best.intercept_, abs=tolerance * scale)
    np.testing.assert_array_equal(model.coef_ == 0, best.coef_ == 0)


def of_rare_categories(n=20_000, categories=40):
    """Rows of norm 1 with a column a category, most of them rare, and skewed targets."""
    rng = np.random.default_rng(0)
    shares = 1 / np.arange(1, categories + 1) ** 2
    codes = rng.choice(categories, n, p=shares / shares.sum())
    numbers = np.clip(rng.normal(size=(n, 4)), -3, 3) / 3
    X = np.hstack([numbers, codes[:, None] == np.arange(categories)])
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    return X, X @ rng.normal(size=X.shape[1]) + rng.exponential(size=n)


@pytest.mark.parametrize("epsilon", [16.0, 64.0, 256.0])
@pytest.mark.parametrize("alpha", [0.0, 3e-3, None], ids=["lasso of 0", "lasso", "linear"])
def test_targets_in_a_corner_of_their_bounds_are_fitted_as_scikit_learn_does(alpha, epsilon):
    """Rare categories would stay in the middle of the bounds, or swing, as their rows are cut."""
    X, y = of_rare_categories()
    best = (Lasso(alpha) if alpha else LinearRegression()).fit(X, y).score(X, y)
    model = DPLinearRegression() if alpha is None else DPLassoRegressor(alpha=alpha)
    settings = {"epsilon": epsilon, "delta": 1e-5, "data_norm": 1.0, "random_state": 0}
    model.set_params(target_bounds=(-10, 150), **settings)
    with pytest.warns(SeededNoiseWarning):
        model.fit(X, y)
    assert model.score(X, y) > best - 0.01


def test_selects_what_matters_and_nothing_else_is_stored():
    X, y = data(n=8000, d=200)
    model = DPLassoRegressor(
        epsilon=2.0, feature_bound=1.0, target_bounds=(-3, 3), solver=Screening(k=6)
    )
    model.fit(X, y)
    assert {1, 5, 7} <= set(np.flatnonzero(model.coef_))
    assert np.count_nonzero(model.coef_) == model.sparse_coef_.nnz == 6
    assert model.sparse_coef_.shape == (1, 200)
    np.testing.assert_array_equal(model.sparse_coef_.toarray()[0], model.coef_)
    assert model.score(X, y) > 0.8


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"feature_bound": 0.5}, 0.5 * sqrt(D)),
        ({"feature_bound": 0.5, "data_norm": 2.0}, 2.0),
        ({"data_norm": 2.0}, 2.0),
    ],
)
def test_a_bound_on_features_bounds_rows_without_cost(given, expected):
    X, y = data(n=200)
    model = DPLassoRegressor(target_bounds=(-3, 3), **given).fit(X, y)
    assert model.data_norm_ == pytest.approx(expected)
    assert "histogram" not in {event.query for event in model.privacy_ledger_}


def test_without_bounds_a_share_of_the_budget_finds_them():
    X, y = data(n=8000)
    model = DPLassoRegressor(epsilon=2.0).fit(X, y)
    assert "histogram" in {event.query for event in model.privacy_ledger_}
    assert model.score(X, y) > 0.5


@pytest.mark.parametrize("adjacency", ["replace_one", "zero_out"])
@pytest.mark.parametrize("feature_bound", [None, 1.0])
def test_the_receipt_alone_gives_the_spend(adjacency, feature_bound):
    X, y = data(n=500)
    model = DPLassoRegressor(
        epsilon=0.7,
        delta=1e-6,
        data_norm=8.0,
        feature_bound=feature_bound,
        target_bounds=(-3, 3),
        adjacency=adjacency,
    ).fit(X, y)
    parts = {"gaussian": 2, "exponential": 8}
    rho = sum(
        e.count * (e.sensitivity / e.noise_scale) ** 2 / parts[e.mechanism]
        for e in model.privacy_ledger_
    )
    assert zcdp.epsilon(rho, 1e-6) == pytest.approx(0.7, rel=1e-6)
    assert model.privacy_spent_ == (0.7, 1e-6)


def test_without_noise_the_best_features_are_selected():
    X, y = data(d=200)
    model = DPLassoRegressor(
        epsilon=0.1, feature_bound=1.0, target_bounds=(-3, 3), solver=Screening(k=3, rounds=1)
    )
    receipt = exact_fit(model, X, y)
    np.testing.assert_array_equal(np.flatnonzero(model.coef_), [1, 5, 7])
    assert receipt.spent().epsilon == np.inf


@pytest.mark.parametrize("n", [1, 2, 3])
def test_few_rows_and_a_tiny_budget_give_a_finite_model(n):
    X, y = data(n=n)
    model = DPLassoRegressor(epsilon=1e-6, feature_bound=1.0, target_bounds=(-3, 3)).fit(X, y)
    assert np.isfinite(model.coef_).all()
    assert np.count_nonzero(model.coef_) <= 2


@pytest.mark.parametrize(
    "wrong", [{"alpha": -1.0}, {"feature_bound": 0.0}, {"positive": 1}, {"target_bounds": 10}]
)
def test_parameters_are_checked(wrong):
    with pytest.raises(ValueError, match=f"'{next(iter(wrong))}' parameter of DPLassoRegressor"):
        DPLassoRegressor(**wrong).fit(*data(n=10))


@pytest.mark.parametrize(
    ("n", "d", "screened"), [(399, 20, False), (400, 20, True), (399, 21, True)]
)
def test_few_rows_of_few_features_are_not_screened(n, d, screened):
    X, y = data(n=n, d=d)
    model = DPLassoRegressor(epsilon=10.0, feature_bound=1.0, target_bounds=(-3, 3)).fit(X, y)
    assert ("gradient_and_share" in {event.query for event in model.privacy_ledger_}) == screened


def test_a_stream_bounds_rows_like_a_fit():
    """Where no row is looked at before the stream begins, the bound on entries says it all."""
    X = np.random.default_rng(0).uniform(-0.5, 0.5, size=(200, D))
    bounds = {"feature_bound": 0.5, "target_bounds": (-3, 3)}
    model = DPLassoRegressor(epsilon=2.0, **bounds, solver="ftrl", buffer=False).partial_fit(
        X, X[:, 0]
    )
    assert model.data_norm_ == 0.5 * sqrt(D)
    assert model._session._problem.bounds.data_norm == 0.5 * sqrt(D)
