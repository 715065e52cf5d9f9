"""The squared hinge loss, the default of scikit-learn's linear support vector machine."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import ClassVar

import numpy as np

from .base import Loss

# Twice this is the largest float.
_FARTHEST = float(np.finfo(np.float64).max) / 2


@dataclass(frozen=True)
class SquaredHinge(Loss):
    """``max(0, 1 - s z)^2`` with y in {0, 1} and the sign ``s = 2 y - 1``.

    The derivative ``-2 s max(0, 1 - s z)`` is continuous and unbounded, so ``lipschitz`` is
    infinite: a private gradient has to clip it. Clipped to c it is that of a loss that is squared
    for ``1 - c / 2 <= s z <= 1`` and linear beyond (Rosset and Zhu 2007): for small c about the
    hinge loss times c. The second derivative is 2 within the margin and 0 elsewhere, so
    ``smoothness`` is 2.
    """

    family: ClassVar[str] = "squared_hinge"
    n_scores: ClassVar[int] = 1
    lipschitz: ClassVar[float] = inf
    smoothness: ClassVar[float] = 2.0
    convex: ClassVar[bool] = True
    targets: ClassVar[str] = "0 or 1"

    def value(self, y: np.ndarray, z: np.ndarray) -> np.ndarray:
        """Squared distance from the margin; inf where it exceeds the largest float."""
        with np.errstate(over="ignore"):
            return np.square(np.maximum(0.0, 1.0 + (1.0 - 2.0 * y) * z))

    def derivative(self, y: np.ndarray, z: np.ndarray) -> np.ndarray:
        """Twice the distance from the margin, with the sign that leads away from it."""
        d = 1.0 - 2.0 * y
        away = d * z
        away += 1.0
        np.clip(away, 0.0, _FARTHEST, out=away)
        d *= away
        d *= 2.0
        return d

    def _valid(self, y: np.ndarray) -> np.ndarray:
        return (y == 0) | (y == 1)
