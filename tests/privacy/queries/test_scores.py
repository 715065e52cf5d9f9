"""Scores, curvatures and second moments of scores, as defined, in every layout."""

from math import exp, log, sqrt

import numpy as np
import pytest
from examples_of_scores import cancelled, timed

from skdp.privacy import Adjacency
from skdp.privacy.queries import ScoreAndCurvatureQuery, ScoreMomentsQuery
from skdp.privacy.rows import DenseRows, PrivacyUnits
from skdp.problem import InfluenceBounds, Problem, RowBounds, TargetBounds
from skdp.problem.losses import Hazard, Logistic, Softmax, Squared
from skdp.testing import row_stores

N, D = 6, 3
TARGET = TargetBounds(-4.0, 4.0)
SQUARED = Problem(Squared(), N, D, RowBounds(2.0, 0.7, TARGET))
LOGISTIC = Problem(Logistic(), N, D, RowBounds(2.0, 0.7))
CLASSES = Problem(Softmax(3), N, D, RowBounds(2.0, 0.7))
TIMES = Problem(Hazard((1.0, 2.0, 4.0), (0.4, 0.3, 0.9)), N, D, RowBounds(2.0, 0.7))
EACH = pytest.mark.parametrize(
    "problem",
    [SQUARED, LOGISTIC, CLASSES, TIMES],
    ids=["squared", "logistic", "softmax", "hazard"],
)


def case(problem, alpha=2.0, score=1.1):
    rng = np.random.default_rng(1)
    scale = 0.4 if problem.loss.squared else 1.0
    p = problem.n_parameters + problem.loss.of_times
    shape = (p,) if problem.loss.of_times else problem.shape
    w, matrix = rng.normal(size=shape), rng.normal(size=(p, 2))
    influence = InfluenceBounds(w, matrix, alpha, score, scale)
    X = 3 * rng.normal(size=(N, D))
    y = 3 * rng.normal(size=N)
    if not (problem.loss.squared or problem.loss.of_times):
        y = rng.integers(0, max(2, problem.loss.n_scores), N).astype(float)
    return influence, X, y


def by_definition(problem, influence, row, target, at):
    """Weight, curvature, score before any clip and the factor that clips it, of one row."""
    v = [*row, problem.bounds.intercept_value]
    if problem.loss.n_scores > 1:
        return of_classes(influence, v, int(target), at)
    if problem.loss.of_times:
        return of_times(problem.loss, influence, v, target, at)
    u = np.array([sum(a * b for a, b in zip(v, col, strict=True)) for col in influence.matrix.T])
    length = sqrt(sum(a * a for a in u))
    z, at = (sum(a * b for a, b in zip(v, w, strict=True)) for w in (influence.w, at))
    clip = 1.0
    if problem.loss.squared:
        h, bound = 1.0, influence.score / sqrt(influence.curvature)
        r = (min(max(target, -4.0), 4.0) / 4.0 - at) / influence.scale
        clip = min(1.0, bound / abs(r))
    else:
        p = 1 / (1 + exp(-z))
        h, bound, r = p * (1 - p), max(p, 1 - p), target - 1 / (1 + exp(-at))
    weight = min(1.0, influence.curvature / (h * length**2), influence.score / (bound * length))
    return weight, h * np.outer(u, u), r * u, clip


def of_classes(influence, v, label, at):
    """The same for several classes: moments of what scores would be over the classes."""
    U = [sum(a * b for a, b in zip(v, influence.matrix[c::3], strict=True)) for c in range(3)]
    shares = []
    for w in (influence.w, at):
        powers = [exp(sum(a * b for a, b in zip(v, w[:, c], strict=True))) for c in range(3)]
        shares.append([power / sum(powers) for power in powers])
    mean, at_mean = (sum(p * u for p, u in zip(share, U, strict=True)) for share in shares)
    apart = [u - mean for u in U]
    H = sum(p * np.outer(a, a) for p, a in zip(shares[0], apart, strict=True))
    longest = max(np.linalg.norm(a) for a in apart)
    bounds = influence.curvature / np.linalg.norm(H), influence.score / longest
    return min(1.0, *bounds), H, U[label] - at_mean, 1.0


