"""Queries about single features say what their formulas say, in every layout of rows."""

import math

import numpy as np
import pytest
import scipy.sparse as sp

from skdp.privacy import Adjacency
from skdp.privacy.queries import ColumnCountsQuery, ColumnMomentsQuery, ColumnTreeQuery
from skdp.privacy.rows import MOST_ROWS, DenseRows, SparseRows
from skdp.problem import ColumnBounds
from skdp.testing import row_stores

X = np.array(
    [[0.0, -7.0, 1e300], [0.5, 0.0, 0.0], [2.0, 3.0, -1e300], [-1.5, 0.0, 4.0], [0.0, 1.0, 6.0]]
)
BOUNDS = ColumnBounds(np.array([-1.0, 0.0, 2.0]), np.array([1.0, 4.0, 8.0]))


def test_moments_are_those_of_clipped_and_scaled_features():
    means, squares = np.zeros(3), np.zeros(3)
    for row in X:
        for j, x in enumerate(row):
            inside = min(max(x, BOUNDS.low[j]), BOUNDS.high[j])
            u = 2 * (inside - BOUNDS.low[j]) / (BOUNDS.high[j] - BOUNDS.low[j]) - 1
            means[j] += u / 5
            squares[j] += u * u / 5
    query = ColumnMomentsQuery(BOUNDS, 5)
    for layout, rows in row_stores(X, np.zeros(5)).items():
        found = query.moments(query.evaluate(rows))
        np.testing.assert_allclose(found, [means, squares], rtol=1e-12, err_msg=layout)


def test_counts_are_of_values_strictly_below():
    query = ColumnCountsQuery(np.array([[0.0, 0.1], [1.0, -7.0], [1e301, 4.0]]))
    expected = [[1, 3], [3, 0], [5, 2]]
    for layout, rows in row_stores(X, np.zeros(5)).items():
        # What is beyond single precision is brought to its largest number.
        found = query.evaluate(rows) + 2.5
        np.testing.assert_array_equal(found, expected, err_msg=layout)


@pytest.mark.parametrize("order", ["C", "F"])
def test_counts_of_many_rows_are_exact(order):
    column = np.random.default_rng(0).permutation(MOST_ROWS)
    many = np.asarray(np.column_stack([column, -column]), dtype=np.float64, order=order)
    query = ColumnCountsQuery(np.array([[40_001.0, 3.0], [-40_001.0, 1.0]]))
    found = query.evaluate(DenseRows(many, np.zeros(MOST_ROWS))) + 0.5 * MOST_ROWS
    np.testing.assert_array_equal(found, [[40_001, 3], [MOST_ROWS - 40_002, MOST_ROWS]])


def test_counts_of_some_features_are_those_of_a_table_without_the_others():
    edges = np.array([[0.0, 0.1], [1.0, -7.0], [1e301, 4.0]])
    for layout, rows in row_stores(X, np.zeros(5)).items():
        for sizes in (False, True):
            every = ColumnCountsQuery(edges, sizes).evaluate(rows)
            some = ColumnCountsQuery(edges[[2, 0]], sizes, (2, 0)).evaluate(rows)
            np.testing.assert_array_equal(some, every[[2, 0]], err_msg=layout)


def nodes_of(column, low, high, levels):
    """Counts of missing values, and of the nodes of a tree from the top down, value by value."""
    counts = [sum(map(math.isnan, column))]
    for level in range(1, levels + 1):
        of_level = [0] * 4**level
        for x in column:
            if not math.isnan(x):
                place = int((min(max(x, low), high) - low) / (high - low) * 4**level)
                of_level[min(place, 4**level - 1)] += 1
        counts += of_level
    return counts


def test_trees_count_each_value_once_a_level_and_what_is_missing_by_itself():
    rng = np.random.default_rng(0)
    rows = np.where(rng.random((200, 3)) < 0.3, 0.0, rng.normal(2.0, 3.0, (200, 3)))
    rows[rng.random((200, 3)) < 0.1] = np.nan
    rows[0] = 1e300, -1e300, 8.0
    query = ColumnTreeQuery(BOUNDS, 3)
    ends = zip(rows.T, BOUNDS.low, BOUNDS.high, strict=True)
    expected = [nodes_of(column.tolist(), low, high, 3) for column, low, high in ends]
    for store in (
        DenseRows(rows, np.zeros(200)),
        DenseRows(np.asfortranarray(rows), np.zeros(200)),
        SparseRows(sp.csr_array(rows), np.zeros(200)),
        SparseRows(in_halves(rows), np.zeros(200)),
    ):
        np.testing.assert_array_equal(query.evaluate(store), expected)


def in_halves(rows):
    """Rows with each of their entries stored in two parts."""
    whole = sp.csr_array(rows)
    data, indices = np.repeat(whole.data / 2, 2), np.repeat(whole.indices, 2)
    return sp.csr_array((data, indices, 2 * whole.indptr), shape=whole.shape)


