"""What every query to the oracle has to keep: its declared sensitivity, over every kind of rows.

Add a query to ``EXAMPLES`` in ``examples_of_queries.py``, or a store or a layout to ``STORES`` in
``kinds_of_rows.py``, and it is tested with all others.
"""

import importlib
import inspect
import math
import pkgutil
import re
from dataclasses import replace
from functools import partial
from inspect import isabstract
from pathlib import Path

import numpy as np
import pytest
from by_night import by_night
from examples_of_queries import (
    EXAMPLES,
    LOSSES,
    crafted_gradients,
    gradient_problems,
    random_gradients,
)
from kinds_of_rows import STORES, largest_move, plain, units_of
from queries_over_rows import (
    DASK,
    QUERIES,
    all_cases,
    rows_without_numbers_move_as_declared,
    sample,
)

from skdp.privacy import Adjacency, queries
from skdp.privacy.queries import (
    GradientAndShareQuery,
    GradientNormQuery,
    GradientQuery,
    HistogramQuery,
    PerturbedMinimumQuery,
    Query,
    TotalWeightQuery,
)
from skdp.privacy.rows import CategoryRows, DaskRows, DensePart, RowStore
from skdp.privacy.sites import RemoteRows
from skdp.problem import CountBounds
from skdp.problem.losses import Huber, Logistic, Poisson, Softmax
from skdp.testing import row_stores

every_query = pytest.mark.parametrize("kind", EXAMPLES, ids=lambda kind: kind.name)
both_adjacencies = pytest.mark.parametrize("adjacency", Adjacency)


def queries_in_folder():
    found = set()
    for module_info in pkgutil.iter_modules(queries.__path__, queries.__name__ + "."):
        module = importlib.import_module(module_info.name)
        for _, thing in inspect.getmembers(module, inspect.isclass):
            if issubclass(thing, Query) and thing.__module__ == module.__name__:
                found.add(thing)
    return {thing for thing in found if not isabstract(thing)}


def test_every_query_has_examples():
    missing = {q.__name__ for q in queries_in_folder()} - {q.__name__ for q in EXAMPLES}
    # Of no rows of numbers: it has a battery of its own, in privacy/queries/test_categories.py.
    missing -= {queries.CategoryCountsQuery.__name__}
    assert not missing, f"add examples of {sorted(missing)} to EXAMPLES"


@every_query
def test_the_oracle_knows_for_how_many_rows_a_margin_for_rounding_is(kind):
    for query in [examples[0].query for examples in EXAMPLES[kind] if examples]:
        known = hasattr(query, "problem") or hasattr(query, "n_samples")
        # Sums of counts are exact.
        assert known or issubclass(kind, queries.base.CountQuery)


def test_every_loss_and_every_weighting_is_among_the_crafted_gradients():
    problems = [example.query.problem for example in crafted_gradients()]
    assert {type(p.loss) for p in problems} == {type(loss) for loss in LOSSES}
    # One class without weight, and the other side of the ball is out of reach of the intercept.
    two_sided = [p for p in gradient_problems() if 0.0 not in (p.class_weight or ())]
    # Rows within a box do not reach the bound on their norm.
    two_sided = [p for p in two_sided if p.bounds.scaling is None]
    assert set(map(repr, problems)) == set(map(repr, two_sided))


def one_of(case):
    return lambda n: [case.seed % n]


@pytest.mark.parametrize("name", QUERIES)
def test_rows_of_every_kind_are_answered_as_plain_ones_and_move_as_declared(name):
    """A sample of the product of queries, stores, layouts, units, weights and zeros."""
    for case in sample(name):
        case.check(one_of(case))


@pytest.mark.parametrize("name", ["score_and_curvature", "score_moments"])
def test_the_rows_of_a_block_keep_their_weights_where_it_is_taken_in_parts(name, monkeypatch):
    """Scores for each class of all rows of a block would take too much memory."""
    monkeypatch.setattr("skdp.privacy.queries.score_and_curvature._MOST_ENTRIES", 1)
    for case in sample(name):
        case.check(one_of(case))


@pytest.mark.nightly
@pytest.mark.parametrize("name", QUERIES)
def test_the_whole_product_of_queries_and_kinds_of_rows(name):
    for case in all_cases(name):
        case.check(one_of(case) if "partitions" in case.store else range)


