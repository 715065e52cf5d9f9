"""What is particular to AdaSSP."""

import numpy as np
import pytest
from sklearn.linear_model import Ridge

from skdp import DPLinearRegression
from skdp.privacy import Adjacency, PrivateOracle, SystemNoise
from skdp.privacy.accounting import Ledger
from skdp.privacy.rows import DenseRows
from skdp.problem import Problem, RowBounds, TargetBounds
from skdp.problem.losses import Squared
from skdp.problem.penalties import Tikhonov
from skdp.solvers import AdaSSP

N, D = 3000, 4
# An orthogonal matrix, after which a ridge penalty is the same.
TURN = np.linalg.qr(np.random.default_rng(0).normal(size=(D, D)))[0]
PLAIN = {"n_samples": N, "n_features": D, "bounds": RowBounds(1.0, 1.0, TargetBounds(-1.0, 1.0))}


def data():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(N, D)) * [1.0, 1.0, 0.3, 0.01]
    X /= np.linalg.norm(X, axis=1).max()
    return X, np.clip(X @ [1.0, -0.5, 0.8, 0.0] + 0.05 * rng.normal(size=N), -1, 1)


def fitted(epsilon, solver="adassp", seed=0, **options):
    settings = {"data_norm": 1.0, "target_bounds": (-1.0, 1.0), "random_state": seed}
    return DPLinearRegression(epsilon=epsilon, solver=solver, **settings | options).fit(*data())


# Seeds are meant.
pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.mark.parametrize("precondition", [None, "auto"])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_without_noise_it_is_ridge_regression(precondition, fit_intercept):
    model = fitted(1e9, alpha=5.0, fit_intercept=fit_intercept, precondition=precondition)
    expected = Ridge(alpha=5.0, fit_intercept=fit_intercept).fit(*data())
    np.testing.assert_allclose(model.coef_, expected.coef_, atol=1e-4)
    np.testing.assert_allclose(model.intercept_, expected.intercept_, atol=1e-4)


def test_one_query_takes_all_of_the_budget():
    (event,) = fitted(1.0, precondition=None).privacy_ledger_
    assert (event.query, event.count) == ("normal_equations", 1)


def test_directions_that_are_all_noise_are_shrunk():
    sizes = [np.abs(fitted(0.2, seed=k, precondition=None).coef_).max() for k in range(20)]
    careless = AdaSSP(floor=1e-6)
    wild = [np.abs(fitted(0.2, careless, k, precondition=None).coef_).max() for k in range(20)]
    assert np.median(sizes) < 3
    assert np.max(wild) > 10 * np.max(sizes)


def test_directions_that_stand_out_are_not_shrunk():
    errors = [fitted(4.0, seed=k, precondition=None).coef_[:2] - [1.0, -0.5] for k in range(20)]
    assert np.abs(np.mean(errors, axis=0)).max() < 0.05


@pytest.mark.parametrize("map_of", [lambda root: root, np.diag, lambda root: TURN @ np.diag(root)])
def test_the_penalty_may_be_in_other_coordinates(map_of):
    root = np.array([1.0, 0.1, 3.0, 0.5])
    problem = Problem(Squared(), **PLAIN, penalty=Tikhonov(map_of(root)))
    X, y = data()
    ledger = Ledger(1e9, 1e-5, calculus=AdaSSP().calculus)
    oracle = PrivateOracle(DenseRows(X, y), ledger, Adjacency.REPLACE_ONE, SystemNoise())
    found = AdaSSP().solve(problem, oracle.for_problem(problem), np.random.default_rng(0)).w
    rows = np.column_stack([X, np.ones(N)])
    ridge = N * np.diag(np.append(root**2, 0.0))
    np.testing.assert_allclose(found, np.linalg.solve(rows.T @ rows + ridge, rows.T @ y), atol=1e-5)