def of_times(loss, influence, v, target, at):
    """The same for times: sums over periods of what somebody adds who is there in them."""
    *of_rows, of_trend = influence.matrix
    u = [
        sum(a * b for a, b in zip(v, column, strict=True)) for column in zip(*of_rows, strict=True)
    ]
    places = [np.array(u) + s * of_trend for s in (-1.0, 0.0, 1.0)]

    def curves(w):
        risk = exp(sum(a * b for a, b in zip(v, w[:-1], strict=True)))
        h = [
            hazard * exp(w[-1] * s) * risk
            for hazard, s in zip(loss.hazards, (-1, 0, 1), strict=True)
        ]
        return h, [1.0, *(exp(-sum(h[: k + 1])) for k in range(3))]

    def score(time, event, w):
        (_, S), g, start = curves(w), np.zeros(2), 0.0
        for k, end in enumerate(loss.times):
            if event and start < time <= end:
                return g + S[k + 1] * places[k]
            part = min(max((time - start) / (end - start), 0.0), 1.0)
            g, start = g - part * (S[k] - S[k + 1]) * places[k], end
        return g

    h, S = curves(influence.w)
    slopes = [h[k] * S[k + 1] for k in range(3)]
    # Nobody adds more than who is there to the end of a period or has an event there.
    far = [np.linalg.norm(score(t, e, influence.w)) for t in loss.times for e in (True, False)]
    trace = sum(e * (u @ u) for e, u in zip(slopes, places, strict=True))
    H, start = np.zeros((2, 2)), 0.0
    for k, end in enumerate(loss.times):
        part = min(max((abs(target) - start) / (end - start), 0.0), 1.0)
        if target > 0 and start < target <= end:
            part = 1.0
        H, start = H + part * slopes[k] * np.outer(places[k], places[k]), end
    weight = min(1.0, influence.curvature / trace, influence.score / max(far))
    return weight, H, score(abs(target), target > 0, at), 1.0


@EACH
@pytest.mark.parametrize("alpha", [0.5, 500.0])
def test_curvature_and_score_are_sums_over_weighted_rows(problem, alpha):
    influence, X, y = case(problem, alpha)
    query = ScoreAndCurvatureQuery(problem, influence, 0.3)
    H, g, squares = np.zeros((2, 2)), np.zeros(2), 0.0
    for row, target in zip(X, y, strict=True):
        weight, h, q, clip = by_definition(problem, influence, row, target, influence.w)
        H += weight * h / N
        g += weight * clip * q / N
        if problem.loss.squared:
            squares += weight * (clip**2) * (q @ q) / np.trace(h) / N
    for layout, rows in row_stores(X, y).items():
        exact = {"rtol": 1e-5 if "single" in layout else 1e-11, "err_msg": layout}
        curvature, score, of_squares = query.parts(query.evaluate(rows))
        np.testing.assert_allclose(curvature, H, **exact)
        np.testing.assert_allclose(score, g, **exact)
        if problem.loss.squared:
            np.testing.assert_allclose(of_squares, squares, **exact)
        else:
            assert of_squares is None


