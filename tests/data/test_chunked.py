import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from skdp import Chunks, DPLogisticRegression
from skdp.privacy.rows import MOST_ROWS, ChunkedRows, DenseRows
from skdp.problem import RowBounds
from skdp.solvers import GD
from skdp.testing import exact_fit


def data(n=1000, d=6):
    """Features, half of them longer than 1, and targets."""
    rng = np.random.default_rng(0)
    return rng.standard_normal((n, d)) / np.sqrt(d), rng.integers(0, 2, n).astype(np.float64)


def pieces(X, y, size, kind=np.asarray):
    return [(kind(X[i : i + size]), y[i : i + size]) for i in range(0, len(X), size)]


# Bytes that may be kept of up to 1100 rows: all, what is small, or nothing.
ALL, SMALL, NOTHING = None, 24 * 1100, 0


def chunked(source, memory=NOTHING):
    return ChunkedRows(Chunks(source, memory=memory), lambda y: y)


def same(answer, reference):
    np.testing.assert_allclose(answer, reference, rtol=1e-12, atol=1e-14)


def test_a_function_that_returns_a_generator_is_asked_for_a_fresh_one_at_each_pass(gradient):
    X, y = data()
    passes = []

    def read():
        passes.append("begun")
        yield from pieces(X, y, 10)
        passes[-1] = "finished"

    rows = chunked(read)
    first = gradient(rows)
    same(first, gradient(DenseRows(X, y)))
    np.testing.assert_array_equal(gradient(rows), first)
    assert passes == ["finished"] * 3


@pytest.mark.parametrize("kind", [np.asarray, np.asfortranarray, sp.csr_array, pd.DataFrame])
def test_what_is_kept_saves_passes_and_changes_no_bit(gradient, kind):
    X, y = data()
    passes, answers = [], []

    def read():
        passes.append(1)
        yield from pieces(X, y, 300, kind)

    for memory, expected in ((ALL, 1), (SMALL, 3), (NOTHING, 3)):
        passes.clear()
        rows = chunked(read, memory)
        answers += [gradient(rows), gradient(rows)]
        assert len(passes) == expected
    # Six features in double precision and 24 bytes beside them have room, or nearly.
    for memory, expected in ((1000 * (8 * 6 + 24), 1), (1000 * (8 * 6 + 24) - 1, 3)):
        passes.clear()
        rows = chunked(read, memory)
        answers += [gradient(rows), gradient(rows)]
        assert kind is sp.csr_array or len(passes) == expected
    for answer in answers:
        np.testing.assert_array_equal(answer, answers[0])


@pytest.mark.parametrize("memory", [-1, 2e9, True, "4 GB", np.zeros(2)], ids=str)
def test_memory_that_is_no_number_of_bytes_is_refused(memory):
    with pytest.raises(ValueError, match="Chunks needs memory as a whole number of bytes"):
        Chunks([], memory=memory)


@pytest.mark.parametrize("before", [0, 1])
def test_a_sum_in_the_midst_of_another_over_the_same_rows_changes_neither(before):
    """As a worker may still be at one when its user has interrupted it, and asks the next."""
    X = np.random.default_rng(0).normal(size=(3 * MOST_ROWS, 1))
    rows = ChunkedRows(Chunks([(X, np.ones(len(X)))], memory=24 * len(X)), np.asarray)
    view, found = rows.bounded(RowBounds(1.0)), []

    def kernel(block):
        return block.combine(np.tanh(block.scores(np.ones(1))))

    def interrupted(block):
        if not found:
            found.append(None)
            found[0] = view.sum(kernel)
        return kernel(block)

    for _ in range(before):
        view.sum(kernel)
    found.append(view.sum(interrupted))
    found.append(view.sum(kernel))
    expected = DenseRows(X, np.ones(len(X))).bounded(RowBounds(1.0)).sum(kernel)
    for one in found:
        np.testing.assert_array_equal(one, expected)


def test_memory_is_that_of_one_chunk_however_many_there_are(gradient, peak_bytes):
    n_chunks, shape = 50, (5000, 50)

    def read():
        for seed in range(n_chunks):
            X = np.random.default_rng(seed).random(shape)
            yield X, (X[:, 0] > 0.5).astype(np.float64)

    size = 8 * shape[0] * shape[1]
    # The chunk in use, the one that replaces it, and a few numbers a row.
    for memory in (NOTHING, 24 * n_chunks * shape[0]):
        peak = peak_bytes(lambda m=memory: gradient(chunked(read, m), data_norm=3.0))
        assert peak <= 2.5 * size + 48 * n_chunks * shape[0] < 0.2 * n_chunks * size


@pytest.mark.nightly
def test_fit_takes_less_memory_than_the_data(peak_bytes):
    n_chunks, shape = 40, (5000, 50)

    def read():
        for seed in range(n_chunks):
            X = np.random.default_rng(seed).random(shape)
            yield X, X[:, 0] > 0.5

    model = DPLogisticRegression(data_norm=3.0, classes=[False, True], solver=GD(steps=2))
    peak = peak_bytes(lambda: model.fit(Chunks(read, memory=24 * n_chunks * shape[0])))
    assert model.coef_.shape == (1, 50)
    assert peak <= 0.2 * n_chunks * 8 * shape[0] * shape[1]


