"""Bounded losses against wrong labels and wild targets, by the solvers that take them.

Made-up rows of the unit sphere. Of the labels of the training rows either some are flipped
anywhere, or rows far from the border have the wrong label, which costs a convex loss most. Of the
training targets some are wild, all on one side. The rows that are scored are clean. Rows, errors
and noise are fresh for each seed, and the losses and solvers of a seed share rows and errors.

    python examples/benchmarks/robust.py
"""

from __future__ import annotations

import argparse
import warnings

import numpy as np

from skdp import DPLinearRegression, DPLogisticRegression, DPSVMClassifier, SeededNoiseWarning
from skdp.problem.losses import Huber, Sigmoid, Tukey

EPSILONS = (0.5, 1.0, 4.0)
SOLVERS = ("gd", "adaptive_gd", "spider", "ppm")
N, N_TEST, D, DELTA = 5_000, 5_000, 10, 1e-5
FLIPPED, FAR, WILD = 0.2, 0.1, 0.1
# Standard error from which on it is shown.
LARGE = 0.01
SHARED = {"delta": DELTA, "data_norm": 1.0, "precondition": None}
# In units of half the width of the bounds, in which errors of clean targets are about .05.
WIDTH = 0.3


def make_rows(rng):
    X = rng.normal(size=(N + N_TEST, D))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    truth = rng.normal(size=D)
    return X, X @ (truth / np.linalg.norm(truth))


def flipped(rng):
    """Labels of which some are flipped, wherever they are."""
    X, z = make_rows(rng)
    wrong = rng.uniform(size=N + N_TEST) < FLIPPED
    return X, (z > 0) ^ wrong, z > 0


def far(rng):
    """Labels of which those farthest out on one side are wrong."""
    X, z = make_rows(rng)
    return X, (z > 0) & (z < np.quantile(z, 1 - FAR)), z > 0


def wild(rng):
    """Targets of which some are at the end of their bounds."""
    X, z = make_rows(rng)
    clean = np.clip(0.5 * z + 0.05 * rng.normal(size=N + N_TEST), -1, 1)
    return X, np.where(rng.uniform(size=N + N_TEST) < WILD, 1.0, clean), clean


def logistic(epsilon, solver, seed):
    return DPLogisticRegression(
        epsilon=epsilon, classes=[0, 1], solver=solver, random_state=seed, **SHARED
    )


def sigmoid(epsilon, solver, seed):
    return DPSVMClassifier(
        epsilon=epsilon, classes=[0, 1], loss=Sigmoid(), solver=solver, random_state=seed, **SHARED
    )


def regression(loss):
    def make(epsilon, solver, seed):
        return DPLinearRegression(
            epsilon=epsilon,
            loss=loss,
            target_bounds=(-1, 1),
            solver=solver,
            random_state=seed,
            **SHARED,
        )

    return make


CLASSIFIERS = {"logistic": logistic, "sigmoid": sigmoid}
REGRESSORS = {
    "squared": regression("squared"),
    "huber": regression(Huber(WIDTH / 3)),
    "tukey": regression(Tukey(WIDTH)),
}
TASKS = {
    "flipped": (flipped, CLASSIFIERS),
    "far": (far, CLASSIFIERS),
    "wild": (wild, REGRESSORS),
}


def scores(make, model, solver, epsilon, n_seeds):
    """On clean rows: accuracies or R^2, one a seed."""
    found = []
    for seed in range(n_seeds):
        X, given, clean = make(np.random.default_rng(seed))
        fitted = model(epsilon, solver, 1_000 + seed).fit(X[:N], given[:N].astype(float))
        found.append(fitted.score(X[N:], clean[N:].astype(float)))
    return np.array(found)


def told(runs):
    """Their mean, with its standard error if that is large."""
    error = runs.std(ddof=1) / np.sqrt(len(runs))
    mean = f"{runs.mean():.3f}".replace("0.", ".", 1)
    return f"{mean} (± {error:.2f})" if error > LARGE else mean


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--only", choices=sorted(TASKS))
    parser.add_argument("--seeds", type=int, default=5)
    options = parser.parse_args()
    warnings.simplefilter("ignore", SeededNoiseWarning)
    print("| task | loss | " + " | ".join(f"`{s}`" for s in SOLVERS) + " |")
    print("| --- | --- |" + " --- |" * len(SOLVERS))
    for name, (make, models) in TASKS.items():
        if options.only not in (None, name):
            continue
        for loss, model in models.items():
            cells = []
            for solver in SOLVERS:
                runs = [scores(make, model, solver, e, options.seeds) for e in EPSILONS]
                cells.append(" ".join(map(told, runs)))
            print(f"| {name} | {loss} | " + " | ".join(cells) + " |", flush=True)
    print(f"In brackets standard errors beyond {LARGE}.")


if __name__ == "__main__":
    main()
