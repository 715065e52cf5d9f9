"""Cache of the scores of rows, for weights of which few entries move at a time."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

# If more features than this have moved, the product with all of them is taken.
_FEW = 16


class ScoreCache:
    r"""Cache of the latest scores of a run of bounded rows, between queries.

    Weights w that are ``shrunk`` times the latest ones but for few entries have scores

    .. math:: z = \mathrm{shrunk}\, z_{\text{latest}}
                  + \sum_j x_j (w - \mathrm{shrunk}\, w_{\text{latest}})_j

    which costs the entries of those columns. Any other w is computed afresh. From the second
    query on sparse rows are also held column by column, a copy of them.

    Guarantees
    ----------
    - The scores are those of w, up to rounding, whatever was asked before and whatever ``shrunk``
      says.
    - The score of a row does not depend on the entries of other rows.
    """

    def __init__(self) -> None:
        self._w: np.ndarray | None = None
        self._z = np.empty(0)
        self._columns: sp.csc_array | None = None
        self._clipped: tuple[float, sp.csr_array] | None = None

    def scores(
        self, X: np.ndarray | sp.csr_array, factor: np.ndarray | None, w: np.ndarray, shrunk: float
    ) -> np.ndarray:
        """Inner products of the rows ``factor * X`` with w, (m,) or (m, K).

        Rows are the same at each call; no factor is 1. ``shrunk`` is what the latest weights have
        been multiplied by.
        """
        few = self._moved(w, shrunk)
        if few is None:
            self._w, self._z = w.copy(), times_rows(X @ w, factor)
            return self._z.copy()
        moved, rest = few
        if self._columns is None and not isinstance(X, np.ndarray):
            self._columns = sp.csc_array(_scaled_rows(X, factor))
        z = shrunk * self._z
        if self._columns is None:
            z += times_rows(X[:, moved] @ rest, factor)
        else:
            for j, by in zip(moved, rest, strict=True):
                start, stop = self._columns.indptr[j : j + 2]
                step = np.multiply.outer(self._columns.data[start:stop], by)
                z[self._columns.indices[start:stop]] += step
        self._z = z
        return z.copy()

    def _moved(self, w: np.ndarray, shrunk: float) -> tuple[np.ndarray, np.ndarray] | None:
        """Indices and amounts of changed weights since the latest call; w is the latest then.

        None if there are no latest weights, or too much has moved.
        """
        if self._w is None or self._w.shape != w.shape:
            return None
        if shrunk != 1:
            self._w *= shrunk
        differ = w != self._w
        moved = np.flatnonzero(differ if w.ndim == 1 else differ.any(axis=1))
        if moved.size > _FEW:
            return None
        rest = w[moved] - self._w[moved]
        if not np.isfinite(rest).all():
            return None
        self._w[moved] = w[moved]
        return moved, rest

    def combine_within(self, r: np.ndarray, bound: float) -> np.ndarray | None:
        """Sum of the rows, entries clipped to [-bound, bound], weighted by r, (m,) or (m, K).

        None unless the rows are held column by column.
        """
        if self._columns is None:
            return None
        if self._clipped is None or self._clipped[0] != bound:
            held = self._columns
            parts = (np.clip(held.data, -bound, bound), held.indices, held.indptr)
            self._clipped = bound, sp.csr_array(parts, shape=held.shape[::-1])
        return self._clipped[1] @ r


def times_rows(values: np.ndarray, factor: np.ndarray | None) -> np.ndarray:
    """Values of rows, (m,) or (m, K), times a factor for each row, in place; None is 1."""
    if factor is not None:
        values *= factor if values.ndim == 1 else factor[:, None]
    return values


def _scaled_rows(X: sp.csr_array, factor: np.ndarray | None) -> sp.csr_array:
    if factor is None:
        return X
    data = X.data * np.repeat(factor, np.diff(X.indptr))
    return sp.csr_array((data, X.indices, X.indptr), shape=X.shape)