def test_sensitivity_of_a_tree_is_attained_between_rows_with_and_without_values_at_most():
    """All pairs of rows of one feature, missing values among them."""
    values = np.array([np.nan, *np.linspace(0.0, 1.0, 17)])
    query = ColumnTreeQuery(ColumnBounds(np.zeros(1), np.ones(1)), 2)
    answers = [query.evaluate(DenseRows(np.full((1, 1), x), np.zeros(1))) for x in values]
    moves = [np.linalg.norm(a - b) for a in answers for b in answers]
    assert max(moves) == pytest.approx(query.sensitivity(Adjacency.REPLACE_ONE)) == 2.0
    lengths = [np.linalg.norm(a) for a in answers]
    assert max(lengths) == pytest.approx(query.sensitivity(Adjacency.ZERO_OUT))


@pytest.mark.parametrize("weight", [1.0, 1.2, math.sqrt(2)])
def test_squares_up_to_the_weight_of_the_answer_cost_nothing_beside_means(weight):
    u = np.linspace(-1, 1, 401)
    moves = (u - u[:, None]) ** 2 + weight**2 * (u**2 - u[:, None] ** 2) ** 2
    assert moves.max() <= 4 + 1e-12
    # A larger weight would cost more than the means alone.
    heavier = (u - u[:, None]) ** 2 + 1.1 * 2 * (u**2 - u[:, None] ** 2) ** 2
    assert heavier.max() == pytest.approx(4)
    heaviest = (u - u[:, None]) ** 2 + 4 * (u**2 - u[:, None] ** 2) ** 2
    assert heaviest.max() > 4.5


def test_missing_entries_cost_nothing_beside_means():
    """All pairs of rows of one feature, a missing one among them."""
    bounds = ColumnBounds(-np.ones(1), np.ones(1))
    query = ColumnMomentsQuery(bounds, 1)
    values = np.array([np.nan, *np.linspace(-1.0, 1.0, 201)])
    answers = [query.evaluate(DenseRows(np.full((1, 1), x), np.zeros(1))) for x in values]
    moves = [np.linalg.norm(answers[i] - b) for i in (0, 1, 50, 101) for b in answers]
    assert max(moves) <= query.sensitivity(Adjacency.REPLACE_ONE) + 1e-12
    lengths = np.array([np.linalg.norm(a) for a in answers])
    assert lengths.max() == pytest.approx(query.sensitivity(Adjacency.ZERO_OUT))
    assert lengths[0] == pytest.approx(lengths.max())


def test_missing_entries_count_for_themselves_and_for_no_moment():
    rng = np.random.default_rng(0)
    rows = np.where(rng.random((200, 3)) < 0.4, 0.0, rng.normal(3.0, 2.0, (200, 3)))
    rows[rng.random((200, 3)) < 0.2] = np.nan
    query = ColumnMomentsQuery(BOUNDS, 200)
    u = (np.clip(rows, BOUNDS.low, BOUNDS.high) - BOUNDS.centre) / BOUNDS.half_width
    for store in (DenseRows(rows, np.zeros(200)), SparseRows(sp.csr_array(rows), np.zeros(200))):
        answer = query.evaluate(store)
        missing = query.missing(answer)
        means, squares = query.moments(answer)
        np.testing.assert_allclose(missing, np.isnan(rows).mean(axis=0), rtol=1e-12)
        np.testing.assert_allclose(means / (1 - missing), np.nanmean(u, axis=0), rtol=1e-12)
        of_present = (squares - 0.75 * missing) / (1 - missing)
        np.testing.assert_allclose(of_present, np.nanmean(u**2, axis=0), rtol=1e-12)


@pytest.mark.parametrize("d", [1, 7])
def test_declared_sensitivities(d):
    bounds = ColumnBounds(np.zeros(d), np.arange(1.0, d + 1))
    query = ColumnMomentsQuery(bounds, 10)
    assert query.sensitivity(Adjacency.REPLACE_ONE) == pytest.approx(2 * math.sqrt(d) / 10)
    assert query.sensitivity(Adjacency.ZERO_OUT) == pytest.approx(math.sqrt(1.125 * d) / 10)
    counts = ColumnCountsQuery(np.zeros((d, 2)))
    assert counts.sensitivity(Adjacency.REPLACE_ONE) == pytest.approx(math.sqrt(2 * d))
    assert counts.sensitivity(Adjacency.ZERO_OUT) == pytest.approx(math.sqrt(2 * d) / 2)


def test_entries_that_are_not_numbers_count_in_no_moment_and_below_nothing():
    rows = np.full((4, 3), np.nan)
    query = ColumnMomentsQuery(BOUNDS, 4)
    counts = ColumnCountsQuery(np.full((3, 1), np.inf))
    for store in (DenseRows(rows, np.zeros(4)), SparseRows(sp.csr_array(rows), np.zeros(4))):
        answer = query.evaluate(store)
        assert np.abs(answer[:2]).max() < 1e-15
        np.testing.assert_allclose(query.missing(answer), 1.0, rtol=1e-15)
        np.testing.assert_array_equal(counts.evaluate(store), -2.0)
