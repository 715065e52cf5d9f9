"""Dynamic schedules of gradient descent on quadratics whose curvature is known."""

import numpy as np
import pytest
from tasks_for_solvers import solve

from skdp.privacy.accounting import Ledger
from skdp.problem import Problem, RowBounds, TargetBounds
from skdp.problem.losses import Squared
from skdp.solvers import GD, schedules

DELTA, EPSILON, STEPS = 1e-5, 20.0, 150
# Rows are multiples of unit vectors: the curvature along axis j is the mean of its squares.
CURVATURES = np.array([1.0, 0.2, 0.1, 0.1])
X = np.repeat(np.eye(4), 50, axis=0) * np.sqrt(CURVATURES)
HESSIAN = CURVATURES / 4
BEST = np.array([0.2, -0.2, 0.2, -0.2])
PROBLEM = Problem(Squared(), len(X), 4, RowBounds(1.0, 0.0, TargetBounds(-1.0, 1.0)))
# Steps of 1 / M contract by 1 - m / M.
STEP = 1 / HESSIAN.max()
DECAY = 1 - HESSIAN.min() / HESSIAN.max()


def solver(schedule):
    return GD(
        steps=STEPS,
        total_step_size=STEPS * STEP,
        clip=1.0,
        momentum=0.0,
        average=0.0,
        schedule=schedule,
        decay=DECAY,
    )


def excesses(schedule, repeats=60):
    found = []
    for seed in range(repeats):
        w = solve(solver(schedule), PROBLEM, X, X @ BEST, EPSILON, seed)[0].w
        found.append(0.5 * HESSIAN @ (w - BEST) ** 2)
    return np.array(found)


def predicted(shares):
    """Mean excess of the last iterate: noise of step t decays by ``1 - step h`` from then on."""
    variances = (2 * 1.0 / len(X)) ** 2 / (Ledger(EPSILON, DELTA).limit * shares)
    kept = (1 - STEP * HESSIAN) ** (2 * np.arange(STEPS - 1, -1, -1)[:, None])
    noise = STEP**2 * variances @ kept
    bias = (1 - STEP * HESSIAN) ** (2 * STEPS) * BEST**2
    return 0.5 * HESSIAN @ (noise + bias)


@pytest.fixture(scope="module")
def measured():
    return {schedule: excesses(schedule) for schedule in ("uniform", "exponential")}


@pytest.mark.nightly
@pytest.mark.parametrize("schedule", ["uniform", "exponential"])
def test_excess_is_what_the_decay_of_noise_predicts(measured, schedule):
    shares = {
        "uniform": schedules.uniform(STEPS),
        "exponential": schedules.exponential(STEPS, DECAY),
    }
    found = measured[schedule]
    error = found.std(ddof=1) / np.sqrt(len(found))
    assert found.mean() == pytest.approx(predicted(shares[schedule]), abs=4 * error)


@pytest.mark.nightly
def test_exponential_schedule_beats_the_uniform_one(measured):
    gain = measured["uniform"] - measured["exponential"]
    assert gain.mean() > 5 * gain.std(ddof=1) / np.sqrt(len(gain))
    assert measured["exponential"].mean() < 0.5 * measured["uniform"].mean()


def test_shares_by_the_influence_along_all_axes_are_the_best_of_all():
    # The lemma's optimum for the true influence, which the exponential schedule approximates.
    kept = (1 - STEP * HESSIAN) ** (2 * np.arange(STEPS - 1, -1, -1)[:, None])
    influence = kept @ HESSIAN
    # The largest axis is forgotten within a step; a floor keeps shares positive.
    best = predicted(schedules.custom(np.sqrt(influence + 1e-30)))
    assert best <= predicted(schedules.exponential(STEPS, DECAY))
    rng = np.random.default_rng(0)
    for _ in range(50):
        other = (influence + 1e-30) ** 0.5 * np.exp(0.3 * rng.normal(size=STEPS))
        assert best <= predicted(schedules.custom(other))
