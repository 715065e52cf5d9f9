"""Weights of rows mean what they mean to scikit-learn, up to the public bound on them."""

from inspect import signature

import numpy as np
import pytest
from sklearn.linear_model import Lasso, LogisticRegression, Ridge
from sklearn.svm import LinearSVC

from skdp import DPLassoRegressor, DPLinearRegression, DPLogisticRegression, DPSVMClassifier
from skdp.solvers import DDA, GD, SVRG
from skdp.testing import exact_fit

pytestmark = [
    pytest.mark.filterwarnings("ignore::skdp.SeededNoiseWarning"),
    # One of the bounds is far above them.
    pytest.mark.filterwarnings("ignore:The weights of all rows add up"),
]

N, D = 200, 3
# Many stable steps without clipping.
PRECISE = GD(steps=1500, total_step_size=8000.0, clip=10.0, momentum=0.9, average=0.05)
# Up to scikit-learn 1.7 the penalty is named, since then l1_ratio says it all.
_PENALTY = signature(LogisticRegression).parameters.get("penalty")
NAMED = {"penalty": "elasticnet"} if _PENALTY is not None and _PENALTY.default == "l2" else {}


def make_data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, D))
    z = X @ [1.0, -0.5, 0.2] + 0.7
    several = (X @ rng.normal(size=(D, 3)) + rng.gumbel(size=(N, 3))).argmax(axis=1)
    y = (z + rng.logistic(size=N) > 0).astype(int)
    # Of a size that depends on the row, so that the optimum is far from that without weights.
    weights = np.where(X[:, 1] > 0.3, rng.uniform(1.5, 3.0, N), rng.uniform(0, 0.5, N))
    weights[:20] = 0.0
    return X, y, several, 3 * z + 2 * X[:, 0] ** 2 + rng.normal(size=N), weights


X, BINARY, SEVERAL, REAL, WEIGHTS = make_data()
LONGEST = float(np.linalg.norm(X, axis=1).max())
BOUNDS = {"data_norm": LONGEST, "target_bounds": (-20.0, 40.0)}
CLASSES = {"data_norm": LONGEST, "classes": [0, 1]}
# Weights that reach the bound, that stay below it, and that go beyond.
BOUNDS_ON_WEIGHTS = pytest.mark.parametrize("max_weight", [3.0, 20.0, 1.2])
NO_CONDITIONING = {"precondition": None}


def without_noise(model, y, max_weight):
    # At this budget what the rows weigh together is known but for rounding, and noise, as far as
    # which solutions are taken back, is small also where weights are a twentieth of the largest.
    model.set_params(epsilon=1e5, max_weight=max_weight)
    exact_fit(model, X, y, sample_weight=WEIGHTS)
    return model


def counted(max_weight):
    return np.minimum(WEIGHTS, max_weight)


def assert_same(ours, theirs, tol=5e-4):
    scale = np.abs(theirs.coef_).max()
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=tol * scale)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, atol=tol * scale)


@BOUNDS_ON_WEIGHTS
@pytest.mark.parametrize(
    "options",
    [{"C": 0.1}, {"C": 0.1, "class_weight": {0: 0.5, 1: 2.0}}, {"C": 0.2, "l1_ratio": 0.5}],
    ids=str,
)
def test_logistic_regression_is_that_of_scikit_learn(options, max_weight):
    elastic = {"solver": "saga", "random_state": 0} | NAMED if "l1_ratio" in options else {}
    theirs = LogisticRegression(**options, **elastic, tol=1e-10, max_iter=50_000)
    theirs.fit(X, BINARY, counted(max_weight))
    ours = DPLogisticRegression(solver=PRECISE, **CLASSES, **NO_CONDITIONING, **options)
    assert_same(without_noise(ours, BINARY, max_weight), theirs)


@pytest.mark.nightly
def test_multinomial_regression_is_that_of_scikit_learn():
    theirs = LogisticRegression(C=0.1, tol=1e-10).fit(X, SEVERAL, WEIGHTS)
    given = {"data_norm": LONGEST, "classes": [0, 1, 2], "C": 0.1, **NO_CONDITIONING}
    ours = without_noise(DPLogisticRegression(solver=PRECISE, **given), SEVERAL, 3.0)
    # Softmax does not see a constant that is added to all intercepts.
    theirs.intercept_ -= theirs.intercept_.mean()
    ours.intercept_ -= ours.intercept_.mean()
    assert_same(ours, theirs)


