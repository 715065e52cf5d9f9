"""No negative entries."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import ClassVar, Self

import numpy as np

from .base import Constraint

__all__ = ["NonNegative"]


@dataclass(frozen=True)
class NonNegative(Constraint):
    """``w_j >= 0`` for every entry."""

    cone: ClassVar[bool] = True
    separable: ClassVar[bool] = True

    def project(self, w: np.ndarray) -> np.ndarray:
        """Negative entries become zero."""
        return np.maximum(w, 0.0)

    def linear_minimizer(self, g: np.ndarray) -> np.ndarray:
        """Refused: a linear function may have no minimum on an unbounded set.

        Raises
        ------
        ValueError
            Always.
        """
        raise ValueError(
            "A linear minimizer needs a bounded set, got NonNegative; use Box with a low of 0, or "
            "a solver that projects."
        )

    def diameter(self, n_features: int) -> float:
        """Infinite."""
        return inf

    def scaled(self, factor: float) -> Self:
        """The set of all ``factor * w`` with w in this one, which is itself."""
        return self
