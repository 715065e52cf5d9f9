"""Bugs planted in the store of dask collections are seen by comparing it with the one in memory."""

import numpy as np
import pytest

dask = pytest.importorskip("dask", reason="needs dask: pip install 'skdp[dask]'")
pytest.importorskip("dask.array", reason="needs dask: pip install 'skdp[dask]'")

from dask_examples import cut, data  # noqa: E402

from skdp.privacy.rows import dask_rows as store  # noqa: E402
from skdp.privacy.rows import partition  # noqa: E402
from skdp.privacy.rows.dense_rows import DenseRows  # noqa: E402
from skdp.problem.bounds import RowBounds, TargetBounds  # noqa: E402

BOUNDS = RowBounds(2.0, 1.0, TargetBounds(-1.0, 1.0))


@pytest.fixture(autouse=True)
def one_thread():
    with dask.config.set(scheduler="synchronous"):
        yield


def kernel(block):
    return block.combine(block.y.copy())


def check(changed=None):
    """Two sums over all rows and over some, against those in memory."""
    X, y = data()
    chunks, targets = cut(X, y)
    if changed is not None:
        chunks = chunks.map_blocks(changed, dtype=float, meta=np.empty((0, 0)))
    marked = np.random.default_rng(1).random(len(X)) < 0.3
    memory = DenseRows(X, y).bounded(BOUNDS)
    bounded = store.DaskRows(chunks, targets, np.asarray).bounded(BOUNDS)
    for these in (None, marked, None):
        np.testing.assert_allclose(
            bounded.sum(kernel, these), memory.sum(kernel, these), rtol=1e-10, atol=1e-10
        )


def test_as_it_is_nothing_is_found():
    check()


def test_marks_of_other_rows_are_caught(monkeypatch):
    over = partition.over_marked
    monkeypatch.setattr(partition, "over_marked", lambda k, marked: over(k, np.roll(marked, 1)))
    with pytest.raises(AssertionError):
        check()


def test_a_partition_left_out_is_caught(monkeypatch):
    added = partition.added

    def forgetful(parts):
        return added(parts[:-1])

    monkeypatch.setattr(partition, "added", forgetful)
    with pytest.raises(AssertionError):
        check()


def test_rows_that_are_not_bounded_are_caught(monkeypatch):
    bounded_block = partition.bounded_block

    def loose(raw, bounds):
        return bounded_block(raw, RowBounds(1e9, bounds.intercept_value, bounds.target))

    monkeypatch.setattr(partition, "bounded_block", loose)
    with pytest.raises(AssertionError):
        check()


def test_a_pass_over_other_rows_is_caught_only_by_the_check_of_norms(monkeypatch):
    reads = []

    def changing(block):
        reads.append(None)
        # The fourth pass, over four partitions each, meets other rows.
        return block if len(reads) <= 12 else 3.0 * block

    with pytest.raises(ValueError, match="the same rows at each pass"):
        check(changing)
    reads.clear()
    monkeypatch.setattr(partition.OpenedPartition, "_are_mine", lambda self, blocks: True)
    with pytest.raises(AssertionError):
        check(changing)


def test_seeds_that_are_sent_to_workers_are_caught(monkeypatch):
    from skdp import DPLinearRegression

    sent = []
    packed = store.packed

    def watching(content):
        sent.append(packed(content))
        return sent[-1]

    monkeypatch.setattr(store, "packed", watching)
    seed = 3141592653
    model = DPLinearRegression(random_state=seed, data_norm=3.0, target_bounds=(-5, 5), solver="gd")

    def seen():
        return any(seed.to_bytes(4, "little") in body for pieces in sent for _, body in pieces)

    with pytest.warns(UserWarning, match="random_state is set"):
        model.fit(*cut(*data()))
    assert sent
    assert not seen()
    # A method of the estimator, as encoders were once, takes it along.
    watching(model.set_params(random_state=seed).get_params)
    vars(model).pop("_progress")
    watching(model.get_params)
    assert seen()
