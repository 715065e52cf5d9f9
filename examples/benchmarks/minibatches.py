"""Minibatches against steps over all rows, on a table of many rows, in one run.

The rows are synthetic, in single precision, in memory or in a memory-mapped file: standard normal
features with a few correlated ones, labels of a logistic model, standardised by public constants.
Batches are multiples of ``b* = n mu / sqrt(releases)``, from which on noise is about that of all
rows. Measured are accuracy on unseen rows, the excess risk over the best model (logistic loss on
unseen rows less that of the true coefficients), and the processor's seconds of a fit as a multiple
of those of ``gd`` with all rows, in one thread, the planning of noise included. delta = n^-1.1,
replace-one. Needs dp-accounting.

    python examples/benchmarks/minibatches.py
    python examples/benchmarks/minibatches.py --rows 10000000 --mapped --repeats 1
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
import warnings

import numpy as np
from threadpoolctl import threadpool_limits

from skdp import DPLogisticRegression, plan
from skdp.privacy.accounting import gdp, subsampling
from skdp.solvers import GD, SVRG, minibatch_noise

D, TEST, NORM = 20, 200_000, 1.0
HEAD = (
    "solver",
    "batch",
    "accuracy",
    "excess risk",
    "time of a fit",
    "fit, s",
    "of it planning, s",
)


def rows(n, rng, out=None):
    """Features and labels, in pieces, so that nothing but the table itself is in memory."""
    X = np.empty((n, D), dtype=np.float32) if out is None else out
    y = np.empty(n, dtype=np.int8)
    w = np.random.default_rng(1).normal(size=D) * 3.0
    for start in range(0, n, 500_000):
        part = X[start : start + 500_000]
        part[:] = rng.standard_normal(part.shape, dtype=np.float32)
        part[:, 1::4] = 0.6 * part[:, ::4] + 0.8 * part[:, 1::4]
        # Most rows are within the bound, longer ones are shortened by the fit.
        part *= NORM / np.sqrt(1.2 * D)
        y[start : start + 500_000] = rng.random(len(part)) < 1 / (1 + np.exp(-(part @ w)))
    return X, y, w


def risk(w, X, y):
    z = X @ w[:-1] + w[-1]
    return float(np.mean(np.logaddexp(0.0, z) - y * z))


def forget():
    """Let the next fit plan its noise anew."""
    minibatch_noise.noise_unit.cache_clear()
    for found in ("limit", "_sampled_losses", "_one"):
        getattr(subsampling, found).cache_clear()


def logistic(solver, epsilon, n):
    return DPLogisticRegression(
        epsilon=epsilon,
        delta=n**-1.1,
        solver=solver,
        data_norm=NORM,
        classes=[0, 1],
        precondition=None,
    )


def fit(solver, epsilon, X, y):
    """A fitted model, and seconds of the processor."""
    forget()
    model = logistic(solver, epsilon, len(y))
    with warnings.catch_warnings():
        # Of batches that are too small, which is what some of these are.
        warnings.simplefilter("ignore", UserWarning)
        start = time.process_time()
        model.fit(X, y)
        whole = time.process_time() - start
    return model, whole


def planning(solver, epsilon, n):
    """Seconds in which the noise of a fit is planned."""
    forget()
    model = logistic(solver, epsilon, n)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        start = time.process_time()
        plan(model, n, D)
    return time.process_time() - start


def contenders(n, epsilon, multiples):
    mu = gdp.mu(epsilon, n**-1.1)
    yield "gd", "all", GD()
    for multiple in multiples:
        batch = max(1, round(multiple * n * mu / np.sqrt(100)))
        if batch < n:
            label = f"{batch:,} = {multiple:g} b* ({batch / n:.1%})"
            yield "gd", label, GD(batch_size=batch)
            yield "gd, dynamic", label, GD(batch_size=batch, schedule="exponential", decay=0.97)
    yield "svrg", "all", SVRG()
    for multiple in multiples:
        batch = max(1, round(multiple * n * mu / np.sqrt(75)))
        if batch < n:
            yield "svrg", f"{batch:,} = {multiple:g} b* ({batch / n:.1%})", SVRG(batch_size=batch)


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rows", type=int, default=4_000_000)
    parser.add_argument("--eps", nargs="+", type=float, default=[1.0])
    parser.add_argument("--multiples", nargs="+", type=float, default=[0.25, 1.0, 4.0])
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--mapped", action="store_true", help="keep the table in a file")
    args = parser.parse_args(arguments)
    n, rng = args.rows, np.random.default_rng(0)
    with tempfile.TemporaryDirectory() as folder:
        out = None
        if args.mapped:
            path = os.path.join(folder, "X.npy")
            out = np.lib.format.open_memmap(path, "w+", np.float32, (n, D))
        X, y, w = rows(n, rng, out)
        X_test, y_test, _ = rows(TEST, rng)
        least = risk(np.append(w, 0.0), X_test, y_test)
        best = np.mean((X_test @ w > 0) == y_test)
        print(f"{n:,} rows, {D} features; true coefficients: accuracy {best:.4f}")
        for epsilon in args.eps:
            print(f"\nepsilon {epsilon:g}\n\n| {' | '.join(HEAD)} |\n{'| --- ' * len(HEAD)}|")
            base = None
            for name, label, solver in contenders(n, epsilon, args.multiples):
                # Times of several threads depend on what else is running.
                with threadpool_limits(1):
                    runs = [fit(solver, epsilon, X, y) for _ in range(args.repeats)]
                models, seconds = zip(*runs, strict=True)
                # The first is over all rows.
                base = base or np.median(seconds)
                accuracy = [model.score(X_test, y_test) for model in models]
                excess = [
                    risk(np.append(m.coef_, m.intercept_), X_test, y_test) - least for m in models
                ]
                cells = [
                    f"{np.mean(accuracy):.4f}",
                    f"{np.mean(excess):.5f}",
                    f"{np.median(seconds) / base:.2f}",
                    f"{np.median(seconds):.1f}",
                    f"{planning(solver, epsilon, n):.1f}",
                ]
                print(f"| {' | '.join([name, label, *cells])} |", flush=True)


if __name__ == "__main__":
    main()
