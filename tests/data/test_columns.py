"""Rows cut to some columns: every query keeps its sensitivity, and sees nothing else."""

from dataclasses import replace

import numpy as np
import pytest

from skdp.privacy import Adjacency
from skdp.privacy.queries import (
    GradientAndShareQuery,
    GradientNormQuery,
    GradientQuery,
    GradientSizesQuery,
    MomentsQuery,
    ResidualQuantileQuery,
    SelectionQuery,
)
from skdp.problem import Problem, RowBounds, RowMap, TargetBounds
from skdp.problem.losses import Squared
from skdp.testing import check_sensitivity, row_stores

N, D, COLUMNS = 6, 4, (3, 1)
TARGET = TargetBounds(-1.0, 1.0)
MATRIX = np.array([[2.0, 1.0, 0.0], [-1.0, 3.0, 1.0]])
LAYOUTS = {
    "as they come": RowBounds(2.0, target=TARGET, columns=COLUMNS),
    "intercept": RowBounds(2.0, 0.5, TARGET, columns=COLUMNS),
    "mapped": RowBounds(
        2.0, 0.0, TARGET, RowMap(np.ones(2), MATRIX, np.ones(3), 1.5), columns=COLUMNS
    ),
}
every_layout = pytest.mark.parametrize("bounds", LAYOUTS.values(), ids=LAYOUTS)
both_adjacencies = pytest.mark.parametrize("adjacency", Adjacency)


def problem_for(bounds):
    k = len(COLUMNS) if bounds.row_map is None else bounds.row_map.n_features
    return Problem(Squared(), N, k, bounds)


def queries(bounds):
    problem = problem_for(bounds)
    w = np.random.default_rng(4).normal(size=problem.n_rows)
    gradient = GradientQuery(problem, w, 0.3)
    yield gradient
    yield GradientNormQuery(gradient)
    yield GradientAndShareQuery(gradient, 0.2)
    yield GradientSizesQuery(problem, w, np.geomspace(0.01, 1, 7))
    yield MomentsQuery(problem, True)
    yield SelectionQuery(problem, w, 0.2, np.arange(problem.n_features), 1)
    yield ResidualQuantileQuery(problem, w, np.linspace(-1, 1, 5), 0.4, sizes=True)


def data(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(N, D)) * 10.0 ** rng.uniform(-2, 3, size=(N, D))
    return X, rng.uniform(-2, 2, size=N)


@both_adjacencies
def test_the_bound_is_attained_by_rows_that_are_long_outside_the_columns(adjacency):
    """Their norm is taken after the cut, so they are as long as allowed within the columns."""
    bounds = LAYOUTS["as they come"]
    query = GradientQuery(problem_for(bounds), np.zeros(2), 2.0)
    X = np.tile([1e6, 0.0, 1e6, 5.0], (N, 1))
    ones = np.ones(N)
    assert check_sensitivity(query, X, ones, X * [1, 1, 1, -1], ones, adjacency) > 0.999


@every_layout
def test_answers_equal_those_for_rows_without_the_other_columns(bounds):
    X, y = data(7)
    whole, cut = row_stores(X, y), row_stores(X[:, COLUMNS], y)
    for query, same in zip(queries(bounds), queries(replace(bounds, columns=None)), strict=True):
        for layout in whole:
            np.testing.assert_allclose(
                query.evaluate(whole[layout]), same.evaluate(cut[layout]), atol=1e-13
            )
