"""Time and memory of fitting, against the least that the same work could cost.

Times are medians of interleaved repetitions in one process, so ratios hold whatever the machine.
A *bare pass* is what one gradient needs and no more: ``X @ w``, sigmoid or softmax, ``X.T @ r``
on whole arrays in the precision of X, without bounds, clipping or blocks.

Covertype and newsgroups are read as in ``datasets.py``; without them, synthetic data of the same
size take their place, and the table says so.

    python examples/benchmarks/speed.py [--quick]
"""

from __future__ import annotations

import argparse
import platform
import subprocess
import sys
import time
import tracemalloc
import warnings
from functools import cache

import datasets
import numpy as np
import scipy.sparse as sp
import scipy.sparse.linalg
from scipy.special import expit, softmax
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression, Ridge
from threadpoolctl import threadpool_info

from skdp import DPLinearRegression, DPLogisticRegression
from skdp.privacy import SystemNoise
from skdp.privacy.accounting import gdp
from skdp.privacy.queries import GradientDifferenceQuery, GradientQuery
from skdp.privacy.rows import DenseRows, SparseRows
from skdp.problem import Problem, RowBounds
from skdp.problem.losses import Logistic, Softmax

# Those of many gradients, the baseline first.
SOLVED = ("gd", "accmd", "adaptive_gd", "ppm", "spider", "svrg")
# So many in a row, as in a fit, that what they share is in cache.
BARE = 20


def medians(repeats, *functions, clock=time.perf_counter):
    """Median seconds of each function, called in turns after one warm-up."""
    seconds = np.empty((repeats, len(functions)))
    for function in functions:
        function()
    for row in seconds:
        for k, function in enumerate(functions):
            begin = clock()
            function()
            row[k] = clock() - begin
    return np.median(seconds, axis=0)


def bare_pass(X, y, w):
    r = X @ w
    if w.ndim == 1:
        expit(r, out=r)
        r -= y
    else:
        r = softmax(r, axis=1)
        r[np.arange(len(y)), y] -= 1
    return X.T @ r


def bare_difference(X, y, w, w0):
    """What the change of a gradient needs; the targets cancel, but for clipping."""
    r = X @ w
    expit(r, out=r)
    before = X @ w0
    expit(before, out=before)
    r -= before
    return X.T @ r


@cache
def covertype(n, d):
    """Covertype, or uniform noise of the same size; a column of ones makes the 55th feature."""
    rng = np.random.default_rng(0)
    try:
        data = datasets.covertype()
        rows = rng.permutation(len(data.X))[:n]
        X, y, kind = data.X[rows], data.y[rows], "covertype"
    except FileNotFoundError:
        X = datasets.unit_rows(rng.uniform(-1, 1, (n, 54)))
        y, kind = (X[:, 0] + 0.1 * rng.standard_normal(n) > 0).astype(int), "synthetic"
    X = np.column_stack([X, np.ones((n, d - 54))])
    return X.astype(np.float64), y, kind


def newsgroups():
    """Newsgroups, training part, rows of norm 1; or random words, as many a document."""
    n, d = 11_314, 44_924
    rng = np.random.default_rng(0)
    try:
        X, y, extras = datasets.load("newsgroups")
        train = ~extras["is_test"].astype(bool)
        X, y, kind = sp.csr_array(X)[train], y[train].astype(int), "newsgroups"
    except FileNotFoundError:
        words = (rng.integers(0, d, 131 * n), np.arange(0, 131 * n + 1, 131))
        X = sp.csr_array((rng.random(131 * n), *words), shape=(n, d))
        X.sum_duplicates()
        y, kind = rng.integers(0, 20, n), "synthetic"
    norms = scipy.sparse.linalg.norm(X, axis=1)
    X.data /= np.repeat(norms, np.diff(X.indptr))
    return X, y, kind


