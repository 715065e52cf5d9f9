"""Every solver under every estimator that takes it, on real data.

Sets are split 80 / 20 with seeds that no default was chosen on, the noise is fresh, and all else
than the solver is left at its default; delta = n^-1.1, one row replaced by another. Measured are
the score on unseen rows, the excess empirical risk (the estimator's own objective on the training
rows, less its minimum without privacy), processor time in units of that of 'gd', and the number of
queries asked of the rows. Fits go to a JSON file, which grows with each run.

    python examples/benchmarks/solvers.py --only california --repeats 3 --out solvers.json
    python examples/benchmarks/solvers.py --report solvers.json more.json
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import datasets
import numpy as np
import results
from defaults import FIRST_SEED
from scipy.optimize import minimize
from sklearn.metrics import accuracy_score, r2_score
from sklearn.model_selection import train_test_split
from suite import SMALL

from skdp import DPLassoRegressor, DPLinearRegression, DPLogisticRegression, DPSVMClassifier
from skdp.problem.losses import Logistic, Loss, Squared, SquaredHinge
from skdp.solvers import SOLVERS

EPSILONS = (0.1, 1.0, 4.0)
NAMES = ("auto", *SOLVERS)
BASELINE = "gd"
# Below the baseline by more than this is a failure of the solver's defaults, with many rows.
MARGINS = {"accuracy": 0.03, "r2": 0.05}
MANY_ROWS = 16_000


@dataclass(frozen=True)
class Objective:
    """``scale * mean loss + ridge / (2 n) ||w||^2``, the intercept being free."""

    loss: Loss
    scale: float = 1.0
    ridge: float = 0.0

    def value(self, w, X, y):
        """At w, the intercept last."""
        fit = self.scale * np.mean(self.loss.value(y, X @ w[:-1] + w[-1]))
        return float(fit + self.ridge / (2 * len(y)) * (w[:-1] @ w[:-1]))

    def minimum(self, X, y):
        """Without privacy, on rows as they came."""
        if isinstance(self.loss, Squared) and self.ridge == 0:
            columns = np.column_stack([X, np.ones(len(y))])
            return self.value(np.linalg.lstsq(columns, y, rcond=None)[0], X, y)
        start = np.zeros(X.shape[1] + 1)
        options = {"maxiter": 5000, "maxfun": 10_000, "ftol": 1e-13, "gtol": 1e-8}
        slopes = partial(self._slopes, X=X, y=y)
        return float(minimize(slopes, start, jac=True, method="L-BFGS-B", options=options).fun)

    def _slopes(self, w, X, y):
        d = self.scale * self.loss.derivative(y, X @ w[:-1] + w[-1]) / len(y)
        slope = np.append(X.T @ d + self.ridge / len(y) * w[:-1], d.sum())
        return self.value(w, X, y), slope


@dataclass(frozen=True)
class Model:
    """An estimator with the objective that its docstring states, at default strength."""

    estimator: Callable[..., Any]
    objective: Objective
    regression: bool = False
    takes_feature_bound: bool = False

    def make(self, data, **settings):
        if not self.regression:
            return self.estimator(data_norm=data.data_norm, classes=data.classes, **settings)
        if self.takes_feature_bound:
            settings["feature_bound"] = data.feature_bound
        return self.estimator(
            data_norm=data.data_norm, target_bounds=data.target_bounds, **settings
        )


MODELS = {
    "DPLogisticRegression": Model(DPLogisticRegression, Objective(Logistic(), ridge=1.0)),
    "DPSVMClassifier": Model(DPSVMClassifier, Objective(SquaredHinge(), ridge=1.0)),
    # Squared() is half the square.
    "DPLinearRegression": Model(DPLinearRegression, Objective(Squared(), 2.0), regression=True),
    "DPLassoRegressor": Model(DPLassoRegressor, Objective(Squared()), True, True),
}


def some_rows(make, n):
    data = make()
    rows = datasets.some(np.arange(len(data.y)), n, seed=0)
    return replace(data, X=data.X[rows], y=data.y[rows])


SETS: dict[str, Callable[[], datasets.Dataset]] = {
    "breast_cancer": datasets.breast_cancer,
    "adult": partial(some_rows, datasets.adult, 20_000),
    "covertype": partial(some_rows, datasets.covertype, 40_000),
    "california": datasets.california,
}


def refusal(model, data, solver, **settings):
    """What the estimator says to a solver that it does not take, or None."""
    rows, private = slice(0, 50), model.make(data, solver=solver, epsilon=100.0, **settings)
    try:
        private.fit(data.X[rows], data.y[rows])
    except ValueError as failure:
        if hasattr(private, "privacy_ledger_"):
            raise  # It was taken, and failed later.
        return str(failure)
    return None


def run_split(name, data, models, seed, epsilons):
    """Fits on one split; ``models`` are triples of an estimator's name, a model and solvers."""
    X, X_test, y, y_test = train_test_split(
        data.X,
        data.y,
        test_size=0.2,
        random_state=FIRST_SEED + seed,
        stratify=None if data.is_regression else data.y,
    )
    fits = []
    for estimator, model, solvers in models:
        least = model.objective.minimum(X, y)
        for epsilon in epsilons:
            for solver in solvers:
                private = model.make(data, solver=solver, epsilon=epsilon, delta=len(y) ** -1.1)
                start = time.process_time()
                private.fit(X, y)
                seconds = time.process_time() - start
                w = np.append(private.coef_, private.intercept_)
                predicted = private.predict(X_test)
                scored = r2_score if data.is_regression else accuracy_score
                fits.append(
                    results.Fit(
                        data=name,
                        method=f"{estimator} {solver}",
                        epsilon=epsilon,
                        seed=seed,
                        n_samples=X.shape[0],
                        n_features=X.shape[1],
                        n_classes=None if data.is_regression else len(data.classes),
                        seconds=round(seconds, 4),
                        scores={
                            metric(data.is_regression): float(scored(y_test, predicted)),
                            "excess": model.objective.value(w, X, y) - least,
                            "queries": sum(event.count for event in private.privacy_ledger_),
                        },
                    )
                )
    return fits