def test_the_sample_has_every_store_and_every_query_has_all_that_can_answer_it():
    cases = {name: list(sample(name)) for name in QUERIES}
    about_features = set(STORES) - {"predicted"}
    for name, of_query in cases.items():
        found = {case.store for case in of_query}
        assert found >= {s for s in about_features if "partitions" not in s}, name
        if name != "site_gradients":
            assert any("partitions" in store for store in found) or not DASK, name
        assert len({case.kind.weights for case in of_query}) == 3, name
        assert len({case.kind.of_people for case in of_query}) == 1 + QUERIES[name].takes_units
    stores = [STORES[case.store](case.table()) for case in cases["outcome_counts"]]
    # Parts of a table are within chunks and partitions.
    elsewhere = {CategoryRows, DensePart, RemoteRows} | (set() if DASK else {DaskRows})
    assert set(map(type, stores)) == concrete(RowStore) - elsewhere


def concrete(kind):
    """Classes of rows that there are, but for those of tests."""
    own = [one for one in kind.__subclasses__() if "skdp.privacy" in one.__module__]
    return (set() if isabstract(kind) else {kind}).union(*map(concrete, own))


@every_query
@both_adjacencies
@pytest.mark.by_day(10)
def test_people_whose_rows_are_alike_attain_the_declared_sensitivity(kind, adjacency):
    for example in EXAMPLES[kind][1][::7]:
        if kind.takes_units and not example.at_sites:
            people = units_of(example, most=50, alike=True)
            move = largest_move(example, people, adjacency, partial(plain, of_people=True))
            # Of weights there are none to differ by.
            least = 0.99 * reach_of_people(example.query, adjacency)
            assert move >= least or kind is TotalWeightQuery, example.query


def reach_of_people(query, adjacency):
    """Share of the declared sensitivity that people's rows attain."""
    if not isinstance(query, GradientAndShareQuery) or adjacency is not Adjacency.ZERO_OUT:
        return 1.0
    # A person's part in the share of whole gradients is taken about the usual one, so that who is
    # left out moves it by less than 1, which a row moves it by that is not weighted.
    of_gradient = query.gradient.sensitivity(adjacency) * query.gradient.problem.n_samples
    of_share = max(query.usual, 1 - query.usual) * query.weight
    return math.hypot(of_gradient, of_share) / math.hypot(of_gradient, query.weight)


@pytest.mark.every_combination
@every_query
@both_adjacencies
def test_crafted_neighbours_attain_the_declared_sensitivity(kind, adjacency):
    start, step = list(Adjacency).index(adjacency), 3 if kind is GradientQuery else 12
    crafted = EXAMPLES[kind][1]
    for example in crafted[start::step] or crafted[:2]:
        assert example.check(adjacency) >= 0.999, example.query


@pytest.mark.nightly
@every_query
@both_adjacencies
def test_all_neighbours_stay_within_the_declared_sensitivity(kind, adjacency):
    random, crafted = EXAMPLES[kind]
    assert max(example.check(adjacency) for example in random) > 0.5
    for example in crafted:
        assert example.check(adjacency) >= 0.999, example.query


@every_query
def test_scores_that_are_not_finite_do_not_loosen_the_bound(kind):
    rows_without_numbers_move_as_declared(kind.name)


@pytest.mark.parametrize(
    "kind",
    [kind for kind in EXAMPLES if kind is not PerturbedMinimumQuery],
    ids=lambda kind: kind.name,
)
def test_targets_that_no_loss_takes_stop_no_query(kind):
    """An error of an index would tell, and quote, the target of a row.

    Left out: the minimum, whose Hessian is singular where the loss has no curvature.
    """
    for example in EXAMPLES[kind][0][::12]:
        y = example.y.copy()
        y.flat[0], y.flat[-1] = 7.0, -3.0
        for layout, rows in row_stores(example.X, y).items():
            if "single" not in layout:
                example.query.evaluate(rows)


def moves_of_weights_to_zero(examples):
    """Most that answers move if a row's weight goes from 1 to 0, in zero-out sensitivities."""
    found = []
    for example in examples:
        rows = len(example.X)
        same = replace(
            example,
            other_X=example.X,
            other_y=example.y,
            weights=np.ones(rows),
            other_weights=np.zeros(rows),
        )
        one, two = (example.query.sensitivity(relation) for relation in reversed(Adjacency))
        # In no query further than by a replacement.
        share = same.check(Adjacency.REPLACE_ONE)
        found.append(share * two / one)
    return max(found)


@every_query
@pytest.mark.every_combination
def test_a_row_of_weight_zero_is_one_that_is_left_out_but_where_the_page_says_it_is_not(kind):
    page = Path(__file__).resolve().parents[1] / "docs" / "proofs" / "neighbours.md"
    named = re.findall(r"in all queries but\s+`(\w+)` and `(\w+)`", page.read_text("utf-8"))
    assert named, "the page has another sentence"
    random, crafted = EXAMPLES[kind]
    farthest = moves_of_weights_to_zero([*random[::15], *crafted[::15]])
    assert (farthest > 1.001) == (kind.__name__ in named[0]), f"{farthest:.3g} times"