@pytest.mark.nightly
@BOUNDS_ON_WEIGHTS
@pytest.mark.parametrize("alpha", [0.0, 5.0])
def test_linear_regression_is_that_of_scikit_learn(alpha, max_weight):
    theirs = Ridge(alpha=alpha).fit(X, REAL, counted(max_weight))
    for solver, tol in ((PRECISE, 5e-4), ("adassp", 2e-4), ("tracked_gd", 0.02)):
        ours = DPLinearRegression(alpha=alpha, solver=solver, **BOUNDS)
        assert_same(without_noise(ours, REAL, max_weight), theirs, tol)


@pytest.mark.nightly
@BOUNDS_ON_WEIGHTS
def test_support_vector_machine_is_that_of_scikit_learn(max_weight):
    theirs = LinearSVC(C=0.1, dual=False, intercept_scaling=1e3, tol=1e-10, max_iter=100_000)
    theirs.fit(X, BINARY, counted(max_weight))
    ours = DPSVMClassifier(C=0.1, solver=PRECISE, **CLASSES, **NO_CONDITIONING)
    assert_same(without_noise(ours, BINARY, max_weight), theirs)


@pytest.mark.nightly
@BOUNDS_ON_WEIGHTS
@pytest.mark.parametrize("solver", [PRECISE, "screening"], ids=["gd", "screening"])
def test_lasso_is_that_of_scikit_learn_which_divides_by_the_sum_of_weights(solver, max_weight):
    theirs = Lasso(alpha=0.3, tol=1e-12).fit(X, REAL, counted(max_weight))
    ours = without_noise(DPLassoRegressor(alpha=0.3, solver=solver, **BOUNDS), REAL, max_weight)
    # A total is rounded to a whole number of rows. Screening clips few residuals, but some.
    assert_same(ours, theirs, 0.01 if solver is PRECISE else 0.03)


@pytest.mark.parametrize(
    "solver",
    [
        "objective_perturbation",
        DDA(rounds=600, total_step_size=4000.0, clip=10.0),
        SVRG(total_step_size=2000.0),
    ],
    ids=["one shot", "sites", "svrg"],
)
def test_other_solvers_know_them_too(solver):
    # Whether sums are divided by the number of rows or by what they weigh, the minimum is one.
    if isinstance(solver, DDA):
        solver = DDA(**{**solver.get_params(), "n_nodes": 4, "noise": "central"})
    theirs = LogisticRegression(C=0.1, tol=1e-10).fit(X, BINARY, WEIGHTS)
    ours = DPLogisticRegression(C=0.1, solver=solver, **CLASSES, **NO_CONDITIONING)
    assert_same(without_noise(ours, BINARY, 3.0), theirs, 0.02)


def make(solver, **options):
    return DPLinearRegression(epsilon=1e4, alpha=1.0, solver=solver, **BOUNDS, **options)


@pytest.mark.parametrize("solver", [PRECISE, "auto"], ids=["gd", "auto"])
@pytest.mark.by_day(1)
def test_rows_of_no_weight_leave_no_trace(solver):
    # Neither in coefficients nor in coordinates, clips and bounds that are sought.
    model = make(solver).set_params(data_norm=None, target_bounds=None)
    rng = np.random.default_rng(1)
    garbage = 1e3 * rng.normal(size=(N, D)), 1e3 * rng.normal(size=N)
    rows = np.vstack([X, garbage[0]]), np.append(REAL, garbage[1])
    exact_fit(model, *rows, sample_weight=np.repeat([1.0, 0.0], N))
    alone = make(solver).set_params(data_norm=None, target_bounds=None)
    exact_fit(alone, X, REAL, sample_weight=1.0)
    assert model.data_norm_ == pytest.approx(alone.data_norm_)
    assert model.target_bounds_ == pytest.approx(alone.target_bounds_)
    assert_same(model, alone, 1e-3)


def test_whole_weights_are_repeated_rows():
    times = np.arange(N) % 4
    rows = np.repeat(X, times, axis=0), np.repeat(REAL, times)
    for solver in (PRECISE, "adassp"):
        weighted, repeated = make(solver, max_weight=3.0), make(solver)
        exact_fit(weighted, X, REAL, sample_weight=times)
        exact_fit(repeated, *rows)
        assert_same(weighted, repeated)


@pytest.mark.nightly
def test_a_common_factor_of_weights_and_penalty_and_their_bound_changes_nothing():
    one, other = make("auto", max_weight=3.0), make("auto", max_weight=3e-7)
    exact_fit(one, X, REAL, sample_weight=WEIGHTS)
    exact_fit(other.set_params(alpha=1e-7), X, REAL, sample_weight=1e-7 * WEIGHTS)
    np.testing.assert_allclose(one.coef_, other.coef_, rtol=1e-6)
