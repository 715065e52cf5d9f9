"""The margins for rounding: they hold, they are small, and they are on the receipt."""

import ast
from dataclasses import replace
from fractions import Fraction
from math import inf, sqrt
from pathlib import Path

import numpy as np
import pytest
from by_night import by_night
from scipy.sparse import csr_array

from skdp.privacy import Adjacency, gamma, inflated, of_sum, spread
from skdp.privacy.accounting import Spend
from skdp.privacy.mechanisms import GaussianMechanism
from skdp.privacy.queries import GradientQuery, MomentsQuery, RowMeansQuery, SiteRequest
from skdp.privacy.rows import (
    MOST_ROWS,
    DenseRows,
    MappedBlock,
    RawBlock,
    SiteChunks,
    SparseRows,
    bounded_rows,
    site_sums,
    total,
)
from skdp.problem import Problem, RowBounds, RowMap, Sites, TargetBounds
from skdp.problem.losses import Logistic, OneVsRest, Squared, SquaredHinge

RNG = np.random.default_rng(0)


def exactly(array):
    return [Fraction(float(v)) for v in np.ravel(array)]


@pytest.mark.parametrize("n", [1, MOST_ROWS, MOST_ROWS + 1, 49_153, 10**6])
def test_no_more_rows_are_added_up_by_themselves_than_the_margin_counts(n):
    rows, runs = np.arange(n), bounded_rows.row_runs(n)
    assert max(len(rows[run]) for run in runs) <= MOST_ROWS
    # Each of them once, in few runs of a block.
    np.testing.assert_array_equal(np.concatenate([rows[run] for run in runs]), rows)
    assert len(bounded_rows.row_runs(bounded_rows.LONGEST_CUT * 3 // 2)) <= 16
    # Sparse products add up a block row by row.
    blocks = SparseRows(csr_array((n, 1)), np.zeros(n)).blocks()
    assert max(len(block.y) for block in blocks) <= MOST_ROWS


# Functions in which there is one of few rows, or of none, and why.
ADDED_AT_ONCE = {
    "product_over_rows": "of a run",
    "gram": "rows come in runs",
    "_penalty": "no rows",
    "of_scaled": "kernels of rows as they came are asked for runs",
    "_of_block": "kernels of rows as they came are asked for runs",
}


def products_of_transposes(path):
    """Functions of a file that multiply a transpose, or add up along the first axis."""
    for function in ast.walk(ast.parse(path.read_text())):
        if not isinstance(function, ast.FunctionDef):
            continue
        for node in ast.walk(function):
            product = isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult)
            turned = product and isinstance(node.left, ast.Attribute) and node.left.attr == "T"
            text = ast.unparse(node) if isinstance(node, ast.Call) else ""
            if turned or text.endswith(".sum(axis=0)"):
                yield function.name


def test_sums_over_rows_of_long_blocks_are_taken_in_runs():
    kernel = Path(bounded_rows.__file__).parents[1]
    files = [path for folder in ("rows", "queries") for path in (kernel / folder).glob("*.py")]
    found = {name for path in files for name in products_of_transposes(path)}
    assert found == set(ADDED_AT_ONCE)


def test_a_part_of_a_total_passes_through_few_additions():
    class Counted:
        """Counts the additions on the longest way to it."""

        def __init__(self, depth=0):
            self.depth = depth

        def __iadd__(self, other):
            return Counted(1 + max(self.depth, other.depth))

    for n in (1, 2, 3, 1000, 1023, 1025):
        assert total(Counted() for _ in range(n)).depth <= 2 * np.log2(n + 1)


def test_sums_over_the_rows_of_a_site_are_cut_like_all_others():
    """No run of rows is longer than the margin counts, of large sites and of small ones."""
    sizes, asked = np.array([200_000, 60_000, 10, 60_000]), []
    rows = DenseRows(np.ones((sizes.sum(), 1)), np.zeros(sizes.sum()))

    def ones(facts, z, positions):
        asked.append(positions.size)
        return np.ones(z.shape)

    sums = site_sums(rows, RowBounds(1.0), Sites(tuple("abcd"), sizes))
    found = sums.sums(np.arange(4), np.ones((4, 1)), ones)
    np.testing.assert_array_equal(found[:, 0], sizes)
    assert max(asked) <= MOST_ROWS


@pytest.mark.parametrize("longest", [0, 1])
def test_messages_of_sites_have_the_margin_of_the_longest_weights(longest):
    """Derivatives grow with them, and so does what is added up for a row next to the shift."""
    n, d = 10**6, 5
    row_map = RowMap(np.ones(d), RNG.normal(size=(d, d)), RNG.normal(size=d), norm=3.0)
    bounds = RowBounds(1.0, target=TargetBounds(-1.0, 1.0), row_map=row_map)
    problem = Problem(Squared(), n, d, bounds)
    W = np.ones((2, d))
    W[longest] *= 1e3
    sites = Sites(("a", "b"), np.array([n // 2, n // 2]))
    asked = SiteRequest(problem, sites, np.arange(2), W, 1.0)
    assert asked.rounding == max(GradientQuery(problem, w, 1.0).rounding for w in W)


def test_chunks_of_a_site_are_added_in_pairs():
    """One after the other, all that comes after the first would be lost in it."""
    n, u = 512, Fraction(2) ** -53
    X = np.full((n, 1), float(u))
    X[0] = 1.0
    raw = [RawBlock(X[i : i + 1], np.zeros(1)) for i in range(n)]
    sums = SiteChunks(lambda: raw, RowBounds(1.0), Sites(("a",), np.array([n])))
    ((found,),) = sums.sums(np.arange(1), np.ones((1, 1)), lambda facts, z, at: np.ones(z.shape))
    assert abs(Fraction(float(found)) - 1 - (n - 1) * u) <= 2 * 9 * u


@pytest.mark.parametrize("n", [100, 5000, *by_night(30_000)])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_computed_sums_are_within_the_margin_of_exact_ones(n, dtype):
    """Rows of all sizes, in exact arithmetic with the very derivatives that were computed."""
    X = (RNG.normal(size=(n, 2)) * 10.0 ** RNG.uniform(-4, 0, (n, 1))).astype(dtype)
    y = RNG.uniform(-1, 1, n)
    problem = Problem(Squared(), n, 2, RowBounds(inf, 1.0, TargetBounds(-1.0, 1.0)))
    query = GradientQuery(problem, np.array([3.0, -2.0, 1.0]), 0.5)
    found = query.evaluate(DenseRows(X, y)) * n
    seen = []
    rows = DenseRows(X, y).bounded(problem.bounds)
    rows.sum(lambda b: seen.append(query.slopes(b, b.scores(query.w))) or np.zeros(1))
    derivatives = exactly(np.concatenate(seen))
    columns = [*map(exactly, X.T), [Fraction(1)] * n]
    exact = [sum(a * r for a, r in zip(c, derivatives, strict=True)) for c in columns]
    off = np.array([float(Fraction(float(f)) - e) for f, e in zip(found, exact, strict=True)])
    # Two data sets are off, each by half of the margin at most.
    assert np.linalg.norm(off) <= 0.5 * of_sum(n) * query.bound + 4 * np.spacing(found).max()


def test_sums_through_a_map_under_which_they_cancel_are_within_the_margin():
    """The bound on what is added up before the map is applied is attained within a factor."""
    n, d = 4000, 4
    U = np.linalg.qr(RNG.normal(size=(d, d)))[0]
    row_map = RowMap(np.ones(d), U * [1e4, 1e4, 1.0, 1.0], RNG.normal(size=d) * 1e4, 1.0)
    bounds = RowBounds(1.0, 0.5, TargetBounds(-1.0, 1.0), row_map)
    X, y = RNG.normal(size=(n, d)) * 0.1, RNG.uniform(-1, 1, n)
    query = GradientQuery(Problem(Squared(), n, d, bounds), RNG.normal(size=d + 1), 0.2)
    block = MappedBlock(RawBlock(X, y), bounds).loaded()
    r = query.slopes(block, block.scores(query.w))
    V, exact = block.rows(), []
    for column in V.T:
        exact.append(sum(a * b for a, b in zip(exactly(column), exactly(r), strict=True)))
    pairs = zip(block.combine(r), exact, strict=True)
    off = np.array([float(Fraction(float(f)) - e) for f, e in pairs])
    assert 1e3 < spread(bounds, inf, query.bound) < 1e6
    assert np.linalg.norm(off) <= query.rounding * query.bound
    # Without the map the margin would be too small for it.
    assert query.rounding > 1e3 * of_sum(n)


class SteeperHinge(SquaredHinge):
    """Nothing is known of its derivative."""


@pytest.mark.parametrize("n_classes", [2, 3])
def test_squared_hinges_without_an_intercept_bear_no_more_noise_for_rounding(n_classes):
    """Rows in other coordinates may be as short as they like there, and derivatives are bounded."""
    n, d = 1000, 4
    U = np.linalg.qr(RNG.normal(size=(d, d)))[0]
    bounds = RowBounds(1.0, row_map=RowMap(np.ones(d), U * [3.0, 2.0, 1.0, 0.5], np.zeros(d), 2.0))
    X = RNG.normal(size=(n, d)) * 10.0 ** RNG.uniform(-9, 0, (n, 1))
    y = RNG.integers(0, n_classes, n).astype(float)

    def query(hinge):
        loss = hinge if n_classes == 2 else OneVsRest(hinge, n_classes)
        problem = Problem(loss, n, d, bounds).unshortened
        return GradientQuery(problem, 100 * RNG.normal(size=problem.shape), 2.0)

    asked = query(SquaredHinge())
    block = MappedBlock(RawBlock(X, y), asked.problem.bounds).loaded()
    r = asked.slopes(block, block.scores(asked.w))
    steepest = np.linalg.norm(r.reshape(n, -1), axis=1).max()
    assert asked.rounding < 1e-5
    assert asked.rounding >= of_sum(n, steepest * bounds.row_map.longest(1.0) / asked.bound)
    # Of a class that is derived from it nothing is taken for granted.
    assert query(SteeperHinge()).rounding > 1.0


@pytest.mark.parametrize("mixed", [True, False])
def test_products_of_a_map_are_counted_beside_additions(mixed):
    """Of a sum over few rows in many coordinates, the map has most of the roundings."""
    n, d = 20, 200_000
    matrix = np.full((d, 2), 1 / sqrt(d)) if mixed else None
    bounds = RowBounds(1.0, 1.0, None, RowMap(np.ones(d), matrix, np.zeros(2 if mixed else d), 1.0))
    margin = RowMeansQuery(Problem(Logistic(), n, 2 if mixed else d, bounds)).rounding / spread(
        bounds, 1.0, bounds.row_norm
    )
    assert (margin >= 2 * n * gamma(d)) == mixed


def test_margins_are_small():
    assert of_sum(500) < 1e-8
    assert of_sum(465_000) < 1e-5
    assert of_sum(10**7) < 2e-4
    assert inflated(1.0, 0.0) == 1 + 2.0**-15


def test_the_spread_is_one_without_a_map():
    row_map = RowMap(np.ones(2), 100 * np.eye(2), np.zeros(2), 1.0)
    bounds = RowBounds(1.0, 1.0, None, row_map)
    assert spread(replace(bounds, row_map=None), 1.0, 1.0) == 1.0
    # Bounded derivatives bound it, and so does the intercept.
    longest = row_map.longest(1.0)
    assert spread(bounds, inf, 1.0) == pytest.approx(longest)
    assert spread(bounds, 0.1, 1.0) == pytest.approx(0.1 * longest)


@pytest.mark.parametrize("adjacency", Adjacency)
def test_the_receipt_shows_the_inflated_sensitivity_and_the_noise_is_for_it(adjacency):
    n = 10**6
    problem = Problem(Logistic(), n, 3, RowBounds(1.0, 1.0))
    queries = (
        GradientQuery(problem, np.zeros(4), 0.5),
        MomentsQuery(problem, full=True),
        RowMeansQuery(problem),
    )
    for query in queries:
        mechanism = query.mechanism(adjacency, Spend(0.25))
        exact = query.sensitivity(adjacency)
        assert mechanism.event(query.name).sensitivity == mechanism.sensitivity
        assert 1 + 2.0**-15 + of_sum(n) <= mechanism.sensitivity / exact * (1 + 1e-15) < 1.001
        assert mechanism.noise_scale == pytest.approx(mechanism.sensitivity / sqrt(0.25), rel=1e-9)
    assert GaussianMechanism.calibrated(1.0, Spend(1.0)).sensitivity == 1.0


def test_margins_of_a_hundred_million_rows_are_a_negligible_part_of_the_noise():
    """Also in white coordinates, in which what cancels in the map does not in the rounding."""
    n, d = 10**8, 20
    assert of_sum(n) < 3e-4
    row_map = RowMap(np.ones(d), np.eye(d), 0.01 * np.ones(d), 2.0 * sqrt(d))
    bounds = RowBounds(1.3 * sqrt(d), 1.3 * sqrt(d), row_map=row_map)
    problem = Problem(Logistic(), n, d, bounds)
    assert GradientQuery(problem, np.zeros(d + 1), 2.0, label_blind=True).rounding < 0.01