@EACH
@pytest.mark.parametrize("weights", [None, np.linspace(0.0, 1.0, N)])
def test_moments_of_scores_are_sums_over_weighted_rows(problem, weights):
    influence, X, y = case(problem)
    at = influence.w + 0.5
    query = ScoreMomentsQuery(problem, influence, at, 0.7)
    J, shares = np.zeros((2, 2)), np.zeros(2)
    for i in range(N):
        own = 1.0 if weights is None else float(np.floor(weights[i] * 2**26) / 2**26)
        weight, _, q, clip = by_definition(problem, influence, X[i], y[i], at)
        q = weight * clip * q
        longer = float(np.linalg.norm(q)) / influence.score
        cut = clip < 1 if problem.loss.squared else longer > 1
        q *= own / max(1.0, longer)
        J, shares = J + np.outer(q, q) / N, shares + own * np.array([weight < 1, cut]) / N
    assert 0 < shares[0] < 1
    for layout, rows in row_stores(X, y, weights).items():
        exact = {"rtol": 1e-5 if "single" in layout else 1e-11, "err_msg": layout}
        moments, of_rows = query.parts(query.evaluate(rows))
        np.testing.assert_allclose(moments, J, **exact)
        np.testing.assert_allclose(of_rows, shares, **exact)


@pytest.mark.parametrize("alpha", [1.0, 3e-16, 1e-120])
def test_long_rows_stay_within_small_bounds(alpha):
    """Weights of rows as long as numbers can be would have few digits."""
    problem = Problem(Squared(), 1, 1, RowBounds(1.0, 0.0, TARGET))
    influence = InfluenceBounds(np.zeros(1), np.array([[1e4]]), alpha, 1e-3, 1.0)
    query = ScoreAndCurvatureQuery(problem, influence, 0.5)
    most = query.sensitivity(Adjacency.ZERO_OUT) * (1 + 1e-9)
    lengths = np.concatenate([np.linspace(1.0e150, 1.34e150, 200), np.logspace(-10, 150, 321)])
    answers = [query.evaluate(DenseRows(np.array([[x]]), np.ones(1))) for x in lengths]
    assert 0 < np.linalg.norm(answers, axis=1).max() <= most


@pytest.mark.parametrize("scale", [0.5, 1.0])
def test_people_of_opposite_places_are_nearly_as_far_apart_as_declared(scale):
    assert 0.8 < timed(scale).check(Adjacency.REPLACE_ONE) <= 1


def test_parts_of_a_curvature_that_cancel_are_within_its_bound_and_margin():
    example = cancelled()
    assert example.query.rounding < 1e-4
    for adjacency in Adjacency:
        example.check(adjacency)


def test_rows_that_one_person_has_do_not_decide_which_scores_of_others_are_clipped():
    """Kernels of linear algebra may round by the place of a row, which tells how many others have.

    Scores of times over twelve periods, at a bound between two roundings of the same number.
    """
    rng, K, people, moves = np.random.default_rng(0), 12, 7, []
    matrix, x, far = np.diag([0.0, 1.0]), np.ones(1), np.array([-2.0, 0.0])
    for _ in range(40):
        loss = Hazard(tuple(range(1, K + 1)), tuple(rng.uniform(0.05, 0.3, K)))
        problem = Problem(loss, people, 1, RowBounds(1.0))
        near, last = np.array([log(0.7 / loss.hazards[0]), 0.0]), loss.times[-1]
        score, _ = loss.by_period(np.full(9, last), np.full(9, far[0]))
        # Several ways of rounding the length of the score.
        lengths = np.append(np.abs(score @ loss.trend), np.abs(np.sum(score * loss.trend, axis=1)))
        for length in np.unique(lengths / (1 + 1e-9)):
            for bound in (np.nextafter(length, 0), length, np.nextafter(length, 9)):
                influence = InfluenceBounds(near, matrix, 1e6, bound)
                query = ScoreMomentsQuery(problem, influence, far, 10 * bound**2)
                answers = []
                for own in (1, 2, 3, 4):
                    units = np.concatenate([np.zeros(own, dtype=int), np.arange(1, people)])
                    X, y = np.tile(x, (units.size, 1)), np.full(units.size, last)
                    rows = DenseRows(X, y, units=PrivacyUnits.of(units))
                    answers.append(query.evaluate(rows))
                apart = max(np.linalg.norm(a - answers[0]) for a in answers)
                moves.append(apart / query.sensitivity(Adjacency.REPLACE_ONE))
    # All rows of all people are alike, however many there are.
    assert max(moves) < 1e-9
