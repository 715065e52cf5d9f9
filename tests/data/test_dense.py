import numpy as np
import pytest
from by_night import by_night

from skdp import DPLogisticRegression
from skdp.privacy.rows import DenseRows
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
    assert peak <= 0.1 * X.nbytes + 5 * y.nbytes


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
    assert peak_bytes(lambda: model.fit(X, y)) <= 0.1 * X.nbytes + 8 * y.nbytes
    # In other coordinates a block is written out, once at a time and in double precision.
    model.set_params(precondition="full")
    assert peak_bytes(lambda: model.fit(X, y)) <= 0.1 * 8 * X.size + 8 * y.nbytes


def test_gradient_of_the_same_array_is_identical_each_time(gradient):
    X, y = data(n=200_000)
    rows = DenseRows(X, y)
    assert len(rows.blocks()) > 1
    first = gradient(rows)
    np.testing.assert_array_equal(gradient(rows), first)
    np.testing.assert_array_equal(gradient(DenseRows(X, y)), first)


def test_gradient_leaves_the_data_alone(gradient):
    X, y = data()
    X[5] = 1e300
    before = X.copy(), y.copy()
    X.flags.writeable = y.flags.writeable = False
    gradient(DenseRows(X, y))
    np.testing.assert_array_equal(X, before[0])
    np.testing.assert_array_equal(y, before[1])


@pytest.mark.parametrize(("n", "d"), [(1, 1), (1, 5), (5, 1), (3, 2000)])
def test_few_rows_and_wide_data_have_the_gradient_of_their_formula(gradient, n, d):
    X, y = data(n=n, d=d)
    w = np.random.default_rng(7).standard_normal(d + 1)
    rows = np.column_stack([X / np.maximum(1.0, np.linalg.norm(X, axis=1))[:, None], np.ones(n)])
    residual = 1 / (1 + np.exp(-rows @ w)) - y
    limit = 0.5 * np.sqrt(2.0) / np.linalg.norm(rows, axis=1)
    expected = rows.T @ np.clip(residual, -limit, limit) / n
    np.testing.assert_allclose(gradient(DenseRows(X, y)), expected, rtol=1e-11, atol=1e-14)


def test_the_view_at_the_latest_bounds_is_kept():
    rows = DenseRows(*data())
    view = rows.bounded(RowBounds(1.0))
    assert rows.bounded(RowBounds(1.0)) is view
    other = rows.bounded(RowBounds(2.0))
    assert other is not view
    assert other.bounds == RowBounds(2.0)


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
