"""Examples of the queries about scores and curvatures of rows whose influence is bounded."""

from math import log, sqrt

import numpy as np
from example_of_a_query import Example, data_of

from skdp.privacy.queries import ScoreAndCurvatureQuery, ScoreMomentsQuery
from skdp.problem import (
    ColumnBounds,
    ColumnScaling,
    CountBounds,
    InfluenceBounds,
    Problem,
    RowBounds,
    TargetBounds,
)
from skdp.problem.losses import Hazard, Logistic, Poisson, Softmax, Squared

N, D = 4, 3
TARGET, COUNTS = TargetBounds(-4.0, 4.0), CountBounds(0.0, 2.0)
SCALING = ColumnScaling.of_bounds(
    ColumnBounds(np.array([-1.0, 0.0, -2e3]), np.array([2.0, 1e-3, 1e3])), sparse=False
)
HAZARD = Hazard((0.1, 1.0, 30.0), (0.3, 0.2, 2.0))
BALANCES = (0.05, 0.5, 1.0)


def problems():
    """All losses, with and without an intercept, as rows come and on another scale."""
    kinds = (Squared(), TARGET), (Logistic(), None), (Poisson(), COUNTS), (Softmax(3), None)
    for loss, target in (*kinds, (HAZARD, None)):
        for constant in (0.0, 0.7):
            for scaling in (None, SCALING):
                yield Problem(loss, N, D, RowBounds(2.0, constant, target, scaling=scaling))


def influences(problem, rng):
    """Few and many coordinates, models near zero and far away, and bounds of all sizes."""
    p = problem.n_parameters + problem.loss.of_times
    shape = (p,) if problem.loss.of_times else problem.shape
    for k in (1, p, p + 1):
        for size in (0.0, 0.1, 1e3):
            matrix, w = rng.normal(size=(p, k)), size * rng.normal(size=shape)
            alpha, score = 10.0 ** rng.uniform(-2, 2, size=2)
            scale = 10.0 ** rng.uniform(-2, 1) if problem.loss.squared else 1.0
            yield InfluenceBounds(w, matrix, alpha, score, scale)


def random_scores(seed, query_of):
    rng = np.random.default_rng(seed)
    for problem in problems():
        for influence in influences(problem, rng):
            query = query_of(problem, influence, rng)
            yield Example(query, *data_of(problem.loss, rng))


def random_curvatures(problem, influence, rng):
    return ScoreAndCurvatureQuery(problem, influence, rng.choice(BALANCES))


def random_moments(problem, influence, rng):
    w = influence.w + rng.normal(size=influence.w.shape)
    factor = influence.score**2 * rng.choice([0.0, 0.1, 1.0, 10.0])
    return ScoreMomentsQuery(problem, influence, w, factor)


def tiled(*row):
    return np.tile(row, (N, 1))


def crafted_squares():
    """Rows as long as may be, with large residuals, at the angle that attains the bound."""
    problem = Problem(Squared(), N, D, RowBounds(2.0, 0.0, TARGET))
    for c in BALANCES:
        for scale in (0.01, 1.0):
            influence = InfluenceBounds(np.zeros(D), np.diag([1.0, 2.0, 3.0]), 5.0, 0.9, scale)
            query = ScoreAndCurvatureQuery(problem, influence, c)
            length = sqrt(5.0)
            X = tiled(length, 0.0, 0.0)
            other_X = tiled(length * c, 0.5 * length * sqrt(1 - c**2), 0.0)
            yield Example(query, X, np.full(N, 4.0), other_X, np.full(N, -4.0))


def crafted_labels():
    """Rows that attain both bounds against others at the corner that the proof names."""
    problem, steep, alpha = Problem(Logistic(), N, D, RowBounds(2.0)), 1e9, 5.0
    share = 0.9
    # Score and curvature of a row of this length are both at their bounds, with a weight below 1.
    score = 0.5 * sqrt(alpha * share / (1 - share))
    longest = alpha / ((1 - share) * score)
    influence = InfluenceBounds(np.array([steep, 0.0, 0.0]), np.eye(D), alpha, score)
    sure = log(share / (1 - share)) / steep
    for c in (0.05, 0.2):
        query = ScoreAndCurvatureQuery(problem, influence, c)
        # Wrong about the class on either side.
        other_X = tiled(-sure, longest * c, longest * sqrt(1 - c**2))
        yield Example(query, tiled(sure, longest, 0.0), np.zeros(N), other_X, np.ones(N))
    for c in (0.5, 1.0):
        query = ScoreAndCurvatureQuery(problem, influence, c)
        # So sure, and so wrong, that there is a score and no curvature.
        other_X = tiled(-40.0 / steep, 1e3 * longest, 0.0)
        yield Example(query, tiled(sure, longest, 0.0), np.zeros(N), other_X, np.ones(N))


def crafted_counts():
    """A mean at both bounds without an event, against events where none is expected."""
    bounds, steep, alpha, mean = RowBounds(2.0, 0.0, CountBounds(0.0, 1.0)), 1e9, 5.0, 0.9
    score = 0.5 * sqrt(alpha * mean)
    longest = alpha / score
    influence = InfluenceBounds(np.array([steep, 0.0, 0.0]), np.eye(D), alpha, score)
    for c in (0.5, 1.0):
        query = ScoreAndCurvatureQuery(Problem(Poisson(), N, D, bounds), influence, c)
        other_X = tiled(-40.0 / steep, 1e3 * longest, 0.0)
        X = tiled(log(mean) / steep, longest, 0.0)
        yield Example(query, X, np.zeros(N), other_X, np.full(N, 7.0))


