import numpy as np
import pytest
from by_night import by_night

from skdp import DPLogisticRegression
from skdp.privacy.rows import BoundedBlock, DenseRows, RawBlock
from skdp.problem import RowBounds
from skdp.solvers import GD

ORDERS = [(dtype, order) for dtype in (np.float64, np.float32) for order in "CF"]


def data(n=1000, d=6, dtype=np.float64, order="C", n_classes=2):
    """Features, half of them longer than 1, and encoded targets."""
    rng = np.random.default_rng(0)
    X = np.asarray(rng.standard_normal((n, d)) / np.sqrt(d), dtype=dtype, order=order)
    return X, rng.integers(0, n_classes, n).astype(np.float64)


def large(dtype, order):
    """Uniform features, 100,000 by 128, drawn in place."""
    X = np.empty((100_000, 128), dtype=dtype, order=order)
    np.random.default_rng(0).random(out=X.T if order == "F" else X, dtype=dtype)
    return X, np.arange(100_000) % 2.0


@pytest.mark.parametrize(("dtype", "order"), ORDERS)
def test_blocks_are_views_that_cover_the_rows_in_order(dtype, order):
    X, y = data(n=200_000, dtype=dtype, order=order)
    blocks = DenseRows(X, y).blocks()
    assert len(blocks) > 1
    assert all(np.shares_memory(block.X, X) for block in blocks)
    assert all(np.shares_memory(block.y, y) for block in blocks)
    np.testing.assert_array_equal(np.concatenate([block.X for block in blocks]), X)
    np.testing.assert_array_equal(np.concatenate([block.y for block in blocks]), y)


@pytest.mark.parametrize(("dtype", "order"), ORDERS)
@pytest.mark.by_day(1)
def test_a_gradient_takes_a_tenth_of_the_memory_of_the_data(gradient, peak_bytes, dtype, order):
    X, y = large(dtype, order)
    peak = peak_bytes(lambda: gradient(DenseRows(X, y), data_norm=5.0))
    # A block, which is about a million entries, is there in double precision.
    assert peak <= 0.1 * 8 * X.size + 5 * y.nbytes


@pytest.mark.nightly
def test_huge_rows_do_not_cost_a_copy_of_the_data(gradient, peak_bytes):
    X, y = large(np.float64, "C")
    X[::100] = 1e200
    peak = peak_bytes(lambda: gradient(DenseRows(X, y), data_norm=5.0))
    assert peak <= 0.1 * X.nbytes + 5 * y.nbytes


@pytest.mark.nightly
@pytest.mark.parametrize("dtype", [np.float32, *by_night(np.float64)])
def test_fit_takes_a_fraction_of_the_memory_of_the_data(peak_bytes, dtype):
    X, y = large(dtype, "C")
    model = DPLogisticRegression(
        data_norm=5.0, classes=[0, 1], solver=GD(steps=2), precondition=None
    )
    assert peak_bytes(lambda: model.fit(X, y)) <= 0.1 * 8 * X.size + 8 * y.nbytes
    # In other coordinates a block is written out, once at a time.
    model.set_params(precondition="full")
    assert peak_bytes(lambda: model.fit(X, y)) <= 0.1 * 8 * X.size + 8 * y.nbytes


@pytest.mark.nightly
@pytest.mark.parametrize("order", ["C", *by_night("F")])
def test_a_memory_mapped_array_is_read_where_it_lies(tmp_path, gradient, peak_bytes, order):
    X, y = large(np.float64, order)
    mapped = np.memmap(tmp_path / "X", dtype=X.dtype, mode="w+", shape=X.shape, order=order)
    mapped[:] = X
    mapped.flush()
    del mapped
    mapped = np.memmap(tmp_path / "X", dtype=X.dtype, mode="r", shape=X.shape, order=order)
    assert all(np.shares_memory(block.X, mapped) for block in DenseRows(mapped, y).blocks())
    np.testing.assert_array_equal(
        gradient(DenseRows(mapped, y), data_norm=5.0), gradient(DenseRows(X, y), data_norm=5.0)
    )
    del X
    model = DPLogisticRegression(data_norm=5.0, classes=[0, 1], solver=GD(steps=2))
    assert peak_bytes(lambda: model.fit(mapped, y)) <= 0.1 * mapped.nbytes + 8 * y.nbytes


@pytest.mark.parametrize("of_rows", [100, 1_000_000])
@pytest.mark.parametrize("order", "CF")
@pytest.mark.parametrize("d", [20, 32, 100, 400, 401])
def test_scores_are_inner_products_of_rows_of_any_length(d, order, of_rows):
    rng = np.random.default_rng(d)
    X, w = np.asarray(rng.standard_normal((100, d)), order=order), rng.standard_normal(d)
    block = BoundedBlock(RawBlock(X, np.zeros(100), of_rows=of_rows), RowBounds(1e3))
    np.testing.assert_allclose(block.scores(w), X @ w, rtol=1e-12, atol=1e-12)
    many = rng.standard_normal((d, 3))
    np.testing.assert_allclose(block.scores(many), X @ many, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("d", [32, 54, 400])
def test_scores_of_rows_that_are_summed_up_by_themselves_do_not_depend_on_places(d):
    rng = np.random.default_rng(d)
    X, w = rng.standard_normal((101, d)), rng.standard_normal(d)
    # Of a table that no cache has room for.
    whole, later, alone = (
        BoundedBlock(
            RawBlock(X[rows], np.zeros(101)[rows], of_rows=1_000_000), RowBounds(1e3)
        ).scores(w)
        for rows in (slice(None), slice(37, None), slice(50, 51))
    )
    np.testing.assert_array_equal(later, whole[37:])
    np.testing.assert_array_equal(alone, whole[50:51])
