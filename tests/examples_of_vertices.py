"""Examples of queries for the best vertex and for slopes, for ``test_every_query.py``."""

import numpy as np
from example_of_a_query import Example, data_of

from skdp.privacy.queries import InterceptGradientQuery, VertexQuery
from skdp.problem import Problem, RowBounds, RowMap, TargetBounds
from skdp.problem.losses import Logistic, Softmax, Squared

N, D = 4, 3
UNIT = TargetBounds(-1.0, 1.0)


def problems():
    """Every number of scores; with and without weights, an intercept, an entry bound, a map."""
    rng = np.random.default_rng(20)
    yield Problem(Logistic(), N, D, RowBounds(2.0))
    yield Problem(Logistic(), N, D, RowBounds(2.0, 0.7), class_weight=(0.2, 7.0))
    yield Problem(Softmax(3), N, D, RowBounds(2.0, 0.7), class_weight=(5.0, 1e-200, 5.0))
    yield Problem(Squared(), N, D, RowBounds(1e3, target=UNIT, feature_bound=0.3))
    mapped = RowMap(np.ones(D), rng.normal(size=(D, 4)), np.ones(4), 1.5)
    yield Problem(Logistic(), N, 4, RowBounds(2.0, row_map=mapped))


def random_vertices():
    rng = np.random.default_rng(21)
    for p in problems():
        for clip in (1e-6, 0.2, 50.0):
            for entry in (1e-3, 0.5, 1e6):
                two_sided, w = bool(rng.integers(2)), rng.normal(size=p.shape)
                ways = p.n_features * p.loss.n_scores * (1 + two_sided)
                known = [None, rng.normal(size=ways), rng.normal(size=ways + 1)][rng.integers(3)]
                query = VertexQuery(p, w, clip, entry, two_sided, known)
                yield Example(query, *data_of(p.loss, rng))


def at_the_clip(p, label):
    """A target for which the derivative at zero weights is beyond a clip of 0.1, on one side."""
    return np.full(N, label if not isinstance(p.loss, Squared) else 2.0 * label - 1)


def crafted_vertices():
    """Up and down along one coordinate, and two coordinates between which a row decides."""
    bare = [Problem(loss, N, D, RowBounds(2.0, target=t)) for loss, t in LOSSES]
    for p in [*bare, Problem(Logistic(), N, D, RowBounds(2.0), class_weight=(3.0, 3.0))]:
        for entry in (0.3, 5.0):
            query = VertexQuery(p, np.zeros(p.shape), 0.1, entry, True)
            row = np.tile([1e3, 0.0, 0.0], (N, 1))
            yield Example(query, row, at_the_clip(p, 0.0), -row, at_the_clip(p, 0.0))
            query = VertexQuery(p, np.zeros(p.shape), 0.1, entry, False)
            if p.loss.n_scores == 1:
                row = np.tile([1e3, -1e3, 0.0], (N, 1))
            if p.loss.n_scores in (1, 2):
                yield Example(query, row, at_the_clip(p, 0.0), -row, at_the_clip(p, 0.0))


LOSSES = [(Logistic(), None), (Softmax(2), None), (Softmax(3), None), (Squared(), UNIT)]


def random_slopes():
    rng = np.random.default_rng(22)
    for p in problems():
        for clip in (1e-6, 0.2, 50.0):
            query = InterceptGradientQuery(p, rng.normal(size=p.shape), clip)
            yield Example(query, *data_of(p.loss, rng))


def crafted_slopes():
    """Rows of the two classes at zero weights, where both derivatives are beyond the clip."""
    for loss, t in LOSSES:
        p, X = Problem(loss, N, D, RowBounds(2.0, target=t)), np.zeros((N, D))
        w = np.zeros(p.shape)
        if p.loss.n_scores == 3:
            # The third class is out of the query.
            p, w = Problem(loss, N, D, RowBounds(2.0, 1.0)), np.zeros((D + 1, 3))
            w[-1, 2] = -1e3
        for clip in (0.1, 0.4):
            query = InterceptGradientQuery(p, w, clip)
            yield Example(query, X, at_the_clip(p, 0.0), X, at_the_clip(p, 1.0))


EXAMPLES = {
    VertexQuery: (list(random_vertices()), list(crafted_vertices())),
    InterceptGradientQuery: (list(random_slopes()), list(crafted_slopes())),
}
