"""LinUCB with moments released for every user (Shariff and Sheffet, 2018), for comparison.

The sensitivity is the one that is proved for moments here, which is less than that of the matrix
``(x, y) (x, y)'`` used there. Noise is that of the binary tree, or of the square root of the matrix
that adds up; both over one term a user.
"""

from __future__ import annotations

from functools import cache
from math import sqrt

import numpy as np

from skdp.privacy.accounting import gdp
from skdp.privacy.mechanisms import Toeplitz

SENSITIVITY = 3 / sqrt(2)


@cache
def square_root(length):
    """First column of the square root of the matrix of ones on and below the diagonal."""
    k = np.arange(1, length)
    return np.concatenate([[1.0], np.cumprod((2 * k - 1) / (2 * k))])


class LinUCB:
    """Ridge regression of every arm from moments with the noise of a release for every user."""

    def __init__(self, K, d, horizon, epsilon, noise, rng, *, half_width=1.0, bonus=0.25):
        self.K, self.T, self.noise, self.rng = K, horizon, noise, rng
        self.half_width, self.bonus = half_width, bonus
        self.A, self.b = np.zeros((K, d, d)), np.zeros((K, d))
        self.t = self.last = 0
        self.nodes: dict[tuple[int, int], np.ndarray] = {}
        self.looks: list[int] = []
        self.draws: list[np.ndarray] = []
        self.root = np.zeros((0, 0))
        self.unit = 0.0
        if noise != "none":
            mu = gdp.mu(epsilon, horizon**-1.1)
            levels = horizon.bit_length()
            column = sqrt(levels) if noise == "tree" else Toeplitz(horizon).column_norm
            self.unit = SENSITIVITY * column / mu
        self.w = np.zeros((K, d))
        self.factors = np.tile(np.eye(d), (K, 1, 1))

    def act(self, X):
        if not self.last:
            return (self.t + np.arange(len(X))) % self.K
        scores = X @ self.w.T
        for k in range(self.K):
            scores[:, k] += self.bonus * np.linalg.norm(X @ self.factors[k], axis=1)
        return scores.argmax(axis=1)

    def partial_fit(self, X, a, r):
        y = np.clip(r / self.half_width, -1, 1)
        for k in range(self.K):
            V = X[a == k]
            self.A[k] += V.T @ V
            self.b[k] += V.T @ y[a == k]
        self.t += len(X)
        if self.t >= max(2 * self.K, 16, 1.05 * self.last):
            self.last = self.t
            self.refresh()
        return self

    def normals(self):
        """Noise for the moments of all arms, at unit scale."""
        K, d = self.b.shape
        upper = np.triu(self.rng.normal(size=(K, d, d)), 1) / sqrt(2)
        noise = np.zeros((K, d, d + 1))
        noise[:, :, :d] = upper + upper.transpose(0, 2, 1)
        noise[:, np.arange(d), np.arange(d)] = self.rng.normal(size=(K, d))
        noise[:, :, d] = self.rng.normal(size=(K, d))
        return noise

    def added(self):
        """Noise of the present sums, and its standard deviation in units of ``unit``."""
        if self.noise == "toeplitz":
            return self.correlated()
        # The nodes of the tree that make up the users so far; noise is drawn once for each.
        inside, start = {}, 0
        for level in reversed(range(self.t.bit_length())):
            if self.t >> level & 1:
                key = (level, start)
                inside[key] = self.nodes[key] if key in self.nodes else self.normals()
                start += 1 << level
        self.nodes = inside
        return sum(inside.values()), sqrt(len(inside))

    def correlated(self):
        """Noise of the square root at this look, of the joint law with that of all looks before."""
        c, t, n = square_root(self.T), self.t, len(self.looks)
        row = np.array([c[:u] @ c[t - u : t] for u in [*self.looks, t]])
        known = np.linalg.solve(self.root, row[:n])
        root = np.zeros((n + 1, n + 1))
        root[:n, :n], root[n, :n] = self.root, known
        root[n, n] = sqrt(max(row[n] - known @ known, 0.0))
        self.looks, self.root = [*self.looks, t], root
        self.draws.append(self.normals())
        return np.tensordot(root[n], self.draws, axes=1), sqrt(row[n])

    def refresh(self):
        K, d = self.b.shape
        noise, scale = self.added() if self.unit else (np.zeros((K, d, d + 1)), 0.0)
        s = self.unit * scale
        strength = max(1.0, 2 * s * sqrt(2 * d))
        values, Q = np.linalg.eigh(self.A + self.unit * noise[:, :, :d])
        values = np.maximum(values + strength, strength / 2)
        b = self.b + self.unit * noise[:, :, d]
        along = np.einsum("kij,ki->kj", Q, b) / values
        self.w = np.einsum("kij,kj->ki", Q, along)
        self.factors = Q * np.sqrt(0.09 / values + (s / values) ** 2)[:, np.newaxis]
