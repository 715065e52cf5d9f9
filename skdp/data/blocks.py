"""Blocks of rows: as they came, and brought to public bounds by factors applied on the fly."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import numpy as np
import scipy.sparse as sp

from ..bounds import RowBounds

__all__ = ["Block", "RawBlock", "Rows"]

Rows: TypeAlias = np.ndarray | sp.csr_array | sp.csr_matrix

# Norms up to this can be computed and used in double precision without overflow.
_LARGEST_NORM = 1e150
_LEAST_NORM = 1e-150


@dataclass(frozen=True, eq=False)
class RawBlock:
    """A run of rows as they came: features (m, d) and encoded targets (m,)."""

    X: Rows
    y: np.ndarray

    @cached_property
    def norms(self) -> np.ndarray:
        """Norms (l2) of the rows in double precision; inf where the squares overflow."""
        with np.errstate(over="ignore"):
            if isinstance(self.X, np.ndarray):
                X = self.X.astype(np.float64, copy=False)
                return np.sqrt(np.einsum("ij,ij->i", X, X))
            squares = np.square(self.X.data.astype(np.float64, copy=False))
            summed = sp.csr_array((squares, self.X.indices, self.X.indptr), shape=self.X.shape)
            return np.sqrt(summed.sum(axis=1))


class Block:
    """A run of bounded rows ``[f_i x_i, intercept_value]`` with ``f_i = min(1, R / ||x_i||)``.

    Guarantees
    ----------
    - ``norms`` bounds the norm of every row that ``scores`` and ``combine`` work with, and is at
      most ``bounds.row_norm``, up to rounding of a few units in the last place.
    - Computations are in double precision whatever the type of X.
    """

    def __init__(self, raw: RawBlock, bounds: RowBounds) -> None:
        norms, limit = raw.norms, bounds.data_norm
        largest = norms.max(initial=0.0)
        self._X = raw.X
        if largest > _LARGEST_NORM:
            self._X = _tamed(raw.X, norms > _LARGEST_NORM, limit)
            norms = np.where(norms > _LARGEST_NORM, limit, norms)
        self._factor = limit / np.maximum(norms, limit) if largest > limit else None
        self._constant = bounds.intercept_value
        # Positive, so that a bound on a row's contribution can be divided by it.
        self.norms = np.maximum(np.hypot(np.minimum(norms, limit), self._constant), _LEAST_NORM)
        self.y = raw.y
        if (target := bounds.target) is not None:
            self.y = (np.clip(raw.y, target.low, target.high) - target.centre) / target.half_width

    def loaded(self) -> Block:
        """Itself, or for single precision rows a copy in double precision that lives for one use.

        A block is small, so the conversion happens in cache and X as a whole is never copied.
        """
        if self._X.dtype == np.float64:
            return self
        other = object.__new__(Block)
        other.__dict__.update(self.__dict__, _X=self._X.astype(np.float64))
        return other

    def scores(self, w: np.ndarray) -> np.ndarray:
        """Inner products of the rows with w; shape (m,) or (m, K)."""
        if not self._constant:
            return self._scaled(self._X @ w)
        z = self._scaled(self._X @ w[:-1])
        z += self._constant * w[-1]
        return z

    def combine(self, r: np.ndarray) -> np.ndarray:
        """Sum of the rows weighted by r, (m,) or (m, K); has the shape of w. Overwrites r."""
        last = self._constant * r.sum(axis=0, keepdims=True) if self._constant else None
        g = self._X.T @ self._scaled(r)
        return g if last is None else np.concatenate([g, last])

    def _scaled(self, values: np.ndarray) -> np.ndarray:
        if self._factor is not None:
            values *= self._factor if values.ndim == 1 else self._factor[:, None]
        return values


def _tamed(X: Rows, huge: np.ndarray, limit: float) -> Rows:
    """A copy of X in which the huge rows have norm ``limit``."""
    out = X.astype(np.float64, copy=True)
    for i in np.flatnonzero(huge):
        row = out[i] if isinstance(out, np.ndarray) else out.data[out.indptr[i] : out.indptr[i + 1]]
        # In two steps: the norm itself may be beyond the largest float.
        row /= np.abs(row).max()
        row *= limit / np.sqrt(row @ row)
    return out
