"""Errors of private quantiles, in percent of the rows, by three mechanisms at equal budgets.

Nine deciles of each of four columns in known ranges: by the tree of counts that
``DPQuantileTransformer`` asks for, by one row of 64 cells, and by the exponential mechanism for
each decile by itself (Smith, 2011), with the budget divided evenly among all of them. The last has
weights ``exp(mu u / 3)`` for one of nine deciles, of which each costs a ninth of ``mu^2``.

With ``SKDP_PEERS`` as of ``peers.py``, quantiles of diffprivlib (pure epsilon) and OpenDP beside
them, with the same budget for all deciles of all columns together.

    python examples/benchmarks/quantiles.py
"""

from __future__ import annotations

import argparse
import os

import numpy as np
import peers
from sklearn.isotonic import isotonic_regression

from skdp.preprocessing import DPQuantileTransformer
from skdp.privacy.accounting import gdp, zcdp

DECILES = np.arange(1, 10) / 10
CELLS, COLUMNS, DELTA = 64, 4, 1e-6
SHAPES = {
    "normal, tight range": (lambda rng, n: rng.normal(size=n), -4.0, 4.0),
    "normal, wide range": (lambda rng, n: rng.normal(size=n), -40.0, 40.0),
    "log-normal": (lambda rng, n: rng.lognormal(size=n), 0.0, 30.0),
    "uniform": (lambda rng, n: rng.uniform(size=n), 0.0, 1.0),
    "ages": (lambda rng, n: np.floor(rng.normal(40, 12, size=n)), 0.0, 120.0),
}


def tree(x, low, high, epsilon, rng):
    """Deciles of four columns alike, of which the first is looked at."""
    X = np.tile(x[:, None], COLUMNS)
    fitted = DPQuantileTransformer(
        n_quantiles=11, epsilon=epsilon, delta=DELTA, bounds=(low, high)
    ).fit(X)
    return fitted.quantiles_[1:-1, 0]


def flat(x, low, high, epsilon, rng):
    mu = gdp.mu(epsilon, DELTA) / COLUMNS**0.5
    counts, edges = np.histogram(np.clip(x, low, high), CELLS, (low, high))
    noisy = counts + 2**0.5 / mu * rng.normal(size=CELLS)
    below = np.cumsum(noisy + (len(x) - noisy.sum()) / CELLS)[:-1]
    below = isotonic_regression(below, y_min=0.0, y_max=len(x)) / len(x)
    # Of a share that several ends have, one that is a little further on.
    evenly = np.linspace(0.0, 1e-9, CELLS + 1)
    return np.interp(DECILES, np.concatenate([[0.0], below, [1.0]]) + evenly, edges)


def exponential(x, low, high, epsilon, rng):
    mu, n = gdp.mu(epsilon, DELTA) / COLUMNS**0.5, len(x)
    ends = np.concatenate([[low], np.sort(np.clip(x, low, high)), [high]])
    found = []
    with np.errstate(divide="ignore"):
        lengths = np.log(np.diff(ends))
    for share in DECILES:
        weights = lengths - mu / 3 * np.abs(np.arange(n + 1) - share * n)
        chosen = np.argmax(weights + rng.gumbel(size=n + 1))
        found.append(rng.uniform(ends[chosen], ends[chosen + 1]))
    return np.array(found)


def of_peer(name, x, low, high, budget):
    """Deciles of a package in another environment, each for a budget of its own."""
    shares, bounds = DECILES[:, None], {"target_bounds": (low, high)}
    ((found, _),) = peers.elsewhere(f"quantiles of {name}", x[:, None], x, shares, [budget], bounds)
    return np.sort(found)


def diffprivlib(x, low, high, epsilon, rng):
    return of_peer("diffprivlib", x, low, high, epsilon / (len(DECILES) * COLUMNS))


def opendp(x, low, high, epsilon, rng):
    rho = zcdp.rho(epsilon, DELTA) / (len(DECILES) * COLUMNS)
    return of_peer("OpenDP", x, low, high, rho)


MECHANISMS = {"tree of counts": tree, "64 cells": flat, "exponential mechanism": exponential}
if "SKDP_PEERS" in os.environ:
    MECHANISMS |= {"diffprivlib": diffprivlib, "OpenDP": opendp}


def error(x, found):
    """Mean distance of the shares around a value, ties included, from the decile it stands for."""
    ordered = np.sort(x)
    first, last = (np.searchsorted(ordered, found, side) / len(x) for side in ("left", "right"))
    return np.mean(np.maximum(np.maximum(first - DECILES, DECILES - last), 0.0))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--draws", type=int, default=12)
    parser.add_argument("--rows", type=int, default=10_000)
    given = parser.parse_args()
    print("| epsilon | " + " | ".join(MECHANISMS) + " |")
    for epsilon in (0.03, 0.1, 0.5, 1.0, 4.0):
        errors = {name: [] for name in MECHANISMS}
        for draw in range(given.draws):
            rng = np.random.default_rng(draw)
            for make, low, high in SHAPES.values():
                x = make(rng, given.rows)
                for name, mechanism in MECHANISMS.items():
                    errors[name].append(error(x, mechanism(x, low, high, epsilon, rng)))
        print(
            f"| {epsilon} | "
            + " | ".join(f"{100 * np.mean(e):.2f}" for e in errors.values())
            + " |"
        )


if __name__ == "__main__":
    main()
