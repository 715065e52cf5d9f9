"""Han et al., table 5.1: linear regression on a stream, at (1, 1/T)-DP under replace-one.

    python examples/benchmarks/papers/online_frank_wolfe.py --repeats 10 --plot stream.png

Rows are normal, scaled to unit q-norm, where 1/p + 1/q = 1; the true coefficients are normal,
scaled to unit p-norm; the noise of the targets has standard deviation .05, so that .0025 is the
least possible risk. SubOpt is the excess risk on 10,000 test rows as a share of that of the zero
vector. Beside each method stands the paper's own figure for its online Frank-Wolfe.

That figure is of an algorithm with less noise than it claims. The noise of the paper has density
proportional to exp(-||z||^2 / (2 sigma^2)) for a norm of its choice, whose squared length is
Gamma(d/2) distributed with scale 2 sigma^2; its sampler takes 2 sigma instead, which makes the
noise too small by a factor of the root of sigma, 12 to 17 in this table. Its exponent of the norm
is below 2 for d = 5 and 10, where the norm is not smooth, so that the proof does not apply at all.
On the other hand its tree pays for each level by basic composition, five times too much noise, so
that what the printed algorithm can still be proved to give is about epsilon = 3 instead of 1, and
only where the norm is mended. The columns here have receipts that add up to (1, 1/T).
"""

from __future__ import annotations

import argparse
from pathlib import Path
from time import process_time

import numpy as np

from skdp import DPLinearRegression
from skdp.problem.constraints import Box, LpBall
from skdp.solvers import FrankWolfe

LENGTHS = (1000, 2000, 5000, 10_000)
SIZES = (5, 10, 20)
RADIUS = 2.0
NOISE = 0.05
STEPS = 20  # calls of partial_fit, which change nothing but the time

# Risk and SubOpt of the paper's algorithm, by (p, T, d).
PRINTED = {
    ("1.5", 1000, 5): (0.00536, 0.0172),
    ("1.5", 1000, 10): (0.0183, 0.201),
    ("1.5", 1000, 20): (0.0307, 0.775),
    ("1.5", 2000, 5): (0.00285, 0.00235),
    ("1.5", 2000, 10): (0.00704, 0.0595),
    ("1.5", 2000, 20): (0.018, 0.406),
    ("1.5", 5000, 5): (0.00258, 0.000702),
    ("1.5", 5000, 10): (0.00376, 0.0163),
    ("1.5", 5000, 20): (0.00962, 0.185),
    ("1.5", 10_000, 5): (0.00255, 0.000318),
    ("1.5", 10_000, 10): (0.00282, 0.00465),
    ("1.5", 10_000, 20): (0.00487, 0.0592),
    ("inf", 1000, 5): (0.0357, 0.112),
    ("inf", 1000, 10): (0.0915, 0.582),
    ("inf", 1000, 20): (0.0766, 0.982),
    ("inf", 2000, 5): (0.0152, 0.0432),
    ("inf", 2000, 10): (0.0582, 0.364),
    ("inf", 2000, 20): (0.067, 0.82),
    ("inf", 5000, 5): (0.00667, 0.0145),
    ("inf", 5000, 10): (0.022, 0.125),
    ("inf", 5000, 20): (0.0535, 0.637),
    ("inf", 10_000, 5): (0.00337, 0.00293),
    ("inf", 10_000, 10): (0.00976, 0.0467),
    ("inf", 10_000, 20): (0.0316, 0.363),
}


def norm(values, order, axis=None):
    return np.linalg.norm(values, ord=order, axis=axis, keepdims=axis is not None)


def draw(p, d, n, rng):
    """Training rows, targets, test rows, and the coefficients."""
    q = {"1.5": 3.0, "inf": 1.0}[p]
    X = rng.normal(size=(n + 10_000, d))
    X /= norm(X, q, axis=1)
    theta = rng.normal(size=d)
    theta /= norm(theta, float(p))
    y = X @ theta + NOISE * rng.normal(size=len(X))
    return X[:n], y[:n], X[n:], y[n:], theta


