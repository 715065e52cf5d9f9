"""Scores kept along a walk are those computed afresh, in every layout and whatever is asked."""

import numpy as np
import pytest
import scipy.sparse as sp

from skdp.privacy.rows import BoundedBlock, RawBlock, ScoreCache
from skdp.problem import RowBounds, RowMap
from skdp.testing import row_stores

N, D = 40, 30
BOUNDS = [
    RowBounds(1.0),
    RowBounds(1.0, 0.7),
    RowBounds(1.0, nonnegative=True),
    RowBounds(1.0, 0.3, row_map=RowMap(np.full(D, 2.0), None, np.full(D, 0.1), 1.5)),
]
every_bounds = pytest.mark.parametrize("bounds", BOUNDS, ids=lambda b: repr(b)[10:60])


def data(seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(N, D)) * (rng.random((N, D)) < 0.2)
    return X.astype(np.float32).astype(float), np.zeros(N)


def walk(p, k, seed=1):
    """Weights of a walk to vertices, with jumps, moves of the intercept, and false claims."""
    rng = np.random.default_rng(seed)
    w = np.zeros((p,) if k == 1 else (p, k))
    for t in range(60):
        shrunk = 1 - 1 / (t + 1)
        w = w.copy()
        if t == 20:
            w = rng.normal(size=w.shape)
            yield w, 0.3
            continue
        w[:D] *= shrunk
        w[:D].flat[rng.integers(D * k)] += rng.normal()
        if p > D:
            w[-1] = rng.normal()
        yield w, shrunk if t % 7 else 1.7


@every_bounds
@pytest.mark.parametrize("k", [1, 3])
@pytest.mark.by_day(2)
def test_scores_along_a_walk_equal_scores_computed_afresh(bounds, k):
    X, y = data()
    p = D + bool(bounds.intercept_value)
    for layout, store in row_stores(3 * X, y).items():
        view = store.bounded(bounds)
        for w, shrunk in walk(p, k):
            kept = view.sum(lambda b, w=w, s=shrunk: padded(b.scores_along(w, s)))
            fresh = view.sum(lambda b, w=w: padded(b.scores(w)))
            np.testing.assert_allclose(kept, fresh, rtol=0, atol=1e-12, err_msg=layout)


def padded(z):
    """Scores of a block in a fixed shape, so that blocks can be added up: sorted squares."""
    return np.array([(z**2).sum(), np.abs(z).max(initial=0.0), z.sum()])


@every_bounds
@pytest.mark.parametrize("bound", [0.05, 10.0])
def test_rows_held_by_columns_are_combined_like_others(bounds, bound):
    X, y = data()
    rng = np.random.default_rng(2)
    for _, store in row_stores(3 * X, y).items():
        blocks = []
        store.bounded(bounds).sum(lambda b, blocks=blocks: blocks.append(b) or np.zeros(1))
        for block in blocks:
            for k in (1, 3):
                r = rng.normal(size=(block.y.size, k) if k > 1 else block.y.size)
                before = block.combine_within(r.copy(), bound)
                for w, shrunk in walk(D + bool(bounds.intercept_value), k):
                    block.scores_along(w, shrunk)
                after = block.combine_within(r.copy(), bound)
                np.testing.assert_allclose(after, before, rtol=0, atol=1e-13)


def test_a_step_reads_the_entries_of_its_column_alone():
    """Other entries may turn into garbage after the first two queries and nothing changes."""
    X = sp.csr_array(data()[0])
    cache, held = ScoreCache(), X.copy()
    w = np.zeros(D)
    cache.scores(held, None, w, 1.0)
    cache.scores(held, None, w, 1.0)
    held.data[:] = np.nan
    for j in range(D):
        w = 0.9 * w
        w[j] += 1.0
        np.testing.assert_allclose(cache.scores(held, None, w, 0.9), X @ w, atol=1e-14)


def test_weights_that_are_not_numbers_leave_no_trace():
    X = data()[0]
    kept, w = ScoreCache(), np.ones(D)
    kept.scores(X, None, w, 1.0)
    with np.errstate(invalid="ignore"):
        for bad in (np.nan, np.inf):
            wrong = w.copy()
            wrong[0] = bad
            kept.scores(X, None, wrong, 1.0)
            np.testing.assert_allclose(kept.scores(X, None, w, 1.0), X @ w, atol=1e-14)


def test_the_score_of_a_row_does_not_depend_on_other_rows():
    X, _ = data()
    other = X.copy()
    other[3] = 7.0
    answers = []
    for rows in (X, other):
        kept = ScoreCache()
        answers.append([kept.scores(sp.csr_array(rows), None, w, s) for w, s in walk(D, 1)])
    for one, two in zip(*answers, strict=True):
        np.testing.assert_array_equal(np.delete(one, 3), np.delete(two, 3))


def test_rows_that_are_taken_begin_a_walk_of_their_own():
    X, y = data()
    block = BoundedBlock(RawBlock(X, y), RowBounds(10.0))
    w = np.ones(D)
    block.scores_along(w, 1.0)
    some = block.taken(np.array([4, 1]))
    np.testing.assert_allclose(some.scores_along(w, 1.0), X[[4, 1]] @ w, atol=1e-13)
