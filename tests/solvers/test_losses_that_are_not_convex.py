"""Solvers for smooth losses that are not convex, on labels and targets of which some are wrong."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit
from tasks_for_solvers import solve

from skdp.problem import Problem, RowBounds, TargetBounds
from skdp.problem.losses import Sigmoid, Tukey
from skdp.problem.penalties import L2
from skdp.solvers import GD, PPM, AdaptiveGD, Spider

N, D = 5000, 4
TRUTH = np.array([6.0, -4.0, 2.0, 0.0])
WIDTH = 0.3
# Many stable steps that clip nothing.
STEPS = {"steps": 300, "total_step_size": 3_000.0, "clip": 4.0, "momentum": 0.9}
PRECISE = {
    "adaptive_gd": AdaptiveGD(**STEPS, fewest=150),
    "gd": GD(**STEPS, average=0.05),
    "ppm": PPM(**STEPS | {"total_step_size": 15_000.0}),
    "spider": Spider(**STEPS, average=0.05),
}
DEFAULTS = {"adaptive_gd": AdaptiveGD(), "gd": GD(), "ppm": PPM(), "spider": Spider()}


@dataclass(frozen=True, eq=False)
class Task:
    problem: Problem
    X: np.ndarray
    y: np.ndarray

    def objective(self, w):
        """Written from the definitions, in the open."""
        z = self.X @ w
        if isinstance(self.problem.loss, Sigmoid):
            values = expit((1 - 2 * self.y) * z)
        else:
            u = np.minimum(np.abs(z - self.y) / WIDTH, 1.0)
            values = WIDTH**2 / 6 * (1 - (1 - u**2) ** 3)
        return values.mean() + self.problem.penalty.value(w)

    @cached_property
    def best(self):
        """The lowest minimum found from several starts."""
        starts = np.random.default_rng(2).normal(scale=4.0, size=(6, D))
        starts = [np.zeros(D), *starts]
        return min(minimize(self.objective, w, method="BFGS").fun for w in starts)

    def solve(self, solver, epsilon):
        found, *_ = solve(solver, self.problem, self.X, self.y, epsilon, 3, public_seed=4)
        return found.w


def make_tasks():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(N, D))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    z = X @ TRUTH
    flipped = rng.uniform(size=N) < 0.2
    labels = ((z > 0) != flipped).astype(float)
    wild = rng.uniform(size=N) < 0.1
    targets = np.where(wild, 1.0, np.clip(0.08 * z + 0.05 * rng.normal(size=N), -1, 1))
    sizes = {"n_samples": N, "n_features": D, "penalty": L2(1e-3)}
    ranged = RowBounds(1.0, 0.0, TargetBounds(-1.0, 1.0))
    return {
        "sigmoid": Task(Problem(Sigmoid(), bounds=RowBounds(1.0), **sizes), X, labels),
        "tukey": Task(Problem(Tukey(WIDTH), bounds=ranged, **sizes), X, targets),
    }


TASKS = make_tasks()
every_task = pytest.mark.parametrize("task", TASKS.values(), ids=TASKS)
every_solver = pytest.mark.parametrize("name", sorted(PRECISE))


@every_task
@every_solver
@pytest.mark.by_day(2)
def test_huge_budget_finds_the_lowest_minimum(name, task):
    start, best = task.objective(task.problem.start()), task.best
    left = task.objective(task.solve(PRECISE[name], 1e6)) - best
    assert left < 1e-4 * (start - best)


@every_task
@every_solver
def test_defaults_learn_from_a_moderate_budget(name, task):
    start, best = task.objective(task.problem.start()), task.best
    gained = start - task.objective(task.solve(DEFAULTS[name], 1.0))
    assert gained > 0.9 * (start - best)
