"""What every query to the oracle has to keep: its declared sensitivity, in every layout of rows.

Add a query to ``EXAMPLES`` in ``examples_of_queries.py`` and it is tested.
"""

import importlib
import inspect
import math
import pkgutil
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from by_night import by_night
from examples_of_queries import (
    EXAMPLES,
    LOSSES,
    encoded_targets,
    gradient_problems,
    problem_for,
    random_gradients,
    random_rows,
)
from examples_of_weights import weighted
from hypothesis import given, settings
from hypothesis import strategies as st

from skdp.privacy import Adjacency, queries
from skdp.privacy.accounting import Spend
from skdp.privacy.mechanisms import GaussianMechanism
from skdp.privacy.queries import (
    GradientNormQuery,
    GradientQuery,
    HistogramQuery,
    PerturbedMinimumQuery,
    Query,
)
from skdp.problem.losses import Huber, Logistic, Softmax, Squared
from skdp.testing import check_sensitivity, row_stores

every_query = pytest.mark.parametrize("kind", EXAMPLES, ids=lambda kind: kind.name)
both_adjacencies = pytest.mark.parametrize("adjacency", Adjacency)


def queries_in_folder():
    found = set()
    for module_info in pkgutil.iter_modules(queries.__path__, queries.__name__ + "."):
        module = importlib.import_module(module_info.name)
        for _, thing in inspect.getmembers(module, inspect.isclass):
            if issubclass(thing, Query) and thing.__module__ == module.__name__:
                found.add(thing)
    return {thing for thing in found if not inspect.isabstract(thing)}


def test_every_query_has_examples():
    missing = {q.__name__ for q in queries_in_folder()} - {q.__name__ for q in EXAMPLES}
    assert not missing, f"add examples of {sorted(missing)} to EXAMPLES"


def test_every_loss_and_every_weighting_is_among_the_crafted_gradients():
    problems = [example.query.problem for example in EXAMPLES[GradientQuery][1]]
    assert {type(p.loss) for p in problems} == {type(loss) for loss in LOSSES}
    # One class without weight, and the other side of the ball is out of reach of the intercept.
    two_sided = [p for p in gradient_problems() if 0.0 not in (p.class_weight or ())]
    # Rows within a box do not reach the bound on their norm.
    two_sided = [p for p in two_sided if p.bounds.scaling is None]
    assert set(map(repr, problems)) == set(map(repr, two_sided))


def some(examples, adjacency, step=3):
    """A share of the examples, others for each adjacency; the nightly run takes them all."""
    start = list(Adjacency).index(adjacency)
    return examples[start::step] or examples[:2]


@every_query
@both_adjacencies
def test_random_neighbours_stay_within_the_declared_sensitivity(kind, adjacency):
    # The clip leaves random rows little room, so that they come close as well.
    assert max(example.check(adjacency) for example in some(EXAMPLES[kind][0], adjacency, 12)) > 0.5


def check_with_weights(examples, adjacency):
    """The row that comes in has another weight; those beyond the bounds count as at them."""
    for example, *weights in weighted(examples, seed=1):
        example.check(adjacency, *weights)


@every_query
@both_adjacencies
@pytest.mark.by_day(8)
def test_weighted_neighbours_stay_within_the_declared_sensitivity(kind, adjacency):
    random, crafted = EXAMPLES[kind]
    check_with_weights([*random[::15], *crafted[::15]], adjacency)


@pytest.mark.every_combination
@every_query
@both_adjacencies
def test_crafted_neighbours_attain_the_declared_sensitivity(kind, adjacency):
    for example in some(EXAMPLES[kind][1], adjacency, 3 if kind is GradientQuery else 12):
        assert example.check(adjacency) >= 0.999, example.query


@pytest.mark.nightly
@every_query
@both_adjacencies
def test_all_neighbours_stay_within_the_declared_sensitivity(kind, adjacency):
    random, crafted = EXAMPLES[kind]
    assert max(example.check(adjacency) for example in random) > 0.5
    for example in crafted:
        assert example.check(adjacency) >= 0.999, example.query
    check_with_weights([*random, *crafted], adjacency)


def test_every_problem_is_among_some_of_the_gradients():
    for examples in EXAMPLES[GradientQuery]:
        tried = [e for adjacency in Adjacency for e in some(examples, adjacency)]
        assert len(tried) < len(examples)
        assert {repr(e.query.problem) for e in tried} == {repr(e.query.problem) for e in examples}


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
        same = replace(example, other_X=example.X, other_y=example.y)
        one, two = (example.query.sensitivity(relation) for relation in reversed(Adjacency))
        # In no query further than by a replacement.
        share = same.check(Adjacency.REPLACE_ONE, np.ones(rows), np.zeros(rows))
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


