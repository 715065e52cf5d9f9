"""Rows cut to some columns: every query keeps its sensitivity, and sees nothing else."""

from dataclasses import replace

import numpy as np
import pytest
from examples_of_coordinates import TARGET, D, N, all_bounds, queries

from skdp.privacy import Adjacency
from skdp.privacy.queries import GradientQuery
from skdp.problem import Problem, RowBounds
from skdp.problem.losses import Squared
from skdp.testing import check_sensitivity, row_stores


@pytest.mark.parametrize("adjacency", Adjacency)
def test_the_bound_is_attained_by_rows_that_are_long_outside_the_columns(adjacency):
    """Their norm is taken after the cut, so they are as long as allowed within the columns."""
    problem = Problem(Squared(), N, 2, RowBounds(2.0, target=TARGET, columns=(3, 1)))
    query = GradientQuery(problem, np.zeros(2), 2.0)
    X = np.tile([1e6, 0.0, 1e6, 5.0], (N, 1))
    ones = np.ones(N)
    assert check_sensitivity(query, X, ones, X * [1, 1, 1, -1], ones, adjacency) > 0.999


def test_answers_equal_those_for_rows_without_the_other_columns():
    rng = np.random.default_rng(7)
    X, y = (
        rng.normal(size=(N, D)) * 10.0 ** rng.uniform(-2, 3, size=(N, D)),
        rng.integers(2, size=N),
    )
    cut_to = [bounds for bounds in all_bounds(rng) if bounds.columns]
    assert len(cut_to) == 3
    for bounds in cut_to:
        whole, cut = row_stores(X, y), row_stores(X[:, bounds.columns], y)
        whole_rows = queries(bounds, np.random.default_rng(4))
        alone = queries(replace(bounds, columns=None), np.random.default_rng(4), d=2)
        for query, same in zip(whole_rows, alone, strict=True):
            for layout in whole:
                answers = query.evaluate(whole[layout]), same.evaluate(cut[layout])
                np.testing.assert_allclose(*answers, atol=1e-13)
