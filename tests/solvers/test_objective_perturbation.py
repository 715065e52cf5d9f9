"""What is particular to objective perturbation as a solver."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.linear_model import LogisticRegression

from skdp import DPLogisticRegression
from skdp.privacy.accounting import PerturbedGaussianDP
from skdp.privacy.rows import Chunks
from skdp.solvers import ObjectivePerturbation, Temperature
from skdp.testing import exact_fit

N, D = 4000, 5


# Seeds are meant.
pytestmark = pytest.mark.filterwarnings("ignore")


def data(n=N, seed=1):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, D)) * [1.0, 1.0, 0.5, 0.5, 0.2]
    X /= np.maximum(1.0, np.linalg.norm(X, axis=1, keepdims=True) / 2)
    z = X @ [2.0, -1.0, 1.0, 0.0, 3.0] - 0.5
    return X, (rng.uniform(size=n) < 1 / (1 + np.exp(-z))).astype(int)


def model(epsilon=1.0, seed=0, **options):
    plain = {"data_norm": 2.0, "classes": [0, 1], "solver": "objective_perturbation"}
    return DPLogisticRegression(epsilon=epsilon, random_state=seed, **plain | options)


@pytest.mark.parametrize("precondition", [None, "diagonal", "full"])
def test_without_noise_it_is_logistic_regression(precondition):
    fitted = model(1e9, precondition=precondition, C=0.1).fit(*data())
    expected = LogisticRegression(C=0.1, tol=1e-10).fit(*data())
    np.testing.assert_allclose(fitted.coef_, expected.coef_, atol=2e-3)
    np.testing.assert_allclose(fitted.intercept_, expected.intercept_, atol=2e-3)


@pytest.mark.parametrize("precondition", [None, "diagonal", "full"])
def test_the_receipt_says_what_was_spent(precondition):
    fitted = model(precondition=precondition, data_norm=None).fit(*data())
    assert fitted.privacy_spent_ == (pytest.approx(1.0), 1e-5)
    calculus, receipt = PerturbedGaussianDP(), fitted.privacy_ledger_
    total = sum(event.count * calculus.cost(event) for event in receipt)
    assert calculus.epsilon(total, 1e-5) == pytest.approx(1.0)
    (perturbed,) = [event for event in receipt if event.query == "perturbed_minimum"]
    assert calculus.cost(perturbed) > 0.51 * total


def test_without_its_noise_it_is_the_minimiser_at_its_strength(monkeypatch):
    monkeypatch.setattr(Temperature, "apply", lambda self, problem, oracle, w: w)
    exact = model(1.0, precondition=None, C=1.0)
    assert exact_fit(exact, *data()).spent().epsilon == np.inf
    X, y = data()
    # Ridge of the strength on features and intercept.
    strength = 0.25 * (4 + 0.36) / np.expm1(0.4 * 0.24)
    constant = np.full((N, 1), 0.6)
    rough = LogisticRegression(C=1 / strength, fit_intercept=False).fit(np.hstack([X, constant]), y)
    np.testing.assert_allclose(exact.coef_[0], rough.coef_[0, :D], atol=0.05)


def test_all_layouts_of_rows_give_the_same_minimiser():
    X, y = data()
    sparse, dense = sp.csr_array(X), model(precondition=None).fit(X, y)
    chunks = Chunks([(X[:1000], y[:1000]), (X[1000:], y[1000:])])
    for fitted in (
        model(precondition=None).fit(sparse, y),
        model(precondition=None).fit(chunks),
        model(precondition=None).fit(np.asfortranarray(X), y),
    ):
        np.testing.assert_allclose(fitted.coef_, dense.coef_, atol=1e-6)


@pytest.mark.parametrize("clip", [0.05, 0.3, None])
def test_weights_of_classes_and_clips_are_taken(clip):
    solver = ObjectivePerturbation(clip=clip, strength=1.0)
    weighted = model(1e4, solver=solver, class_weight={1: 5.0}, precondition=None).fit(*data())
    plain = model(1e4, solver=solver, precondition=None).fit(*data())
    X, _ = data()
    assert weighted.predict(X).mean() > plain.predict(X).mean() + 0.1
