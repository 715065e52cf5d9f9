"""What is proved for a row holds for all rows of a person, in every query and layout."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
import scipy.sparse as sp
from examples_of_queries import EXAMPLES
from kinds_of_rows import STORES, plain, table_of

from skdp.privacy import Adjacency, PrivateOracle, SystemNoise
from skdp.privacy.accounting import Ledger, Spend
from skdp.privacy.queries import (
    GradientAndShareQuery,
    GradientDifferenceQuery,
    GradientQuery,
    GradientSizesQuery,
    ScoreMomentsQuery,
)
from skdp.privacy.rows import (
    BoundedBlock,
    DenseRows,
    MappedBlock,
    PrivacyUnits,
    RawBlock,
    SparseRows,
    cut,
)
from skdp.privacy.streams import Call, StreamPlan
from skdp.problem import InfluenceBounds, Problem, RowBounds, RowMap, TargetBounds
from skdp.problem.losses import Huber, Logistic, Softmax


@pytest.mark.parametrize("people", [1, 2, 7])
@pytest.mark.parametrize("most", [1, 3, 1000])
def test_each_person_weighs_exactly_one(people, most):
    rng = np.random.default_rng(people)
    labels = rng.permutation(np.repeat(np.arange(people), rng.integers(1, most + 1, people)))
    units = PrivacyUnits.of(labels)
    assert units.n_units == people
    assert units.shares.min() > 0
    for k in range(people):
        shares = units.shares[labels == k]
        # In any order, and cut into any blocks.
        assert shares.sum() == shares[::-1].cumsum()[-1] == 1.0
        assert np.ptp(shares) <= 2.0**-26


def test_labels_of_every_kind_name_the_same_people():
    pandas = pytest.importorskip("pandas")
    codes = [3, 1, 3, 2, 1, 3]
    expected = [1 / 3, 1 / 2, 1 / 3, 1, 1 / 2, 1 / 3]
    names = [f"person {k}" for k in codes]
    for labels in (
        codes, tuple(codes), np.array(codes), np.array(codes, dtype=float), names,
        np.array(names), np.array(names, dtype=object), pandas.Series(names, index=codes),
        pandas.Series(names, dtype="category"), pandas.Series(codes, dtype="Int64"),
        [("a", k) for k in codes], np.array(codes, dtype="datetime64[D]"),
        [(int, str, float)[k - 1] for k in codes],
    ):  # fmt: skip
        units = PrivacyUnits.of(labels)
        assert units.n_units == 3
        np.testing.assert_allclose(units.shares, expected, atol=2.0**-26)


@pytest.mark.parametrize(
    "labels",
    [
        ["secret", None], ["secret", np.nan], np.array([1.0, np.nan]),
        np.array(["2020-01-01", "NaT"], dtype="datetime64[D]"), [["secret"], ["secret"]],
        np.array([["secret", "b"]]), "secret", 7, {"secret": 1}, [], iter(["secret"]),
        # Two that are not equal would be two people.
        [("secret", float("nan")), ("secret", float("nan"))], [("secret", ("b", None))],
        [frozenset(["secret", float("nan")])],
    ],
    ids=range(14),
)  # fmt: skip
def test_labels_that_are_none_are_refused_without_being_quoted(labels):
    with pytest.raises(ValueError, match="privacy_unit needs") as refusal:
        PrivacyUnits.of(labels)
    assert "secret" not in str(refusal.value)
    assert refusal.value.__cause__ is refusal.value.__context__ is None
    # Nor does it say how many there are.
    assert not any(digit in str(refusal.value) for digit in "0123456789")


@pytest.mark.parametrize("mapped", [False, True])
@pytest.mark.parametrize("columns", [1, 3])
@pytest.mark.parametrize("d", [1, 8, 37])
@pytest.mark.by_day(4)
def test_what_is_computed_of_a_row_does_not_tell_how_many_rows_others_have(mapped, columns, d):
    rng = np.random.default_rng(0)
    rows = 83
    X = rng.normal(size=(rows, d))
    row_map = RowMap(np.ones(d), rng.normal(size=(d, d)), rng.normal(size=d), norm=20.0)
    bounds = RowBounds(5.0, 1.0, row_map=row_map if mapped else None)
    w = rng.normal(size=(d + 1, columns) if columns > 1 else d + 1)

    def computed(first, order):
        """Scores and norms of the last forty rows, behind others."""
        part = np.asarray(X[first:], order=order)
        shares = np.full(len(part), 1 / 64)
        raw = RawBlock(part, np.zeros(len(part)), None, shares)
        block = (MappedBlock if mapped else BoundedBlock)(raw, bounds).loaded()
        return block.scores(w)[-40:], block.norms[-40:]

    for order in "CF":
        whole = computed(0, order)
        for first in range(1, 43):
            for found, expected in zip(computed(first, order), whole, strict=True):
                np.testing.assert_array_equal(found, expected)


def test_no_block_has_a_single_row_of_several():
    # Entries of a row that is alone are added up in another order, and whether a row is alone would
    # depend on how many rows others have.
    for rows in (8, 9, 16, 40, 100):
        for n in range(2, 3 * rows * rows, 7 if rows > 16 else 1):
            ends = cut(n, rows)
            assert min(stop - start for start, stop in ends) > 1
            assert [start for start, _ in ends] == [0, *(stop for _, stop in ends[:-1])]
            assert ends[-1][1] == n


def test_lengths_of_rows_do_not_tell_how_many_rows_others_have():
    rng = np.random.default_rng(0)
    d = 100
    # Rows are brought to other coordinates so many at a time.
    step = max(512, (1 << 16) // d)
    X = rng.normal(size=(3 * step + 2, d))
    row_map = RowMap(rng.uniform(1, 2, size=d), None, rng.normal(size=d), norm=2000.0)
    bounds = RowBounds(500.0, 1.0, row_map=row_map)

    def lengths(m):
        part = np.asfortranarray(X[:m])
        shares = np.full(m, 1 / 64)
        return MappedBlock(RawBlock(part, np.zeros(m), None, shares), bounds).norms

    whole = lengths(len(X))
    for k in (1, 2, 3):
        for m in (k * step, k * step + 1, k * step + 2):
            np.testing.assert_array_equal(lengths(m), whole[:m])


def test_a_sample_is_one_of_people():
    rng = np.random.default_rng(0)
    people = [(rng.normal(size=(m, 2)), rng.integers(2, size=m) * 1.0, None) for m in (1, 5, 2, 9)]
    problem = Problem(Logistic(), 4, 2, RowBounds(2.0, 1.0))
    gradient = GradientQuery(problem, np.array([1.0, -1.0, 0.5]), 0.3)
    drawn = np.array([True, False, False, True])
    chosen = [person for person, here in zip(people, drawn, strict=True) if here]
    for query in (gradient, GradientDifferenceQuery(gradient, np.array([0.5, -1.0, 1.0]))):
        alone = query.of_drawn(plain(chosen, of_people=True), np.ones(2, dtype=bool), 0.5)
        for layout in ("dense", "columns first", "csr", "calls"):
            # Those of calls are numbered in the order in which they come.
            rows = STORES[layout](table_of(people, True, None if layout == "calls" else 1))
            np.testing.assert_allclose(query.of_drawn(rows, drawn, 0.5), alone, atol=1e-12)


def test_queries_that_are_proved_for_single_rows_are_refused_before_they_are_charged():
    problem = Problem(Logistic(), 2, 2, RowBounds(2.0))
    one, other = (np.ones((3, 2)), np.zeros(3), None), (np.ones((1, 2)), np.ones(1), None)
    rows = plain([one, other], of_people=True)
    ledger = Ledger(1.0, 1e-5)
    oracle = PrivateOracle(rows, ledger, Adjacency.REPLACE_ONE, SystemNoise()).for_problem(problem)
    spend = Spend(ledger.limit)
    for ask in (oracle.perturbed_minimum, partial(oracle.stream, StreamPlan(1, 0.5))):
        with pytest.raises(ValueError, match="no proof for all rows of a privacy unit"):
            ask(spend=spend)
    assert ledger.total == 0
    assert {kind.name for kind in EXAMPLES if not kind.takes_units} == {
        "perturbed_minimum", "site_gradients", "stream_term", "stream_scores",
    }  # fmt: skip


def long_people(kind, order, d=3):
    """A person in several pieces, and in several blocks; rows lie together or mixed up."""
    rng = np.random.default_rng(0)
    sizes = [1, 9000, 3, 70_000, 1, 4096, 4097, 2]
    labels = np.repeat(np.arange(len(sizes)), sizes)
    X, y = rng.normal(size=(len(labels), d)), rng.integers(2, size=len(labels)) * 1.0
    mixed = rng.permutation(len(labels)) if order else slice(None)
    X, y, labels = X[mixed], y[mixed], labels[mixed]
    return (
        X,
        y,
        labels,
        kind(X if kind is DenseRows else sp.csr_array(X), y, None, PrivacyUnits.of(labels)),
    )


@pytest.mark.parametrize("kind", [DenseRows, SparseRows])
@pytest.mark.parametrize("mixed", [False, True])
def test_scores_of_a_person_are_averaged_before_they_are_squared(kind, mixed):
    X, y, labels, rows = long_people(kind, mixed)
    bounds = InfluenceBounds(np.zeros(3), np.eye(3), 1e9, 1e9)
    query = ScoreMomentsQuery(Problem(Logistic(), 8, 3, RowBounds(9.0)), bounds, np.zeros(3), 1.0)
    own = [np.mean((X * (y - 0.5)[:, None])[labels == k], axis=0) for k in range(8)]
    moments, shares = query.parts(query.evaluate(rows))
    np.testing.assert_allclose(moments, np.transpose(own) @ own / 8, rtol=0, atol=1e-5)
    assert not shares.any()


@pytest.mark.parametrize("kind", [DenseRows, SparseRows])
@pytest.mark.parametrize("loss", [Logistic(), Softmax(3)])
def test_what_is_clipped_is_the_mean_gradient_of_a_person(kind, loss):
    X, y, labels, rows = long_people(kind, order=True)
    problem = Problem(loss, 8, 3, RowBounds(9.0, 0.5))
    w, clip = np.random.default_rng(1).normal(size=problem.shape), 0.9
    own = []
    for k in range(8):
        there = labels == k
        # No row's gradient is longer.
        whole = replace(problem, n_samples=int(there.sum()))
        mean = GradientQuery(whole, w).evaluate(DenseRows(X[there], y[there]))
        own.append(mean * min(1.0, clip / np.linalg.norm(mean)))
    found = GradientQuery(problem, w, clip, whole_units=True).evaluate(rows)
    # Weights of rows are multiples of 2^-26.
    np.testing.assert_allclose(found, np.mean(own, axis=0), rtol=0, atol=1e-5)
    # Clipped one by one they are shorter or point elsewhere.
    assert np.linalg.norm(found - GradientQuery(problem, w, clip).evaluate(rows)) > 1e-3


@pytest.mark.parametrize("mapped", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_people_are_counted_by_their_mean_gradients(mapped, weighted):
    X, y, labels, _ = long_people(DenseRows, order=True)
    weights = np.random.default_rng(2).uniform(size=len(y)) if weighted else None
    rows = DenseRows(X, y, weights, PrivacyUnits.of(labels))
    row_map = RowMap(np.ones(3), np.diag([1.0, 2.0, 3.0]), np.ones(3), norm=30.0)
    bounds = RowBounds(9.0, 0.5, TargetBounds(-1.0, 1.0), row_map if mapped else None)
    problem, w = Problem(Huber(1.0), 8, 3, bounds), np.array([0.5, -1.0, 0.3, 0.1])
    # Whole: no row's gradient is longer. Rows of weight v count that much, and so do people.
    own, sizes, counted = [], [], []
    for k in range(8):
        there = labels == k
        part = None if weights is None else weights[there]
        whole = replace(problem, n_samples=int(there.sum()))
        own.append(GradientQuery(whole, w).evaluate(DenseRows(X[there], y[there], part)))
        counted.append(1.0 if part is None else part.mean())
        sizes.append(np.linalg.norm(own[-1]) / counted[-1])
    own, sizes, counted = map(np.array, (own, sizes, counted))
    clip = float(np.sqrt(np.prod(np.sort(sizes)[3:5])))
    gradient = GradientQuery(problem, w, clip, whole_units=True)
    found = GradientAndShareQuery(gradient, 2.0).evaluate(rows)
    clipped = own * np.minimum(1.0, clip / sizes)[:, None]
    np.testing.assert_allclose(found[:-1], clipped.mean(axis=0), rtol=0, atol=1e-3)
    share = 0.5 + np.mean(counted * ((sizes <= clip) - 0.5))
    np.testing.assert_allclose(found[-1], 2.0 * share, atol=1e-3)
    edges = np.append(clip, 2 * sizes.max())
    counts = GradientSizesQuery(problem, w, edges, whole_units=True).evaluate(rows)
    expected = counted[sizes < clip].sum(), counted[sizes >= clip].sum(), 0.0
    np.testing.assert_allclose(counts, expected, atol=1e-3)


@pytest.mark.parametrize("mapped", [False, True])
@pytest.mark.parametrize("columns", [1, 3])
@pytest.mark.parametrize("exactly", [False, True])
def test_the_sum_over_a_persons_rows_does_not_tell_how_many_rows_others_have(
    mapped, columns, exactly
):
    rng = np.random.default_rng(0)
    d, own = 37, 5000
    mine, theirs = rng.normal(size=(own, d)), rng.normal(size=(60_000, d))
    row_map = RowMap(np.ones(d), rng.normal(size=(d, d)), rng.normal(size=d), norm=20.0)
    bounds = RowBounds(5.0, 1.0, row_map=row_map if mapped else None)
    w = rng.normal(size=(d + 1, columns) if columns > 1 else d + 1)

    def sums(others):
        """Of all scores times rows of a person behind somebody with so many rows."""
        X = np.vstack([theirs[:others], mine])
        units = PrivacyUnits.of(np.repeat([0, 1], [others, own]))
        found = []
        DenseRows(X, np.zeros(len(X)), None, units).by_unit().bounded(bounds).sum_of_units(
            lambda block: block.combine_pieces(block.scores(w), exactly=exactly),
            lambda sums: found.extend(sums) or np.zeros(1),
        )
        return found[-1]

    # A map rounds by places unless it is told not to, for which there is a margin.
    margin = 1e-12 * np.abs(sums(3)).max() if mapped and not exactly else 0.0
    for others in (1, 2, 7, 4095, 4096, 9000, 27_999, 60_000):
        np.testing.assert_allclose(sums(others), sums(3), rtol=0, atol=margin)


def test_a_store_of_units_cannot_be_taken_apart():
    rows = DenseRows(np.ones((3, 2)), np.zeros(3), None, PrivacyUnits.of([1, 1, 2]))
    assert rows.n_samples == 2
    with pytest.raises(TypeError, match="cannot be taken apart"):
        rows.part(0, 2)


def people_in_two_places(where):
    """Rows of forty people, the last of whom has them together, or one of them before all others.

    The layout in memory is public, and the same for both.
    """
    rng = np.random.default_rng(0)
    d, labels = 37, np.repeat(np.arange(40), rng.integers(2, 6, 40))
    X = rng.normal(size=(len(labels), d))
    for order in (np.arange(len(X)), np.roll(np.arange(len(X)), 1)):
        larger = np.zeros((len(X) + 5, 2 * d), order="F" if where == "along columns" else "C")
        into = {
            "one after another": np.ascontiguousarray(X),
            "along columns": larger[:-5, :d],
            "all along columns": np.asfortranarray(X),
            "every other": larger[:-5, ::2],
            "backwards": larger[:-5, d - 1 :: -1],
        }[where]
        into[:] = X[order]
        yield into, labels[order]


@pytest.mark.parametrize(
    "where",
    ["one after another", "along columns", "all along columns", "every other", "backwards"],
)
def test_whether_rows_of_people_lie_together_tells_nothing_of_them(where):
    # If it did, a hinge loss would let one person move all others whose score is at the hinge.
    w = np.random.default_rng(1).normal(size=38)

    def computed(X, labels, of_a_stream):
        rows = DenseRows(X, np.zeros(len(X)), None, PrivacyUnits.of(labels))
        if of_a_stream:
            call = Call(DenseRows(X, np.zeros(len(X))), labels)
            others = np.array([label < 39 for label in call.row_labels()])
            rows = call.counting(np.ones(call.n_samples, dtype=bool))
        else:
            rows = rows.by_unit()
            others = rows.units.codes < 39
        found = []

        def kernel(block):
            found.append(np.column_stack([block.scores(w), block.norms]))
            return np.zeros(1)

        rows.bounded(RowBounds(1.0, 1.0)).sum(kernel)
        return np.concatenate(found)[others]

    for of_a_stream in (False, True):
        here, there = (computed(*data, of_a_stream) for data in people_in_two_places(where))
        np.testing.assert_array_equal(here, there)
