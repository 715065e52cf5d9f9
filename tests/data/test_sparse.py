import numpy as np
import pytest
import scipy.sparse as sp

from skdp import DPLogisticRegression
from skdp.privacy.rows import DenseRows, SparseRows
from skdp.solvers import GD

KINDS = [sp.csr_array, sp.csr_matrix]


def data(n=500, d=40, density=0.2, dtype=np.float64):
    """A dense array with many zeros, rows without entries and rows longer than 1; targets."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, d)) * (rng.random((n, d)) < density) / np.sqrt(density * d)
    X[::50] = 0.0
    return X.astype(dtype), rng.integers(0, 2, n).astype(np.float64)


def large(dtype):
    """400,000 rows of 32 entries each, out of 1,024 features."""
    n, k = 400_000, 32
    rng = np.random.default_rng(0)
    indices = rng.integers(0, 32, (n, k), dtype=np.int32) + 32 * np.arange(k, dtype=np.int32)
    indptr = np.arange(0, n * k + 1, k, dtype=np.int32)
    X = sp.csr_array((rng.random(n * k, dtype=dtype), indices.ravel(), indptr), shape=(n, 1024))
    return X, np.arange(n) % 2.0


def in_parts(X):
    """The same matrix with each entry stored as two unequal parts, columns in descending order."""
    n, d = X.shape
    columns = np.tile(np.arange(d)[::-1].repeat(2), n)
    parts = np.multiply.outer(X[:, ::-1], [0.25, 0.75]).ravel()
    return sp.csr_array((parts, columns, 2 * d * np.arange(n + 1)), shape=(n, d))


def same(answer, reference):
    np.testing.assert_allclose(answer, reference, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("kind", KINDS)
def test_blocks_are_views_that_cover_the_rows_in_order(kind):
    X, y = data(n=70_000, d=4)
    stored = kind(X)
    blocks = SparseRows(stored, y).blocks()
    assert len(blocks) > 1
    filled = [block for block in blocks if block.X.nnz]
    assert all(np.shares_memory(block.X.data, stored.data) for block in filled)
    assert all(np.shares_memory(block.X.indices, stored.indices) for block in filled)
    np.testing.assert_array_equal(np.concatenate([block.X.toarray() for block in blocks]), X)
    np.testing.assert_array_equal(np.concatenate([block.y for block in blocks]), y)


@pytest.mark.nightly
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_a_gradient_takes_a_tenth_of_the_memory_of_the_data(gradient, peak_bytes, dtype):
    X, y = large(dtype)
    peak = peak_bytes(lambda: gradient(SparseRows(X, y), data_norm=3.0))
    assert peak <= 0.1 * (X.data.nbytes + X.indices.nbytes) + 5 * y.nbytes


@pytest.mark.nightly
def test_fit_takes_a_fraction_of_the_memory_of_the_data(peak_bytes):
    X, y = large(np.float64)
    model = DPLogisticRegression(data_norm=3.0, classes=[0, 1], solver=GD(steps=2))
    peak = peak_bytes(lambda: model.fit(X, y))
    assert peak <= 0.1 * (X.data.nbytes + X.indices.nbytes) + 8 * y.nbytes


@pytest.mark.parametrize("kind", KINDS)
def test_entries_stored_in_parts_count_once_and_the_matrix_given_is_left_alone(gradient, kind):
    X, y = data()
    stored = kind(in_parts(X))
    before = stored.data.copy(), stored.indices.copy(), stored.indptr.copy()
    same(gradient(SparseRows(stored, y)), gradient(DenseRows(X, y)))
    for array, copy in zip((stored.data, stored.indices, stored.indptr), before, strict=True):
        np.testing.assert_array_equal(array, copy)


def test_parts_that_are_longer_than_the_bound_but_cancel_are_not_scaled(gradient):
    X, y = data()
    stored = in_parts(X)
    stored.data *= np.tile([400.0, -396 / 3], X.size)
    # The parts are now 100 x and -99 x.
    same(
        gradient(SparseRows(stored, y)),
        gradient(SparseRows(sp.csr_array(X * (0.25 * 400 - 0.75 * 396 / 3)), y)),
    )


def test_flag_of_canonical_format_is_not_trusted():
    X, y = data()
    stale = in_parts(X)
    stale.has_canonical_format = True  # as after an edit of its arrays in place
    moments = SparseRows(stale, y).sum(lambda block: np.sort(block.norms))
    assert moments.max() == pytest.approx(np.linalg.norm(X, axis=1).max(), rel=1e-12)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_parts_whose_sum_overflows_make_the_largest_float(dtype):
    largest = np.finfo(dtype).max
    parts = np.array([largest, largest, -largest, -largest], dtype=dtype)
    rows = SparseRows(sp.csr_array((parts, [0, 0, 1, 1], [0, 2, 4]), shape=(2, 2)), np.zeros(2))
    (block,) = rows.blocks()
    np.testing.assert_array_equal(block.X.toarray(), [[largest, 0], [0, -largest]])


@pytest.mark.parametrize(("d", "most"), [(10, 1 << 15), (1000, (1 << 22) // 1000 * 1.5)])
def test_blocks_of_few_features_can_be_written_out_densely(d, most):
    rows = SparseRows(sp.csr_array((100_000, d)), np.zeros(100_000))
    assert max(block.X.shape[0] for block in rows.blocks()) <= 1.5 * most
    assert sum(block.X.shape[0] for block in rows.blocks()) == 100_000
