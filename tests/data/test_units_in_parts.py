"""Privacy units of rows that come in chunks, or lie in partitions: one table for all of them."""

import re

import numpy as np
import pytest
import scipy.sparse as sp
from dask_examples import cut
from examples_of_units import ALIKE, UNLIKE

from skdp.privacy import Adjacency, PrivateOracle, SystemNoise
from skdp.privacy.accounting import Ledger, PerturbedGaussianDP, PureDP, Spend
from skdp.privacy.queries import GradientQuery, PerturbedMinimumQuery
from skdp.privacy.rows import ChunkedRows, Chunks, DaskRows, DenseRows, PrivacyUnits
from skdp.problem import Problem, RowBounds
from skdp.problem.losses import Logistic

PEOPLE, D = 40, 5


def people(seed=0, most=12):
    rng = np.random.default_rng(seed)
    labels = rng.permutation(np.repeat(np.arange(PEOPLE), rng.integers(1, most, PEOPLE)))
    return rng.normal(size=(len(labels), D)), rng.integers(2, size=len(labels)) * 1.0, labels


def pieces(X, y, labels, size, kind=np.asarray):
    """Chunks of this many rows; every other one names people in fewer bytes."""
    return [
        (kind(X[i : i + size]), y[i : i + size], None, labels[i : i + size].astype(name))
        for i, name in zip(range(0, len(X), size), 1000 * [np.int64, np.uint16], strict=False)
    ]


def chunked(source):
    return ChunkedRows(Chunks(source), lambda y: y, of_units=True)


def gradient(n_units=PEOPLE):
    w = np.linspace(-1, 1, D + 1)
    return GradientQuery(Problem(Logistic(), n_units, D, RowBounds(2.0, 1.0)), w, 0.4)


@pytest.fixture(params=[1, 3, 50, 10_000])
def size(request):
    return request.param


def of_each(rows):
    """The answer about each person alone, in an order that does not depend on their numbers."""
    answers = [gradient().of_drawn(rows, alone, 1.0) for alone in np.eye(PEOPLE, dtype=bool)]
    return np.stack(sorted(answers, key=lambda answer: answer[0]))


def test_a_sample_is_one_of_people_in_chunks_and_partitions():
    X, y, labels = people()
    expected = of_each(DenseRows(X, y, None, PrivacyUnits.of(labels)))
    for rows in (chunked(pieces(X, y, labels, 70)), on_workers(X, y, labels, (100, len(y) - 100))):
        np.testing.assert_allclose(of_each(rows), expected, atol=1e-13)


def minimum(n_units=PEOPLE):
    problem = Problem(Logistic(), n_units, D, RowBounds(2.0, 1.0))
    facts = {"adjacency": Adjacency.REPLACE_ONE, "spend": Spend(2.0)}
    return PerturbedMinimumQuery.planned(problem, 0.5, 1.0, **facts, of_units=True)


@pytest.mark.parametrize("sizes", [(1, 1, 60), (90,), (3, 20)])
def test_partitions_have_the_minimiser_of_the_whole_table(sizes):
    X, y, labels = people()
    rows, query = on_workers(X, y, labels, (*sizes, len(y) - sum(sizes))), minimum()
    expected = query.evaluate(DenseRows(X, y, None, PrivacyUnits.of(labels)))
    np.testing.assert_allclose(query.evaluate(rows), expected, rtol=0, atol=1e-6)


@pytest.mark.parametrize("calculus", [PerturbedGaussianDP(of_units=True), PureDP(of_units=True)])
def test_chunks_that_may_come_in_another_order_have_no_minimiser(calculus):
    X, y, labels = people()
    delta = 0.0 if isinstance(calculus, PureDP) else 1e-5
    ledger = Ledger(1.0, delta, calculus=calculus)
    rows, others = chunked(pieces(X, y, labels, 30)), (Adjacency.REPLACE_ONE, SystemNoise())
    with pytest.raises(ValueError, match="not chunks, for the minimiser of a perturbed objective"):
        PrivateOracle(rows, ledger, *others)
    # Of rows there is one objective, whatever their order.
    PrivateOracle(ChunkedRows(Chunks([(X, y)]), lambda y: y), ledger, *others)


