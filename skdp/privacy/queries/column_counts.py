"""Counts of rows with a feature below an edge, for several edges of every feature."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import ClassVar

import numpy as np

from ..adjacency import Adjacency
from ..rows.base import RowStore
from ..rows.bounded_rows import RawBlock
from .base import GaussianQuery

__all__ = ["ColumnCountsQuery"]


@dataclass(frozen=True, eq=False)
class ColumnCountsQuery(GaussianQuery):
    r"""``sum_i ([x_ij < e_jk] - 1/2)`` for feature j and its edge k.

    Parameters
    ----------
    edges : ndarray of shape (d, k)
        Edges of each feature, in any order.

    Guarantees
    ----------
    - Replacing a row moves each entry by at most 1: ``sqrt(d k)`` in l2, attained where every
      feature goes from below its edges to above them. Zeroing it out moves each by exactly 1/2:
      ``sqrt(d k) / 2``, which is what the half is taken off for.
    - Values that are not numbers are below no edge.
    """

    name: ClassVar[str] = "column_counts"

    edges: np.ndarray

    def sensitivity(self, adjacency: Adjacency) -> float:
        """``sqrt(d k)`` under replace-one, half of it under zero-out."""
        return sqrt(self.edges.size) * (1.0 if adjacency is Adjacency.REPLACE_ONE else 0.5)

    @property
    def rounding(self) -> float:
        """None: counts, and halves of them, are exact."""
        return 0.0

    def evaluate(self, rows: RowStore) -> np.ndarray:
        """The exact answer, of shape (d, k)."""
        return rows.sum(self._of_block)

    def public(self) -> tuple[object, ...]:
        """The edges."""
        return (self.edges,)

    def _of_block(self, block: RawBlock) -> np.ndarray:
        m, X = block.y.size, block.X
        d = len(self.edges)
        out = np.empty(self.edges.shape)
        for k, edges in enumerate(self.edges.T):
            if isinstance(X, np.ndarray):
                out[:, k] = np.count_nonzero(edges > X, axis=0)
            else:
                stored = np.bincount(X.indices, minlength=d)
                below = np.bincount(X.indices[X.data < edges[X.indices]], minlength=d)
                out[:, k] = below + (m - stored) * (edges > 0.0)
        return out - 0.5 * m
