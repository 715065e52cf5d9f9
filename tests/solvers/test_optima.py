"""At a huge budget iterative solvers find scikit-learn's lasso and support vector machines, too."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.linear_model import Lasso
from sklearn.svm import SVC, LinearSVC
from tasks_for_solvers import solve
from test_every_solver import PRECISE

from skdp.problem import Problem, RowBounds, TargetBounds
from skdp.problem.losses import Hinge, OneVsRest, Squared, SquaredHinge
from skdp.problem.penalties import L1, L2

N, D = 300, 4
RNG = np.random.default_rng(3)
X = RNG.normal(size=(N, D))
X /= np.linalg.norm(X, axis=1).max()
SCORES = X @ [6.0, -4.0, 1.0, 0.0] + 0.5
REAL = np.clip(0.1 * SCORES + 0.05 * RNG.normal(size=N), -1, 1)
BINARY = (SCORES + RNG.logistic(size=N) > 0).astype(float)
SEVERAL = (X @ RNG.normal(size=(D, 3)) * 6 + RNG.gumbel(size=(N, 3))).argmax(axis=1).astype(float)
ALPHA = 0.003


def problem(loss, penalty, target=None):
    return Problem(loss, N, D, RowBounds(1.0, 1.0, target), penalty=penalty)


def of(model):
    return np.vstack([model.coef_.T, model.intercept_]).squeeze()


def machine(y):
    # The intercept is hardly penalised if its scaling is large.
    return of(LinearSVC(dual=False, intercept_scaling=1e3, tol=1e-10).fit(X, y))


def lasso():
    model = Lasso(ALPHA, tol=1e-12, max_iter=100_000).fit(X, REAL)
    return np.append(model.coef_, model.intercept_)


SMOOTH = {
    "lasso": (problem(Squared(), L1(ALPHA), TargetBounds(-1.0, 1.0)), REAL, lasso),
    "svm": (problem(SquaredHinge(), L2(1 / N)), BINARY, lambda: machine(BINARY)),
    "svm, several": (
        problem(OneVsRest(SquaredHinge(), 3), L2(1 / N)),
        SEVERAL,
        lambda: machine(SEVERAL),
    ),
}


def precise(option, task):
    """Settings as precise as in the battery; skips what the solver declines."""
    solver = PRECISE[option]
    if not isinstance(task.loss, Squared):
        # Derivatives of margins are larger than those of residuals.
        solver = replace(solver, clip=1e3)
    try:
        solver.check(task)
    except ValueError as refusal:
        pytest.skip(str(refusal))
    return solver


@pytest.mark.nightly
@pytest.mark.parametrize("name", SMOOTH)
@pytest.mark.parametrize("option", sorted(PRECISE))
def test_smooth_losses(option, name):
    task, y, reference = SMOOTH[name]
    expected = reference()
    found = solve(precise(option, task), task, X, y, 1e12)[0].w
    np.testing.assert_allclose(found, expected, atol=2e-3 * np.abs(expected).max())


@pytest.mark.nightly
@pytest.mark.parametrize("option", sorted(PRECISE))
def test_the_hinge_in_objective(option):
    """Steps of a fixed length end around a corner, not in it."""
    task = problem(Hinge(), L2(1 / N))
    solver = precise(option, task)
    theirs = SVC(kernel="linear", C=1.0, tol=1e-8).fit(X, BINARY)

    def objective(w):
        margins = (2 * BINARY - 1) * (X @ w[:D] + w[D])
        return np.maximum(0, 1 - margins).mean() + (w[:D] @ w[:D]) / (2 * N)

    best = objective(np.append(theirs.coef_, theirs.intercept_))
    assert best <= objective(solve(solver, task, X, BINARY, 1e12)[0].w) + 1e-6
    assert objective(solve(solver, task, X, BINARY, 1e12)[0].w) <= best * 1.01
