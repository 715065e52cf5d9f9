"""Rows of a CSR matrix, used where they lie."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import scipy.sparse as sp

from .base import ResidentRows
from .bounded_rows import RawBlock, Rows, compressed
from .privacy_units import PrivacyUnits

__all__ = ["SparseRows"]

# Sparse products gain little from the cache, and each call has a price.
_LEAST_ROWS = 1 << 15
# Rows of few features may be asked about in coordinates that mix them, where a block at a time is
# written out densely, with this many entries at most.
_FEW_FEATURES, _DENSE_ENTRIES = 1000, 1 << 22


class SparseRows(ResidentRows):
    """Views of consecutive rows of a CSR matrix.

    Parameters
    ----------
    X : csr_array or csr_matrix of shape (n_samples, n_features)
        Features, float64 or float32. Not copied, unless columns are out of order or an entry is
        stored in several parts: those are summed first, because a norm is not the norm of the
        parts.
    y : ndarray of shape (n_samples,)
        Encoded targets.
    weights : ndarray of shape (n_samples,), optional
        Weights of the rows, in units of the largest that counts; without them every row weighs 1.
    units : PrivacyUnits, optional
        Privacy units of the rows; without them every row is one.

    Attributes
    ----------
    X : csr_array
        The features, in canonical form.
    y, weights, units
        As given.
    """

    sparse = True

    def __init__(
        self,
        X: sp.csr_array | sp.csr_matrix,
        y: np.ndarray,
        weights: np.ndarray | None = None,
        units: PrivacyUnits | None = None,
    ) -> None:
        X = _canonical(X)
        self._hold(X, y, weights, units)
        # Combining the rows of a block writes all features, so a block should hold several times
        # as many entries.
        rows = max(_LEAST_ROWS, self.n_features // 4)
        if self.n_features <= _FEW_FEATURES:
            rows = min(rows, _DENSE_ENTRIES // self.n_features)
        self._blocks = self._cut(rows, _LEAST_ROWS)

    def blocks(self) -> Iterable[RawBlock]:
        """The rows, cut into blocks by their number alone."""
        return self._blocks

    def _features(self, start: int, stop: int) -> Rows:
        X: Any = self.X
        first, last = X.indptr[start], X.indptr[stop]
        parts = (X.data[first:last], X.indices[first:last], X.indptr[start : stop + 1] - first)
        return compressed(sp.csr_array, (stop - start, X.shape[1]), *parts)


def _canonical(X: sp.csr_array | sp.csr_matrix) -> sp.csr_array:
    """X with each entry in one part, columns in order."""
    # A fresh view: the flag that X carries may be older than its entries.
    X = sp.csr_array((X.data, X.indices, X.indptr), shape=X.shape)
    if not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
        # A sum of finite parts may be beyond the largest float.
        np.nan_to_num(X.data, copy=False)
    return X
