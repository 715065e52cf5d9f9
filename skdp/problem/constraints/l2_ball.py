"""The Euclidean ball."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import ClassVar, Self

import numpy as np

from ...validation import settle_numbers
from .base import Constraint


@dataclass(frozen=True)
class L2Ball(Constraint):
    """``||w|| <= radius`` in the l2 norm (Frobenius' norm if w is a matrix).

    Parameters
    ----------
    radius : float
        Positive and finite.
    """

    radius: float

    symmetric: ClassVar[bool] = True

    def __post_init__(self) -> None:
        settle_numbers(self)
        if not 0 < self.radius < inf:
            raise ValueError(
                f"L2Ball needs a radius in (0, inf), got {self.radius}; use Unconstrained for no "
                "bound."
            )

    def project(self, w: np.ndarray) -> np.ndarray:
        """Scale w down to the radius if it is longer."""
        norm = np.linalg.norm(w)
        return w * (self.radius / norm) if norm > self.radius else w.copy()

    def linear_minimizer(self, g: np.ndarray) -> np.ndarray:
        """The point of the sphere opposite to g; zero if g is zero."""
        norm = np.linalg.norm(g)
        return g * (-self.radius / norm) if norm > 0 else np.zeros(g.shape)

    def diameter(self, n_features: int) -> float:
        """Twice the radius."""
        return 2.0 * self.radius

    def scaled(self, factor: float) -> Self:
        """The set of all ``factor * w`` with w in this one."""
        return type(self)(self.radius * factor)
