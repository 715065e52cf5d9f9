"""Several targets at once: one budget, shapes as scikit-learn has them, and clear refusals."""

import pickle

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from examples_of_streams import Still
from sklearn.exceptions import DataConversionWarning
from sklearn.linear_model import LinearRegression
from sklearn.metrics import r2_score
from sklearn.utils import get_tags

import skdp
from skdp import DPLassoRegressor, DPLinearRegression, DPLogisticRegression
from skdp.privacy.accounting import gdp
from skdp.privacy.rows import Chunks
from skdp.problem.constraints import L2Ball
from skdp.solvers import TrackedGD

pytestmark = pytest.mark.filterwarnings("ignore::skdp.SeededNoiseWarning")

N, D, T = 3000, 4, 3
RNG = np.random.default_rng(0)
X = RNG.uniform(-1, 1, size=(N, D))
W = np.array([[1.0, -2.0, 0.5, 0.0], [0.0, 1.0, 1.0, -1.0], [2.0, 0.0, -0.5, 1.0]])
SHIFT = np.array([0.0, 5.0, -3.0])
Y = X @ W.T + SHIFT + 0.1 * RNG.normal(size=(N, T))
LOW, HIGH = SHIFT - 3.5, SHIFT + 3.5
NAMES = ["first", "second", "third"]
FRAME = pd.DataFrame(Y, columns=NAMES)


def model(**parameters):
    given = {"data_norm": 2.0, "target_bounds": (LOW, HIGH), "random_state": 0}
    return DPLinearRegression(**(given | parameters))


def quick(**parameters):
    return model(solver=TrackedGD(steps=5), precondition=None, **parameters)


def test_shapes_and_predictions_are_those_of_linear_regression():
    fitted, plain = model().fit(X, Y), LinearRegression().fit(X, Y)
    assert fitted.coef_.shape == plain.coef_.shape
    assert fitted.intercept_.shape == plain.intercept_.shape
    np.testing.assert_allclose(fitted.coef_, plain.coef_, atol=0.2)
    np.testing.assert_allclose(fitted.intercept_, plain.intercept_, atol=0.2)
    predicted = fitted.predict(X)
    expected = np.clip(X @ fitted.coef_.T + fitted.intercept_, LOW, HIGH)
    np.testing.assert_allclose(predicted, expected)
    assert fitted.score(X, Y) == pytest.approx(r2_score(Y, predicted))
    assert fitted.score(X, Y) > 0.95
    low, high = fitted.target_bounds_
    np.testing.assert_array_equal([low, high], [LOW, HIGH])


def test_one_budget_is_spent_whatever_the_number_of_targets():
    assert quick(delta=1e-5).fit(X, Y).privacy_spent_ == pytest.approx((1.0, 1e-5))
    found = quick(delta=1e-5, target_bounds=None, data_norm=None).fit(X, Y)
    spent = sum(e.count * (e.sensitivity / e.noise_scale) ** 2 for e in found.privacy_ledger_)
    assert spent <= gdp.mu(1.0, 1e-5) ** 2 * (1 + 1e-6)
    np.testing.assert_allclose(found.target_bounds_[0], Y.min(axis=0), atol=2.5)
    np.testing.assert_allclose(found.target_bounds_[1], Y.max(axis=0), atol=2.5)


def test_a_table_of_one_column_is_fitted_like_a_vector():
    bounds = {"target_bounds": (LOW[0], HIGH[0])}
    vector, table = quick(**bounds).fit(X, Y[:, 0]), quick(**bounds).fit(X, Y[:, :1])
    np.testing.assert_array_equal(table.coef_, vector.coef_[None])
    np.testing.assert_array_equal(table.intercept_, [vector.intercept_])
    np.testing.assert_array_equal(table.predict(X), vector.predict(X)[:, None])
    assert np.ndim(vector.intercept_) == 0


