"""Quantile descent: densities it assumes, and a start that is never lost."""

from dataclasses import replace

import numpy as np
import pytest
from tasks_for_solvers import TASKS, solve

from skdp.problem.losses import Pinball
from skdp.solvers import QuantileGD

TASK = TASKS["quantiles"]


def solved(problem, epsilon, **options):
    return solve(QuantileGD(**options), problem, TASK.X, TASK.y, epsilon)


@pytest.mark.parametrize("quantiles", [(0.5,), (0.1, 0.9), (0.2, 0.5, 0.7)])
def test_shares_below_are_right_where_nothing_hides_them(quantiles):
    problem = replace(TASK.problem, loss=Pinball(quantiles))
    solution, *_ = solved(problem, 1e6)
    z = np.column_stack([TASK.X, np.ones(len(TASK.y))]) @ solution.w.reshape(5, -1)
    np.testing.assert_allclose(np.mean(TASK.y[:, None] <= z, axis=0), quantiles, atol=0.02)


def test_where_noise_hides_all_slopes_are_shrunk():
    loud, *_ = solved(TASK.problem, 0.01)
    clear, *_ = solved(TASK.problem, 1e6)
    assert np.linalg.norm(loud.w[:4]) < np.linalg.norm(clear.w[:4])


@pytest.mark.parametrize("rounds", [1, 3])
def test_without_an_intercept_nothing_is_left_for_its_questions(rounds):
    bounds = replace(TASK.problem.bounds, intercept_value=0.0)
    for problem in (TASK.problem, replace(TASK.problem, bounds=bounds)):
        *_, ledger = solved(problem, 1.0, rounds=rounds)
        assert 0.999 * ledger.limit <= ledger.total <= ledger.limit
