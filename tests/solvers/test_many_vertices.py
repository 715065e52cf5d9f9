"""Under an l1 ball with many features the default chooses vertices, by public facts alone."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.base import clone

from skdp import DPLinearRegression, DPLogisticRegression, DPSVMClassifier, PrivacyBudget
from skdp.estimators import choose
from skdp.problem import Problem, RowBounds
from skdp.problem.constraints import L1Ball, L2Ball, Simplex
from skdp.problem.losses import Hinge, Logistic
from skdp.solvers import FrankWolfe

N, D = 400, 300
RNG = np.random.default_rng(0)
X = RNG.choice([-0.1, 0.1], size=(N, D))
T = X @ np.eye(D)[0] - X @ np.eye(D)[1]
MODELS = {
    "logistic": (DPLogisticRegression(classes=[0, 1]), T > 0),
    "softmax": (DPLogisticRegression(classes=[0, 1, 2]), np.sign(T).astype(int) + 1),
    "svm": (DPSVMClassifier(classes=[0, 1]), T > 0),
    "linear": (DPLinearRegression(target_bounds=(-0.2, 0.2)), T),
}


def problem(**changes):
    given = Problem(Logistic(), N, D, RowBounds(1.0), constraint=L1Ball(3.0))
    return replace(given, **changes)


def vertices(task):
    return isinstance(choose("auto", task)[0], FrankWolfe)


@pytest.mark.parametrize("constraint", [L1Ball(3.0), Simplex(1.0)], ids=str)
def test_many_features_are_chosen_from(constraint):
    assert vertices(problem(constraint=constraint))


@pytest.mark.parametrize(
    "changes",
    [
        {"n_features": 99},
        {"n_samples": 4 * D + 1},
        {"constraint": L2Ball(3.0)},
        {"loss": Hinge()},
    ],
    ids=str,
)
def test_other_problems_have_their_gradients_released(changes):
    assert not vertices(problem(**changes))


def test_the_choice_is_the_same_whatever_weights_sum_up_to():
    """The ledger was opened for it when the sum was not known."""
    assert vertices(problem(n_samples=N, actual_rows=4 * D))
    assert not vertices(problem(n_samples=N, actual_rows=4 * D + 1))


@pytest.mark.parametrize("weights", [None, RNG.random(N)], ids=["plain", "weighted"])
@pytest.mark.parametrize("name", MODELS)
def test_estimators_pay_for_choices_and_under_a_ceiling(name, weights):
    model, y = clone(MODELS[name][0]), MODELS[name][1]
    model.set_params(epsilon=4.0, data_norm=1.0, constraint=L1Ball(3.0))
    with PrivacyBudget(epsilon=4.5, delta=1e-4) as ceiling:
        model.fit(X, y, sample_weight=weights)
    assert "exponential" in {event.mechanism for event in model.privacy_ledger_}
    assert model.privacy_spent_.epsilon == 4.0
    assert ceiling.spent.epsilon >= 4.0 * 0.9
    assert np.abs(model.coef_).sum() <= 3.0 * max(1, np.shape(model.coef_)[0]) * (1 + 1e-9)


def test_a_stream_keeps_its_promise():
    model, y = clone(MODELS["logistic"][0]), MODELS["logistic"][1]
    model.set_params(epsilon=4.0, data_norm=1.0, constraint=L1Ball(3.0))
    model.partial_fit(X[:200], y[:200]).partial_fit(X[200:], y[200:])
    assert model.privacy_spent_.epsilon <= 4.0