def test_each_person_weighs_exactly_one_over_all_chunks(size):
    X, y, labels = people(most=60)
    shares = [block.shares for block in chunked(pieces(X, y, labels, size)).blocks()]
    found = np.concatenate(shares)
    expected = PrivacyUnits.of(labels).shares
    # Where a chunk has a single row, a copy of it weighs nothing.
    np.testing.assert_array_equal(found[found > 0], expected)


@pytest.mark.parametrize("columns", [1, 3])
def test_what_is_computed_of_a_row_does_not_tell_where_chunks_begin(columns):
    d, rng = 37, np.random.default_rng(0)
    X, labels = rng.normal(size=(61, d)), np.arange(61) % 7
    w = rng.normal(size=(d + 1, columns) if columns > 1 else d + 1)

    def computed(size, kind):
        found = []

        def kernel(block):
            counts = block.weights > 0
            found.append(np.column_stack([block.scores(w), block.norms])[counts])
            return np.zeros(1)

        rows = chunked(pieces(X, np.zeros(61), labels, size, kind))
        rows.bounded(RowBounds(5.0, 1.0)).sum(kernel)
        return np.concatenate(found)

    expected = computed(61, np.asarray)
    for size in (1, 2, 3, 10, 20, 59, 60):
        for kind in (np.asarray, np.asfortranarray, lambda part: part[::-1][::-1]):
            np.testing.assert_array_equal(computed(size, kind), expected)


def test_a_chunk_without_rows_is_passed_over():
    X, y, labels = people()
    nothing = (np.empty((0, D)), np.empty(0), None, np.empty(0, dtype=int))
    source = [nothing, *pieces(X, y, labels, 30), nothing]
    query = gradient()
    np.testing.assert_array_equal(
        query.evaluate(chunked(source)), query.evaluate(chunked(source[1:-1]))
    )
    with pytest.raises(ValueError, match="at least one row"):
        chunked([nothing])


@pytest.mark.parametrize("change", ["somebody else", "one row more", "one row less", "other order"])
def test_a_pass_that_delivers_rows_of_others_is_stopped(change):
    X, y, labels = people()
    passes = []

    def read():
        passes.append(change)
        order = np.arange(len(y))
        if len(passes) > 1 and change == "other order":
            order = order[::-1]
        if len(passes) > 1 and change == "one row more":
            order = np.append(order, 5)
        if len(passes) > 1 and change == "one row less":
            order = order[1:]
        told = labels.copy()
        if len(passes) > 1 and change == "somebody else":
            told[3] = 10_000
        yield from pieces(X[order], y[order], told[order], 30)

    rows, query = chunked(read), gradient()
    if change == "other order":
        # Labels come along with the rows: still each person counts as much as one row.
        expected = query.evaluate(DenseRows(X, y, None, PrivacyUnits.of(labels)))
        np.testing.assert_allclose(query.evaluate(rows), expected, atol=1e-7)
        return
    with pytest.raises(ValueError, match="delivers the same rows at each pass") as stopped:
        query.evaluate(rows)
    assert not re.search(r"\d", str(stopped.value))


MALFORMED = {
    "no labels": lambda X, y, labels: (X, y),
    "no labels beside weights": lambda X, y, labels: (X, y, np.ones(len(y))),
    "too few labels": lambda X, y, labels: (X, y, None, labels[:-1]),
    "too few targets": lambda X, y, labels: (X, y[:-1], None, labels),
    "too few weights": lambda X, y, labels: (X, y, np.ones(len(y) - 1), labels),
    "a label is missing": lambda X, y, labels: (X, y, None, [None, *labels[1:]]),
    "labels in two dimensions": lambda X, y, labels: (X, y, None, labels[:, None]),
    "not numbers": lambda X, y, labels: ([["seven"] * D] * len(y), y, None, labels),
    "not finite": lambda X, y, labels: (X * np.inf, y, None, labels),
    "another layout": lambda X, y, labels: (sp.csr_array(X), y, None, labels),
}


@pytest.mark.parametrize("name", MALFORMED)
def test_a_malformed_chunk_is_refused_without_saying_where_or_how_long_it_is(name):
    X, y, labels = people()
    source = pieces(X, y, labels, 30)
    X_, y_, _, labels_ = source[3]
    source[3] = MALFORMED[name](X_, y_, labels_)
    with pytest.raises(ValueError, match=r"[Cc]hunks|needed|privacy_unit|contains") as refused:
        chunked(source)
    text = re.sub("float64|chunks of [23] parts", "", str(refused.value))
    assert not re.search(r"\d", text), text
    assert "seven" not in text


