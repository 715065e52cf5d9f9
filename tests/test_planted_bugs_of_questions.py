"""Bugs planted in the gradient query and in what it trusts: checks of sensitivity catch each.

Every test runs a check twice, on the code as it is, which has to pass, and on the code with the
bug, which has to fail.
"""

from dataclasses import dataclass, replace
from math import inf, nan, sqrt

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from skdp import DPLinearRegression, DPLogisticRegression
from skdp.privacy.accounting.ledger import Spend
from skdp.privacy.adjacency import Adjacency
from skdp.privacy.mechanisms.gaussian import GaussianMechanism
from skdp.privacy.oracle import PrivateOracle
from skdp.privacy.queries.gradient import GradientNormQuery, GradientQuery
from skdp.problem.bounds import RowBounds
from skdp.problem.losses import Huber, Logistic, Loss, Softmax, Squared
from skdp.problem.problem import Problem
from skdp.solvers import GD
from skdp.testing import check_sensitivity, row_stores

N, D = 60, 3
PROBLEM = Problem(Squared(), N, D, RowBounds(2.0))
TOO_FAR = "times its declared sensitivity"


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
    for name, value in {"problem": problem, "w": w, "clip": clip}.items():
        object.__setattr__(query, name, value)
    return query


def test_a_column_as_w_would_mix_rows_and_is_refused(monkeypatch):
    w, parts = np.ones((D, 1)), neighbours()
    check(GradientQuery(PROBLEM, w[:, 0], 0.1), parts)
    with pytest.raises(ValueError, match=r"shape \(3,\), got float64 of shape \(3, 1\)"):
        GradientQuery(PROBLEM, w, 0.1)
    query = without_checks(PROBLEM, w, 0.1)
    # The second line of defence: the scores have the shape of w, the derivative has another.
    with pytest.raises(ValueError, match="Squared needs a derivative"):
        check(query, parts)
    monkeypatch.setattr(Loss, "_checked", lambda self, d, z: d)
    with pytest.raises((AssertionError, ValueError)):
        check(query, parts)


def test_a_complex_w_would_smuggle_exact_values_and_is_refused():
    w = np.ones(D) + 1e-9j
    with pytest.raises(ValueError, match="got complex128"):
        GradientQuery(PROBLEM, w, 0.1)
    with pytest.raises(ValueError, match="real floats"):
        check(without_checks(PROBLEM, w, 0.1), neighbours())


@dataclass(frozen=True)
class Mix(Huber):
    """Derivatives at the mean score of the rows at hand."""

    def derivative(self, y, z):
        return Huber.derivative(self, y, np.full_like(z, z.mean()))


@dataclass(frozen=True)
class OwnClip(Squared):
    """Brings a clip of its own, which clips nothing."""

    def clipped_derivative(self, y, z, bound):  # the checker of types refuses it, Python does not
        return self.derivative(y, z)


def test_a_loss_that_mixes_rows_is_caught():
    X = np.tile([1.0, 1.0, 0.0], (N, 1))
    # The scores nearly cancel, so that one row turns the sign of their mean and all derivatives.
    X[1::2, 0] = -1.0
    X[1, 0] = -0.5
    parts, w = [X, np.zeros(N), np.tile([-1.0, 1.0, 0.0], (N, 1)), np.zeros(N)], [1e6, 0.0, 0.0]
    check(GradientQuery(replace(PROBLEM, loss=Huber()), w, 0.5), parts)
    with pytest.raises(AssertionError, match=TOO_FAR):
        check(GradientQuery(replace(PROBLEM, loss=Mix()), w, 0.5), parts)


def test_a_clip_that_a_loss_brings_itself_is_not_used(monkeypatch):
    query = GradientQuery(replace(PROBLEM, loss=OwnClip()), np.array([1e6, 0.0, 0.0]), 0.1)
    assert check(query, opposites()) >= 0.99

    def bug(self, block, z):
        limit = self.bound / block.norms
        loss = self.problem.loss
        return block.combine(loss.clipped_derivative(block.y, z, limit))

    monkeypatch.setattr(GradientQuery, "of_block", bug)
    with pytest.raises(AssertionError, match=TOO_FAR):
        check(query, opposites())


@pytest.mark.parametrize("weights", [(1.0, 5.0), (-1000.0, 1.0), (1.0, -7.0)])
def test_weights_of_either_sign_stay_within_the_bound(weights, monkeypatch):
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

    def bug(self, block, z):
        limit = self.bound / block.norms
        r = Loss.clipped_derivative(problem.loss, block.y, z, limit)
        return block.combine(r * np.take(weights, block.y.astype(int)))

    monkeypatch.setattr(GradientQuery, "of_block", bug)
    with pytest.raises(AssertionError, match=TOO_FAR):
        check(query, [X, y, other_X, y])


