"""Fits with delta = 0: what they promise, what they refuse, and how they add up."""

from math import inf

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression

import skdp
from skdp import (
    BudgetExceededError,
    DPContextualBandit,
    DPLassoRegressor,
    DPLinearRegression,
    DPLogisticRegression,
    DPSVMClassifier,
    PrivacyBudget,
    evaluate,
    privacy_spent,
)
from skdp.model_selection import DPGridSearchCV
from skdp.preprocessing import DPMinMaxScaler, DPStandardScaler
from skdp.solvers import SOLVERS, ObjectivePerturbation
from skdp.testing import check_parts

N, D = 300, 3
pytestmark = pytest.mark.filterwarnings("ignore::skdp.SeededNoiseWarning")


def rows(n=N, seed=1):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, size=(n, D))
    real = X @ [1.0, -1.5, 0.2] + 0.1 * rng.normal(size=n)
    return X, (real > 0).astype(int), real


X, LABELS, REAL = rows()
CLASSES = {"delta": 0, "data_norm": 1.8, "classes": [0, 1]}
NUMBERS = {"delta": 0, "data_norm": 1.8, "target_bounds": (-3.0, 3.0)}
MODELS = {
    "logistic": (lambda **k: DPLogisticRegression(**CLASSES | k), LABELS),
    "machine": (lambda **k: DPSVMClassifier(**CLASSES | k), LABELS),
    "rounded hinge": (lambda **k: DPSVMClassifier(loss="huberised_hinge", **CLASSES | k), LABELS),
    "linear": (lambda **k: DPLinearRegression(**NUMBERS | k), REAL),
    "huber": (lambda **k: DPLinearRegression(loss="huber", alpha=2.0, **NUMBERS | k), REAL),
    "weighted classes": (
        lambda **k: DPLogisticRegression(class_weight={1: 3.0}, **CLASSES | k),
        LABELS,
    ),
    "ranges of columns": (
        lambda **k: DPLinearRegression(data_bounds=(-1, 1), **NUMBERS | {"data_norm": None} | k),
        REAL,
    ),
}
every_model = pytest.mark.parametrize("kind", MODELS)


@every_model
@pytest.mark.parametrize("adjacency", ["replace_one", "zero_out"])
def test_a_fit_spends_its_epsilon_on_one_answer_and_no_delta(kind, adjacency):
    make, y = MODELS[kind]
    fitted = make(epsilon=1.5, adjacency=adjacency).fit(X, y)
    assert fitted.privacy_spent_ == (1.5, 0.0)
    assert fitted.delta_ == 0.0
    (event,) = fitted.privacy_ledger_
    assert (event.mechanism, event.count) == ("pure_perturbation", 1)
    parts = event.sensitivity / event.noise_scale, event.output_sensitivity
    total = parts[0] + event.jacobian + parts[1] / event.output_noise_scale
    assert total == pytest.approx(1.5, rel=1e-9)
    assert total <= 1.5


def test_with_much_budget_fits_are_those_of_scikit_learn():
    whole = ObjectivePerturbation(clip=50.0)
    fitted = DPLinearRegression(**NUMBERS, epsilon=1e8, solver=whole).fit(X, REAL)
    np.testing.assert_allclose(fitted.coef_, LinearRegression().fit(X, REAL).coef_, atol=2e-3)
    fitted = DPLogisticRegression(**CLASSES, epsilon=1e8, C=1.0).fit(X, LABELS)
    np.testing.assert_allclose(fitted.coef_, LogisticRegression().fit(X, LABELS).coef_, atol=0.02)


def test_fits_learn_at_ordinary_budgets():
    many, labels, real = rows(4000)
    model = DPLogisticRegression(**CLASSES, random_state=0)
    assert model.fit(many, labels).score(many, labels) > 0.85
    model = DPLinearRegression(**NUMBERS, random_state=0)
    assert model.fit(many, real).score(many, real) > 0.8


def test_weights_of_rows_count_and_cost_nothing_more():
    weights = np.where(LABELS == 1, 1.0, 0.05)
    make, _ = MODELS["logistic"]
    weighted = make(epsilon=1e4).fit(X, LABELS, sample_weight=weights)
    plain = make(epsilon=1e4).fit(X, LABELS)
    assert weighted.privacy_spent_ == plain.privacy_spent_ == (1e4, 0.0)
    assert weighted.predict(X).mean() > plain.predict(X).mean() + 0.02


