"""Coefficients in an l1 ball: Frank-Wolfe against projected descent, and against no ball at all.

Text is 20 Newsgroups, two groups against each other or one against the rest; 'adult' and
'covertype' have few features; 'lasso' is a linear model of 20 out of 1,000 features, with the l1
norm of the truth as radius and 1.5 times that. Sets are split 80 / 20, the noise is fresh, and
delta = n^-1.1. Measured are the score on unseen rows, the coefficients that are not zero, and
processor time. Fits go to a JSON file, which grows with each run.

    python examples/benchmarks/frank_wolfe.py --only newsgroups_7_8 --out frank_wolfe.json
    python examples/benchmarks/frank_wolfe.py --report frank_wolfe.json
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from functools import partial

import datasets
import numpy as np
import results
from sklearn.metrics import accuracy_score, balanced_accuracy_score, r2_score
from sklearn.model_selection import train_test_split

from skdp import DPLassoRegressor, DPLinearRegression, DPLogisticRegression
from skdp.problem.constraints import L1Ball

EPSILONS = (0.5, 1.0, 4.0, 16.0)
FIRST_SEED = 100
N, D, INFORMATIVE = 20_000, 1_000, 20


def some(make, n):
    data = make()
    rows = datasets.some(np.arange(len(data.y)), n, seed=0)
    return datasets.Dataset(data.X[rows], data.y[rows], data.note)


def truth():
    return np.sqrt(D) * np.where(np.arange(D) < INFORMATIVE, (-1.0) ** np.arange(D), 0.0) / 10


def lasso():
    """A linear model that explains .8 of the variance; features within ``1 / sqrt(d)``."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(N, D)) / np.sqrt(D)
    z = X @ truth()
    y = np.clip(z + z.std() / 2 * rng.normal(size=N), -1, 1)
    note = "uniform features, 20 of 1,000 matter alike"
    return datasets.Dataset(X, y, note, target_bounds=(-1, 1), feature_bound=D**-0.5)


SETS: dict[str, Callable[[], datasets.Dataset]] = {
    "newsgroups_7_8": datasets.newsgroups_7_8,
    "newsgroups_3_4": datasets.newsgroups_3_4,
    "newsgroups_13_14": datasets.newsgroups_13_14,
    "newsgroups_2": datasets.newsgroups_2,
    "adult": partial(some, datasets.adult, 20_000),
    "covertype": partial(some, datasets.covertype, 20_000),
    "lasso": lasso,
}


def radii(data):
    if data.is_regression:
        return tuple(float(factor * np.abs(truth()).sum()) for factor in (1, 1.5))
    return (20.0, 60.0) if isinstance(data.X, np.ndarray) else (30.0, 100.0)


def methods(data):
    """``{name: estimator of epsilon and delta}``."""
    if data.is_regression:
        given = {"data_norm": data.data_norm, "target_bounds": data.target_bounds}
        free = partial(DPLassoRegressor, feature_bound=data.feature_bound, **given)
        estimator = DPLinearRegression
    else:
        given = {"data_norm": data.data_norm, "classes": data.classes}
        free = partial(DPLogisticRegression, **given)
        estimator = DPLogisticRegression
    found = {
        f"{solver}, radius {radius:.3g}": partial(
            estimator, solver=solver, constraint=L1Ball(radius), **given
        )
        for radius in radii(data)
        for solver in ("frank_wolfe", "gd", "accmd")
    }
    return found | {"gd, no ball": partial(free, solver="gd"), "auto, no ball": free}


def scores(data, model, X, y):
    predicted = model.predict(X)
    if data.is_regression:
        own = {"r2": r2_score(y, predicted)}
    else:
        own = {
            "accuracy": accuracy_score(y, predicted),
            "balanced_accuracy": balanced_accuracy_score(y, predicted),
        }
    own |= {"nonzero": np.count_nonzero(model.coef_), "steps": np.max(model.n_iter_)}
    return {name: float(value) for name, value in own.items()}


def run(name, chosen, seeds, epsilons):
    """Fits of one data set by the methods whose names start with one of those chosen."""
    data = SETS[name]()
    named = {m: make for m, make in methods(data).items() if m.startswith(tuple(chosen))}
    fits = []
    for seed in seeds:
        X, X_test, y, y_test = train_test_split(
            data.X,
            data.y,
            test_size=0.2,
            random_state=FIRST_SEED + seed,
            stratify=None if data.is_regression else data.y,
        )
        for epsilon in epsilons:
            for method, make in named.items():
                model = make(epsilon=epsilon, delta=len(y) ** -1.1)
                start = time.process_time()
                model.fit(X, y)
                seconds = round(time.process_time() - start, 3)
                fits.append(
                    results.Fit(
                        data=name,
                        method=method,
                        epsilon=epsilon,
                        seed=seed,
                        n_samples=X.shape[0],
                        n_features=X.shape[1],
                        n_classes=None if data.is_regression else len(data.classes),
                        seconds=seconds,
                        scores=scores(data, model, X_test, y_test),
                    )
                )
    return fits


def table(fits, data):
    """A table in markdown: ``score, non-zeros, seconds`` for each budget."""
    own = [f for f in fits if f.data == data]
    epsilons = sorted({f.epsilon for f in own})
    score = "r2" if own[0].n_classes is None else "accuracy"
    if data == "newsgroups_2":
        score = "balanced_accuracy"
    values, nonzero = results.cells(own, score), results.cells(own, "nonzero")
    head = ["", *(f"eps {e:g}" for e in epsilons)]
    lines = [f"**{data}** ({own[0].n_samples:,} rows, {own[0].n_features:,} features): {score}"]
    lines += ["", row(head), row(["---"] * len(head))]
    for method in dict.fromkeys(f.method for f in own):
        cells = [method]
        for epsilon in epsilons:
            key = data, method, epsilon
            seconds = [f.seconds for f in own if (f.method, f.epsilon) == (method, epsilon)]
            if key in values:
                cells.append(f"{values[key]}, {nonzero[key].mean:.0f}, {np.mean(seconds):.2f} s")
            else:
                cells.append("")
        lines.append(row(cells))
    return "\n".join(lines)


def row(cells):
    return "| " + " | ".join(cells) + " |"


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--only", nargs="+", choices=SETS, default=list(SETS))
    parser.add_argument("--methods", nargs="+", default=[""], help="beginnings of names")
    parser.add_argument("--eps", nargs="+", type=float, default=EPSILONS)
    parser.add_argument("--repeats", type=int, default=4)
    parser.add_argument("--out", help="JSON file that the fits are added to")
    parser.add_argument("--report", nargs="+", metavar="JSON", help="run nothing, print tables")
    given = parser.parse_args(arguments)
    fits = results.read(given.report) if given.report else []
    for name in [] if given.report else given.only:
        found = run(name, given.methods, range(given.repeats), given.eps)
        if given.out:
            results.write(given.out, found)
        fits += found
    print("\n\n".join(table(fits, data) for data in dict.fromkeys(f.data for f in fits)))


if __name__ == "__main__":
    main()