def fit_with_a_zero_row():
    """Features as large as may be, where all that numpy could complain about is an exception."""
    X, y, *_ = neighbours(size=1e99)
    X[3] = 0.0
    model = DPLinearRegression(
        epsilon=1e3,
        delta=1e-5,
        data_norm=1e100,
        target_bounds=(0, 1),
        fit_intercept=False,
        solver=GD(steps=2, clip=1e100),
    )
    with np.errstate(all="raise"):
        model.fit(X, y)


def test_numerical_accidents_of_a_row_neither_raise_nor_warn(monkeypatch):
    fit_with_a_zero_row()

    def bug(self, query, spend):
        mechanism = GaussianMechanism.calibrated(query.sensitivity(self._adjacency), spend)
        self._ledger.charge(mechanism.event(query.name))
        return mechanism.randomize(query.evaluate(self._rows), self._noise)

    monkeypatch.setattr(PrivateOracle, "_release", bug)
    with pytest.raises(FloatingPointError):
        fit_with_a_zero_row()


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


@pytest.mark.parametrize("clip", [1e308, inf, nan])
def test_a_clip_whose_sum_overflows_has_no_price(clip):
    query = GradientQuery(PROBLEM, PROBLEM.start(), clip)
    assert query.sensitivity(Adjacency.REPLACE_ONE) == inf


@pytest.mark.parametrize("clip", [3e-140, 1e-3, 1e140])
@pytest.mark.parametrize("problem", [PROBLEM, replace(PROBLEM, loss=Softmax(3))], ids=["1", "3"])
def test_bounds_within_the_range_hold(problem, clip):
    for value in (1.0, 1e6, 1e300, inf, nan):
        w = np.full(problem.shape, 0.1)
        w[0] = value
        parts = neighbours(size=1e-200 if value == inf else 1.0)
        query = GradientQuery(problem, w, clip)
        assert query.sensitivity(Adjacency.REPLACE_ONE) == pytest.approx(2 * query.bound / N)
        check(query, parts)


def test_the_norm_of_a_gradient_stays_within_the_bound_where_its_square_overflows(monkeypatch):
    query = GradientNormQuery(GradientQuery(PROBLEM, np.array([1e160, 0.0, 0.0]), 1e200))
    rows = row_stores(*neighbours()[:2])["dense"]

    def within_the_bound():
        with np.errstate(all="ignore"):
            return 0 < query.evaluate(rows) <= query.gradient.bound

    assert within_the_bound()

    def bug(self, rows):
        return np.asarray(np.linalg.norm(self.gradient.evaluate(rows)))

    monkeypatch.setattr(GradientNormQuery, "evaluate", bug)
    assert not within_the_bound()


def test_infinite_scores_of_tiny_rows_do_not_outlive_a_bound_that_overflows(monkeypatch):
    """bound / norm is infinite, and an infinite derivative would come through unclipped."""
    w, (X, y, other_X, _) = np.array([inf, 0.0, 0.0]), opposites()
    query = GradientQuery(PROBLEM, w, 1e200)
    parts = [1e-200 * X, y, 1e-200 * other_X, y]
    check(query, parts)

    def bug(self, block, z):
        limit = self.bound / block.norms
        r = Loss.clipped_derivative(self.problem.loss, block.y, z, limit)
        return np.nan_to_num(block.combine(r))

    monkeypatch.setattr(GradientQuery, "of_block", bug)
    with pytest.raises(AssertionError, match=TOO_FAR):
        check(query, [parts[0], y, np.zeros_like(X), y])


def test_clipping_does_not_undo_class_weights(monkeypatch):
    """At so large an epsilon a clipped weighted fit comes close to the one without privacy."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(4000, 2))
    y = (rng.random(4000) < 1 / (1 + np.exp(0.8 - 1.5 * X[:, 0]))).astype(int)
    weights = {0: 1, 1: 5}
    exact = LogisticRegression(class_weight=weights).fit(X, y).predict(X).mean()

    def distance():
        model = DPLogisticRegression(
            epsilon=1e3,
            delta=1e-5,
            data_norm=sqrt(2),
            classes=[0, 1],
            class_weight=weights,
            solver=GD(steps=200, total_step_size=3000.0, clip=0.1),
            precondition=None,
        )
        return abs(model.fit(X, y).predict(X).mean() - exact)

    fair = distance()

    def bug(self, block, z):
        weight = np.take(self.problem.class_weight, block.y.astype(int))
        limit = self.bound / (block.norms * weight)
        r = Loss.clipped_derivative(self.problem.loss, block.y, z, limit)
        return block.combine(r * weight)

    monkeypatch.setattr(GradientQuery, "of_block", bug)
    weakened = distance()
    assert fair < 0.5 * weakened, (fair, weakened, exact)
