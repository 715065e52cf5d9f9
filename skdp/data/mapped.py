"""Blocks of rows in public coordinates, never written out as a whole."""

from __future__ import annotations

from copy import copy

import numpy as np

from ..bounds import RowBounds
from .blocks import Block, BoundedBlock, RawBlock

__all__ = ["MappedBlock"]


class MappedBlock(BoundedBlock):
    """A run of rows ``[f_i z_i, intercept_value]`` with ``z_i`` the map of a bounded row.

    ``f_i = min(1, norm / ||z_i||)``. Products go through the map instead of the rows:
    ``<z, v> = <x, B v> - <shift, v>``.

    Parameters
    ----------
    raw : RawBlock
        Rows as they came.
    bounds : RowBounds
        With a row map.

    Guarantees
    ----------
    - ``norms`` bounds the norm of every row that ``scores`` and ``combine`` work with, and is at
      most ``bounds.row_norm``, whatever the data and whatever the map, up to rounding.
    """

    def __init__(self, raw: RawBlock, bounds: RowBounds) -> None:
        assert bounds.row_map is not None
        self._map = bounds.row_map
        self._constant = bounds.intercept_value
        self._inner = Block(raw, RowBounds(bounds.data_norm, target=bounds.target))
        Z = self._mapped(self._inner.loaded())
        lengths = np.sqrt(np.einsum("ij,ij->i", Z, Z))
        longest = self._map.norm
        self._factor = longest / np.maximum(lengths, longest) if longest < np.inf else None
        clipped = np.minimum(lengths, longest)
        # Positive, so that a bound on a row's contribution can be divided by it.
        self.norms = np.maximum(np.hypot(clipped, self._constant), 1e-150)
        self.y = self._inner.y

    def loaded(self) -> MappedBlock:
        """Itself, or a copy that lives for one use."""
        inner = self._inner.loaded()
        if inner is self._inner:
            return self
        other = copy(self)
        other._inner = inner
        return other

    def scores(self, w: np.ndarray) -> np.ndarray:
        """Inner products of the rows with w; shape (m,) or (m, K)."""
        v = w[:-1] if self._constant else w
        z = self._inner.scores(self._map.pull_back(v))
        z -= self._map.shift @ v
        z = self._scaled(z)
        if self._constant:
            z += self._constant * w[-1]
        return z

    def combine(self, r: np.ndarray) -> np.ndarray:
        """Sum of the rows weighted by r, (m,) or (m, K); has the shape of w. Overwrites r."""
        last = self._constant * r.sum(axis=0, keepdims=True) if self._constant else None
        r = self._scaled(r)
        total = r.sum(axis=0)
        shift = self._map.shift
        g = self._map.push_forward(self._inner.combine(r))
        g -= shift * total if r.ndim == 1 else np.outer(shift, total)
        return g if last is None else np.concatenate([g, last])

    def rows(self) -> np.ndarray:
        """The rows themselves, dense (m, p)."""
        Z = self._mapped(self._inner)
        if self._factor is not None:
            Z *= self._factor[:, None]
        return Z if not self._constant else np.column_stack([Z, np.full(len(Z), self._constant)])

    def _mapped(self, inner: Block) -> np.ndarray:
        Z = inner.rows() * self._map.scale
        if self._map.matrix is not None:
            Z = Z @ self._map.matrix
        Z -= self._map.shift
        return Z

    def _scaled(self, values: np.ndarray) -> np.ndarray:
        if self._factor is not None:
            values *= self._factor if values.ndim == 1 else self._factor[:, None]
        return values
