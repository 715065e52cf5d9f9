"""Penalty and constraint after the fit: conditions of optimality, and scikit-learn."""

import numpy as np
import pytest
from sklearn.linear_model import ElasticNet as SklearnElasticNet

from skdp.problem import Problem, RowBounds
from skdp.problem.constraints import Box, NonNegative, Unconstrained
from skdp.problem.losses import Squared
from skdp.problem.penalties import L1, L2, ElasticNet, NoPenalty
from skdp.solvers import minimise_model

N, K = 200, 6


def fitted(seed=0, spread=1.0):
    """A least-squares fit with an intercept, and a map that whitens the rows."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(N, K)) @ np.diag(np.geomspace(1, 1 / spread, K)) + 0.3
    y = X @ rng.normal(size=K) + 1 + 0.5 * rng.normal(size=N)
    rows = np.column_stack([X, np.ones(N)])
    values, vectors = np.linalg.eigh(rows.T @ rows / N)
    return X, y, np.linalg.lstsq(rows, y, rcond=None)[0], vectors / np.sqrt(values)


def problem(penalty=None, constraint=None):
    return Problem(
        Squared(),
        N,
        K,
        RowBounds(1.0, 1.0),
        penalty=penalty or NoPenalty(),
        constraint=constraint or Unconstrained(),
    )


@pytest.mark.parametrize("positive", [False, True])
@pytest.mark.parametrize("l1_ratio", [1.0, 0.5])
@pytest.mark.parametrize("alpha", [0.01, 0.3])
def test_gives_the_solution_of_the_penalised_problem(alpha, l1_ratio, positive):
    X, y, w, whitening = fitted()
    penalty = L1(alpha) if l1_ratio == 1 else ElasticNet(alpha, l1_ratio)
    constraint = NonNegative() if positive else Unconstrained()
    model = SklearnElasticNet(alpha, l1_ratio=l1_ratio, positive=positive, tol=1e-12)
    model.fit(X, y)
    answer = minimise_model(problem(penalty, constraint), w, whitening)
    np.testing.assert_allclose(answer[:K], model.coef_, atol=1e-6)
    assert answer[K] == pytest.approx(model.intercept_, abs=1e-6)
    np.testing.assert_array_equal(answer[:K] == 0, model.coef_ == 0)


@pytest.mark.parametrize("spread", [1.0, 30.0, 1000.0])
@pytest.mark.parametrize(
    ("penalty", "box"), [(L1(0.1), None), (L2(0.5), None), (None, Box(-0.2, 0.5))]
)
def test_the_answer_is_a_fixed_point(penalty, box, spread):
    _, _, w, whitening = fitted(1, spread)
    asked = problem(penalty, box)
    answer = minimise_model(asked, w, whitening)
    inverse = np.linalg.inv(whitening)
    moments = inverse.T @ inverse
    step = 1 / np.linalg.norm(moments, 2)
    again = asked.project(asked.prox(answer - step * moments @ (answer - w), step))
    np.testing.assert_allclose(again, answer, atol=1e-6 * np.abs(w).max())


def test_nothing_changes_without_penalty_and_constraint():
    _, _, w, whitening = fitted()
    np.testing.assert_array_equal(minimise_model(problem(), w, whitening), w)


def test_zero_stays_zero():
    _, _, w, whitening = fitted()
    answer = minimise_model(problem(L1(1.0)), np.zeros_like(w), whitening)
    np.testing.assert_array_equal(answer, 0)
