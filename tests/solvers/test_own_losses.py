"""A user's own loss, of which rules know no more than it declares, is minimised as well."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest
from tasks_for_solvers import solve

from skdp.problem import Problem, RowBounds
from skdp.problem.losses import Loss
from skdp.solvers import SOLVERS

N, D = 3000, 3
TARGETS = np.tile([0.8, -0.6, 0.4], N // D)


@dataclass(frozen=True)
class Power(Loss):
    """``c |z - y|^p / p`` within distance 1 of the target, linear beyond."""

    p: float
    factor: float

    n_scores: ClassVar[int] = 1
    convex: ClassVar[bool] = True
    targets: ClassVar[str] = "numbers"

    @property
    def lipschitz(self):
        return self.factor

    @property
    def smoothness(self):
        return self.factor * (self.p - 1)

    def value(self, y, z):
        far = np.abs(z - y)
        return self.factor * np.where(far <= 1, far**self.p / self.p, far - 1 + 1 / self.p)

    def derivative(self, y, z):
        far = z - y
        return self.factor * np.sign(far) * np.minimum(np.abs(far), 1.0) ** (self.p - 1)

    def _valid(self, y):
        return np.isfinite(y)


@pytest.mark.parametrize("epsilon", [10.0, 100.0])
@pytest.mark.parametrize("loss", [Power(2, 1.0), Power(5, 1.0), Power(2, 30.0)], ids=str)
@pytest.mark.parametrize("option", ["gd", "ppm", "svrg", "spider", "accmd", "adaptive_gd"])
def test_descent_does_not_overshoot_however_curved_the_loss(option, loss, epsilon):
    problem = Problem(loss, N, D, RowBounds(1.0))
    X = np.eye(D)[np.arange(N) % D]
    w = solve(SOLVERS[option](), problem, X, TARGETS, epsilon, delta=1e-6)[0].w
    excess = loss.value(TARGETS[:D], w).mean() / loss.value(TARGETS[:D], np.zeros(D)).mean()
    # Without the loss's curvature steps are up to 600 times too long.
    assert excess < 0.5