@pytest.mark.parametrize("solver", ["auto", "gd", "svrg"])
@pytest.mark.by_day(1)
def test_targets_fitted_together_beat_targets_that_share_out_the_budget(solver):
    """Means over fits; what is found out about the features is found once for all."""
    rng = np.random.default_rng(1)
    A = rng.normal(size=(8, 8)) * np.logspace(-1, 0, 8)
    Z = rng.normal(size=(1500, 8)) @ A
    targets = Z @ np.linalg.inv(A) + 0.3 * rng.normal(size=(1500, 8))
    facts = {"target_bounds": (-4, 4), "solver": solver, "delta": 1e-5}
    each = gdp.epsilon(gdp.mu(1.0, 1e-5) / np.sqrt(8), 1e-5)
    together, apart = [], []
    for seed in range(1):
        fit = DPLinearRegression(random_state=seed, **facts).fit(Z, targets)
        together.append(fit.score(Z, targets))
        apart.append(
            np.mean(
                [
                    DPLinearRegression(epsilon=each, random_state=10 * seed + k, **facts)
                    .fit(Z, targets[:, k])
                    .score(Z, targets[:, k])
                    for k in range(8)
                ]
            )
        )
    assert np.mean(together) > np.mean(apart) + 0.02


@pytest.mark.parametrize(
    "solver", ["adaptive_gd", "accmd", "blocks", "ftrl", "ppm", "spider", "frank_wolfe"]
)
@pytest.mark.by_day(3)
@pytest.mark.filterwarnings("ignore:DPLinearRegression. 'frank_wolfe' needs a bounded set")
def test_other_solvers_take_several_targets(solver):
    assert model(solver=solver, epsilon=8.0).fit(X, Y).score(X, Y) > 0.5


def test_dask_collections_are_fitted_predicted_and_scored():
    da = pytest.importorskip("dask.array")
    rows, targets = da.from_array(X, chunks=(1000, D)), da.from_array(Y, chunks=(1000, 1))
    fitted = quick().fit(rows, targets)
    np.testing.assert_allclose(fitted.coef_, quick().fit(X, Y).coef_, rtol=1e-6)
    np.testing.assert_allclose(fitted.predict(rows).compute(), fitted.predict(X))
    assert fitted.score(rows, targets) == pytest.approx(fitted.score(X, Y))


def test_bounds_go_by_name_for_all_targets_or_for_each():
    by_name = {name: (LOW[k], HIGH[k]) for k, name in enumerate(NAMES)}
    expected = quick().fit(X, Y)
    named = quick(target_bounds=dict(reversed(by_name.items()))).fit(X, FRAME)
    np.testing.assert_array_equal(named.coef_, expected.coef_)
    for_all = quick(target_bounds=(-6.5, 8.5)).fit(X, Y)
    np.testing.assert_array_equal(for_all.target_bounds_, [[-6.5] * T, [8.5] * T])


@pytest.mark.parametrize(
    ("bounds", "match"),
    [
        ([(0, 1), (0, 1), (0, 1)], "target_bounds=.*pairs"),
        (([0, 0], [1, 1]), "2 for the low ends of 3 targets"),
        (([0, 0, 1], [1, 1, 0]), "low < high"),
        ({"first": (0, 1)}, "pair for each column, got none for 'second', 'third'"),
        ((1, 0), "low < high"),
    ],
)
def test_other_bounds_are_refused(bounds, match):
    with pytest.raises(ValueError, match=match):
        quick(target_bounds=bounds).fit(X, FRAME)


def test_bounds_far_from_a_target_warn_of_that_target():
    further = np.array([0, 1000, 0])
    far = (LOW - further, HIGH + further)
    with pytest.warns(UserWarning, match="of column 1 of the targets"):
        model(target_bounds=far, epsilon=3.0).fit(X, Y)


def test_the_plan_is_known_beforehand():
    fitted = model().fit(X, Y)
    assert fitted.plan_.n_targets == T
    assert str(skdp.plan(model(), N, D, n_targets=T)) == str(fitted.plan_)
    assert "3 targets together" in str(fitted.plan_)
    for other in (DPLassoRegressor(), DPLogisticRegression(classes=[0, 1])):
        with pytest.raises(ValueError, match="n_targets=None"):
            skdp.plan(other, N, D, n_targets=T)