def methods(p, n):
    """Parameters of each method, and whether it streams."""
    ball = LpBall(RADIUS, 1.5) if p == "1.5" else Box(-RADIUS, RADIUS)
    return {
        "blocks, T known": ({"horizon": n}, True),
        "blocks": ({}, True),
        "ftrl": ({"horizon": n, "buffer": False}, True),
        "frank_wolfe": ({"horizon": n, "solver": "frank_wolfe", "constraint": ball}, True),
        "frank_wolfe, row by row": (
            {"horizon": n, "solver": FrankWolfe(batch=1), "constraint": ball},
            True,
        ),
        "fit on all rows": ({}, False),
    }


def model(p, d, n, parameters):
    # Largest l2 norm of a row of unit q-norm, which the description of the data gives away.
    longest = d ** (1 / 2 - 1 / 3) if p == "1.5" else 1.0
    return DPLinearRegression(
        epsilon=1.0,
        delta=1.0 / n,
        data_norm=longest,
        target_bounds=(-1.0, 1.0),
        fit_intercept=False,
        **parameters,
    )


def train(estimator, X, y, streams):
    start = process_time()
    if streams:
        for part in np.array_split(np.arange(len(y)), STEPS):
            estimator.partial_fit(X[part], y[part])
    else:
        estimator.fit(X, y)
    return process_time() - start


def cell(p, n, d, repeats):
    """Risk, SubOpt and seconds of each method; arrays (repeats, 3)."""
    out = {name: [] for name in methods(p, n)}
    for seed in range(repeats):
        X, y, X_test, y_test, theta = draw(p, d, n, np.random.default_rng([seed, n, d]))
        best = np.mean((X_test @ theta - y_test) ** 2)
        zero = np.mean(y_test**2)
        for name, (parameters, streams) in methods(p, n).items():
            estimator = model(p, d, n, parameters)
            seconds = train(estimator, X, y, streams)
            spent = estimator.privacy_spent_
            if spent.epsilon > 1 + 1e-9 or spent.delta > 1 / n:
                raise RuntimeError(f"{name} spent {spent}.")
            risk = np.mean((estimator.predict(X_test) - y_test) ** 2)
            out[name].append((risk, (risk - best) / (zero - best), seconds))
    return {name: np.array(results) for name, results in out.items()}


def table(p, repeats):
    names = list(methods(p, 1000))
    print(f"\np = {p}: risk (SubOpt ± standard error), CPU seconds\n")
    print(f"| T | d | {' | '.join(names)} | as printed |")
    print("|---" * (len(names) + 3) + "|")
    found = {}
    for n in LENGTHS:
        for d in SIZES:
            results = cell(p, n, d, repeats)
            cells = []
            for name in names:
                risk, excess, seconds = results[name].mean(axis=0)
                error = results[name][:, 1].std(ddof=1) / np.sqrt(repeats)
                cells.append(f"{risk:.5f} ({excess:.4f}±{error:.4f}), {seconds:.2f}")
                found[name, n, d] = excess
            risk, excess = PRINTED[p, n, d]
            print(f"| {n} | {d} | {' | '.join(cells)} | {risk} ({excess}) |", flush=True)
    return found


def plot(found, path):
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, panels = plt.subplots(1, 2, figsize=(11, 4), sharey=True, layout="constrained")
    for axes, p in zip(panels, found, strict=True):
        d = SIZES[-1]
        for name in methods(p, 1000):
            axes.loglog(LENGTHS, [max(found[p][name, n, d], 1e-5) for n in LENGTHS], label=name)
        printed = [PRINTED[p, n, d][1] for n in LENGTHS]
        axes.loglog(LENGTHS, printed, "k--", label="online Frank-Wolfe as printed")
        axes.set_xticks(LENGTHS, list(map(str, LENGTHS)))
        axes.minorticks_off()
        axes.set_xlabel("rows of the stream")
        axes.set_title(f"p = {p}, d = {d}")
        axes.grid(alpha=0.3)
    panels[0].set_ylabel("excess risk, share of the zero vector's")
    figure.legend(*axes.get_legend_handles_labels(), loc="outside right center", fontsize=8)
    figure.savefig(path, dpi=150)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=10)
    parser.add_argument("--plot", type=Path, help="where to save the figure")
    arguments = parser.parse_args()
    found = {p: table(p, arguments.repeats) for p in ("1.5", "inf")}
    if arguments.plot:
        plot(found, arguments.plot)


if __name__ == "__main__":
    main()
