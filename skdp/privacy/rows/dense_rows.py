"""Rows of a dense array in memory, or of a memory-mapped one, used where they lie."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from .base import ResidentRows
from .bounded_rows import RawBlock, Rows
from .privacy_units import PrivacyUnits

__all__ = ["DenseRows"]

# Entries a block: 4 MB in double precision. Smaller ones cost more calls than they save misses, and
# so does cutting what is no more than so many blocks.
_BLOCK_ENTRIES = 1 << 19
_UNCUT = 2
# Combining the rows of a block writes all features, so a block should hold several rows.
_LEAST_ROWS = 8


class DenseRows(ResidentRows):
    """Views of consecutive rows of an array.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        Features, float64 or float32, in C or Fortran order. Not copied.
    y : ndarray of shape (n_samples,)
        Encoded targets.
    weights : ndarray of shape (n_samples,), optional
        Weights of the rows, in units of the largest that counts; without them every row weighs 1.
    units : PrivacyUnits, optional
        Privacy units of the rows; without them every row is one.

    Attributes
    ----------
    X, y, weights, units
        As given.
    """

    sparse = False

    def __init__(
        self,
        X: np.ndarray,
        y: np.ndarray,
        weights: np.ndarray | None = None,
        units: PrivacyUnits | None = None,
    ) -> None:
        self._hold(X, y, weights, units)
        # Entries that are brought to double precision, block by block, take twice the room.
        uncut = X.dtype == np.float64 and X.size <= _UNCUT * _BLOCK_ENTRIES
        entries = X.size if uncut else _BLOCK_ENTRIES
        rows = max(_LEAST_ROWS, entries // self.n_features)
        self._blocks = self._cut(rows, max(_LEAST_ROWS, _BLOCK_ENTRIES // self.n_features))

    def blocks(self) -> Iterable[RawBlock]:
        """The rows, cut into blocks by their number alone."""
        return self._blocks

    def _features(self, start: int, stop: int) -> Rows:
        return self.X[start:stop]
