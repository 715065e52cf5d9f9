"""The proximal point method: stages, their models, and one budget for all of them."""

from dataclasses import replace

import numpy as np
import pytest
from tasks_for_solvers import solve

from skdp.problem import Problem, RowBounds, TargetBounds
from skdp.problem.constraints import L2Ball
from skdp.problem.losses import Hinge, Huber, Logistic, Squared
from skdp.problem.penalties import L2
from skdp.solvers import PPM

N, D = 200, 3
NO_NOISE = 1e12


def linear_task(loss, **extras):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, D))
    X /= np.linalg.norm(X, axis=1).max()
    y = X @ [0.5, -0.3, 0.1]
    bounds = RowBounds(1.0, 0.0, TargetBounds(-1.0, 1.0))
    return Problem(loss, N, D, bounds, **extras), X, y


def binary_task(loss):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, D))
    X /= np.linalg.norm(X, axis=1).max()
    y = (X[:, 0] + 0.1 * rng.normal(size=N) > 0).astype(float)
    return Problem(loss, N, D, RowBounds(1.0), penalty=L2(0.01)), X, y


@pytest.mark.parametrize("stages", [1, 2, 3])
@pytest.mark.parametrize("momentum", [0.0, 0.8])
@pytest.mark.parametrize("penalty", [0.0, 0.1])
@pytest.mark.by_day(1)
def test_without_noise_each_stage_is_a_proximal_point(stages, momentum, penalty):
    problem, X, y = linear_task(Squared(), penalty=L2(penalty))
    total_step_size = 6.0
    expected, reach = np.zeros(D), total_step_size / stages
    for _ in range(stages):
        matrix = X.T @ X / N + (penalty + 1 / reach) * np.eye(D)
        expected = np.linalg.solve(matrix, X.T @ y / N + expected / reach)
    solver = PPM(
        stages=stages,
        steps=1000 * stages,
        total_step_size=total_step_size,
        clip=5.0,
        momentum=momentum,
    )
    # The weighted mean keeps a share of about (steps to settle / 1000)^2 of the start.
    np.testing.assert_allclose(solve(solver, problem, X, y, NO_NOISE)[0].w, expected, atol=2e-4)


def test_iterates_stay_where_the_minimiser_of_the_model_can_be():
    # With a clip of 0.01 the minimiser of the model is at most lambda * 0.01 from its centre.
    problem, X, y = linear_task(Huber())
    for stages, farthest in ((1, 0.05), (5, 0.05)):
        solver = PPM(stages=stages, steps=20 * stages, total_step_size=5.0, clip=0.01)
        w = solve(solver, problem, X, y, epsilon=0.01)[0].w
        assert np.linalg.norm(w) <= farthest * (1 + 1e-9)


def test_ball_lies_around_the_place_where_the_penalty_alone_leads():
    # A start far out and a strong ridge: the minimiser is further from the start than the ball.
    problem, X, y = linear_task(Squared(), penalty=L2(5.0))
    problem = replace(problem, initial=np.full(D, 100.0))
    w = solve(
        PPM(stages=3, steps=600, total_step_size=30.0, clip=5.0, momentum=0.0),
        problem,
        X,
        y,
        NO_NOISE,
    )[0].w
    ridge = np.linalg.solve(X.T @ X / N + 5.0 * np.eye(D), X.T @ y / N)
    np.testing.assert_allclose(w, ridge, atol=0.01)


@pytest.mark.parametrize("steps", [10, 11, 15])
def test_number_of_gradients_is_rounded_up_to_whole_stages(steps):
    problem, X, y = binary_task(Logistic())
    solution, _, ledger = solve(PPM(stages=5, steps=steps), problem, X, y, 1.0)
    assert solution.n_iter == 5 * -(-steps // 5)
    assert [(e.query, e.count) for e in ledger.receipt()] == [("gradient", solution.n_iter)]


def test_one_budget_covers_all_steps_of_all_stages():
    problem, X, y = binary_task(Logistic())
    solver = PPM(stages=4, steps=40, clip=1.0)
    *_, ledger = solve(solver, problem, X, y)
    (event,) = ledger.receipt()
    mu = ledger.limit**0.5
    # Twice the Lipschitz constant over n, times the root of the number of all steps, over mu.
    assert event.noise_scale == pytest.approx(2 / N * np.sqrt(40) / mu, rel=1e-4)


def test_schedule_shares_the_budget_between_stages():
    problem, X, y = binary_task(Logistic())
    solver = PPM(stages=2, steps=20, schedule=(1.0, 3.0))
    *_, ledger = solve(solver, problem, X, y, 1.0)
    prices = [(e.sensitivity / e.noise_scale) ** 2 for e in ledger.receipt()]
    assert [e.count for e in ledger.receipt()] == [10, 10]
    assert prices[1] == pytest.approx(3 * prices[0])


@pytest.mark.nightly
@pytest.mark.parametrize("loss", [Hinge(), Huber(), Logistic()], ids=str)
def test_smooth_or_not_the_loss_comes_close_to_its_minimum(loss):
    problem, X, y = binary_task(loss) if not isinstance(loss, Huber) else linear_task(loss)
    if isinstance(loss, Huber):
        y = 3 * y
    problem = replace(problem, constraint=L2Ball(8.0))

    def objective(w):
        return loss.value(y, X @ w).mean() + problem.penalty.value(w)

    w = solve(
        PPM(stages=5, steps=1500, total_step_size=400.0, clip=2.0, momentum=0.5),
        problem,
        X,
        y,
        NO_NOISE,
    )[0].w
    # Subgradient descent with steps that vanish, its best iterate, as a reference.
    v, best = np.zeros(D), objective(np.zeros(D))
    start = best
    for t in range(6000):
        g = X.T @ loss.derivative(y, X @ v) / N
        v = problem.project(problem.prox(v - 20 / np.sqrt(1 + t) * g, 20 / np.sqrt(1 + t)))
        best = min(best, objective(v))
    assert objective(w) - best <= 0.01 * (start - best)
