"""Examples of queries about single features, for the battery in ``test_every_query.py``."""

import numpy as np
from example_of_a_query import Example

from skdp.privacy.queries import ColumnCountsQuery, ColumnMomentsQuery, ColumnTreeQuery
from skdp.problem import ColumnBounds

N, D = 4, 3


def bounds():
    """Around zero, apart from it, and of very different widths."""
    yield ColumnBounds(np.full(D, -1.0), np.full(D, 1.0))
    yield ColumnBounds(np.array([-2.0, 1.0, 0.0]), np.array([2.0, 1.5, 1e6]))
    yield ColumnBounds(np.array([-1e-9, -5.0, 3.0]), np.array([2e-9, -4.0, 1e12]))


def rows_of_all_sizes(rng, bound):
    """Inside the bounds and outside, zero, huge and tiny."""
    X = rng.uniform(bound.low - bound.half_width, bound.high + bound.half_width, size=(N, D))
    X[rng.random((N, D)) < 0.2] = 0.0
    X[rng.integers(N)] *= rng.choice([1e290, -1e200, 1e-290])
    return np.clip(X, -1e305, 1e305)


def random_moments():
    rng = np.random.default_rng(11)
    for bound in bounds():
        for _ in range(4):
            rows = [rows_of_all_sizes(rng, bound) for _ in range(2)]
            yield Example(ColumnMomentsQuery(bound, N), rows[0], np.zeros(N), rows[1], np.zeros(N))


def crafted_moments():
    """Every feature from one end of its interval, or from beyond, to the other."""
    y = np.zeros(N)
    for bound in bounds():
        for reach in (1.0, 7.0):
            low = np.tile(bound.centre - reach * bound.half_width, (N, 1))
            high = np.tile(bound.centre + reach * bound.half_width, (N, 1))
            yield Example(ColumnMomentsQuery(bound, N), low, y, high, y)


def random_counts():
    rng = np.random.default_rng(12)
    for bound in bounds():
        for k in (1, 2, 5):
            edges = rng.uniform(bound.low, bound.high, size=(k, D)).T
            rows = [rows_of_all_sizes(rng, bound) for _ in range(2)]
            for sizes in (False, True):
                query = ColumnCountsQuery(edges, sizes)
                yield Example(query, rows[0], np.zeros(N), rows[1], np.zeros(N))
            some = ColumnCountsQuery(edges[[2, 0]], columns=(2, 0))
            yield Example(some, rows[0], np.zeros(N), rows[1], np.zeros(N))


def crafted_counts():
    """Every feature from below its edges to above them."""
    y = np.zeros(N)
    for edges in (np.zeros((D, 2)), np.array([[-1.0, 4.0], [0.0, 0.1], [1e5, -3.0]])):
        below = np.tile(edges.min(axis=1) - 1, (N, 1))
        above = np.tile(edges.max(axis=1) + 1, (N, 1))
        yield Example(ColumnCountsQuery(edges), below, y, above, y)
        yield Example(ColumnCountsQuery(edges[1:], columns=(1, 2)), below, y, above, y)


def random_trees():
    rng = np.random.default_rng(13)
    for bound in bounds():
        for levels in (1, 2, 3):
            rows = [rows_of_all_sizes(rng, bound) for _ in range(2)]
            query = ColumnTreeQuery(bound, levels)
            yield Example(query, rows[0], np.zeros(N), rows[1], np.zeros(N))


def crafted_trees():
    """Every feature from the lowest cell of its range, or from below, to the highest."""
    y = np.zeros(N)
    for bound in bounds():
        for levels in (1, 3):
            for reach in (1.0, 7.0):
                low = np.tile(bound.centre - reach * bound.half_width, (N, 1))
                high = np.tile(bound.centre + reach * bound.half_width, (N, 1))
                yield Example(ColumnTreeQuery(bound, levels), low, y, high, y)


EXAMPLES = {
    ColumnTreeQuery: (list(random_trees()), list(crafted_trees())),
    ColumnMomentsQuery: (list(random_moments()), list(crafted_moments())),
    ColumnCountsQuery: (list(random_counts()), list(crafted_counts())),
}