@both_adjacencies
@settings(max_examples=10)
@given(seed=st.integers(0, 2**32 - 1), scale=st.floats(1e-3, 1e3), clip=st.floats(1e-3, 10.0))
@pytest.mark.by_day(1)
def test_gradients_at_any_point_stay_within_the_declared_sensitivity(adjacency, seed, scale, clip):
    rng = np.random.default_rng(seed)
    problem = problem_for(LOSSES[seed % len(LOSSES)], intercept=rng.choice([0.0, 1.0]))
    query = GradientQuery(problem, scale * rng.normal(size=problem.shape), clip)
    X, other_X = random_rows(rng), random_rows(rng)
    y, other_y = encoded_targets(problem, rng), encoded_targets(problem, rng)
    check_sensitivity(query, X, y, other_X, other_y, adjacency)


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, 1e200])
@pytest.mark.parametrize("loss", LOSSES, ids=str)
def test_points_without_finite_scores_do_not_loosen_the_bound(loss, value):
    rng = np.random.default_rng(3)
    problem = problem_for(loss, intercept=1.0)
    w = rng.normal(size=problem.shape)
    w[0] = value
    rows = [part for _ in range(2) for part in (random_rows(rng), encoded_targets(problem, rng))]
    query = GradientQuery(problem, w, 0.5)
    # An untrusted solver may ask at such points; numpy warns, the bound holds.
    with np.errstate(all="ignore"):
        check_sensitivity(query, *rows, Adjacency.REPLACE_ONE)


def derivative(loss, y, z):
    """The derivative of one row's loss in its scores, a list, by plain formulas."""
    if isinstance(loss, Softmax):
        powers = [math.exp(score - max(z)) for score in z]
        return [p / math.fsum(powers) - (k == y) for k, p in enumerate(powers)]
    if isinstance(loss, Logistic):
        q = math.exp(-abs(z[0]))
        return [(1 / (1 + q) if z[0] > 0 else q / (1 + q)) - y]
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
        if bounds.target is not None:
            inside = min(max(target, bounds.target.low), bounds.target.high)
            target = (inside - bounds.target.centre) / bounds.target.half_width
        z = [math.fsum(a * b for a, b in zip(x, column, strict=True)) for column in w.T.tolist()]
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
        for layout, rows in row_stores(X, y).items():
            if "single" not in layout:
                np.testing.assert_allclose(
                    query.evaluate(rows), expected, rtol=0, atol=1e-12 * query.bound, err_msg=layout
                )


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.by_day(1)
def test_single_precision_rows_are_computed_with_in_double_precision(seed):
    for example in random_gradients(seed + 20):
        query, y = example.query, example.y
        query.w[...] /= max(1.0, np.abs(query.w).max())
        X = np.clip(example.X, -1e38, 1e38).astype(np.float32).astype(float)
        X[np.abs(X) < 1e-30] = 0.0
        stores = row_stores(X, y)
        expected = slow_gradient(query, X, y)
        for layout in ("dense, single", "csr, single"):
            np.testing.assert_allclose(
                query.evaluate(stores[layout]), expected, rtol=0, atol=1e-12 * query.bound
            )


def test_the_norm_query_is_the_norm_of_the_gradient():
    for example in random_gradients(30):
        rows = row_stores(example.X, example.y)["dense"]
        gradient = example.query.evaluate(rows)
        answer = GradientNormQuery(example.query).evaluate(rows)
        assert answer.shape == ()
        assert math.isclose(answer, math.hypot(*gradient.ravel()), rel_tol=1e-14)


@pytest.mark.parametrize("of", ["row_norm", "target", "target_size"])
def test_the_histogram_counts_each_row_once(of):
    X = np.array([[0.0, 0.0], [3.0, 4.0], [0.6, 0.8], [1e300, 1e300], [6.0, 8.0]])
    y = np.array([-10.0, -1.0, 0.0, 5.0, 1e300])
    edges = np.array([-1.0, 0.5, 5.0, 10.0])
    expected = {
        "row_norm": [0, 1, 1, 1, 2],  # 0 | 1 | 5 | 10 and an overflow
        "target": [1, 2, 0, 1, 1],  # -10 | -1, 0 | 5 | 1e300
        "target_size": [0, 1, 1, 1, 2],  # 0 | 1 | 5 | 10, 1e300
    }[of]
    for layout, rows in row_stores(X, y).items():
        if "single" not in layout or of != "row_norm":
            counts = HistogramQuery(of, edges).evaluate(rows)
            np.testing.assert_array_equal(counts, expected, err_msg=layout)


@pytest.mark.parametrize("clip", [0.0, -1.0, math.nan])
def test_a_clip_that_is_not_positive_has_no_price(clip):
    problem = problem_for(Logistic())
    declared = GradientQuery(problem, problem.start(), clip).sensitivity(Adjacency.REPLACE_ONE)
    with pytest.raises(ValueError, match="positive finite sensitivity"):
        GaussianMechanism.calibrated(declared, Spend(1.0))


def test_an_unbounded_gradient_has_no_price():
    problem = problem_for(Squared())
    query = GradientQuery(problem, problem.start(), None)
    assert query.sensitivity(Adjacency.REPLACE_ONE) == math.inf
