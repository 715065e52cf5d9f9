"""Liu, Johansson and Shi, section 5: support vector machines over 20 nodes, an edge or two a round.

    python examples/benchmarks/papers/dual_averaging.py --plot dual_averaging.png

Hinge loss on unit rows with an l2 or l1 penalty of 5e-4; in each round the ends of one or two
random edges (iota = 0.1, 0.2) send the noisy subgradient of one random record each, for three
epochs. The noise is that of the paper's theorem 1, whose delta is vacuous; next to the epsilon that
it claims stands the one that an adversary who sees messages is held to, at delta = n^-1.1: idle
rounds do not count, and the secret draw of a record does. The last rows are solver ``dda`` with
exact accounting at the epsilon of the first column.
"""

from __future__ import annotations

import argparse
import sys
from math import log, sqrt
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from dp_accounting import NeighboringRelation
from dp_accounting.pld import privacy_loss_distribution
from sklearn.linear_model import SGDClassifier
from sklearn.svm import LinearSVC

from skdp.federated import Complete, draw_rounds
from skdp.privacy import Adjacency, PrivateOracle, SystemNoise
from skdp.privacy.accounting import Ledger
from skdp.privacy.rows import DenseRows, SparseRows
from skdp.problem import Problem, RowBounds, Sites
from skdp.problem.losses import Hinge
from skdp.problem.penalties import L1, L2
from skdp.solvers import DDA, DualNodes

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import datasets

NODES, PENALTY, DELTA_0 = 20, 5e-4, 0.01
EPSILONS = (0.2, 0.4, 0.6, 0.8, 1.0)
SETS = {"covertype": ("covertype_2", 20_000), "newsgroups": ("newsgroups_7_8", None)}
IOTAS = (0.1, 0.2)


