"""Noisy gradient descent with a clip that follows the residuals."""

from dataclasses import replace
from math import exp, sqrt

import numpy as np
import pytest
from tasks_for_solvers import solve

from skdp.estimators import choose
from skdp.problem import Problem, RowBounds, RowMap, TargetBounds
from skdp.problem.losses import Huber, Squared
from skdp.problem.penalties import L2
from skdp.solvers import TrackedGD

N, D = 5000, 3


def white_problem(loss=None, **fields):
    """White features, a target with 20 % noise, and the identity as a map."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-sqrt(3), sqrt(3), size=(N, D))
    y = X @ [0.2, -0.1, 0.05] + 0.05 * rng.normal(size=N)
    row_map = RowMap(np.ones(D), None, np.zeros(D), 3.0)
    bounds = RowBounds(3.0, 0.0, TargetBounds(-1.0, 1.0), row_map)
    return Problem(loss or Squared(), N, D, bounds, **fields), X, y


def clips(entries):
    """The clips in force, and the noisy shares of rows that they left whole."""
    asked = [e for e in entries if e[0] == "gradient_and_share"]
    return (
        np.array([public[1] for _, public, _, _ in asked]),
        np.array([answer[-1] / public[3] for _, public, _, answer in asked]),
    )


def test_is_chosen_for_regression_in_conditioned_coordinates():
    problem, _, _ = white_problem()
    unmapped = replace(problem, bounds=RowBounds(3.0, 0.0, problem.bounds.target))
    assert isinstance(choose("auto", problem)[0], TrackedGD)
    assert not isinstance(choose("auto", unmapped)[0], TrackedGD)


@pytest.mark.parametrize("loss", [Squared(), Huber(0.5)], ids=str)
def test_learns_both_losses(loss):
    w = solve(TrackedGD(), *white_problem(loss))[0].w
    np.testing.assert_allclose(w, [0.2, -0.1, 0.05], atol=0.01)


@pytest.mark.nightly
def test_a_huge_budget_gives_the_ridge_solution():
    problem, X, y = white_problem(penalty=L2(0.3))
    w = solve(TrackedGD(), problem, X, y, epsilon=1e6)[0].w
    exact = np.linalg.solve(X.T @ X / N + 0.3 * np.eye(D), X.T @ y / N)
    np.testing.assert_allclose(w, exact, atol=1e-4)


@pytest.mark.nightly
def test_the_first_clip_leaves_at_least_the_wanted_share_whole():
    problem, X, y = white_problem()
    _, entries, _ = solve(TrackedGD(whole=0.9), problem, X, y, epsilon=1e6)
    sizes = np.abs(y) * np.linalg.norm(X, axis=1)
    first = clips(entries)[0][0]
    assert np.mean(sizes < first) >= 0.9
    assert np.mean(sizes < first / 2) < 0.9


def test_the_clip_comes_to_leave_the_wanted_share_whole():
    _, entries, _ = solve(TrackedGD(whole=0.7), *white_problem(), epsilon=4.0)
    size, share = clips(entries)
    assert share[len(share) // 2 :].mean() == pytest.approx(0.7, abs=0.03)
    # Residuals have shrunk, and the clip with them.
    assert size[-1] < 0.5 * size[0]


def test_a_single_step_of_the_clip_is_bounded():
    for epsilon in (0.1, 1.0, 100.0):
        size, _ = clips(solve(TrackedGD(), *white_problem(), epsilon=epsilon)[1])
        assert np.abs(np.diff(np.log(size))).max() <= max(0.1, 20 / len(size)) + 1e-12


def test_where_noise_hides_the_counts_the_clip_hardly_moves():
    # At n mu below 10 the noise of a count is many times n. The first clip is the constant, and
    # each step moves it by at most 0.1 (1 - whole) / noise, which over 200 steps is little.
    problem, X, y = white_problem()
    starts = set()
    for seed in range(3):
        size, _ = clips(solve(TrackedGD(), problem, X, y, epsilon=0.002, seed=seed)[1])
        starts.add(float(size[0]))
        assert np.abs(np.log(size / size[0])).max() < 0.5
    assert starts == {0.1 * sqrt(D)}


def test_the_step_stays_within_the_horizon():
    # The first of two steps moves w by half the total step size, which is short here, times the
    # answer, from 0 to where the second gradient is asked for.
    problem, X, y = white_problem()
    _, entries, ledger = solve(TrackedGD(steps=2), problem, X, y, epsilon=1e-6)
    first, second = [e for e in entries if e[0] == "gradient_and_share"]
    total_step_size = 0.65 * N * sqrt(ledger.limit) / (sqrt(D) * first[1][1])
    assert total_step_size < 1
    np.testing.assert_allclose(second[1][0], -0.5 * total_step_size * first[3][:-1])


def steps_behind(typical, epsilon=1.0, least_moment=None):
    problem, X, y = white_problem()
    moments = None if least_moment is None else np.append(np.ones(D - 1), least_moment)
    row_map = replace(problem.bounds.row_map, typical=typical, moments=moments)
    problem = replace(problem, bounds=replace(problem.bounds, row_map=row_map))
    return len(clips(solve(TrackedGD(), problem, X, y, epsilon=epsilon)[1])[0])


def test_few_steps_are_enough_where_all_directions_stand_out_of_their_noise():
    seen, hidden = steps_behind(sqrt(0.95 * D)), steps_behind(sqrt(0.85 * D))
    assert seen == 24
    # With no more released than before, it is as if nothing were known.
    assert hidden == steps_behind(None) > seen
    # Towards the solution without noise there are more of them.
    assert steps_behind(sqrt(0.95 * D), epsilon=50.0) > seen
    # The more alike second moments are, the fewer.
    white, apart = (steps_behind(sqrt(D), least_moment=least) for least in (0.95, 0.5))
    assert white <= 8
    assert white < apart < seen


def test_clip_follows_the_formula():
    _, entries, _ = solve(TrackedGD(whole=0.7), *white_problem(), epsilon=100.0)
    size, share = clips(entries)
    excess = np.clip((share - 0.7) / 0.3, -1, 1)
    # The noise of the share is small here, so the rate is the full one.
    rate = max(0.1, 20 / len(size))
    expected = size[:-1] * np.array([exp(-rate * e) for e in excess[:-1]])
    np.testing.assert_allclose(size[1:], expected)


def test_directions_of_little_variance_are_learned_in_the_users_coordinates():
    # The second feature varies by 1/300 of the squared bound on rows: 200 steps of one over that
    # bound leave exp(-200 / 300) = 0.51 of the way to its coefficient, those of gd next to nothing.
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(N, 2)) * [sqrt(2.9), sqrt(0.03)]
    y = X @ [0.2, 0.5]
    bounds = RowBounds(sqrt(3), 0.0, TargetBounds(-1.0, 1.0))
    problem = Problem(Squared(), N, 2, bounds)
    w = solve(TrackedGD(steps=200), problem, X, y, epsilon=1e6)[0].w
    np.testing.assert_allclose(w, [0.2, 0.5], rtol=0.02)


def test_at_huge_budgets_rows_longer_than_released_moments_say_make_no_step_unstable():
    # One row in a hundred lies along a fourth direction, of moment 9, and is cut where moments are
    # released. From epsilon 256 on the clip leaves such rows whole: with long steps descent swung
    # there, as far as the clip of three rows in a thousand let it, and noise grew with the clip.
    rng = np.random.default_rng(0)
    X = rng.uniform(-sqrt(3), sqrt(3), size=(N, 4)) * [1, 1, 1, 0]
    X[: N // 100] = [0, 0, 0, 30]
    y = X @ [0.2, -0.1, 0.05, 0.002] + 0.05 * rng.normal(size=N)
    row_map = RowMap(np.ones(4), None, np.zeros(4), 30.0, 1.8, np.append(np.ones(3), 0.5))
    problem = Problem(Squared(), N, 4, RowBounds(30.0, 0.0, TargetBounds(-1.0, 1.0), row_map))
    solution, entries, _ = solve(TrackedGD(), problem, X, y, epsilon=256.0)
    exact = np.linalg.lstsq(X, y, rcond=None)[0]
    sizes = np.abs(y - X @ exact) * np.linalg.norm(X, axis=1)
    assert clips(entries)[0][-1] < 2 * np.quantile(sizes, 0.997)
    assert np.mean((X @ (solution.w - exact)) ** 2) < 1e-6


def test_what_noise_hides_is_held_to_a_constant_model_wherever_descent_begins():
    # Descent begins at zero, and targets are near 0.9. Held to the start predictions would be 0.5.
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(N, 3)) * [1, 1, 0]
    y = 0.9 + X @ [0.05, -0.05, 0.0] + 0.02 * rng.normal(size=N)
    # A part of the constant lies along each of the coordinates.
    turn = np.linalg.qr(np.random.default_rng(1).normal(size=(4, 4)))[0]
    matrix, constant = turn[:3], turn[3]
    row_map = RowMap(
        np.ones(3), matrix, -constant, 3.0, 1.9, np.array([1.0, 1.0, 1.0, 0.5]), np.full(4, 0.9)
    )
    problem = Problem(Squared(), N, 4, RowBounds(3.0, 0.0, TargetBounds(-1.0, 1.0), row_map))
    w = solve(TrackedGD(whole=0.9), problem, X, y, epsilon=256.0)[0].w
    scores = (X @ matrix + constant) @ w
    assert scores.mean() == pytest.approx(0.9, abs=0.01)
