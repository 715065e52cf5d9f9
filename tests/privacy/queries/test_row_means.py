"""Means of rows by class: what targets without a class do."""

import numpy as np
import pytest

from skdp.privacy.queries.row_means import RowMeansQuery
from skdp.privacy.rows.dense_rows import DenseRows
from skdp.problem.bounds import RowBounds


@pytest.mark.parametrize(
    ("target", "column"), [(-7.0, 0), (1e300, 2), (np.inf, 2), (-np.inf, 0), (np.nan, 0)]
)
def test_targets_without_a_class_count_towards_one_and_raise_nothing(target, column):
    rows = DenseRows(np.ones((1, 1)), np.array([target]))
    answer = RowMeansQuery(RowBounds(1.0), 1, 3).evaluate(rows)
    np.testing.assert_array_equal(answer[0], np.eye(3)[column])