def test_the_plan_says_so_and_is_the_plan_of_the_fit():
    make, y = MODELS["linear"]
    fitted = make().fit(X, y)
    ahead = skdp.plan(make(), N, D)
    assert str(ahead) == str(fitted.plan_)
    assert "the one solver of pure epsilon" in str(ahead)
    assert "paid for first: nothing" in str(ahead)
    named = make(solver="objective_perturbation").fit(X, y)
    assert type(named.plan_.solver) is type(fitted.plan_.solver)


@pytest.mark.parametrize("make", [DPLogisticRegression, DPSVMClassifier])
@pytest.mark.parametrize("solver", ["auto", "objective_perturbation"])
def test_several_classes_share_epsilon(make, solver):
    y = np.digitize(REAL, [-0.5, 0.5])
    options = CLASSES | {"classes": [0, 1, 2], "solver": solver}
    fitted = make(epsilon=1.5, **options).fit(X, y)
    assert fitted.coef_.shape == (3, D)
    assert fitted.privacy_spent_ == (1.5, 0.0)
    assert sum(event.count for event in fitted.privacy_ledger_) == 3
    assert fitted.privacy_ledger_[0].epsilon == pytest.approx(0.5)
    with pytest.raises(ValueError, match=r"class_weight=None for more than two classes"):
        make(class_weight={0: 2.0}, **options).fit(X, y)


def test_with_much_budget_several_classes_are_fitted_one_against_the_rest():
    y = np.digitize(REAL, [-0.5, 0.5])
    options = CLASSES | {"classes": [0, 1, 2]}
    fitted = DPLogisticRegression(epsilon=1e9, C=1.0, **options).fit(X, y)
    for label in range(3):
        expected = LogisticRegression().fit(X, y == label)
        np.testing.assert_allclose(fitted.coef_[label], expected.coef_[0], atol=0.02)
        np.testing.assert_allclose(fitted.intercept_[label], expected.intercept_[0], atol=0.02)


