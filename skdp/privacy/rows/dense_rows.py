"""Rows of a dense array in memory, or of a memory-mapped one, used where they lie."""

from __future__ import annotations

import numpy as np

from .base import ResidentRows
from .bounded_rows import Rows

__all__ = ["DenseRows"]

# Entries a block: 4 MB in double precision. Smaller ones cost more calls than they save misses, and
# so does cutting what is no more than so many blocks.
_BLOCK_ENTRIES = 1 << 19
_UNCUT = 2
# Combining the rows of a block writes all features, so a block should hold several rows.
_LEAST_ROWS = 8


class DenseRows(ResidentRows):
    """Views of consecutive rows of an array in C or Fortran order, which is not copied."""

    sparse = False
    X: np.ndarray

    def _lengths(self) -> tuple[int, int]:
        # Entries that are brought to double precision, block by block, take twice the room.
        uncut = self.X.dtype == np.float64 and self.X.size <= _UNCUT * _BLOCK_ENTRIES
        entries = self.X.size if uncut else _BLOCK_ENTRIES
        rows, longest = entries // self.n_features, _BLOCK_ENTRIES // self.n_features
        return max(_LEAST_ROWS, rows), max(_LEAST_ROWS, longest)

    def _features(self, start: int, stop: int) -> Rows:
        return self.X[start:stop]