def test_a_function_that_returns_no_iterator_is_refused_before_anything_is_spent():
    model = DPLogisticRegression(data_norm=3.0, classes=[False, True])
    with pytest.raises(TypeError, match="got one that returns a NoneType"):
        model.fit(Chunks(lambda: None))
    assert not hasattr(model, "privacy_spent_")


@pytest.mark.parametrize("bad", [np.nan, 1e6, 1e-3])
def test_rows_that_change_between_passes_are_those_of_the_first_or_refused(gradient, bad):
    for memory in (ALL, SMALL, NOTHING):
        X, y = data()
        rows = chunked(lambda X=X, y=y: iter([(X, y)]), memory)
        first = gradient(rows)
        np.testing.assert_array_equal(gradient(rows), first)
        X[3, 3] += bad
        if memory is ALL:
            np.testing.assert_array_equal(gradient(rows), first)
            continue
        with pytest.raises(ValueError, match=r"they have changed|contains NaN"):
            gradient(rows)


def test_targets_that_change_between_passes_are_those_of_the_first_or_refused(gradient):
    X, y = data()
    kept = [chunked(lambda: iter([(X, y)]), memory) for memory in (ALL, SMALL)]
    again = chunked(lambda: iter([(X, y)]), NOTHING)
    first = gradient(again)
    y[:] = 1 - y
    for rows in kept:
        np.testing.assert_array_equal(gradient(rows), first)
    with pytest.raises(ValueError, match="they have changed"):
        gradient(again)


@pytest.mark.parametrize("later", [slice(0, 900), slice(0, 1100)], ids=["fewer", "more"])
@pytest.mark.parametrize("memory", [SMALL, NOTHING])
def test_a_source_that_changes_its_number_of_rows_is_refused(gradient, later, memory):
    X, y = data(n=1100)
    parts = [slice(0, 1000), later]
    rows = chunked(lambda: iter([(X[parts[0]], y[parts.pop(0)])]), memory)
    with pytest.raises(ValueError, match="they have changed"):
        gradient(rows)


@pytest.mark.parametrize("memory", [SMALL, NOTHING])
def test_a_source_that_ends_early_or_goes_on_is_refused(gradient, memory):
    X, y = data()
    for later in (pieces(X[:900], y[:900], 300), [*pieces(X, y, 300), (X[:1], y[:1])]):
        passes = [pieces(X, y, 300), later]
        rows = chunked(lambda passes=passes: iter(passes.pop(0)), memory)
        with pytest.raises(ValueError, match="they have changed"):
            gradient(rows)


@pytest.mark.parametrize("memory", [ALL, SMALL, NOTHING])
def test_a_reader_may_use_its_memory_again(gradient, memory):
    X, y = data()
    features, targets = np.empty((100, X.shape[1])), np.empty(100)

    def read():
        for start in range(0, len(X), 100):
            features[:], targets[:] = X[start : start + 100], y[start : start + 100]
            yield features, targets

    rows, reference = chunked(read, memory), gradient(DenseRows(X, y))
    same(gradient(rows), reference)
    same(gradient(rows), reference)


def test_arrays_one_after_the_other_are_one_table(gradient, tmp_path):
    X, y = data()
    parts = [slice(0, 10), slice(10, 700), slice(700, None)]
    maps = []
    for k, part in enumerate(parts):
        np.save(tmp_path / f"{k}.npy", X[part])
        maps.append(np.load(tmp_path / f"{k}.npy", mmap_mode="r"))
    targets = [y[part] for part in parts]
    rows = ChunkedRows(Chunks.from_arrays(maps, targets), lambda y: y)
    cut = ChunkedRows(Chunks(list(zip(maps, targets, strict=True))), lambda y: y)
    np.testing.assert_array_equal(gradient(rows), gradient(cut))
    same(gradient(rows), gradient(DenseRows(X, y)))
    weights = [np.linspace(0, 1, len(part)) for part in targets]
    options = {"data_norm": 1.0, "classes": [0, 1], "solver": GD(steps=3)}
    one, other = DPLogisticRegression(**options), DPLogisticRegression(**options)
    exact_fit(one, X, y, sample_weight=np.concatenate(weights))
    exact_fit(other, Chunks.from_arrays(maps, targets, weights=weights), None)
    same(other.coef_, one.coef_)
    people = np.arange(len(X)) % 400
    labels = [people[part] for part in parts]
    whole = Chunks([(X, y, None, people)])
    exact_fit(one, whole, None, privacy_unit=True)
    chunks = Chunks.from_arrays(maps, targets, privacy_unit=labels)
    exact_fit(other, chunks, None, privacy_unit=True)
    same(other.coef_, one.coef_)


def test_arrays_of_another_number_are_refused():
    X, y = data()
    with pytest.raises(ValueError, match="as many arrays in each sequence, got 2 in X and 1 in y"):
        Chunks.from_arrays([X, X], [y])