WAYS_OUT = "leave delta out"
REFUSED = {
    "no norm": (lambda: DPLogisticRegression(delta=0, classes=[0, 1]), LABELS, "data_norm or data"),
    "no bounds": (lambda: DPLinearRegression(delta=0), REAL, "data_norm or .* and target_bounds"),
    "balanced": (
        lambda: DPLogisticRegression(class_weight="balanced", **CLASSES),
        LABELS,
        "class_weight=None or a dict",
    ),
    "coordinates": (
        lambda: DPLogisticRegression(precondition="full", **CLASSES),
        LABELS,
        "precondition='auto' or None",
    ),
    "an l1 penalty": (
        lambda: DPSVMClassifier(penalty="l1", **CLASSES),
        LABELS,
        "ridge penalty or none",
    ),
    "a lasso": (lambda: DPLassoRegressor(**NUMBERS), REAL, "ridge penalty or none"),
    "a constraint": (lambda: DPLinearRegression(positive=True, **NUMBERS), REAL, "no constraint"),
    "a corner": (lambda: DPSVMClassifier(loss="hinge", **CLASSES), LABELS, "smooth convex loss"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_takes_other_noise_is_refused_before_rows_are_read(what):
    make, y, needed = REFUSED[what]
    unfitted = make()
    with pytest.raises(ValueError, match=rf"{needed}.*(?i:{WAYS_OUT})"):
        unfitted.fit(X, y)
    assert not hasattr(unfitted, "privacy_ledger_")


@pytest.mark.parametrize("solver", sorted({*SOLVERS} - {"objective_perturbation", "blocks"}))
def test_solvers_with_gaussian_noise_are_refused(solver):
    for make, y in (MODELS["logistic"], MODELS["linear"]):
        with pytest.raises(ValueError, match=r"delta|solver"):
            make(solver=solver).fit(X, y)


def test_sites_and_running_sums_are_refused():
    make, y = MODELS["logistic"]
    with pytest.raises(ValueError, match="rows at one place"):
        make().fit(X, y, sites=np.arange(N) % 2)
    for options in ({"solver": "ftrl"}, {"buffer": False}):
        model = make(**options)
        with pytest.raises(ValueError, match=r"needs the solver 'blocks' for a stream"):
            model.partial_fit(X, y)
        assert not hasattr(model, "privacy_ledger_")


@pytest.mark.parametrize("solver", ["auto", "objective_perturbation"])
@pytest.mark.parametrize("kind", ["logistic", "ranges of columns"])
def test_blocks_of_a_stream_are_of_pure_epsilon_in_parallel(kind, solver):
    make, _ = MODELS[kind]
    many, labels, real = rows(2400)
    y = labels if kind == "logistic" else real
    model = make(solver=solver, random_state=0)
    for start in range(0, 2400, 300):
        model.partial_fit(many[start : start + 300], y[start : start + 300])
    assert model.privacy_spent_ == (1.0, 0.0)
    assert len(model.privacy_ledger_) > 2
    assert {event.mechanism for event in model.privacy_ledger_} == {"pure_perturbation"}
    check_parts(model)
    assert model.score(many, y) > 0.6


def test_what_else_takes_a_delta_says_who_takes_none():
    fitted = MODELS["logistic"][0]().fit(X, LABELS)
    told = r"'delta' parameter .* Got 0, which only fits of DPLogisticRegression.*leave delta out"
    bandit = DPContextualBandit([0, 1], data_norm=2.0, delta=0, horizon=N)
    for ask in (
        lambda: DPStandardScaler(bounds=(-1, 1), delta=0).fit(X),
        lambda: DPMinMaxScaler(bounds=(-1, 1), delta=0).fit(X),
        lambda: DPGridSearchCV(fitted, {"C": [1.0, 2.0]}, epsilon=1.0, delta=0).fit(X, LABELS),
        lambda: bandit.partial_fit(X, LABELS, np.ones(N)),
        lambda: evaluate(fitted, X, LABELS, epsilon=1.0, delta=0),
    ):
        with pytest.raises(ValueError, match=told):
            ask()


def test_receipts_add_up_to_pure_epsilon():
    make, y = MODELS["logistic"]
    fits = [make(epsilon=0.5).fit(X, y), MODELS["linear"][0](epsilon=0.7).fit(X, REAL)]
    assert privacy_spent(fits).spent == (pytest.approx(1.2), 0.0)
    gaussian = make(delta=1e-6, epsilon=0.5).fit(X, y)
    mixed = privacy_spent([*fits, gaussian]).spent
    assert mixed.epsilon <= 1.7 * (1 + 1e-9)
    assert mixed.delta == 1e-6
    assert privacy_spent([*fits, gaussian], delta=0).spent == (inf, 0.0)
    again = make(epsilon=0.5, warm_start=True).fit(X, y).fit(X, y)
    assert again.privacy_spent_ == (pytest.approx(1.0), 0.0)


def test_a_privacy_budget_of_no_delta_takes_pure_epsilon_alone():
    make, y = MODELS["logistic"]
    with PrivacyBudget(epsilon=1.0, delta=0) as budget:
        make(epsilon=0.6).fit(X, y)
        for refused in (make(epsilon=0.6), make(epsilon=0.1, delta=1e-9)):
            with pytest.raises(BudgetExceededError):
                refused.fit(X, y)
        make(epsilon=0.4).fit(X, y)
    assert budget.spent == (pytest.approx(1.0), 0.0)
    with pytest.raises(ValueError, match=r"'auto' or 'sums', by which pure epsilon adds up"):
        PrivacyBudget(epsilon=1.0, delta=0, accounting="renyi")


@pytest.mark.parametrize("accounting", ["auto", "gaussian", "renyi", "sums"])
def test_a_privacy_budget_with_a_delta_takes_pure_epsilon_beside_others(accounting):
    make, y = MODELS["logistic"]
    with PrivacyBudget(epsilon=1.0, delta=1e-5, accounting=accounting) as budget:
        fits = [make(epsilon=0.1).fit(X, y), make(epsilon=0.1, delta=1e-6).fit(X, y)]
    assert budget.spent.epsilon >= privacy_spent(fits, budget.spent.delta).epsilon * (1 - 1e-9)
    assert budget.spent.epsilon <= 1.0


def test_several_targets_are_told_to_be_fitted_one_by_one():
    with pytest.raises(ValueError, match=r"with delta=0 needs one target a row, got 2\. Fit one"):
        DPLinearRegression(**NUMBERS).fit(X, np.column_stack([REAL, REAL]))
