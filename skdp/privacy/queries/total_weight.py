"""Total weight of the rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ..adjacency import Adjacency
from ..rows.base import RowStore
from ..rows.bounded_rows import RawBlock
from .base import CountQuery


@dataclass(frozen=True, eq=False)
class TotalWeightQuery(CountQuery):
    """Sum of the weights of the rows, each in [0, 1]; a number (array of shape ()).

    Guarantees
    ----------
    - It moves by at most 1, both if a row of weight 1 gives way to one of weight 0 and if it is
      zeroed out. Both are attained.
    """

    name: ClassVar[str] = "total_weight"

    def sensitivity(self, adjacency: Adjacency) -> float:
        """1, under both relations."""
        del adjacency
        return 1.0

    def evaluate(self, rows: RowStore) -> np.ndarray:
        """The exact sum."""
        return rows.sum(_of_block)

    def public(self) -> tuple[object, ...]:
        """Nothing: there is one such query."""
        return ()


def _of_block(block: RawBlock) -> np.ndarray:
    weights = block.bounded_weights
    return np.array(float(len(block.y)) if weights is None else float(weights.sum()))
