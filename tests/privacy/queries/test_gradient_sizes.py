"""Sizes of gradients and shares of rows that a clip leaves whole, against single rows."""

import numpy as np
import pytest

from skdp.privacy import Adjacency
from skdp.privacy.queries import GradientAndShareQuery, GradientQuery, GradientSizesQuery
from skdp.problem import Problem, RowBounds, RowMap, TargetBounds
from skdp.problem.losses import Huber, Logistic, Softmax, Squared
from skdp.testing import check_sensitivity, row_stores

N, D = 8, 3
UNCLIPPED = 1e100
LOSSES = [Logistic(), Softmax(3), Squared(), Huber(0.25)]


def make_problem(loss, constant, weights):
    target = TargetBounds(-2.0, 6.0) if isinstance(loss, Squared | Huber) else None
    return Problem(loss, N, D, RowBounds(1.5, constant, target), class_weight=weights)


def problems():
    for loss in LOSSES:
        for constant in (0.0, 0.7):
            yield make_problem(loss, constant, None)
    yield make_problem(Logistic(), 0.7, (0.2, 3.0))
    yield make_problem(Softmax(3), 0.7, (0.2, 3.0, 1.0))


@pytest.mark.parametrize("problem", list(problems()), ids=lambda p: f"{p.loss} {p.class_weight}")
def test_sizes_and_shares_are_those_of_the_gradients_of_single_rows(problem):
    rng = np.random.default_rng(0)
    X, w = rng.normal(size=(N, D)), rng.normal(size=problem.shape)
    y = rng.normal(size=N) if problem.bounds.target else rng.integers(0, 2, N).astype(float)
    query = GradientQuery(problem, w, UNCLIPPED)
    alone = [row_stores(X[[i]], y[[i]])["dense"] for i in range(N)]
    sizes = np.array([N * np.linalg.norm(query.evaluate(row)) for row in alone])
    edges = np.sort(sizes)[[2, 5]] * (1 + 1e-9)
    clipped = GradientQuery(problem, w, float(edges[0]))
    for layout, rows in row_stores(X, y).items():
        if "single" in layout:
            continue
        counts = GradientSizesQuery(problem, w, edges).evaluate(rows)
        np.testing.assert_array_equal(counts, np.histogram(sizes, [0, *edges, np.inf])[0])
        answer = GradientAndShareQuery(clipped, 3.0).evaluate(rows)
        np.testing.assert_array_equal(answer[:-1], clipped.evaluate(rows).ravel())
        assert answer[-1] == pytest.approx(3 * np.mean(sizes <= edges[0]))


@pytest.mark.parametrize(
    ("value", "expected"), [(np.nan, [N, 0, 0]), (np.inf, [0, 0, N])], ids=["nan", "inf"]
)
def test_derivatives_that_are_no_numbers_count_as_zero_and_infinite_ones_as_large(value, expected):
    problem = make_problem(Squared(), 0.0, None)
    rows = row_stores(np.ones((N, D)), np.zeros(N))["dense"]
    # Numpy warns of such points, which no solver of the package asks at.
    with np.errstate(all="ignore"):
        counts = GradientSizesQuery(problem, np.full(D, value), np.array([1.0, 2.0])).evaluate(rows)
    np.testing.assert_array_equal(counts, expected)


def test_sizes_of_mapped_rows_that_take_the_clipped_norm_for_granted_count_each_row_once():
    # Rows at twice the norm bound that the map leaves them, before the shift and after it.
    damped = RowMap(np.array([1.0, 0.5, 0.5]), None, np.array([0.0, 0.8, 0.0]), 0.5)
    problem = Problem(Logistic(), 4, 3, RowBounds(1.0, row_map=damped))
    query = GradientSizesQuery(problem, np.zeros(3), np.array([0.2, 0.24]))
    along, across = (np.tile(np.eye(3)[k], (4, 1)) for k in (0, 1))
    check_sensitivity(query, 0.1 * along, np.zeros(4), across, np.ones(4), Adjacency.REPLACE_ONE)
