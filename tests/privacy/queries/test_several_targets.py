"""Queries about rows with several targets: sensitivities, layouts, and what is refused."""

import math

import numpy as np
import pytest
from example_of_a_query import Example
from examples_of_queries import random_rows

from skdp.privacy import Adjacency
from skdp.privacy.queries import (
    GradientAndShareQuery,
    GradientDifferenceQuery,
    GradientQuery,
    GradientSizesQuery,
    HistogramQuery,
    NormalEquationsQuery,
    ResidualQuantileQuery,
    SelectionQuery,
)
from skdp.problem import Problem, RowBounds, RowMap, TargetBounds
from skdp.problem.losses import Huber, MultiTarget, Squared
from skdp.testing import row_stores

N, D, T = 4, 3, 3
TARGET = TargetBounds((-2.0, -1.0, 1.0), (6.0, 1.0, 6.0))
LOSSES = (MultiTarget(Squared(), T), MultiTarget(Huber(0.25), T))
both_adjacencies = pytest.mark.parametrize("adjacency", Adjacency)


def bounds(intercept=0.0, row_map=None, target=TARGET):
    return RowBounds(2.0, intercept, target, row_map)


def targets(rng):
    return 10.0 ** rng.uniform(-2, 3, (N, T)) * rng.choice([-1.0, 1.0], (N, T))


def problems():
    stretched = RowMap(np.full(D, 5.0), None, np.zeros(D), 3.0)
    for loss in LOSSES:
        for row_map, intercept in ((None, 0.0), (None, 1.5), (stretched, 0.7)):
            yield Problem(loss, N, D, bounds(intercept, row_map))


def random_queries():
    rng = np.random.default_rng(0)
    for problem in problems():
        w = rng.normal(size=problem.shape)
        gradient = GradientQuery(problem, w, 0.3)
        edges = np.geomspace(0.1, 10, 5)
        yield gradient
        yield GradientAndShareQuery(gradient, 0.5)
        yield GradientDifferenceQuery(gradient, w + 0.1)
        yield GradientSizesQuery(problem, w, edges)
        yield NormalEquationsQuery(problem.bounds, N, problem.n_rows, 0.4)
        yield HistogramQuery("target", edges, column=1)
        yield HistogramQuery("target_size", edges, column=2)


@both_adjacencies
def test_random_neighbours_stay_within_the_declared_sensitivity(adjacency):
    rng = np.random.default_rng(1)
    moves = {}
    # Seven kinds of queries: every third is of all of them, others for each relation.
    for query in list(random_queries())[list(Adjacency).index(adjacency) :: 3]:
        rows = random_rows(rng), targets(rng), random_rows(rng), targets(rng)
        moves[query.name] = max(Example(query, *rows).check(adjacency), moves.get(query.name, 0.0))
    assert len(moves) == 6
    assert sorted(moves.values())[2] > 0.5


@pytest.mark.nightly
@both_adjacencies
def test_all_neighbours_stay_within_the_declared_sensitivity(adjacency):
    rng = np.random.default_rng(4)
    for query in random_queries():
        rows = random_rows(rng), targets(rng), random_rows(rng), targets(rng)
        Example(query, *rows).check(adjacency)
        Example(query, *rows).check(adjacency, *rng.uniform(size=(2, N)))


def attained():
    """Rows whose vectors of residuals are opposite, as long as they may be."""
    X = np.tile([2.0, 0.0, 0.0], (N, 1))
    low, high = (np.tile(end, (N, 1)) for end in TARGET.ends)
    problem = Problem(LOSSES[0], N, D, bounds())
    # A row whose residuals are at their bounds, all of them.
    yield Example(GradientQuery(problem, np.zeros((D, T)), math.sqrt(T)), X, low, X, high)
    # At the angle for which the proof says that the bound is attained.
    balance = 0.4
    other = np.tile([2 * balance, 2 * math.sqrt(1 - balance**2), 0.0], (N, 1))
    yield Example(NormalEquationsQuery(bounds(), N, D, balance), X, low, other, high)
    query = HistogramQuery("target", np.array([0.0]), column=1)
    yield Example(query, X, low, X, high)


def test_crafted_neighbours_attain_the_declared_sensitivity():
    for example in attained():
        assert example.check(Adjacency.REPLACE_ONE) >= 0.999, example.query


def test_clipping_targets_one_by_one_would_be_caught(monkeypatch):
    query, *rows = list(vars(next(attained())).values())
    clipped = GradientQuery(query.problem, query.w, 1.0)
    Example(clipped, *rows).check(Adjacency.REPLACE_ONE)
    monkeypatch.setattr(
        GradientQuery, "clipped", lambda self, block, z, b: np.clip(z - block.y, -0.5, 0.5)
    )
    with pytest.raises(AssertionError, match="times its declared sensitivity"):
        Example(clipped, *rows).check(Adjacency.REPLACE_ONE)


def test_answers_are_those_of_the_formula():
    rng = np.random.default_rng(2)
    X, y = rng.normal(size=(N, D)), rng.uniform(-2, 6, size=(N, T))
    weights = rng.uniform(size=N)
    low, high = TARGET.ends
    Y = (np.clip(y, low, high) - (low + high) / 2) / ((high - low) / 2)
    V = X * np.minimum(1, 2.0 / np.linalg.norm(X, axis=1))[:, None]
    w = rng.normal(size=(D, T))
    problem = Problem(LOSSES[0], N, D, bounds())
    query = NormalEquationsQuery(bounds(), N, D, 0.4)
    weights = np.floor(weights * 2.0**26) / 2.0**26
    for name, rows in row_stores(X, y, weights).items():
        if "single" in name:
            continue
        gradient = GradientQuery(problem, w, 1e9).evaluate(rows)
        np.testing.assert_allclose(gradient, (weights[:, None] * V).T @ (V @ w - Y) / N)
        matrix, cross = query.parts(query.evaluate(rows))
        np.testing.assert_allclose(matrix, (weights[:, None] * V).T @ V / N)
        np.testing.assert_allclose(cross, (weights[:, None] * V).T @ Y / N)
        counts = HistogramQuery("target", np.array([0.0]), column=1).evaluate(rows)
        below = y[:, 1] < 0
        np.testing.assert_allclose(counts, [weights[below].sum(), weights[~below].sum()])


@pytest.mark.parametrize("n", [N, T])
def test_queries_about_one_target_refuse_rows_with_several(n):
    """Also where a row has as many targets as there are rows, and numpy would broadcast."""
    rng = np.random.default_rng(3)
    one = TargetBounds(-1.0, 1.0)
    X, y = rng.normal(size=(n, D)), rng.normal(size=(n, T))
    problem, w = Problem(Squared(), n, D, bounds(target=one)), np.zeros(D)
    for query in (
        SelectionQuery(problem, w, 0.5, np.arange(D), 1),
        ResidualQuantileQuery(problem, w, np.array([0.0, 1.0]), 0.5, True),
        NormalEquationsQuery(bounds(target=one), n, D, 0.4),
        GradientQuery(problem, w, 0.5),
        HistogramQuery("target", np.array([0.0])),
    ):
        with pytest.raises(ValueError, match=r"target\(s\)|real floats|broadcast|too deep"):
            query.evaluate(row_stores(X, y)["dense"])
