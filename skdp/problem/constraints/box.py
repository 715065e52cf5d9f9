"""The box."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, sqrt
from typing import ClassVar, Self

import numpy as np

from ...validation import settle_numbers
from .base import Constraint


@dataclass(frozen=True)
class Box(Constraint):
    """``low <= w_j <= high`` for every entry.

    It is a polytope, but with 2^d vertices it is of no use to methods that choose among them.

    Parameters
    ----------
    low, high : float
        Bounds of each entry, finite, low <= high.
    """

    low: float
    high: float

    separable: ClassVar[bool] = True

    def __post_init__(self) -> None:
        settle_numbers(self)
        if not -inf < self.low <= self.high < inf:
            raise ValueError(
                f"Box needs finite bounds with low <= high, got low={self.low} and "
                f"high={self.high}; swap them, or use Unconstrained for no bounds."
            )

    def project(self, w: np.ndarray) -> np.ndarray:
        """Clip each entry."""
        return np.clip(w, self.low, self.high)

    def linear_minimizer(self, g: np.ndarray) -> np.ndarray:
        """The corner with ``low`` where g is positive and ``high`` elsewhere."""
        return np.where(g > 0, float(self.low), float(self.high))

    def diameter(self, n_features: int) -> float:
        """Length of the diagonal."""
        return (self.high - self.low) * sqrt(n_features)

    def scaled(self, factor: float) -> Self:
        """The set of all ``factor * w`` with w in this one."""
        return type(self)(self.low * factor, self.high * factor)
