"""Synthetic data that are hard for private linear models, each in one particular way.

All generators are fixed: what varies between repetitions of the benchmark is the split and the
noise. Regression targets are divided by their largest size, which every method is given.
"""

from __future__ import annotations

import numpy as np
from datasets import Dataset
from scipy.special import expit, ndtr

N, D = 20_000, 20


def longest_to_one(X):
    return X / np.linalg.norm(X, axis=1).max()


def largest_to_one(y):
    return y / np.abs(y).max()


def with_noise(z, r2, rng):
    """Targets of which a share r2 of the variance is signal z."""
    return z + z.std() * np.sqrt(1 / r2 - 1) * rng.normal(size=z.size)


def equal_signal(X, rng):
    """A target to which every eigen-direction of the features contributes alike."""
    values, vectors = np.linalg.eigh(np.cov(X.T))
    signs = rng.choice([-1.0, 1.0], values.size)
    z = (X - X.mean(axis=0)) @ (vectors @ (signs / np.sqrt(values)))
    return largest_to_one(with_noise(z, 0.8, rng))


def neighbours(rho, d):
    """Factor of a covariance with correlation rho^|j - k|."""
    lag = np.abs(np.subtract.outer(np.arange(d), np.arange(d)))
    return np.linalg.cholesky(rho**lag).T


def regression(X, y, note, **facts):
    return Dataset(X, y, note, target_bounds=(-1, 1), **facts)


def classes():
    """Two classes whose labels follow a logistic model, best accuracy about .83."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, 50))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    direction = rng.normal(size=50)
    scores = 3.2 * np.sqrt(50) * X @ (direction / np.linalg.norm(direction))
    return Dataset(X, (rng.random(N) < expit(scores)).astype(int), "logistic labels, 50 features")


def two_classes(share, strength, n, d, seed):
    """Logistic labels with a share of positives; the larger the strength, the fewer mistakes."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    scores = strength * X @ rng.normal(size=d) / np.sqrt(d)
    low, high = -50.0, 50.0
    while high - low > 1e-9:
        middle = (low + high) / 2
        low, high = (low, middle) if expit(scores + middle).mean() > share else (middle, high)
    return Dataset(
        X / np.linalg.norm(X, axis=1, keepdims=True),
        (rng.random(n) < expit(scores + low)).astype(int),
        f"logistic labels, {share:.0%} positive, {d} features",
    )


def rare_class():
    return two_classes(0.03, 2.0, N, D, seed=1)


def noisy_labels():
    return two_classes(0.3, 0.5, N, D, seed=2)


def sure_labels():
    return two_classes(0.3, 8.0, N, D, seed=3)


def few_rows():
    return two_classes(0.3, 2.0, 1_000, 10, seed=4)


def no_signal():
    """Targets that the features say nothing about: no more than the mean can be learned."""
    rng = np.random.default_rng(5)
    X = rng.normal(size=(1_000, 10))
    y = np.clip(0.3 + 0.3 * rng.normal(size=1_000), -1, 1)
    return regression(longest_to_one(X), y, "no signal, mean .3")


def uniform():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(N, 50)) / np.sqrt(50)
    y = with_noise(X @ rng.normal(size=50), 0.86, rng)
    y = largest_to_one(y + 0.1 * y.std())
    return regression(X, y, "independent features, 50 of them", feature_bound=50**-0.5)


def autoregressive():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, D)) @ neighbours(0.95, D)
    return regression(longest_to_one(X), equal_signal(X, rng), "AR(.95) features")


def lognormal():
    rng = np.random.default_rng(0)
    X = np.exp(rng.normal(size=(N, D)))
    z = X @ rng.normal(size=D)
    y = largest_to_one(with_noise(z - z.mean(), 0.8, rng))
    return regression(longest_to_one(X), y, "lognormal features")


def ill_conditioned():
    rng = np.random.default_rng(0)
    rotation = np.linalg.qr(rng.normal(size=(D, D)))[0]
    X = rng.normal(size=(N, D)) * np.sqrt(np.geomspace(1, 1e-4, D)) @ rotation
    return regression(longest_to_one(X), equal_signal(X, rng), "covariance of condition 1e4")


def heavy_noise():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, D))
    y = X @ rng.normal(size=D) * 2.5 / np.sqrt(D) + rng.standard_t(2, size=N)
    return regression(longest_to_one(X), y / 60, "Student noise, 2 degrees of freedom")


def skewed_target():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, D))
    y = np.exp(X @ rng.normal(size=D) * 0.5 / np.sqrt(D) + rng.normal(size=N))
    return regression(longest_to_one(X), 2 * y / y.max() - 1, "multiplicative lognormal noise")


def sparse_signal(rho):
    """1,000 features of which 20 matter, 20,000 rows to learn from, best R2 .80."""
    rng = np.random.default_rng(0)
    n, d, s = 25_000, 1000, 20
    normal = rng.normal(size=(n, d))
    X = (2 * ndtr(normal @ neighbours(rho, d) if rho else normal) - 1) / np.sqrt(d)
    weights = np.zeros(d)
    weights[rng.permutation(d)[:s]] = rng.choice([-1.0, 1.0], s)
    note = f"20 of 1,000 features matter, correlation of neighbours {rho:g}"
    y = largest_to_one(with_noise(X @ weights, 0.8, rng))
    return regression(X, y, note, feature_bound=d**-0.5, n_informative=s)


def sparse_independent():
    return sparse_signal(0.0)


def sparse_correlated():
    return sparse_signal(0.5)
