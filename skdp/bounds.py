"""Public bounds that rows and targets are brought to before anything is computed from them."""

from __future__ import annotations

from dataclasses import dataclass
from math import hypot

import numpy as np

from .row_map import RowMap

__all__ = ["RowBounds", "TargetBounds"]

_FARTHEST = 1e150


@dataclass(frozen=True)
class TargetBounds:
    """Targets are clipped to [low, high], then mapped linearly into [-1, 1].

    Parameters
    ----------
    low, high : float
        The bounds, low < high.
    centred : bool, default=True
        Whether the middle of the interval goes to 0. A model without an intercept needs
        ``centred=False``: its zero must stay zero.
    """

    low: float
    high: float
    centred: bool = True

    @property
    def centre(self) -> float:
        """The target that is mapped to 0."""
        return 0.5 * self.low + 0.5 * self.high if self.centred else 0.0

    @property
    def half_width(self) -> float:
        """Width in target units of one unit after mapping."""
        if self.centred:
            return 0.5 * self.high - 0.5 * self.low
        return max(abs(self.low), abs(self.high))


@dataclass(frozen=True)
class RowBounds:
    """What every row respects.

    Parameters
    ----------
    data_norm : float
        Rows of larger l2 norm are scaled down to it.
    intercept_value : float, default=0.0
        Value of the constant column that is appended to each row; 0 appends none.
    target : TargetBounds, optional
        What targets are brought to; None leaves them (class labels).
    row_map : RowMap, optional
        Public coordinates in which the bounded rows are used, without the intercept entry.
    feature_bound : float, optional
        Bound on the size of each entry. Questions about single features clip entries to it; others
        do without.
    columns : tuple of int, optional
        Features that are kept, in this order; rows are cut to them before their norm is taken.
        None keeps all.
    nonnegative : bool, default=False
        Whether negative features count as zero.
    """

    data_norm: float
    intercept_value: float = 0.0
    target: TargetBounds | None = None
    row_map: RowMap | None = None
    feature_bound: float | None = None
    columns: tuple[int, ...] | None = None
    nonnegative: bool = False

    def __post_init__(self) -> None:
        if self.row_map is None:
            return
        # Beyond this, squares of lengths overflow and rows could become NaN, depending on them.
        reach = self.data_norm * self.row_map.reach()
        shift = float(np.abs(self.row_map.shift).max(initial=0.0))
        if not (reach <= _FARTHEST and shift <= _FARTHEST and self.row_map.norm > 0):
            raise ValueError(
                f"RowBounds needs a finite row map that takes rows no further than {_FARTHEST:g} "
                f"and a positive norm, got {reach:g}, {shift:g} and {self.row_map.norm:g}."
            )

    @property
    def row_norm(self) -> float:
        """Bound on the norm of a row with its intercept entry."""
        norm = self.data_norm if self.row_map is None else self.row_map.norm
        return hypot(norm, self.intercept_value)
