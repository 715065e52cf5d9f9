"""Menart et al. (2023): Spider, the proximal point method and adaptive steps at flat minima.

    python examples/papers/flat_minima.py

Claim: where ``F - min F <= (gamma ||grad F||)^kappa`` the excess risk falls like
``(sqrt(d) / (n sqrt(rho)))^kappa``, by KL-Spider (algorithm 1) and, for convex losses, by proximal
points (algorithm 2); adaptive gradient descent (algorithm 3) spends by the gradient that is left.
The paper has no experiment. Here the mean of ``|w_j - y_j|^p / p`` over 5 coordinates, one a row,
has kappa = p / (p - 1); epsilon = .5, delta = 1e-6. There are 5 rows that differ, so that sums over
all of them are sums over 5, times how often each occurs.

Measured, from 2,000 to 512,000 rows, 40 repetitions: for kappa = 2, 1.5 and 1.25 exponents of 1.74,
1.34 and .80 (`spider`), 1.47, 1.09 and .63 (`ppm`), 1.44, 1.09 and .79 (`adaptive_gd`), and 1.45,
1.07 and .74 of plain `gd`. They are below kappa because clip and total step size still grow with n;
with both held fixed `gd` had 1.95 for kappa = 2, and for kappa = 1.25 4,000 steps in place of 200
gave `gd` 1.18 and `spider` 1.12.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from measured import Measured, arguments, draw, slope, table

from skdp.privacy import Adjacency, PrivateOracle, SystemNoise
from skdp.privacy.accounting import Ledger
from skdp.privacy.rows import BoundedRows, DenseRows
from skdp.problem import Problem, RowBounds
from skdp.problem.losses import Loss
from skdp.solvers import SOLVERS

TARGETS = np.array([0.8, -0.6, 0.4, -0.2, 0.6])
D = len(TARGETS)
SIZES = tuple(2000 * 4**k for k in range(5))
POWERS = (2.0, 3.0, 5.0)
TRIED = ("spider", "ppm", "adaptive_gd", "gd")
EPSILON, DELTA = 0.5, 1e-6


@dataclass(frozen=True)
class Power(Loss):
    """``|z - y|^p / p`` within distance 1 of the target, linear beyond; p >= 2."""

    p: float

    n_scores: ClassVar[int] = 1
    lipschitz: ClassVar[float] = 1.0
    convex: ClassVar[bool] = True
    targets: ClassVar[str] = "numbers"

    @property
    def smoothness(self):
        return self.p - 1

    def value(self, y, z):
        far = np.abs(z - y)
        return np.where(far <= 1, far**self.p / self.p, far - 1 + 1 / self.p)

    def derivative(self, y, z):
        far = z - y
        return np.sign(far) * np.minimum(np.abs(far), 1.0) ** (self.p - 1)

    def _valid(self, y):
        return np.isfinite(y)


class Copies(DenseRows):
    """Each row many times, without storing it so often."""

    def __init__(self, X, y, times):
        super().__init__(X, y)
        self.times, self.n_samples = times, times * len(X)

    def _bounded(self, bounds):
        return MultipliedSums(bounds, super()._bounded(bounds), self.times)


@dataclass(frozen=True)
class MultipliedSums(BoundedRows):
    bounds: RowBounds
    rows: BoundedRows
    times: int

    def sum(self, kernel, marked=None):
        return self.times * self.rows.sum(kernel, marked)


def excess(solver, p, n):
    """Excess risk of one fit; the minimum is zero."""
    problem = Problem(Power(p), n, D, RowBounds(1.0))
    rows = Copies(np.eye(D), TARGETS, n // D)
    ledger = Ledger(EPSILON, DELTA)
    oracle = PrivateOracle(rows, ledger, Adjacency.REPLACE_ONE, SystemNoise())
    w = solver.solve(problem, oracle.for_problem(problem), np.random.default_rng(0)).w
    return float(np.mean(problem.loss.value(TARGETS, w)))


def recipe(*, sizes=SIZES, powers=POWERS, repeats=40):
    """Excess risk by kappa, solver and number of rows."""
    return [
        Measured(
            {"kappa": p / (p - 1), "solver": name, "rows": n},
            tuple(excess(SOLVERS[name](), p, n) for _ in range(repeats)),
        )
        for p in powers
        for name in TRIED
        for n in sizes
    ]


def main():
    given = arguments(__doc__, repeats=40)
    found = recipe(repeats=given.repeats)
    print(table(found, "rows"))
    for first in range(0, len(found), len(SIZES)):
        line = found[first : first + len(SIZES)]
        kappa, name = line[0].where["kappa"], line[0].where["solver"]
        print(f"kappa {kappa:.2f}, {name}: exponent {slope(line):.2f}")
    if given.plot:
        draw(found, given.plot, across="rows", line="solver", panel="kappa", ylabel="excess risk")


if __name__ == "__main__":
    main()
