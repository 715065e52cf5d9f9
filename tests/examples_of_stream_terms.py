"""Examples of what rows add to running sums, for the battery in ``test_every_query.py``."""

import numpy as np
from example_of_a_query import Example, data_of

from skdp.privacy.queries import StreamScoresQuery, StreamTermQuery
from skdp.problem import CountBounds, Problem, RowBounds, TargetBounds
from skdp.problem.constraints import L1Ball, Simplex
from skdp.problem.losses import Huber, Logistic, OneVsRest, Poisson, Softmax, Squared

N, D, NORM = 4, 3, 2.0
REGRESSION = (Squared, Huber)
LOSSES = [
    *(Logistic(), Softmax(2), Softmax(3), Squared(), Huber(0.25), Poisson()),
    OneVsRest(Logistic(), 3),
]
POLYTOPES = [L1Ball(0.5), Simplex(3.0)]


def problems(constraint=None):
    """Every loss; with an intercept and weighted classes, or with a polytope."""
    for loss in LOSSES:
        target = TargetBounds(-2.0, 6.0) if isinstance(loss, REGRESSION) else None
        target = CountBounds(0.0, 2.0) if loss.log_means else target
        weights = None if target else tuple([0.2, 7.0, 3.0][: max(2, loss.n_scores)])
        if constraint is None:
            for intercept in (0.0, 1.5):
                bounds = RowBounds(NORM, intercept, target)
                yield Problem(loss, N, D, bounds, class_weight=weights)
        else:
            for bound in (None, 0.5 * NORM)[: 1 + (loss == Logistic())]:
                bounds = RowBounds(NORM, target=target, feature_bound=bound)
                yield Problem(loss, N, D, bounds, class_weight=weights, constraint=constraint)


def terms(problem, rng):
    """Gradients, and recursive terms between near and far points."""
    w = rng.normal(size=problem.shape) * 10.0 ** rng.uniform(-2, 2)
    yield problem, w, None, 0, 0.2
    yield problem, w, w + 0.01 * rng.normal(size=w.shape), 50, 0.3
    yield problem, w, -w, 1e6, 1e-3


def random_terms(query, constraints, seed):
    rng = np.random.default_rng(seed)
    for constraint in constraints:
        for problem in problems(constraint):
            for term in list(terms(problem, rng))[1 - problem.loss.n_scores % 2 :]:
                yield Example(query(*term), *data_of(problem.loss, rng))


def opposite(term, row, query):
    """All rows alike, and all of them reversed, for the heaviest class or the farthest target."""
    weights = term[0].class_weight
    y = np.full(N, 6.0 if weights is None else float(np.argmax(weights)))
    X = 9.0 * np.tile(row, (N, 1))
    return Example(query(*term), X, y, -X, y)


def crafted_terms():
    # The intercept entry stays when a row is reversed.
    for problem in (p for p in problems() if not p.bounds.intercept_value):
        zero = np.zeros(problem.shape)
        yield opposite((problem, zero, None, 0, 0.2), [1.0, 0.0, 0.0], StreamTermQuery)
        yield opposite((problem, zero, zero, 9, 0.2), [1.0, 2.0, 0.0], StreamTermQuery)


def crafted_scores():
    for constraint in POLYTOPES:
        for problem in problems(constraint):
            pair = isinstance(constraint, Simplex) and problem.loss.n_scores == 1
            row = [1.0, -1.0, 0.0] if pair else [1.0, 0.0, 0.0]
            zero = np.zeros(problem.shape)
            yield opposite((problem, zero, None, 0, 0.2), row, StreamScoresQuery)


EXAMPLES = {
    StreamTermQuery: (list(random_terms(StreamTermQuery, [None], 1)), list(crafted_terms())),
    StreamScoresQuery: (
        list(random_terms(StreamScoresQuery, POLYTOPES, 2)),
        list(crafted_scores()),
    ),
}
