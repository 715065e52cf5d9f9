"""Queries about single features say what their formulas say, in every layout of rows."""

import math

import numpy as np
import pytest
import scipy.sparse as sp

from skdp.privacy import Adjacency
from skdp.privacy.queries import (
    ColumnCellsQuery,
    ColumnMomentsQuery,
    ColumnTreeQuery,
    HistogramQuery,
    MagnitudeVotesQuery,
)
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


def plain_votes(rows, columns, weights):
    """Votes by their definition, entry by entry."""
    out = np.zeros((len(columns), 2, 101))
    for row, weight in zip(rows, weights, strict=True):
        voting = [k for k, j in enumerate(columns) if row[j] not in (0, 1, -1)]
        for k in voting:
            x = row[columns[k]]
            e = min(max(math.floor(math.log2(abs(x))) + 1, -50), 50)
            out[k, int(x < 0), e + 50] += weight / math.sqrt(len(voting))
    return out


def plain_cells(rows, low, high, m, columns, weights):
    """Counts by their definition, entry by entry."""
    out = np.zeros((len(columns), m + 4))
    for row, weight in zip(rows, weights, strict=True):
        for k, j in enumerate(columns):
            x, cell = row[j], m + 2
            if x != 0:
                cell = math.floor((x - low[k]) / (high[k] - low[k]) * m)
                cell = m if cell < 0 else m + 1 if cell >= m else cell
            out[k, cell] += weight
    return out


@pytest.mark.parametrize("columns", [(0, 1, 2), (2, 0)])
@pytest.mark.parametrize("weights", [None, np.array([0.5, 1.0, 0.0, 0.25, 1.0])])
def test_votes_and_cells_are_those_of_their_definitions(columns, weights):
    counted = np.ones(5) if weights is None else weights
    low, high = np.array([-2.0, 0.0])[: len(columns)], np.array([3.0, 8.0])[: len(columns)]
    columns = columns[:2]
    votes, cells = MagnitudeVotesQuery(columns), ColumnCellsQuery(low, high, 8, columns)
    for layout, rows in row_stores(X, np.zeros(5), weights).items():
        near = {"rtol": 1e-7, "atol": 1e-7, "err_msg": layout}
        expected = plain_votes(X, columns, counted)
        np.testing.assert_allclose(votes.evaluate(rows), expected, **near)
        expected = plain_cells(X, low, high, 8, columns, counted)
        np.testing.assert_allclose(cells.evaluate(rows), expected, **near)


def test_no_row_votes_for_more_than_its_weight_however_many_entries_it_has():
    for m in [*range(1, 200), 1000, 2**10, 4097]:
        votes = MagnitudeVotesQuery(tuple(range(m)))
        for weight in (1.0, 0.3):
            rows = DenseRows(np.full((2, m), 5.0), np.zeros(2), np.array([weight, 0.0]))
            counted = votes.evaluate(rows).max()
            # In whole numbers, without rounding.
            assert round(counted * 2**26) ** 2 * m <= math.floor(weight * 2**26) ** 2
            assert counted == pytest.approx(weight / math.sqrt(m), abs=2**-25)


def test_votes_of_any_two_rows_are_at_most_sqrt_two_apart():
    rng = np.random.default_rng(0)
    query, apart = MagnitudeVotesQuery(tuple(range(12))), []
    for _ in range(300):
        pair = rng.choice([0.0, 1.0, -1.0, 5.0, -5.0, 1e-9, 1e20, np.nan], size=(2, 12))
        first, second = (query.evaluate(DenseRows(row[None], np.zeros(1))) for row in pair)
        apart.append(np.linalg.norm(first - second))
    assert 1.4 < max(apart) <= math.sqrt(2)


@pytest.mark.parametrize("weights", [None, np.zeros(5)])
def test_a_table_in_which_nobody_votes_has_an_answer_of_the_same_kind(weights):
    for rows in row_stores(np.ones((5, 3)), np.zeros(5), weights).values():
        found = MagnitudeVotesQuery((0, 2)).evaluate(rows)
        assert found.dtype == np.float64
        assert not found.any()


