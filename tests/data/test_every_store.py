"""The same rows have the same sums in every store: in memory, sparse, in chunks, in partitions."""

from copy import deepcopy
from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp
from threadpoolctl import threadpool_limits

from skdp.privacy.queries import GradientDifferenceQuery, GradientQuery
from skdp.privacy.rows import (
    ChunkedRows,
    Chunks,
    DaskRows,
    DenseRows,
    PrivacyUnits,
    SparseRows,
    total,
    with_marks,
)
from skdp.problem import Problem, RowBounds, RowMap
from skdp.problem.losses import Logistic


def chunked(*kinds, size=100, a_row=None):
    """A store of chunks of so many rows, which are brought to these kinds in turn.

    It may keep so many bytes a row: all of the rows by default, with 24 all but their features.
    """

    def store(X, y):
        ends = [*range(0, len(X), size), len(X)]
        pieces = [
            (kinds[k % len(kinds)](X[i:j]), y[i:j]) for k, (i, j) in enumerate(pairwise(ends))
        ]
        memory = None if a_row is None else a_row * len(X)
        return ChunkedRows(Chunks(pieces, memory=memory), lambda targets: targets)

    return store


def single(X):
    return X.astype(np.float32)


def wide_indices(X):
    out = sp.csr_array(X)
    out.indices, out.indptr = out.indices.astype(np.int64), out.indptr.astype(np.int64)
    return out


