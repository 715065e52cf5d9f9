"""Fits of infinite epsilon: the path of a private fit without noise, which says so of itself."""

import json
import pickle
import warnings
from math import inf, isinf

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import LinearRegression, LogisticRegression

import skdp
from skdp import (
    BudgetExceededError,
    DPContextualBandit,
    DPLassoRegressor,
    DPLinearRegression,
    DPLogisticRegression,
    DPQuantileRegressor,
    DPSVMClassifier,
    NoPrivacyWarning,
    PrivacyBudget,
    privacy_spent,
)
from skdp.model_selection import DPGridSearchCV
from skdp.preprocessing import (
    DPMinMaxScaler,
    DPQuantileTransformer,
    DPRobustScaler,
    DPStandardScaler,
)
from skdp.privacy import SystemNoise
from skdp.privacy.accounting import NonPrivateEvent
from skdp.problem.constraints import L1Ball
from skdp.solvers import GD, SOLVERS, FrankWolfe

N, D = 200, 4
pytestmark = [
    pytest.mark.filterwarnings("ignore::skdp.NoPrivacyWarning"),
    pytest.mark.filterwarnings("ignore:.*releases over minibatches:UserWarning"),
]


def make_rows():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(N, D))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    score = X @ [2.0, -1.0, 0.0, 0.5]
    labels = (rng.random(N) < 1 / (1 + np.exp(-4 * score))).astype(int)
    return X, labels, score + 0.1 * rng.normal(size=N)


X, LABELS, REAL = make_rows()
CLASSES = {"data_norm": 1.0, "classes": [0, 1]}
NUMBERS = {"data_norm": 1.0, "target_bounds": (-4.0, 4.0)}
# So few steps are quick.
FEW = GD(steps=20)
MODELS = {
    "logistic": (DPLogisticRegression(**CLASSES, solver=FEW), LABELS),
    "logistic of raw columns": (DPLogisticRegression(classes=[0, 1], solver=FEW), LABELS),
    "machine": (DPSVMClassifier(**CLASSES, solver=FEW), LABELS),
    "linear": (DPLinearRegression(**NUMBERS, solver=FEW), REAL),
    "linear of raw columns": (DPLinearRegression(solver=FEW), REAL),
    "one shot": (DPLinearRegression(**NUMBERS, solver="adassp"), REAL),
    "minibatches": (DPLogisticRegression(**CLASSES, solver=GD(steps=20, batch_size=50)), LABELS),
    "slope": (DPLogisticRegression(**CLASSES, solver="objective_perturbation"), LABELS),
    "lasso": (
        DPLassoRegressor(**NUMBERS, feature_bound=1.0, alpha=0.5, solver=FrankWolfe(steps=20)),
        REAL,
    ),
}
every_model = pytest.mark.parametrize("kind", MODELS)


def says_that_it_is_not_private(fitted):
    assert fitted.privacy_spent_.epsilon == inf
    assert fitted.privacy_ledger_
    assert {type(event) for event in fitted.privacy_ledger_} == {NonPrivateEvent}


@every_model
def test_a_fit_warns_once_and_says_that_it_is_not_private(kind):
    model, y = MODELS[kind]
    model = clone(model).set_params(epsilon=inf)
    with pytest.warns(NoPrivacyWarning, match="epsilon=inf adds no noise") as caught:
        model.fit(X, y)
    assert [each.category for each in caught].count(NoPrivacyWarning) == 1
    says_that_it_is_not_private(model)
    says_that_it_is_not_private(pickle.loads(pickle.dumps(model)))
    assert isinf(privacy_spent(model).epsilon)
    assert "epsilon = inf" in str(model.plan_)
    assert "not private" in str(model.plan_)


@every_model
def test_no_noise_is_drawn_and_some_is_at_any_finite_epsilon(kind, monkeypatch):
    drawn = []
    for name in ("normal", "rounded", "gumbel"):
        honest = getattr(SystemNoise, name)

        def noted(self, *given, honest=honest):
            drawn.append(given)
            return honest(self, *given)

        monkeypatch.setattr(SystemNoise, name, noted)
    model, y = MODELS[kind]
    clone(model).set_params(epsilon=inf).fit(X, y)
    assert not drawn
    clone(model).set_params(epsilon=1e3).fit(X, y)
    assert drawn


@pytest.mark.nightly
@pytest.mark.parametrize("solver", sorted(SOLVERS))
def test_every_solver_goes_its_way_without_noise(solver):
    if solver in ("adassp", "screening", "tracked_gd"):
        model, y = DPLinearRegression(**NUMBERS), REAL
    else:
        model, y = DPLogisticRegression(**CLASSES), LABELS
    if solver == "screening":
        model = DPLassoRegressor(**NUMBERS, feature_bound=1.0)
    if solver == "quantile_gd":
        model, y = DPQuantileRegressor(**NUMBERS), REAL
    if solver == "frank_wolfe":
        model.set_params(constraint=L1Ball(10.0))
    model.set_params(solver=solver, epsilon=inf, random_state=None)
    groups = np.arange(N) % 2 if solver == "dda" else None
    if solver in ("ftrl", "blocks"):
        first = clone(model).set_params(horizon=N).partial_fit(X[:150], y[:150])
        first.partial_fit(X[150:], y[150:])
        model = first
    else:
        model.fit(X, y, sites=groups)
    says_that_it_is_not_private(model)
    assert np.isfinite(model.coef_).all()
    assert model.score(X, y) > 0.7


