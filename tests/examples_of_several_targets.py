"""Examples of queries about rows with several targets."""

from math import sqrt

import numpy as np
from example_of_a_query import Example, rows_of_all_sizes

from skdp.privacy.queries import (
    GradientAndShareQuery,
    GradientDifferenceQuery,
    GradientQuery,
    GradientSizesQuery,
    HistogramQuery,
    NormalEquationsQuery,
)
from skdp.problem import Problem, RowBounds, RowMap, TargetBounds
from skdp.problem.losses import Huber, MultiTarget, Squared

N, D, T = 4, 3, 3
TARGET = TargetBounds((-2.0, -1.0, 1.0), (6.0, 1.0, 6.0))
LOSSES = (MultiTarget(Squared(), T), MultiTarget(Huber(0.25), T))


def bounds(intercept=0.0, row_map=None, target=TARGET):
    return RowBounds(2.0, intercept, target, row_map)


def problems():
    stretched = RowMap(np.full(D, 5.0), None, np.zeros(D), 3.0)
    for loss in LOSSES:
        for row_map, intercept in ((None, 0.0), (None, 1.5), (stretched, 0.7)):
            yield Problem(loss, N, D, bounds(intercept, row_map))


def queries(rng):
    for problem in problems():
        w, edges = rng.normal(size=problem.shape), np.geomspace(0.1, 10, 5)
        gradient = GradientQuery(problem, w, 0.3)
        yield gradient
        yield GradientAndShareQuery(gradient, 0.5)
        yield GradientDifferenceQuery(gradient, w + 0.1)
        yield GradientSizesQuery(problem, w, edges)
        yield NormalEquationsQuery(problem, 0.4)
        yield HistogramQuery("target", edges, column=1)
        yield HistogramQuery("target", edges, column=2)


def random_examples():
    rng = np.random.default_rng(0)
    for query in queries(rng):
        targets = 10.0 ** rng.uniform(-2, 3, (2, N, T)) * rng.choice([-1.0, 1.0], (2, N, T))
        X, other_X = rows_of_all_sizes(rng), rows_of_all_sizes(rng)
        yield Example(query, X, targets[0], other_X, targets[1])


def crafted_examples():
    """Rows whose vectors of residuals are opposite, as long as they may be."""
    X = np.tile([2.0, 0.0, 0.0], (N, 1))
    low, high = (np.tile(end, (N, 1)) for end in TARGET.ends)
    problem = Problem(LOSSES[0], N, D, bounds())
    # A row whose residuals are at their bounds, all of them.
    yield Example(GradientQuery(problem, np.zeros((D, T)), sqrt(T)), X, low, X, high)
    # At the angle for which the proof says that the bound is attained.
    balance = 0.4
    other = np.tile([2 * balance, 2 * sqrt(1 - balance**2), 0.0], (N, 1))
    yield Example(NormalEquationsQuery(problem, balance), X, low, other, high)
    yield Example(HistogramQuery("target", np.array([0.0]), column=1), X, low, X, high)


def by_query(examples):
    found = {}
    for example in examples:
        found.setdefault(type(example.query), []).append(example)
    return found


RANDOM, CRAFTED = by_query(random_examples()), by_query(crafted_examples())
EXAMPLES = {kind: (random, CRAFTED.get(kind, [])) for kind, random in RANDOM.items()}