def test_models_travel_and_are_reported():
    fitted = quick().fit(X, Y)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(fitted)).predict(X), fitted.predict(X))
    predicted = fitted.predict(X)
    np.testing.assert_allclose(fitted.sparsify().predict(X), predicted)
    assert fitted.densify().coef_.shape == (T, D)
    assert '"epsilon"' in skdp.report(fitted).to_json()
    for y in (Y, Y[:, :1]):
        fitted = quick(target_bounds=(-1, 1)).fit(X, y)
        np.testing.assert_allclose(fitted.to_sklearn().predict(X), fitted.predict(X))
        assert fitted.to_sklearn().predict(X).shape == y.shape


def test_a_warm_start_goes_on_from_the_coefficients_of_all_targets():
    warm = quick(warm_start=True).fit(X, Y)
    coef, intercept = warm.coef_, warm.intercept_
    warm.set_params(solver=Still()).fit(X, Y)
    np.testing.assert_allclose(warm.coef_, coef)
    np.testing.assert_allclose(warm.intercept_, intercept)
    with pytest.raises(ValueError, match="scores for 3"):
        warm.set_params(target_bounds=(0, 1)).fit(X, Y[:, :2])


@pytest.mark.parametrize(
    ("call", "match"),
    [
        (lambda: DPLassoRegressor(feature_bound=1.0).fit(X, Y), "use DPLinearRegression"),
        (lambda: DPLogisticRegression(classes=[0, 1]).fit(X, Y > 0), "one target a row"),
        (lambda: model().fit(X, Y, sites=np.arange(N) % 3), "one target a row"),
        (lambda: quick(target_bounds=(-7, 9)).partial_fit(X, Y), "one target a row"),
        (lambda: quick().partial_fit(X, Y), "one target a row"),
        (lambda: quick(target_bounds=[(-7, 9)] * T).partial_fit(X, Y), "one target a row"),
        (
            lambda: quick(target_bounds=(-7, 9)).fit(X, Y).partial_fit(X, Y[:, 0]),
            "one target a row",
        ),
        (lambda: skdp.evaluate(quick().fit(X, Y), X, Y, epsilon=1.0), "one target a row"),
        (lambda: skdp.evaluate(quick().fit(X, Y), X, Y[:, 0], epsilon=1.0), "one target a row"),
        (lambda: quick().fit(X, sp.csr_array(Y)), "dense array"),
        (lambda: quick().fit(X, np.full((N, T), np.nan)), "contains NaN"),
        (lambda: quick().fit(X, np.full((N, T), "spam")), "numeric targets"),
        (
            lambda: quick().fit(Chunks([(X[:9], Y[:9]), (X[9:], Y[9:, :2])])),
            "number of their columns has changed",
        ),
    ],
)
def test_what_cannot_be_done_is_refused_in_a_sentence_that_quotes_nothing(call, match):
    with pytest.raises(ValueError, match=match) as caught:
        call()
    assert "spam" not in str(caught.value)


@pytest.mark.parametrize(
    "settings",
    [{"solver": "one_step"}, {"solver": "screening"}, {"constraint": L2Ball(2.0)}],
    ids=["intervals", "selection", "ball"],
)
def test_settings_of_one_target_say_so_and_take_a_column_as_a_vector(settings):
    model = DPLinearRegression(epsilon=50.0, data_norm=2.0, target_bounds=(-9.0, 9.0), **settings)
    assert not get_tags(model).target_tags.multi_output
    assert get_tags(quick()).target_tags.multi_output
    with pytest.warns(DataConversionWarning, match="column-vector"):
        model.fit(X, Y[:, :1])
    assert model.coef_.shape == (X.shape[1],)
    with pytest.raises(ValueError, match=r"one target|constraint that does not depend"):
        model.fit(X, Y)
