import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from skdp.privacy.rows import BoundedBlock, RawBlock, cut
from skdp.problem import RowBounds, TargetBounds

LAYOUTS = {
    "C": np.ascontiguousarray,
    "F": np.asfortranarray,
    "csr_array": sp.csr_array,
    "csr_matrix": sp.csr_matrix,
}
# Ways in which rows can lie in memory.
LIES = {
    "row by row": np.ascontiguousarray,
    "column by column": np.asfortranarray,
    "in longer columns": lambda X: np.asfortranarray(np.vstack([X] * 5))[: len(X)],
    "in longer rows": lambda X: np.hstack([X, X])[:, : X.shape[1]],
    "in every other column": lambda X: np.repeat(X, 2, axis=1)[:, ::2],
    "upside down": lambda X: np.ascontiguousarray(X[::-1])[::-1],
}
NORM = 2.5
ROUNDING = 1e-12


@pytest.fixture(params=LAYOUTS)
def layout(request):
    return LAYOUTS[request.param]


def block_of(X, bounds, y=None):
    return BoundedBlock(RawBlock(X, np.zeros(X.shape[0]) if y is None else y), bounds).loaded()


def rows_in_scores(block, p):
    """The rows that ``scores`` works with, one column a unit vector."""
    return np.column_stack([block.scores(e) for e in np.eye(p)])


def rows_in_combine(block, m):
    """The rows that ``combine`` works with, one a unit vector."""
    return np.stack([block.combine(e) for e in np.eye(m)])


def bounded_rows(X, bounds):
    """The rows that a block works with; a check that its two halves agree."""
    m, d = X.shape
    block = block_of(X, bounds)
    rows = rows_in_scores(block, d + (bounds.intercept_value != 0))
    np.testing.assert_allclose(rows_in_combine(block, m), rows, rtol=ROUNDING, atol=0)
    return rows


def mixed(seed=0):
    """Rows with norms from far below to far above the bound, alternating."""
    X = np.random.default_rng(seed).standard_normal((12, 5))
    X *= (np.where(np.arange(12) % 2, 100.0, 0.3) / np.linalg.norm(X, axis=1))[:, None]
    return X


def test_longer_rows_get_exactly_the_norm_bound_and_keep_their_direction(layout):
    X = mixed()
    long = bounded_rows(layout(X), RowBounds(NORM))[1::2]
    np.testing.assert_allclose(np.linalg.norm(long, axis=1), NORM, rtol=ROUNDING)
    np.testing.assert_allclose(long, X[1::2] * (NORM / 100.0), rtol=ROUNDING)


def test_shorter_rows_are_untouched_to_the_last_bit(layout):
    X = mixed()
    np.testing.assert_array_equal(bounded_rows(layout(X), RowBounds(NORM))[::2], X[::2])


def test_a_block_of_short_rows_only_is_untouched(layout):
    X = mixed()[::2]
    np.testing.assert_array_equal(bounded_rows(layout(X), RowBounds(NORM)), X)


@pytest.mark.parametrize("size", [1e150, 1e200, 1e300, 1.7e308])
def test_huge_rows_get_exactly_the_norm_bound_and_leave_others_alone(layout, size):
    X = mixed()
    signs = np.sign(X[[3, 4]])
    X[[3, 4]] = size * signs
    given = layout(X.copy())
    bounded = bounded_rows(given, RowBounds(NORM))
    np.testing.assert_allclose(bounded[[3, 4]], NORM / np.sqrt(5) * signs, rtol=ROUNDING)
    np.testing.assert_array_equal(bounded[::2][[0, 1, 3, 4, 5]], X[::2][[0, 1, 3, 4, 5]])
    np.testing.assert_allclose(bounded[1::2][[0, 2]], X[1::2][[0, 2]] * NORM / 100, rtol=ROUNDING)
    np.testing.assert_array_equal(given.toarray() if sp.issparse(given) else given, X)


def test_a_row_with_a_single_huge_entry_keeps_only_that_entry(layout):
    X = mixed()
    X[2, 1] = -1.7e308
    expected = np.zeros(5)
    expected[1] = -NORM
    bounded = bounded_rows(layout(X), RowBounds(NORM))[2]
    np.testing.assert_allclose(bounded, expected, rtol=ROUNDING, atol=1e-300)


@pytest.mark.parametrize("data_norm", [1e-100, 1e100])
def test_extreme_norm_bounds_hold_for_ordinary_and_huge_rows(layout, data_norm):
    X = mixed()
    X[1] = 1e300
    norms = np.linalg.norm(bounded_rows(layout(X), RowBounds(data_norm)) / data_norm, axis=1)
    assert norms.max() <= 1 + ROUNDING
    assert norms[1] >= 1 - ROUNDING


