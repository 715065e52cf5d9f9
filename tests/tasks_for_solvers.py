"""The problems that every solver is tried on, with their rows."""

import warnings
from dataclasses import dataclass
from math import inf

import numpy as np
import scipy.sparse as sp
from known_noise import seeded
from scipy.special import logsumexp

from skdp.privacy import Adjacency, PrivateOracle
from skdp.privacy.accounting import Ledger
from skdp.privacy.rows import DenseRows, SparseRows
from skdp.problem import Problem, RowBounds, TargetBounds
from skdp.problem.constraints import L1Ball
from skdp.problem.losses import Huber, Logistic, Pinball, Softmax, Squared
from skdp.problem.penalties import L2, ElasticNet
from skdp.solvers import SVRG
from skdp.testing import RecordingOracle, ReplayOracle, Transcript

N, D = 300, 4


@dataclass(frozen=True, eq=False)
class Task:
    name: str
    problem: Problem
    X: np.ndarray
    y: np.ndarray

    def __str__(self):
        return self.name

    def rows(self):
        return DenseRows(self.X, self.y)

    def objective(self, w):
        """Written from the definitions, in the open."""
        problem = self.problem
        constant = np.full((N, 1), problem.bounds.intercept_value)
        rows = np.hstack([self.X, constant]) if constant.any() else self.X
        z, y = rows @ w, self.y
        values = {
            Logistic: lambda: np.logaddexp(0, z) - y * z,
            Softmax: lambda: logsumexp(z, axis=-1) - z[np.arange(N), y],
            Squared: lambda: (z - y) ** 2 / 2,
            Pinball: lambda: problem.loss.value(y, z),
            Huber: lambda: np.where(np.abs(z - y) < 1, (z - y) ** 2 / 2, np.abs(z - y) - 0.5),
        }[type(problem.loss)]()
        return values.mean() + problem.penalty.value(w[:D])


def make_tasks():
    """One task a loss; rows within the unit ball, targets within [-1, 1]."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(N, D))
    X /= np.linalg.norm(X, axis=1).max()
    z = X @ [6.0, -4.0, 2.0, 0.0] + 0.5
    binary = (rng.uniform(size=N) < 1 / (1 + np.exp(-z))).astype(float)
    several = (X @ rng.normal(size=(D, 3)) * 6 + rng.gumbel(size=(N, 3))).argmax(axis=1)
    real = np.clip(0.1 * z + 0.05 * rng.normal(size=N), -1, 1)
    plain = RowBounds(1.0, 1.0)
    shared = {"n_samples": N, "n_features": D}
    ridge, net = L2(1 / N), ElasticNet(1 / N, 0.5)
    regression = RowBounds(1.0, 1.0, TargetBounds(-1.0, 1.0))
    return {
        "logistic": Task("logistic", Problem(Logistic(), **shared, bounds=plain), X, binary),
        "logistic, net": Task(
            "logistic, net", Problem(Logistic(), **shared, bounds=plain, penalty=net), X, binary
        ),
        "logistic, ball": Task(
            "logistic, ball",
            Problem(Logistic(), **shared, bounds=plain, constraint=L1Ball(5.0)),
            X,
            binary,
        ),
        "softmax": Task(
            "softmax", Problem(Softmax(3), **shared, bounds=plain, penalty=ridge), X, several
        ),
        "squared": Task(
            "squared", Problem(Squared(), **shared, bounds=regression, penalty=ridge), X, real
        ),
        "quantiles": Task(
            "quantiles", Problem(Pinball((0.2, 0.7)), **shared, bounds=regression), X, real
        ),
        "huber": Task("huber", Problem(Huber(), **shared, bounds=RowBounds(1.0)), X, real),
    }


TASKS = make_tasks()
# Variance-reduced gradients as the paper takes them.
PAPER = SVRG(
    steps=40, total_step_size=40.0, inner=5, growth=1, longest=5, reach=inf, momentum=0.0,
    snapshot="average", clip=1.0,
)  # fmt: skip


def make_problem(loss=None, **fields):
    """Many rows of one length, and targets that they tell well."""
    n, d, rng = 2000, 3, np.random.default_rng(1)
    X = rng.normal(size=(n, d))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    loss = loss or Logistic()
    target = TargetBounds(-1.0, 1.0) if isinstance(loss, Squared | Huber) else None
    z = X @ [3.0, -2.0, 0.5]
    y = 0.2 * z if target else (rng.random(n) < 1 / (1 + np.exp(-z))).astype(float)
    return Problem(loss, n, d, RowBounds(1.0, 0.0, target), **fields), X, y


def rows_of(X, y):
    return SparseRows(X, y) if sp.issparse(X) else DenseRows(X, y)


def asked(problem, X, y, epsilon=1.0, seed=0, *, delta=1e-5, adjacency=Adjacency.REPLACE_ONE):
    """An oracle about a problem of these rows, with seeded noise, and its ledger."""
    ledger = Ledger(epsilon, delta)
    oracle = PrivateOracle(rows_of(X, y), ledger, adjacency, seeded(seed))
    return oracle.for_problem(problem), ledger


def ledger_for(solver, problem, epsilon=1.0, *, delta=1e-5, adjacency=Adjacency.REPLACE_ONE):
    with warnings.catch_warnings():
        # Of a calculus for samples that is less exact without a package.
        warnings.simplefilter("ignore")
        calculus = solver.calculus_for(problem, epsilon, delta, adjacency)
    return Ledger(epsilon, delta, calculus=calculus)


def solve(
    solver,
    problem,
    X,
    y,
    epsilon=1.0,
    seed=0,
    *,
    delta=1e-5,
    adjacency=Adjacency.REPLACE_ONE,
    public_seed=0,
):
    """The solution, all that was asked for it, and the ledger."""
    ledger = ledger_for(solver, problem, epsilon, delta=delta, adjacency=adjacency)
    transcript = Transcript()
    oracle = RecordingOracle(rows_of(X, y), ledger, adjacency, seeded(seed), transcript)
    public_rng = np.random.default_rng(public_seed)
    solution = solver.solve(problem, oracle.for_problem(problem), public_rng)
    return solution, transcript.entries, ledger


def check_replay(solver, problem, X, y):
    """Record, overwrite the rows with garbage, replay without rows: nothing may change."""
    ledgers = [ledger_for(solver, problem) for _ in range(2)]
    kept, transcript = (X.copy(), y.copy()), Transcript()
    recording = RecordingOracle(
        DenseRows(X, y), ledgers[0], Adjacency.REPLACE_ONE, seeded(0), transcript
    )
    first = solver.solve(problem, recording.for_problem(problem), np.random.default_rng(7))
    X[:], y[:] = np.random.default_rng(3).normal(size=X.shape), 0
    replay = ReplayOracle(ledgers[1], Adjacency.REPLACE_ONE, transcript)
    try:
        second = solver.solve(problem, replay.for_problem(problem), np.random.default_rng(7))
    finally:
        X[:], y[:] = kept
    assert replay.finished(), "fewer queries than recorded"
    assert ledgers[0].receipt() == ledgers[1].receipt()
    np.testing.assert_array_equal(second.w, first.w)
    assert second.n_iter == first.n_iter
