"""What exact sums cost: fits with ``secure=True`` against those without, on Adult and Covertype.

Seconds of processor time are medians of interleaved fits in one process. Accuracy is that of the
same fits on test rows, with its standard error. Without the data, the table is not printed.

    python examples/benchmarks/secure.py [--quick]
"""

from __future__ import annotations

import argparse
import time
import warnings

import datasets
import numpy as np

from skdp import DPLogisticRegression
from skdp.privacy.randomness import SystemNoise

SETTINGS = (
    ("defaults", {}),
    ("gd, rows as they came", {"solver": "gd", "precondition": None}),
    ("svrg, rows as they came", {"solver": "svrg", "precondition": None}),
)


def split(data, dtype, most):
    order = np.random.default_rng(0).permutation(len(data.X))[:most]
    test, train = np.split(order, [len(order) // 5])
    X = data.X.astype(dtype)
    return X[train], data.y[train], X[test], data.y[test]


def compare(name, parts, repeats):
    X, y, X_test, y_test = parts
    for setting, given in SETTINGS:
        seconds = np.empty((repeats, 2))
        accuracy = np.empty((repeats, 2))
        for row in range(-1, repeats):
            for k, secure in enumerate((False, True)):
                model = DPLogisticRegression(
                    1.0, 1e-6, data_norm=1.0, classes=[0, 1], secure=secure, **given
                )
                begin = time.process_time()
                model.fit(X, y)
                if row >= 0:
                    seconds[row, k] = time.process_time() - begin
                    accuracy[row, k] = model.score(X_test, y_test)
        fast, exact = np.median(seconds, axis=0)
        means, errors = accuracy.mean(axis=0), accuracy.std(axis=0, ddof=1) / np.sqrt(repeats)
        kind = f"{name} {len(X):,} x {X.shape[1]} {X.dtype.name}"
        print(
            f"{kind:34}{setting:26}{fast:7.2f}{exact:7.2f}{exact / fast:7.2f}"
            f"{means[0]:9.4f} +-{errors[0]:.4f}{means[1]:9.4f} +-{errors[1]:.4f}",
            flush=True,
        )


def noise(repeats):
    source, size = SystemNoise(), 10**6
    seconds = np.empty((repeats, 2))
    for row in seconds:
        for k, draw in enumerate((source.normal, lambda n: source.rounded(n, 2.0**25))):
            begin = time.process_time()
            draw(size)
            row[k] = time.process_time() - begin
    plain, rounded = size / np.median(seconds, axis=0) / 1e6
    print(f"\nMillion normals a second: {plain:.1f}, exactly rounded to a grid {rounded:.1f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="fewer rows and repetitions")
    quick = parser.parse_args().quick
    warnings.simplefilter("ignore")
    repeats, most = (3, 20_000) if quick else (5, None)
    print(f"{'data':34}{'fit':26}{'fast':>7}{'exact':>7}{'ratio':>7}{'accuracy':>17}{'exact':>17}")
    for name in ("adult", "covertype"):
        try:
            data = getattr(datasets, name)()
        except FileNotFoundError:
            continue
        for dtype in (np.float64, np.float32):
            compare(name, split(data, dtype, most), repeats)
    noise(repeats)


if __name__ == "__main__":
    main()
