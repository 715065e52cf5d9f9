"""Counts of rows, or sums of their weights, by the size of their norm or by their target."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from ...problem.column_bounds import ColumnScaling
from ..rows.base import RowStore
from ..rows.bounded_rows import RawBlock
from .base import CellsQuery, counted

Histogrammed = Literal["row_norm", "target", "target_size"]


@dataclass(frozen=True, eq=False)
class HistogramQuery(CellsQuery):
    """Number of rows with a value between public edges, or their total weight.

    Parameters
    ----------
    of : {'row_norm', 'target', 'target_size'}
        What is counted: the l2 norm of the features, the target, or its absolute value; all as
        they came, before any clipping, but for the scale.
    edges : ndarray of shape (m,)
        Increasing. Bin k holds values in ``[edges[k-1], edges[k])``; bin 0 lies below all edges
        and bin m above, so that every row falls in exactly one of m + 1 bins.
    scaling : ColumnScaling, optional
        Public scale that features are brought to before their norm is taken.
    column : int, optional
        Which target, where rows have several.
    """

    name: ClassVar[str] = "histogram"

    of: Histogrammed
    edges: np.ndarray
    scaling: ColumnScaling | None = None
    column: int | None = None

    def evaluate(self, rows: RowStore) -> np.ndarray:
        """The exact counts, floats of shape (m + 1,)."""
        return rows.sum(self._of_block)

    def public(self) -> tuple[object, ...]:
        """The quantity that is counted, the edges, and scale and column if there are such."""
        column = () if self.column is None else (self.column,)
        scale = () if self.scaling is None else self.scaling.facts
        return (self.of, self.edges, *column, *scale)

    def _of_block(self, block: RawBlock) -> np.ndarray:
        if self.of == "row_norm":
            values = block.norms if self.scaling is None else block.norms_on(self.scaling)
        else:
            y = block.y if self.column is None else block.y[:, self.column]
            values = y if self.of == "target" else np.abs(y)
        return counted(values, self.edges, block.bounded_weights)
