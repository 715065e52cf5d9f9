"""Hong, Wang and Zhou (2022), figure 1: dynamic against uniform budget schedules on MNIST 3 v 5.

    python examples/benchmarks/papers/schedules.py --plot schedules.png

(4, 1e-8)-DP under replace-one, gradient descent without averaging as in the paper, and a varying
number of training rows. Differences from the paper: a logistic regression takes the place of its
neural network; the 60 principal components are those of the other eight digits, taken as public,
where the paper's are computed from the private images for free; the contraction that shapes the
exponential schedule is chosen on random Gaussian data of the same size, as in the paper, but the
number of steps is not searched. The receipt of each fit counts what was spent; the paper's own
accounting takes half of the sensitivity that its definition of neighbours asks for.
``--average 0.5`` averages the last half of the iterates, as this library does by default.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np
from sklearn.decomposition import PCA
from sklearn.linear_model import LogisticRegression

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import datasets

from skdp import DPLogisticRegression
from skdp.solvers import GD

EPSILON, DELTA = 4.0, 1e-8
SIZES = (250, 500, 1000, 2000, 4000, 8000)
DECAYS = (0.9, 0.95, 0.98, 0.99)
SCHEDULES = ("uniform", "exponential")
STEPS = 100
RIDGE = 1e-2


def images():
    """Rows of norm at most 1 in 60 coordinates learned from other digits, and which are a 5."""
    X, y, _ = datasets.load("mnist")
    ours = (y == 3) | (y == 5)
    others = np.flatnonzero(~ours)[:10_000]
    map_ = PCA(60, svd_solver="covariance_eigh").fit(X[others])
    Z = map_.transform(X)
    # The public images say how long rows are.
    Z /= np.quantile(np.linalg.norm(Z[others], axis=1), 0.95)
    return Z[ours], (y[ours] == 5).astype(int)


def gaussian(n, seed):
    """Auxiliary rows that hold nothing private: normal features and a noisy linear rule."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(2 * n, 60)) / np.sqrt(60)
    w = 10 * rng.normal(size=60)
    return X, (X @ w + rng.logistic(size=2 * n) > 0).astype(int)


def fitted(X, y, average, schedule, decay=1.0):
    solver = GD(steps=STEPS, momentum=0.0, average=average, schedule=schedule, decay=decay)
    model = DPLogisticRegression(
        epsilon=EPSILON,
        delta=DELTA,
        C=1 / (len(y) * RIDGE),
        data_norm=1.0,
        classes=[0, 1],
        solver=solver,
        precondition=None,
    )
    return model.fit(X, y)


def objective(model, X, y):
    z = model.decision_function(X)
    return np.mean(np.logaddexp(0, z) - y * z) + RIDGE / 2 * np.sum(model.coef_**2)


def decay_for(n, average, repeats):
    """The contraction with the least training objective on auxiliary data of n rows."""

    def mean(decay):
        losses = []
        for seed in range(repeats):
            X, y = gaussian(n, seed)
            model = fitted(X[:n], y[:n], average, "exponential", decay)
            losses.append(objective(model, X[:n], y[:n]))
        return np.mean(losses)

    return min(DECAYS, key=mean)


def compare(X, y, n, average, repeats):
    """Objective and accuracy over splits of both schedules and without privacy: (repeats, 3, 2)."""
    decay, out = decay_for(n, average, repeats), []
    for seed in range(repeats):
        order = np.random.default_rng(seed).permutation(len(y))
        train, test = order[:n], order[-3000:]
        models = [fitted(X[train], y[train], average, name, decay) for name in SCHEDULES]
        models.append(LogisticRegression(C=1 / (n * RIDGE)).fit(X[train], y[train]))
        out.append([(objective(m, X[train], y[train]), m.score(X[test], y[test])) for m in models])
    return decay, np.array(out)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=20)
    parser.add_argument("--average", type=float, default=0.0, help="share of iterates averaged")
    parser.add_argument("--plot", type=Path, help="where to save the figure")
    arguments = parser.parse_args()
    X, y = images()
    print(
        "Training objective and test accuracy, mean +- standard error, and a paired difference.\n"
    )
    names = " | ".join((*SCHEDULES, "not private"))
    print(f"| rows | decay | {names} | {names} | objective saved |")
    print("|---" * 9 + "|")
    means, errors = [], []
    for n in SIZES:
        decay, results = compare(X, y, n, arguments.average, arguments.repeats)
        root = np.sqrt(len(results))
        mean, error = results.mean(axis=0), results.std(axis=0, ddof=1) / root
        saved = results[:, 0, 0] - results[:, 1, 0]
        cells = [f"{mean[k, m]:.4f}±{error[k, m]:.4f}" for m in (0, 1) for k in (0, 1, 2)]
        paired = f"{saved.mean():+.4f}±{saved.std(ddof=1) / root:.4f}"
        print(f"| {n} | {decay} | {' | '.join(cells)} | {paired} |", flush=True)
        means.append(mean)
        errors.append(error)
    if arguments.plot:
        draw(np.array(means), np.array(errors), arguments.plot)


def draw(means, errors, path):
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, panels = plt.subplots(1, 2, figsize=(9, 3.5), layout="constrained")
    for metric, (axes, title) in enumerate(
        zip(panels, ("training objective", "test accuracy"), strict=True)
    ):
        for k, name in enumerate(SCHEDULES):
            axes.errorbar(SIZES, means[:, k, metric], 2 * errors[:, k, metric], label=name)
        axes.plot(SIZES, means[:, 2, metric], "k--", linewidth=1, label="not private")
        axes.set_xscale("log")
        axes.set_xticks(SIZES, list(map(str, SIZES)))
        axes.minorticks_off()
        axes.set_xlabel("training rows")
        axes.set_ylabel(title)
        axes.grid(alpha=0.3)
    panels[0].legend()
    figure.suptitle("MNIST 3 v 5, (4, 1e-8)-DP, bars of two standard errors")
    figure.savefig(path, dpi=150)


if __name__ == "__main__":
    main()
