"""What federation costs and what it buys: one model over 20 sites, one a site, or one curator.

    python examples/benchmarks/federated.py --data adult --repeats 3

Logistic regression with an l2 penalty of 5e-4 on unit rows, delta = n^-1.1, the same privacy for
each row throughout. The gap is that of the penalised training loss to its minimum; accuracy is on
the fifth of the rows that was held out. "Local only" is the mean over models of single sites.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import datasets
import numpy as np
from sklearn.linear_model import LogisticRegression

from skdp import DPLogisticRegression
from skdp.solvers import DDA, GD

PENALTY = 5e-4
EPSILONS = (0.2, 0.5, 1.0, 4.0)
FEDERATED = {
    "local": DDA(),
    "pairwise": DDA(noise="pairwise"),
    "secure sum": DDA(noise="secure_sum"),
    "final model": DDA(adversary="final_model"),
    "central": DDA(noise="central"),
    "local, ring": DDA(topology="ring"),
    "pairwise, ring": DDA(noise="pairwise", topology="ring"),
    "local, one in five active": DDA(activation=0.2),
}
# With clipped gradients, as by default, and without, which keeps the objective.
CURATED = {"gd": GD(), "gd, clip 1": GD(clip=1.0)}
LOCAL_ONLY = {
    "local only": DDA(n_nodes=1),
    "local only, gd": GD(),
    "local only, gd, clip 1": GD(clip=1.0),
}


def objective(X, y, coef, intercept):
    z = X @ coef + intercept
    return np.mean(np.logaddexp(0, z) - y * z) + PENALTY / 2 * coef @ coef


def model(solver, n, epsilon, delta):
    return DPLogisticRegression(
        epsilon=epsilon,
        delta=delta,
        C=1 / (n * PENALTY),
        data_norm=1.0,
        classes=[0, 1],
        solver=solver,
        precondition=None,
    )


def one_split(data, n_sites, seed, names, rows=None):
    """For each method and epsilon the gap and the accuracy."""
    order = np.random.default_rng(seed).permutation(len(data.y))[:rows]
    cut = len(order) // 5
    X, y = data.X[order[cut:]].astype(float), data.y[order[cut:]]
    X_test, y_test = data.X[order[:cut]].astype(float), data.y[order[:cut]]
    n = len(y)
    delta = n**-1.1
    best = LogisticRegression(C=1 / (n * PENALTY), tol=1e-10, max_iter=10_000).fit(X, y)
    least = objective(X, y, best.coef_[0], best.intercept_[0])
    groups = np.repeat(np.arange(n_sites), -(-n // n_sites))[:n]

    def scores(fitted):
        gap = objective(X, y, fitted.coef_[0], fitted.intercept_[0]) - least
        return gap, fitted.score(X_test, y_test)

    found = {"without privacy": {"inf": scores(best)}}
    for epsilon in EPSILONS:
        for name, solver in FEDERATED.items():
            if name in names:
                fitted = model(solver, n, epsilon, delta).fit(X, y, sites=groups)
                found.setdefault(name, {})[str(epsilon)] = scores(fitted)
        for name, solver in CURATED.items():
            if name in names:
                fitted = model(solver, n, epsilon, delta).fit(X, y)
                found.setdefault(name, {})[str(epsilon)] = scores(fitted)
        for name, solver in LOCAL_ONLY.items():
            if name in names:
                each = []
                for site in range(n_sites):
                    X_i, y_i = X[groups == site], y[groups == site]
                    each.append(scores(model(solver, len(y_i), epsilon, delta).fit(X_i, y_i)))
                found.setdefault(name, {})[str(epsilon)] = tuple(np.mean(each, axis=0))
    return found


def main():
    every = [*FEDERATED, *CURATED, *LOCAL_ONLY]
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", default="adult")
    parser.add_argument("--sites", type=int, default=20)
    parser.add_argument("--rows", type=int, help="so many rows of the data at random")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--only", nargs="*", default=every, choices=every, metavar="METHOD")
    parser.add_argument("--out", type=Path, help="where to save the figures as JSON")
    arguments = parser.parse_args()
    data = getattr(datasets, arguments.data)()
    runs = [
        one_split(data, arguments.sites, seed, arguments.only, arguments.rows)
        for seed in range(arguments.repeats)
    ]
    print(f"{arguments.data}, {arguments.sites} sites: gap, accuracy; {arguments.repeats} splits\n")
    print("| method | " + " | ".join(f"eps {e:g}" for e in EPSILONS) + " |")
    print("|---" * (len(EPSILONS) + 1) + "|")
    table = {}
    for name in runs[0]:
        cells = {}
        for epsilon in runs[0][name]:
            values = np.array([run[name][epsilon] for run in runs])
            error = values.std(axis=0, ddof=1) / np.sqrt(len(runs)) if len(runs) > 1 else [0, 0]
            cells[epsilon] = [*values.mean(axis=0), *error]
        table[name] = cells
        shown = " | ".join(
            f"{gap:.4f}±{gap_error:.4f}, {accuracy:.3f}±{accuracy_error:.3f}"
            for gap, accuracy, gap_error, accuracy_error in cells.values()
        )
        print(f"| {name} | {shown} |", flush=True)
    if arguments.out:
        arguments.out.write_text(json.dumps(table))


if __name__ == "__main__":
    main()
