"""Rule of batches, steps and means of dual averaging over running sums."""

from dataclasses import replace

import numpy as np
import pytest
from tasks_for_solvers import TASKS, D, N

from skdp.privacy import Adjacency, PrivateOracle, SeededNoise
from skdp.privacy.accounting import Ledger, Spend
from skdp.privacy.streams import StreamOpening
from skdp.problem import Problem, RowBounds
from skdp.problem.constraints import L2Ball
from skdp.problem.losses import HuberisedHinge, Logistic, Softmax, Squared
from skdp.problem.penalties import L2
from skdp.solvers import FTRL
from skdp.testing import ExactOracle

PUBLIC_RNG = np.random.default_rng(7)


def exact(solver, task, epsilon=1.0):
    """Solve without noise, with the plan of a budget."""
    oracle = ExactOracle(
        task.rows(), Ledger(epsilon, 1e-5), Adjacency.REPLACE_ONE, Ledger(np.inf, 1e-5)
    )
    return solver.solve(task.problem, oracle.for_problem(task.problem), PUBLIC_RNG)


def clipped_gradient(task, w, rows, clip):
    """Sum over rows in units of the bound, from the definitions."""
    total = np.zeros_like(w)
    for x, y in zip(task.X[rows], task.y[rows], strict=True):
        x = np.append(x, 1.0)
        slope = 1 / (1 + np.exp(-x @ w)) - y
        bound = clip * np.sqrt(2.0)
        total += x * np.clip(slope, -bound / np.linalg.norm(x), bound / np.linalg.norm(x)) / bound
    return total


@pytest.mark.parametrize("momentum", [0.0, 0.5])
def test_steps_go_along_the_growth_of_the_sum(momentum):
    task = TASKS["logistic"]
    problem = replace(task.problem, penalty=L2(0.1), constraint=L2Ball(0.3))
    solver = FTRL(batches=3, clip=0.2, reach=0.02, momentum=momentum, average=0.0)
    plan = solver.plan(problem, 1.0)
    opening = StreamOpening(problem, plan, Adjacency.REPLACE_ONE, Spend(1.0))
    learner = solver.learner(problem, plan, opening.deviation, None)
    # Noise in the weights has the length ``reach`` for rows of norm 1; these have sqrt(2). A part
    # of the noise is that of sampling, in units of the clip, which is 0.5 by default.
    sampling = 0.3 * 0.5 / 0.2 * np.sqrt(N / (D + 1))
    step = 0.02 / np.sqrt(D + 1) / np.hypot(opening.deviation, sampling) / np.sqrt(2.0)
    w, pace = np.zeros(D + 1), 0.0
    total = np.zeros(D + 1)
    for k in range(3):
        rows = slice(N * k // 3, N * (k + 1) // 3)
        asked = learner.request()
        np.testing.assert_allclose(asked.w, w, rtol=1e-12)
        assert asked.rows == rows.stop - rows.start
        grown = clipped_gradient(task, w, rows, 0.2)
        total = total + grown
        learner.learn(total)
        pace = momentum * pace + (1 - momentum) * grown
        w = w - step * pace
        # The penalty of a third of the rows, in units of the bound.
        w[:D] /= 1 + step * 0.1 * (N / 3) / (0.2 * np.sqrt(2.0))
        w[:D] *= min(1.0, 0.3 / np.linalg.norm(w[:D]))
    np.testing.assert_allclose(learner.solution.w, w, rtol=1e-9)
    assert learner.solution.n_iter == 3


def test_the_mean_forgets_the_first_iterates():
    problem = TASKS["logistic"].problem
    solver = FTRL(batches=2, average=4.0)
    plan = solver.plan(problem, 1.0)
    plain = FTRL(batches=2, average=0.0).learner(problem, plan, 1.0, None)
    mean = solver.learner(problem, plan, 1.0, None)
    iterates, rng = [], np.random.default_rng(0)
    for _ in range(2):
        answer = rng.normal(size=problem.shape)
        plain.learn(answer)
        mean.learn(answer)
        iterates.append(plain.solution.w)
    # The first iterate counts 1, then 4/5 go to the second.
    expected = iterates[0] + 0.8 * (iterates[1] - iterates[0])
    np.testing.assert_allclose(mean.solution.w, expected, rtol=1e-12)


@pytest.mark.parametrize("loss", [Logistic(), Softmax(3), Squared(), HuberisedHinge()], ids=str)
def test_batches_grow_with_rows_and_budget_and_never_exceed_rows(loss):
    def batches(n, mu):
        return FTRL().plan(Problem(loss, n, 20, RowBounds(1.0)), mu).releases

    assert batches(10, 0.3) == 10
    assert batches(1000, 0.01) == 100
    found = [batches(10**6, mu) for mu in (0.001, 0.1, 0.3, 1.0)]
    assert found == sorted(found)
    assert found[-1] > 5 * found[0]
    assert FTRL(batches=7).plan(Problem(loss, 1000, 20, RowBounds(1.0)), 1.0).releases == 7


def test_without_noise_more_rows_come_closer_to_the_optimum():
    task = TASKS["logistic"]
    losses = []
    for copies in (1, 100):
        many = replace(
            task,
            problem=replace(task.problem, n_samples=copies * N),
            X=np.tile(task.X, (copies, 1)),
            y=np.tile(task.y, copies),
        )
        losses.append(task.objective(exact(FTRL(clip=1.5, reach=1.0), many, 10.0).w))
    assert losses[0] > losses[1]
    # Without clipping, which bends probabilities; the optimum is at .50861 (scikit-learn).
    assert losses[1] < 0.512


def test_row_by_row_without_noise_stays_stable_on_a_steep_loss():
    task = TASKS["squared"]
    w = exact(FTRL(batches=N, clip=10.0, reach=1e6), task, 1e6).w
    assert np.linalg.norm(w) < 10


def test_scaling_rows_and_targets_scales_the_model_only():
    models = []
    for scale in (1.0, 1000.0):
        rng = np.random.default_rng(0)
        X, y = rng.normal(size=(2000, 3)) * 0.4, rng.integers(0, 2, 2000).astype(float)
        task = replace(
            TASKS["logistic"],
            problem=Problem(Logistic(), 2000, 3, RowBounds(scale, scale)),
            X=scale * X,
            y=y,
        )
        ledger, noise = Ledger(1.0, 1e-5), SeededNoise(np.random.default_rng(1))
        oracle = PrivateOracle(task.rows(), ledger, Adjacency.REPLACE_ONE, noise)
        models.append(
            scale * FTRL().solve(task.problem, oracle.for_problem(task.problem), PUBLIC_RNG).w
        )
    np.testing.assert_allclose(models[1], models[0], rtol=1e-7)
