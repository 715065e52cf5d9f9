"""Streams for tests of estimators, and a comparison of what they bring about."""

import numpy as np
import pytest
from sklearn.base import is_classifier

from skdp import DPLassoRegressor, DPLinearRegression, DPLogisticRegression, DPSVMClassifier
from skdp.solvers import GD, Blocks, Solution, Solver

N, D = 640, 4
RNG = np.random.default_rng(0)
X = RNG.uniform(-1, 1, size=(N, D))
REAL = X @ np.arange(1.0, D + 1) + 0.1 * RNG.normal(size=N)
BINARY = (REAL > 0).astype(int)
# A few steps a block: what streams are tested for does not depend on how well they fit.
CUTS = Blocks(first=40, solver=GD(steps=20))


def classifier(**options):
    return DPLogisticRegression(
        **{"data_norm": 2.0, "classes": [0, 1], "solver": CUTS, "random_state": 0} | options
    )


def machine(**options):
    return DPSVMClassifier(
        **{"data_norm": 2.0, "classes": [0, 1], "solver": CUTS, "random_state": 0} | options
    )


def regressor(**options):
    return DPLinearRegression(
        **{"data_norm": 2.0, "target_bounds": (-6, 6), "solver": CUTS, "random_state": 0} | options
    )


def lasso(**options):
    return DPLassoRegressor(
        **{"feature_bound": 1.0, "target_bounds": (-6, 6), "solver": CUTS, "random_state": 0}
        | options
    )


EVERY = [classifier, machine, regressor, lasso]
every_model = pytest.mark.parametrize("make", EVERY)
both = pytest.mark.parametrize("make", [classifier, regressor])


def target(model):
    return BINARY if is_classifier(model) else REAL


def feed(model, cuts=(), start=0, stop=N, rows=X):
    """Pass rows in, in calls that end at the cuts."""
    y = target(model)
    ends = [*(c for c in cuts if start < c < stop), stop]
    for a, b in zip([start, *ends], ends, strict=False):
        model.partial_fit(rows[a:b], y[a:b])
    return model


class Failing(Solver):
    """Asks a query, and fails in the call of this number."""

    def __init__(self, at):
        object.__setattr__(self, "calls", [at])

    def check(self, problem):
        pass

    def solve(self, problem, oracle, rng):
        self.calls[0] -= 1
        w = oracle.gradient(
            problem.start(), spend=oracle.budget.fraction(0.3).whole(), clip_norm=1.0
        )
        if self.calls[0] == 0:
            raise MemoryError
        return Solution(w, 1)


class Still(Solver):
    """Returns its start."""

    def check(self, problem):
        pass

    def solve(self, problem, oracle, rng):
        return Solution(problem.start(), 1)
