"""Both sides of the normal equations of least squares, in one answer."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import ClassVar

import numpy as np

from ...problem.bounds import RowBounds
from ..adjacency import Adjacency
from ..rounding import of_sum
from ..rows.base import RowStore
from ..rows.bounded_rows import BoundedBlock
from .base import GaussianQuery, check_targets_a_row
from .moments import kept_square, packed, unpacked, weighed


@dataclass(frozen=True, eq=False)
class NormalEquationsQuery(GaussianQuery):
    r"""Moments ``mean_i v_i v_i'`` of the rows and ``mean_i v_i y_i'`` with their targets.

    ``v_i`` is the row with its intercept entry and ``y_i`` in [-1, 1] the bounded target. The
    symmetric matrix is answered as the vector of its diagonal and of sqrt(2) times its upper
    triangle, whose norm is the Frobenius norm of the matrix; then comes the other moment, times
    ``R sqrt(2 balance)``, with R the bound on a row's norm. With t targets a row, y_i is the vector
    of them over ``sqrt(t)``, so that ``||y_i|| <= 1``. A row of weight s in [0, 1] counts as
    the row ``sqrt(s) v_i`` with the target ``sqrt(s) y_i``, which is within the same bounds.

    Parameters
    ----------
    bounds : RowBounds
        What rows and targets are brought to.
    n_samples, n_rows : int
        Number of rows n, length p of each.
    balance : float
        Weight c of the moments with the targets, in (0, 1].
    actual_rows : int, optional
        Number of rows, if it is not n because they are weighted.

    Raises
    ------
    ValueError
        If the balance is outside its range, or targets are not bounded.

    Guarantees
    ----------
    - Replacing a row moves the answer by at most ``sqrt(2) R^2 (1 + c) / n``, which is less than
      two queries with the same noise would cost, whose squares sum to
      ``2 R^4 (1 + 4 c) / n^2``. It is attained. Proof: theorem M2 of ``docs/proofs/moments.md``.
    - Zeroing a row out moves it by at most ``R^2 sqrt(1 + 2 c) / n``.
    """

    name: ClassVar[str] = "normal_equations"

    bounds: RowBounds
    n_samples: int
    n_rows: int
    balance: float
    actual_rows: int | None = None

    def __post_init__(self) -> None:
        if not (0 < self.balance <= 1 and self.bounds.target is not None):
            raise ValueError(
                "NormalEquationsQuery needs a balance in (0, 1] and bounded targets, got "
                f"balance={self.balance} and {self.bounds.target}."
            )

    @property
    def rounding(self) -> float:
        """Margin for rounding of a sum of products of rows and targets."""
        return of_sum(self.actual_rows or self.n_samples)

    def sensitivity(self, adjacency: Adjacency) -> float:
        """``sqrt(2) R^2 (1 + c) / n`` under replace-one; infinite where double precision ends."""
        c, square = self.balance, kept_square(self.bounds.row_norm, self.n_samples)
        factor = sqrt(1 + 2 * c) if adjacency is Adjacency.ZERO_OUT else sqrt(2.0) * (1 + c)
        return factor * square / self.n_samples

    def evaluate(self, rows: RowStore) -> np.ndarray:
        """The exact moments as a vector."""
        p = self.n_rows
        total = rows.bounded(self.bounds).sum(self._of_block) / self.n_samples
        return np.concatenate([packed(total[:, :p]), self.weight * total[:, p:].ravel()])

    def public(self) -> tuple[object, ...]:
        """The norm bound and the balance."""
        return (self.bounds.row_norm, self.balance)

    @property
    def weight(self) -> float:
        """Factor of the moments with the targets as they are bounded, ``R sqrt(2 c / t)``."""
        return self.bounds.row_norm * sqrt(2 * self.balance / self._n_targets)

    @property
    def _n_targets(self) -> int:
        assert self.bounds.target is not None
        return self.bounds.target.n_targets

    def parts(self, answer: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The symmetric matrix (p, p) and the vector (p,) of an answer; (p, t) for t targets."""
        p, t = self.n_rows, self._n_targets
        cross = answer[-p * t :] / self.weight
        return unpacked(answer[: -p * t], p), cross if t == 1 else cross.reshape(p, t)

    def _of_block(self, block: BoundedBlock) -> np.ndarray:
        check_targets_a_row(type(self).__name__, block, self._n_targets)
        V = weighed(block)
        y = block.y if block.y.ndim == 2 else block.y[:, None]
        y = y if block.weights is None else np.sqrt(block.weights)[:, None] * y
        return V.T @ np.column_stack([V, y])
