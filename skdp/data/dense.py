"""Rows of a dense array in memory, or of a memory-mapped one, used where they lie."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

import numpy as np

from .base import RowStore
from .blocks import RawBlock

__all__ = ["DenseRows"]

# Entries a block: 2 MB in double precision, about what a core keeps at hand between two products.
_BLOCK_ENTRIES = 1 << 18


class DenseRows(RowStore):
    """Views of consecutive rows of an array.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        Features, float64 or float32, in C or Fortran order. Not copied.
    y : ndarray of shape (n_samples,)
        Encoded targets.
    """

    resident: ClassVar[bool] = True

    def __init__(self, X: np.ndarray, y: np.ndarray) -> None:
        self.n_samples, self.n_features = X.shape
        step = max(64, _BLOCK_ENTRIES // self.n_features)
        self._blocks = [
            RawBlock(X[i : i + step], y[i : i + step]) for i in range(0, self.n_samples, step)
        ]

    def blocks(self) -> Iterable[RawBlock]:
        """The rows, cut into blocks by public sizes alone."""
        return self._blocks
