"""No penalty."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np

from .base import Penalty


@dataclass(frozen=True)
class NoPenalty(Penalty):
    """The penalty that is zero everywhere."""

    separable: ClassVar[bool] = True
    isotropic: ClassVar[bool] = True
    strong_convexity: ClassVar[float] = 0.0

    def value(self, w: np.ndarray) -> float:
        """Zero."""
        return 0.0

    def prox(self, w: np.ndarray, step: float) -> np.ndarray:
        """A copy of w."""
        return w.copy()

    def scaled(self, factor: float) -> Self:
        """Itself."""
        return self
