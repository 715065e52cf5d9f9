"""Solvers tend to the models without privacy as the budget grows, whatever labels and targets."""

import numpy as np
import pytest
from by_night import by_night
from scipy.special import expit
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.metrics import log_loss
from sklearn.svm import LinearSVC

from skdp import DPLinearRegression, DPLogisticRegression, DPSVMClassifier
from skdp.solvers import GD, SVRG
from skdp.testing import record_fit

pytestmark = [
    pytest.mark.filterwarnings("ignore::skdp.SeededNoiseWarning"),
    pytest.mark.filterwarnings("ignore::skdp.BudgetWarning"),
]

N, D = 16_000, 6
C = 100.0
GIVEN = {"data_norm": 1.0, "delta": 1e-5, "random_state": 0}
OF_CLASSES = {**GIVEN, "classes": [0, 1], "C": C}


def labels(share, wrong):
    """Rows of norm 1 and labels, about a share of which are positive but for wrong ones."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, D))
    y = rng.random(N) < expit(4 * X @ np.linspace(-1, 1, D) + 4 * np.log(share / (1 - share)))
    y ^= rng.random(N) < wrong
    return X / np.linalg.norm(X, axis=1, keepdims=True), y.astype(int)


RARE, FLIPPED = labels(0.2, 0.0), labels(0.4, 0.3)
TABLES = pytest.mark.parametrize("table", [RARE, FLIPPED], ids=["rare", "flipped"])


@TABLES
@pytest.mark.parametrize(
    "solver",
    [
        *("gd", "svrg", "spider", "adaptive_gd", "accmd", "ppm", "dda"),
        *("preconditioned_gd", "objective_perturbation", "one_step", "dual_averaging"),
    ],
)
def test_log_odds_tend_to_those_without_privacy(solver, table):
    X, y = table
    least = log_loss(y, LogisticRegression(C=C).fit(X, y).predict_proba(X))
    for epsilon, most in ((64.0, 0.003), (256.0, 0.002)):
        model = DPLogisticRegression(epsilon=epsilon, solver=solver, **OF_CLASSES).fit(X, y)
        assert log_loss(y, model.predict_proba(X)) < least + most


def squared_hinge(model, X, y):
    return np.mean(np.maximum(0, 1 - (2 * y - 1) * model.decision_function(X)) ** 2)


@TABLES
@pytest.mark.parametrize(
    "solver", ["gd", "svrg", "spider", "adaptive_gd", "accmd", "ppm", "objective_perturbation"]
)
def test_margins_tend_to_those_without_privacy(solver, table):
    X, y = table
    least = squared_hinge(LinearSVC(C=C, intercept_scaling=10).fit(X, y), X, y)
    model = DPSVMClassifier(epsilon=256.0, solver=solver, **OF_CLASSES).fit(X, y)
    assert squared_hinge(model, X, y) < least + 0.003


@pytest.mark.parametrize(
    ("solver", "options", "n", "blind"),
    [
        (GD(steps=1), {}, 80_000, True),
        (SVRG(steps=2, inner=2), {"precondition": None}, 80_000, True),
        (GD(steps=1), {}, 8_000, False),
        (GD(steps=1, clip=1.0), {}, 80_000, False),
        (GD(steps=1, label_blind=False), {}, 80_000, False),
        (GD(steps=1), {"class_weight": "balanced"}, 80_000, False),
        (GD(steps=1), {"classes": [0, 1, 2]}, 80_000, False),
    ],
    ids=["rows", "differences", "few rows", "a clip", "as asked", "weights", "three classes"],
)
def test_labels_enter_no_bound_where_two_classes_have_rows_enough(solver, options, n, blind):
    X, y = np.resize(RARE[0][:, :2], (n, 2)), np.resize(RARE[1], n)
    model = DPSVMClassifier(epsilon=1.0, solver=solver, **OF_CLASSES | options)
    asked = [
        content[-1]
        for name, content, *_ in record_fit(model, X, y).entries
        if name in ("gradient", "gradient_difference")
    ]
    assert asked == [blind] * len(asked) != []


def test_a_clip_that_is_asked_for_stays_a_bias_and_the_default_is_none():
    X, y = FLIPPED
    least = squared_hinge(LinearSVC(C=C, intercept_scaling=10).fit(X, y), X, y)

    def gap(solver):
        model = DPSVMClassifier(epsilon=16.0, solver=solver, **OF_CLASSES).fit(X, y)
        return squared_hinge(model, X, y) - least

    assert gap(GD()) < 0.01
    assert gap(GD(label_blind=False)) > 0.03
    assert gap(GD(clip=1.0)) > 0.03


@pytest.mark.parametrize(
    "solver",
    [
        *("tracked_gd", "gd", "svrg", "one_step", "adassp"),
        *by_night("spider", "adaptive_gd", "ppm", "screening", "dda"),
    ],
)
def test_means_of_skewed_targets_tend_to_least_squares(solver):
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(N, D)) / np.sqrt(D)
    y = np.exp(2 * X @ np.linspace(-1, 1, D) + 0.8 * rng.normal(size=N))
    bounds = 0.0, float(y.max())
    best = LinearRegression().fit(X, y).score(X, y)
    model = DPLinearRegression(epsilon=256.0, solver=solver, target_bounds=bounds, **GIVEN)
    assert model.fit(X, y).score(X, y) > best - 0.005
