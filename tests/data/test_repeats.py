"""Digests of calls: alike for the same rows in any order, and for no others."""

import numpy as np
import pytest
import scipy.sparse as sp

from skdp.privacy.rows import DenseRows, SeenCalls, SparseRows

RNG = np.random.default_rng(0)
N, D = 64, 5
X = RNG.normal(size=(N, D))
Y = RNG.integers(0, 2, N).astype(float)
WEIGHTS = RNG.uniform(size=N)
ORDER = RNG.permutation(N)


def changed(values, where):
    other = values.copy()
    other[where] = np.nextafter(other[where], 2)
    return other


def test_the_order_and_the_layout_of_rows_do_not_count():
    calls = SeenCalls()
    digest = calls.digest(DenseRows(X, Y, WEIGHTS))
    sparse = np.where(X > 0, X, 0.0)
    assert digest == calls.digest(DenseRows(X[ORDER], Y[ORDER], WEIGHTS[ORDER]))
    assert digest == calls.digest(DenseRows(np.asfortranarray(X), Y, WEIGHTS))
    assert digest == calls.digest(SparseRows(sp.csr_array(X), Y, WEIGHTS))
    assert calls.digest(DenseRows(sparse, Y, None)) == calls.digest(
        SparseRows(sp.csr_array(sparse)[ORDER], Y[ORDER], None)
    )


@pytest.mark.parametrize(
    "other",
    [
        DenseRows(changed(X, (17, 3)), Y, WEIGHTS),
        DenseRows(X, changed(Y, 17), WEIGHTS),
        DenseRows(X, Y, changed(WEIGHTS, 17)),
        DenseRows(X, Y, None),
        DenseRows(X[1:], Y[1:], WEIGHTS[1:]),
        DenseRows(X[:, ::-1], Y, WEIGHTS),
        DenseRows(X, Y[ORDER], WEIGHTS),
        SparseRows(sp.csr_array(changed(X, (17, 3))), Y, WEIGHTS),
    ],
    ids=["entry", "target", "weight", "weights", "fewer", "columns", "pairs", "sparse"],
)
def test_whatever_differs_in_one_row_counts(other):
    calls = SeenCalls()
    assert calls.digest(DenseRows(X, Y, WEIGHTS)) != calls.digest(other)


@pytest.mark.parametrize("kind", [np.array, sp.csr_array])
def test_rows_of_few_values_are_told_apart(kind):
    rows = kind(((np.arange(1024)[:, None] >> np.arange(10)) & 1).astype(float))
    store = DenseRows if kind is np.array else SparseRows
    calls, found = SeenCalls(), set()
    for k in range(0, 1024, 32):
        found.add(calls.digest(store(rows[k : k + 32], np.zeros(32), None)))
    assert len(found) == 32
    assert None not in found


def test_calls_of_fewer_than_32_different_rows_are_passed_over():
    calls = SeenCalls()
    assert calls.digest(DenseRows(X[:31], Y[:31], None)) is None
    few = np.concatenate([X[:31]] * 20)
    assert calls.digest(DenseRows(few, np.zeros(len(few)), None)) is None
    # One more somewhere at the end.
    more = np.concatenate([few, X[40:41]])
    assert calls.digest(DenseRows(more, np.zeros(len(more)), None)) is not None
    assert calls.digest(DenseRows(X[:32], Y[:32], None)) is not None


def test_keys_are_drawn_for_each_stream():
    rows = DenseRows(X, Y, None)
    assert len({SeenCalls().digest(rows) for _ in range(10)}) == 10


def test_calls_are_counted_and_taken_back():
    calls = SeenCalls()
    assert calls.times(5) == calls.times(None) == 0
    calls.note(5)
    calls.note(5)
    calls.note(None)
    assert (calls.times(5), calls.times(None)) == (2, 0)
    calls.forget(5)
    calls.forget(6)
    assert calls.times(5) == 1


def test_no_more_than_so_many_calls_are_remembered():
    calls = SeenCalls()
    for digest in range(65_536 + 10):
        calls.note(digest)
    assert calls.times(65_535) == 1
    assert calls.times(65_536) == 0
    calls.note(0)
    assert calls.times(0) == 2
