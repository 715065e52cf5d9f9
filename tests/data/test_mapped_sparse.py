"""Lengths of shifted sparse rows: never too short, and cheap in memory."""

from fractions import Fraction
from math import inf

import numpy as np
import pytest
import scipy.sparse as sp

from skdp.privacy import Adjacency
from skdp.privacy.queries import GradientQuery
from skdp.privacy.rows import BoundedBlock, MappedBlock, RawBlock, SparseRows, sparse_lengths
from skdp.problem import Problem, RowBounds, RowMap, TargetBounds
from skdp.problem.losses import Squared
from skdp.testing import check_sensitivity

D = 6


def nearly_cancelling(exponent, n=40, seed=0):
    """Rows at a relative distance of 10^exponent from the shift, in mapped coordinates."""
    rng = np.random.default_rng(seed)
    scale, shift = rng.uniform(0.1, 2.0, D), rng.uniform(0.1, 1.0, D)
    X = shift / scale * (1 + 10.0**exponent * rng.normal(size=(n, D)))
    return RowMap(scale, None, shift, 1e-3), X


def exact_squares(X, row_map):
    """Squared norms of mapped rows in rational arithmetic."""
    a, s = ([Fraction(v) for v in part.tolist()] for part in (row_map.scale, row_map.shift))
    rows = [zip(row, a, s, strict=True) for row in X.tolist()]
    return [sum((Fraction(x) * b - c) ** 2 for x, b, c in row) for row in rows]


@pytest.mark.parametrize("exponent", [-20, -16, -12, -8, -6, -4, -2, 0])
def test_lengths_are_never_below_the_norm_however_the_terms_cancel(exponent):
    row_map, X = nearly_cancelling(exponent)
    block = BoundedBlock(RawBlock(sp.csr_array(X), np.zeros(len(X))), RowBounds(1e3))
    lengths = sparse_lengths(block, row_map)
    for length, square in zip(lengths.tolist(), exact_squares(X, row_map), strict=True):
        assert Fraction(length) ** 2 >= square


def test_lengths_exceed_the_norm_by_rounding_only_where_nothing_cancels():
    row_map, X = nearly_cancelling(0)
    block = BoundedBlock(RawBlock(sp.csr_array(X), np.zeros(len(X))), RowBounds(1e3))
    norms = np.linalg.norm(X * row_map.scale - row_map.shift, axis=1)
    np.testing.assert_allclose(sparse_lengths(block, row_map), norms, rtol=1e-13)


@pytest.mark.parametrize("intercept", [0.0, 0.4])
@pytest.mark.parametrize("norm", [0.7, inf])
@pytest.mark.parametrize("nonnegative", [False, True])
def test_products_are_those_of_rows_written_out(intercept, norm, nonnegative):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(40, D)) * 10.0 ** rng.uniform(-3, 3, size=(40, 1))
    X[rng.random(X.shape) < 0.5] = 0.0
    X[3], X[4, 0], X[5, 0] = 0.0, 1e200, np.inf
    row_map = RowMap(rng.uniform(0.1, 3.0, D), None, rng.normal(size=D), norm)
    bounds = RowBounds(2.0, intercept, row_map=row_map, nonnegative=nonnegative)
    y = np.zeros(len(X))
    dense, sparse = (MappedBlock(RawBlock(rows, y), bounds) for rows in (X, sp.csr_array(X)))
    dense, sparse = dense.loaded(), sparse.loaded()
    np.testing.assert_allclose(sparse.norms, dense.norms, rtol=1e-12)
    np.testing.assert_allclose(sparse.rows(), dense.rows(), rtol=1e-12, atol=1e-12)
    for shape in ((), (3,)):
        w = rng.normal(size=(D + bool(intercept), *shape))
        r = rng.normal(size=(len(X), *shape))
        np.testing.assert_allclose(sparse.scores(w), dense.scores(w), rtol=1e-11, atol=1e-11)
        products = sparse.combine(r.copy()), dense.combine(r.copy())
        np.testing.assert_allclose(*products, rtol=1e-11, atol=1e-11)


def cancelling_gradients(clip):
    """Rows that the map takes close to zero, with derivatives as large as floats can hold."""
    n = 4
    row_map, X = nearly_cancelling(-15, n)
    _, other_X = nearly_cancelling(-9, n, seed=1)
    bounds = RowBounds(1e3, 0.0, TargetBounds(-1.0, 1.0), RowMap(*vars(row_map).values()))
    problem = Problem(Squared(), n, D, bounds)
    query = GradientQuery(problem, 1e140 * np.ones(D), clip)
    return query, X, np.ones(n), other_X, -np.ones(n)


@pytest.mark.parametrize("adjacency", Adjacency)
@pytest.mark.parametrize("clip", [1e-3, 1.0, 1e3])
def test_rows_that_nearly_cancel_stay_within_the_declared_bound(adjacency, clip):
    check_sensitivity(*cancelling_gradients(clip), adjacency)


def test_rows_of_a_large_vocabulary_are_never_written_out(peak_bytes):
    n, d = 2000, 20_000
    rng = np.random.default_rng(2)
    columns = np.sort(rng.integers(0, d // 20, size=(n, 20)) + d // 20 * np.arange(20)).ravel()
    X = sp.csr_array((rng.random(20 * n), columns, np.arange(0, 20 * n + 1, 20)), (n, d))
    row_map = RowMap(np.full(d, 0.5), None, np.full(d, 1e-3), 0.3)
    bounds, w = RowBounds(1.0, 0.1, row_map=row_map), np.ones(d + 1)

    def once():
        rows = SparseRows(X, np.zeros(n)).bounded(bounds)
        rows.sum(lambda block: block.combine(block.scores(w)))

    # Several vectors of the length of a row, and a copy or two of the 40 000 entries.
    assert peak_bytes(once) < 0.02 * 8 * n * d
