"""Sums over blocks are the same to the bit whatever the number of threads, and lose no block."""

import threading
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numpy as np
import pytest
from interruptions import interrupted_everywhere
from kinds_of_rows import STORES
from queries_over_rows import QUERIES, sample
from threadpoolctl import ThreadpoolController, threadpool_limits

from skdp import DPLogisticRegression
from skdp.exceptions import SeededNoiseWarning
from skdp.privacy import Adjacency
from skdp.privacy.queries import GradientQuery
from skdp.privacy.rows import (
    ClassEncoder,
    DenseRows,
    base,
    bounded_rows,
    encoded_targets,
    mapped,
    threads,
)
from skdp.problem import ColumnScaling, Problem, RowBounds, RowMap
from skdp.problem.losses import Logistic


def in_small_blocks(monkeypatch):
    """Blocks of few rows, and threads however few they are."""
    monkeypatch.setattr(bounded_rows, "LONGEST_CUT", 2)
    monkeypatch.setattr(base, "LONGEST_RUN", 2)
    monkeypatch.setattr(threads, "LEAST_ENTRIES", 0)


def by_threads(number, monkeypatch):
    monkeypatch.setattr(threads, "usable_threads", lambda: number)


def check_bits(store, query, monkeypatch):
    """Fail unless a query of fresh rows has one answer, however many threads there are."""
    found = []
    for number in (1, 2, 3, 7):
        by_threads(number, monkeypatch)
        rows = store()
        # Twice, as the first pass measures rows that the second one knows. The oracle asks so.
        with np.errstate(all="ignore"):
            found.append([query.evaluate(rows) for _ in range(2)])
    for others in found[1:]:
        np.testing.assert_array_equal(others, found[0])


def few_are_many(monkeypatch):
    """Measure and keep rows of all tables as those of tables of many rows."""
    for name in ("SINGLE_ROWS", "MANY_ROWS"):
        monkeypatch.setattr(bounded_rows, name, 1)


@pytest.mark.parametrize("many", [False, True])
@pytest.mark.parametrize("name", QUERIES)
def test_every_query_has_the_same_bits_by_any_number_of_threads(name, many, monkeypatch):
    """Over every kind of rows, few and many."""
    in_small_blocks(monkeypatch)
    if many:
        few_are_many(monkeypatch)
    for case in sample(name):
        if "partitions" not in case.store:
            store = partial(STORES[case.store], case.table())
            check_bits(store, case.example.asked, monkeypatch)


@pytest.mark.parametrize("name", QUERIES)
def test_tables_of_many_rows_are_answered_as_others_and_move_as_declared(name, monkeypatch):
    """Of which norms and factors are kept in single precision."""
    few_are_many(monkeypatch)
    for case in sample(name):
        if not ("partitions" in case.store or "chunks" in case.store or case.kind.of_people):
            case.check(lambda n, case=case: [case.seed % n])


def check_runs(name, monkeypatch):
    """Fail unless a query adds up few rows at a time as it does all of them at once."""
    for case in sample(name):
        asked, store = case.example.asked, partial(STORES[case.store], case.table())
        if "partitions" in case.store:
            continue
        with np.errstate(all="ignore"):
            at_once = np.ravel(asked.evaluate(store()))
            with monkeypatch.context() as patch:
                patch.setattr(bounded_rows, "MOST_ROWS", 2)
                patch.setattr(bounded_rows, "LONGEST_RUN", 2)
                in_runs = np.ravel(asked.evaluate(store()))
        if name == "gradient_and_share":
            # Whether a gradient at the bound is whole is for rounding to say.
            at_once, in_runs = at_once[:-1], in_runs[:-1]
        close = 1e-9 * asked.sensitivity(Adjacency.REPLACE_ONE)
        np.testing.assert_allclose(in_runs, at_once, rtol=1e-9, atol=close, err_msg=str(case))


@pytest.mark.parametrize("name", QUERIES)
def test_rows_are_added_up_in_runs_as_they_are_at_once(name, monkeypatch):
    check_runs(name, monkeypatch)


