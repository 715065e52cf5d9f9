"""Second moments of the bounded rows."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, sqrt
from typing import ClassVar

import numpy as np

from ...problem.bounds import RowBounds
from ..adjacency import Adjacency
from ..rounding import of_sum
from ..rows.base import RowStore
from ..rows.bounded_rows import BoundedBlock
from .base import GaussianQuery

_LARGEST_NORM, _LEAST_SQUARE, _LARGEST_SUM = 1e150, 1e-280, 1e300


@dataclass(frozen=True, eq=False)
class MomentsQuery(GaussianQuery):
    r"""Second moments ``mean_i v_i v_i^T`` of the bounded rows, or their diagonal and last column.

    ``v_i`` is the row with its intercept entry, so with an intercept the last column holds the
    mean of the features. A row of weight s in [0, 1] adds ``s v_i v_i^T``.

    The symmetric matrix is answered as the vector of its diagonal and of sqrt(2) times its upper
    triangle. Its l2 norm is the Frobenius norm of the matrix, so equal noise on the vector is
    isotropic noise on symmetric matrices.

    Parameters
    ----------
    bounds : RowBounds
        What rows are brought to.
    n_samples, n_rows : int
        Number of rows n, length p of each.
    full : bool
        Whether all entries are asked for.
    actual_rows : int, optional
        Number of rows, if it is not n because they are weighted.

    Guarantees
    ----------
    - With R the bound on a row's norm, replacing a row moves the answer by at most
      ``sqrt(2) R^2 / n``, attained by orthogonal rows, and zeroing it out by at most ``R^2 / n``. A
      weighted row is as good as the shorter row ``sqrt(s) v``. Proof: theorem M1 of
      ``docs/proofs/moments.md``.
    """

    name: ClassVar[str] = "second_moments"

    bounds: RowBounds
    n_samples: int
    n_rows: int
    full: bool
    actual_rows: int | None = None

    @property
    def rounding(self) -> float:
        """Margin for rounding of a sum of products of rows."""
        return of_sum(self.actual_rows or self.n_samples)

    def sensitivity(self, adjacency: Adjacency) -> float:
        """``sqrt(2) R^2 / n`` under replace-one; infinite where double precision is left."""
        square = kept_square(self.bounds.row_norm, self.n_samples)
        return (sqrt(2.0) if adjacency is Adjacency.REPLACE_ONE else 1.0) * square / self.n_samples

    def evaluate(self, rows: RowStore) -> np.ndarray:
        """The exact moments as a vector."""
        bounded = rows.bounded(self.bounds)
        if self.full:
            total = bounded.sum(lambda b: b.gram() if b.weights is None else _gram(b))
            return packed(total) / self.n_samples
        sums = bounded.sum(lambda block: _edges(weighed(block)))
        # Last, because it would take sums off the grid on which they may be exact.
        sums[self.n_rows :] *= sqrt(2.0)
        return sums / self.n_samples

    def public(self) -> tuple[object, ...]:
        """The norm bound and which part is asked for."""
        return (self.bounds.row_norm, self.full)

    def matrix(self, answer: np.ndarray) -> np.ndarray:
        """The symmetric matrix (p, p) of an answer, or its diagonal and last column (2, p)."""
        p = self.n_rows
        if not self.full:
            return np.stack([answer[:p], np.append(answer[p:] / sqrt(2.0), answer[p - 1])])
        return unpacked(answer, p)


def kept_square(norm: float, n_samples: int) -> float:
    """Square of a bound on rows; infinite where double precision would not keep sums of squares."""
    square = norm**2 if norm < _LARGEST_NORM else inf
    return square if _LEAST_SQUARE <= square <= _LARGEST_SUM / n_samples else inf


def weighed(block: BoundedBlock) -> np.ndarray:
    """Rows times the roots of their weights, dense (m, p)."""
    V = block.rows()
    if block.weights is not None:
        V *= np.sqrt(block.weights)[:, None]
    return V


def _gram(block: BoundedBlock) -> np.ndarray:
    V = weighed(block)
    return V.T @ V


def packed(S: np.ndarray) -> np.ndarray:
    """Diagonal of a symmetric matrix, then sqrt(2) times its upper triangle: of equal l2 norm."""
    return np.concatenate([np.diag(S), sqrt(2.0) * S[np.triu_indices(len(S), 1)]])


def unpacked(vector: np.ndarray, p: int) -> np.ndarray:
    """The symmetric matrix (p, p) that :func:`packed` made this vector of."""
    out = np.zeros((p, p))
    out[np.triu_indices(p, 1)] = vector[p:]
    out += out.T
    out /= sqrt(2.0)
    out[np.diag_indices(p)] = vector[:p]
    return out


def _edges(V: np.ndarray) -> np.ndarray:
    """Diagonal, then the last column above the diagonal."""
    return np.concatenate([np.einsum("ij,ij->j", V, V), V[:, -1] @ V[:, :-1]])
