"""Wang, Ye and Xu (2017), table 3: the l1 ball with many more features than rows.

    python examples/benchmarks/papers/l1_ball.py --plot l1_ball.png

Logistic loss over an l1 ball, 2,000 sparse rows of two entries whose labels depend on four
features, d from 100 to 100,000. In the geometry of the ball the excess risk of accelerated mirror
descent should grow like the logarithm of d, elsewhere like a power of it.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from skdp.privacy import Adjacency, PrivateOracle, SystemNoise
from skdp.privacy.accounting import Ledger
from skdp.privacy.rows import SparseRows
from skdp.problem import Problem, RowBounds
from skdp.problem.constraints import L1Ball
from skdp.problem.losses import Logistic
from skdp.solvers import GD, AccMD

N, EPSILON, DELTA = 2000, 0.3, 1e-5
RADIUS = 5.0
DIMENSIONS = (100, 1_000, 10_000, 100_000)
SOLVERS = {
    "accmd": AccMD(),
    "accmd, Euclidean": AccMD(geometry="euclidean"),
    "gd": GD(),
}


def rows(d, seed):
    """Rows of two entries of size 1 / sqrt(2): one of the first four features, and any other."""
    rng = np.random.default_rng(seed)
    first = rng.integers(0, 4, size=N)
    columns = np.stack([first, rng.integers(4, d, size=N)], axis=1).ravel()
    signs = rng.choice([-1.0, 1.0], size=(N, 2))
    X = sp.csr_array((signs.ravel() / np.sqrt(2), columns, np.arange(0, 2 * N + 1, 2)), (N, d))
    y = (signs[:, 0] * np.array([1, -1, 1, -1])[first] > 0).astype(float)
    return X, y


def risk(solver, d, seed):
    """Mean logistic loss on the rows, over the least that the ball allows for."""
    X, y = rows(d, seed)
    problem = Problem(Logistic(), N, d, RowBounds(1.0), sparse=True, constraint=L1Ball(RADIUS))
    oracle = PrivateOracle(
        SparseRows(X, y), Ledger(EPSILON, DELTA), Adjacency.REPLACE_ONE, SystemNoise()
    )
    w = solver.solve(problem, oracle.for_problem(problem), np.random.default_rng(0)).w
    best = np.zeros(d)
    best[:4] = RADIUS / 4 * np.array([1, -1, 1, -1])
    value, least = (np.mean(Logistic().value(y, X @ v)) for v in (w, best))
    return value - least


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--plot", type=Path, help="where to save the figure")
    arguments = parser.parse_args()
    print(f"Excess risk, n = {N}, epsilon = {EPSILON:g}, in the l1 ball of radius {RADIUS:g}.\n")
    print("| solver | " + " | ".join(f"d {d}" for d in DIMENSIONS) + " |")
    print("|---" * (len(DIMENSIONS) + 1) + "|")
    lines = {}
    for name, solver in SOLVERS.items():
        runs = [[risk(solver, d, seed) for seed in range(arguments.repeats)] for d in DIMENSIONS]
        means, errors = np.mean(runs, axis=1), np.std(runs, axis=1, ddof=1)
        errors /= np.sqrt(arguments.repeats)
        cells = " | ".join(f"{m:.4f}±{e:.4f}" for m, e in zip(means, errors, strict=True))
        print(f"| {name} | {cells} |", flush=True)
        lines[name] = means, errors
    if arguments.plot:
        draw(lines, arguments.plot)


def draw(lines, path):
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(5, 3.5), layout="constrained")
    for name, (means, errors) in lines.items():
        axes.errorbar(DIMENSIONS, means, 2 * errors, label=name, marker="o", markersize=4)
    axes.set_xscale("log")
    axes.set_xlabel("features")
    axes.set_ylabel("excess risk, bars of two standard errors")
    axes.grid(alpha=0.3)
    axes.legend()
    figure.savefig(path, dpi=150)


if __name__ == "__main__":
    main()