def whole_fits(sizes, repeats):
    print("\nWhole fits, defaults, epsilon = 1: seconds, and ratios to ours")
    print(f"{'data':32}{'skdp':>8}{'sklearn':>9}{'T passes':>10}{'skdp/sk':>9}{'skdp/T':>8}   T")
    for n, d in sizes:
        X, y, kind = covertype(n, d)
        for dtype in (np.float64, np.float32):
            Xt = X.astype(dtype, copy=False)
            norm = float(np.sqrt(d - 53))
            model = DPLogisticRegression(epsilon=1.0, data_norm=norm, classes=[0, 1]).fit(Xt, y)
            T, w, target = int(model.n_iter_[0]), model.coef_[0], y.astype(dtype)

            def passes(X=Xt, y=target, w=w, T=T):
                for _ in range(T):
                    bare_pass(X, y, w)

            ours, theirs, bare = medians(
                repeats,
                lambda model=model, X=Xt, y=y: model.fit(X, y),
                lambda X=Xt, y=y: LogisticRegression().fit(X, y),
                passes,
            )
            name = f"{kind} {n:,} x {d} {np.dtype(dtype).name}"
            print(
                f"{name:32}{ours:8.2f}{theirs:9.2f}{bare:10.2f}{ours / theirs:9.2f}"
                f"{ours / bare:8.2f}{T:4d}",
                flush=True,
            )


def against_exact_solvers(n, repeats):
    print("\nWhole fits, defaults, epsilon = 1, beside exact solvers: processor time, and ratios")
    print(f"{'data':40}{'skdp, s':>9}   of each exact solver (ratio to it); passes over the rows")
    for name, X, y, model, exact in fits_beside_exact(n):
        ours, *theirs = medians(
            repeats,
            lambda model=model, X=X, y=y: model.fit(X, y),
            *(lambda other=other, X=X, y=y: other.fit(X, y) for other in exact.values()),
            clock=time.process_time,
        )
        asked = sum(event.count for event in model.privacy_ledger_)
        ratios = [f"{k} {t:.2f} ({ours / t:.2f})" for k, t in zip(exact, theirs, strict=True)]
        label = f"{name} {len(y):,} x {X.shape[1]}"
        print(f"{label:40}{ours:9.2f}   {', '.join(ratios)}; {asked}", flush=True)


def fits_beside_exact(n):
    """Name, features, targets, a private model and exact ones of several tasks."""
    rng = np.random.default_rng(0)
    X, y, kind = covertype(465_000 if n > 100_000 else n, 54)
    of_unit_norm = DPLogisticRegression(data_norm=1.0, classes=[0, 1])
    yield kind, X, y, of_unit_norm, classifiers()
    white, slope = rng.standard_normal((n, 54)), rng.standard_normal(54)
    y = (white @ slope + 3 * rng.logistic(size=n) > 0).astype(int)
    yield "easy", datasets.unit_rows(white), y, of_unit_norm, classifiers()
    for task in (datasets.adult, datasets.adult_raw):
        try:
            data = task()
        except FileNotFoundError:
            continue
        private = DPLogisticRegression(data_norm=data.data_norm, classes=[0, 1])
        yield task.__name__, np.asarray(data.X, dtype=np.float64), data.y, private, classifiers()
    y = white @ slope + 3 * rng.standard_normal(n)
    length, bounds = 1.3 * float(np.sqrt(54)), (-40.0, 40.0)
    known = DPLinearRegression(data_norm=length, target_bounds=bounds)
    yield "regression", white, y, known, {"ridge": Ridge()}
    stretched = white * np.exp(rng.uniform(0, 6, 54))
    yield "regression, raw columns", stretched, y, DPLinearRegression(), {"ridge": Ridge()}


def classifiers():
    solvers = ("lbfgs", "newton-cholesky")
    return {solver: LogisticRegression(solver=solver) for solver in solvers}


