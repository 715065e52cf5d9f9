"""Counts of categories that nobody has declared: how far they move, and what a threshold hides."""

from itertools import product
from math import exp, inf, isfinite, sqrt

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm

from skdp import BudgetExceededError
from skdp.privacy import Adjacency, PrivateOracle, SeededNoise, SystemNoise, gdp
from skdp.privacy.accounting import Ledger, Spend, ThresholdedGaussianDP
from skdp.privacy.mechanisms import ThresholdMechanism, spacing
from skdp.privacy.queries import CategoryCountsQuery
from skdp.privacy.rows import MISSING, CategoryRows, DenseRows, PrivacyUnits, coded_categories

COLUMNS = (0, 1)
both_adjacencies = pytest.mark.parametrize("adjacency", Adjacency)


def rows_of(table, labels=None):
    columns = [np.array(column, dtype=object) for column in zip(*table, strict=True)]
    return CategoryRows(columns, None if labels is None else PrivacyUnits.of(labels))


def counts_of(rows, columns=COLUMNS):
    """Exact counts by column and category: a vector over all categories that there might be."""
    query = CategoryCountsQuery(columns, 1e-6)
    found = query.named(rows, query.evaluate(rows))
    return {(column, category): count for column, category, count in found}


def distance(first, second):
    cells = first.keys() | second.keys()
    return sqrt(sum((first.get(cell, 0.0) - second.get(cell, 0.0)) ** 2 for cell in cells))


ENTRIES = ("a", "b", None)
OTHERS = [("a", "a"), ("b", "a"), ("a", None)]


@both_adjacencies
def test_no_neighbours_are_further_apart_than_declared_and_some_are_as_far(adjacency):
    """All rows in place of all others, or left out."""
    every = [counts_of(rows_of([*OTHERS, row])) for row in product(ENTRIES, repeat=2)]
    left_out = [counts_of(rows_of(OTHERS))]
    others = every if adjacency is Adjacency.REPLACE_ONE else left_out
    moves = [distance(one, other) for one in every for other in others]
    declared = CategoryCountsQuery(COLUMNS, 1e-6).sensitivity(adjacency)
    assert max(moves) == pytest.approx(declared, rel=1e-12)


@both_adjacencies
def test_people_with_any_rows_are_no_further_apart_than_declared(adjacency):
    """All sets of up to three rows of one person, beside those of two others."""
    declared = CategoryCountsQuery(COLUMNS, 1e-6).sensitivity(adjacency)
    beside, names = [("a", "a"), ("b", None), ("a", "a")], ["x", "y", "x"]
    tables = [t for m in (1, 2, 3) for t in product(product("ab", "bc"), repeat=m)]
    found = [counts_of(rows_of([*beside, *t], [*names, *["z"] * len(t)])) for t in tables]
    without = counts_of(rows_of(beside, names))
    others = found if adjacency is Adjacency.REPLACE_ONE else [without]
    moves = [distance(one, other) for one in found for other in others]
    assert max(moves) == pytest.approx(declared, rel=1e-12)


def test_a_person_is_in_one_category_of_each_column_whatever_the_rows():
    rng = np.random.default_rng(0)
    table = [(f"own {i}", rng.choice(["u", "v"])) for i in range(200)]
    table += [("a", "u")] * 3
    rows = rows_of(table, [*["person"] * 200, "x", "y", "z"])
    assert rows.n_samples == 4
    found = counts_of(rows)
    assert sum(n for (column, _), n in found.items() if column == 0) == 4
    assert len(found) == len({cell for cell in found if found[cell] >= 1}) <= 4


def test_of_categories_of_as_many_rows_the_first_in_the_alphabet_counts():
    for order in ([0, 1, 2, 3], [3, 2, 1, 0]):
        table = [[("c", 1), ("b", 2), ("c", 3), ("b", 4)][k] for k in order]
        assert {(0, (2, "b"))} == {c for c in counts_of(rows_of(table, ["p"] * 4)) if c[0] == 0}


def test_which_of_equally_frequent_categories_counts_is_no_matter_of_others():
    """Or one person could move all who hesitate."""
    own = [("b", 1), ("c", 1)]
    for other in ("b", "c"):
        found = counts_of(rows_of([*own, *[(other, 1)] * 5], ["p", "p", *"vwxyz"]))
        assert found.get((0, (2, "b"))) == (6 if other == "b" else 1)


