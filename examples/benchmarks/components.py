"""Share of the variance that three private directions hold, beside two other mechanisms.

Standardised columns of covertype, adult and california, within the observed range of all: by
``DPPCA``, by second moments of rows held to the 95 % quantile of their exact lengths, with the
whole budget (Dwork, Talwar, Thakurta and Zhang, 2014), which knows that quantile for free, and with
``SKDP_PEERS`` as of ``peers.py`` by diffprivlib, pure epsilon, of rows of the same length.

    python examples/benchmarks/components.py

Reads tables from the folder named by the environment variable SKDP_DATA.
"""

from __future__ import annotations

import argparse
import os

import numpy as np
import peers
from datasets import load

from skdp.preprocessing import DPPCA
from skdp.privacy.accounting import gdp

DELTA, NUMBER, EPSILONS = 1e-6, 3, (0.1, 1.0, 4.0)


def tables():
    for name, columns, rows in (
        ("covertype", 10, 50_000),
        ("covertype", 10, 5_000),
        ("adult", 5, None),
        ("california", 8, None),
    ):
        X, _, extras = load(name)
        names = extras.get("feature_names", range(columns))
        # Those of adult that are no codes.
        numbers = [j for j, title in enumerate(names) if "=" not in str(title)][:columns]
        X = np.asarray(X[:, numbers], dtype=float)
        chosen = (
            slice(None) if rows is None else np.random.default_rng(0).permutation(len(X))[:rows]
        )
        X = X[chosen]
        yield f"{name}, {len(X):,} rows, {columns} columns", (X - X.mean(0)) / X.std(0)


def held(X):
    """Rows held to the 95 % quantile of their lengths, and that quantile."""
    lengths = np.linalg.norm(X, axis=1)
    longest = np.quantile(lengths, 0.95)
    return X * np.minimum(1.0, longest / np.maximum(lengths, 1e-12))[:, None], longest


def moments(X, epsilon, rng):
    short, longest = held(X)
    sensitivity = 2**0.5 * longest**2 / len(X)
    noise = rng.normal(size=(X.shape[1],) * 2) * sensitivity / gdp.mu(epsilon, DELTA)
    # Of entries off the diagonal each stands for two.
    noise = np.triu(noise) / 2**0.5 + np.triu(noise).T / 2**0.5
    return np.linalg.eigh(short.T @ short / len(X) + noise)[1][:, -NUMBER:].T


def ours(X, epsilon, rng):
    bounds = (X.min(axis=0), X.max(axis=0))
    fitted = DPPCA(NUMBER, epsilon=epsilon, delta=DELTA, bounds=bounds).fit(X)
    return fitted.components_


def of_diffprivlib(X, epsilon, rng):
    short, longest = held(X)
    given = {"data_norm": longest, "target_bounds": (short.min(), short.max())}
    given["n_components"] = NUMBER
    ((found, _),) = peers.elsewhere(
        "components of diffprivlib", short, short[:, 0], short[:1], [epsilon], given
    )
    return found


def share(X, directions):
    basis = np.linalg.qr(np.atleast_2d(directions).T)[0]
    return np.sum((X @ basis) ** 2) / np.sum(X**2)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--draws", type=int, default=5)
    given = parser.parse_args()
    mechanisms = {"DPPCA": ours, "held to the quantile": moments}
    if "SKDP_PEERS" in os.environ:
        mechanisms["diffprivlib"] = of_diffprivlib
    for title, X in tables():
        exact = share(X, np.linalg.eigh(X.T @ X)[1][:, -NUMBER:].T)
        print(f"{title}, exact {exact:.3f}")
        for name, mechanism in mechanisms.items():
            found = [
                np.mean(
                    [
                        share(X, mechanism(X, epsilon, np.random.default_rng(draw)))
                        for draw in range(given.draws)
                    ]
                )
                for epsilon in EPSILONS
            ]
            print(f"| {name} | " + " | ".join(f"{value:.3f}" for value in found) + " |")


if __name__ == "__main__":
    main()
