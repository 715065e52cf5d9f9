"""Public bounds of single features."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..validation import check_numbers

__all__ = ["ColumnBounds"]

# Half widths within these leave room for squares and inverses in double precision.
_LEAST_HALF_WIDTH, _LARGEST_HALF_WIDTH = 1e-150, 1e150


@dataclass(frozen=True, eq=False)
class ColumnBounds:
    """Interval ``[low_j, high_j]`` of each feature, to which its values are clipped.

    Parameters
    ----------
    low, high : ndarray of shape (d,)
        The ends.

    Raises
    ------
    ValueError
        If an interval is not finite, or its length is not in [2e-150, 2e150].
    """

    low: np.ndarray
    high: np.ndarray

    def __post_init__(self) -> None:
        half = self.half_width
        if not np.all((half >= _LEAST_HALF_WIDTH) & (half <= _LARGEST_HALF_WIDTH)):
            raise ValueError(
                "Bounds of features need to be finite, with low < high for each, got others for "
                "at least one feature; swap its ends, or widen its interval if it does not vary."
            )

    @classmethod
    def of(cls, who: str, given: Any, n_features: int) -> ColumnBounds:
        """The bounds that a parameter ``bounds`` gives.

        Parameters
        ----------
        who : str
            Whose parameter it is.
        given : (low, high)
            Each a number for all features or a sequence of n_features numbers.
        n_features : int
            Number of features d.

        Raises
        ------
        ValueError
            If it is not a pair of such, or has low >= high somewhere.
        """
        needed = f"{who} needs bounds=(low, high), numbers or one number for each feature"
        if not isinstance(given, tuple | list | np.ndarray) or len(given) != 2:
            raise ValueError(f"{needed}, got a {type(given).__name__}; pass a pair.")
        ends = []
        for name, end in zip(("low", "high"), given, strict=True):
            for value in np.ravel(np.asarray(end, dtype=object)):
                check_numbers(who, **{f"the {name} end of bounds": value})
            values = np.asarray(end, dtype=np.float64)
            if values.ndim and values.shape != (n_features,):
                raise ValueError(
                    f"{needed}, got {values.size} for the {name} ends of {n_features} features; "
                    "pass a number to use it for all."
                )
            ends.append(np.broadcast_to(values, n_features).copy())
        return cls(*ends)

    @property
    def centre(self) -> np.ndarray:
        """Middles of the intervals, shape (d,)."""
        return 0.5 * self.low + 0.5 * self.high

    @property
    def half_width(self) -> np.ndarray:
        """Half the lengths of the intervals, shape (d,)."""
        with np.errstate(all="ignore"):
            return 0.5 * self.high - 0.5 * self.low

    @property
    def around_zero(self) -> bool:
        """True if all intervals hold zero."""
        return bool(np.all((self.low <= 0) & (self.high >= 0)))
