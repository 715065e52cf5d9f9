"""Wang, Ye and Xu (2017), algorithm 3 and table 3: accelerated mirror descent in l1, l_p and l2.

    python examples/papers/mirror_descent.py --plot l1_ball.png

Claim: over a bounded set the excess risk grows with the Gaussian width of the set, which is the
root of the logarithm of the number of features d for an l1 ball, d^(1 - 1/p) for l_p balls and the
root of d for an l2 ball. The paper has no experiment, and its algorithm as printed is not private,
since one of two updates takes the exact gradient; ours takes one noisy gradient for both.

Logistic loss, 2,000 sparse rows of two entries whose labels depend on four features, epsilon = .3,
delta = 1e-5. Balls have norm ``RADIUS 4^(1/p - 1)``, so that the best model, which is known by
symmetry, is the same in all. The excess is that of the risk on all rows that there may be, and
exact.

Measured, from 100 to 100,000 features (3 draws; zero has .345): in the l1 ball .017, .062, .094 and
.106, so that the logarithm reproduces and slows down; in the Euclidean geometry of the same ball
.018 to .277, in an l2 ball .039 to .319, and in between for l_p balls (p = 1.2: .028 to .113, with
its own mirror map, .018 to .307 without; p = 1.5: .024 to .305). Up to some 10,000 features `gd` is
ahead in the l1 ball (.009, .021, .069, .219) and behind in all others.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from measured import Measured, arguments, draw, table

from skdp.privacy import Adjacency, PrivateOracle, SystemNoise
from skdp.privacy.accounting import Ledger
from skdp.privacy.rows import SparseRows
from skdp.problem import Problem, RowBounds
from skdp.problem.constraints import L1Ball, L2Ball, LpBall
from skdp.problem.losses import Logistic
from skdp.solvers import GD, AccMD

N, EPSILON, DELTA = 2000, 0.3, 1e-5
RADIUS = 5.0
DIMENSIONS = (100, 1_000, 10_000, 100_000)
# Of the features that matter.
SIGNS = np.array([1.0, -1.0, 1.0, -1.0])
BALLS = {
    "l1": L1Ball(RADIUS),
    "l1.2": LpBall(RADIUS * 4 ** (1 / 1.2 - 1), 1.2),
    "l1.5": LpBall(RADIUS * 4 ** (1 / 1.5 - 1), 1.5),
    "l2": L2Ball(RADIUS / 2),
}
SOLVERS = {
    "accmd": AccMD(),
    "accmd, Euclidean": AccMD(geometry="euclidean"),
    "gd": GD(),
}


def rows(d, n, seed):
    """Rows of two entries of size 1 / sqrt(2): one of the first four features, and any other."""
    rng = np.random.default_rng(seed)
    first = rng.integers(0, 4, size=n)
    columns = np.stack([first, rng.integers(4, d, size=n)], axis=1).ravel()
    signs = rng.choice([-1.0, 1.0], size=(n, 2))
    X = sp.csr_array((signs.ravel() / np.sqrt(2), columns, np.arange(0, 2 * n + 1, 2)), (n, d))
    return X, (signs[:, 0] * SIGNS[first] > 0).astype(float)


def risk(w):
    """Mean logistic loss over all rows that there may be, given that their label is 1."""
    z = np.add.outer(SIGNS * w[:4], np.concatenate([w[4:], -w[4:]])) / np.sqrt(2)
    return float(np.logaddexp(0, -z).mean())


def excess(solver, ball, d, n, seed):
    """Risk over the least that the ball allows for."""
    X, y = rows(d, n, seed)
    problem = Problem(Logistic(), n, d, RowBounds(1.0), sparse=True, constraint=ball)
    ledger = Ledger(EPSILON, DELTA)
    oracle = PrivateOracle(SparseRows(X, y), ledger, Adjacency.REPLACE_ONE, SystemNoise())
    w = solver.solve(problem, oracle.for_problem(problem), np.random.default_rng(0)).w
    best = np.concatenate([RADIUS / 4 * SIGNS, np.zeros(d - 4)])
    return risk(w) - risk(best)


def recipe(*, dimensions=DIMENSIONS, n=N, repeats=5):
    """Excess risk by ball, solver and number of features."""
    return [
        Measured(
            {"ball": name, "solver": option, "features": d},
            tuple(excess(solver, ball, d, n, seed) for seed in range(repeats)),
        )
        for name, ball in BALLS.items()
        for option, solver in SOLVERS.items()
        for d in dimensions
    ]


def main():
    given = arguments(__doc__, repeats=5)
    found = recipe(repeats=given.repeats)
    print(table(found, "features"))
    if given.plot:
        draw(
            found,
            given.plot,
            across="features",
            line="solver",
            panel="ball",
            ylabel="excess risk",
            log="x",
        )


if __name__ == "__main__":
    main()