def metric(is_regression):
    return "r2" if is_regression else "accuracy"


def run(name, estimators, solvers, seeds, epsilons):
    """Fits of one data set, and refusals by estimator and solver."""
    data = SETS[name]()
    models, refused = [], {}
    for estimator in estimators:
        model = MODELS[estimator]
        if model.regression != data.is_regression:
            continue
        said = {solver: refusal(model, data, solver) for solver in solvers}
        refused |= {(estimator, solver): text for solver, text in said.items() if text}
        models.append((estimator, model, [s for s in solvers if not said[s]]))
    fits = []
    for seed in seeds:
        fits += run_split(name, data, models, seed, epsilons)
    return fits, refused


def document(fits):
    """Tables in markdown, one for each data set and estimator."""
    pairs = dict.fromkeys((f.data, f.method.split()[0]) for f in fits)
    return "\n\n".join(table(fits, *pair) for pair in pairs)


def table(fits, data, estimator):
    chosen = [f for f in fits if f.data == data and f.method.split()[0] == estimator]
    n, d, score = chosen[0].n_samples, chosen[0].n_features, metric(chosen[0].n_classes is None)
    epsilons = sorted({f.epsilon for f in chosen})
    scores, excess = results.cells(chosen, score), results.cells(chosen, "excess")
    head = [
        "solver",
        *(f"{score}, eps {e:g}" for e in epsilons),
        *(f"excess, eps {e:g}" for e in epsilons),
        "time",
        "queries",
    ]
    lines = [f"**{estimator}, {data}**: {n:,} rows, {d} features", "", row(head)]
    lines.append(row(["---"] * len(head)))
    for method in dict.fromkeys(f.method for f in chosen):
        own = [f for f in chosen if f.method == method]
        asked = sorted({f.scores["queries"] for f in own})
        lines.append(
            row(
                [
                    method.split()[1],
                    *(str(scores.get((data, method, e), "")) for e in epsilons),
                    *(precise(excess.get((data, method, e))) for e in epsilons),
                    relative_time(own, chosen),
                    "-".join(f"{q:g}" for q in dict.fromkeys((asked[0], asked[-1]))),
                ]
            )
        )
    return "\n".join(lines)


