"""Huber's loss: squared for small residuals, linear for large ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ...validation import settle_numbers
from .base import Loss

_LEAST, _LARGEST = 1e-50, 1e50


@dataclass(frozen=True)
class Huber(Loss):
    """``r^2 / 2`` if ``|r| <= delta``, else ``delta (|r| - delta / 2)``, with ``r = z - y``.

    The derivative is r clipped to [-delta, delta] (Huber 1964), so ``lipschitz`` is delta and
    ``smoothness`` is 1.

    Parameters
    ----------
    delta : float, default=1.0
        Residual beyond which the loss is linear, in units of y; in [1e-50, 1e50].
    """

    delta: float = 1.0

    of_residuals: ClassVar[bool] = True
    n_scores: ClassVar[int] = 1
    smoothness: ClassVar[float] = 1.0
    convex: ClassVar[bool] = True
    targets: ClassVar[str] = "finite numbers"

    def __post_init__(self) -> None:
        settle_numbers(self)
        if not _LEAST <= self.delta <= _LARGEST:
            raise ValueError(
                f"Huber needs a delta between {_LEAST} and {_LARGEST}, got {self.delta}; use "
                "Squared for a loss that is nowhere linear."
            )

    @property
    def lipschitz(self) -> float:
        """Slope of the linear parts, delta."""
        return self.delta

    def value(self, y: np.ndarray, z: np.ndarray) -> np.ndarray:
        """Loss of each row."""
        r = z - y
        c = np.clip(r, -self.delta, self.delta)
        return c * (r - 0.5 * c)

    def derivative(self, y: np.ndarray, z: np.ndarray) -> np.ndarray:
        """Residual, clipped to [-delta, delta]."""
        r = z - y
        return np.clip(r, -self.delta, self.delta, out=r)

    def _valid(self, y: np.ndarray) -> np.ndarray:
        return np.isfinite(y)
