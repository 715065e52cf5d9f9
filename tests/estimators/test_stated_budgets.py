"""Budgets as parameters state them: delta where it is not given, and warnings of weak promises."""

import warnings

import numpy as np
import pytest
from sklearn.base import ClassifierMixin, clone

import skdp
from skdp import (
    BudgetWarning,
    DPContextualBandit,
    DPLassoRegressor,
    DPLinearRegression,
    DPLogisticRegression,
    DPPoissonRegressor,
    DPQuantileRegressor,
    DPSVMClassifier,
    PrivacyBudget,
)
from skdp.model_selection import DPGridSearchCV
from skdp.preprocessing import DPMinMaxScaler, DPStandardScaler
from skdp.privacy import gdp
from skdp.privacy.accounting import delta_for
from skdp.solvers import GD

MANY, D = 50_000, 2
X = np.random.default_rng(0).uniform(-1, 1, size=(MANY, D))
LABELS, REAL = (X[:, 0] > 0).astype(int), X[:, 0]
CLASSES = {"data_norm": 1.5, "classes": [0, 1], "solver": GD(steps=2), "precondition": None}
NUMBERS = {"data_norm": 1.5, "target_bounds": (-1.0, 1.0), "solver": GD(steps=2)}
MODELS = {
    "logistic": (DPLogisticRegression(**CLASSES), LABELS),
    "machine": (DPSVMClassifier(**CLASSES), LABELS),
    "linear": (DPLinearRegression(**NUMBERS, precondition=None), REAL),
    "lasso": (DPLassoRegressor(**NUMBERS, feature_bound=1.0), REAL),
    "standard scaler": (DPStandardScaler(bounds=(-1, 1)), None),
    "range scaler": (DPMinMaxScaler(), None),
    "search": (DPGridSearchCV(DPLogisticRegression(**CLASSES), {"C": [1.0]}, n_iter=1), LABELS),
}
every_model = pytest.mark.parametrize("kind", MODELS)


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize(
    ("kind", "y"),
    [
        (DPLogisticRegression, LABELS),
        (DPSVMClassifier, LABELS),
        (DPLinearRegression, REAL),
        (DPLassoRegressor, REAL),
        (DPQuantileRegressor, REAL),
        (DPPoissonRegressor, LABELS),
    ],
)
@pytest.mark.every_combination
def test_defaults_set_nothing_aside_that_they_do_not_ask_for(kind, y, fit_intercept):
    known = {"classes": [0, 1]} if issubclass(kind, ClassifierMixin) else {"target_bounds": (-1, 1)}
    if kind is DPPoissonRegressor:
        known = {"target_bounds": (0, 1)}
    model = kind(data_norm=1.5, fit_intercept=fit_intercept, **known).fit(X[:4000], y[:4000])
    assert model.privacy_spent_.epsilon == pytest.approx(model.epsilon, rel=2e-3)


def test_delta_is_the_smaller_of_two_bounds_and_below_one_over_n():
    assert delta_for(None, None) == 1e-5
    for n in (1, 2, 10, 30_000, 36_000, 10**6, 10**12):
        assert delta_for(None, n) == min(1e-5, n**-1.1)
        assert delta_for(None, n) * n < 1
        assert delta_for(1e-3, n) == 1e-3


@every_model
@pytest.mark.parametrize("n", [1_000, MANY])
def test_delta_follows_from_the_number_of_rows(kind, n):
    model, y = MODELS[kind]
    model = clone(model).fit(X[:n], None if y is None else y[:n])
    assert model.delta is None
    assert model.delta_ == model.privacy_spent_.delta == delta_for(None, n)
    model = clone(model).set_params(delta=1e-6).fit(X[:n], None if y is None else y[:n])
    assert model.delta_ == model.privacy_spent_.delta == 1e-6


