"""Whether small budgets cost more than they bring: every estimator beside constant predictions.

Rows are few, from 100 to 5,000, of simulated tables with and without a signal and of real ones;
epsilon is .01 to 10 and delta the default. ``ratio`` is the loss on fresh rows over that of the
constant that is known without the data: log-loss over that of equal frequencies, squared error over
that of the middle of the bounds, and so on. ``trained`` is the same for the constant that is best
on the rows, without privacy. Marked are cells whose mean loss is above that of a constant by more
than 5 % and two standard errors.

    python examples/benchmarks/never_worse.py --estimators logistic --half 0 --out now.json
    python examples/benchmarks/never_worse.py --report now.json before.json

A cell belongs to one of two halves: constants are set on half 0 and reported on both.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections import defaultdict
from functools import cache
from itertools import pairwise, product
from pathlib import Path

import numpy as np
from scipy.special import expit
from sklearn.metrics import log_loss, roc_auc_score
from suite import SETS

import skdp
from skdp.privacy.accounting import gdp

EPSILONS = (0.01, 0.05, 0.2, 0.5, 1.0, 3.0, 10.0)
SIZES = ((100, 2), (200, 10), (500, 5), (1000, 30), (2000, 10), (5000, 60))
TABLES = {
    "classes": ("breast_cancer", "iris", "digits", "wine", "covertype_2", "adult", "shuttle"),
    "numbers": (
        *("airfoil", "california", "concrete", "bike", "energy", "diabetes", "housing", "pol"),
        *("parkinsons", "red_wine"),
    ),
}
OF_TABLES = (100, 300, 1000, 5000)
TESTED = 2000


def rows(n, d, rng, spread):
    """Features of norm at most 1, of which the last have less variance."""
    X = rng.normal(size=(n, d)) * np.arange(1, d + 1) ** -spread
    return X / np.maximum(1.0, np.linalg.norm(X, axis=1) / np.sqrt(2.0))[:, None] / np.sqrt(2.0)


def scores_of(X, rng, sd):
    z = X @ rng.normal(size=X.shape[1])
    return sd * z / z.std()


def labels(share, sd, k=2, spread=0.3):
    """Classes of a logistic model whose scores have this standard deviation."""

    def make(n, d, rng):
        X = rows(n, d, rng, spread)
        if k == 2:
            z = scores_of(X, rng, sd) if sd else np.zeros(n)
            return X, (rng.random(n) < expit(z + np.log(share / (1 - share)))).astype(int)
        z = np.column_stack([scores_of(X, rng, sd) if sd else np.zeros(n) for _ in range(k)])
        return X, np.argmax(z + rng.gumbel(size=z.shape), axis=1)

    return make


def numbers(mean, sd, r2, spread=0.3):
    """Targets with this mean and standard deviation, of whose variance a part is signal."""

    def make(n, d, rng):
        X = rows(n, d, rng, spread)
        z = scores_of(X, rng, sd * np.sqrt(r2)) if r2 else 0.0
        return X, np.clip(mean + z + sd * np.sqrt(1 - r2) * rng.normal(size=n), -1, 1)

    return make


def counts(rate, sd, spread=0.3):
    def make(n, d, rng):
        X = rows(n, d, rng, spread)
        return X, rng.poisson(rate * np.exp(scores_of(X, rng, sd) - sd**2 / 2) if sd else rate, n)

    return make


def times(sd, spread=0.3):
    """Times to an event whose log hazard is linear, and whether it was seen."""

    def make(n, d, rng):
        X = rows(n, d, rng, spread)
        z = scores_of(X, rng, sd) if sd else np.zeros(n)
        event, censored = rng.exponential(3 * np.exp(-z)), rng.uniform(2, 10, size=n)
        y = np.empty(n, dtype=[("event", bool), ("time", float)])
        y["event"], y["time"] = event <= censored, np.minimum(event, censored)
        return X, y

    return make


SIMULATED = {
    "classes": {
        "no signal": labels(0.5, 0.0),
        "no signal, one in six": labels(1 / 6, 0.0),
        "weak": labels(0.5, 0.5),
        "strong": labels(0.5, 3.0),
        "strong, one in six": labels(1 / 6, 3.0, spread=1.0),
        "no signal, 3 classes": labels(0, 0.0, 3),
        "strong, 3 classes": labels(0, 3.0, 3),
        "strong, 3 classes, uneven columns": labels(0, 3.0, 3, spread=1.0),
    },
    "numbers": {
        "no signal": numbers(0.0, 0.3, 0.0),
        "no signal, narrow": numbers(0.0, 0.1, 0.0),
        "no signal, mean off": numbers(-0.4, 0.2, 0.0, spread=1.0),
        "weak": numbers(0.0, 0.3, 0.2),
        "strong": numbers(0.0, 0.3, 0.9),
        "strong, uneven columns": numbers(0.2, 0.3, 0.9, spread=1.0),
    },
    "counts": {
        "no signal, rate .07": counts(0.07, 0.0),
        "no signal, rate 1": counts(1.0, 0.0),
        "strong, rate .07": counts(0.07, 1.0),
        "strong, rate 1": counts(1.0, 1.0),
    },
    "times": {"no signal": times(0.0), "weak": times(0.3), "strong": times(1.0)},
}


@cache
def table(name):
    return SETS[name]()


def of_table(name, n, rng):
    data = table(name)
    order = rng.permutation(len(data.y))[: n + TESTED]
    return data.X[order[:n]], data.y[order[:n]], data.X[order[n:]], data.y[order[n:]]


def cells(kind):
    """Name, half, number of rows, features, bounds and a maker of rows, for each cell."""
    for (i, (name, make)), (j, (n, d)) in product(
        enumerate(SIMULATED[kind].items()), enumerate(SIZES)
    ):

        def draw(rng, make=make, n=n, d=d):
            X, y = make(n + TESTED, d, rng)
            return X[:n], y[:n], X[n:], y[n:]

        yield name, (i + j) % 2, n, d, {"data_norm": 1.0}, draw, (-1.0, 1.0)
    for (i, name), n in product(enumerate(TABLES.get(kind, ())), OF_TABLES):
        data = table(name)
        if n > 0.8 * len(data.y):
            continue

        def draw(rng, name=name, n=n):
            return of_table(name, n, rng)

        bounds = {"data_norm": data.data_norm}
        yield f"{name} (table)", i % 2, n, data.X.shape[1], bounds, draw, data.target_bounds


def of_classes(model, X, y, X_test, y_test):
    K = int(max(y.max(), y_test.max())) + 1
    p = np.full((len(y_test), K), 1e-12)
    p[:, model.classes_] = model.predict_proba(X_test)
    shares = np.bincount(y, minlength=K) + 1.0
    areas = [roc_auc_score(y_test == k, p[:, k]) for k in range(1, K) if np.sum(y_test == k) > 0]
    return {
        "loss": log_loss(y_test, p, labels=range(K)),
        "known": np.log(K),
        "trained": -np.log(shares / shares.sum())[y_test].mean(),
        "accuracy": np.mean(p.argmax(axis=1) == y_test),
        "auc": np.mean(areas),
    }


def of_margins(model, X, y, X_test, y_test):
    z, sign = model.decision_function(X_test), 2 * y_test - 1
    return {
        "loss": np.maximum(0, 1 - sign * z).mean(),
        "known": 1.0,
        "trained": 2 * min(y_test.mean(), 1 - y_test.mean()),
        "accuracy": np.mean((z > 0) == y_test),
        "auc": roc_auc_score(y_test, z),
    }


def of_numbers(model, X, y, X_test, y_test):
    low, high = model.target_bounds
    error = np.mean((model.predict(X_test) - y_test) ** 2)
    return {
        "loss": error,
        "known": np.mean((y_test - (low + high) / 2) ** 2),
        "trained": np.mean((y_test - y.mean()) ** 2),
    }


def of_quantiles(model, X, y, X_test, y_test):
    def pinball(z):
        return np.mean(
            [
                np.mean(np.maximum(q * (y_test - z[:, k]), (q - 1) * (y_test - z[:, k])))
                for k, q in enumerate(QUANTILES)
            ]
        )

    low, high = model.target_bounds
    one, q = np.ones((len(y_test), 1)), np.array(QUANTILES)
    return {
        "loss": pinball(model.predict(X_test)),
        "known": pinball(one * (low + q * (high - low))),
        "trained": pinball(one * np.quantile(y, q)),
    }


def deviance(y, mean):
    mean = np.maximum(mean, 1e-9)
    return 2 * np.mean(np.where(y > 0, y * np.log(np.maximum(y, 1) / mean), 0.0) - y + mean)


def of_counts(model, X, y, X_test, y_test):
    # Nobody knows a rate without the rows.
    constant = deviance(y_test, max(y.mean(), 1 / len(y)))
    return {"loss": deviance(y_test, model.predict(X_test)), "known": constant, "trained": constant}


def of_times(model, X, y, X_test, y_test):
    return {"loss": 1 - model.score(X_test, y_test), "known": 0.5, "trained": 0.5}


QUANTILES = (0.25, 0.5, 0.9)
# Kind of targets, estimator with its parameters, whether it takes bounds of targets, and scores.
ESTIMATORS = {
    "logistic": ("classes", skdp.DPLogisticRegression, {}, of_classes),
    "svm": ("classes", skdp.DPSVMClassifier, {}, of_margins),
    "linear": ("numbers", skdp.DPLinearRegression, {}, of_numbers),
    "lasso": ("numbers", skdp.DPLassoRegressor, {}, of_numbers),
    "quantile": (*("numbers", skdp.DPQuantileRegressor, {"quantile": QUANTILES}, of_quantiles),),
    "poisson": ("counts", skdp.DPPoissonRegressor, {"target_bounds": (0, 6)}, of_counts),
    "hazard": ("times", skdp.DPHazardRegressor, {"max_time": 10.0}, of_times),
}


def fits(names, half, repetitions, epsilons, only):
    for name in names:
        kind, make, parameters, scores = ESTIMATORS[name]
        for cell, of_half, n, d, bounds, draw, of_targets in cells(kind):
            if half not in (None, of_half) or not any(word in cell for word in only):
                continue
            if name == "svm" and ("3 classes" in cell or cell.split()[0] in MANY_CLASSES):
                continue
            own = {"target_bounds": of_targets} if kind == "numbers" else {}
            started = time.perf_counter()
            for epsilon, seed in product(epsilons, range(repetitions)):
                rng = np.random.default_rng([n, d, seed])
                X, y, *tested = draw(rng)
                if kind == "classes" and len(np.unique(y)) < 2:
                    continue
                if kind == "classes":
                    own = {"classes": list(range(int(max(y.max(), tested[1].max())) + 1))}
                model = make(epsilon=epsilon, random_state=seed, **bounds, **own, **parameters)
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    model.fit(X, y)
                    plan = model.plan_
                    found = scores(model, X, y, *tested)
                yield {
                    "estimator": name,
                    "cell": cell,
                    "half": of_half,
                    "n": n,
                    "d": d,
                    "epsilon": epsilon,
                    "seed": seed,
                    "mu": gdp.mu(epsilon, plan.delta),
                    "plan": plan.hopeless() is not None,
                    **{key: float(value) for key, value in found.items()},
                }
            print(f"{name}, {cell}, {n} x {d}: {time.perf_counter() - started:.1f} s", flush=True)


MANY_CLASSES = ("iris", "digits", "wine", "shuttle")


EVIDENCE = (0, 10, 30, 100, 300, 1000, 3000, np.inf)
MARGIN, SURE = 1.05, 2.0


def grouped(found):
    """Fits of each cell."""
    out = defaultdict(list)
    for fit in found:
        out[tuple(fit[key] for key in ("estimator", "cell", "n", "epsilon"))].append(fit)
    return out


def column(fits, key):
    return np.array([fit[key] for fit in fits])


def worse(fits, constant):
    """Whether the mean loss is above that of the constant by more than 5 % and sampling error."""
    excess = column(fits, "loss") - MARGIN * column(fits, constant)
    return excess.mean() > SURE * excess.std(ddof=1) / np.sqrt(len(fits))


def ratio(fits, constant="known"):
    return column(fits, "loss").mean() / column(fits, constant).mean()


def lead(now, before, key):
    """Mean of what is now more than before, and its standard error, over the same rows."""
    earlier = {fit["seed"]: fit[key] for fit in before}
    gains = np.array([fit[key] - earlier[fit["seed"]] for fit in now if fit["seed"] in earlier])
    return gains.mean(), gains.std(ddof=1) / np.sqrt(len(gains))


def report(found, earlier=()):
    """Print how many cells are worse than a constant by evidence, and cells that need a reason."""
    now, before = grouped(found), grouped(earlier)
    for name, real, half in product(ESTIMATORS, ("simulated", "table"), (0, 1)):
        mine = {
            key: fits
            for key, fits in now.items()
            if key[0] == name and ("(table)" in key[1]) == (real == "table")
            if fits[0]["half"] == half
        }
        if not mine:
            continue
        print(f"\n{name}, {real}, half {half}: worse than the known / trained constant, ratio")
        for low, high in pairwise(EVIDENCE):
            within = {k: f for k, f in mine.items() if low <= f[0]["n"] * f[0]["mu"] < high}
            if not within:
                continue
            line = f"  n mu {low:>5} to {high:<5}: {len(within):>3} cells"
            for of in ({k: before[k] for k in within if k in before}, within):
                if of:
                    bad = [sum(worse(f, c) for f in of.values()) for c in ("known", "trained")]
                    means = [
                        np.exp(np.mean([np.log(ratio(f, c)) for f in of.values()]))
                        for c in ("known", "trained")
                    ]
                    line += f" | {bad[0]:>3} / {bad[1]:<3} {means[0]:.3f} / {means[1]:.3f}"
            print(line)
    lines = []
    for key, fits in now.items():
        label = f"{', '.join(map(str, key))} (n mu {fits[0]['n'] * fits[0]['mu']:.0f})"
        marks = [c for c in ("known", "trained") if worse(fits, c)]
        signal = "no signal" not in key[1] and "weak" not in key[1]
        kind = (signal and ratio(fits) > 0.98) - column(fits, "plan").mean()
        if marks:
            lines.append(f"worse than {marks[0]}: {label}: {ratio(fits, marks[0]):.3f}")
        if kind > 0.5:
            lines.append(f"plan too kind: {label}: {ratio(fits):.3f}")
        for score, sign in (("loss", -1), ("accuracy", 1), ("auc", 1)):
            if key in before and score in fits[0]:
                mean, error = lead(fits, before[key], score)
                scale = column(fits, "known").mean() if score == "loss" else 1.0
                if sign * mean < -2 * error - 0.005 * scale:
                    was = column(before[key], score).mean()
                    gain = f"{was:.3f} {mean:+.3f}±{error:.3f}"
                    lines.append(f"better before, {score}: {label}: {gain}")
    print("\n" + "\n".join(sorted(lines)))


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--estimators", nargs="+", choices=ESTIMATORS, default=list(ESTIMATORS))
    parser.add_argument("--half", type=int, choices=(0, 1))
    parser.add_argument("--repetitions", type=int, default=12)
    parser.add_argument("--epsilons", nargs="+", type=float, default=EPSILONS)
    parser.add_argument("--only", nargs="+", default=[""])
    parser.add_argument("--out")
    parser.add_argument("--report", nargs="+", metavar="JSON", help="results, and earlier ones")
    args = parser.parse_args()
    if args.report:
        report(*(json.loads(Path(p).read_text()) for p in args.report))
        return
    found = list(fits(args.estimators, args.half, args.repetitions, args.epsilons, args.only))
    if args.out:
        Path(args.out).write_text(json.dumps(found))
    report(found)


if __name__ == "__main__":
    main()