def gradient(monkeypatch, n=40_000, d=30):
    monkeypatch.setattr(bounded_rows, "LONGEST_CUT", n // 5)
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((n, d)), rng.integers(0, 2, n).astype(float)
    problem = Problem(Logistic(), n, d, RowBounds(4.0, 1.0))
    return DenseRows(X, y), GradientQuery(problem, np.linspace(-1, 1, d + 1), 0.3)


def check_bits_of_a_gradient(monkeypatch):
    rows, query = gradient(monkeypatch)
    check_bits(lambda: rows, query, monkeypatch)


@pytest.mark.parametrize("number", [1, 2, 5])
@pytest.mark.parametrize("failing", [0, 2, 4])
def test_what_a_block_raises_in_a_thread_is_raised_by_the_query(number, failing, monkeypatch):
    by_threads(number, monkeypatch)
    rows, query = gradient(monkeypatch)
    of_block, start = GradientQuery.of_block, list(rows.blocks())[failing]

    def faulty(self, block):
        if np.shares_memory(block.y, start.y):
            raise MemoryError("no memory for a block")
        return of_block(self, block)

    monkeypatch.setattr(GradientQuery, "of_block", faulty)
    with pytest.raises(MemoryError, match="no memory for a block"):
        query.evaluate(rows)
    left = [one for one in threading.enumerate() if one.name.startswith("skdp-rows")]
    assert not left


def test_accidents_in_threads_neither_warn_nor_raise(monkeypatch):
    in_small_blocks(monkeypatch)
    by_threads(3, monkeypatch)
    with np.errstate(all="raise"):
        found = threads.total_over(lambda x, _: np.log(np.array(x)), [0.0, -1.0] * 50, 1)
    assert not np.isfinite(found)


def limits():
    return [pool["num_threads"] for pool in ThreadpoolController().info()]


def test_linear_algebra_has_one_thread_within_a_sum_and_as_many_as_before_after_it():
    with threadpool_limits(2):
        before, within = limits(), []

        def kernel(block, scratch):
            within.append({p["num_threads"] for p in blas(ThreadpoolController().info())})
            return np.zeros(1)

        threads.total_over(kernel, [1, 2, 3], 0)
        with pytest.raises(ZeroDivisionError):
            threads.total_over(lambda block, scratch: 1 / 0, [1], 0)
        assert limits() == before
    assert all(found <= {1} for found in within)
    assert len(within) == 3


def blas(pools):
    return [pool for pool in pools if pool["user_api"] == "blas"]


def test_sums_that_overlap_leave_linear_algebra_as_many_threads_as_it_had():
    with threadpool_limits(2):
        before, both = limits(), threading.Barrier(2)

        def kernel(block, scratch):
            both.wait(timeout=60)
            return np.zeros(1)

        with ThreadPoolExecutor(2) as pool:
            sums = [pool.submit(threads.total_over, kernel, [1, 2], 0) for _ in range(2)]
            assert [float(done.result()[0]) for done in sums] == [0.0, 0.0]
        assert limits() == before


def test_a_sum_after_one_that_was_interrupted_anywhere_goes_on_and_lifts_the_limit():
    def once():
        return threads.total_over(lambda block, scratch: np.ones(1), [1, 2, 3], 0)

    with threadpool_limits(2):
        before = limits()
        for line in interrupted_everywhere(once):
            assert once() == 3.0
            assert limits() == before, f"line {line}"


@pytest.mark.parametrize("number", [1, 2])
def test_there_are_no_more_threads_than_the_pools_of_the_process_may_have(number, monkeypatch):
    monkeypatch.setattr(threads, "_processors", lambda: 8)
    with threadpool_limits(number):
        assert threads.usable_threads() <= number
        # Those of an inner limit of one library alone.
        with threadpool_limits(1, user_api="blas"):
            assert threads.usable_threads() == 1


def test_a_fit_is_the_same_to_the_bit_by_one_thread_and_by_two(monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60_000, 20)).astype(np.float32)
    y = (X[:, 0] + rng.logistic(size=len(X)) > 0).astype(int)
    found = []
    for number in (1, 2):
        by_threads(number, monkeypatch)
        model = DPLogisticRegression(classes=[0, 1], data_norm=6.0, random_state=0)
        with pytest.warns(SeededNoiseWarning):
            model.fit(X, y)
        found.append(np.append(model.coef_, model.intercept_))
    np.testing.assert_array_equal(*found)


def test_what_is_kept_of_many_rows_is_at_most_twelve_bytes_each(monkeypatch):
    """Beside X, targets and weights, also of mapped rows of which some are too long."""
    few_are_many(monkeypatch)
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((50_000, 6)).astype(np.float32), np.zeros(50_000)
    rows = DenseRows(X, y)
    row_map = RowMap(np.ones(6), rng.standard_normal((6, 6)), np.ones(6), 2.0)
    view = rows.bounded(RowBounds(2.0, 1.0, row_map=row_map))
    for _ in range(2):
        view.sum(lambda block: block.combine(block.scores(np.ones(7)) / block.norms))
    kept = kept_bytes(view)
    assert 0 < kept <= 12 * len(y)