def test_names_are_distinct():
    assert len({kind.name for kind in EXAMPLES}) == len(EXAMPLES)


def derivative(loss, y, z):
    """The derivative of one row's loss in its scores, a list, by plain formulas."""
    if isinstance(loss, Softmax):
        powers = [math.exp(score - max(z)) for score in z]
        return [p / math.fsum(powers) - (k == y) for k, p in enumerate(powers)]
    if isinstance(loss, Logistic):
        q = math.exp(-abs(z[0]))
        return [(1 / (1 + q) if z[0] > 0 else q / (1 + q)) - y]
    if isinstance(loss, Poisson):
        return [math.exp(min(z[0], 0.0)) - y]
    residual = z[0] - y
    return [max(-loss.delta, min(loss.delta, residual)) if isinstance(loss, Huber) else residual]


def slow_gradient(query, X, y):
    """The mean of clipped row gradients, row by row, from rows that are clipped for real."""
    problem, bounds = query.problem, query.problem.bounds
    w = query.w.reshape(problem.n_rows, -1)
    total = np.zeros(w.shape)
    if bounds.scaling is not None:
        X = bounds.scaling.apply(X.copy())
    for row, target in zip(X, y, strict=True):
        largest = np.abs(row).max()
        norm = largest * math.hypot(*(row / largest)) if largest else 0.0
        x = [v / norm * bounds.data_norm if norm > bounds.data_norm else v for v in row.tolist()]
        if bounds.intercept_value:
            x.append(bounds.intercept_value)
        offset = 0.0
        if isinstance(bounds.target, CountBounds):
            offset = -bounds.target.log_unit
            target = min(max(target, 0.0), bounds.target.cap) / bounds.target.cap
        elif bounds.target is not None:
            inside = min(max(target, bounds.target.low), bounds.target.high)
            target = (inside - bounds.target.centre) / bounds.target.half_width
        products = [[a * b for a, b in zip(x, c, strict=True)] for c in w.T.tolist()]
        z = [math.fsum([*terms, offset]) for terms in products]
        weight = problem.class_weight[int(target)] if problem.class_weight else 1.0
        slope = derivative(problem.loss, target, z)
        gradient = np.outer(x, slope)
        longest = problem.max_weight * math.hypot(*gradient.ravel())
        total += weight * gradient * (min(1.0, query.bound / longest) if longest else 1.0)
    return (total / problem.n_samples).reshape(query.w.shape)


@pytest.mark.parametrize("seed", [0, *by_night(1, 2)])
def test_the_gradient_equals_a_sum_over_clipped_rows(seed):
    for example in random_gradients(seed + 10):
        query, y = example.query, example.y
        # Scores of moderate size: a rounding of large ones moves their derivative visibly.
        query.w[...] /= max(1.0, np.abs(query.w).max())
        X = np.where(np.abs(example.X) < 1e-150, 0.0, example.X)
        expected = slow_gradient(query, X, y)
        found = query.evaluate(row_stores(X, y)["dense"])
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12 * query.bound)


def test_the_norm_query_is_the_norm_of_the_gradient():
    for example in random_gradients(30):
        rows = row_stores(example.X, example.y)["dense"]
        gradient = example.query.evaluate(rows)
        answer = GradientNormQuery(example.query).evaluate(rows)
        assert answer.shape == ()
        exact = math.hypot(*gradient.ravel())
        assert math.isclose(answer, exact, rel_tol=1e-14, abs_tol=1e-150 * example.query.bound)


@pytest.mark.parametrize("of", ["row_norm", "target"])
def test_the_histogram_counts_each_row_once(of):
    X = np.array([[0.0, 0.0], [3.0, 4.0], [0.6, 0.8], [1e300, 1e300], [6.0, 8.0]])
    y = np.array([-10.0, -1.0, 0.0, 5.0, 1e300])
    edges = np.array([-1.0, 0.5, 5.0, 10.0])
    expected = {
        "row_norm": [0, 1, 1, 1, 2],  # 0 | 1 | 5 | 10 and an overflow
        "target": [1, 2, 0, 1, 1],  # -10 | -1, 0 | 5 | 1e300
    }[of]
    for layout, rows in row_stores(X, y).items():
        if "single" not in layout or of != "row_norm":
            counts = HistogramQuery(of, edges).evaluate(rows)
            np.testing.assert_array_equal(counts, expected, err_msg=layout)
