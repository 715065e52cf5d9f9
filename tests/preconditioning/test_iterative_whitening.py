"""Whitening in several looks: what is asked, what it costs, and what the problem becomes."""

from dataclasses import replace
from math import sqrt

import numpy as np
import pytest
from tasks_for_solvers import asked

from skdp.problem import Problem, RowBounds, TargetBounds
from skdp.problem.losses import Pinball, Squared
from skdp.problem.penalties import L2, NoPenalty
from skdp.solvers.preconditioning import IterativeWhitening

N, D, CONSTANT = 4000, 3, 0.3
NO_NOISE = 1e12


def make_rows(n=N):
    """Correlated features of different sizes and means, rows of norm at most 1."""
    rng = np.random.default_rng(0)
    mix = np.array([[1.0, 0.9, 0.0], [0.0, 0.4, 0.01], [0.0, 0.0, 0.02]])
    X = rng.uniform(-1, 1, size=(n, D)) @ mix + [0.0, 0.5, 0.1]
    return X / np.linalg.norm(X, axis=1).max()


X = make_rows()
PROBLEM = Problem(Squared(), N, D, RowBounds(1.0, CONSTANT, TargetBounds(-1.0, 1.0)))
OF_QUANTILES = replace(PROBLEM, loss=Pinball())
PUBLIC_RNG = np.random.default_rng(0)


def prepared(looks=None, problem=PROBLEM, epsilon=NO_NOISE, rows=X, seed=0):
    """The problem in new coordinates, and the events charged for it."""
    oracle, ledger = asked(problem, rows, np.zeros(len(rows)), epsilon, seed)
    return (looks or IterativeWhitening()).prepare(problem, oracle, PUBLIC_RNG), ledger


def mapped_rows(problem, rows=X):
    """The rows in the coordinates of a problem, from the definition of its map."""
    row_map = problem.bounds.row_map
    return rows @ row_map.jacobian() - row_map.shift


def test_without_noise_the_rows_and_the_constant_become_white():
    done, _ = prepared()
    Z = mapped_rows(done)
    assert Z.shape == (N, D + 1)
    assert done.n_features == D + 1
    assert done.bounds.intercept_value == 0.0
    np.testing.assert_allclose(Z.T @ Z / N, np.eye(D + 1), atol=1e-4)


def test_no_row_is_scaled_down_in_the_end():
    done, _ = prepared(epsilon=1.0)
    lengths = np.linalg.norm(mapped_rows(done), axis=1)
    assert lengths.max() <= done.bounds.row_map.norm
    # Nor would any other row within the user's bounds be, not even the longest possible.
    B, shift = done.bounds.row_map.jacobian(), done.bounds.row_map.shift
    directions = np.random.default_rng(0).normal(size=(500, D))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    assert np.linalg.norm(directions @ B - shift, axis=1).max() <= done.bounds.row_map.norm


@pytest.mark.parametrize("constant", [0.0, CONSTANT])
def test_a_linear_model_after_the_map_is_one_before_it(constant):
    problem = replace(PROBLEM, bounds=replace(PROBLEM.bounds, intercept_value=constant))
    done, _ = prepared(problem=problem, epsilon=1.0)
    w = np.random.default_rng(1).normal(size=(done.n_rows, 1))
    coef, intercept = done.in_user_coordinates(w)
    np.testing.assert_allclose(mapped_rows(done) @ w, X @ coef + intercept, atol=1e-9)
    if not constant:
        assert intercept == 0.0


def test_the_ridge_stays_on_the_coefficients_of_the_user():
    done, _ = prepared(problem=replace(PROBLEM, penalty=L2(0.7)), epsilon=1.0)
    w = np.random.default_rng(1).normal(size=done.n_rows)
    coef, _ = done.in_user_coordinates(w[:, None])
    assert done.penalty.value(w) == pytest.approx(L2(0.7).value(coef))


def test_no_penalty_stays_none():
    assert prepared()[0].penalty == NoPenalty()


