"""What every solver of every estimator tends to as the budget grows: gaps to scikit-learn.

A model is fitted at epsilon 1, 4, 16, 64 and 256 with each solver that its estimator takes, all
else at its default, and compared on a fifth of the rows, kept apart, with scikit-learn's model with
the same penalty, fitted on the other rows without privacy; delta = n^-1.1. Gaps are how much
log-loss (squared hinge for support vector machines) exceeds scikit-learn's, and how much AUC, R2,
or D2 of deviance and pinball loss fall short of it. Tables are those on which bounds that depend on
targets would move a model: rare classes, labels of which three in ten are wrong, skewed targets,
and real ones, of at most 15,000 rows. An l1 ball is as large as the l1 norm of scikit-learn's
solution with an l1 penalty.

    python examples/benchmarks/consistency.py --splits 2 --out consistency.json
    python examples/benchmarks/consistency.py --estimators linear --solvers gd ppm --tables delays
    python examples/benchmarks/consistency.py --report consistency.json --fill PAGE

Printed is for each estimator and solver the largest gap over the tables, of means over splits, for
every other budget, the largest one last.
PAGE is docs/benchmarks/solvers.md, which has no AUC. Tables that need stored data are skipped
without them.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import counts
import datasets
import numpy as np
import report
import results
import synthetic
from joblib import Parallel, delayed
from sklearn.linear_model import (
    Lasso,
    LinearRegression,
    LogisticRegression,
    PoissonRegressor,
    QuantileRegressor,
)
from sklearn.metrics import (
    d2_pinball_score,
    d2_tweedie_score,
    log_loss,
    r2_score,
    roc_auc_score,
)
from sklearn.model_selection import train_test_split
from sklearn.svm import LinearSVC
from solvers import NAMES, some_rows

from skdp import (
    DPLassoRegressor,
    DPLinearRegression,
    DPLogisticRegression,
    DPPoissonRegressor,
    DPQuantileRegressor,
    DPSVMClassifier,
)
from skdp.problem.constraints import L1Ball

EPSILONS = (1.0, 4.0, 16.0, 64.0, 256.0)
FIRST_SEED = 7000
ROWS = 15_000
# Of the losses, and of AUC, R2 and D2, at the largest budget.
MOST = {"loss": 0.003, "auc": 0.005, "score": 0.005}


def rare():
    return synthetic.two_classes(0.1, 2.0, ROWS, 20, seed=11)


def flipped():
    """Of labels that features tell for sure, nearly, three in ten are wrong."""
    data = synthetic.two_classes(0.3, 8.0, ROWS, 20, seed=12)
    wrong = np.random.default_rng(13).random(ROWS) < 0.3
    return replace(data, y=np.where(wrong, 1 - data.y, data.y))


def three():
    """Three classes of which one has a tenth of the rows; three labels in ten are wrong."""
    rng = np.random.default_rng(14)
    X = rng.normal(size=(ROWS, 15))
    scores = 4 * X @ rng.normal(size=(15, 3)) / np.sqrt(15) + [-2.5, 0.0, 1.0]
    y = np.argmax(scores + rng.gumbel(size=scores.shape), axis=1)
    wrong = rng.random(ROWS) < 0.3
    y = np.where(wrong, rng.integers(3, size=ROWS), y)
    return datasets.Dataset(X / np.linalg.norm(X, axis=1, keepdims=True), y, "simulated")


def covertype_3():
    data = some_rows(datasets.covertype_7, ROWS)
    return replace(data, y=np.minimum(data.y, 2))


def zero_inflated():
    """Three targets in four are zero, the others are skewed."""
    rng = np.random.default_rng(15)
    X = rng.normal(size=(ROWS, 15))
    some = rng.random(ROWS) < 1 / (1 + np.exp(1.5 - X @ rng.normal(size=15) / 4))
    y = some * np.exp(X @ rng.normal(size=15) / 8 + 0.8 * rng.normal(size=ROWS))
    return synthetic.regression(synthetic.longest_to_one(X), 2 * y / y.max() - 1, "simulated")


def in_bounds_of(X, y, cap):
    return datasets.Dataset(
        synthetic.longest_to_one(X),
        np.minimum(y, cap).astype(float),
        "simulated",
        target_bounds=(0, cap),
    )


def claims():
    X, y, _ = counts.insurance(ROWS, rate=0.2)
    return in_bounds_of(X, y, 4)


def visits():
    X, y, _ = counts.visits()
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    return in_bounds_of(np.clip(X, -3, 3), y, 30)


TABLES: dict[str, Callable[[], datasets.Dataset]] = {
    "rare": rare,
    "flipped": flipped,
    "flights": partial(some_rows, datasets.flights, ROWS),
    "three": three,
    "covertype_3": covertype_3,
    "skewed_target": partial(some_rows, synthetic.skewed_target, ROWS),
    "zero_inflated": zero_inflated,
    "california": partial(some_rows, datasets.california, ROWS),
    "delays": partial(some_rows, datasets.delays, ROWS),
    "claims": claims,
    "visits": visits,
}
BINARY, SEVERAL = ("rare", "flipped", "flights"), ("three", "covertype_3")
NUMBERS = ("skewed_target", "zero_inflated", "california", "delays")


@dataclass(frozen=True)
class Model:
    """An estimator, scikit-learn's counterpart with the same penalty, and tables for them."""

    private: Callable[..., Any]
    exact: Callable[[], Any]
    scored: Callable[[Any, np.ndarray, np.ndarray], dict[str, float]]
    tables: tuple[str, ...]
    # Whether a constraint stands for the penalty.
    in_a_ball: bool = False

    def make(self, data, exact, **settings):
        settings |= {"data_norm": data.data_norm}
        if data.is_regression:
            settings["target_bounds"] = data.target_bounds
        else:
            settings["classes"] = data.classes
        if self.in_a_ball:
            settings["constraint"] = L1Ball(float(np.abs(exact.coef_).sum()))
        return self.private(**settings)


