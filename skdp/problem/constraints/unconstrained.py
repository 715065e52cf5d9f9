"""No constraint."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import ClassVar, Self

import numpy as np

from .base import Constraint

__all__ = ["Unconstrained"]


@dataclass(frozen=True)
class Unconstrained(Constraint):
    """The whole space."""

    whole_space: ClassVar[bool] = True
    cone: ClassVar[bool] = True
    separable: ClassVar[bool] = True

    def project(self, w: np.ndarray) -> np.ndarray:
        """A copy of w."""
        return w.copy()

    def linear_minimizer(self, g: np.ndarray) -> np.ndarray:
        """Refused: a linear function has no minimum on the whole space.

        Raises
        ------
        ValueError
            Always.
        """
        raise ValueError(
            "A linear minimizer needs a bounded set, got Unconstrained; use L1Ball, L2Ball, Box or "
            "Simplex, or a solver that projects."
        )

    def diameter(self, n_features: int) -> float:
        """Infinite."""
        return inf

    def scaled(self, factor: float) -> Self:
        """The set of all ``factor * w`` with w in this one."""
        return self
