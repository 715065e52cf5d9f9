"""Both sides of the normal equations, as defined, in every layout."""

import numpy as np
import pytest
from examples_of_one_shots import equations

from skdp.privacy import Adjacency
from skdp.privacy.queries import GradientQuery, MomentsQuery
from skdp.problem import Problem, RowBounds, TargetBounds
from skdp.problem.losses import Squared
from skdp.testing import row_stores

N, D = 4, 3
TARGET = TargetBounds(-4.0, 4.0)


@pytest.mark.parametrize("constant", [0.0, 0.7])
def test_it_answers_both_moments(constant):
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(N, D)), rng.normal(size=N)
    query = equations(RowBounds(100.0, constant, TARGET), 0.3)
    V = np.column_stack([X, np.full(N, constant)]) if constant else X
    for layout, rows in row_stores(X, y).items():
        matrix, vector = query.parts(query.evaluate(rows))
        exact = {"rtol": 1e-6 if "single" in layout else 1e-12, "atol": 1e-7, "err_msg": layout}
        np.testing.assert_allclose(matrix, V.T @ V / N, **exact)
        np.testing.assert_allclose(vector, V.T @ (y / 4.0) / N, **exact)


@pytest.mark.parametrize("balance", [0.1, 0.5, 1.0])
def test_together_they_cost_less_than_apart(balance):
    bounds = RowBounds(2.0, 0.0, TARGET)
    query, replace_one = equations(bounds, balance), Adjacency.REPLACE_ONE
    problem = Problem(Squared(), N, D, bounds)
    moments = MomentsQuery(problem, full=True).sensitivity(replace_one)
    gradient = GradientQuery(problem, np.zeros(D), clip_norm=2.0).sensitivity(replace_one)
    assert query.sensitivity(replace_one) < 0.95 * np.hypot(moments, query.weight * gradient)