def of_probabilities(model, X, y):
    found = model.predict_proba(X)
    auc = roc_auc_score(y, found[:, 1] if found.shape[1] == 2 else found, multi_class="ovr")
    return {"loss": log_loss(y, found), "auc": -auc}


def of_margins(model, X, y):
    z = model.decision_function(X)
    lost = np.mean(np.maximum(0, 1 - (2 * y - 1) * z) ** 2)
    return {"loss": float(lost), "auc": -roc_auc_score(y, z)}


def of_predictions(metric, model, X, y):
    """Of predictions within the range of the targets, where those of our models are, too."""
    found = np.clip(model.predict(X), y.min(), y.max())
    return {"score": -float(metric(y, found))}


R2 = partial(of_predictions, r2_score)
# A prediction of zero events has no deviance.
DEVIANCE = partial(of_predictions, lambda y, z: d2_tweedie_score(y, np.maximum(z, 1e-3), power=1))
PINBALL = partial(of_predictions, partial(d2_pinball_score, alpha=0.8))
C, ALPHA = 100.0, 3e-4


def logistic(**penalty):
    return LogisticRegression(max_iter=3000, tol=1e-6, **penalty)


MODELS = {
    "logistic": Model(
        partial(DPLogisticRegression, C=C), partial(logistic, C=C), of_probabilities, BINARY
    ),
    "three classes": Model(
        partial(DPLogisticRegression, C=C), partial(logistic, C=C), of_probabilities, SEVERAL
    ),
    "logistic, l1 ball": Model(
        partial(DPLogisticRegression, C=np.inf),
        partial(logistic, C=1.0, penalty="l1", solver="saga"),
        of_probabilities,
        ("rare", "flights"),
        in_a_ball=True,
    ),
    "svm": Model(
        partial(DPSVMClassifier, C=C),
        # A long constant column is hardly penalised.
        partial(LinearSVC, C=C, intercept_scaling=10.0, max_iter=20_000),
        of_margins,
        BINARY,
    ),
    "linear": Model(DPLinearRegression, LinearRegression, R2, NUMBERS),
    "linear, l1 ball": Model(
        DPLinearRegression,
        partial(Lasso, ALPHA),
        R2,
        ("zero_inflated", "california"),
        in_a_ball=True,
    ),
    "lasso": Model(
        partial(DPLassoRegressor, alpha=ALPHA),
        partial(Lasso, ALPHA),
        R2,
        ("zero_inflated", "california", "delays"),
    ),
    "counts": Model(
        DPPoissonRegressor,
        partial(PoissonRegressor, alpha=0.0, max_iter=1000),
        DEVIANCE,
        ("claims", "visits"),
    ),
    "quantile": Model(
        partial(DPQuantileRegressor, quantile=0.8),
        partial(QuantileRegressor, quantile=0.8, alpha=0.0),
        PINBALL,
        ("skewed_target", "california"),
    ),
}


