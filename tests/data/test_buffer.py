"""Rows of many calls lie together as if they had come in one."""

import numpy as np
import pytest
import scipy.sparse as sp

from skdp.privacy.rows import DenseRows, RowBuffer, SparseRows

N, D = 157, 4
RNG = np.random.default_rng(0)
X = np.where(RNG.uniform(size=(N, D)) < 0.5, RNG.normal(size=(N, D)), 0.0)
Y = RNG.normal(size=N)


def store(X, y):
    return SparseRows(sp.csr_array(X), y) if sp.issparse(X) else DenseRows(X, y)


def dense(rows):
    return rows.X.toarray() if sp.issparse(rows.X) else rows.X


def filled(sparse, cuts, kind=np.asarray):
    buffer = RowBuffer(D, sparse)
    for start, stop in zip([0, *cuts], [*cuts, N], strict=True):
        buffer.append(store(kind(X[start:stop]), Y[start:stop]))
    assert buffer.n_samples == N
    return buffer.rows()


@pytest.mark.parametrize("kind", [np.asarray, np.asfortranarray, sp.csr_array])
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("cuts", [[], [1], [64, 65, 129], list(range(1, N))])
def test_rows_come_out_as_they_went_in(kind, sparse, cuts):
    rows = filled(sparse, cuts, kind)
    assert rows.sparse == sparse
    assert rows.n_samples == N
    np.testing.assert_array_equal(dense(rows), X)
    np.testing.assert_array_equal(rows.y, Y)
    # Sparse products take indices of one kind alone.
    np.testing.assert_allclose(rows.X @ np.ones(D), X.sum(axis=1), atol=1e-12)


def test_rows_are_copied_and_not_referred_to():
    mine = X.copy()
    buffer = RowBuffer(D, False)
    buffer.append(store(mine, Y.copy()))
    mine[:] = 7.0
    np.testing.assert_array_equal(buffer.rows().X, X)


@pytest.mark.parametrize("sparse", [False, True])
def test_single_precision_is_kept_until_a_row_in_double_comes(sparse):
    buffer = RowBuffer(D, sparse)
    kind = sp.csr_array if sparse else np.asarray
    buffer.append(store(kind(X[:50].astype(np.float32)), Y[:50]))
    assert buffer.rows().X.dtype == np.float32
    buffer.append(store(kind(X[50:]), Y[50:]))
    rows = buffer.rows()
    assert rows.X.dtype == np.float64
    np.testing.assert_array_equal(dense(rows)[:50], X[:50].astype(np.float32))
    np.testing.assert_array_equal(dense(rows)[50:], X[50:])


@pytest.fixture
def written(monkeypatch):
    """Lengths of the arrays that are made."""
    lengths, empty = [], np.empty

    def counted(size, dtype):
        lengths.append(size)
        return empty(size, dtype=dtype)

    monkeypatch.setattr("skdp.privacy.rows.buffer.np.empty", counted)
    return lengths


@pytest.mark.parametrize("expected", [N, N - 1, 1, 10**6])
def test_there_is_room_for_the_rows_that_are_expected_and_for_others(expected, written):
    buffer = RowBuffer(D, False, expected)
    for i in range(N):
        buffer.append(store(X[i : i + 1], Y[i : i + 1]))
    np.testing.assert_array_equal(buffer.rows().X, X)
    np.testing.assert_array_equal(buffer.rows().y, Y)
    if expected == N:
        assert sorted(written) == [N, D * N]


def test_rows_that_are_expected_need_not_fit_into_memory(monkeypatch):
    empty = np.empty

    def without_credit(size, dtype):
        if size > 2**24:
            raise MemoryError
        return empty(size, dtype=dtype)

    monkeypatch.setattr("skdp.privacy.rows.buffer.np.empty", without_credit)
    buffer = RowBuffer(D, False, 10**12)
    buffer.append(store(X, Y))
    np.testing.assert_array_equal(buffer.rows().X, X)


def test_rows_that_are_expected_are_copied_once_however_many(written):
    buffer = RowBuffer(64, False, 2**19)
    for _ in range(2):
        buffer.append(DenseRows(np.ones((2, 64)), np.ones(2)))
    # Room that is never written to is no memory.
    assert sorted(written) == [2**19, 2**25]


@pytest.mark.parametrize("sparse", [False, True])
def test_single_rows_are_copied_a_few_times_each_at_most(sparse, written):
    rows = filled(sparse, list(range(1, N)))
    # Each time there is no room, it doubles: all there ever was is twice what there is at last.
    kept = dense(rows).size + (4 * N if not sparse else 8 * N)
    assert sum(written) < 4 * kept


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
def test_a_part_is_a_store_of_those_rows(kind):
    rows = store(kind(X), Y).part(20, 31)
    assert (rows.n_samples, rows.n_features) == (11, D)
    np.testing.assert_array_equal(dense(rows), X[20:31])
    np.testing.assert_array_equal(rows.y, Y[20:31])
    np.testing.assert_array_equal(dense(rows.part(3, 4)), X[23:24])