def in_partitions(X, y):
    da = pytest.importorskip("dask.array")
    ends = [0, len(X) // 3, len(X) // 3, len(X)]
    cuts = tuple(np.diff(ends).tolist())
    return DaskRows(da.from_array(X, (cuts, X.shape[1])), da.from_array(y, (cuts,)), np.asarray)


# Each takes rows that are in single precision already.
STORES = {
    "C": lambda X, y: DenseRows(np.ascontiguousarray(X), y),
    "F": lambda X, y: DenseRows(np.asfortranarray(X), y),
    "C, single": lambda X, y: DenseRows(single(X), y),
    "F, single": lambda X, y: DenseRows(np.asfortranarray(single(X)), y),
    "csr_array": lambda X, y: SparseRows(sp.csr_array(X), y),
    "csr_matrix": lambda X, y: SparseRows(sp.csr_matrix(X), y),
    "csr_array, single": lambda X, y: SparseRows(sp.csr_array(single(X)), y),
    "csr_array, wide": lambda X, y: SparseRows(wide_indices(X), y),
    "one chunk": chunked(np.asarray, size=10**6),
    "chunks": chunked(np.asarray),
    "chunks, features read anew": chunked(np.asarray, np.asfortranarray, a_row=24),
    "chunks, read anew": chunked(np.asarray, np.asfortranarray, a_row=0),
    "chunks, sparse, features read anew": chunked(sp.csr_array, sp.csc_array, a_row=24),
    "chunks, sparse, read anew": chunked(sp.csr_array, sp.csc_array, a_row=0),
    "chunks of a row": chunked(np.asarray, size=1),
    "chunks, single": chunked(single),
    "chunks, F": chunked(np.asfortranarray),
    "chunks, lists": chunked(np.ndarray.tolist),
    "chunks, sparse": chunked(sp.csr_array, sp.csr_matrix, sp.csc_array, sp.coo_array),
    "chunks, dense and sparse": chunked(np.asarray, sp.csr_array),
    "partitions": in_partitions,
}
every_store = pytest.mark.parametrize("store", STORES.values(), ids=STORES)


def data(n=300, d=6):
    """Features, many of them zero and half of the rows longer than 1, and targets."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, d)) * (rng.random((n, d)) < 0.7) / np.sqrt(0.7 * d)
    X[::50] = 0.0
    return single(X).astype(np.float64), rng.integers(0, 2, n).astype(np.float64)


def by_formula(X, y):
    """The gradient that the fixture asks for, from rows written out."""
    w = np.random.default_rng(7).standard_normal(X.shape[1] + 1)
    lengths = np.maximum(1.0, np.linalg.norm(X, axis=1))[:, None]
    rows = np.column_stack([X / lengths, np.ones(len(X))])
    residual = 1 / (1 + np.exp(-rows @ w)) - y
    limit = 0.5 * np.sqrt(2.0) / np.linalg.norm(rows, axis=1)
    return rows.T @ np.clip(residual, -limit, limit) / len(X)


def same(answer, reference):
    np.testing.assert_allclose(answer, reference, rtol=1e-11, atol=1e-14)


@every_store
@pytest.mark.parametrize(("n", "d"), [(300, 6), (1, 1), (1, 50), (50, 1), (3, 2000)])
def test_the_gradient_is_that_of_the_formula(gradient, store, n, d):
    X, y = data(n, d)
    rows = store(X, y)
    assert (rows.n_samples, rows.n_features) == (n, d)
    same(gradient(rows), by_formula(X, y))


@every_store
def test_several_scores_a_row_have_the_gradient_of_dense_rows(gradient, store):
    X, y = data()
    classes = np.arange(len(y)) % 4.0
    same(gradient(store(X, classes), n_classes=4), gradient(DenseRows(X, classes), n_classes=4))


@every_store
def test_the_gradient_does_not_depend_on_the_order_of_rows(gradient, store):
    X, y = data()
    i = np.random.default_rng(1).permutation(len(X))
    same(gradient(store(X[i], y[i])), gradient(store(X, y)))


@every_store
def test_the_gradient_of_the_same_rows_is_identical_each_time(gradient, store):
    X, y = data()
    rows = store(X, y)
    first = gradient(rows)
    np.testing.assert_array_equal(gradient(rows), first)
    np.testing.assert_array_equal(gradient(store(X, y)), first)


@every_store
def test_huge_rows_are_bounded_and_the_data_left_alone(gradient, store):
    X, y = data()
    X[::97] = 1e38
    before = X.copy(), y.copy()
    X.flags.writeable = y.flags.writeable = False
    same(gradient(store(X, y)), by_formula(*before))
    np.testing.assert_array_equal(X, before[0])
    np.testing.assert_array_equal(y, before[1])


MAP = RowMap(np.ones(2), np.array([[1.0, 0.5], [0.0, 2.0]]), np.full(2, 0.1), 1.5)
BOUNDS = {"plain": RowBounds(1.0, 1.0), "mapped": RowBounds(1.0, row_map=MAP)}
# Rows of several blocks each.
SEVERAL = {name: (store, 300) for name, store in STORES.items() if "chunks" in name}
SEVERAL["partitions"] = in_partitions, 300
SEVERAL |= {name: (STORES[name], 110_000) for name in ("C", "C, single", "csr_array")}


@pytest.mark.parametrize("mapped", [False, True])
@pytest.mark.parametrize(("store", "n"), SEVERAL.values(), ids=SEVERAL)
@pytest.mark.by_day(12)
def test_a_sample_is_one_of_the_rows_that_are_marked(store, n, mapped):
    X, y = data(n, 2)
    rows, drawn = store(X, y), np.random.default_rng(1).random(n) < 0.3
    chosen = DenseRows(X[drawn], y[drawn]), np.ones(drawn.sum(), dtype=bool)
    problem = Problem(Logistic(), n, 2, BOUNDS["mapped" if mapped else "plain"])
    gradient = GradientQuery(problem, np.linspace(-1, 1, problem.n_rows), 0.3)
    assert rows.bounded(problem.bounds).sum(lambda block: np.ones(1)) >= 2
    for query in (gradient, GradientDifferenceQuery(gradient, 0 * gradient.w)):
        same(query.of_drawn(rows, drawn, 0.5), query.of_drawn(*chosen, 0.5))
        # Another pass begins with the first row again.
        others = DenseRows(X[~drawn], y[~drawn]), np.ones((~drawn).sum(), dtype=bool)
        same(query.of_drawn(rows, ~drawn, 0.5), query.of_drawn(*others, 0.5))


@pytest.mark.parametrize("mapped", [False, True])
@pytest.mark.parametrize(("store", "n"), SEVERAL.values(), ids=SEVERAL)
@pytest.mark.by_day(12)
def test_a_public_sample_is_a_store_of_its_rows(store, n, mapped):
    X, y = data(n, 2)
    positions = np.flatnonzero(np.random.default_rng(1).random(n) < 0.3)
    rows, bounds = store(X, y), BOUNDS["mapped" if mapped else "plain"]
    problem = Problem(Logistic(), len(positions), 2, bounds)
    gradient = GradientQuery(problem, np.linspace(-1, 1, problem.n_rows), 0.3)
    sample = rows.sample(positions)
    assert (sample.n_samples, sample.n_features) == (len(positions), 2)
    found = gradient.evaluate(sample)
    same(found, gradient.evaluate(DenseRows(X[positions], y[positions])))
    np.testing.assert_array_equal(gradient.evaluate(rows.sample(positions)), found)
    # All rows are asked as before.
    same(gradient.evaluate(rows), gradient.evaluate(DenseRows(X, y)))


def of_people(kind, X, y):
    """Rows of people in several blocks."""
    return kind(X, y, None, PrivacyUnits.of(np.arange(len(y)) % 999))


RESIDENT = {
    "dense": DenseRows,
    "single": lambda X, y: DenseRows(single(X), y),
    "sparse": lambda X, y: SparseRows(sp.csr_array(X), y),
    "people": lambda X, y: of_people(DenseRows, X, y),
    "people, sparse": lambda X, y: of_people(SparseRows, sp.csr_array(X), y),
}


def check_any_order(store, bounds):
    n = 210_000
    X, y = data(n, 2)
    rows = store(X, y)
    problem = Problem(Logistic(), rows.n_samples, 2, bounds)
    query = GradientQuery(problem, np.linspace(-1, 1, problem.n_rows), 0.3)
    drawn = np.random.default_rng(1).random(rows.n_samples) < 0.3
    blocks = []
    # Copies of rows are only there while a block is asked.
    rows.bounded(bounds).sum(lambda block: blocks.append(deepcopy(block)) or np.zeros(1))
    assert len(blocks) >= 3
    some = [block.taken(chosen).loaded() for block, chosen in with_marks(blocks, drawn)]
    for parts, expected in (
        (blocks, query.evaluate(rows)),
        (some, query.of_drawn(rows, drawn, 1.0)),
    ):
        # As in the threads of a sum, in each of which linear algebra has a single one.
        with threadpool_limits(1):
            sums = [query.of_block(part) for part in reversed(parts)]
        found = total(reversed(sums))
        found /= problem.n_samples
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("bounds", BOUNDS.values(), ids=BOUNDS)
@pytest.mark.parametrize("store", RESIDENT.values(), ids=RESIDENT)
def test_blocks_can_be_worked_on_in_any_order_and_have_the_same_sum_to_the_last_bit(store, bounds):
    """So that threads may share them, as long as their sums are added in the order of blocks."""
    check_any_order(store, bounds)


@pytest.mark.parametrize("store", [RESIDENT["people"], RESIDENT["people, sparse"]])
def test_rows_of_people_are_not_sampled_by_their_positions(store):
    """Where the rows of somebody lie tells how many others have."""
    with pytest.raises(TypeError, match="cannot be sampled"):
        store(*data()).sample(np.arange(3))


def test_the_view_at_the_latest_bounds_is_kept():
    rows = DenseRows(*data())
    view = rows.bounded(RowBounds(1.0))
    assert rows.bounded(RowBounds(1.0)) is view
    other = rows.bounded(RowBounds(2.0))
    assert other is not view
    assert other.bounds == RowBounds(2.0)
