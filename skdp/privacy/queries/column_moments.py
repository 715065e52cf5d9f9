"""Means of the features and of their squares, each feature within bounds of its own."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import ClassVar

import numpy as np
import scipy.sparse as sp

from ...problem.column_bounds import ColumnBounds
from ..adjacency import Adjacency
from ..rounding import of_sum
from ..rows.base import RowStore
from ..rows.bounded_rows import RawBlock
from .base import GaussianQuery

_WEIGHT = sqrt(2.0)
_OFFSET = 0.75
# A square and the offset, which cancel, are together longer than what is left, by up to this.
_SPREAD = 3.0


@dataclass(frozen=True, eq=False)
class ColumnMomentsQuery(GaussianQuery):
    r"""Means over the rows of ``u_j`` and of ``sqrt(2) (u_j^2 - 3/4)``, for every feature j.

    ``u_j = clip((x_j - c_j) / h_j, -1, 1)`` is the feature on the scale of its public bounds, whose
    middle is ``c_j`` and whose half width ``h_j``. All features have noise of one scale, so each
    takes the same share of what the joint answer costs, whatever its units.

    Parameters
    ----------
    bounds : ColumnBounds
        Intervals of the d features.
    n_samples : int
        Number of rows n to divide by.

    Guarantees
    ----------
    - Replacing a row moves the answer by at most ``2 sqrt(d) / n`` in l2, as much as the means
      alone, so the squares come for free; attained where every feature goes from one end of its
      interval to the other. A weight above 1.67 would cost more. Zeroing a row out moves the answer
      by at most ``sqrt(9 d / 8) / n``: the offset 3/4 makes a feature in the middle as long as one
      at an end. Proof: theorem C1 of ``docs/proofs/columns_and_metrics.md``.
    - Entries that are not numbers count as the middle of their interval.
    - Rows of a privacy unit count by their shares. Weights of their own do not count here: with
      less than 1 for a unit the offset would not be taken off whole.
    """

    name: ClassVar[str] = "column_moments"

    bounds: ColumnBounds
    n_samples: int

    def sensitivity(self, adjacency: Adjacency) -> float:
        """``2 sqrt(d) / n`` under replace-one, ``sqrt(9 d / 8) / n`` under zero-out."""
        square = 4.0 if adjacency is Adjacency.REPLACE_ONE else 1.125
        return sqrt(square * self.bounds.low.size) / self.n_samples

    @property
    def rounding(self) -> float:
        """Margin for rounding of sums of squares and offsets, before they cancel."""
        return of_sum(self.n_samples, _SPREAD)

    def evaluate(self, rows: RowStore) -> np.ndarray:
        """The exact answer, of shape (2, d)."""
        return rows.sum(self._of_block) / self.n_samples

    def public(self) -> tuple[object, ...]:
        """The bounds."""
        return (self.bounds.low, self.bounds.high)

    def moments(self, answer: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The means of ``u`` and of ``u^2``, each of shape (d,), from an answer."""
        return answer[0], answer[1] / _WEIGHT + _OFFSET

    def _of_block(self, block: RawBlock) -> np.ndarray:
        X, shares = block.X, block.shares
        if isinstance(X, np.ndarray):
            u = self._scaled(X.astype(np.float64), slice(None))
            return self.of_scaled(u, shares)
        sums, squares = self._of_stored(X, shares)
        rows = len(block.y) if shares is None else float(shares.sum())
        return np.stack([sums, _WEIGHT * (squares - _OFFSET * rows)])

    def of_scaled(self, u: np.ndarray, shares: np.ndarray | None = None) -> np.ndarray:
        """Sums over rows of u and of ``sqrt(2) (u^2 - 3/4)``, shape (2, d), for u in [-1, 1].

        Rows of privacy units count by their shares.
        """
        if shares is None:
            squares = np.einsum("ij,ij->j", u, u)
            return np.stack([u.sum(axis=0), _WEIGHT * (squares - _OFFSET * len(u))])
        squares = np.einsum("i,ij,ij->j", shares, u, u)
        return np.stack([shares @ u, _WEIGHT * (squares - _OFFSET * shares.sum())])

    def _of_stored(
        self, X: sp.csr_array | sp.csr_matrix, shares: np.ndarray | None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Sums of u and of its square for sparse rows, whose zeros are counted, not looked at."""
        m, d = X.shape
        u = self._scaled(X.data.astype(np.float64), X.indices)
        at_zero = self._scaled(np.zeros(d), slice(None))
        s = np.ones(m) if shares is None else shares
        of_entry = np.repeat(s, np.diff(X.indptr))
        missing = s.sum() - np.bincount(X.indices, of_entry, minlength=d)
        sums = np.bincount(X.indices, of_entry * u, minlength=d) + missing * at_zero
        squares = np.bincount(X.indices, of_entry * u * u, minlength=d) + missing * at_zero**2
        return sums, squares

    def _scaled(self, values: np.ndarray, features: np.ndarray | slice) -> np.ndarray:
        """Values of these features on the scale of their bounds. Overwrites them."""
        # Clipped first: a difference of huge numbers may be beyond the largest float.
        np.clip(values, self.bounds.low[features], self.bounds.high[features], out=values)
        values -= self.bounds.centre[features]
        values /= self.bounds.half_width[features]
        np.clip(values, -1.0, 1.0, out=values)
        values[np.isnan(values)] = 0.0
        return values