def kept_bytes(thing):
    """Bytes of arrays that own their memory and are reached from an object."""
    seen, arrays, left = set(), 0, [thing]
    while left:
        one = left.pop()
        if id(one) in seen:
            continue
        seen.add(id(one))
        if isinstance(one, np.ndarray):
            arrays += one.nbytes * (one.base is None and one.ndim == 1)
        elif isinstance(one, tuple | list):
            left += one
        elif type(one).__module__.startswith("skdp.privacy.rows"):
            left += vars(one).values()
    return arrays


def test_what_is_kept_in_single_precision_errs_on_the_safe_side():
    """Norms are no shorter than those of the rows, and factors no larger than they may be."""
    rng = np.random.default_rng(0)
    norms = np.concatenate([[0.0, 1e-320, 1.0, 1e30], 10.0 ** rng.uniform(-60, 30, 10_000)])
    longer = bounded_rows.rounded_up(norms).astype(np.float64)
    assert np.all(longer >= norms)
    assert np.all(longer <= norms * (1 + 2.0**-21) + 2e-44)
    assert np.isinf(bounded_rows.rounded_up(np.array([1e39, np.inf]))).all()
    factors = np.concatenate([[0.0, 1e-320, 1.0], 10.0 ** rng.uniform(-60, 0, 10_000)])
    smaller = bounded_rows.rounded_down(factors).astype(np.float64)
    assert np.all((smaller >= 0) & (smaller <= factors))
    assert np.all(smaller >= factors * (1 - 2.0**-21) - 2e-44)
    assert smaller[2] == 1.0


@pytest.mark.parametrize(("n", "classes"), [(3_000_000, 2), (3_000_000, 3), (100, 2)])
def test_targets_of_many_rows_are_kept_in_four_bytes(n, classes):
    labels = (np.arange(n) % classes).astype(np.int8)
    encoded = encoded_targets(labels, ClassEncoder("it", np.arange(classes)))
    np.testing.assert_array_equal(encoded, labels)
    assert encoded.itemsize == (4 if n > 100 else 8)


def rows_at_the_edge(d, rng):
    """Rows whose lengths are hard to compute after a map with this shift: the map, and the rows."""
    turned = np.linalg.qr(rng.standard_normal((d, d)))[0]
    matrix = turned * np.geomspace(1.0, 1e-3, d)
    x0 = rng.standard_normal(d)
    x0 *= 3.0 / np.linalg.norm(x0)
    X = np.repeat(x0[None].astype(np.float32), 400, axis=0)
    X[:100] *= 1.0 + 1e-6 * rng.standard_normal((100, d))  # Nearly the shift.
    X[100:200] = rng.standard_normal((100, d)) * 10.0 ** rng.uniform(-40, 38, (100, 1))
    X[200:300] = rng.standard_normal((100, d))
    X[300:310], X[310:320, 0], X[320:330, -1] = 3e38, np.inf, np.nan
    X[330:340] = -0.0
    row_map = RowMap(np.ones(d), matrix, x0 @ matrix, norm=1.0)
    return row_map, X.astype(np.float32)


# So many rows that a table of them is measured, and what is kept of it, in single precision.
MANY = 1 << 21


def check_norms_of_many(d):
    """Fail unless rows of large tables count as at least as long as they are, before a map."""
    _, X = rows_at_the_edge(d, np.random.default_rng(d))
    raw = bounded_rows.RawBlock(X, np.zeros(len(X)), of_rows=MANY)
    norms = raw.norms.astype(np.float64)
    with np.errstate(all="ignore"):
        true = np.sqrt((X.astype(np.longdouble) ** 2).sum(axis=1)).astype(np.float64)
    finite = np.isfinite(true)
    assert np.isinf(norms[~finite]).all()
    assert np.all(norms[finite] >= true[finite]), "too short"
    # Also of rows whose squares are beyond single precision.
    usual = finite & (true > 1e-36) & (true < 1e38)
    assert np.all(norms[usual] <= true[usual] * (1 + 2.0**-21)), "too long"


@pytest.mark.parametrize("d", [1, 2, 3, 20, 60, 1000])
def test_norms_of_many_rows_are_no_shorter_than_exact_ones(d):
    check_norms_of_many(d)


