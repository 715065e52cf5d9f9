"""A public change of coordinates for rows."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

import numpy as np

__all__ = ["RowMap"]


@dataclass(frozen=True, eq=False)
class RowMap:
    """``z = (x * scale) @ matrix - shift``, and longer z scaled down to ``norm`` during the fit.

    All fields are public: released by the oracle, or post-processing of what it released. A model
    that is linear in z (before it is scaled down) is linear in x.

    Parameters
    ----------
    scale : ndarray of shape (d,)
        Factor of each feature.
    matrix : ndarray of shape (d, k), optional
        Applied after scaling; None is the identity.
    shift : ndarray of shape (k,)
        What is subtracted last.
    norm : float, default=inf
        Bound on the l2 norm of mapped rows.
    typical : float, optional
        Length of most mapped rows, if it has been found out.
    """

    scale: np.ndarray
    matrix: np.ndarray | None
    shift: np.ndarray
    norm: float = inf
    typical: float | None = None

    def reach(self) -> float:
        """A bound on the size of any number that mapping a row of norm 1 can bring about."""
        factors = float(np.abs(self.scale).max(initial=0.0))
        if self.matrix is not None:
            factors *= float(np.abs(self.matrix).max(initial=0.0)) * self.scale.size
        return factors

    def longest(self, data_norm: float) -> float:
        """A bound on the norm of the map of any row whose norm is at most ``data_norm``."""
        factor = float(np.abs(self.scale).max(initial=0.0))
        if self.matrix is not None:
            factor = float(np.linalg.norm(self.scale[:, None] * self.matrix))
        return data_norm * factor + float(np.linalg.norm(self.shift))

    @property
    def n_features(self) -> int:
        """Number of coordinates k after the map."""
        return self.shift.size

    def apply(self, rows: np.ndarray) -> np.ndarray:
        """Rows (m, d) in these coordinates, (m, k), none of them scaled down. Overwrites rows."""
        Z = rows
        Z *= self.scale
        if self.matrix is not None:
            Z = Z @ self.matrix
        Z -= self.shift
        return Z

    def jacobian(self) -> np.ndarray:
        """The matrix B (d, k) of the linear part, written out: ``z = x @ B - shift``."""
        return np.diag(self.scale) if self.matrix is None else self.scale[:, None] * self.matrix

    def pull_back(self, v: np.ndarray) -> np.ndarray:
        """``B v``, so that ``<x, pull_back(v)> = <z + shift, v>``; v is (k,) or (k, K)."""
        u = v if self.matrix is None else self.matrix @ v
        return self.scale * u if u.ndim == 1 else self.scale[:, None] * u

    def push_forward(self, g: np.ndarray) -> np.ndarray:
        """``B' g``; g is (d,) or (d, K)."""
        s = self.scale * g if g.ndim == 1 else self.scale[:, None] * g
        return s if self.matrix is None else self.matrix.T @ s
