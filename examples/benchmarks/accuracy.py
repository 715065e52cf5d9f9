"""Accuracy of the defaults, with no tuning on the data.

For each data set and epsilon: mean and standard error over fresh random splits (80 / 20) and fresh
noise, replace-one adjacency, delta = n^-1.1. Beside it the score to reach, from a heavy-ball
reference rule, and the non-private model of scikit-learn on the same splits.

    python examples/benchmarks/accuracy.py [--seeds 5] [--only digits bike] [--quick]
"""

from __future__ import annotations

import argparse
import time

import numpy as np
from datasets import CLASSIFICATION, REGRESSION
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import train_test_split

from skdp import DPLinearRegression, DPLogisticRegression

EPSILONS = (0.1, 0.5, 1.0, 2.0, 4.0)
TO_REACH = {
    "breast_cancer": (0.821, 0.932, 0.934, 0.934, 0.948),
    "digits": (0.289, 0.729, 0.858, 0.902, 0.924),
    "adult": (0.829, 0.839, 0.842, 0.844, 0.845),
    "covertype": (0.761, 0.759, 0.760, 0.760, 0.760),
    "mnist": (0.819, 0.888, 0.897, 0.906, 0.911),
    "california": (0.60, 0.64, 0.64, 0.64, 0.64),
    "bike": (0.48, 0.66, 0.67, 0.67, 0.68),
    "diabetes": (0.08, 0.26, 0.34, 0.37, 0.41),
}


def private_model(data, epsilon, n):
    common = {"epsilon": epsilon, "delta": n**-1.1, "data_norm": data.data_norm}
    if data.target_bounds is not None:
        return DPLinearRegression(target_bounds=data.target_bounds, **common)
    return DPLogisticRegression(classes=data.classes, **common)


def exact_model(data):
    if data.target_bounds is not None:
        return Ridge(1e-3)
    return LogisticRegression(C=100.0, max_iter=300)


def run(name, make, seeds):
    data = make()
    scores, exact, seconds = np.empty((seeds, len(EPSILONS))), np.empty(seeds), []
    for seed in range(seeds):
        X, X_test, y, y_test = train_test_split(
            data.X, data.y, test_size=0.2, random_state=1000 + seed
        )
        if len(X) < 20_000 or seed == 0:
            exact[seed] = exact_model(data).fit(X, y).score(X_test, y_test)
        else:
            exact[seed] = exact[0]  # slow, and its spread over splits is negligible here
        for k, epsilon in enumerate(EPSILONS):
            model = private_model(data, epsilon, len(X))
            start = time.perf_counter()
            model.fit(X, y)
            seconds.append(time.perf_counter() - start)
            scores[seed, k] = model.score(X_test, y_test)
    mean, error = scores.mean(axis=0), scores.std(axis=0, ddof=1) / np.sqrt(seeds)
    cells = [f"{m:.3f}+-{e:.3f}" for m, e in zip(mean, error, strict=True)]
    reached = mean + 2 * error >= np.array(TO_REACH[name])
    print(f"| {name} ({len(X)}, {X.shape[1]}) | skdp | " + " | ".join(cells), end="")
    print(f" | {exact.mean():.3f} | {np.median(seconds):.2f} s |")
    print("| | to reach | " + " | ".join(f"{r:.3f}" for r in TO_REACH[name]), end="")
    print(f" | | {'all reached' if reached.all() else 'NOT reached'} |", flush=True)
    return f"{name}: {data.note}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=5, help="splits; small sets take 4 times it")
    parser.add_argument("--only", nargs="*", help="names of data sets")
    parser.add_argument("--quick", action="store_true", help="small sets only, 2 splits")
    args = parser.parse_args()
    sets = {**CLASSIFICATION, **REGRESSION}
    names = args.only or list(sets)
    if args.quick:
        names, args.seeds = ["breast_cancer", "digits", "diabetes"], 2
    print("| data (n, d) | | " + " | ".join(f"eps {e:g}" for e in EPSILONS) + " | exact | fit |")
    print("|---" * (len(EPSILONS) + 4) + "|")
    notes = []
    for name in names:
        few = name in ("breast_cancer", "digits", "diabetes")
        try:
            notes.append(run(name, sets[name], args.seeds * (4 if few and not args.quick else 1)))
        except FileNotFoundError as missing:
            notes.append(f"{name}: skipped, {missing}")
    print("\nScaling:\n" + "\n".join(f"- {note}" for note in notes))


if __name__ == "__main__":
    main()