@pytest.mark.parametrize(
    ("longest", "enough"), [(1.0, True), (1e-29, True), (1e-80, False), (1e35, False)]
)
def test_public_facts_decide_whether_single_precision_is_enough_for_norms(longest, enough):
    """Where it is not, rows of a large table are brought to their bound as those of a small one."""
    X = np.random.default_rng(0).standard_normal((5, 20)) * longest
    found = [
        bounded_rows.BoundedBlock(
            bounded_rows.RawBlock(X, np.zeros(5), of_rows=rows), RowBounds(longest)
        )
        .loaded()
        .rows()
        for rows in (0, MANY)
    ]
    np.testing.assert_allclose(found[0], found[1], rtol=2.0**-20)
    assert np.array_equal(*found) is not enough


def check_lengths_in_single(d):
    """Fail unless rows of large tables count as at least as long as they are."""
    row_map, X = rows_at_the_edge(d, np.random.default_rng(d))
    bounds = RowBounds(4.0, 0.0, row_map=row_map)
    assert mapped.fits_in_single(bounds)
    with np.errstate(all="ignore"):
        raw = bounded_rows.RawBlock(X, np.zeros(len(X)), of_rows=MANY)
        lengths = mapped.MappedBlock(raw, bounds).lengths
        exact = X.astype(np.longdouble)
        norms = np.sqrt((exact**2).sum(axis=1))
        exact[~np.isfinite(norms)], norms[~np.isfinite(norms)] = 0.0, 0.0
        exact *= (4.0 / np.maximum(norms, 4.0))[:, None]
        Z = exact @ row_map.matrix.astype(np.longdouble) - row_map.shift
    true = np.sqrt((Z**2).sum(axis=1))
    shrink = 1.0 if lengths.shrink is None else lengths.shrink
    within = 1 + 1e-13
    assert np.all(shrink * true <= lengths.norms * within), "too short"
    assert np.all(shrink * true <= row_map.norm * within), "too long for the map"
    # Those in the middle of things lose little.
    usual = slice(200, 300)
    assert np.all(lengths.norms[usual] >= np.minimum(true, row_map.norm)[usual] * 0.998)


@pytest.mark.parametrize("d", [1, 2, 3, 20, 60])
def test_lengths_in_single_precision_are_no_shorter_than_exact_ones(d):
    check_lengths_in_single(d)


@pytest.mark.parametrize(("d", "k"), [(1, 1), (16, 17), (16, 16), (40, 41), (40, 20), (3, 4)])
def test_rows_are_as_long_in_coordinates_that_are_turned(d, k):
    """Of which each takes only the features from it on."""
    rng = np.random.default_rng(d)
    row_map = RowMap(rng.random(d) + 0.5, rng.standard_normal((d, k)), rng.standard_normal(k))
    X, (matrix, shift) = rng.standard_normal((50, d)), row_map.turned
    assert (matrix.shape, shift.shape) == ((d, k), (k,))
    assert not np.triu(matrix, 1).any()
    lengths = [np.linalg.norm(Z, axis=1) for Z in (X @ matrix - shift, row_map.apply(X))]
    np.testing.assert_allclose(*lengths, rtol=1e-12)


def test_neither_type_nor_order_of_rows_changes_how_long_they_are():
    """Else a row that changes the type of a table could change what all others contribute."""
    row_map, X = rows_at_the_edge(20, np.random.default_rng(0))
    bounds = RowBounds(4.0, 1.0, row_map=row_map)
    wide = np.zeros((len(X), 40), dtype=np.float32)
    wide[:, ::2] = X
    alike = X, np.asfortranarray(X), X.astype(np.float64), wide[:, ::2]
    with np.errstate(all="ignore"):
        raws = (bounded_rows.RawBlock(Y, np.zeros(len(Y)), of_rows=MANY) for Y in alike)
        found = [(raw.norms, mapped.MappedBlock(raw, bounds).lengths.norms) for raw in raws]
    for other in found[1:]:
        np.testing.assert_array_equal(other, found[0])


def test_order_of_rows_does_not_change_how_long_they_are_on_a_scale():
    """Also where their norms lie at the edges between which they are rounded up."""
    rng = np.random.default_rng(0)
    X, scaling = rng.standard_normal((5_000, 40)), ColumnScaling(rng.random(40) + 0.5)

    def norms(X, of_rows):
        return bounded_rows.RawBlock(X, np.zeros(len(X)), of_rows=of_rows).norms_on(scaling)

    for _ in range(3):
        shifted = norms(X, 0) * (1 + 2.0**-22) + 1e-44
        below = shifted.astype(np.float32)
        edges = (below.astype(float) + np.nextafter(below, np.float32(np.inf))) / 2
        X *= (edges / shifted)[:, None]
    np.testing.assert_array_equal(norms(np.asfortranarray(X), MANY), norms(X, MANY))