def test_votes_of_many_rows_are_the_same_in_any_order():
    rng = np.random.default_rng(0)
    many = rng.normal(size=(MOST_ROWS + 7, 3)) * [1e-3, 1, 1e9]
    query = MagnitudeVotesQuery((0, 1, 2))
    every = query.evaluate(DenseRows(many, np.zeros(len(many))))
    shuffled = query.evaluate(DenseRows(many[::-1].copy(), np.zeros(len(many))))
    np.testing.assert_array_equal(every, shuffled)


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


# A query about one feature, its values, and how long the answer to a missing one is.
POSITIVE, SIGNED = ColumnBounds(np.zeros(1), np.ones(1)), ColumnBounds(-np.ones(1), np.ones(1))
TREE = ColumnTreeQuery(POSITIVE, 2), np.linspace(0.0, 1.0, 17), 1.0
MOMENTS = ColumnMomentsQuery(SIGNED, 1), np.linspace(-1.0, 1.0, 201), 1.125**0.5


@pytest.mark.parametrize(("query", "values", "missing"), [TREE, MOMENTS], ids=["tree", "moments"])
def test_sensitivities_are_attained_and_missing_entries_cost_nothing_beside(query, values, missing):
    """All pairs of rows of one feature, a missing one among them."""
    answers = [
        query.evaluate(DenseRows(np.full((1, 1), x), np.zeros(1))).ravel()
        for x in (np.nan, *values)
    ]
    moves = [np.linalg.norm(answers - b, axis=1).max() for b in answers]
    assert max(moves) == pytest.approx(query.sensitivity(Adjacency.REPLACE_ONE), rel=1e-12)
    lengths = np.linalg.norm(answers, axis=1)
    assert lengths.max() == pytest.approx(query.sensitivity(Adjacency.ZERO_OUT))
    assert lengths[0] == pytest.approx(missing)


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


def test_entries_that_are_not_numbers_count_in_no_moment_vote_for_nothing_and_are_counted():
    rows = np.full((4, 3), np.nan)
    query = ColumnMomentsQuery(BOUNDS, 4)
    cells = ColumnCellsQuery(BOUNDS.low, BOUNDS.high, 8, (0, 1, 2))
    for store in (DenseRows(rows, np.zeros(4)), SparseRows(sp.csr_array(rows), np.zeros(4))):
        answer = query.evaluate(store)
        assert np.abs(answer[:2]).max() < 1e-15
        np.testing.assert_allclose(query.missing(answer), 1.0, rtol=1e-15)
        assert not MagnitudeVotesQuery((0, 1, 2)).evaluate(store).any()
        np.testing.assert_array_equal(cells.evaluate(store)[:, -1], 4.0)


def test_a_histogram_of_few_edges_counts_as_one_of_many_does():
    rng = np.random.default_rng(0)
    y = np.concatenate([rng.integers(-3, 4, 500) / 2, [math.nan, math.inf, -math.inf, 1.0, -1.0]])
    rows = DenseRows(np.ones((len(y), 1)), y)
    few = np.array([-1.0, 0.5, 1.0])
    # Edges far beyond make no difference to the cells below them.
    many = np.concatenate([few, [1e10, 2e10, 3e10, 4e10]])
    found, other = (HistogramQuery("target", edges).evaluate(rows) for edges in (few, many))
    np.testing.assert_array_equal(found[:-1], other[: few.size])
    assert found[-1] == other[few.size :].sum()
    assert found[0] == np.sum(y < -1)


@pytest.mark.parametrize("few", [1, 3, 7])
def test_the_type_in_which_targets_are_kept_moves_no_row_to_another_bin(few):
    """Targets are kept in a type that follows from theirs, and a single row may decide that."""
    ends = np.linspace(0.1, 0.9, 40)
    # Values just below edges, which rounded to single precision are these values.
    edges = ends[ends.astype(np.float32) < ends][:few]
    y = np.repeat(edges.astype(np.float32), 50)
    of_type = [
        HistogramQuery("target", edges).evaluate(DenseRows(np.ones((y.size, 1)), kept))
        for kept in (y, y.astype(np.float64))
    ]
    np.testing.assert_array_equal(*of_type)
    np.testing.assert_array_equal(of_type[0], [50.0] * few + [0.0])
