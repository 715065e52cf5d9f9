"""The hinge loss of support vector machines."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import ClassVar

import numpy as np

from .base import Loss


@dataclass(frozen=True)
class Hinge(Loss):
    """``max(0, 1 - s z)`` with y in {0, 1} and the sign ``s = 2 y - 1``.

    Rows on the right side of the margin, ``s z >= 1``, count for nothing; all others have the
    derivative ``-s``, so ``lipschitz`` is 1 and attained. At ``s z = 1`` there is no derivative,
    and 0 is returned, which is a subgradient. The derivative jumps there, so ``smoothness`` is
    infinite.

    As the derivative has one size only, clipping it to less than 1 scales the loss and changes
    nothing else.
    """

    family: ClassVar[str] = "hinge"
    n_scores: ClassVar[int] = 1
    lipschitz: ClassVar[float] = 1.0
    smoothness: ClassVar[float] = inf
    convex: ClassVar[bool] = True
    targets: ClassVar[str] = "0 or 1"

    def value(self, y: np.ndarray, z: np.ndarray) -> np.ndarray:
        """Distance of the score below the margin, 0 beyond it."""
        return np.maximum(0.0, 1.0 + (1.0 - 2.0 * y) * z)

    def derivative(self, y: np.ndarray, z: np.ndarray) -> np.ndarray:
        """Minus the sign within the margin, else 0."""
        d = 1.0 - 2.0 * y
        d *= d * z > -1.0
        return d

    def _valid(self, y: np.ndarray) -> np.ndarray:
        return (y == 0) | (y == 1)