def test_logistic_regression_is_the_one_of_scikit_learn():
    ours = DPLogisticRegression(**CLASSES, C=1.0, epsilon=inf).fit(X, LABELS)
    theirs = LogisticRegression(C=1.0, tol=1e-10).fit(X, LABELS)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=0.01)


def test_linear_regression_is_the_one_of_scikit_learn():
    ours = DPLinearRegression(**NUMBERS, epsilon=inf).fit(X, REAL)
    theirs = LinearRegression().fit(X, REAL)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-3)


@pytest.mark.parametrize(
    "scaler", [DPStandardScaler(), DPMinMaxScaler(), DPQuantileTransformer(), DPRobustScaler()]
)
def test_scalers_go_without_noise(scaler):
    made = [clone(scaler).set_params(epsilon=inf).fit(X) for _ in range(2)]
    np.testing.assert_array_equal(made[0].transform(X), made[1].transform(X))
    says_that_it_is_not_private(made[0])
    if isinstance(scaler, DPStandardScaler):
        np.testing.assert_allclose(made[0].mean_, X.mean(axis=0), atol=1e-6)
        np.testing.assert_allclose(made[0].var_, X.var(axis=0), rtol=1e-4)


def test_streams_stay_without_noise_in_a_checkpoint(tmp_path):
    def stream():
        model = DPLogisticRegression(**CLASSES, solver="ftrl", horizon=N, epsilon=inf)
        return model.partial_fit(X[:100], LABELS[:100])

    straight = stream().partial_fit(X[100:], LABELS[100:])
    skdp.save_checkpoint(stream(), tmp_path / "stream")
    resumed = skdp.load_checkpoint(tmp_path / "stream").partial_fit(X[100:], LABELS[100:])
    np.testing.assert_allclose(resumed.coef_, straight.coef_, rtol=1e-12)
    says_that_it_is_not_private(resumed)


@pytest.mark.parametrize("policy", ["ftrl", "blocks", "gd"])
def test_bandits_learn_without_noise_also_from_a_checkpoint(policy, tmp_path):
    arms, rewards = LABELS, np.clip(REAL, -1, 1)

    def bandit():
        model = DPContextualBandit(
            [0, 1], epsilon=inf, data_norm=1.0, reward_bounds=(-1, 1), horizon=N, policy=policy
        )
        return model.partial_fit(X[:100], arms[:100], rewards[:100])

    straight = bandit().partial_fit(X[100:], arms[100:], rewards[100:])
    again = bandit().partial_fit(X[100:], arms[100:], rewards[100:])
    np.testing.assert_array_equal(straight.coef_, again.coef_)
    says_that_it_is_not_private(straight)
    skdp.save_checkpoint(bandit(), tmp_path / "bandit")
    resumed = skdp.load_checkpoint(tmp_path / "bandit")
    resumed.partial_fit(X[100:], arms[100:], rewards[100:])
    np.testing.assert_allclose(resumed.coef_, straight.coef_, rtol=1e-9)


@pytest.mark.parametrize("accounting", ["auto", "gaussian", "renyi", "sums"])
def test_a_budget_refuses_it_before_rows_are_read(accounting):
    with PrivacyBudget(epsilon=1e9, delta=0.1, accounting=accounting) as budget:
        for given, y in MODELS.values():
            with pytest.raises(BudgetExceededError, match="may spend epsilon=inf"):
                clone(given).set_params(epsilon=inf).fit(X, y)
        with pytest.raises(BudgetExceededError):
            DPStandardScaler(epsilon=inf).fit(X)
        bandit = DPContextualBandit([0, 1], epsilon=inf, data_norm=1.0)
        with pytest.raises(BudgetExceededError):
            bandit.fit(X, LABELS, LABELS)
    assert budget.receipts == ()


def test_searches_refuse_it_by_name():
    search = DPGridSearchCV(DPLogisticRegression(**CLASSES), {"C": [1.0]}, epsilon=inf)
    with pytest.raises(ValueError, match="'epsilon' parameter of DPGridSearchCV"):
        search.fit(X, LABELS)


def test_no_finite_epsilon_is_without_noise_or_without_a_finite_spend():
    with warnings.catch_warnings():
        warnings.simplefilter("error", NoPrivacyWarning)
        model = DPLogisticRegression(**CLASSES, epsilon=1e9, solver=FEW).fit(X, LABELS)
    assert model.privacy_spent_.epsilon <= 1e9
    assert NonPrivateEvent not in {type(event) for event in model.privacy_ledger_}
    assert json.dumps(model.privacy_spent_)


def test_a_private_fit_from_a_model_without_privacy_is_not_private():
    model = DPLogisticRegression(**CLASSES, epsilon=inf, warm_start=True, solver=FEW).fit(X, LABELS)
    model.set_params(epsilon=1.0).fit(X, LABELS)
    assert isinf(model.privacy_spent_.epsilon)