def row(cells):
    return "| " + " | ".join(cells) + " |"


def precise(cell):
    return "" if cell is None else f"{cell.mean:.2g}±{cell.error:.1g}"


def relative_time(own, chosen):
    """Time of all fits that the baseline has made, too, over that of the baseline."""
    baseline = {(f.epsilon, f.seed): f.seconds for f in chosen if f.method.split()[1] == BASELINE}
    both = [(f.seconds, baseline[key]) for f in own if (key := (f.epsilon, f.seed)) in baseline]
    total, of_baseline = (sum(column) for column in zip(*both, strict=True)) if both else (0, 0)
    return f"{total / of_baseline:.1f}" if of_baseline else ""


def failures(fits, epsilon=1.0):
    """``(data, method, shortfall, its error)`` of solvers clearly worse than the baseline.

    Differences are taken split by split, because splits differ more than solvers do.
    """
    out = []
    for data, method in dict.fromkeys((f.data, f.method) for f in fits):
        own = [f for f in fits if (f.data, f.method, f.epsilon) == (data, method, epsilon)]
        other = f"{method.split()[0]} {BASELINE}"
        baseline = {
            f.seed: f for f in fits if (f.data, f.method, f.epsilon) == (data, other, epsilon)
        }
        shared = [f for f in own if f.seed in baseline and f.n_samples >= MANY_ROWS]
        if not shared:
            continue
        score = metric(shared[0].n_classes is None)
        falls = [baseline[f.seed].scores[score] - f.scores[score] for f in shared]
        if np.mean(falls) > MARGINS[score]:
            error = np.std(falls, ddof=1) / np.sqrt(len(falls)) if len(falls) > 1 else 0.0
            out.append((data, method, float(np.mean(falls)), float(error)))
    return out


def show(fits, refused):
    print(document(fits))
    found = failures(fits)
    print(f"\nFar below '{BASELINE}' at epsilon 1 with {MANY_ROWS:,} rows or more: {len(found)}")
    for data, method, fall, error in found:
        print(f"- {data}, {method}: by {fall:.3f}±{error:.3f}")
    if refused:
        print("\nRefused:")
    for (estimator, solver), text in sorted(refused.items()):
        print(f"- {estimator}, {solver}: {text}")


def parse(arguments):
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--only", nargs="+", choices=SETS, metavar="NAME", help=", ".join(SETS))
    parser.add_argument("--estimators", nargs="+", choices=MODELS, default=list(MODELS))
    parser.add_argument("--solvers", nargs="+", choices=NAMES, default=NAMES)
    parser.add_argument("--eps", nargs="+", type=float, default=EPSILONS)
    parser.add_argument(
        "--repeats", type=int, default=3, help=f"splits; 4 times as many for {', '.join(SMALL)}"
    )
    parser.add_argument("--out", help="JSON file that the fits are added to")
    parser.add_argument("--report", nargs="+", metavar="JSON", help="run nothing, print tables")
    return parser.parse_args(arguments)


def main(arguments=None):
    args = parse(arguments)
    if args.report:
        show(results.read(args.report), {})
        return
    everything, refused = [], {}
    for name in args.only or SETS:
        repeats = args.repeats * (4 if name in SMALL else 1)
        try:
            fits, said = run(name, args.estimators, args.solvers, range(repeats), args.eps)
        except FileNotFoundError as missing:
            print(f"{name}: skipped, {missing}", file=sys.stderr)
            continue
        everything += fits
        refused |= said
        if args.out:
            results.write(args.out, fits)
        seconds = sum(f.seconds for f in fits)
        print(f"{name}: {len(fits)} fits, {seconds:.0f} s", file=sys.stderr, flush=True)
    show(everything, refused)


if __name__ == "__main__":
    main()