def test_the_spend_is_that_of_the_delta_that_was_drawn():
    model = DPLogisticRegression(**CLASSES).fit(X, LABELS)
    mu = np.sqrt(sum(e.count * (e.sensitivity / e.noise_scale) ** 2 for e in model.privacy_ledger_))
    assert gdp.epsilon(mu, model.delta_) == pytest.approx(1.0, rel=1e-6)
    assert model.plan_.delta == model.delta_ < 1e-5
    assert skdp.plan(DPLogisticRegression(**CLASSES), MANY, D) == model.plan_
    # A refit on fewer rows is another promise.
    assert model.fit(X[:1000], LABELS[:1000]).delta_ == 1e-5


def test_a_stream_takes_the_delta_of_its_horizon_whatever_its_calls():
    options = {"data_norm": 1.5, "classes": [0, 1], "solver": "ftrl"}
    model = DPLogisticRegression(**options, horizon=10**6)
    model.partial_fit(X[:50], LABELS[:50]).partial_fit(X[50:200], LABELS[50:200])
    assert model.delta_ == model.privacy_spent_.delta == delta_for(None, 10**6)
    undeclared = DPLogisticRegression(**options).partial_fit(X[:200], LABELS[:200])
    assert undeclared.delta_ == undeclared.privacy_spent_.delta == 1e-5


def test_an_open_budget_takes_fits_by_the_delta_that_they_have():
    with PrivacyBudget(epsilon=1.0, delta=1e-5) as budget:
        model = DPLogisticRegression(**CLASSES).fit(X, LABELS)
    mu = gdp.mu(1.0, model.delta_)
    assert budget.spent.epsilon == pytest.approx(gdp.epsilon(mu, 1e-5), rel=1e-6)
    assert budget.spent.epsilon < 1.0


@pytest.mark.parametrize(
    ("budget", "words"),
    [
        ({"epsilon": 11.0}, "epsilon=11 promises next to nothing"),
        ({"delta": 0.01}, "delta=0.01 and 1,000 rows would allow"),
        ({"delta": 0.001}, "delta=0.001 and 1,000 rows would allow"),
    ],
)
@every_model
def test_a_weak_promise_is_announced_once_before_rows_are_read(kind, budget, words):
    model, y = MODELS[kind]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        clone(model).set_params(**budget).fit(X[:1000], None if y is None else y[:1000])
    said = [str(each.message) for each in caught if each.category is BudgetWarning]
    assert len(said) == 1
    assert said[0].startswith(type(model).__name__)
    assert words in said[0]


def test_a_stream_without_a_horizon_warns_when_its_rows_become_too_many_for_its_delta():
    model = DPLogisticRegression(**CLASSES | {"solver": "ftrl"})
    rows = np.resize(X, (60_000, X.shape[1])), np.resize(LABELS, 60_000)
    with warnings.catch_warnings():
        warnings.simplefilter("error", BudgetWarning)
        model.partial_fit(*rows)
    with pytest.warns(BudgetWarning, match="delta=1e-05 and 120,000 rows .* the horizon"):
        model.partial_fit(1 - rows[0], rows[1])


def test_a_weak_promise_of_a_stream_is_announced_at_its_first_call():
    model = DPLogisticRegression(**CLASSES | {"solver": "ftrl"}, horizon=500, delta=0.01)
    with pytest.warns(BudgetWarning, match="500 rows"):
        model.partial_fit(X[:50], LABELS[:50])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.partial_fit(X[50:100], LABELS[50:100])
    with pytest.warns(BudgetWarning, match="epsilon=20"):
        DPContextualBandit([0, 1], data_norm=1.5, epsilon=20.0, horizon=100).act(X[:2])


def test_a_warning_that_is_made_an_error_leaves_nothing_behind():
    model = DPLogisticRegression(**CLASSES).fit(X[:1000], LABELS[:1000])
    before = dict(vars(model))
    with warnings.catch_warnings():
        warnings.simplefilter("error", BudgetWarning)
        with pytest.raises(BudgetWarning):
            model.set_params(epsilon=100.0).fit(X[:500], LABELS[:500])
    assert vars(model) == before | {"epsilon": 100.0}
