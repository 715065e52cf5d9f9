"""R2 of private linear regression with default settings, on real and on hard synthetic data.

For each data set: mean and standard error over fresh random splits (80 / 20) and fresh noise,
replace-one adjacency, delta = n^-1.1. Below it the scores of a reference implementation of the same
rule (on other splits, and for synthetic sets on other draws), the heavy-ball rule without
preconditioning on the same splits, and least squares without privacy. All predictions are clipped
to the target bounds.

    python examples/benchmarks/regression.py [--seeds 5] [--only bike lognormal]
"""

from __future__ import annotations

import argparse
from collections.abc import Callable

import numpy as np
from datasets import Dataset, diabetes, load, scaled
from sklearn.linear_model import LinearRegression
from sklearn.metrics import r2_score
from sklearn.model_selection import train_test_split

from skdp import DPLinearRegression

EPSILONS = (0.1, 0.5, 1.0, 4.0)
REFERENCE = {
    "california": (0.663, 0.671, 0.673, 0.673, 0.670),
    "california_raw": (0.583, 0.632, 0.648, 0.656, 0.613),
    "bike": (0.572, 0.685, 0.692, 0.697, 0.700),
    "protein": (0.287, 0.292, 0.292, 0.292, 0.288),
    "diabetes": (0.132, 0.309, 0.335, 0.394, 0.418),
    "uniform": (0.828, 0.853, 0.857, 0.859, 0.859),
    "autoregressive": (0.565, 0.799, 0.800, 0.800, 0.800),
    "lognormal": (0.512, 0.764, 0.789, 0.791, 0.791),
    "ill_conditioned": (0.388, 0.783, 0.803, 0.803, 0.803),
    "heavy_noise": (0.363, 0.372, 0.373, 0.373, 0.373),
    "skewed_target": (0.093, 0.125, 0.130, 0.133, 0.137),
}
N, D = 20_000, 20


def from_observed_ranges(X):
    """Columns to [-1, 1] by their ranges, then rows of norm at most 1."""
    return scaled(X, X.min(axis=0), X.max(axis=0)) / np.sqrt(X.shape[1])


def longest_to_one(X):
    return X / np.linalg.norm(X, axis=1).max()


def largest_to_one(y):
    return y / np.abs(y).max()


def california(logs=True):
    X, y, _ = load("california")
    if logs:
        X[:, 2:6] = np.log1p(X[:, 2:6])
    note = f"{'log of counts, ' if logs else ''}observed ranges; target .15..5.0 by format"
    return Dataset(from_observed_ranges(X), y, note, target_bounds=(0.15, 5.0))


def california_raw():
    return california(logs=False)


def bike():
    X, y, _ = load("bike")
    note = "columns in [0, 1] by format, divided by 3; target bounds 0..1000 assumed"
    return Dataset(X / 3, y, note, target_bounds=(0, 1000))


def protein():
    X, y, _ = load("protein")
    note = "observed ranges; target 0..21 by format"
    return Dataset(from_observed_ranges(X), y, note, target_bounds=(0, 21))


def synthetic(X, y, note):
    return Dataset(X, y, note, target_bounds=(-1, 1))


def with_noise(z, r2, rng):
    """Targets of which a share r2 of the variance is signal z."""
    return z + z.std() * np.sqrt(1 / r2 - 1) * rng.normal(size=z.size)


def equal_signal(X, rng):
    """A target to which every eigen-direction of the features contributes alike."""
    values, vectors = np.linalg.eigh(np.cov(X.T))
    signs = rng.choice([-1.0, 1.0], values.size)
    z = (X - X.mean(axis=0)) @ (vectors @ (signs / np.sqrt(values)))
    return largest_to_one(with_noise(z, 0.8, rng))


def uniform():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(N, 50)) / np.sqrt(50)
    y = with_noise(X @ rng.normal(size=50), 0.86, rng)
    return synthetic(X, largest_to_one(y + 0.1 * y.std()), "independent features; 50 of them")


