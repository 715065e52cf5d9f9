"""Menart et al. (2023): excess risk under the Kurdyka-Lojasiewicz condition, exponents 1 to 2.

    python examples/benchmarks/papers/growth.py --plot growth.png

The mean of ``|w_j - y_j|^p / p`` over d coordinates, one a row, has
``F - min F <= (gamma ||grad F||)^kappa`` with kappa = p / (p - 1). The theory promises an excess
risk of about ``(sqrt(d) / (n sqrt(rho)))^kappa``: on logarithmic axes a line of slope kappa. Each
row below is such a line, for 2,000 to 512,000 rows with d = 5 and rho fixed. There are d rows that
differ, so that sums over all of them are sums over d, times how often each occurs.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np

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
    oracle = PrivateOracle(
        rows, Ledger(EPSILON, DELTA), Adjacency.REPLACE_ONE, SystemNoise()
    ).for_problem(problem)
    solution = solver.solve(problem, oracle, np.random.default_rng(0))
    return float(np.mean(problem.loss.value(TARGETS, solution.w)))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=40)
    parser.add_argument("--plot", type=Path, help="where to save the figure")
    arguments = parser.parse_args()
    print("Mean excess risk, and the slope of its logarithm beside kappa.\n")
    print("| kappa | solver | " + " | ".join(f"n {n}" for n in SIZES) + " | slope |")
    print("|---" * (len(SIZES) + 3) + "|")
    lines = {}
    for p in POWERS:
        kappa = p / (p - 1)
        for option in TRIED:
            solver = SOLVERS[option]()
            means = [
                np.mean([excess(solver, p, n) for _ in range(arguments.repeats)]) for n in SIZES
            ]
            slope = -np.polyfit(np.log(SIZES), np.log(means), 1)[0]
            lines[kappa, option] = means
            cells = " | ".join(f"{m:.2e}" for m in means)
            print(f"| {kappa:.2f} | {option} | {cells} | {slope:.2f} |", flush=True)
    if arguments.plot:
        draw(lines, arguments.plot)


def draw(lines, path):
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, panels = plt.subplots(1, len(POWERS), figsize=(11, 3.5), layout="constrained")
    for axes, p in zip(panels, POWERS, strict=True):
        kappa = p / (p - 1)
        for option in TRIED:
            axes.plot(SIZES, lines[kappa, option], marker="o", markersize=4, label=option)
        first = np.mean([lines[kappa, option][0] for option in TRIED])
        theory = first * (np.array(SIZES) / SIZES[0]) ** -kappa
        axes.plot(SIZES, theory, color="0.5", linestyle="--", label=f"slope {kappa:.2f}")
        axes.loglog()
        axes.set_xlabel("rows")
        axes.set_title(f"kappa = {kappa:.2f}")
        axes.grid(alpha=0.3)
        axes.legend(fontsize=8)
    panels[0].set_ylabel("excess risk")
    figure.savefig(path, dpi=150)


if __name__ == "__main__":
    main()
