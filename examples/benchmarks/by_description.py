"""Regressions of papers that come with no package, written anew.

What they do was read in the papers and in the public code of their authors. Both are for rows that
are added or removed, and draw their noise from ``rng``: they are here to be compared with, and
nothing to protect rows by.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, exp, log, sqrt

import numpy as np
from scipy.optimize import brentq, minimize_scalar
from scipy.stats import norm

# Of iterative Hessian mixing: iterations, and rows of a sketch in units of what it needs.
ITERATIONS, ROWS = 3, 6


@dataclass(frozen=True)
class Linear:
    """Predictions of a linear model of rows with a constant."""

    coef: np.ndarray

    def predict(self, X):
        return _with_constant(X) @ self.coef


def iterative_hessian_mixing(X, y, epsilon, delta, rng):
    """Newton steps along sketched Hessians (Lev et al., 2026); rows and targets of norm 1 at most.

    Half of epsilon and three quarters of delta are for the sketches, whose noise is smaller by the
    least eigenvalue as far as a private answer shows it; the rest is for the gradients, with
    residuals clipped to 1.
    """
    # The constant takes half of the squared norm.
    X = _with_constant(X) / sqrt(2)
    n, d = X.shape
    failure = delta / 10
    k = ceil(ROWS * max(d, log(4 * ITERATIONS / failure)))
    variance = _variance_of_sketches(k, epsilon / 2, delta / 4)
    of_gradients = sqrt(ITERATIONS) * _gaussian(epsilon / 2, delta / 4)
    least = float(np.linalg.eigvalsh(X.T @ X)[0])
    certain = sqrt(2 * log(max(3 / delta, 2 / failure)))
    seen = max(0.0, least - variance / sqrt(k) * (certain - rng.standard_normal()))
    spread = sqrt(max(0.0, variance - seen))
    w = np.zeros(d)
    for _ in range(ITERATIONS):
        sketch = rng.standard_normal((k, n)) @ X + spread * rng.standard_normal((k, d))
        residuals = np.clip(y - X @ w, -1.0, 1.0)
        slope = X.T @ residuals + of_gradients * rng.standard_normal(d)
        w += np.linalg.solve(sketch.T @ sketch / k, slope)
    return Linear(w / sqrt(2))


def _variance_of_sketches(k, epsilon, delta):
    """Least variance of the noise of sketches of k rows, by their Renyi divergences."""

    def price(alpha, variance):
        renyi = alpha * np.log1p(-1 / variance) - np.log1p(-alpha / variance)
        to_delta = -log(delta) + (alpha - 1) * np.log1p(-1 / alpha) - log(alpha)
        return (ITERATIONS * k / 2 * renyi + to_delta) / (alpha - 1)

    def excess(log_variance):
        variance = exp(log_variance)
        best = minimize_scalar(
            price, bounds=(1 + 1e-6, variance * (1 - 1e-9)), args=(variance,), method="bounded"
        )
        return best.fun + sqrt(2 * k * log(1.25 / delta)) / variance - epsilon

    return exp(brentq(excess, log(2.0), log(1e9)))


def _gaussian(epsilon, delta):
    """Standard deviation of Gaussian noise for sensitivity 1 (Balle and Wang, 2018)."""

    def excess(log_sd):
        sd = exp(log_sd)
        ends = norm.cdf(0.5 / sd - epsilon * sd), norm.logcdf(-0.5 / sd - epsilon * sd)
        return ends[0] - exp(epsilon + ends[1]) - delta

    return exp(brentq(excess, log(1e-3), log(1e6)))


def tukey(X, y, epsilon, delta, rng, n_models=1000):
    """A model of large depth among those of disjoint parts of the rows (Amin et al., 2023).

    Depth is the least along the axes, so that models of a depth are a box. Half of epsilon is for
    a test of whether the box of a quarter of the models is stable, the other half for the choice.
    The model is zero if the test fails.
    """
    X = _with_constant(X)
    parts = np.array_split(rng.permutation(len(y)), n_models)
    models = np.array([np.linalg.lstsq(X[part], y[part], rcond=None)[0] for part in parts])
    # Ties would be boxes without volume.
    models = np.sort(models + 1e-10 * rng.random(models.shape), axis=0)
    deepest = n_models // 2
    widths = models[::-1][:deepest] - models[:deepest]
    # Of the boxes of depth 1, 2 and so on.
    volumes = np.log(widths).sum(axis=1)
    half, least = epsilon / 2, n_models // 4
    safe = -1
    for k in range(least - 1):
        inner = volumes[least + k + 1 : -1]
        gains = volumes[least - k - 2] - inner - half / 2 * np.arange(1, len(inner) + 1)
        if not len(inner) or gains.min() > log(delta / 8) - half:
            break
        safe = k
    if safe + rng.laplace(scale=1 / half) <= log(0.5 / delta) / half:
        return Linear(np.zeros(X.shape[1]))
    # Depths from a quarter of the models on, by the volume of what is exactly as deep.
    inside = volumes[least - 1 :]
    exactly = np.append(inside[:-1] + np.log(-np.expm1(np.diff(inside))), inside[-1])
    scores = exactly + half * np.arange(len(inside)) + rng.gumbel(size=len(inside))
    depth = least - 1 + int(np.argmax(scores))
    while True:
        w = rng.uniform(models[depth], models[-1 - depth])
        deeper = depth + 1 < deepest
        if not (deeper and np.all((models[depth + 1] <= w) & (w <= models[-2 - depth]))):
            return Linear(w)


def _with_constant(X):
    return np.column_stack([X, np.ones(len(X))])