def test_the_order_of_what_is_published_does_not_depend_on_the_order_of_rows():
    table = [("b", 2), ("a", None), (None, 1), ("c", 10)]
    assert [*counts_of(rows_of(table))] == [*counts_of(rows_of(table[::-1]))]
    assert [*counts_of(rows_of(table))][3] == (0, MISSING)


@pytest.mark.parametrize("c", [1, 8, 500])
@pytest.mark.parametrize("delta", [0.4, 1e-3, 1e-7, 1e-16])
def test_the_threshold_hides_categories_of_one_person_but_for_its_delta(c, delta):
    mechanism = ThresholdMechanism.calibrated(sqrt(2 * c), c, delta, Spend(0.04))
    g = spacing(mechanism.sensitivity, mechanism.noise_scale, 1)
    # What is above the threshold after rounding was above this before.
    above = norm.logsf(mechanism.threshold - 1 - g / 2, scale=mechanism.noise_scale)
    shown = -np.expm1(c * np.log1p(-exp(above)))
    assert shown <= delta
    # The grid, and no more, is given away.
    assert shown >= delta * (1 - 1e-3)


def test_categories_of_one_person_are_published_as_seldom_as_promised():
    """Simulated: three categories that one person alone has."""
    mechanism = ThresholdMechanism.calibrated(sqrt(6), 3, 0.05, Spend(1.0))
    noise, m = SeededNoise(np.random.default_rng(7)), 40_000
    shown = np.isfinite(mechanism.randomize(np.ones((m, 3)), noise)).any(axis=1).mean()
    assert abs(shown - 0.05) < 4 * sqrt(0.05 * 0.95 / m)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
def test_two_neighbours_are_as_close_as_the_theorem_says(epsilon):
    """The exact divergence of a pair: everybody has one category, somebody another or the same."""
    mu, delta = 0.8, 0.01
    mechanism = ThresholdMechanism.calibrated(sqrt(2), 1, delta, Spend(mu**2))
    s, hidden = (
        mechanism.noise_scale,
        norm.cdf(mechanism.threshold - 1, scale=mechanism.noise_scale),
    )

    def more(x, first, second):
        """Density of a count of the common category, where the other one is not published."""
        return max(
            0.0,
            first[1] * norm.pdf(x, first[0], s)
            - exp(epsilon) * second[1] * norm.pdf(x, second[0], s),
        )

    for sides in (((1000, hidden), (1001, 1.0)), ((1001, 1.0), (1000, hidden))):
        common = quad(more, 960, 1040, args=sides, limit=400)[0]
        divergence = common + (1 - sides[0][1])
        bound = gdp.delta(mu, epsilon) + delta
        assert divergence <= bound
    # And no divergence would be below the delta of the threshold.
    assert 1 - hidden == pytest.approx(delta, rel=1e-3)


def test_neither_grid_nor_threshold_tell_how_many_categories_there_are():
    mechanism = ThresholdMechanism.calibrated(sqrt(2), 1, 1e-6, Spend(1.0))
    g = spacing(mechanism.sensitivity, mechanism.noise_scale, 1)
    for entries in (1, 100, 100_000):
        noise = SeededNoise(np.random.default_rng(0))
        found = mechanism.randomize(np.full(entries, 1000.0), noise)[:50] / g
        assert (found == np.rint(found)).all()
        assert (found % 2 != 0).any()


def asked(rows, *, delta=1e-5, share=0.01, seed=0):
    ledger = Ledger(1.0, delta, calculus=ThresholdedGaussianDP(share * delta))
    noise = SeededNoise(np.random.default_rng(seed))
    oracle = PrivateOracle(rows, ledger, Adjacency.REPLACE_ONE, noise)
    spend = oracle.budget.whole()
    return ledger, oracle.category_counts(COLUMNS, threshold_delta=share * delta, spend=spend)


def test_published_counts_have_the_noise_that_was_charged():
    """Of many categories, at the same number of people in each."""
    _, answer = asked(rows_of([(k, -k) for k in range(200)] * 400))
    found = np.array([n for of_column in answer.counts.values() for n in of_column.values()])
    assert found.size == 400
    assert (found - 400).std() == pytest.approx(answer.scale, rel=0.15)