def solvers(sizes, repeats):
    print("\nWhole fits, each solver with its defaults, on rows as they came: processor time")
    print("(/ bare: to bare passes; / exact: to the same queries without noise and ledger)")
    heads = f"{'queries':>11}{'ms each':>9}{'/ bare':>8}{'/ exact':>9}{'/ gd':>7}"
    print(f"{'data':24}{'solver':14}{heads}")
    for n, d in sizes:
        X, y, kind = covertype(n, d)
        target, w0 = y.astype(np.float64), np.full(d, 0.1)
        models, bare = {}, {}
        for name in SOLVED:
            model = DPLogisticRegression(
                epsilon=1.0,
                delta=1e-6,
                data_norm=float(np.sqrt(d - 53)),
                classes=[0, 1],
                solver=name,
                precondition=None,
            )
            asked = {True: 0, False: 0}
            for event in model.fit(X, y).privacy_ledger_:
                asked["difference" in event.query] += event.count
            models[name], bare[name] = model, asked
        w = models["gd"].coef_[0]
        exact, exact_difference = exact_answers(X, target, w, w0)
        gradient_only, difference, unnoised, unnoised_difference, *fits = medians(
            repeats,
            lambda X=X, y=target, w=w: [bare_pass(X, y, w) for _ in range(BARE)],
            lambda X=X, y=target, w=w, w0=w0: [bare_difference(X, y, w, w0) for _ in range(BARE)],
            lambda exact=exact: [exact() for _ in range(BARE)],
            lambda exact=exact_difference: [exact() for _ in range(BARE)],
            *(lambda model=model, X=X, y=y: model.fit(X, y) for model in models.values()),
            clock=time.process_time,
        )
        each = {}
        for name, seconds in zip(SOLVED, fits, strict=True):
            asked = bare[name]
            queries = sum(asked.values())
            least = (asked[False] * gradient_only + asked[True] * difference) / BARE
            passes = (asked[False] * unnoised + asked[True] * unnoised_difference) / BARE
            each[name] = seconds / queries
            print(
                f"{f'{kind} {n:,} x {d}':24}{name:14}{f'{asked[False]} + {asked[True]}':>11}"
                f"{1e3 * each[name]:9.2f}{seconds / least:8.2f}{seconds / passes:9.2f}"
                f"{each[name] / each['gd']:7.2f}",
                flush=True,
            )


def exact_answers(X, y, w, w0):
    """A gradient and a difference of gradients, as an oracle computes them before it adds noise."""
    bounds = RowBounds(float(np.sqrt(X.shape[1] - 53)), 1.0)
    problem = Problem(Logistic(), *X.shape, bounds)
    clip, rows = 0.3 * problem.row_norm, DenseRows(X, y)
    at_w = GradientQuery(problem, np.append(w, 0.0), clip)
    apart = GradientDifferenceQuery(at_w, np.append(w0, 0.0))
    return lambda: at_w.evaluate(rows), lambda: apart.evaluate(rows)


def gradient(X, y, n_classes, data_norm):
    """One gradient in our way, and a bare pass."""
    loss = Logistic() if n_classes == 2 else Softmax(n_classes)
    problem = Problem(loss, *X.shape, RowBounds(data_norm, data_norm))
    w = 0.01 * np.random.default_rng(1).standard_normal(problem.shape)
    query = GradientQuery(problem, w, clip_norm=0.3 * problem.row_norm)
    rows = (SparseRows if sp.issparse(X) else DenseRows)(X, y.astype(np.float64))
    bare_w = w[:-1].astype(X.dtype)
    bare_y = y.astype(X.dtype if n_classes == 2 else np.intp)
    return lambda: query.evaluate(rows), lambda: bare_pass(X, bare_y, bare_w)


def dense_passes(shapes, repeats):
    print("\nOne dense gradient: milliseconds")
    print(f"{'data':40}{'skdp':>8}{'bare':>8}{'ratio':>7}")
    for n, d, n_classes in shapes:
        rng = np.random.default_rng(0)
        X = rng.standard_normal((n, d), dtype=np.float32)
        y = rng.integers(0, n_classes, n)
        for dtype in (np.float64, np.float32):
            for order in "CF":
                Xt = np.asarray(X, dtype=dtype, order=order)
                # Half of the rows are longer than this.
                ours, bare = medians(repeats, *gradient(Xt, y, n_classes, float(np.sqrt(d))))
                name = f"{n:,} x {d}, {n_classes} classes, {np.dtype(dtype).name} {order}"
                print(
                    f"{name:40}{1e3 * ours:8.1f}{1e3 * bare:8.1f}{ours / bare:7.2f}",
                    flush=True,
                )