@pytest.mark.parametrize("share", [0.1, 0.4])
def test_all_looks_together_cost_their_share(share):
    _, ledger = prepared(IterativeWhitening(share=share), epsilon=1.0)
    assert sum(event.count for event in ledger.receipt()) == 3
    assert {event.query for event in ledger.receipt()} == {"second_moments"}
    assert ledger.total == pytest.approx(share * ledger.limit, rel=1e-9)


def test_the_declared_sensitivity_is_that_of_the_norm_in_the_coordinates_of_each_look():
    # Of quantiles, for which none is left out.
    first, *later = prepared(problem=OF_QUANTILES)[1].receipt()
    assert sum(event.count for event in later) == 2
    assert first.sensitivity == pytest.approx(sqrt(2) * (1 + CONSTANT**2) / N, rel=1e-4)
    # Without noise all D + 1 directions stand out, so rows are clipped to 2 sqrt(D + 1), but at the
    # last look, where nothing is in the way of the longest row that there may be.
    second, last = (event.sensitivity for event in later)
    assert second == pytest.approx(sqrt(2) * 4 * (D + 1) / N, rel=1e-3)
    assert last > 1.2 * second


def test_looks_that_noise_would_drown_are_left_out_and_cost_nothing():
    # Rows of a second look have norms up to 2 at least. With n = 60 its ridge would exceed 1 / 2.
    few = make_rows(60)
    problem = replace(PROBLEM, n_samples=60)
    _, ledger = prepared(IterativeWhitening(least=0.0), problem, epsilon=1.0, rows=few)
    assert [event.count for event in ledger.receipt()] == [1]
    assert ledger.total == pytest.approx(0.4 / 3 * ledger.limit, rel=1e-9)


def test_no_more_is_asked_once_all_directions_stand_out_of_the_noise():
    _, ledger = prepared()
    assert [event.count for event in ledger.receipt()] == [1]
    # What they would have cost is left for the solver.
    assert ledger.total == pytest.approx(0.4 / 3 * ledger.limit, rel=1e-9)


def test_few_rows_or_little_budget_leave_the_problem_as_it_is():
    same, ledger = prepared(epsilon=0.01)
    assert same is PROBLEM
    assert ledger.receipt() == ()


def test_a_second_look_resolves_what_the_first_one_cannot():
    # The least curvature that is left, 1 if all directions are white. The third feature varies so
    # little that its variance is far below the ridge of the first look.
    def curvatures(looks):
        worst = []
        for seed in range(5):
            done, _ = prepared(IterativeWhitening(iterations=looks), epsilon=4.0, seed=seed)
            Z = mapped_rows(done)
            worst.append(np.linalg.eigvalsh(Z.T @ Z / N)[0])
        return np.mean(worst)

    assert curvatures(3) > 1.5 * curvatures(1)


@pytest.mark.parametrize(("data_norm", "told"), [(1.0, True), (30.0, False)])
def test_a_direction_without_rows_is_told_where_a_single_row_would_be_stretched(data_norm, told):
    # By the share of the coordinates of a row along a feature that are hidden. Where rows are much
    # shorter than their bound, noise hides directions along which a row is not stretched.
    rows = np.column_stack([0.9 * X, np.zeros(N)])
    bounds = RowBounds(data_norm, CONSTANT, TargetBounds(-1.0, 1.0))
    problem = Problem(Squared(), N, D + 1, bounds)

    def shares(row_map):
        squares = row_map.jacobian() ** 2
        return squares @ row_map.hidden / squares.sum(axis=1)

    first, further = [], []
    for seed in range(5):
        done, _ = prepared(problem=problem, epsilon=64.0, rows=rows, seed=seed)
        first.append(shares(done.bounds.row_map))
        oracle, _ = asked(problem, rows, np.zeros(N), 64.0, 100 + seed)
        again = IterativeWhitening().prepare(problem, oracle, PUBLIC_RNG, done.bounds.row_map)
        further.append(shares(again.bounds.row_map))
    for found in (first, further):
        *known, empty = np.mean(found, axis=0)
        assert np.max(known) < 0.01
        assert (empty > 0.3) if told else (empty < 0.01)
