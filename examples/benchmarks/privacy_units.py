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

With the same plain gradient descent, written here, and several clips, the contribution of a person
is bounded by

- ``shared``: rows are clipped and share the weight of one;
- ``mean``: the mean of a person's gradients is clipped;
- ``sum``: the sum of a person's gradients is clipped.

    python examples/benchmarks/privacy_units.py
"""

from __future__ import annotations

import argparse
import time
import tracemalloc
import warnings
from math import sqrt

import dask
import dask.array
import numpy as np
from datasets import load
from scipy.special import expit

from skdp import DPLinearRegression, DPLogisticRegression
from skdp.privacy import gdp
from skdp.privacy.rows import Chunks

EPSILONS, DELTA = (0.25, 1.0, 4.0), 1e-5
PEOPLE, D, MOST = 500, 15, 1000
STEPS, CLIPS = 30, (0.02, 0.06, 0.25, 1.0, 4.0)


def visits(seed, *, alike, more_is_different):
    """Visits of people by a power law, rows of unit length at most, and labels.

    ``alike`` is the share of a row that all rows of a person have in common. With
    ``more_is_different`` the outcome depends on how often somebody comes, too.
    """
    rng = np.random.default_rng(seed)
    sizes = np.minimum(MOST, np.ceil(rng.uniform(size=2 * PEOPLE) ** (-1 / 1.1))).astype(int)
    labels = np.repeat(np.arange(2 * PEOPLE), sizes)
    own = rng.normal(size=(2 * PEOPLE, D))
    X = sqrt(alike) * own[labels] + sqrt(1 - alike) * rng.normal(size=(len(labels), D))
    effect = sqrt(alike) * rng.normal(size=2 * PEOPLE)
    if more_is_different:
        effect = effect + 1.5 * (sizes > 20) * np.sign(own[:, 0])
    score = 1.5 * X @ np.ones(D) / sqrt(D) + effect[labels]
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
    """Over rows, and with every person counted as one: R2, or the share that is right."""
    share = 1.0 / np.bincount(labels)[labels]
    found = model.predict(X)
    out = []
    for weight in (np.ones(len(y)), share):
        if regression:
            centre = np.average(y, weights=weight)
            out.append(1 - (weight @ (y - found) ** 2) / (weight @ (y - centre) ** 2))
        else:
            out.append(np.average(found == y, weights=weight))
    return out


def packaged(data, seed, epsilon, regression):
    (X, test_X), (y, test_y), (labels, test_labels) = data

    def fitted(epsilon, rows=slice(None), **options):
        if regression:
            model = DPLinearRegression(
                epsilon=epsilon, delta=DELTA, data_norm=1.0, target_bounds=(0, 1000)
            )
        else:
            model = DPLogisticRegression(
                epsilon=epsilon, delta=DELTA, data_norm=1.0, classes=[0, 1]
            )
        model.fit(X[rows], y[rows], **options)
        return scores(model, test_X, test_y, test_labels, regression)

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
    "visits, rows of a person nearly alike": lambda s: visits(
        s, alike=0.9, more_is_different=False
    ),
    "visits, rows of a person half alike": lambda s: visits(s, alike=0.5, more_is_different=False),
    "visits, rows of a person independent": lambda s: visits(s, alike=0.0, more_is_different=False),
    "visits, frequent visitors differ": lambda s: visits(s, alike=0.5, more_is_different=True),
    "bike by day": days,
}


def table(name, seeds, methods):
    regression = name.startswith("bike")
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
    print("over rows / with every person counted as one; standard error of the mean in brackets\n")
    print("| method | " + " | ".join(f"epsilon {e:g}" for e in EPSILONS) + " |")
    print("| --- " * (1 + len(EPSILONS)) + "|")
    for who, cells in found.items():
        shown = []
        for epsilon in EPSILONS:
            values = np.array(cells[epsilon])
            error = values.std(axis=0, ddof=1).max() / sqrt(len(values)) if seeds > 1 else 0.0
            means = values.mean(axis=0)
            shown.append(f"{means[0]:.3f} / {means[1]:.3f} ({error:.3f})")
        print(f"| {who} | " + " | ".join(shown) + " |", flush=True)


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
    parser.add_argument("--only", default="", help="part of the name of a data set, or 'costs'")
    parser.add_argument("--plain", action="store_true", help="plain descent alone")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    for name in DATA:
        if options.only in name:
            table(name, options.seeds, (plain,) if options.plain else (packaged, plain))
    if options.only in ("", "costs"):
        costs()


if __name__ == "__main__":
    main()
