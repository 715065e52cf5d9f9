"""The average of models of blocks, by the squares of the sizes of the blocks."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

__all__ = ["Average"]


@dataclass(frozen=True, eq=False)
class Average:
    """Released weights so far.

    The noise of a block's model falls with its size, so weights that are inverse to variances go
    with the square.

    Parameters
    ----------
    w : ndarray
        Average of the weights of blocks.
    weight : float, default=0.0
        Sum of the squared sizes of blocks.
    seen : int, default=0
        Number of users in them.
    """

    w: np.ndarray
    weight: float = 0.0
    seen: int = 0

    def with_block(self, w: np.ndarray, seen: int) -> Average:
        """The average with one more block, which ends after this many users.

        Parameters
        ----------
        w : ndarray
            Weights of the block.
        seen : int
            Number of users up to its end.
        """
        added = float(seen - self.seen) ** 2
        total = self.weight + added
        return Average(self.w + (w - self.w) * (added / total), total, seen)