@pytest.mark.parametrize("size", [5e-324, 1e-310, 1e-200])
def test_tiny_rows_are_untouched_and_their_norms_are_bounded_from_above(layout, size):
    X = mixed()
    X[4] = size
    bounds = RowBounds(NORM)
    np.testing.assert_array_equal(bounded_rows(layout(X), bounds)[4], X[4])
    assert block_of(layout(X), bounds).norms[4] >= size * np.sqrt(5)


def test_zero_rows_count_for_the_intercept_alone(layout):
    bounds = RowBounds(NORM, intercept_value=3.0)
    bounded = bounded_rows(layout(np.zeros((4, 5))), bounds)
    np.testing.assert_array_equal(bounded, [[0, 0, 0, 0, 0, 3.0]] * 4)
    np.testing.assert_array_equal(block_of(layout(np.zeros((4, 5))), bounds).norms, 3.0)


def test_zero_rows_without_intercept_have_norms_that_can_be_divided_by(layout):
    norms = block_of(layout(np.zeros((4, 5))), RowBounds(NORM)).norms
    assert np.all(norms > 0)
    assert np.all(np.isfinite(1.0 / norms))


def test_the_intercept_entry_is_the_same_in_every_row_whatever_its_norm(layout):
    X = mixed()
    X[3] = 1e300
    bounds = RowBounds(NORM, intercept_value=0.7)
    bounded = bounded_rows(layout(X), bounds)
    np.testing.assert_array_equal(bounded[:, -1], 0.7)
    np.testing.assert_array_equal(bounded[:, :-1], bounded_rows(layout(X), RowBounds(NORM)))
    assert np.linalg.norm(bounded, axis=1).max() <= bounds.row_norm * (1 + ROUNDING)


def test_norms_are_those_of_the_bounded_rows(layout):
    X = mixed()
    X[3] = 1e300
    for bounds in (RowBounds(NORM), RowBounds(NORM, 0.7)):
        norms = block_of(layout(X), bounds).norms
        rows = bounded_rows(layout(X), bounds)
        np.testing.assert_allclose(norms, np.linalg.norm(rows, axis=1), rtol=ROUNDING)
        assert norms.max() <= bounds.row_norm * (1 + ROUNDING)


@pytest.mark.parametrize("intercept", [0.0, 2.0])
def test_several_scores_a_row_are_single_scores_side_by_side(layout, intercept):
    X, rng = layout(mixed()), np.random.default_rng(1)
    block = block_of(X, RowBounds(NORM, intercept))
    w = rng.standard_normal((5 + (intercept != 0), 3))
    r = rng.standard_normal((12, 3))
    single = np.column_stack([block.scores(column) for column in w.T])
    np.testing.assert_allclose(block.scores(w), single, rtol=ROUNDING, atol=1e-14)
    single = np.column_stack([block.combine(column.copy()) for column in r.T])
    np.testing.assert_allclose(block.combine(r.copy()), single, rtol=ROUNDING, atol=1e-14)


@pytest.mark.parametrize("to", LAYOUTS.values(), ids=LAYOUTS)
def test_single_precision_rows_are_worked_with_in_double_precision(to):
    X = mixed().astype(np.float32)
    bounds, w = RowBounds(NORM, 1.0), np.random.default_rng(2).standard_normal(6)
    single, double = block_of(to(X), bounds), block_of(to(X.astype(np.float64)), bounds)
    np.testing.assert_array_equal(single.norms, double.norms)
    np.testing.assert_array_equal(single.scores(w), double.scores(w))
    np.testing.assert_array_equal(single.combine(np.ones(12)), double.combine(np.ones(12)))


@pytest.mark.parametrize("entry", [np.finfo(np.float32).max, 1e-45])
def test_extreme_single_precision_rows_are_bounded_like_others(layout, entry):
    X = np.full((3, 5), entry, dtype=np.float32)
    exact = X.astype(np.float64)
    exact *= np.minimum(1.0, NORM / np.linalg.norm(exact, axis=1))[:, None]
    np.testing.assert_allclose(bounded_rows(layout(X), RowBounds(NORM)), exact, rtol=ROUNDING)


def test_raw_norms_are_taken_before_any_bound_and_overflow_to_infinity(layout):
    X = mixed()
    X[3] = 1e300
    norms = RawBlock(layout(X), np.zeros(12)).norms
    assert np.isinf(norms[3])
    finite = np.arange(12) != 3
    np.testing.assert_allclose(norms[finite], np.linalg.norm(X[finite], axis=1), rtol=ROUNDING)


