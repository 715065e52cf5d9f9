"""Examples of queries about single features, for the battery in ``test_every_query.py``."""

import numpy as np
from example_of_a_query import Example

from skdp.privacy.queries import (
    ColumnCellsQuery,
    ColumnMomentsQuery,
    ColumnTreeQuery,
    MagnitudeVotesQuery,
)
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


def random_counts(query):
    """Of rows within the bounds and beyond."""
    rng = np.random.default_rng(12)
    for bound in bounds():
        for columns in ((0, 1, 2), (2, 0), (1,)):
            rows = [rows_of_all_sizes(rng, bound) for _ in range(2)]
            yield Example(query(bound, columns), rows[0], np.zeros(N), rows[1], np.zeros(N))


def crafted_counts(query):
    """Every feature from one sign, size and end of its interval to another."""
    y = np.zeros(N)
    for bound in bounds():
        for columns in ((0, 1, 2), (2, 0)):
            # 2 and -5 of the half widths beyond the middle, and never a code of 0 or 1.
            left = np.tile(bound.centre - 5 * bound.half_width - 1e-12, (N, 1))
            right = np.tile(bound.centre + 2.1 * bound.half_width + 1e-12, (N, 1))
            yield Example(query(bound, columns), left, y, right, y)
            one = left.copy()
            one[:, columns[1:]] = 0.0
            if query is votes:
                yield Example(query(bound, columns), one, y, right, y)


def votes(bound, columns):
    return MagnitudeVotesQuery(columns)


def cells(bound, columns):
    chosen = list(columns)
    return ColumnCellsQuery(bound.low[chosen], bound.high[chosen], 8, columns)


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
    MagnitudeVotesQuery: (list(random_counts(votes)), list(crafted_counts(votes))),
    ColumnCellsQuery: (list(random_counts(cells)), list(crafted_counts(cells))),
}
