"""Minibatches of SVRG against steps over all rows, and against 'gd', on real data.

A difference over a secret sample of b rows is as precise as one over all n, nearly, if b is at
least ``b* = n mu / sqrt(differences)``; batches here are multiples of that. Besides the default
schedule, where an epoch is at most 8 steps, there is one with long epochs, in which nearly all
steps are differences: the case that minibatches are for. Measured are accuracy on unseen rows, the
excess empirical risk, processor time in units of that of 'gd', and the seconds it takes to plan
the noise of sampling, once for a process, a batch size and a budget. delta = n^-1.1, replace-one.
Needs dp-accounting.

    python examples/benchmarks/minibatches.py --repeats 4
    python examples/benchmarks/minibatches.py --only adult --eps 1 --repeats 2
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from functools import partial

import datasets
import numpy as np
from sklearn.metrics import accuracy_score
from sklearn.model_selection import train_test_split
from solvers import MODELS, row, some_rows
from utility import FIRST_SEED

from skdp.privacy.accounting import gdp
from skdp.solvers import GD, SVRG

MODEL = MODELS["DPLogisticRegression"]
SETS = {"covertype": partial(some_rows, datasets.covertype, 250_000), "adult": datasets.adult}
EPSILONS = (0.2, 0.5, 1.0, 4.0)
# Of b*.
MULTIPLES = (0.25, 1.0, 4.0)
SCHEDULES = {
    "svrg": {},
    "svrg, long epochs": {"longest": 32, "reach": 2.0},
}
HEAD = ("solver", "batch", "accuracy", "excess", "time", "planning, s", "gradients, differences")


def fit(data, solver, epsilon, X, y):
    """A fitted model, seconds of the processor, and the queries it asked of each kind."""
    model = MODEL.make(data, solver=solver, epsilon=epsilon, delta=len(y) ** -1.1)
    with warnings.catch_warnings():
        # Of batches that are too small, which is what some of these are.
        warnings.simplefilter("ignore", UserWarning)
        start = time.process_time()
        model.fit(X, y)
    seconds = time.process_time() - start
    asked = {True: 0, False: 0}
    for event in model.privacy_ledger_:
        asked["difference" in event.query] += event.count
    return model, seconds, asked


def measured(data, solver, epsilon, split, least):
    X, X_test, y, y_test = split
    model, seconds, asked = fit(data, solver, epsilon, X, y)
    w = np.append(model.coef_, model.intercept_)
    accuracy = accuracy_score(y_test, model.predict(X_test))
    excess = MODEL.objective.value(w, X, y) - least
    return accuracy, excess, seconds, asked[False], asked[True]


def contenders(data, epsilon, split):
    """``(name, batch, solver)``; batches in rows, as multiples of b* and as shares."""
    X, _, y, _ = split
    n, mu = len(y), gdp.mu(epsilon, len(y) ** -1.1)
    out = [("gd", "all", GD())]
    for name, schedule in SCHEDULES.items():
        out.append((name, "all", SVRG(**schedule)))
        # As many as there can be: no epoch ends early.
        most = fit(data, SVRG(**schedule | {"reach": np.inf}), epsilon, X, y)[2][True]
        for multiple in MULTIPLES:
            batch = max(1, round(multiple * n * mu / np.sqrt(most)))
            if batch < n:
                label = f"{batch:,} = {multiple:g} b* ({batch / n:.1%})"
                out.append((name, label, SVRG(**schedule, batch_size=batch)))
    return out


def table(name, epsilon, data, splits, least):
    n, d = splits[0][0].shape
    print(f"\n**{name}**, {n:,} rows, {d} features, epsilon {epsilon:g}\n")
    print(row(HEAD))
    print(row(["---"] * len(HEAD)))
    for solver_name, batch, solver in contenders(data, epsilon, splits[0]):
        runs, seconds, first = [], [], 0.0
        if batch != "all":
            # The first fit plans, later ones remember the plan.
            first = measured(data, solver, epsilon, splits[0], least[0])[2]
        for split, best in zip(splits, least, strict=True):
            # In turns, so that times are comparable.
            seconds.append(measured(data, GD(), epsilon, split, best)[2])
            runs.append(measured(data, solver, epsilon, split, best))
        values = np.array(runs)
        mean = values.mean(axis=0)
        error = values.std(axis=0, ddof=min(1, len(runs) - 1)) / np.sqrt(len(runs))
        cells = [
            f"{mean[0]:.3f}±{error[0]:.3f}",
            f"{mean[1]:.4f}±{error[1]:.4f}",
            f"{np.median(values[:, 2] / seconds):.2f}",
            f"{max(0.0, first - np.median(values[:, 2])):.1f}",
            f"{mean[3]:.0f}, {mean[4]:.0f}",
        ]
        print(row([solver_name, batch, *cells]), flush=True)


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--only", nargs="+", choices=SETS, default=list(SETS))
    parser.add_argument("--eps", nargs="+", type=float, default=EPSILONS)
    parser.add_argument("--repeats", type=int, default=3)
    args = parser.parse_args(arguments)
    for name in args.only:
        try:
            data = SETS[name]()
        except FileNotFoundError as missing:
            print(f"{name}: skipped, {missing}", file=sys.stderr)
            continue
        splits = [
            train_test_split(
                data.X.astype(np.float64),
                data.y,
                test_size=0.2,
                random_state=FIRST_SEED + seed,
                stratify=data.y,
            )
            for seed in range(args.repeats)
        ]
        least = [MODEL.objective.minimum(X, y) for X, _, y, _ in splits]
        for epsilon in args.eps:
            table(name, epsilon, data, splits, least)


if __name__ == "__main__":
    main()
