"""Rows on a grid: never too long, exact sums, whatever the order."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from skdp.bounds import RowBounds, TargetBounds
from skdp.data.blocks import RawBlock
from skdp.data.dense import DenseRows
from skdp.data.grid import GridBlock, exact_total, short
from skdp.data.sparse import SparseRows
from skdp.losses import Logistic, Softmax, Squared
from skdp.privacy.adjacency import Adjacency
from skdp.privacy.queries.gradient import GradientNormQuery, GradientQuery
from skdp.privacy.queries.gradient_difference import GradientDifferenceQuery
from skdp.privacy.queries.gradient_sizes import GradientAndShareQuery
from skdp.privacy.queries.moments import MomentsQuery
from skdp.privacy.queries.normal_equations import NormalEquationsQuery
from skdp.privacy.queries.row_means import RowMeansQuery
from skdp.problem import Problem
from skdp.row_map import RowMap

RNG = np.random.default_rng(0)
N, D = 20_000, 5
X = RNG.normal(size=(N, D)) * 10.0 ** RNG.uniform(-3, 3, size=(N, 1))
X[0], X[1, 0], X[2], X[3] = np.nan, np.inf, 1e200, 0.0
TARGET = TargetBounds(-2.0, 2.0)
MAP = RowMap(np.full(D, 2.0), RNG.normal(size=(D, D)), RNG.normal(size=D), 2.0, 1.0)
BOUNDS = {
    "rows": RowBounds(0.7, 0.0, TARGET, exact=True),
    "intercept": RowBounds(1.3, 0.9, TARGET, exact=True),
    "mapped": RowBounds(1.0, 1.0, TARGET, MAP, exact=True),
}
LOSSES = (Logistic(), Squared(), Softmax(3))
kinds_of_rows = pytest.mark.parametrize("bounds", BOUNDS.values(), ids=BOUNDS)


def targets(loss):
    if isinstance(loss, Squared):
        return RNG.uniform(-3, 3, N)
    return RNG.integers(0, max(2, loss.n_scores), N).astype(float)


def questions(bounds, loss):
    problem = Problem(loss, N, D, bounds)
    w = RNG.normal(size=problem.shape)
    gradient = GradientQuery(problem, w, 0.4)
    yield gradient
    yield GradientNormQuery(gradient)
    yield GradientAndShareQuery(gradient, 0.5)
    yield GradientDifferenceQuery(gradient, w + 0.01 * RNG.normal(size=w.shape))
    yield MomentsQuery(bounds, N, problem.n_rows, full=True)
    yield MomentsQuery(bounds, N, problem.n_rows, full=False)
    yield NormalEquationsQuery(bounds, N, problem.n_rows, 0.5)
    yield RowMeansQuery(bounds, N, 2)


def exactly(a):
    return [Fraction(float(v)) for v in a]


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@settings(max_examples=60, deadline=None)
@given(data=st.data(), norm=st.floats(1e-60, 1e60), share=st.sampled_from([0.0, 0.3, 1.0]))
def test_no_row_is_longer_than_its_bound_in_exact_arithmetic(dtype, data, norm, share):
    width = 8 * np.dtype(dtype).itemsize
    rows = hnp.arrays(dtype, (4, 3), elements=st.floats(width=width))
    near = hnp.arrays(np.float64, (4, 3), elements=st.floats(-1, 1))
    with np.errstate(all="ignore"):
        V = data.draw(st.one_of(rows, near.map(lambda a: (norm * a).astype(dtype))))
    bounds = RowBounds(norm, share * norm, exact=True)
    with np.errstate(all="ignore"):
        block = GridBlock(RawBlock(V, np.zeros(4)), bounds)
    for row, length in zip(block.rows(), block.norms, strict=True):
        square = sum(v * v for v in exactly(row[:3]))
        assert square <= Fraction(norm) ** 2
        whole = square + sum(v * v for v in exactly(row[3:]))
        assert whole <= Fraction(float(length)) ** 2
        assert float(length) <= bounds.row_norm * (1 + 1e-12) or not any(row)


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), clip=st.floats(1e-6, 1e6), constant=st.sampled_from([0, 1]))
def test_no_row_contributes_more_than_the_clip_in_exact_arithmetic(seed, clip, constant):
    rng = np.random.default_rng(seed)
    V = rng.normal(size=(6, 3)).astype(rng.choice([np.float64, np.float32]))
    problem = Problem(Squared(), 6, 3, RowBounds(1.0, constant, TARGET, exact=True))
    query = GradientQuery(problem, 1e3 * rng.normal(size=problem.shape), clip)
    for i in range(6):
        block = GridBlock(RawBlock(V[i : i + 1], rng.normal(size=1)), problem.bounds)
        sent = query.of_block(block, block.scores(query.w))
        assert sum(v * v for v in exactly(sent)) <= Fraction(query.bound) ** 2


@kinds_of_rows
@pytest.mark.parametrize("loss", LOSSES, ids=str)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_answers_do_not_depend_on_the_order_of_rows_to_the_last_bit(bounds, loss, dtype):
    with np.errstate(over="ignore"):
        V = X.astype(dtype)
    y, order = targets(loss), RNG.permutation(N)
    layouts = [DenseRows(V[order], y[order]), DenseRows(np.asfortranarray(V), y)]
    with np.errstate(all="ignore"):
        for query in questions(bounds, loss):
            answer = query.evaluate(DenseRows(V, y))
            assert np.isfinite(answer).all()
            for rows in layouts:
                np.testing.assert_array_equal(query.evaluate(rows), answer, err_msg=query.name)


@kinds_of_rows
def test_answers_are_those_of_the_rows_as_they_came_up_to_the_grid(bounds):
    for loss in LOSSES:
        y = targets(loss)
        rounded = replace(bounds, exact=False)
        rng = RNG.bit_generator.state
        exact = list(questions(bounds, loss))
        RNG.bit_generator.state = rng
        for asked, plain in zip(exact, questions(rounded, loss), strict=True):
            with np.errstate(all="ignore"):
                a, b = asked.evaluate(DenseRows(X, y)), plain.evaluate(DenseRows(X, y))
            if asked.name == "gradient_and_share":
                # A row may come to lie on the other side of the clip.
                a, b = a[:-1], b[:-1]
            # In units of what a neighbour moves, times n: of one row.
            row = N * plain.sensitivity(Adjacency.ZERO_OUT)
            assert np.abs(a - b).max() <= 2.0**-13 * row


def test_sparse_rows_have_the_sums_of_dense_ones_to_the_last_bit():
    V = np.where(RNG.uniform(size=X.shape) < 0.3, np.nan_to_num(X, posinf=1.0), 0.0)
    y = targets(Logistic())
    with np.errstate(all="ignore"):
        for query in questions(BOUNDS["intercept"], Logistic()):
            dense, sparse = (s(v, y) for s, v in ((DenseRows, V), (SparseRows, sp.csr_array(V))))
            np.testing.assert_array_equal(query.evaluate(sparse), query.evaluate(dense))


def test_a_sum_is_the_exact_one():
    block = GridBlock(RawBlock(X[10:3010], np.zeros(3000)), BOUNDS["intercept"])
    r = RNG.uniform(-1, 1, 3000) / block.norms
    whole = np.trunc(r / 2.0**-60) * 2.0**-60
    found = block.combine(r.copy(), 1.0)
    unit = 2.0**-40 / block._unit
    for column, entry in zip(block.rows().T, found, strict=True):
        terms = zip(exactly(column), exactly(np.trunc(whole / unit) * unit), strict=True)
        assert sum(a * b for a, b in terms) == Fraction(float(entry))


def test_a_row_on_the_grid_does_not_depend_on_other_rows():
    for bounds in BOUNDS.values():
        with np.errstate(all="ignore"):
            together = GridBlock(RawBlock(X[:40], np.zeros(40)), bounds).rows()
            for i in range(40):
                alone = GridBlock(RawBlock(X[i : i + 1], np.zeros(1)), bounds).rows()
                np.testing.assert_allclose(together[i], alone[0], rtol=0, atol=1e-6)
                if bounds.row_map is None:
                    np.testing.assert_array_equal(together[i], alone[0])


def test_taken_rows_are_those_rows():
    block = GridBlock(RawBlock(X[:50], np.arange(50.0)), BOUNDS["intercept"])
    part = block.taken(np.array([3, 9]))
    np.testing.assert_array_equal(part.rows(), block.rows()[[3, 9]])
    np.testing.assert_array_equal(part.y, block.y[[3, 9]])
    assert part.limits.of(1.0, 9.0).shape == (2,)


def test_long_blocks_are_cut():
    parts = list(short(RawBlock(X, np.arange(float(N)))))
    assert max(part.y.size for part in parts) <= 2**13
    np.testing.assert_array_equal(np.concatenate([part.y for part in parts]), np.arange(N))


def test_totals_are_rounded_once():
    parts = np.round(RNG.normal(size=(200, 3)) * 10.0 ** RNG.uniform(0, 14, (200, 1)))
    expected = [float(sum(exactly(column))) for column in parts.T]
    for order in (slice(None), slice(None, None, -1)):
        found = exact_total([part.copy() for part in parts[order]])
        np.testing.assert_array_equal(found, expected)


def test_sparse_rows_are_not_mapped():
    with pytest.raises(ValueError, match="GridBlock needs dense rows to map"):
        GridBlock(RawBlock(sp.csr_array(X[4:9]), np.zeros(5)), BOUNDS["mapped"])


def test_rows_elsewhere_are_refused():
    with pytest.raises(TypeError, match="rows of its own"):
        GridBlock(RawBlock(X[4:9], np.zeros(5)), BOUNDS["rows"]).over(None)


@pytest.mark.parametrize("constant", [0.0, 0.5])
def test_blocks_in_which_nothing_is_stored_are_like_others(constant):
    """Whether one row has an entry must not decide whether a fit fails."""
    bounds = RowBounds(1.0, constant, exact=True)
    block = GridBlock(RawBlock(sp.csr_array((3, 2)), np.zeros(3)), bounds)
    np.testing.assert_allclose(block.norms, max(constant, 1e-150))
    np.testing.assert_array_equal(block.rows()[:, :2], np.zeros((3, 2)))


def test_an_intercept_of_less_than_a_unit_keeps_its_entry():
    block = GridBlock(RawBlock(np.ones((3, 2)), np.zeros(3)), RowBounds(2.0, 1e-9, exact=True))
    assert block.rows().shape == (3, 3)
    assert block.scores(np.ones(3)).shape == (3,)
    np.testing.assert_array_equal(block.combine(np.ones(3)), [3.0, 3.0, 0.0])
