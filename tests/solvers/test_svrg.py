"""Variance-reduced gradients: what epochs ask, what they cost, and when they end."""

from dataclasses import replace
from math import inf

import numpy as np
import pytest
from by_night import by_night
from tasks_for_solvers import PAPER, make_problem, solve

from skdp.privacy import Adjacency
from skdp.privacy.accounting import Ledger
from skdp.privacy.rows import DenseRows
from skdp.problem.losses import Huber, Logistic, Softmax, Squared
from skdp.problem.penalties import L2
from skdp.solvers import GD, SVRG, Spider
from skdp.testing import ExactOracle

DELTA = 1e-5
PUBLIC_RNG = np.random.default_rng(0)


def epochs(entries):
    """How many differences follow each snapshot."""
    lengths = []
    for name, *_ in entries:
        if name == "gradient":
            lengths.append(0)
        else:
            lengths[-1] += 1
    return lengths


@pytest.mark.parametrize("adjacency", Adjacency)
def test_noise_of_differences_is_in_proportion_to_the_distance_from_the_snapshot(adjacency):
    _, entries, ledger = solve(PAPER, *make_problem(), adjacency=adjacency)
    asked = iter(entries)
    ratios, distances = [], []
    for event in ledger.receipt():
        for _ in range(event.count):
            name, public, *_ = next(asked)
            if name == "gradient_difference":
                distances.append(np.linalg.norm(public[0] - public[1]))
                ratios.append(event.noise_scale / distances[-1])
    assert len(ratios) == 32
    assert max(distances) > 2 * min(distances)
    np.testing.assert_allclose(ratios, ratios[0], rtol=1e-6)


def test_noise_falls_as_iterates_settle():
    problem, X, y = make_problem(penalty=L2(0.1))
    solver = replace(PAPER, steps=60, total_step_size=600.0)
    _, _, ledger = solve(solver, problem, X, y, epsilon=1e4)
    noise = [e.noise_scale for e in ledger.receipt() if e.query == "gradient_difference"]
    assert noise[-1] < 0.05 * noise[0]


def test_epochs_of_one_length_ask_once_for_a_gradient():
    _, entries, _ = solve(PAPER, *make_problem())
    assert epochs(entries) == [4] * 8


def test_epochs_grow_up_to_the_longest():
    solver = SVRG(steps=40, total_step_size=1.0, growth=2, longest=8, reach=inf)
    _, entries, _ = solve(solver, *make_problem())
    assert epochs(entries) == [0, 1, 3, 7, 7, 7, 7, 0]


def test_the_carried_iterate_needs_a_difference_at_once():
    # The snapshot is at the mean of the iterates and the next step at the last one.
    _, entries, _ = solve(replace(PAPER, growth=2.0), *make_problem())
    assert epochs(entries) == [4] + [5] * 7
    _, entries, _ = solve(replace(PAPER, growth=2.0, longest=100), *make_problem())
    assert epochs(entries) == [4, 10, 20, 5]


def test_an_epoch_ends_where_differences_are_no_cheaper_than_gradients():
    problem, X, y = make_problem()
    fast = SVRG(steps=100, total_step_size=1e6, momentum=0.0, reach=0.5, clip=0.3)
    _, entries, _ = solve(fast, problem, X, y)
    far = 0.5 * 2 * 0.3 / problem.smoothness
    for name, public, *_ in entries:
        if name == "gradient_difference":
            assert np.linalg.norm(public[0] - public[1]) <= far
    assert epochs(entries).count(0) > 60


def test_without_noise_it_takes_the_steps_of_gradient_descent():
    # The difference makes up for the distance exactly, whatever the epochs.
    problem, X, y = make_problem()
    solutions = []
    for solver in (SVRG(steps=30), GD(steps=30)):
        oracle = ExactOracle(
            DenseRows(X, y), Ledger(1.0, DELTA), Adjacency.REPLACE_ONE, Ledger(inf, DELTA)
        )
        solutions.append(solver.solve(problem, oracle.for_problem(problem), PUBLIC_RNG).w)
    np.testing.assert_allclose(*solutions, rtol=1e-9)


@pytest.mark.parametrize(
    ("solver", "loss"),
    [
        (SVRG(), Logistic()),
        *by_night(*((SVRG(), loss) for loss in (Softmax(2), Squared(), Huber(0.5)))),
        *by_night(*((Spider(), loss) for loss in (Logistic(), Squared(), Huber(0.5)))),
    ],
    ids=str,
)
def test_learns_as_well_as_gradient_descent_in_the_mean(solver, loss):
    problem, X, y = make_problem(loss)

    def error(solver):
        value = []
        for seed in range(8):
            w = solve(solver, problem, X, y, seed=seed)[0].w
            value.append(loss.value(y, X @ w).mean())
        return np.mean(value)

    start = loss.value(y, X @ problem.start()).mean()
    assert start - error(solver) > 0.8 * (start - error(GD()))
