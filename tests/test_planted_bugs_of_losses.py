"""Bugs planted where losses meet the gradient query and the machine built on them.

Every test runs a check on the code as it is, which has to pass, and on the code with the bug, which
has to fail.
"""

from dataclasses import replace

import numpy as np
import pytest

from skdp.estimators import svm
from skdp.privacy.adjacency import Adjacency
from skdp.privacy.queries.gradient import GradientQuery
from skdp.problem.bounds import RowBounds
from skdp.problem.losses import Hinge, HuberisedHinge, Logistic, Loss, OneVsRest, SquaredHinge
from skdp.problem.penalties import ElasticNet
from skdp.problem.problem import Problem
from skdp.solvers import GD
from skdp.testing import check_sensitivity, exact_fit

N, D, K = 12, 3, 4
PROBLEM = Problem(OneVsRest(Hinge(), K), N, D, RowBounds(1.0))
TOO_FAR = "times its declared sensitivity"


def opposites():
    """Rows that are on the wrong side for all classes, and their opposites."""
    rows = np.tile([1.0, 0.0, 0.0], (N, 1))
    w = np.full((D, K), 5.0)
    w[:, 2] = -5.0
    return w, (rows, np.full(N, 2), -rows, np.full(N, 2))


@pytest.mark.parametrize("adjacency", Adjacency)
@pytest.mark.parametrize("clip", [None, 0.5])
@pytest.mark.parametrize("inner", [Hinge(), HuberisedHinge(), SquaredHinge(), Logistic()], ids=str)
def test_sensitivity_against_the_rest_holds_and_is_attained(inner, clip, adjacency):
    problem = replace(PROBLEM, loss=OneVsRest(inner, K))
    if clip is None and np.isinf(problem.lipschitz):
        clip = 3.0
    w, parts = opposites()
    assert check_sensitivity(GradientQuery(problem, w, clip), *parts, adjacency) <= 1
    # At zero all derivatives are as large as those of the inner loss there: sqrt(K) of them.
    at_zero = GradientQuery(problem, 0 * w, clip)
    slope = 2.0 * abs(float(inner.derivative(np.ones(1), np.zeros(1))[0]))
    share = check_sensitivity(at_zero, *parts, adjacency)
    assert share == pytest.approx(min(1.0, slope / at_zero.bound), rel=1e-9)


def test_clipping_each_class_by_itself_is_caught(monkeypatch):
    _, parts = opposites()
    query = GradientQuery(PROBLEM, np.zeros((D, K)), 0.5)
    check_sensitivity(query, *parts, Adjacency.REPLACE_ONE)

    def by_class(self, y, z, bound):
        return np.clip(self.derivative(y, z), -np.asarray(bound)[:, None], bound[:, None])

    monkeypatch.setattr(Loss, "clipped_derivative", by_class)
    with pytest.raises(AssertionError, match=TOO_FAR):
        check_sensitivity(query, *parts, Adjacency.REPLACE_ONE)


@pytest.mark.filterwarnings("ignore::skdp.SeededNoiseWarning")
def test_penalty_by_another_number_than_that_of_rows_is_caught(monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 2))
    y = (X[:, 0] + rng.normal(size=80) > 0).astype(int)

    def slope_at_the_solution():
        """Of C times the sum of losses plus half the squared norm: zero at a minimum."""
        model = svm.DPSVMClassifier(
            C=0.2,
            classes=[0, 1],
            data_norm=4.0,
            precondition=None,
            fit_intercept=False,
            loss="huberised_hinge",
            solver=GD(steps=800, total_step_size=8000.0, clip=1.0, momentum=0.9, average=0.05),
        )
        exact_fit(model, X, y)
        d = HuberisedHinge().derivative(y, X @ model.coef_[0])
        return np.abs(model.coef_[0] + 0.2 * X.T @ d).max()

    assert slope_at_the_solution() < 1e-4
    monkeypatch.setattr(svm, "ElasticNet", lambda alpha, ratio: ElasticNet(2 * alpha, ratio))
    assert slope_at_the_solution() > 1e-2
