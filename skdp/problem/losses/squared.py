"""The squared loss."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import ClassVar

import numpy as np

from .base import Loss


@dataclass(frozen=True)
class Squared(Loss):
    """``(z - y)^2 / 2`` with any finite y.

    The derivative ``z - y`` is unbounded, so ``lipschitz`` is infinite: a private gradient has to
    clip it, which makes this Huber's loss. The second derivative is 1.
    """

    of_residuals: ClassVar[bool] = True
    squared: ClassVar[bool] = True
    n_scores: ClassVar[int] = 1
    lipschitz: ClassVar[float] = inf
    smoothness: ClassVar[float] = 1.0
    convex: ClassVar[bool] = True
    targets: ClassVar[str] = "finite numbers"

    def value(self, y: np.ndarray, z: np.ndarray) -> np.ndarray:
        """Half the squared residual; inf where it exceeds the largest float."""
        with np.errstate(over="ignore"):
            return 0.5 * np.square(z - y)

    def derivative(self, y: np.ndarray, z: np.ndarray) -> np.ndarray:
        """Residual ``z - y``."""
        return z - y

    def _valid(self, y: np.ndarray) -> np.ndarray:
        return np.isfinite(y)
