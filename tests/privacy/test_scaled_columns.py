"""Features brought to a public scale, and clipped on it, before rows are bounded."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

from skdp.privacy import Adjacency
from skdp.privacy.queries import GradientQuery, RowMeansQuery
from skdp.privacy.rows import (
    BoundedBlock,
    DaskRows,
    DenseRows,
    MappedBlock,
    RawBlock,
    SparseRows,
    bounded_rows,
)
from skdp.problem import ColumnBounds, ColumnScaling, Problem, RowBounds, RowMap
from skdp.problem.losses import Logistic

N, D = 60, 4
LOW, HIGH = np.array([-1.0, 0.0, 2e6, -1e-6]), np.array([3.0, 1e-3, 3e6, 2e-6])
SCALING = ColumnScaling.of_bounds(ColumnBounds(LOW, HIGH), sparse=False)
KEPT_ZEROS = ColumnScaling.of_bounds(ColumnBounds(LOW, HIGH), sparse=True)
MAP = RowMap(np.ones(D), np.random.default_rng(1).normal(size=(D, D)), np.full(D, 0.1), 2.0)


def table(seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(LOW - (HIGH - LOW), HIGH + (HIGH - LOW), size=(N, D))
    X[0], X[1], X[2] = 1e300, -1e300, 0.0
    return X


def by_hand(X, scaling):
    """The middle of an interval at 0 and its ends at -1 and 1, unless zeros are to stay."""
    low, high = (np.minimum(LOW, 0), np.maximum(HIGH, 0)) if scaling is KEPT_ZEROS else (LOW, HIGH)
    if scaling is KEPT_ZEROS:
        return np.clip(X, low, high) / np.maximum(-low, high)
    shift = np.where(LOW == 0, 0, (LOW + HIGH) / 2)
    return (np.clip(X, LOW, HIGH) - shift) / np.where(LOW == 0, HIGH, (HIGH - LOW) / 2)


def store(X):
    return (SparseRows if sp.issparse(X) else DenseRows)(X, np.zeros(X.shape[0]))


def loaded(raw, bounds):
    return (BoundedBlock if bounds.row_map is None else MappedBlock)(raw, bounds).loaded()


def view(X, bounds):
    """Scores, norms, a weighted sum and second moments of the bounded rows."""
    rows = store(X).bounded(bounds)
    p = D + bool(bounds.intercept_value)
    w = np.random.default_rng(2).normal(size=p)
    scores, norms = [], []

    def kernel(block):
        z = block.scores(w)
        scores.append(z.copy())
        norms.append(block.norms)
        return np.vstack([block.combine(np.tanh(z)), block.gram()])

    total = rows.sum(kernel)
    return np.concatenate(scores), np.concatenate(norms), total


@pytest.mark.parametrize("row_map", [None, MAP], ids=["plain", "mapped"])
@pytest.mark.parametrize("kind", ["dense", "columns first", "single", "sparse"])
def test_rows_on_a_scale_are_those_that_were_scaled_by_hand(kind, row_map):
    scaling = KEPT_ZEROS if kind == "sparse" else SCALING
    X = table()
    if kind == "columns first":
        X = np.asfortranarray(X)
    if kind == "single":
        X = X.clip(-1e30, 1e30).astype(np.float32)
    bounds = RowBounds(1.1, 0.5, row_map=row_map, scaling=scaling)
    found = view(sp.csr_array(X) if kind == "sparse" else X, bounds)
    expected = view(by_hand(X.astype(float), scaling), replace(bounds, scaling=None))
    for ours, theirs in zip(found, expected, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-12)


def check_rows_on_a_scale_are_no_longer_than_their_norms(scaling=SCALING):
    """Fail unless rows that were clipped before are within the norms that were found then."""
    rng = np.random.default_rng(0)
    X = rng.uniform(LOW, HIGH, size=(9_000, D)).astype(np.float32)
    X[::400, 3] = 1e38
    X[7] = np.nan
    for form in (X, np.asfortranarray(X), X.astype(np.float64), np.repeat(X, 2, axis=1)[:, ::2]):
        for row_map, of_rows in itertools.product((None, MAP), (0, 10**6)):
            bounds = RowBounds(1.9, 0.5, row_map=row_map, scaling=scaling)
            raw = RawBlock(form, np.zeros(len(X)), of_rows=of_rows)
            for _ in range(2):
                block = loaded(raw, bounds)
                own = np.linalg.norm(block.rows(), axis=1)
                assert np.all(own <= block.norms * (1 + 1e-12)), "longer than its norm"
                assert np.all(own <= bounds.row_norm * (1 + 2.0**-20)), "longer than the bound"


# Ends so far from 0 that norms in single precision have no room for what is held to them.
FAR = ColumnScaling(SCALING.factor, SCALING.shift, (np.full(D, -1e39), np.full(D, 1e39)))


@pytest.mark.parametrize("scaling", [SCALING, FAR], ids=["near", "far"])
def test_rows_on_a_scale_are_no_longer_than_their_norms(scaling):
    check_rows_on_a_scale_are_no_longer_than_their_norms(scaling)


def test_entries_that_are_not_clipped_again_are_caught(monkeypatch):
    monkeypatch.setattr(bounded_rows, "_put", lambda *_: None)
    with pytest.raises(AssertionError, match="longer than"):
        check_rows_on_a_scale_are_no_longer_than_their_norms()


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("row_map", [None, MAP], ids=["plain", "mapped"])
def test_clipped_entries_are_the_same_whether_they_were_kept_or_not(order, row_map, monkeypatch):
    """Else entries of other rows would decide, by their number, how this row is rounded."""
    rng = np.random.default_rng(0)
    X = np.array(rng.uniform(LOW, HIGH, size=(9_000, D)), order=order)
    X[::400] = rng.standard_cauchy((len(X[::400]), D)) * HIGH
    bounds, found = RowBounds(1.9, 0.5, row_map=row_map, scaling=SCALING), []
    for one_in in (1, 64, 10**9):
        monkeypatch.setattr(bounded_rows, "_ONE_IN", one_in)
        block = loaded(RawBlock(X, np.zeros(len(X))), bounds)
        found.append((block.rows(), block.norms, block.combine(np.ones(len(X)))))
    for other in found[1:]:
        for ours, theirs in zip(other, found[0], strict=True):
            np.testing.assert_array_equal(ours, theirs)


def test_rows_themselves_are_not_changed():
    X = table()
    before = X.copy()
    view(X, RowBounds(1.0, scaling=SCALING))
    np.testing.assert_array_equal(X, before)


@pytest.mark.parametrize("row_map", [None, MAP], ids=["plain", "mapped"])
def test_scores_and_norms_of_a_row_do_not_depend_on_the_others(row_map):
    X, other = table(), table(1)
    other[5] = X[5]
    bounds = RowBounds(0.7, 0.5, row_map=row_map, scaling=SCALING)
    for ours, theirs in zip(view(X, bounds)[:2], view(other, bounds)[:2], strict=True):
        assert ours[5] == theirs[5]


def test_a_model_of_scaled_features_is_one_of_features_as_they_come():
    rng = np.random.default_rng(3)
    for row_map in (None, MAP):
        bounds = RowBounds(2.0, 0.5, row_map=row_map, scaling=SCALING)
        problem = Problem(Logistic(), N, D, bounds)
        w = rng.normal(size=(D + 1, 1))
        coef, intercept = problem.in_user_coordinates(w)
        X = rng.uniform(LOW, HIGH, size=(N, D))
        Z = by_hand(X, SCALING)
        Z = Z if row_map is None else Z @ MAP.matrix - MAP.shift
        np.testing.assert_allclose(X @ coef + intercept, Z @ w[:D] + 0.5 * w[D], rtol=1e-9)
        back = problem.from_user_coordinates(coef, intercept)
        np.testing.assert_allclose(back, w[:, 0], rtol=1e-7, atol=1e-9)


def test_bounds_of_columns_survive_the_scale():
    low, high = SCALING.clipped_to
    np.testing.assert_allclose(low, LOW, rtol=1e-12)
    np.testing.assert_allclose(high, HIGH, rtol=1e-12)


def test_scales_of_the_same_bounds_are_equal():
    again = ColumnScaling.of_bounds(ColumnBounds(LOW.copy(), HIGH.copy()), sparse=False)
    assert again == SCALING
    assert hash(again) == hash(SCALING)
    assert again != KEPT_ZEROS


def test_a_selection_of_columns_is_refused():
    with pytest.raises(ValueError, match="columns=None"):
        RowBounds(1.0, scaling=SCALING, columns=(0,))


def test_rows_in_a_file_are_not_written_out(tmp_path):
    np.save(tmp_path / "X.npy", table())
    X = np.load(tmp_path / "X.npy", mmap_mode="r")
    for stored in (X, X[:30]):
        assert DenseRows(stored, np.zeros(len(stored))).on(SCALING) is None
    assert DenseRows(table(), np.zeros(N)).on(SCALING) is not None


def test_another_scale_is_not_answered_by_the_rows_of_an_earlier_one():
    X = table()
    kept = store(X)
    other = ColumnScaling.of_bounds(ColumnBounds(LOW, 2 * np.abs(HIGH) + 1), sparse=False)
    for scaling in (SCALING, other, SCALING):
        bounds = RowBounds(1.1, scaling=scaling)
        got = kept.bounded(bounds).sum(lambda block: block.gram())
        fresh = DenseRows(X, np.zeros(N)).bounded(bounds).sum(lambda block: block.gram())
        np.testing.assert_array_equal(got, fresh)


def test_one_negative_entry_does_not_decide_how_other_rows_count():
    low, high = np.full(D, 1.0), np.full(D, 3.0)
    scaling = ColumnScaling.of_bounds(ColumnBounds(low, high), sparse=False)
    bounds = RowBounds(2.0, nonnegative=True, scaling=scaling)
    X = np.random.default_rng(5).uniform(low, high, size=(N, D))
    other = X.copy()
    other[0, 0] = -1e-9
    query = RowMeansQuery(Problem(Logistic(), N, D, bounds))
    moved = np.linalg.norm(query.evaluate(store(X)) - query.evaluate(store(other)))
    assert moved <= query.sensitivity(Adjacency.REPLACE_ONE)


def test_a_source_that_changes_where_the_scale_is_fine_is_refused():
    da = pytest.importorskip("dask.array", reason="needs dask: pip install 'skdp[dask]'")
    dask = pytest.importorskip("dask")
    low, high = np.array([0.0, 0.0]), np.array([1e12, 1e-6])
    scaling = ColumnScaling.of_bounds(ColumnBounds(low, high), sparse=False)
    first = np.column_stack([np.full(8, 1e12), np.full(8, 1e-7)])
    passes = []

    def read():
        passes.append(None)
        # Unseen beside a number of 1e12, and the whole range of its column.
        return first if len(passes) < 2 else first + np.array([0.0, 1e-6])

    lazy = dask.delayed(read, pure=False)()
    X = da.from_delayed(lazy, shape=(8, 2), dtype=float)
    y = da.from_array(np.zeros(8), chunks=8)
    with dask.config.set(scheduler="synchronous"):
        rows = DaskRows(X, y, np.asarray)
        bounded = rows.bounded(RowBounds(1.0, scaling=scaling))
        with pytest.raises(ValueError, match="they have changed"):
            bounded.sum(lambda block: block.gram())
    assert len(passes) >= 2


def coordinates(factor):
    """Features times a factor, as a map of rows and as the scale of columns."""
    return {
        "mapped": RowBounds(1.0, 0.0, row_map=RowMap(np.ones(D), factor, factor[0], norm=1.0)),
        "sketched": RowBounds(
            1.0, 0.0, row_map=RowMap(factor[0], None, factor[1], 1.0, sketch=np.arange(D)[::-1])
        ),
        "scaled": RowBounds(1.0, 0.0, scaling=ColumnScaling(factor[0], factor[1])),
        "within": RowBounds(
            1.0, 0.0, scaling=ColumnScaling(np.ones(D), None, (-factor[0], factor[0]))
        ),
    }


@pytest.mark.parametrize("kind", ["dense", "sparse"])
@pytest.mark.parametrize("name", ["mapped", "sketched", "scaled", "within"])
def test_coordinates_stay_as_they_were_when_rows_were_measured(name, kind):
    """Rows are measured once: were coordinates to grow afterwards, so would a row in a sum."""
    factor = np.random.default_rng(3).uniform(0.5, 1.0, size=(D, D))
    bounds = coordinates(factor)[name]
    problem = Problem(Logistic(), N, D, bounds)
    X = np.random.default_rng(4).normal(size=(N, D))
    stores = [store(rows if kind == "dense" else sp.csr_array(rows)) for rows in (X, -X)]
    query = GradientQuery(problem, np.zeros(D), None)
    before = [query.evaluate(rows) for rows in stores]
    factor *= 1e3
    for rows, answer in zip(stores, before, strict=True):
        np.testing.assert_array_equal(query.evaluate(rows), answer)
    facts = bounds.scaling.facts if bounds.row_map is None else (bounds.row_map.scale,)
    for fact in facts:
        with pytest.raises(ValueError, match="read-only"):
            fact *= 1e3


def test_coordinates_are_copied_once():
    again = replace(MAP, norm=3.0)
    assert again.matrix is MAP.matrix
    assert replace(again, norm=MAP.norm) == MAP