def test_targets_are_clipped_and_mapped_without_touching_those_given():
    y = np.array([-1e9, 10.0, 15.0, 20.0, 1e9])
    given = y.copy()
    bounds = RowBounds(NORM, target=TargetBounds(10.0, 20.0))
    np.testing.assert_array_equal(block_of(np.zeros((5, 1)), bounds, given).y, [-1, -1, 0, 1, 1])
    np.testing.assert_array_equal(given, y)


@pytest.mark.parametrize(("low", "width"), [(2.0**53, 2.0), (1e12, 0.07), (-1.7e9, 100.3)])
def test_mapped_targets_are_within_one_however_narrow_the_bounds(low, width):
    # The middle of the first interval is not a float.
    bounds = RowBounds(NORM, target=TargetBounds(low, low + width))
    y = block_of(np.zeros((2, 1)), bounds, np.array([low, low + width])).y
    assert np.abs(y).max() <= 1


@pytest.mark.parametrize("n", [3, 40])
@pytest.mark.parametrize("lie", LIES)
@pytest.mark.parametrize("n_scores", [1, 3])
def test_the_scores_of_a_row_are_the_same_to_the_last_bit_beside_a_huge_row(n, lie, n_scores):
    rng = np.random.default_rng(0)
    for d in range(2, 60):
        X, w = rng.standard_normal((n, d)), rng.standard_normal((d, n_scores)).squeeze()
        beside = X.copy()
        beside[-1] = 1e200
        ordinary, huge = (block_of(LIES[lie](rows), RowBounds(NORM)) for rows in (X, beside))
        np.testing.assert_array_equal(huge.scores(w)[:-1], ordinary.scores(w)[:-1])


def test_rows_that_are_too_long_by_rounding_are_the_same_to_the_last_bit_beside_a_long_row():
    """Whether a block shortens any row must not show in the others."""
    X = np.random.default_rng(3).normal(size=(40, 7))
    X *= NORM * (1 + 2.0**-51) / np.linalg.norm(X, axis=1)[:, None]
    beside = X.copy()
    beside[0] *= 3
    w = np.linspace(-1, 1, 7)
    alone, other = (block_of(rows, RowBounds(NORM, 0.0)).scores(w) for rows in (X, beside))
    assert np.count_nonzero(np.linalg.norm(X, axis=1) > NORM) > 10
    np.testing.assert_array_equal(alone[1:], other[1:])
    assert abs(other[0]) < abs(beside[0] @ w) / 2


@given(n=st.integers(1, 20_000), rows=st.integers(1, 30_000))
def test_cut_covers_every_row_once_in_blocks_of_nearly_equal_size(n, rows):
    starts, stops = zip(*cut(n, rows), strict=True)
    assert starts == (0, *stops[:-1])
    assert stops[-1] == n
    sizes = np.subtract(stops, starts)
    assert 1 <= sizes.max() <= 1.5 * rows + 1
    assert np.all(sizes[:-1] == sizes[0])
    # A single row is not left to a block of its own.
    assert min(n, 2) <= sizes[-1] <= sizes[0] + 1


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_rows_that_are_not_finite_count_as_zero_and_leave_the_others_bounded(layout, bad, dtype):
    X = mixed().astype(dtype)
    X[4, 2] = bad
    zeroed = X.copy()
    zeroed[4] = 0.0
    rows = bounded_rows(layout(X), RowBounds(NORM))
    np.testing.assert_allclose(rows, bounded_rows(layout(zeroed), RowBounds(NORM)), rtol=ROUNDING)
    assert RawBlock(layout(X), np.zeros(12)).norms[4] == np.inf


def test_weights_beyond_the_bound_and_of_no_number_count_as_the_nearest():
    given = np.array([-1.0, np.nan, 0.0, 0.25, 1.0, 7.0, np.inf])
    block = RawBlock(np.zeros((7, 1)), np.zeros(7), given)
    np.testing.assert_array_equal(block.bounded_weights, [0, 0, 0, 0.25, 1, 1, 1])
    target = TargetBounds(-1.0, 1.0)
    np.testing.assert_array_equal(
        BoundedBlock(block, RowBounds(1.0, target=target)).weights, block.bounded_weights
    )


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("value", [np.nan, -np.inf, -1e200])
def test_a_row_that_is_no_number_does_not_hide_the_negative_ones(kind, value):
    X = np.vstack([-np.eye(4, 3), [[value, 1.0, 0.0]]])
    block = BoundedBlock(RawBlock(kind(X), np.zeros(5)), RowBounds(1.0, nonnegative=True))
    assert np.all(block.loaded().rows() >= 0)
