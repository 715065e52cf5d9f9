"""The mean of the last iterates of a number of steps that is known beforehand."""

from __future__ import annotations

from math import ceil

import numpy as np

__all__ = ["TailMean"]


class TailMean:
    """A running mean, which takes the memory of one iterate.

    Parameters
    ----------
    steps : int
        Number of iterates that are planned.
    share : float
        Share of them, the last ones, that counts, in [0, 1]; at least the last one does.
    """

    def __init__(self, steps: int, share: float) -> None:
        self._skipped = steps - max(1, ceil(share * steps))
        self._taken = 0
        self._mean: np.ndarray | None = None

    def add(self, w: np.ndarray) -> None:
        """Take in the next iterate."""
        self._taken += 1
        kept = self._taken - self._skipped
        if self._mean is None or kept <= 1:
            # Before the share begins the latest iterate stands for it.
            self._mean = w.copy() if kept == 1 else w
        else:
            self._mean += (w - self._mean) / kept

    def value(self) -> np.ndarray:
        """The mean; the latest iterate if the share has not begun."""
        if self._mean is None:
            raise ValueError("TailMean needs an iterate before it has a value; add one.")
        return self._mean.copy()
