"""Means of rows by class: what targets without a class do."""

from dataclasses import replace

import numpy as np
import pytest

from skdp.privacy import Adjacency
from skdp.privacy.queries import RowMeansQuery
from skdp.privacy.rows import DenseRows
from skdp.problem import Problem, RowBounds, RowMap
from skdp.problem.losses import Logistic
from skdp.testing import check_sensitivity


@pytest.mark.parametrize(
    ("target", "column"), [(-7.0, 0), (1e300, 2), (np.inf, 2), (-np.inf, 0), (np.nan, 0)]
)
def test_targets_without_a_class_count_towards_one_and_raise_nothing(target, column):
    rows = DenseRows(np.ones((1, 1)), np.array([target]))
    answer = RowMeansQuery(Problem(Logistic(), 1, 1, RowBounds(1.0)), 3).evaluate(rows)
    np.testing.assert_array_equal(answer[0], np.eye(3)[column])


N, D = 4, 3


@pytest.mark.parametrize("part", ["shift", "scale", "matrix"])
def test_a_map_that_turns_signs_is_not_taken_for_one_sided(part):
    turned = {"shift": 2 * np.ones(D), "scale": np.array([1.0, -1.0, 1.0]), "matrix": np.eye(D)}
    turned["matrix"][1] = -turned["matrix"][0]
    parts = {"scale": np.ones(D), "matrix": None, "shift": np.zeros(D), part: turned[part]}
    bounds = RowBounds(1.0, row_map=RowMap(**parts, norm=1e-3), nonnegative=True)
    # Along the first axis and the second, which the map brings to opposite sides.
    X = np.tile([0.0, 1.0, 0.0], (N, 1))
    other = np.tile([1.0, 0.0, 0.0], (N, 1))
    if part == "scale":
        bounds = replace(bounds, row_map=replace(bounds.row_map, shift=np.zeros(D)))
    query = RowMeansQuery(Problem(Logistic(), N, D, bounds), 2)
    check_sensitivity(query, X, np.zeros(N), other, np.zeros(N), Adjacency.REPLACE_ONE)
    assert query.sensitivity(Adjacency.REPLACE_ONE) == 2e-3 / N
