"""Tukey's biweight: squared for small residuals, constant for large ones."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import ClassVar

import numpy as np

from ...validation import settle_numbers
from .base import Loss

_LEAST, _LARGEST = 1e-50, 1e50


@dataclass(frozen=True)
class Tukey(Loss):
    """``c^2 / 6 (1 - (1 - (r / c)^2)^3)`` if ``|r| <= c``, else ``c^2 / 6``; ``r = z - y``.

    Residuals beyond c do not count at all (Beaton and Tukey 1974), which makes the loss robust
    against any number of wild targets below one half, and not convex: where the start gives most
    rows a residual beyond c, nothing is learned from them.

    With ``u = r / c`` the derivative is ``r (1 - u^2)^2``, and its derivative in r is
    ``(1 - u^2) (1 - 5 u^2)``.

    - ``lipschitz`` is ``16 c / (25 sqrt(5))``, about 0.286 c, attained where that vanishes inside:
      at ``u = 1 / sqrt(5)``.
    - ``smoothness`` is 1, attained at r = 0: as a function of ``u^2`` in [0, 1] the second
      derivative is a parabola that starts at 1, ends at 0 and is lowest at 3/5, with -4/5.

    Parameters
    ----------
    width : float, default=1.0
        Residual c from which the loss is constant, in units of y; in [1e-50, 1e50]. Estimators
        bring targets to [-1, 1] first, so with them the unit is half the width of the bounds.
    """

    width: float = 1.0

    of_residuals: ClassVar[bool] = True
    n_scores: ClassVar[int] = 1
    smoothness: ClassVar[float] = 1.0
    convex: ClassVar[bool] = False
    targets: ClassVar[str] = "finite numbers"

    def __post_init__(self) -> None:
        settle_numbers(self)
        if not _LEAST <= self.width <= _LARGEST:
            raise ValueError(
                f"Tukey needs a width between {_LEAST} and {_LARGEST}, got {self.width}; use "
                "Squared for a loss that is nowhere constant."
            )

    @property
    def lipschitz(self) -> float:
        """Largest slope, that of a residual of width / sqrt(5)."""
        return 16.0 * self.width / (25.0 * sqrt(5.0))

    def value(self, y: np.ndarray, z: np.ndarray) -> np.ndarray:
        """Loss of each row."""
        r = np.clip(z - y, -self.width, self.width)
        square = np.square(r / self.width)
        # c^2 (1 - (1 - u^2)^3), multiplied out because 1 - (1 - u^2) would cancel.
        return np.square(r) * (3.0 + square * (square - 3.0)) / 6.0

    def derivative(self, y: np.ndarray, z: np.ndarray) -> np.ndarray:
        """Residual, weighed down to 0 at the width and beyond."""
        r = z - y
        np.clip(r, -self.width, self.width, out=r)
        weight = np.square(r / self.width)
        np.subtract(1.0, weight, out=weight)
        np.square(weight, out=weight)
        r *= weight
        return r

    def _valid(self, y: np.ndarray) -> np.ndarray:
        return np.isfinite(y)
