"""Mean of the bounded rows, all together or split by class."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, sqrt
from typing import ClassVar

import numpy as np

from ...problem.bounds import RowBounds
from ..adjacency import Adjacency
from ..rounding import mapped_products, of_sum, spread
from ..rows.base import RowStore
from ..rows.bounded_rows import BoundedBlock
from .base import GaussianQuery, check_targets_a_row

_LEAST_NORM, _LARGEST_SUM = 1e-140, 1e300


@dataclass(frozen=True, eq=False)
class RowMeansQuery(GaussianQuery):
    r"""``1/n sum_i v_i e_{y_i}^T``: the sum of the bounded rows of each class, divided by n.

    ``v_i`` is the row with its intercept entry, so with an intercept the last row of the answer
    holds the shares of the classes. With one class it is the mean of all rows. A row of weight s in
    [0, 1] adds s times that, as a shorter row would.

    Parameters
    ----------
    bounds : RowBounds
        What rows are brought to. Where it calls for non-negative rows, negative features count as
        zero, whatever the data.
    n_samples : int
        Number of rows n to divide by.
    n_classes : int, default=1
        Number of classes K, encoded 0, ..., K - 1; targets outside count towards the nearest one,
        those that are not numbers towards the first. 1 takes no notice of targets.
    actual_rows : int, optional
        Number of rows, if it is not n because they are weighted.

    Guarantees
    ----------
    - With R the bound on a row's norm, replacing a row moves the answer by at most ``2 R / n``,
      attained by opposite rows, and by ``sqrt(2) R / n``, attained by orthogonal ones, if entries
      are never negative: if the bounds make negative features zero and their map, if any, keeps
      signs (scales >= 0, no matrix, no shift). Zeroing a row out moves it by at most ``R / n``.
      Proof: theorem M3 of ``docs/proofs/moments.md``.
    """

    name: ClassVar[str] = "row_means"

    bounds: RowBounds
    n_samples: int
    n_classes: int = 1
    actual_rows: int | None = None

    @property
    def one_sided(self) -> bool:
        """True if no entry of a row can be negative."""
        row_map = self.bounds.row_map
        keeps_signs = row_map is None or (
            row_map.matrix is None
            and bool(np.all(row_map.scale >= 0) and np.all(row_map.shift == 0))
        )
        return self.bounds.nonnegative and self.bounds.intercept_value >= 0 and keeps_signs

    @property
    def rounding(self) -> float:
        """Margin for rounding of a sum of rows, which are mapped after they are added up."""
        longer = spread(self.bounds, 1.0, self.bounds.row_norm)
        return of_sum(self.actual_rows or self.n_samples, longer, mapped_products(self.bounds))

    def sensitivity(self, adjacency: Adjacency) -> float:
        """``sqrt(2) R / n`` or ``2 R / n``; infinite where double precision is left."""
        norm = self.bounds.row_norm
        if not (norm >= _LEAST_NORM and norm * self.n_samples <= _LARGEST_SUM):
            return inf
        if adjacency is Adjacency.REPLACE_ONE and self.one_sided:
            return sqrt(2.0) * norm / self.n_samples
        return adjacency.of_sum(norm) / self.n_samples

    def evaluate(self, rows: RowStore) -> np.ndarray:
        """The exact answer, of shape (p, K), or (p,) for one class."""
        return rows.bounded(self.bounds).sum(self._of_block) / self.n_samples

    def public(self) -> tuple[object, ...]:
        """The norm bound, whether rows are one-sided, and the number of classes."""
        return (self.bounds.row_norm, self.one_sided, self.n_classes)

    def _of_block(self, block: BoundedBlock) -> np.ndarray:
        m, k = len(block.y), self.n_classes
        s = block.weights
        if k == 1:
            return block.combine(np.ones(m) if s is None else s.copy())
        check_targets_a_row(type(self).__name__, block)
        members = np.zeros((m, k))
        members[np.arange(m), np.clip(np.nan_to_num(block.y), 0, k - 1).astype(np.intp)] = (
            1.0 if s is None else s
        )
        return block.combine(members)
