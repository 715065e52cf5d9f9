"""Sets without bounds: the whole space, and no negative entries."""

from __future__ import annotations

from abc import ABC
from dataclasses import dataclass
from math import inf
from typing import ClassVar, Self, final

import numpy as np

from .base import Constraint


class _Cone(Constraint, ABC):
    """A set that holds all multiples of its points."""

    cone: ClassVar[bool] = True
    separable: ClassVar[bool] = True
    _advice: ClassVar[str]

    @final
    def linear_minimizer(self, g: np.ndarray) -> np.ndarray:
        """Refused: a linear function may have no minimum on an unbounded set.

        Raises
        ------
        ValueError
            Always.
        """
        raise ValueError(
            f"A linear minimizer needs a bounded set, got {type(self).__name__}; use "
            f"{self._advice}, or a solver that projects."
        )

    @final
    def diameter(self, n_features: int) -> float:
        """Infinite."""
        return inf

    @final
    def scaled(self, factor: float) -> Self:
        """The set of all ``factor * w`` with w in this one, which is itself."""
        return self


@dataclass(frozen=True)
class Unconstrained(_Cone):
    """The whole space."""

    whole_space: ClassVar[bool] = True
    _advice: ClassVar[str] = "L1Ball, L2Ball, Box or Simplex"

    def project(self, w: np.ndarray) -> np.ndarray:
        """A copy of w."""
        return w.copy()


@dataclass(frozen=True)
class NonNegative(_Cone):
    """``w_j >= 0`` for every entry."""

    _advice: ClassVar[str] = "Box with a low of 0"

    def project(self, w: np.ndarray) -> np.ndarray:
        """Negative entries become zero."""
        return np.maximum(w, 0.0)
