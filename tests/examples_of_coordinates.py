"""Examples of queries about rows in other coordinates, or cut to some columns."""

import numpy as np
from example_of_a_query import Example, rows_of_all_sizes

from skdp.privacy.queries import (
    GradientAndShareQuery,
    GradientDifferenceQuery,
    GradientNormQuery,
    GradientQuery,
    GradientSizesQuery,
    MomentsQuery,
    ResidualQuantileQuery,
    SelectionQuery,
)
from skdp.problem import Problem, RowBounds, RowMap, TargetBounds
from skdp.problem.losses import Logistic, Softmax, Squared

N, D = 6, 5
TARGET = TargetBounds(-1.0, 1.0)


def row_maps(rng):
    """Features scaled, mixed, added up in common coordinates, and both of the latter."""
    scale, together = rng.uniform(0.1, 3.0, D), np.array([2, 0, 3, 1, 0])
    yield RowMap(scale, None, rng.normal(size=D), 0.7)
    yield RowMap(scale, rng.normal(size=(D, 3)), rng.normal(size=3), 0.7)
    yield RowMap(scale, None, rng.normal(size=4), 0.7, sketch=together)
    yield RowMap(scale, rng.normal(size=(4, 3)), rng.normal(size=3), 0.7, sketch=together)


def all_bounds(rng):
    for row_map in row_maps(rng):
        for constant in (0.0, 0.4):
            yield RowBounds(2.0, constant, TARGET, row_map)
    mixing = RowMap(np.ones(2), rng.normal(size=(2, 3)), np.ones(3), 1.5)
    for constant, row_map in ((0.0, None), (0.5, None), (0.0, mixing)):
        yield RowBounds(2.0, constant, TARGET, row_map, columns=(3, 1))


def queries(bounds, rng, d=D):
    k = d if bounds.columns is None else len(bounds.columns)
    k = k if bounds.row_map is None else bounds.row_map.n_features
    for loss in (Logistic(), Softmax(3)):
        of_labels = RowBounds(**vars(bounds) | {"target": None})
        problem = Problem(loss, N, k, of_labels)
        yield GradientQuery(problem, 30 * rng.normal(size=problem.shape), 0.2)
    problem = Problem(Squared(), N, k, bounds)
    w = rng.normal(size=problem.shape)
    gradient = GradientQuery(problem, w, 0.3)
    yield gradient
    yield GradientNormQuery(gradient)
    yield GradientDifferenceQuery(gradient, w + rng.normal(size=w.shape))
    yield GradientAndShareQuery(gradient, 0.2)
    yield GradientSizesQuery(problem, w, np.geomspace(0.01, 1, 7))
    yield MomentsQuery(problem, True)
    yield SelectionQuery(problem, w, 0.2, np.arange(problem.n_features), 1)
    yield ResidualQuantileQuery(problem, w, np.linspace(-1, 1, 5), 0.4, sizes=True)


def random_examples():
    rng = np.random.default_rng(0)
    for query in (query for bounds in all_bounds(rng) for query in queries(bounds, rng)):
        loss = query.problem.loss if isinstance(query, GradientQuery) else Squared()
        classes = 0 if loss.squared else max(2, loss.n_scores)
        y, other_y = (
            rng.integers(classes, size=N) * 1.0 if classes else rng.uniform(-2, 2, N)
            for _ in range(2)
        )
        X, other_X = rows_of_all_sizes(rng, N, D), rows_of_all_sizes(rng, N, D)
        yield Example(query, X, y, other_X, other_y)


EXAMPLES = {}
for example in random_examples():
    EXAMPLES.setdefault(type(example.query), ([], []))[0].append(example)