def load(name):
    """Rows in random order, as many as 20 nodes can share evenly; signs; problem."""
    source, rows = SETS[name]
    data = getattr(datasets, source)()
    order = np.random.default_rng(0).permutation(len(data.y))[:rows]
    order = order[: len(order) // NODES * NODES]
    X = data.X[order]
    return (X.tocsr() if sp.issparse(X) else X.astype(float)), data.y[order].astype(float)


def objective(X, y, penalty, w):
    return np.mean(np.maximum(0, 1 - (2 * y - 1) * (X @ w))) + penalty.value(w)


def optimum(X, y, norm, penalty):
    """The least value that scikit-learn finds."""
    if norm == "l2":
        model = LinearSVC(
            loss="hinge",
            C=1 / (len(y) * PENALTY),
            fit_intercept=False,
            tol=1e-6,
            max_iter=100_000,
        )
        return objective(X, y, penalty, model.fit(X, y).coef_[0])
    found = []
    for average in (False, True):
        model = SGDClassifier(
            penalty="l1", alpha=PENALTY, fit_intercept=False, average=average, random_state=0
        )
        for _ in range(100):
            model.partial_fit(X, y, classes=[0.0, 1.0])
            found.append(objective(X, y, penalty, model.coef_[0]))
    return min(found)


def true_epsilon(z, q, rounds, delta):
    """Of a node that is active so often, its records drawn with probability 1 / q in secret."""
    pair = privacy_loss_distribution.from_gaussian_mechanism(
        z,
        sampling_prob=1 / q,
        value_discretization_interval=1e-3,
        neighboring_relation=NeighboringRelation.REPLACE_ONE,
    )
    return pair.self_compose(rounds).get_epsilon_for_delta(delta)


def published(X, y, problem, norm, iota, epsilon, epochs, seed):
    """Algorithm 1 with the noise of theorem 1: values on the way, true epsilon and noise."""
    n = len(y)
    q, active = n // NODES, round(iota * NODES)
    rounds = epochs * n // active
    sigma = sqrt(32 * iota**2 * rounds * log(2 / DELTA_0)) / (q * epsilon)
    public_rng = np.random.default_rng(seed)
    schedule = draw_rounds(rounds, active, NODES, "edges", Complete(), 0.0, public_rng)
    solver = DDA.from_paper(norm, activation=iota)
    nodes = DualNodes(problem, NODES, 0.0)
    signs, whole, total = 2 * y - 1, 0.0, np.zeros(problem.shape)
    marks = set(np.unique(np.geomspace(10, rounds, 15).astype(int)).tolist())
    counts, path = np.zeros(NODES, dtype=int), []
    for t, r in enumerate(schedule, start=1):
        a = float(t) if solver.weights == "linear" else 1.0
        whole += a
        x = nodes.look(r.active, iota * whole, solver.gamma * t**solver.gamma_growth)
        records = r.active * q + public_rng.integers(0, q, r.active.size)
        rows = X[records].toarray() if sp.issparse(X) else X[records]
        margins = signs[records] * np.einsum("ij,ij->i", rows, x)
        messages = -(signs[records] * (margins < 1))[:, None] * rows
        messages = messages + sigma * public_rng.standard_normal(messages.shape)
        counts[r.active] += 1
        total += a * x.mean(axis=0)
        nodes.learn(r.active, messages, a, r.mixing, 1)
        if t in marks:
            path.append((t, objective(X, y, problem.penalty, total / whole)))
    return path, true_epsilon(sigma, q, int(counts.max()), n**-1.1), sigma


def by_rule(X, y, problem, iota, epsilon, seed):
    """Solver dda with its defaults, at this epsilon for real; the seed is public."""
    sites = Sites(tuple(range(NODES)), np.full(NODES, len(y) // NODES))
    rows = SparseRows(X, y) if sp.issparse(X) else DenseRows(X, y)
    ledger = Ledger(epsilon, len(y) ** -1.1)
    oracle = PrivateOracle(rows, ledger, Adjacency.REPLACE_ONE, SystemNoise())
    solver = DDA(activation=iota, schedule="edges")
    asked = Problem(
        problem.loss,
        problem.n_samples,
        problem.n_features,
        problem.bounds,
        penalty=problem.penalty,
        sparse=problem.sparse,
        sites=sites,
    )
    w = solver.solve(asked, oracle.for_problem(asked), np.random.default_rng(seed)).w
    return objective(X, y, problem.penalty, w)


def with_error(values):
    """Mean and standard error."""
    return f"{np.mean(values):.4f} +- {np.std(values, ddof=1) / sqrt(len(values)):.4f}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--repeats", type=int, default=3, help="at least 2")
    parser.add_argument("--epsilons", type=float, nargs="*", default=EPSILONS)
    parser.add_argument("--only", nargs="*", default=list(SETS), choices=list(SETS))
    parser.add_argument("--plot", type=Path, help="where to save the figure")
    arguments = parser.parse_args()
    lines = {}
    for name in arguments.only:
        X, y = load(name)
        n, d = X.shape
        for norm, penalty in (("l2", L2(PENALTY)), ("l1", L1(PENALTY))):
            problem = Problem(Hinge(), n, d, RowBounds(1.0), penalty=penalty, sparse=sp.issparse(X))
            least = optimum(X, y, norm, penalty)
            start = objective(X, y, penalty, np.zeros(d)) - least
            print(f"\n{name}, {n} rows, {d} features, {norm}: optimum {least:.4f}, ", end="")
            print(f"suboptimality at the start {start:.3f}\n")
            print("| iota | claimed epsilon | sigma | true epsilon | suboptimality | dda, exact |")
            print("|---|---|---|---|---|---|")
            for iota in IOTAS:
                for epsilon in arguments.epsilons:
                    runs = [
                        published(X, y, problem, norm, iota, epsilon, arguments.epochs, seed)
                        for seed in range(arguments.repeats)
                    ]
                    rules = [
                        by_rule(X, y, problem, iota, epsilon, seed) - least
                        for seed in range(arguments.repeats)
                    ]
                    paths = np.array([path for path, _, _ in runs])
                    t, gaps = paths[0, :, 0], paths[:, :, 1] - least
                    lines[name, norm, iota, epsilon] = t, gaps
                    # Who is active how often is drawn anew, and so are worst cases.
                    true, sigma = max(run[1] for run in runs), runs[0][2]
                    print(
                        f"| {iota} | {epsilon} | {sigma:.3g} | {true:.3g} | "
                        f"{with_error(gaps[:, -1])} | {with_error(rules)} |",
                        flush=True,
                    )
    if arguments.plot:
        draw(lines, arguments)


def draw(lines, arguments):
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    panels = [(name, norm) for name in arguments.only for norm in ("l2", "l1")]
    figure, axes = plt.subplots(
        2, len(panels), figsize=(3.2 * len(panels), 5.6), layout="constrained", squeeze=False
    )
    for k, (name, norm) in enumerate(panels):
        wanted = 0.8 if norm == "l2" else 0.4
        fixed = min(arguments.epsilons, key=lambda epsilon: abs(epsilon - wanted))
        for iota in IOTAS:
            t, gaps = lines[name, norm, iota, fixed]
            for ax, x in ((axes[0, k], t), (axes[1, k], t / t[-1] * arguments.epochs)):
                (line,) = ax.loglog(x, gaps.mean(axis=0), label=f"iota = {iota}")
                ax.fill_between(
                    x, gaps.min(axis=0), gaps.max(axis=0), alpha=0.2, color=line.get_color()
                )
        axes[0, k].set_title(f"{name}, {norm}, claimed epsilon {fixed}", fontsize=9)
        axes[0, k].set_xlabel("iterations")
        axes[1, k].set_xlabel("epochs")
    for ax in axes.flat:
        ax.grid(alpha=0.3)
        ax.set_ylabel("suboptimality")
    axes[0, 0].legend()
    figure.savefig(arguments.plot, dpi=150)


if __name__ == "__main__":
    main()