def autoregressive():
    rng = np.random.default_rng(0)
    lag = np.abs(np.subtract.outer(np.arange(D), np.arange(D)))
    X = rng.normal(size=(N, D)) @ np.linalg.cholesky(0.95**lag).T
    return synthetic(longest_to_one(X), equal_signal(X, rng), "AR(.95) features")


def lognormal():
    rng = np.random.default_rng(0)
    X = np.exp(rng.normal(size=(N, D)))
    z = X @ rng.normal(size=D)
    y = largest_to_one(with_noise(z - z.mean(), 0.8, rng))
    return synthetic(longest_to_one(X), y, "lognormal features")


def ill_conditioned():
    rng = np.random.default_rng(0)
    rotation = np.linalg.qr(rng.normal(size=(D, D)))[0]
    X = rng.normal(size=(N, D)) * np.sqrt(np.geomspace(1, 1e-4, D)) @ rotation
    return synthetic(longest_to_one(X), equal_signal(X, rng), "covariance of condition 1e4")


def heavy_noise():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, D))
    y = X @ rng.normal(size=D) * 2.5 / np.sqrt(D) + rng.standard_t(2, size=N)
    return synthetic(longest_to_one(X), y / 60, "Student noise, 2 degrees of freedom")


def skewed_target():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, D))
    y = np.exp(X @ rng.normal(size=D) * 0.5 / np.sqrt(D) + rng.normal(size=N))
    return synthetic(longest_to_one(X), 2 * y / y.max() - 1, "multiplicative lognormal noise")


SETS: dict[str, Callable[[], Dataset]] = {
    f.__name__: f
    for f in (
        california,
        california_raw,
        bike,
        protein,
        diabetes,
        uniform,
        autoregressive,
        lognormal,
        ill_conditioned,
        heavy_noise,
        skewed_target,
    )
}


def run(name, data, seeds):
    exact, scores = np.empty((seeds, 1)), np.empty((2, seeds, len(EPSILONS)))
    for seed in range(seeds):
        X, X_test, y, y_test = train_test_split(
            data.X, data.y, test_size=0.2, random_state=1000 + seed
        )
        predicted = LinearRegression().fit(X, y).predict(X_test)
        exact[seed] = r2_score(y_test, np.clip(predicted, *data.target_bounds))
        for k, epsilon in enumerate(EPSILONS):
            for row, precondition in enumerate(("auto", None)):
                model = DPLinearRegression(
                    epsilon=epsilon,
                    delta=len(X) ** -1.1,
                    data_norm=data.data_norm,
                    target_bounds=data.target_bounds,
                    precondition=precondition,
                )
                scores[row, seed, k] = model.fit(X, y).score(X_test, y_test)
    ours, plain = (cells(s) for s in scores)
    published = [f"{r:.3f}" for r in REFERENCE[name]]
    print(f"| {name} ({len(X)}, {X.shape[1]}) | skdp | {' | '.join([*ours, *cells(exact)])} |")
    print(f"| | reference | {' | '.join(published)} |")
    print(f"| | no preconditioning | {' | '.join(plain)} | |", flush=True)


def cells(scores):
    errors = scores.std(axis=0, ddof=1) / np.sqrt(len(scores))
    return [f"{m:.3f}+-{e:.3f}" for m, e in zip(scores.mean(axis=0), errors, strict=True)]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=5, help="splits; diabetes takes 8 times it")
    parser.add_argument("--only", nargs="*", help="names of data sets")
    args = parser.parse_args()
    columns = ["data (n, d)", "", *(f"eps {e:g}" for e in EPSILONS), "exact"]
    print(f"| {' | '.join(columns)} |\n{'|---' * len(columns)}|")
    notes = []
    for name in args.only or SETS:
        try:
            data = SETS[name]()
        except FileNotFoundError as missing:
            notes.append(f"{name}: skipped, {missing}")
            continue
        run(name, data, args.seeds * (8 if name == "diabetes" else 1))
        notes.append(f"{name}: {data.note}")
    print("\nScaling:\n" + "\n".join(f"- {note}" for note in notes))


if __name__ == "__main__":
    main()
