"""The matrices of a prefix-sum mechanism: B from the running code, C from the definition.

``KINDS`` names a mechanism of every kind for each length, and ``strategy`` its C, written down
without looking at the code.
"""

import numpy as np
from known_noise import Silence
from scipy.special import binom

from skdp.privacy.mechanisms import BLT, Toeplitz, Tree, decay_rates

KINDS = {
    "blt": BLT,
    "toeplitz": Toeplitz,
    "tree": Tree,
}


def max_error(mechanism):
    """Largest standard deviation of the noise of a sum, at unit sensitivity and mu."""
    return mechanism.errors(np.arange(1, mechanism.length + 1)).max()


def rms_error(mechanism):
    """Root of the mean square of the same over all sums."""
    return np.sqrt(np.mean(mechanism.errors(np.arange(1, mechanism.length + 1)) ** 2))


class UnitVectors(Silence):
    """Draws the rows of an identity matrix, one after the other, instead of normals."""

    def __init__(self, size):
        self.rows = np.eye(size)
        self.drawn = 0

    def normal(self, shape):
        self.drawn += 1
        return self.rows[self.drawn - 1].copy()


def combination(mechanism):
    """B, one row for each sum and one column for each normal, and how many were drawn by then."""
    n = mechanism.length
    unit = UnitVectors(2 * n)
    noise = mechanism.open(2 * n, 1.0, unit)
    rows, drawn = [], []
    for _ in range(n):
        rows.append(noise.next())
        drawn.append(unit.drawn)
    return np.array(rows)[:, : unit.drawn], np.array(drawn)


def strategy(mechanism):
    """C, one row for each normal and one column for each term."""
    n = mechanism.length
    if isinstance(mechanism, Toeplitz):
        k = np.arange(n)
        return lower(binom(2 * k, k) / 4.0**k if n < 500 else landau(n))
    if isinstance(mechanism, BLT):
        a, b = decay_rates(n)
        C = lower(quotient(1 - b, 1 - a, n))
        norms = np.linalg.norm(C, axis=0)
        return C * (norms[0] / norms)
    rows = np.zeros((n, n))
    for t in range(1, n + 1):
        length = max(2**j for j in range(n.bit_length()) if t % 2**j == 0)
        rows[t - 1, t - length : t] = 1
    return rows


def landau(n):
    """Coefficients of the root of 1 / (1 - x), by their recursion."""
    c = np.ones(n)
    for k in range(1, n):
        c[k] = c[k - 1] * (1 - 0.5 / k)
    return c


def quotient(above, below, n):
    """First n coefficients of ``prod(1 - above x) / prod(1 - below x)``."""
    c = np.zeros(n)
    c[0] = 1.0
    for factor, root in zip(above, below, strict=True):
        c[1:] -= factor * c[:-1]
        for k in range(1, n):
            c[k] += root * c[k - 1]
    return c


def lower(column):
    """Lower triangular matrix with constant diagonals."""
    n = len(column)
    matrix = np.zeros((n, n))
    for k in range(n):
        matrix[k:, k] = column[: n - k]
    return matrix


def largest_column(mechanism):
    """Largest norm of a column of C, by brute force."""
    return np.linalg.norm(strategy(mechanism), axis=0).max()
