"""Fits that start from a published model: the model, its units, coordinates and price."""

import copy

import numpy as np
import pytest
from examples_of_estimators import BINARY, MODELS, REAL, SEVERAL, D, X, linear, logistic, target_of
from sklearn.linear_model import LogisticRegression

from skdp import DPLinearRegression
from skdp.solvers import GD
from skdp.testing import record_fit, replay_fit

pytestmark = pytest.mark.filterwarnings("ignore::skdp.SeededNoiseWarning")

every_model = pytest.mark.parametrize("make", MODELS.values(), ids=MODELS)
# Coordinates that are looked for would have to be undone to read the start.
PLAIN = {"warm_start": True, "solver": GD(steps=3)}


def plain(make, **options):
    return make(**PLAIN, **({} if make is MODELS["lasso"] else {"precondition": None}), **options)


def start_of(model, X, y):
    """Where the first gradient of a fit is asked for, with its constant column."""
    transcript = record_fit(model, X, y)
    content = next((public for name, public, *_ in transcript if name == "gradient"), None)
    assert content is not None, "no gradient was asked for"
    points = [
        part for part in content if isinstance(part, np.ndarray) and part.shape[:1] == (D + 1,)
    ]
    return points[0].reshape(D + 1, -1)


@every_model
def test_the_first_query_is_about_the_published_model(make):
    y = target_of(make)
    model = plain(make).fit(X, y)
    unit, centre = (3.0, 1.0) if "target_bounds" in model.get_params() else (1.0, 0.0)
    coef, intercept = np.atleast_2d(model.coef_).T, model.intercept_
    w = start_of(model, X, y)
    constant = model.intercept_scaling * model.data_norm
    np.testing.assert_allclose(unit * w[:-1], coef, rtol=1e-9)
    np.testing.assert_allclose(unit * constant * w[-1] + centre, intercept, rtol=1e-9)


@every_model
def test_without_it_a_fit_knows_nothing_of_earlier_ones(make):
    y = target_of(make)
    model = plain(make).fit(X, y).set_params(warm_start=False)
    fresh = plain(make, random_state=3).set_params(warm_start=False)
    np.testing.assert_array_equal(start_of(model, X, y)[:-1], start_of(fresh, X, y)[:-1])


@every_model
def test_the_start_is_in_the_units_of_the_new_bounds(make):
    y = target_of(make)
    model = plain(make).fit(X, y)
    coef = np.atleast_2d(model.coef_).T
    model.set_params(data_norm=2.0)
    unit = 1.0
    if "target_bounds" in model.get_params():
        model.set_params(target_bounds=(-10.0, 30.0))
        unit = 20.0
    np.testing.assert_allclose(unit * start_of(model, X, y)[:-1], coef, rtol=1e-9)


def test_few_steps_each_time_come_close_to_the_optimum():
    best = LogisticRegression().fit(X, BINARY)
    options = {"epsilon": 1e6, "solver": GD(steps=5), "precondition": None, "C": 1.0}

    def error_of_last(warm_start):
        model = logistic(warm_start=warm_start, **options)
        for _ in range(6):
            model.fit(X, BINARY)
        return np.abs(model.coef_ - best.coef_).max()

    assert error_of_last(True) < 0.25 * error_of_last(False)


def refuses(model, X, y, match):
    before = {name: copy.copy(value) for name, value in vars(model).items()}
    with pytest.raises(ValueError, match=match):
        model.fit(X, y)
    assert set(vars(model)) == set(before)
    np.testing.assert_array_equal(model.coef_, before["coef_"])
    assert model.privacy_spent_ == before["privacy_spent_"]


def test_other_features_and_classes_are_refused_before_anything_is_spent():
    model = logistic(warm_start=True).fit(X, BINARY)
    refuses(model, X[:, :3], BINARY, "needs 4 features as there, got 3")
    refuses(model.set_params(classes=[0, 1, 2]), X, SEVERAL, r"needs the classes \(0, 1\)")
    refuses(model.set_params(classes=[1, 2]), X, BINARY + 1, r"needs the classes \(0, 1\)")
    model.set_params(classes=[0, 1]).coef_[0, 0] = np.nan
    refuses(model, X, BINARY, "needs finite coefficients")
    linear_model = linear(warm_start=True).fit(X, REAL)
    refuses(linear_model, X[:, :3], REAL, "needs 4 features as there, got 3")


def looks(model, before=0):
    """IterativeWhitening at rows by the latest fit, after so many by those that it goes on from."""
    return sum(e.count for e in model.privacy_ledger_ if e.query == "second_moments") - before


@pytest.mark.nightly
def test_coordinates_found_earlier_are_looked_at_once_more_only():
    def model(**options):
        # With a larger budget nothing is left to be seen at the second and third look.
        given = {"data_norm": 1.0, "target_bounds": (-2, 4), "epsilon": 8.0}
        return DPLinearRegression(**given | options)

    warm = model(warm_start=True).fit(X, REAL)
    assert looks(warm) == 3
    assert looks(warm.fit(X, REAL), 3) == 1
    # Within other bounds the coordinates say something else.
    assert looks(warm.set_params(intercept_scaling=0.5).fit(X, REAL), 4) == 3
    assert looks(warm.set_params(precondition="full").fit(X, REAL), 7) == 3
    assert looks(model().fit(X, REAL).fit(X, REAL)) == 3


def test_balanced_intercepts_do_not_drift_from_fit_to_fit():
    y = (X[:, 0] > 0.8).astype(int)
    model = logistic(
        epsilon=1e6, C=1.0, class_weight="balanced", solver=GD(steps=40), warm_start=True
    )
    intercepts = [model.fit(X, y).intercept_[0] for _ in range(6)]
    offsets = np.diff(intercepts)
    # What is added for balance, (log c_1 - log c_0) / 3, is above 0.5 here.
    assert abs(offsets[-1]) < 0.25
    released = vars(model)["_progress"].released
    assert model.intercept_[0] - released.intercept[0] > 0.5
    w = start_of(model.set_params(precondition=None), X, y)
    assert w[-1, 0] * 0.3 == pytest.approx(released.intercept[0], abs=1e-9)


@every_model
def test_a_warm_fit_is_a_function_of_released_answers_and_of_the_earlier_model(make):
    y = target_of(make)
    model = make(warm_start=True, random_state=0).fit(X, y)
    other = copy.deepcopy(model).set_params(random_state=0)
    transcript = record_fit(model, X, y)
    rng = np.random.default_rng(1)
    replay_fit(other, 9 * rng.normal(size=X.shape), rng.permutation(y), transcript)
    np.testing.assert_array_equal(other.coef_, model.coef_)
    np.testing.assert_array_equal(other.intercept_, model.intercept_)
    assert other.privacy_ledger_ == model.privacy_ledger_
