"""Features shifted, scaled and held within an interval, each by itself, and back."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..data.blocks import Rows

__all__ = ["Affine"]


@dataclass(frozen=True, eq=False)
class Affine:
    """The map ``z_j = clip((x_j - shift_j) * factor_j, low_j, high_j)``, feature by feature.

    Parameters
    ----------
    factor : ndarray of shape (d,)
        Positive.
    shift : ndarray of shape (d,), optional
        What is taken off; None for nothing, which sparse rows need.
    within : (ndarray, ndarray), optional
        low and high, each of shape (d,); None holds nothing back. For sparse rows low <= 0 <= high.
    """

    factor: np.ndarray
    shift: np.ndarray | None = None
    within: tuple[np.ndarray, np.ndarray] | None = None

    def apply(self, X: Rows) -> Rows:
        """The rows (m, d) on the new scale. Overwrites them."""
        values, features = _entries(X)
        # Entries beyond the largest float end at the bound, which is where they belong.
        with np.errstate(all="ignore"):
            if self.shift is not None:
                values -= self.shift[features]
            values *= self.factor[features]
            if self.within is not None:
                low, high = self.within
                np.clip(values, low[features], high[features], out=values)
        return X

    def undo(self, X: Rows) -> Rows:
        """Rows on the new scale brought back. Overwrites them."""
        values, features = _entries(X)
        with np.errstate(all="ignore"):
            values /= self.factor[features]
            if self.shift is not None:
                values += self.shift[features]
        return X


def _entries(X: Rows) -> tuple[np.ndarray, np.ndarray | slice]:
    """The entries that are stored, and the feature of each as an index."""
    return (X, slice(None)) if isinstance(X, np.ndarray) else (X.data, X.indices)