def torn(length, of_third, c=0.5):
    """Rows torn in different directions between two classes, and of a third on opposite sides."""
    problem, far, scores = Problem(Softmax(3), N, D, RowBounds(2.0)), np.zeros((D, 3)), TORN.copy()
    far[0, 2] = -1e9
    scores[1:, 2, 2] = of_third, -of_third
    influence = InfluenceBounds(far, scores.reshape(-1, 3), 4.0, 3.0)
    query, third = ScoreAndCurvatureQuery(problem, influence, c), np.full(N, 2.0)
    return Example(query, tiled(1e-7, length, 0.0), third, tiled(1e-7, 0.0, length), third)


# Scores of rows along the second and third feature for the first two of three classes.
TORN = np.zeros((D, 3, 3))
TORN[1, :2, 0] = TORN[2, :2, 1] = 2.0, -2.0


def crafted_classes():
    """Rows of weight 1, and of weight .04, at both of their bounds."""
    return [torn(*sizes, c) for c in BALANCES for sizes in ((1.0, 3.0), (5.0, 15.0))]


def timed(scale=1.0):
    """People of opposite places, there to the end of one period or of two: all but at the bound.

    Theorem I5 is not attained, as curvature and score of a row are along one direction nearly.
    """
    problem = Problem(Hazard((1.0, 2.0), (0.75, 16.0)), N, D, RowBounds(20.0))
    matrix = scale * np.array([[0.18, -2.42], [-0.11, 0.16], [0.0, 0.0], [0.08, -2.43]])
    influence = InfluenceBounds(np.zeros(D + 1), matrix, 1.0, 0.577)
    query = ScoreAndCurvatureQuery(problem, influence, 0.5)
    X, other_X = tiled(1.0, 0.0, 0.0), tiled(0.0, 1.0, 0.0)
    return Example(query, X, np.full(N, -2.0), other_X, np.full(N, -1.0))


def cancelled():
    """People whose place is, in the first period, that of their features less that of time.

    Nothing happens in the second, where the two add up. In double precision a curvature that is
    summed up from its parts is lost in their rounding.
    """
    problem = Problem(Hazard((1.0, 2.0), (1.0, 1e-40)), N, D, RowBounds(20.0))
    matrix = 1e9 * np.array([[1.0, 0.5], [0.0, 0.0], [0.0, 0.0], [1.0, 0.5]])
    influence = InfluenceBounds(np.zeros(D + 1), matrix, 1.0, 1e30)
    query, near = ScoreAndCurvatureQuery(problem, influence, 0.5), 1e-9 * np.linspace(-1, 1, 2 * N)
    X, other_X = (np.outer(1 + some, [1.0, 0.0, 0.0]) for some in (near[:N], near[N:]))
    return Example(query, X, np.full(N, -2.0), other_X, np.full(N, -2.0))


def crafted_moments():
    """Orthogonal scores at the bound, of a row that is weighted and clipped and one that is not."""
    within = 1 - 1e-6
    for factor in (0.0, 1.0, 10.0):
        problem = Problem(Squared(), N, D, RowBounds(2.0, 0.0, TARGET))
        influence = InfluenceBounds(np.zeros(D), np.eye(D), 9.0, 1.5)
        query = ScoreMomentsQuery(problem, influence, np.zeros(D), factor)
        X, other_X = tiled(3.0 / within, 0.0, 0.0), tiled(0.0, 3.0 * within, 0.0)
        yield Example(query, X, np.full(N, 4.0), other_X, np.full(N, 2.0 * within))
        # Rows weighed where they are half sure, and scores taken where they are quite wrong.
        problem, wrong = Problem(Logistic(), N, D, RowBounds(2.0)), np.array([0.0, 0.0, 1e9])
        influence = InfluenceBounds(np.zeros(D), np.eye(D), 1e4, 2.0)
        query = ScoreMomentsQuery(problem, influence, wrong, factor)
        X, other_X = tiled(90.0, 0.0, 1e-6), tiled(0.0, 2.0 * within, 1e-6)
        yield Example(query, X, np.zeros(N), other_X, np.zeros(N))
        # The same of three classes, weighed where each is as likely.
        problem, wrong = Problem(Softmax(3), N, D, RowBounds(2.0)), np.zeros((D, 3))
        wrong[2, 0] = -1e9
        matrix = np.kron(np.eye(D), [[2.0], [-1.0], [-1.0]])
        influence = InfluenceBounds(np.zeros((D, 3)), matrix, 1e9, 2.0)
        query = ScoreMomentsQuery(problem, influence, wrong, factor)
        X, other_X = tiled(90.0, 0.0, 1e-6), tiled(0.0, within * 2 / 3, 1e-6)
        yield Example(query, X, np.zeros(N), other_X, np.zeros(N))
        # The same of times: weighed where risks are even, and seen to the end at a high one.
        problem, wrong = Problem(HAZARD, N, D, RowBounds(2.0)), np.array([0.0, 0.0, 1e9, 0.0])
        # Their scores have an entry of the trend, so small that they are orthogonal nearly.
        matrix = np.diag([1.0, 1.0, 1.0, 1e-3])
        influence = InfluenceBounds(np.zeros(D + 1), matrix, 1e9, 2.0)
        query = ScoreMomentsQuery(problem, influence, wrong, factor)
        X, other_X = tiled(90.0, 0.0, 1e-6), tiled(0.0, 2.0 * within, 1e-6)
        yield Example(query, X, np.full(N, -99.0), other_X, np.full(N, -99.0))


EXAMPLES = {
    ScoreAndCurvatureQuery: (
        list(random_scores(21, random_curvatures)),
        [*crafted_squares(), *crafted_labels(), *crafted_counts(), *crafted_classes()],
    ),
    ScoreMomentsQuery: (list(random_scores(22, random_moments)), list(crafted_moments())),
}
