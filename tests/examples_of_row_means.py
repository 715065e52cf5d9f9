"""Examples of the query for means of rows, for the battery in ``test_every_query.py``."""

import numpy as np
from example_of_a_query import Example, rows_of_all_sizes

from skdp.privacy.queries import RowMeansQuery
from skdp.problem import ColumnBounds, ColumnScaling, Problem, RowBounds, RowMap
from skdp.problem.losses import Logistic

N, D = 4, 3


def bounds():
    """One-sided rows and others; as they come, damped, shifted, rotated; with an intercept."""
    rng = np.random.default_rng(9)
    damped = RowMap(np.array([0.2, 1.0, 0.5]), None, np.zeros(D), 0.7)
    shifted = RowMap(damped.scale, None, np.array([0.3, 0.0, 0.1]), 0.7)
    flipped = RowMap(np.array([0.2, -1.0, 0.5]), None, np.zeros(D), 0.7)
    rotated = RowMap(np.ones(D), rng.normal(size=(D, D)), np.zeros(D), 0.7)
    for nonnegative in (True, False):
        for row_map in (None, damped, shifted, flipped, rotated):
            for constant in (0.0, 0.4):
                yield RowBounds(2.0, constant, row_map=row_map, nonnegative=nonnegative)
        # Rows that are not negative as they come, and are on the scale that they are brought to.
        scaling = ColumnScaling.of_bounds(
            ColumnBounds(np.array([1.0, 1.0, 5.0]), np.array([3.0, 2.0, 6.0])), sparse=False
        )
        yield RowBounds(2.0, 0.4, nonnegative=nonnegative, scaling=scaling)


def row_means(bounds, k):
    return RowMeansQuery(Problem(Logistic(), N, D, bounds), k)


def random_means():
    rng = np.random.default_rng(10)
    for bound in bounds():
        for k in (1, 3):
            rows = [
                part
                for _ in range(2)
                for part in (rows_of_all_sizes(rng), rng.integers(0, k, N).astype(float))
            ]
            yield Example(row_means(bound, k), *rows)


def crafted_means():
    """Opposite rows; if rows are one-sided, orthogonal ones or those of different classes."""
    along, across = 9 * np.eye(D)[np.zeros(N, int)], 9 * np.eye(D)[np.ones(N, int)]
    first, last = np.zeros(N), np.ones(N)
    stretched = RowMap(np.full(D, 5.0), None, np.zeros(D), 3.0)
    for row_map in (None, stretched):
        signed = RowBounds(2.0, row_map=row_map)
        one_sided = RowBounds(2.0, row_map=row_map, nonnegative=True)
        for k in (1, 3):
            yield Example(row_means(signed, k), along, first, -along, first)
            yield Example(row_means(one_sided, k), along, first, across, first)
        yield Example(row_means(one_sided, 3), along, first, along, last)
    # A shift, or a matrix, takes rows without negative features to opposite sides.
    centred = RowMap(np.ones(D), None, np.eye(D)[0], 0.7)
    turned = RowMap(np.ones(D), np.array([[1.0, 0, 0], [-1, 0, 0], [0, 0, 1]]), np.zeros(D), 0.7)
    for row_map, other in ((centred, 0 * along), (turned, across)):
        both_sides = RowBounds(2.0, row_map=row_map, nonnegative=True)
        yield Example(row_means(both_sides, 1), along, first, other, first)
    # The intercept entry is part of a row; different classes do not share it.
    yield Example(row_means(RowBounds(2.0, 1.5, nonnegative=True), 2), along, first, along, last)


EXAMPLES = {RowMeansQuery: (list(random_means()), list(crafted_means()))}
