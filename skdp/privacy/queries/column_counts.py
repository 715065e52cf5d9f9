"""Counts of rows with a feature below an edge, for several edges of every feature."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ..adjacency import Adjacency
from ..rows.base import RowStore
from ..rows.bounded_rows import RawBlock
from .base import CountQuery


@dataclass(frozen=True, eq=False)
class ColumnCountsQuery(CountQuery):
    r"""``sum_i v_i ([x_ij < e_jk] - 1/2)`` for feature j and its edge k, with weights v_i of rows.

    Parameters
    ----------
    edges : ndarray of shape (d, k)
        Edges of each feature that is asked about, in any order.
    sizes : bool, default=False
        Whether absolute values are compared with the edges.
    columns : tuple of int, optional
        The d features that are asked about, all different; by default all there are.

    Guarantees
    ----------
    - Replacing a row moves each entry by at most 1: ``sqrt(d k)`` in l2, attained where every
      feature goes from below its edges to above them. Zeroing it out moves each by exactly 1/2:
      ``sqrt(d k) / 2``, which is what the half is taken off for. Rows of weights v and u in
      [0, 1] move an entry by at most ``(v + u) / 2``.
    - Features that are not asked about do not move the answer: what is said of d features holds
      for the table of those alone.
    - Values that are not numbers are below no edge.
    """

    name: ClassVar[str] = "column_counts"

    edges: np.ndarray
    sizes: bool = False
    columns: tuple[int, ...] | None = None

    def sensitivity(self, adjacency: Adjacency) -> float:
        """``sqrt(d k)`` under replace-one, half of it under zero-out."""
        return adjacency.of_counts(self.edges.size)

    def evaluate(self, rows: RowStore) -> np.ndarray:
        """The exact answer, of shape (d, k)."""
        return rows.sum(self._of_block)

    def public(self) -> tuple[object, ...]:
        """The edges, whether absolute values are compared with them, and the features if some."""
        return (self.edges, self.sizes, *(() if self.columns is None else (self.columns,)))

    def _of_block(self, block: RawBlock) -> np.ndarray:
        m, X, v = len(block.y), block.X, block.bounded_weights
        d = len(self.edges)
        if self.columns is not None:
            X = X[:, list(self.columns)]
        out = np.empty(self.edges.shape)
        if not isinstance(X, np.ndarray):
            per_entry = None if v is None else np.repeat(v, np.diff(X.indptr))
            stored = np.bincount(X.indices, per_entry, minlength=d)
        total, ones = float(m) if v is None else float(v.sum()), np.ones(m, dtype=np.float32)
        for k, edges in enumerate(self.edges.T):
            if isinstance(X, np.ndarray):
                below = edges > (np.abs(X) if self.sizes else X)
                # In single precision, which holds numbers of rows of a block, twice as fast.
                out[:, k] = ones @ below.astype(np.float32) if v is None else v @ below
            else:
                entries = np.abs(X.data) if self.sizes else X.data
                under = entries < edges[X.indices]
                chosen = None if per_entry is None else per_entry[under]
                below = np.bincount(X.indices[under], chosen, minlength=d)
                out[:, k] = below + (total - stored) * (edges > 0.0)
        return out - 0.5 * total
