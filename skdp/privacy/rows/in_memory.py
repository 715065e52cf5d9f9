"""Rows in memory, or mapped into it, used where they lie: of a dense array or a CSR matrix."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from .base import ResidentRows
from .bounded_rows import LONGEST_CUT, LONGEST_RUN, Rows, compressed
from .privacy_units import PrivacyUnits

# Entries a block of a table, 8 MB in double precision, and one of a part of a table, 2 MB. Threads
# wait for each other where blocks are short; without them all that is done with a block is in cache
# and in the heap.
_BLOCK_ENTRIES, _PART_ENTRIES = 1 << 20, 1 << 18
# Combining the rows of a block writes all features, and what maps them costs as much as hundreds of
# rows, so a block should hold some, if not too many entries. Sparse products gain little from the
# cache, and each call has a price.
_LEAST_DENSE, _ENOUGH_DENSE = 8, 512
# Entries that a block is given at most on such grounds, and those of a block of sparse rows of few
# features, which is written out densely in coordinates that mix them.
_FEW_FEATURES, _DENSE_ENTRIES = 1000, 1 << 22


def rows_in_memory(
    X: Any, y: np.ndarray, weights: np.ndarray | None = None, units: PrivacyUnits | None = None
) -> ResidentRows:
    """The store for the kind of X; the others are as for :class:`ResidentRows`."""
    return (SparseRows if sp.issparse(X) else DenseRows)(X, y, weights, units)


def rows_of_part(
    X: Any, y: np.ndarray, weights: np.ndarray | None = None, units: PrivacyUnits | None = None
) -> ResidentRows:
    """A store of the rows of a part of a table.

    How a table is cut may depend on how many rows somebody has, so that with units nothing that is
    computed for a row may depend on what else is in its part, nor on how the part lies in memory.
    There is at least one row; targets are encoded, weights in units of the largest that counts.
    """
    if units is not None and not sp.issparse(X):
        X = np.ascontiguousarray(X)
    if units is not None and len(y) == 1:
        # Numpy adds up the entries of a row that is alone in another order: its copy weighs 0.
        twice = np.zeros(2, dtype=np.intp)
        X, y, weights = X[twice], y[twice], None if weights is None else weights[twice]
        units = PrivacyUnits(units.codes[twice], units.shares * [1.0, 0.0], units.n_units)
    return (SparseRows if sp.issparse(X) else DensePart)(X, y, weights, units)


class DenseRows(ResidentRows):
    """Views of consecutive rows of an array in C or Fortran order, which is not copied."""

    sparse = False
    X: np.ndarray
    _most: ClassVar = _BLOCK_ENTRIES, LONGEST_CUT

    def _lengths(self) -> tuple[int, int]:
        (entries, most), d = self._most, self.n_features
        enough = min(_ENOUGH_DENSE, _DENSE_ENTRIES // d)
        rows = min(most, max(_LEAST_DENSE, enough, entries // d))
        return rows, max(_LEAST_DENSE, entries // d)

    def _features(self, start: int, stop: int) -> Rows:
        return self.X[start:stop]


class DensePart(DenseRows):
    """Views of consecutive rows of a part of a table, which one thread adds up."""

    _most: ClassVar = _PART_ENTRIES, LONGEST_RUN


class SparseRows(ResidentRows):
    """Views of consecutive rows of a CSR matrix.

    It is not copied, unless columns are out of order or an entry is stored in several parts: those
    are summed first, because a norm is not the norm of the parts.
    """

    sparse = True
    X: sp.csr_array

    def _usable(self, X: Any) -> sp.csr_array:
        """X with each entry in one part, columns in order."""
        # A fresh view: the flag that X carries may be older than its entries.
        out = sp.csr_array((X.data, X.indices, X.indptr), shape=X.shape)
        if not out.has_canonical_format:
            out = out.copy()
            out.sum_duplicates()
            # A sum of finite parts may be beyond the largest float.
            np.nan_to_num(out.data, copy=False, nan=np.nan)
        return out

    def _lengths(self) -> tuple[int, int]:
        # Combining the rows of a block writes all features, so a block should hold several times
        # as many entries.
        few = self.n_features <= _FEW_FEATURES
        rows = min(LONGEST_RUN, _DENSE_ENTRIES // self.n_features) if few else LONGEST_RUN
        return rows, LONGEST_RUN

    def _features(self, start: int, stop: int) -> Rows:
        X = self.X
        first, last = X.indptr[start], X.indptr[stop]
        parts = (X.data[first:last], X.indices[first:last], X.indptr[start : stop + 1] - first)
        return compressed(sp.csr_array, (stop - start, X.shape[1]), *parts)