def test_what_nobody_else_has_is_not_published_and_what_many_have_is():
    table = [("common", k % 2) for k in range(2000)]
    ledger, answer = asked(rows_of([*table, ("rare", 7)]))
    assert [*answer.counts[0]] == [(2, "common")]
    assert [*answer.counts[1]] == [(1, 0), (1, 1)]
    assert all(n > answer.threshold for found in answer.counts.values() for n in found.values())
    assert ledger.spent() == (1.0, 1e-5)
    (event,) = ledger.receipt()
    assert event.threshold_delta == pytest.approx(1e-7)
    assert gdp.epsilon(sqrt(event.counts.mu_squared), 1e-5 - 1e-7) == pytest.approx(1.0, rel=1e-9)


def test_a_neighbour_with_a_rare_category_gets_the_same_answer():
    """Under the same noise on what others have; the rare ones are the last of their column."""
    table = [("common", k % 2) for k in range(2000)]
    answers = [asked(rows_of([*table, ("common", rare)]))[1].counts for rare in (8, 9)]
    assert answers[0] == answers[1]


def test_rows_of_numbers_have_no_categories():
    with pytest.raises(TypeError, match="needs rows of categories, got DenseRows"):
        CategoryCountsQuery((0,), 1e-6).evaluate(DenseRows(np.ones((3, 1)), np.zeros(3)))
    with pytest.raises(TypeError, match="not summed"):
        rows_of(OTHERS).sum(len)


@pytest.mark.parametrize(
    "entry", [object(), [1], {"a": 1}, 1j, np.datetime64("2020-01-01"), (1, 2)]
)
def test_entries_that_are_neither_numbers_nor_texts_are_refused_unquoted(entry):
    column = np.empty(2, dtype=object)
    column[:] = ["secret", entry]
    with pytest.raises(ValueError, match="numbers or texts") as caught:
        coded_categories(column)
    assert "secret" not in str(caught.value)
    assert caught.value.__context__ is None


def test_one_entry_turns_no_category_into_another():
    """Whatever the type of the column, which a single entry can turn."""
    as_integers, as_floats = np.array([1, 2, 1]), np.array([1.0, 2.0, 1.0])
    as_objects = np.array([1, 2.0, True and 1], dtype=object)
    found = [coded_categories(column) for column in (as_integers, as_floats, as_objects)]
    assert all(categories == [(1, 1), (1, 2)] for categories, _ in found)
    assert all((codes == [0, 1, 0]).all() for _, codes in found)
    # Whole numbers that are one number as floats are one category of any column.
    huge = [2**53, 2**53 + 1, -(2**62)]
    columns = (np.array(huge), np.array(huge, dtype=float), np.array(huge, dtype=object))
    found = [coded_categories(column) for column in columns]
    assert all(repr(categories) == repr(found[0][0]) for categories, _ in found)
    assert all((codes == [1, 1, 0]).all() for _, codes in found)
    assert coded_categories(np.array([10**400, 1], dtype=object))[0] == [(1, 1), (1, 10**400)]
    missing = np.array([None, np.nan, float("nan"), 0.5, -inf], dtype=object)
    categories, codes = coded_categories(missing)
    assert categories == [(1, -inf), (1, 0.5), MISSING]
    assert codes.tolist() == [2, 2, 2, 1, 0]
    assert isfinite(categories[1][1])


def test_what_the_ledger_refuses_is_not_read():
    rows = rows_of(OTHERS)
    read = []
    rows.category_counts = read.append
    ledger = Ledger(1.0, 1e-5, calculus=ThresholdedGaussianDP(1e-7))
    oracle = PrivateOracle(rows, ledger, Adjacency.REPLACE_ONE, SystemNoise())
    whole = oracle.budget.whole()
    for delta, spend in ((1e-7, Spend(2 * whole.amount)), (2e-7, whole)):
        with pytest.raises(BudgetExceededError, match="Nothing was read"):
            oracle.category_counts(COLUMNS, threshold_delta=delta, spend=spend)
    assert read == []
    assert ledger.receipt() == ()
