"""Quantile regression: shares below the quantiles .1, .5 and .9 of test rows, and pinball losses.

    python examples/benchmarks/quantile_regression.py              # all tables, about five minutes
    python examples/benchmarks/quantile_regression.py --only bike --fits 2

Beside scikit-learn's QuantileRegressor without a penalty, on standardised columns, and constant
quantiles. All three quantiles are fitted for one budget, with columns and targets whose ranges the
fit finds. Means over fits with other noise, on 70 % of the rows. Reads ``load.py`` from the folder
named by the environment variable SKDP_DATA.
"""

from __future__ import annotations

import argparse
import os
import sys
import warnings
from pathlib import Path

import numpy as np
from sklearn.linear_model import QuantileRegressor
from sklearn.metrics import mean_pinball_loss
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skdp import DPQuantileRegressor

FOLDER = Path(os.environ.get("SKDP_DATA", "shared/data"))
QUANTILES, EPSILONS, DELTA = (0.1, 0.5, 0.9), (0.5, 1.0, 4.0, 16.0), 1e-6
ROWS = 20_000


def simulated(n=ROWS, d=8):
    """Targets that spread from .3 to .8 around a linear function, by the first of d features."""
    rng = np.random.default_rng(0)
    X, coef = rng.uniform(-1, 1, size=(n, d)), rng.normal(size=d)
    return X, X @ coef + (0.55 + 0.25 * X[:, 0]) * rng.normal(size=n)


def table(name):
    """Features and targets of a data set."""
    if name == "simulated":
        return simulated()
    sys.path.insert(0, str(FOLDER))
    from load import load

    X, y = load(name)
    return X.astype(float), y.astype(float)


def measured(predicted, y):
    """Shares of targets below, and pinball losses, of each quantile."""
    each = list(zip(QUANTILES, predicted.T, strict=True))
    below = [float(np.mean(y <= z)) for _, z in each]
    return below + [mean_pinball_loss(y, z, alpha=q) for q, z in each]


def of_skdp(train, test, epsilon):
    """Scores of one private fit by default."""
    model = DPQuantileRegressor(epsilon=epsilon, delta=DELTA, quantile=list(QUANTILES))
    return measured(model.fit(*train).predict(test[0]), test[1])


def of_sklearn(train, test):
    """Scores of one fit for each quantile, without privacy."""
    columns = []
    for q in QUANTILES:
        model = make_pipeline(StandardScaler(), QuantileRegressor(quantile=q, alpha=0))
        columns.append(model.fit(*train).predict(test[0]))
    return measured(np.column_stack(columns), test[1])


def line(words, scores, digits):
    below, lost = scores[:3], scores[3:]
    cells = [f"{share:.3f}" for share in below] + [f"{loss:.{digits}f}" for loss in lost]
    print(f"| {words} | {' | '.join(cells)} |", flush=True)


def main():
    """Print a table for each data set."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", choices=("bike", "california", "simulated"))
    parser.add_argument("--fits", type=int, default=5)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    for name in ("bike", "california", "simulated") if options.only is None else (options.only,):
        X, y = table(name)
        parts = train_test_split(X, y, test_size=0.3, random_state=0)
        train, test = (parts[0], parts[2]), (parts[1], parts[3])
        digits = 2 if name == "bike" else 4
        print(f"\n{name}: {len(train[1]):,} rows, {X.shape[1]} features\n")
        heads = [f"below .{q * 10:.0f}" for q in QUANTILES] + [
            f"loss at .{q * 10:.0f}" for q in QUANTILES
        ]
        print(f"| | {' | '.join(heads)} |\n| --- |{' --- |' * len(heads)}")
        constant = np.tile(np.quantile(train[1], QUANTILES), (len(test[1]), 1))
        line("constant", measured(constant, test[1]), digits)
        line("QuantileRegressor", of_sklearn(train, test), digits)
        for epsilon in EPSILONS:
            fits = [of_skdp(train, test, epsilon) for _ in range(options.fits)]
            line(f"epsilon = {epsilon:g}", np.mean(fits, axis=0), digits)


if __name__ == "__main__":
    main()