def run_split(estimator, name, seed, solvers, epsilons):
    """Gaps of all solvers and budgets on one split."""
    model, data = MODELS[estimator], TABLES[name]()
    X, X_test, y, y_test = train_test_split(
        data.X, data.y, test_size=0.2, random_state=FIRST_SEED + seed
    )
    fits = []
    with warnings.catch_warnings():
        # Large budgets, balls that stand in for a constraint, wide intervals.
        warnings.simplefilter("ignore")
        exact = model.exact().fit(X, y)
        best = model.scored(exact, X_test, y_test)
        for solver in solvers:
            for epsilon in epsilons:
                private = model.make(
                    data, exact, solver=solver, epsilon=epsilon, delta=len(y) ** -1.1
                )
                start = time.process_time()
                try:
                    private.fit(X, y)
                except ValueError:
                    if hasattr(private, "privacy_ledger_"):
                        raise  # It was taken, and failed later.
                    break
                seconds = time.process_time() - start
                scores = model.scored(private, X_test, y_test)
                fits.append(
                    results.Fit(
                        data=name,
                        method=f"{estimator}: {solver}",
                        epsilon=epsilon,
                        seed=seed,
                        n_samples=X.shape[0],
                        n_features=X.shape[1],
                        n_classes=None if data.is_regression else len(data.classes),
                        seconds=round(seconds, 3),
                        scores={key: float(scores[key] - best[key]) for key in scores},
                    )
                )
    return fits


def gaps(fits, metric):
    """The largest mean gap over tables for every other budget, the last in bold if it is wide."""
    found = results.cells(fits, metric)
    epsilons = sorted({f.epsilon for f in fits})[::-2][::-1]
    worst = [max(c.mean for (*_, e), c in found.items() if e == epsilon) for epsilon in epsilons]
    shown = [f"{gap:z.3f}".removeprefix("0").replace("-0.", "-.") for gap in worst]
    far = worst[-1] > MOST[metric]
    return " ".join([*shown[:-1], f"**{shown[-1]}**" if far else shown[-1]])


def table(fits, kinds=(("loss", "score"), ("auc",))):
    """A row for each solver and a column for each estimator: gaps for each budget in turn.

    AUC, which not all estimators have, is a second table.
    """
    grids = []
    for metrics in kinds:
        cells = {
            (estimator, solver): gaps(own, metric)
            for estimator in MODELS
            for solver in NAMES
            for metric in metrics
            if (own := [f for f in fits if f.method == f"{estimator}: {solver}"])
            and metric in own[0].scores
        }
        estimators = [e for e in MODELS if any(e == estimator for estimator, _ in cells)]
        solvers = [s for s in NAMES if any(s == solver for _, solver in cells)]
        rows = [[f"`{s}`", *(cells.get((e, s), "") for e in estimators)] for s in solvers]
        kind = "AUC" if metrics == ("auc",) else "loss, R² or D²"
        grids.append(report.grid([kind, *estimators], rows))
    return "\n\n".join(grids)


def parse(arguments):
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--estimators", nargs="+", choices=MODELS, default=list(MODELS))
    parser.add_argument("--tables", nargs="+", choices=TABLES, default=list(TABLES))
    parser.add_argument("--solvers", nargs="+", choices=NAMES, default=NAMES)
    parser.add_argument("--epsilons", nargs="+", type=float, default=EPSILONS)
    parser.add_argument("--splits", type=int, default=2)
    parser.add_argument("--first", type=int, default=0, help="number of the first split")
    parser.add_argument("--jobs", type=int, default=1, help="splits at a time")
    parser.add_argument("--out", help="JSON file that the fits are added to")
    parser.add_argument("--report", nargs="+", metavar="JSON", help="run nothing, print the table")
    parser.add_argument("--fill", metavar="PAGE", help="with --report: write it into the page")
    return parser.parse_args(arguments)


def main(arguments=None):
    args = parse(arguments)
    if args.report:
        fits = results.read(args.report)
        if args.fill:
            page, found = Path(args.fill), table(fits, kinds=(("loss", "score"),))
            page.write_text(report.fill(page.read_text(), {"consistency": found}))
        else:
            print(table(fits))
        return
    fits = []
    for estimator in args.estimators:
        for name in MODELS[estimator].tables:
            if name not in args.tables:
                continue
            start = time.monotonic()
            try:
                pieces = Parallel(n_jobs=args.jobs)(
                    delayed(run_split)(estimator, name, seed, args.solvers, args.epsilons)
                    for seed in range(args.first, args.first + args.splits)
                )
            except FileNotFoundError as missing:
                print(f"{name}: skipped, {missing}", file=sys.stderr)
                continue
            own = [fit for piece in pieces for fit in piece]
            fits += own
            if args.out:
                results.write(args.out, own)
            seconds = time.monotonic() - start
            print(f"{estimator}, {name}: {seconds:.0f} s", file=sys.stderr, flush=True)
    print(table(fits))


if __name__ == "__main__":
    main()