def test_labels_need_to_be_asked_for():
    X, y, labels = people()
    with pytest.raises(ValueError, match="fourth part"):
        ChunkedRows(Chunks(pieces(X, y, labels, 30)), lambda y: y)


def on_workers(X, y, labels, cuts):
    da = pytest.importorskip("dask.array")
    X, y = cut(X, y, cuts)
    return DaskRows(X, y, np.asarray, privacy_unit=da.from_array(labels, chunks=(cuts,)))


def test_malformed_partitions_are_refused_without_saying_how_long_they_are():
    da = pytest.importorskip("dask.array")
    X, y, labels = people()
    n = len(y)
    parts = cut(X, y, (50, n - 50))
    wrong = {
        "memory": labels,
        "other chunks": da.from_array(labels, chunks=((51, n - 51),)),
        "missing": da.from_array(np.where(labels == 3, np.nan, labels), chunks=((50, n - 50),)),
        "two columns": da.from_array(np.stack([labels, labels], 1), chunks=((50, n - 50), -1)),
    }
    for name, given in wrong.items():
        with pytest.raises(ValueError, match="privacy_unit") as refused:
            DaskRows(*parts, np.asarray, privacy_unit=given)
        told = str(refused.value).replace("X.chunks[0]", "")
        assert not re.search(r"\d", told), (name, told)


def in_two_partitions(X, y, one, other):
    """Each labelled in a way of its own, as a reader of partitions that guesses types does it."""
    dask, da = pytest.importorskip("dask"), pytest.importorskip("dask.array")
    arrays = [
        np.asarray(part) if hasattr(part, "__array__") else np.fromiter(part, object, 3)
        for part in (one, other)
    ]
    labels = [da.from_delayed(dask.delayed(part), (3,), object) for part in arrays]
    return DaskRows(*cut(X, y, (3, 3)), np.asarray, privacy_unit=da.concatenate(labels))


def in_two_chunks(X, y, one, other):
    return chunked([(X[:3], y[:3], None, one), (X[3:], y[3:], None, other)])


def in_one_list(X, y, one, other):
    return DenseRows(X, y, None, PrivacyUnits.of([*one, *other]))


PLACES = [in_one_list, in_two_chunks, in_two_partitions]


@pytest.mark.every_combination
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("name", ALIKE)
def test_people_are_the_same_in_all_parts(name, place):
    rows = place(np.ones((6, 2)), np.zeros(6), *ALIKE[name])
    assert rows.n_samples == 3


@pytest.mark.every_combination
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("name", UNLIKE)
def test_labels_that_would_make_two_people_of_one_are_refused(name, place):
    for pair in (UNLIKE[name], UNLIKE[name][::-1]):
        with pytest.raises(ValueError, match="labels of one type in all rows") as refused:
            place(np.ones((6, 2)), np.zeros(6), *pair)
        assert not re.search(r"\d", str(refused.value).replace("X.chunks[0]", ""))


def test_labels_of_another_kind_at_a_later_pass_are_noticed():
    X, y, passes = np.ones((3, 2)), np.zeros(3), []

    def read():
        passes.append(1)
        yield X, y, None, np.array([1, 2, 3], dtype=int if len(passes) == 1 else float)

    rows = chunked(read)
    with pytest.raises(ValueError, match="they have changed"):
        list(rows.blocks())


def test_partitions_of_people_are_all_dense_or_all_sparse():
    """Scores of sparse rows round otherwise, and how a table is cut tells of people."""
    X, y, labels = people()
    half = len(y) // 2

    def kind(block, block_info=None):
        first = block_info[0]["chunk-location"][0] == 0
        return sp.csr_array(block) if first else block

    da = pytest.importorskip("dask.array")
    sizes = (half, len(y) - half)
    parts, targets = cut(X, y, sizes)
    mixed = parts.map_blocks(kind, dtype=float, meta=np.empty((0, 0)))
    with pytest.raises(ValueError, match="all dense or all sparse with privacy_unit"):
        DaskRows(mixed, targets, np.asarray, privacy_unit=da.from_array(labels, chunks=(sizes,)))
