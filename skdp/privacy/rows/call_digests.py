"""Whole calls of a stream that bring the same rows once more, told by a keyed digest."""

from __future__ import annotations

from secrets import randbits
from typing import Any, final

import numpy as np
import scipy.sparse as sp

from .base import ResidentRows

# Calls of fewer different rows coincide by chance in ordinary discrete data, and then a single row
# would decide whether they do.
_FEWEST_ROWS = 32
# So that memory does not grow without end.
_MOST_CALLS = 65_536
# Entries that are hashed at once, so that what is computed on the way stays in cache.
_ENTRIES = 1 << 15
_ODD = np.uint64(1)
_HALF, _SHIFT = np.uint64(32), np.uint64(33)
_MIX = np.uint64(0xFF51AFD7ED558CCD), np.uint64(0xC4CEB9FE1A85EC53)


@final
class SeenCalls:
    """Counts of calls whose rows a stream was given before, in any order.

    Each row is hashed with its target and its weight, by products with secret numbers modulo 2^64,
    and hashes are mixed and added up, so that their order does not count. The key is drawn for each
    stream, and digests are as secret as the rows: nothing of them leaves but how often a call has
    come. Two different rows have the same hash with a chance of about 2^-64, and 2^-44 if their
    entries are short numbers such as 0 and 1, of which products keep 44 bits.

    Calls of fewer than 32 different rows are passed over, and after 65,536 calls no more are noted.
    """

    def __init__(self) -> None:
        self._key = randbits(64)
        self._counts: dict[int, int] = {}

    def digest(self, rows: ResidentRows) -> int | None:
        """The digest of the rows of a call, None if there are too few different ones."""
        if rows.n_samples < _FEWEST_ROWS:
            return None
        hashes = _hashes(rows, self._key)
        few = np.unique(hashes[: 2 * _FEWEST_ROWS]).size < _FEWEST_ROWS
        if few and np.unique(hashes).size < _FEWEST_ROWS:
            return None
        return int(hashes.sum(dtype=np.uint64))

    def times(self, digest: int | None) -> int:
        """Number of earlier calls with these rows."""
        return 0 if digest is None else self._counts.get(digest, 0)

    def note(self, digest: int | None) -> None:
        """Count one call more."""
        if digest in self._counts or (digest is not None and len(self._counts) < _MOST_CALLS):
            self._counts[digest] = self.times(digest) + 1

    def forget(self, digest: int | None) -> None:
        """Count one call less, of which no row was taken after all."""
        if digest in self._counts:
            self._counts[digest] -= 1


def _hashes(rows: ResidentRows, key: int) -> np.ndarray:
    """One number a row, mixed."""
    n, d = rows.n_samples, rows.n_features
    secret = np.random.Generator(np.random.PCG64(key))
    factors = secret.integers(0, 2**64 - 1, size=d + 3, dtype=np.uint64, endpoint=True) | _ODD
    out = np.full(n, factors[d + 2], dtype=np.uint64)
    out += _bits(rows.y) * factors[d]
    if rows.weights is not None:
        out += _bits(rows.weights) * factors[d + 1]
    X: Any = rows.X
    if sp.issparse(X):
        products = _bits(X.data) * factors[X.indices]
        sums = np.zeros(products.size + 1, dtype=np.uint64)
        np.cumsum(products, out=sums[1:])
        out += sums[X.indptr[1:]] - sums[X.indptr[:-1]]
    else:
        step = max(1, _ENTRIES // d)
        for start in range(0, n, step):
            out[start : start + step] += _bits(X[start : start + step]) @ factors[:d]
    for factor in _MIX:
        out ^= out >> _SHIFT
        out *= factor
    return out ^ (out >> _SHIFT)


def _bits(numbers: np.ndarray) -> np.ndarray:
    """Numbers as integers of 64 bits; those of zero are 0, so that they need not be stored."""
    # In products only higher bits depend on a bit, and short numbers have none but high ones.
    bits = (np.asarray(numbers, dtype=np.float64) + 0.0).view(np.uint64)
    return bits ^ (bits >> _HALF)
