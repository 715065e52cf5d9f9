"""Wang, Ye and Xu (2017), table 3: the l1 ball with many more features than rows.

    python examples/benchmarks/papers/l1_ball.py --plot l1_ball.png

Squared loss over the l1 ball of radius 1, 400 rows of norm 1 whose targets a sparse vector of that
ball makes, d from 100 to 30,000. In the geometry of the ball the excess risk of accelerated mirror
descent should grow like the logarithm of d, elsewhere like a power of it.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from skdp.bounds import RowBounds, TargetBounds
from skdp.constraints import L1Ball
from skdp.data.dense import DenseRows
from skdp.losses import Squared
from skdp.privacy.adjacency import Adjacency
from skdp.privacy.ledger import Ledger
from skdp.privacy.oracle import PrivateOracle
from skdp.privacy.randomness import SystemNoise
from skdp.problem import Problem
from skdp.solvers import GD, AccMD

N, EPSILON, DELTA = 400, 4.0, 1e-5
DIMENSIONS = (100, 1_000, 10_000, 30_000)
SOLVERS = {
    "accmd": AccMD(clip=1.0),
    "accmd, Euclidean": AccMD(clip=1.0, geometry="euclidean"),
    "gd": GD(clip=1.0),
}


def rows(d, seed):
    """Rows of ten entries of size 1 / sqrt(10), and targets without noise."""
    rng = np.random.default_rng(seed)
    X = np.zeros((N, d))
    relevant = rng.integers(0, 4, size=(N, 5))
    for i in range(N):
        X[i, relevant[i]] = 1
        X[i, rng.integers(0, d, size=5)] = rng.choice([-1.0, 1.0], size=5)
    X /= np.sqrt(10)
    w = np.zeros(d)
    w[:4] = [0.4, -0.3, 0.2, -0.1]
    return X, X @ w


def risk(solver, d, seed):
    """Mean squared error on the rows, in units of that of the zero vector."""
    X, y = rows(d, seed)
    bounds = RowBounds(1.0, 0.0, TargetBounds(-1.0, 1.0))
    problem = Problem(Squared(), N, d, bounds, constraint=L1Ball(1.0))
    oracle = PrivateOracle(
        DenseRows(X, y), Ledger(EPSILON, DELTA), Adjacency.REPLACE_ONE, SystemNoise()
    )
    w = solver.solve(problem, oracle.for_problem(problem), np.random.default_rng(0)).w
    return np.mean((X @ w - y) ** 2) / np.mean(y**2)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--plot", type=Path, help="where to save the figure")
    arguments = parser.parse_args()
    print(f"Excess risk in units of that of zero, n = {N}, epsilon = {EPSILON:g}.\n")
    print("| solver | " + " | ".join(f"d {d}" for d in DIMENSIONS) + " |")
    print("|---" * (len(DIMENSIONS) + 1) + "|")
    lines = {}
    for name, solver in SOLVERS.items():
        runs = [[risk(solver, d, seed) for seed in range(arguments.repeats)] for d in DIMENSIONS]
        means, errors = np.mean(runs, axis=1), np.std(runs, axis=1, ddof=1)
        errors /= np.sqrt(arguments.repeats)
        cells = " | ".join(f"{m:.3f}±{e:.3f}" for m, e in zip(means, errors, strict=True))
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
    axes.set_ylabel("risk / risk of zero")
    axes.grid(alpha=0.3)
    axes.legend()
    figure.savefig(path, dpi=150)


if __name__ == "__main__":
    main()
