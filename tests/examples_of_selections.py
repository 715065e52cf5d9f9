"""Examples of queries that choose, for the battery in ``test_every_query.py``.

Their sensitivity is the range of the scores: how far the difference of two of them can move.
"""

import numpy as np
from example_of_a_query import Example, rows_of_all_sizes

from skdp.privacy.queries import ResidualQuantileQuery, SelectionQuery
from skdp.problem import Problem, RowBounds, RowMap, TargetBounds
from skdp.problem.losses import Squared

N, D = 6, 3
UNIT = TargetBounds(-1.0, 1.0)


def problem(norm=2.0, feature_bound=None, **bounds):
    rows = RowBounds(norm, target=UNIT, feature_bound=feature_bound, **bounds)
    k = D if rows.row_map is None else rows.row_map.n_features
    k = k if rows.columns is None else len(rows.columns)
    return Problem(Squared(), N, k, rows)


def problems():
    """With and without a bound on entries, an intercept, a map; cut to some columns."""
    rng = np.random.default_rng(12)
    yield problem()
    yield problem(norm=1e3, feature_bound=0.3)
    yield problem(feature_bound=0.3, intercept_value=0.7)
    yield problem(norm=2.0, columns=(2, 0))
    yield problem(norm=2.0, row_map=RowMap(np.ones(D), rng.normal(size=(D, 4)), np.ones(4), 1.5))


def random_selections():
    rng = np.random.default_rng(13)
    for p in problems():
        for clip in (1e-6, 0.2, 50.0):
            for w in (np.zeros(p.n_rows), rng.normal(size=p.n_rows)):
                candidates = np.arange(p.n_features)[rng.integers(2) :]
                query = SelectionQuery(p, w, clip, candidates, 2, bool(rng.integers(2)))
                X, other_X = rows_of_all_sizes(rng, N), rows_of_all_sizes(rng, N)
                yield Example(query, X, rng.normal(size=N), other_X, rng.normal(size=N))


def crafted_selections():
    """A row that pushed the first feature gives way to one that pushes the second.

    The others hold both sums so far above zero that the absolute value changes nothing.
    """
    for norm, feature_bound in ((2.0, None), (2.0, 0.3), (1e3, 0.3)):
        for signed in (False, True):
            p = problem(norm=norm, feature_bound=feature_bound)
            query = SelectionQuery(p, np.zeros(D), 0.1, np.arange(D), 1, signed)
            entry = query.entry
            base = np.tile([entry, entry, 0.0], (N, 1))
            before, after = base.copy(), base.copy()
            before[0], after[0] = [entry, -entry, 0.0], [-entry, entry, 0.0]
            others = np.tile([-entry, entry, 0.0], (N, 1))
            yield Example(query, before, np.ones(N), others, np.ones(N))


def random_quantiles():
    rng = np.random.default_rng(14)
    for p in problems():
        for share in (0.3, 0.5, 0.9):
            for sizes in (False, True):
                edges = np.linspace(0 if sizes else -1, 1, 9)
                w = 0.01 * rng.normal(size=p.n_rows)
                query = ResidualQuantileQuery(p, w, edges, share, sizes)
                targets = rng.uniform(-1, 1, size=(2, N))
                X, other_X = rows_of_all_sizes(rng, N), rows_of_all_sizes(rng, N)
                yield Example(query, X, targets[0], other_X, targets[1])


def crafted_quantiles():
    """The residuals in the middle change sides across all edges."""
    p = problem()
    for sizes in (False, True):
        low, high = (0.1, 0.9) if sizes else (-0.9, 0.9)
        edges = np.array([0.2, 0.4, 0.6])
        # How many rows lie below the first edge, below the second, and above all.
        for share, counts in ((0.5, (2, 2, 2)), (0.8, (3, 2, 1)), (0.2, (1, 2, 3))):
            query = ResidualQuantileQuery(p, np.zeros(D), edges, share, sizes)
            y, X = np.repeat([low, 0.3, high], counts), np.zeros((N, D))
            yield Example(query, X, y, X, np.full(N, high if share < 0.5 else low))


EXAMPLES = {
    SelectionQuery: (list(random_selections()), list(crafted_selections())),
    ResidualQuantileQuery: (list(random_quantiles()), list(crafted_quantiles())),
}
