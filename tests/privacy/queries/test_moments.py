"""Moments of rows, against sums of rows that are bounded for real."""

import numpy as np
import pytest

from skdp.privacy.queries import MomentsQuery, RowMeansQuery
from skdp.privacy.rows import DenseRows
from skdp.problem import Problem, RowBounds, RowMap
from skdp.problem.losses import Logistic
from skdp.testing import row_stores

N, D = 8, 3
RNG = np.random.default_rng(0)
X = RNG.normal(size=(N, D))
LENGTHENING = RowMap(np.ones(D), 10 * RNG.normal(size=(D, D + 1)), RNG.normal(size=D + 1), 3.0)


def bounded_rows(bounds):
    rows = X * np.minimum(1, bounds.data_norm / np.linalg.norm(X, axis=1))[:, None]
    if (row_map := bounds.row_map) is not None:
        rows = rows @ row_map.jacobian() - row_map.shift
        rows *= np.minimum(1, row_map.norm / np.linalg.norm(rows, axis=1))[:, None]
    if bounds.intercept_value:
        rows = np.column_stack([rows, np.full(N, bounds.intercept_value)])
    return rows


def moments(bounds, full):
    d = D if bounds.row_map is None else bounds.row_map.n_features
    return MomentsQuery(Problem(Logistic(), N, d, bounds), full)


@pytest.mark.parametrize("full", [True, False])
@pytest.mark.parametrize("row_map", [None, LENGTHENING], ids=["plain", "mapped"])
@pytest.mark.parametrize("constant", [0.0, 0.7])
def test_moments_are_means_of_outer_products(constant, row_map, full):
    bounds = RowBounds(1.5, constant, row_map=row_map)
    rows = bounded_rows(bounds)
    query, expected = moments(bounds, full), rows.T @ rows / N
    if not full:
        expected = np.stack([np.diag(expected), expected[:, -1]])
    for layout, store in row_stores(X, np.zeros(N)).items():
        if "single" not in layout:
            answer = query.matrix(query.evaluate(store))
            np.testing.assert_allclose(answer, expected, atol=1e-12, err_msg=layout)


def test_the_answer_is_as_long_as_the_matrix():
    # Hence equal noise on the answer is isotropic noise on symmetric matrices.
    answer = moments(RowBounds(1.5), full=True).evaluate(row_stores(X, X[:, 0])["dense"])
    rows = bounded_rows(RowBounds(1.5))
    assert np.linalg.norm(answer) == pytest.approx(np.linalg.norm(rows.T @ rows / N))


@pytest.mark.parametrize(
    ("target", "column"), [(-7.0, 0), (1e300, 2), (np.inf, 2), (-np.inf, 0), (np.nan, 0)]
)
def test_targets_without_a_class_count_towards_one_and_raise_nothing(target, column):
    rows = DenseRows(np.ones((1, 1)), np.array([target]))
    answer = RowMeansQuery(Problem(Logistic(), 1, 1, RowBounds(1.0)), 3).evaluate(rows)
    np.testing.assert_array_equal(answer[0], np.eye(3)[column])
