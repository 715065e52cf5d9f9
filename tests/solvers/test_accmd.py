"""Accelerated mirror descent: one noisy gradient a step, and the geometry of the set."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from by_night import by_night
from tasks_for_solvers import solve

from skdp.problem import Problem, RowBounds
from skdp.problem.constraints import Box, L1Ball, L2Ball, LpBall, Simplex
from skdp.problem.losses import Logistic
from skdp.problem.penalties import L1, L2
from skdp.solvers import GD, AccMD

N = 1000


def one_good_feature(d, constraint):
    """Rows of two entries; the first feature tells the class, the others are noise."""
    rng = np.random.default_rng(0)
    signs = rng.choice([-1.0, 1.0], size=(2, N)) / np.sqrt(2)
    where = (np.tile(np.arange(N), 2), np.append(np.zeros(N, int), rng.integers(1, d, N)))
    X = sp.csr_array((signs.ravel(), where), shape=(N, d))
    y = (rng.uniform(size=N) < 1 / (1 + np.exp(-5 * signs[0]))).astype(float)
    return Problem(Logistic(), N, d, RowBounds(1.0), sparse=True, constraint=constraint), X, y


def objective(w, X, y):
    z = X @ w
    return np.mean(np.logaddexp(0, z) - y * z)


@pytest.mark.parametrize("constraint", [L1Ball(5.0), L2Ball(5.0)], ids=str)
@pytest.mark.parametrize("steps", [1, 2])
def test_answer_is_random_even_after_one_step(steps, constraint):
    # As printed, with the exact gradient in the y step, T = 1 gives the same y for all noise.
    problem, X, y = one_good_feature(500, constraint)
    found = [solve(AccMD(steps=steps), problem, X, y, seed=seed)[0].w for seed in range(2)]
    assert not np.any(found[0] == found[1])


def test_asks_for_one_gradient_a_step_and_for_nothing_else():
    problem, X, y = one_good_feature(50, L1Ball(5.0))
    solution, _, ledger = solve(AccMD(steps=7), problem, X, y)
    assert solution.n_iter == 7
    assert [(e.query, e.count) for e in ledger.receipt()] == [("gradient", 7)]


@pytest.mark.nightly
def test_error_on_the_l1_ball_grows_like_the_logarithm_of_the_dimension():
    def excess(solver, d):
        problem, X, y = one_good_feature(d, L1Ball(5.0))
        # The features besides the first are worth little; this is close to the optimum.
        best = min(objective(w * np.eye(1, d)[0], X, y) for w in np.linspace(0, 5, 101))
        # A budget so small that noise is seen: answers differ by a third of their excess.
        found = [solve(solver, problem, X, y, 0.2, seed)[0].w for seed in range(6)]
        return np.mean([objective(w, X, y) - best for w in found])

    few, some, many = (excess(AccMD(), d) for d in (100, 1000, 10_000))
    # The bound has log(2 d) + 1, whose ratio is 1.73, and terms without d.
    assert some < 2 * few
    assert many < 3 * few
    # Without the geometry, the error grows to that of no model at all, 0.57.
    assert many < 0.1 * excess(AccMD(geometry="euclidean"), 10_000)
    assert many < 0.1 * excess(GD(), 10_000)


@pytest.mark.parametrize(
    "constraint",
    [L1Ball(3.0), *by_night(Simplex(2.0), LpBall(3.0, 1.2), LpBall(2.0, 3.0))],
    ids=str,
)
@pytest.mark.nightly
def test_huge_budget_in_every_geometry_agrees_with_projected_gradient_descent(constraint):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, 60))
    X /= np.linalg.norm(X, axis=1).max()
    y = (X[:, 0] - X[:, 1] + 0.3 + 0.3 * rng.normal(size=N) > 0).astype(float)
    problem = Problem(
        Logistic(), N, 60, RowBounds(1.0, 1.0), constraint=constraint, penalty=L2(0.01)
    )
    reference = GD(steps=1000, total_step_size=5000.0, clip=2.0, momentum=0.9, average=0.05)

    def value(w):
        z = X @ w[:-1] + w[-1]
        return np.mean(np.logaddexp(0, z) - y * z) + problem.penalty.value(w[:-1])

    best = value(solve(reference, problem, X, y, 1e12)[0].w)
    start = value(problem.start())
    found, *_ = solve(AccMD(steps=1000, clip=2.0), problem, X, y, 1e9)
    assert constraint.contains(found.w[:-1])
    assert value(found.w) - best <= 0.002 * (start - best)


def test_starts_where_the_problem_says_in_every_geometry():
    for constraint in (L1Ball(5.0), LpBall(5.0, 1.1), Simplex(5.0)):
        problem, X, y = one_good_feature(300, constraint)
        initial = constraint.project(np.linspace(0, 0.01, 300))
        problem = replace(problem, initial=initial)
        solution, *_ = solve(AccMD(steps=1, total_step_size=1e-9), problem, X, y)
        np.testing.assert_allclose(solution.w, initial, atol=0.01)


def test_longer_rows_need_shorter_weights_and_nothing_else():
    problem, X, y = one_good_feature(400, L1Ball(5.0))
    found = solve(AccMD(), problem, X, y)[0].w
    # A power of two scales the grid of answers, too.
    scaled = replace(problem, bounds=RowBounds(8.0), constraint=L1Ball(5.0 / 8))
    np.testing.assert_allclose(8 * solve(AccMD(), scaled, 8 * X, y)[0].w, found, rtol=1e-9)


def test_penalty_without_a_gradient_is_taken_in_the_euclidean_geometry():
    problem, X, y = one_good_feature(2000, L1Ball(5.0))
    lasso = replace(problem, penalty=L1(10.0))
    np.testing.assert_array_equal(solve(AccMD(), lasso, X, y)[0].w, np.zeros(2000))


def test_radius_sets_the_step_and_bounds_nothing():
    problem, X, y = one_good_feature(20, Box(-50.0, 50.0))
    small, large = (solve(AccMD(radius=r), problem, X, y)[0].w for r in (0.01, 5.0))
    assert np.linalg.norm(small) < np.linalg.norm(large)
    assert np.linalg.norm(small) > 0.01


def test_a_set_that_is_hardly_more_than_a_point_is_not_left():
    problem, X, y = one_good_feature(50, L2Ball(1e-300))
    solution, _, ledger = solve(AccMD(steps=3), problem, X, y)
    assert np.all(np.abs(solution.w) <= 1e-300)
    assert ledger.receipt()


@pytest.mark.parametrize("ball", [L1Ball(1e200), L2Ball(1e200), LpBall(1e200, 1.5), Simplex(1e200)])
def test_a_set_that_is_all_but_unbounded_needs_no_square_of_its_size(ball):
    problem, X, y = one_good_feature(50, ball)
    solution, *_ = solve(AccMD(steps=3), problem, X, y)
    assert np.isfinite(solution.w).all()
