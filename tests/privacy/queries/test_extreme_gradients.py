"""Gradients at weights, clips and rows so extreme that double precision could lose the bound."""

from dataclasses import replace
from math import inf, nan

import numpy as np
import pytest

from skdp.privacy import Adjacency
from skdp.privacy.accounting import Spend
from skdp.privacy.mechanisms import GaussianMechanism
from skdp.privacy.queries import GradientQuery
from skdp.problem import Problem, RowBounds
from skdp.problem.losses import (
    Hinge,
    HuberisedHinge,
    Logistic,
    OneVsRest,
    Softmax,
    Squared,
    SquaredHinge,
)
from skdp.solvers import GD
from skdp.testing import check_sensitivity, row_stores

N, D = 20, 3
PROBLEM = Problem(Squared(), N, D, RowBounds(2.0))
K = 4
REST = Problem(OneVsRest(Hinge(), K), N, D, RowBounds(1.0))


def neighbours(seed=0, n=N, size=1.0):
    rng = np.random.default_rng(seed)
    parts = []
    for _ in range(2):
        parts += [size * rng.normal(size=(n, D)), rng.integers(0, 2, n).astype(float)]
    return parts


def opposites(n=N):
    """Two directions from the same side of the hyperplane of w = (s, 0, 0)."""
    row = np.array([0.01, 1.0, 0.0])
    ones = np.ones(n)
    return [np.tile(row, (n, 1)), ones, np.tile(row * [1, -1, 1], (n, 1)), ones]


def check(query, parts, adjacency=Adjacency.REPLACE_ONE):
    # Infinite scores are asked for; numpy may say so.
    with np.errstate(all="ignore"):
        return check_sensitivity(query, *parts, adjacency)


def without_checks(problem, w, clip):
    """A query whose content was not looked at."""
    query = object.__new__(GradientQuery)
    for name, value in {"problem": problem, "w": w, "clip_norm": clip}.items():
        object.__setattr__(query, name, value)
    return query


def test_a_column_as_w_would_mix_rows_and_is_refused():
    w, parts = np.ones((D, 1)), neighbours()
    check(GradientQuery(PROBLEM, w[:, 0], 0.1), parts)
    with pytest.raises(ValueError, match=r"shape \(3,\), got float64 of shape \(3, 1\)"):
        GradientQuery(PROBLEM, w, 0.1)
    query = without_checks(PROBLEM, w, 0.1)
    # The second line of defence: the scores have the shape of w, the derivative has another.
    with pytest.raises(ValueError, match="Squared needs a derivative"):
        check(query, parts)


def test_a_complex_w_would_smuggle_exact_values_and_is_refused():
    w = np.ones(D) + 1e-9j
    with pytest.raises(ValueError, match="got complex128"):
        GradientQuery(PROBLEM, w, 0.1)
    with pytest.raises(ValueError, match="real floats"):
        check(without_checks(PROBLEM, w, 0.1), neighbours())


@pytest.mark.parametrize("weights", [(1.0, 5.0), (-1000.0, 1.0), (1.0, -7.0)])
def test_weights_of_either_sign_stay_within_the_bound(weights):
    """Negative ones cannot be asked for; the query would hold its bound in spite of them."""
    problem = replace(PROBLEM, loss=Logistic(), class_weight=(1.0, 1.0))
    if min(weights) < 0:
        with pytest.raises(ValueError, match="non-negative"):
            replace(problem, class_weight=weights)
    object.__setattr__(problem, "class_weight", weights)
    X, _, other_X, _ = opposites()
    heavy = float(np.argmax(np.abs(weights)))
    y = np.full(N, heavy)
    query = GradientQuery(problem, np.array([(1 - 2 * heavy) * 1e6, 0.0, 0.0]), 0.5)
    assert check(query, [X, y, other_X, y]) >= 0.99


@pytest.mark.parametrize(("data_norm", "clip"), [(1.0, 1e-180), (1e100, 1e-80)])
def test_a_clip_that_double_precision_cannot_keep_has_no_price(data_norm, clip):
    """Softmax derivatives of norm 1e-170, whose squares underflow, are not clipped to 1e-180."""
    problem = Problem(Softmax(2), N, D, RowBounds(data_norm))
    w = np.zeros((D, 2))
    w[0, 0] = np.log(1e170) / data_norm
    X, y = np.tile([data_norm, 0.0, 0.0], (N, 1)), np.zeros(N)
    query = GradientQuery(problem, w, clip)
    assert query.sensitivity(Adjacency.REPLACE_ONE) == inf
    with pytest.raises(ValueError, match="positive finite sensitivity, got inf"):
        GaussianMechanism.calibrated(query.sensitivity(Adjacency.REPLACE_ONE), Spend(1.0))
    # All rows are alike, so that their mean is a row's gradient.
    gradient = query.evaluate(row_stores(X, y)["dense"])
    assert np.abs(gradient).max() > 1e9 * query.bound


@pytest.mark.parametrize("clip", [1e-51, 1e-180])
def test_gradient_descent_refuses_a_clip_near_that_range(clip):
    with pytest.raises(ValueError, match="'clip' parameter of GD"):
        GD(clip=clip).check(PROBLEM)
    GD(clip=1e-50).check(PROBLEM)


@pytest.mark.parametrize("clip", [3e-140, 1e-3, 1e140])
@pytest.mark.parametrize("problem", [PROBLEM, replace(PROBLEM, loss=Softmax(3))], ids=["1", "3"])
@pytest.mark.by_day(1)
def test_bounds_within_the_range_hold(problem, clip):
    for value in (1.0, 1e6, 1e300, inf, nan):
        w = np.full(problem.shape, 0.1)
        w[0] = value
        parts = neighbours(size=1e-200 if value == inf else 1.0)
        query = GradientQuery(problem, w, clip)
        assert query.sensitivity(Adjacency.REPLACE_ONE) == pytest.approx(2 * query.bound / N)
        check(query, parts)


def against_the_rest():
    """Rows that are on the wrong side for all classes, and their opposites."""
    rows = np.tile([1.0, 0.0, 0.0], (N, 1))
    w = np.full((D, K), 5.0)
    w[:, 2] = -5.0
    return w, (rows, np.full(N, 2), -rows, np.full(N, 2))


@pytest.mark.parametrize("adjacency", Adjacency)
@pytest.mark.parametrize("clip", [None, 0.5])
@pytest.mark.parametrize("inner", [Hinge(), HuberisedHinge(), SquaredHinge(), Logistic()], ids=str)
@pytest.mark.by_day(1)
def test_sensitivity_against_the_rest_holds_and_is_attained(inner, clip, adjacency):
    problem = replace(REST, loss=OneVsRest(inner, K))
    if clip is None and np.isinf(problem.lipschitz):
        clip = 3.0
    w, parts = against_the_rest()
    check_sensitivity(GradientQuery(problem, w, clip), *parts, adjacency)
    # At zero all derivatives are as large as those of the inner loss there: sqrt(K) of them.
    at_zero = GradientQuery(problem, 0 * w, clip)
    slope = 2.0 * abs(float(inner.derivative(np.ones(1), np.zeros(1))[0]))
    share = check_sensitivity(at_zero, *parts, adjacency)
    assert share == pytest.approx(min(1.0, slope / at_zero.bound), rel=1e-9)
