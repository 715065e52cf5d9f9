"""Noisy gradient descent: hyperparameters, schedules, clipping and averaging."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.special import expit
from sklearn.base import clone
from tasks_for_solvers import solve

from skdp import DPLogisticRegression
from skdp.problem import Problem, RowBounds, TargetBounds
from skdp.problem.losses import Hinge, Logistic, Squared
from skdp.problem.penalties import L1, L2
from skdp.solvers import GD, schedules
from skdp.testing import record_fit, replay_fit

NO_NOISE = 1e12


def small_problem(loss, n=40, d=2):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d))
    X /= np.linalg.norm(X, axis=1).max()
    y = (X[:, 0] > 0).astype(float)
    target = None if isinstance(loss, Logistic) else TargetBounds(-1.0, 1.0)
    return Problem(loss, n, d, RowBounds(1.0, 0.0, target)), X, y


def prices(ledger):
    return [(e.sensitivity / e.noise_scale) ** 2 for e in ledger.receipt() for _ in range(e.count)]


@pytest.mark.parametrize(
    ("given", "shares"),
    [
        ({"schedule": "uniform"}, schedules.uniform(6)),
        ({"schedule": "exponential", "decay": 0.5}, schedules.exponential(6, 0.5)),
        (
            {"schedule": "momentum", "decay": 0.5, "momentum": 0.8},
            schedules.momentum(6, 0.5, 0.8),
        ),
    ],
)
def test_schedule_shares_out_the_budget(given, shares):
    problem, X, y = small_problem(Logistic())
    *_, ledger = solve(GD(steps=6, **given), problem, X, y)
    paid = prices(ledger)
    np.testing.assert_allclose(np.divide(paid, sum(paid)), shares / shares.sum(), rtol=1e-9)


def test_shares_given_as_numbers_set_the_number_of_steps():
    problem, X, y = small_problem(Logistic())
    for schedule in ((1.0, 2.0, 5.0), [1.0, 2.0, 5.0]):
        solution, _, ledger = solve(GD(schedule=schedule), problem, X, y)
        assert solution.n_iter == 3
        np.testing.assert_allclose(
            np.divide(prices(ledger), sum(prices(ledger))), [1 / 8, 2 / 8, 5 / 8]
        )
    whole, *_ = solve(GD(schedule=(1, 1, 1)), problem, X, y)
    np.testing.assert_array_equal(whole.w, solve(GD(steps=3), problem, X, y)[0].w)


def test_clip_beyond_the_lipschitz_constant_changes_nothing():
    problem, X, y = small_problem(Logistic())
    same = [
        solve(GD(steps=5, total_step_size=10.0, clip=c), problem, X, y)[0].w
        for c in (1.0, 9.0, np.inf)
    ]
    np.testing.assert_array_equal(same[1], same[0])
    np.testing.assert_array_equal(same[2], same[0])


def test_without_averaging_the_last_iterate_is_returned_and_with_it_a_mean():
    problem, X, y = small_problem(Logistic())
    settings = {"total_step_size": 20.0, "momentum": 0.0, "clip": np.inf}
    # Step sizes are total_step_size / steps: twice the total step size in twice the steps
    # continues the same path.
    path = [
        solve(
            GD(steps=t, average=0.0, **settings | {"total_step_size": 2.0 * t}),
            problem,
            X,
            y,
            NO_NOISE,
        )[0].w
        for t in (7, 8, 9, 10)
    ]
    averaged, *_ = solve(GD(steps=10, average=0.4, **settings), problem, X, y, NO_NOISE)
    np.testing.assert_allclose(averaged.w, np.mean(path, axis=0), rtol=1e-4)


@pytest.mark.parametrize("clip", [0.3, 0.6, 1.0])
@pytest.mark.by_day(1)
def test_penalty_is_shrunk_with_the_clip(clip):
    # One feature that is 1 everywhere: the stationary point is the root of one equation.
    n, share, strength = 1000, 0.8, 0.1
    y = (np.arange(n) < share * n).astype(float)
    problem = Problem(Logistic(), n, 1, RowBounds(1.0), penalty=L2(strength))

    def slope(w):
        up, down = np.clip([expit(w) - 1, expit(w)], -clip, clip)
        return share * up + (1 - share) * down + clip * strength * w

    solver = GD(steps=2000, total_step_size=4000.0, clip=clip, momentum=0.9)
    solution, *_ = solve(solver, problem, np.ones((n, 1)), y, NO_NOISE)
    assert solution.w[0] == pytest.approx(brentq(slope, 0, 10), rel=1e-5)


@pytest.mark.parametrize("clip", [0.25, 1.0, 3.0])
def test_penalty_of_an_unbounded_loss_keeps_its_strength_where_nothing_is_clipped(clip):
    problem, X, _ = small_problem(Squared())
    y = 0.2 * X[:, 0]
    problem = replace(problem, penalty=L2(0.05))
    solver = GD(steps=1000, total_step_size=2000.0, clip=clip, momentum=0.9)
    w, *_ = solve(solver, problem, X, y, NO_NOISE)
    ridge = np.linalg.solve(X.T @ X / len(X) + 0.05 * np.eye(2), X.T @ y / len(X))
    np.testing.assert_allclose(w.w, ridge, atol=5e-6)


def test_strong_lasso_leaves_nothing():
    problem, X, y = small_problem(Logistic())
    problem = replace(problem, penalty=L1(10.0))
    solution, *_ = solve(GD(steps=50, average=0.0), problem, X, y)
    np.testing.assert_array_equal(solution.w, [0.0, 0.0])


def test_units_of_the_rows_do_not_matter():
    # Shorter rows need larger weights, nothing else. A power of two scales grids, too.
    problem, X, y = small_problem(Logistic())
    unit = 2.0**-10
    small = replace(problem, bounds=RowBounds(unit))
    w, *_ = solve(GD(), problem, X, y)
    v, *_ = solve(GD(), small, unit * X, y)
    np.testing.assert_allclose(unit * v.w, w.w, rtol=1e-9)


def test_few_long_steps_bear_as_much_noise_as_many_short_ones():
    # Rows that are all zero, so that a fit is a sum of noise.
    n, d = 10, 50_000
    problem, X, y = Problem(Hinge(), n, d, RowBounds(1.0, 0.0)), np.zeros((n, d)), np.zeros(n)
    few, many = (solve(GD(steps=steps), problem, X, y)[0] for steps in (None, 100))
    assert few.n_iter < many.n_iter / 3
    assert np.std(few.w) == pytest.approx(np.std(many.w), rel=0.02)


def test_steps_grow_with_the_budget_up_to_a_hundred_and_more_where_noise_is_little():
    problem, X, y = small_problem(Logistic())
    epsilons = 2.0 ** np.arange(-3, 12)
    steps = [solve(GD(), problem, X, y, epsilon)[0].n_iter for epsilon in epsilons]
    assert steps == sorted(steps)
    assert steps[0] == 24
    assert steps[-1] > 100
    assert max(s for s, epsilon in zip(steps, epsilons, strict=True) if epsilon < 5) <= 100


def test_steps_let_oscillations_fall_with_noise_that_is_less_than_what_is_borne():
    def steps(n, epsilon):
        problem = Problem(Logistic(), n, 1, RowBounds(1.0, 0.0))
        X, y = np.zeros((n, 1)), np.zeros(n)
        return solve(GD(momentum=0.9), problem, X, y, epsilon)[0].n_iter

    # A tenth of an oscillation is left after 2 log 10 memories of the momentum, ten steps each.
    assert steps(30_000, 900.0) - steps(3_000, 900.0) == pytest.approx(20 * np.log(10), abs=1)
    assert steps(10_000, 1.0) == steps(1_000, 1.0) == 100


@pytest.mark.parametrize(
    "given", [{"momentum": 0.5}, {"total_step_size": 1.0}, {"schedule": "exponential"}]
)
def test_steps_are_not_fewer_where_their_number_would_change_what_is_given(given):
    problem, X, y = small_problem(Logistic())
    assert solve(GD(**given), problem, X, y)[0].n_iter == 100


def test_label_blind_bounds_leave_the_solution_where_it_is_and_a_clip_does_not():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4000, 3)) * [1.0, 0.3, 0.3]
    y = (rng.uniform(size=4000) < expit(X @ [1.0, 2.0, -2.0] - 1.5)).astype(float)
    problem, steps = Problem(Logistic(), 4000, 3, RowBounds(4.0, 1.0)), {"steps": 400}
    steps |= {"total_step_size": 1e4, "momentum": 0.9, "average": 0.0}
    minimum = solve(GD(clip=np.inf, **steps), problem, X, y, NO_NOISE)[0].w
    blind, clipped = (
        solve(GD(clip=0.1, label_blind=blind, **steps), problem, X, y, NO_NOISE)[0].w
        for blind in (True, False)
    )
    length = np.linalg.norm(minimum)
    assert np.linalg.norm(blind - minimum) < 0.1 * length
    assert np.linalg.norm(clipped - minimum) > 0.4 * length


@pytest.mark.filterwarnings("ignore::skdp.SeededNoiseWarning")
def test_a_replay_tells_blind_bounds_from_clips():
    X = np.random.default_rng(0).uniform(-1, 1, size=(200, 2))
    labels = (X[:, 0] > 0).astype(int)
    options = {"classes": [0, 1], "data_norm": 1.5, "random_state": 0}
    blind, clipped = (
        DPLogisticRegression(solver=GD(steps=3, label_blind=b), **options) for b in (True, False)
    )
    transcript = record_fit(blind, X, labels)
    replay_fit(clone(blind), X[::-1], labels, transcript)
    with pytest.raises(AssertionError, match="gradient was asked with another content"):
        replay_fit(clipped, X, labels, transcript)
