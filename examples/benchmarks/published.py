"""Fill docs/benchmarks/published.md: this package on tables and settings that others published.

    export SKDP_PEERS=.venv-peers/bin/python
    python examples/benchmarks/published.py

A few minutes on one core; ``--only`` runs some of its tables and leaves the others of the page as
they are. Methods without a package are in by_description.py. Peers run if ``SKDP_PEERS`` names an
interpreter that has them, see peers.py. Cells of ours that are behind are marked.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from dataclasses import replace
from itertools import product
from math import log
from pathlib import Path

import by_description
import datasets
import numpy as np
import peers
import results
from methods import exact, predictions, private
from report import fill, grid
from scoring import score
from sklearn.datasets import make_classification, make_regression
from sklearn.linear_model import LinearRegression
from sklearn.metrics import r2_score
from sklearn.model_selection import KFold, train_test_split
from sklearn.preprocessing import SplineTransformer

from skdp import DPLinearRegression

PAGE = Path(__file__).resolve().parents[2] / "docs" / "benchmarks" / "published.md"
BEHIND = " ▼"
RELATIONS = ("zero_out", "replace_one")


def marked(cell, best=None, *, larger_is_better=True, digits=3):
    """A cell, and whether it is behind by more than a standard error and 2 % of the best loss.

    The loss of a score that is at most 1 is what it lacks of 1.
    """
    text = f"{cell.mean:.{digits}f} ± {cell.error:.{digits}f}"
    if best is None:
        return text
    lag, loss = (best - cell.mean, 1 - best) if larger_is_better else (cell.mean - best, best)
    return text + BEHIND * (lag > cell.error + 0.02 * loss)


def split(X, y, seed, stratify):
    return train_test_split(
        X, y, test_size=0.2, random_state=9000 + seed, stratify=y if stratify else None
    )


# ---------------------------------------------------------------------------- sufficient statistics
SETS_OF_WANG = ("airfoil", "concrete", "energy", "housing", "parkinsons", "pol", "wine")
PRIVATE_OF_WANG = slice("SSP", None)


def squared_errors(X, y, fit):
    """Mean squared error over ten folds of what ``fit(X, y)`` predicts."""
    errors = []
    for train, test in KFold(10, shuffle=True, random_state=0).split(X):
        predicted = fit(X[train], y[train]).predict(X[test])
        errors.append(np.mean((predicted - y[test]) ** 2))
    return results.cell(errors)


def told(epsilon, adjacency):
    """The regressor with default settings, told the norm of rows and the range of targets."""
    return DPLinearRegression(
        epsilon=epsilon,
        delta=1e-6,
        data_norm=1.0,
        target_bounds=(-1.0, 1.0),
        adjacency=adjacency,
    )


def mixing(epsilon, rng):
    return lambda X, y: by_description.iterative_hessian_mixing(X, y, epsilon, 1e-6, rng)


def wang(splits):
    """Mean squared errors on sets of Wang (2018), over ten folds, beside those printed there."""
    del splits
    frames = datasets.stored("frames")
    rows, epsilons = [], frames.EPSILONS[::2]  # There are ten.
    for name in SETS_OF_WANG:
        X, y, printed = frames.published(name)
        printed = printed.loc[epsilons]
        of_methods = printed.loc[:, PRIVATE_OF_WANG]
        best = of_methods.min(axis=1)
        constant, exact = (printed[method].iloc[0] for method in ("constant", "not private"))
        line = f"{name}, {len(y):,} x {X.shape[1]}: {constant:.3f}, {exact:.3f}"
        rows.append([line, "best published", *(f"{e:.3f}" for e in best)])
        mixed = [squared_errors(X, y, mixing(e, np.random.default_rng(0))) for e in printed.index]
        rows.append(["", "iterative Hessian mixing", *(marked(cell) for cell in mixed)])
        best = np.minimum(best, [cell.mean for cell in mixed])
        for adjacency in RELATIONS:
            cells = [squared_errors(X, y, told(e, adjacency).fit) for e in printed.index]
            shown = [
                marked(cell, least if adjacency == "zero_out" else None, larger_is_better=False)
                for cell, least in zip(cells, best, strict=True)
            ]
            rows.append(["", f"skdp, `{adjacency}`", *shown])
    return grid(
        ["set: error of a constant, not private", "", *(f"ε = {e:g}" for e in epsilons)],
        rows,
    )


# ------------------------------------------------------------------------------------ no bounds
# From worst to best, which the paper makes numbers of.
GRADES = {
    "cut": ["Fair", "Good", "Very Good", "Premium", "Ideal"],
    "color": list("JIHGFED"),
    "clarity": ["I1", "SI2", "SI1", "VS2", "VS1", "VVS2", "VVS1", "IF"],
}


class Tukey:
    """TukeyEM with fresh noise."""

    def fit(self, X, y):
        return by_description.tukey(X, y, log(3), 1e-5, np.random.default_rng())


def without_bounds(splits):
    """R2 at epsilon = ln 3 and delta = 1e-5 of regressions that are told nothing of the rows."""
    X, y = make_regression(22_000, 10, n_informative=10, noise=10, random_state=0)
    sets = {"make_regression": (X, y)}
    diamonds, prices, _ = datasets.stored("frames").frame("diamonds")
    X = np.hstack(datasets.numbers_and_indicators(diamonds))
    sets["diamonds, log of the price"] = X, prices.to_numpy(float)
    sets["diamonds, price"] = X, np.exp(prices.to_numpy(float))
    codes = {name: diamonds[name].map(grades.index) for name, grades in GRADES.items()}
    X = diamonds.assign(**codes).to_numpy(float)
    sets["diamonds, price, grades as numbers"] = X, np.exp(prices.to_numpy(float))
    sets["california"] = datasets.load("california")[:2]
    models = {
        "skdp": lambda: DPLinearRegression(epsilon=log(3), delta=1e-5),
        "skdp, `adassp`": lambda: DPLinearRegression(epsilon=log(3), delta=1e-5, solver="adassp"),
        "TukeyEM": Tukey,
        "not private": LinearRegression,
    }
    rows = []
    for name, (X, y) in sets.items():
        cells = {}
        for method, make in models.items():
            values = []
            for seed in range(2 * splits):
                part, test, target, truth = split(X, y, seed, False)
                values.append(r2_score(truth, make().fit(part, target).predict(test)))
            cells[method] = results.cell(values)
        best = max(cells["skdp, `adassp`"].mean, cells["TukeyEM"].mean)
        shown = [marked(cells[m], best if m == "skdp" else None) for m in models]
        rows.append([f"{name}, {len(y):,} x {X.shape[1]}", *shown])
    return grid(["R², ε = ln 3", *models], rows)


# ------------------------------------------------------------------------------------- additive
def columns_of(name):
    """Columns as they are in the file, indicators as codes, and their ranges, NaN for codes."""
    X, _, extras = datasets.load(name)
    columns, low, high, parts = [], [], [], {}
    for j, feature in enumerate(map(str, extras["feature_names"])):
        prefix, equals, _ = feature.partition("=")
        if equals:
            parts.setdefault(prefix, []).append(j)
        else:
            columns.append(X[:, j])
            low.append(X[:, j].min())
            high.append(X[:, j].max())
    columns += [X[:, indices].argmax(axis=1) for indices in parts.values()]
    low, high = (np.array([*ends, *([np.nan] * len(parts))]) for ends in (low, high))
    return np.column_stack(columns).astype(float), low, high


def splines(columns, low, high):
    """Cubic splines of the numbers between public knots, and indicators; rows of norm 1 at most."""
    parts = []
    for x, a, b in zip(columns.T, low, high, strict=True):
        if np.isnan(a):
            parts.append(np.equal.outer(x, np.arange(x.max() + 1)))
            continue
        x = x - a
        if b - a > 1000:
            x, b = np.log1p(x), a + np.log1p(b - a)
        knots = np.linspace(0, b - a, 6)[:, None]
        parts.append(SplineTransformer(knots=knots).fit(knots).transform(x[:, None]))
    return np.hstack(parts).astype(float) / np.sqrt(columns.shape[1])


def additive(splits):
    """Scores beside DP-EBM, of columns and of splines of them."""
    epsilons = (0.5, 1.0, 4.0)
    rows = []
    for name in ("adult", "california", "bike", "protein"):
        data = getattr(datasets, name)()
        columns, low, high = columns_of(name)
        on_splines = replace(data, X=splines(columns, low, high), data_norm=1.0)
        ranges = {"low": low, "high": high, "target_bounds": data.target_bounds}
        found = {}

        def add(method, epsilon, predicted, truth, data=data, found=found):
            for metric, value in score(data, predicted, truth).items():
                if metric in ("auc", "log_loss", "r2"):
                    found.setdefault((metric, method, epsilon), []).append(value)

        order = np.arange(len(data.y))
        for seed in range(splits):
            train, test, y, truth = split(order, data.y, seed, not data.is_regression)
            delta = len(y) ** -1.1
            for adjacency, epsilon in product(RELATIONS, epsilons):
                for kind, told in (("skdp", data), ("skdp on splines", on_splines)):
                    model = private(told, epsilon, delta, adjacency=adjacency).fit(told.X[train], y)
                    predicted = predictions(model, told, told.X[test])
                    add(f"{kind}, `{adjacency}`", epsilon, predicted, truth)
            theirs = peers.ebm(columns[train], y, columns[test], epsilons, delta=delta, **ranges)
            for epsilon, answer in zip(epsilons, theirs, strict=True):
                if answer is not None:
                    add("DP-EBM", epsilon, answer[0], truth)
            answer = exact(data, data.X[train], y, data.X[test], None, None)
            add("not private", None, answer.predicted, truth)
        rows += rows_of(name, found, epsilons)
    return grid(["set, score: not private", "method", *(f"ε = {e:g}" for e in epsilons)], rows)


NAMES = {"auc": "AUC", "log_loss": "log-loss", "r2": "R²", "accuracy": "accuracy"}


def rows_of(name, found, epsilons):
    """A row a score and method; defaults are held against the best of all other private ones."""
    cells = {key: results.cell(values) for key, values in found.items()}
    rows = []
    for metric in dict.fromkeys(metric for metric, _, _ in cells):
        larger = metric != "log_loss"
        own = {(m, epsilon): cell for (of, m, epsilon), cell in cells.items() if of == metric}
        exact = next(cell for (_, epsilon), cell in own.items() if epsilon is None)
        told = f"{name}, {NAMES[metric]}: {marked(exact)}"
        for method in dict.fromkeys(method for method, epsilon in own if epsilon is not None):
            shown = []
            for epsilon in epsilons:
                others = [
                    cell.mean
                    for (other, at), cell in own.items()
                    if at == epsilon and not other.startswith("skdp")
                ]
                best = (max if larger else min)(others, default=None)
                ours = best if method.startswith("skdp") else None
                shown.append(marked(own[method, epsilon], ours, larger_is_better=larger))
            rows.append([told, method, *shown])
            told = ""
    return rows


# ----------------------------------------------------------------------------------- simulations
SIMULATED = (
    (10_000, 40, {"n_informative": 30, "class_sep": 2.0, "random_state": 1000}),
    (2_000, 2_000, {"n_informative": 10, "class_sep": 2.0, "random_state": 1}),
)
OBJECTIVE_PERTURBATION = "`objective_perturbation`"


def iyengar(splits):
    """Accuracy on the simulated sets of Iyengar et al. (2019), at delta = 1 / n^2."""
    epsilons = (0.01, 0.1, 1.0, 10.0)
    rows = []
    for n, d, options in SIMULATED:
        X, y = make_classification(n, d, **options)
        data = datasets.Dataset(datasets.unit_rows(X), y, "unit rows")
        found = {}
        for seed in range(splits):
            part, test, target, truth = split(data.X, y, seed, True)
            delta = len(target) ** -2.0

            def add(method, epsilon, predicted, truth=truth, found=found):
                value = float(np.mean(predicted == truth))
                found.setdefault(("accuracy", method, epsilon), []).append(value)

            for epsilon in epsilons:
                for method, solver in (
                    ("skdp", "auto"),
                    (OBJECTIVE_PERTURBATION, "objective_perturbation"),
                ):
                    model = private(data, epsilon, delta, solver=solver).fit(part, target)
                    add(method, epsilon, model.predict(test))
            answers = peers.diffprivlib(data, part, target, test, epsilons)
            for epsilon, answer in zip(epsilons, answers, strict=True):
                if answer is not None:
                    add("diffprivlib", epsilon, answer[0].argmax(axis=1))
            answer = exact(data, part, target, test, None, None)
            add("not private", None, answer.predicted.argmax(axis=1))
        rows += rows_of(f"{n:,} x {d:,}", found, epsilons)
    return grid(["set, score: not private", "method", *(f"ε = {e:g}" for e in epsilons)], rows)


TABLES = {
    "sets of Wang": wang,
    "no bounds": without_bounds,
    "additive models": additive,
    "simulated sets": iyengar,
}


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--only", nargs="+", choices=TABLES, default=list(TABLES))
    parser.add_argument("--splits", type=int, default=3, help="splits of all but the sets of Wang")
    parser.add_argument("--page", type=Path, default=PAGE, help="what to fill")
    args = parser.parse_args(arguments)
    for name in args.only:
        start = time.process_time()
        with warnings.catch_warnings():
            # Budgets with which nothing is learned, and bounds that are found, are the point.
            warnings.simplefilter("ignore", UserWarning)
            table = TABLES[name](args.splits)
        args.page.write_text(fill(args.page.read_text(), {name: table}))
        seconds = time.process_time() - start
        behind = table.count(BEHIND)
        print(f"{name}: {behind} cells behind, {seconds:.0f} s", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
