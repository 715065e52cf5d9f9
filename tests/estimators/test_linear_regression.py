"""Preconditioned linear regression: units, penalties, fallbacks and clipped predictions."""

import numpy as np
import pytest
import scipy.sparse as sp
from by_night import by_night
from sklearn.base import clone
from sklearn.linear_model import Ridge

from skdp import DPLinearRegression
from skdp.privacy.accounting import gdp
from skdp.problem.constraints import L2Ball
from skdp.solvers import GD, TrackedGD
from skdp.solvers.preconditioning import IterativeWhitening

pytestmark = pytest.mark.filterwarnings("ignore::skdp.SeededNoiseWarning")

N = 2000
CONDITIONED = {"second_moments", "gradient_sizes", "gradient_and_share"}
# Where there is an intercept, so is the mean of the targets at the start.
STARTED = CONDITIONED | {"intercept_gradient"}
# Offset and scale of the predictions are asked for besides where no penalty is given.
CALIBRATED = STARTED | {"gradient"}


def make_data():
    """Features of different sizes, one of them nearly a copy of another, and a constant far off."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(N, 4)) * [1.0, 1.0, 0.1, 0.3]
    X[:, 1] = X[:, 0] + 0.1 * X[:, 1]
    return X, X @ [1.0, -2.0, 5.0, 0.0] + 20.0 + 0.3 * rng.normal(size=N)


X, Y = make_data()
BOUNDS = (15.0, 25.0)


def regression(**options):
    given = {"data_norm": 2.0, "target_bounds": BOUNDS, "random_state": 0, "precondition": "auto"}
    return DPLinearRegression(**(given | options))


def queries(model):
    """Queries of a fit, but for the look at whether the target bounds that were given suit."""
    asked = {event.query for event in model.privacy_ledger_}
    checks = "check of target_bounds" in dict(model.plan_.bounds)
    return asked - {"histogram"} if checks else asked


@pytest.mark.nightly
@pytest.mark.parametrize("fit_intercept", [True, *by_night(False)])
@pytest.mark.parametrize("alpha", [10.0, *by_night(0.0, 1000.0)])
def test_alpha_means_what_it_does_in_ridge(alpha, fit_intercept):
    y = Y if fit_intercept else Y - 20.0
    bounds = BOUNDS if fit_intercept else (-5.0, 5.0)
    model = regression(
        epsilon=1e6, alpha=alpha, fit_intercept=fit_intercept, target_bounds=bounds
    ).fit(X, y)
    exact = Ridge(alpha, fit_intercept=fit_intercept).fit(X, y)
    started = STARTED if alpha else CALIBRATED
    assert queries(model) == (started if fit_intercept else CONDITIONED)
    assert model.privacy_spent_.epsilon == pytest.approx(1e6, rel=1e-3)
    np.testing.assert_allclose(model.coef_, exact.coef_, atol=2e-3)
    np.testing.assert_allclose(model.intercept_, exact.intercept_, atol=1e-3)


def test_unclipped_predictions_are_linear_in_the_features_as_they_came():
    model = regression(clip_predictions=False).fit(X, Y)
    far = 100 * X
    np.testing.assert_array_equal(model.predict(far), far @ model.coef_ + model.intercept_)
    assert model.predict(far).max() > BOUNDS[1]


@pytest.mark.parametrize("given", [BOUNDS, None])
def test_predictions_are_clipped_to_the_bounds_of_targets(given):
    model = regression(target_bounds=given, epsilon=4.0).fit(X, Y)
    low, high = model.target_bounds_
    assert low < high
    assert given is None or (low, high) == given
    predicted = model.predict(100 * X)
    assert predicted.min() == low
    assert predicted.max() == high
    linear = X @ model.coef_ + model.intercept_
    np.testing.assert_array_equal(model.predict(X), np.clip(linear, low, high))


def test_it_learns_what_descent_in_the_coordinates_given_does_not():
    plain = regression(precondition=None).fit(X, Y)
    assert queries(plain) == {"gradient", "intercept_gradient"}
    assert regression().fit(X, Y).score(X, Y) > plain.score(X, Y) + 0.03


@pytest.mark.parametrize(
    ("options", "rows"),
    [
        ({"constraint": L2Ball(10.0)}, X),
        ({}, sp.csr_array((N, 1001))),
        ({"epsilon": 0.05}, X),
        ({"solver": "gd"}, X),
        ({"solver": GD(steps=10)}, X),
    ],
    ids=["constraint", "wide", "little budget", "gd", "configured gd"],
)
def test_auto_leaves_the_coordinates_alone_where_others_would_not_help(options, rows):
    asked = queries(regression(**options).fit(rows, Y))
    assert "gradient" in asked
    assert "second_moments" not in asked


def test_full_conditions_whatever_the_budget_and_the_solver():
    assert queries(regression(precondition="full", epsilon=0.05).fit(X, Y)) == CONDITIONED
    model = regression(precondition="full", solver=GD(steps=10)).fit(X, Y)
    assert queries(model) == {"second_moments", "gradient"}


@pytest.mark.parametrize(
    ("options", "rows", "complaint"),
    [
        ({"constraint": L2Ball(10.0)}, X, "IterativeWhitening needs a ridge penalty or none"),
        (
            {},
            sp.csr_array((N, 1001)),
            "IterativeWhitening mixes features and so needs dense rows, or sparse",
        ),
    ],
    ids=["constraint", "wide"],
)
def test_full_refuses_what_it_cannot_condition(options, rows, complaint):
    model = regression(precondition="full", **options)
    with pytest.raises(ValueError, match=complaint):
        model.fit(rows, Y)
    assert not hasattr(model, "privacy_ledger_")


def test_looks_and_solver_take_hyperparameters():
    whitening = IterativeWhitening(iterations=1)
    model = regression(precondition=whitening, solver=TrackedGD(steps=30)).fit(X, Y)
    counts = dict.fromkeys(CONDITIONED, 0)
    for event in model.privacy_ledger_:
        counts[event.query] += event.count
    assert counts == {"second_moments": 1, "gradient_sizes": 1, "gradient_and_share": 30}
    assert model.n_iter_ == 30


@pytest.mark.parametrize("mu", [0.33, 0.4])
def test_a_budget_that_tells_little_of_coordinates_is_not_spent_on_them(mu):
    """Where noise was most of what was told of them, every third fit learned nothing."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(331, 15))
    y = X @ rng.normal(size=15) + 2 * rng.normal(size=331)
    model = DPLinearRegression(
        epsilon=gdp.epsilon(mu, 1e-5), delta=1e-5, data_norm=5.5, target_bounds=(-16.0, 16.0)
    )
    fits = [clone(model).set_params(random_state=seed).fit(X, y) for seed in range(12)]
    assert min(fit.score(X, y) for fit in fits) > 0.3