def sparse_passes(repeats):
    X, y, kind = newsgroups()
    n, d = X.shape
    print(f"\nOne sparse gradient ({kind} {n:,} x {d:,}, {X.nnz / n:.0f} entries a row)")
    print(f"{'':16}{'ms':>8}{'bare':>8}{'ratio':>7}{'ns per (nnz + d) output':>26}")
    for dtype in (np.float64, np.float32):
        for n_classes in (2, 20):
            Xt, target = X.astype(dtype), y if n_classes == 20 else y % 2
            ours, bare = medians(repeats, *gradient(Xt, target, n_classes, 1.0))
            outputs = 1 if n_classes == 2 else n_classes
            each = 1e9 * ours / ((X.nnz + d) * outputs)
            name = f"{np.dtype(dtype).name} x {outputs}"
            print(f"{name:16}{1e3 * ours:8.1f}{1e3 * bare:8.1f}{ours / bare:7.2f}{each:26.2f}")


def memory(sizes):
    print("\nPeak memory of a whole fit beyond X, from tracemalloc")
    cases = []
    for n, d in sizes:
        X, y, kind = covertype(n, d)
        cases += [(X, y, f"{kind} {n:,} x {d}"), (X.astype(np.float32), y, f"{kind} {n:,} x {d}")]
        cases.append((np.asfortranarray(X), y, f"{kind} {n:,} x {d} F"))
    X, y, kind = newsgroups()
    cases += [(X, y % 2, kind), (X, y, f"{kind}, 20 classes")]
    for X, y, name in cases:
        size = X.data.nbytes + X.indices.nbytes if sp.issparse(X) else X.nbytes
        model = DPLogisticRegression(data_norm=1.5, classes=np.unique(y))
        tracemalloc.start()
        model.fit(X, y)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        n, p = len(y), model.coef_.size
        print(
            f"{name + ' ' + X.dtype.name:40}{size / 2**20:8.1f} MB of X,{peak / 2**20:7.1f} MB"
            f" beyond ({peak / size:.0%}; {8 * n / 2**20:.1f} MB a number a row,"
            f" {8 * p / 2**20:.1f} MB a model)",
            flush=True,
        )


def imports(repeats):
    def fresh(module):
        return lambda: subprocess.run([sys.executable, "-c", f"import {module}"], check=True)

    base, theirs, ours = medians(
        repeats, fresh("sys"), fresh("sklearn.linear_model"), fresh("skdp")
    )
    print(
        f"\nImport: skdp {ours:.2f} s, sklearn.linear_model {theirs:.2f} s, Python alone "
        f"{base:.2f} s; skdp / sklearn.linear_model = {ours / theirs:.2f}"
    )


def small_parts(repeats):
    noise, calls, size = SystemNoise(), 1000, 10**6

    def many(function):
        return lambda: [function(epsilon, 1e-6) for epsilon in np.linspace(0.1, 8.0, calls)]

    calibrate, evaluate, draw = medians(
        repeats, many(gdp.mu), many(gdp.epsilon), lambda: noise.normal(size)
    )
    print(
        f"Accountant: (epsilon, delta) to mu {1e6 * calibrate / calls:.0f} us, "
        f"back {1e6 * evaluate / calls:.0f} us"
    )
    print(f"Noise: {size / draw / 1e6:.0f} million normals a second from the operating system")


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="smaller data, fewer repetitions")
    quick = parser.parse_args().quick
    warnings.simplefilter("ignore", ConvergenceWarning)
    threads = {pool["num_threads"] for pool in threadpool_info()}
    print(f"Python {platform.python_version()}, numpy {np.__version__}, threads {threads}")

    sizes = [(20_000, 54)] if quick else [(200_000, 54), (465_000, 55)]
    shapes = [(n, d, 2) for n, d in sizes] + [(6_000 if quick else 60_000, 784, 10)]
    repeats = 3 if quick else 7
    imports(3 if quick else 7)
    small_parts(repeats)
    dense_passes(shapes, repeats)
    sparse_passes(repeats)
    memory(sizes)
    whole_fits(sizes, 3)
    against_exact_solvers(sizes[0][0], 3)
    solvers([(4_000, 54), (16_000, 54), sizes[0]], repeats)


if __name__ == "__main__":
    main()
