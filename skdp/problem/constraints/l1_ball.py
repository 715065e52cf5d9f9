"""The l1 ball, or cross-polytope."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import ClassVar, Self

import numpy as np

from ...validation import settle_numbers
from .base import Polytope
from .simplex import Simplex


@dataclass(frozen=True)
class L1Ball(Polytope):
    """``||w||_1 <= radius``: the sum of the absolute entries is bounded.

    With d entries it has 2d vertices: vertex j < d is ``radius e_j``, vertex d + j is
    ``-radius e_j``.

    Parameters
    ----------
    radius : float
        Positive and finite.
    """

    radius: float

    axis_vertices: ClassVar[bool] = True
    symmetric: ClassVar[bool] = True

    def __post_init__(self) -> None:
        settle_numbers(self)
        if not 0 < self.radius < inf:
            raise ValueError(
                f"L1Ball needs a radius in (0, inf), got {self.radius}; use Unconstrained for no "
                "bound."
            )

    def project(self, w: np.ndarray) -> np.ndarray:
        """Project the absolute entries on the simplex, keep the signs (Duchi et al. 2008)."""
        size = np.abs(w)
        if size.sum() <= self.radius:
            return w.copy()
        return np.copysign(Simplex(self.radius).project(size), w)

    def linear_minimizer(self, g: np.ndarray) -> np.ndarray:
        """The vertex opposite to the largest entry of g in absolute value."""
        v = np.zeros(g.shape)
        j = np.abs(g).argmax()
        v.flat[j] = -np.copysign(self.radius, g.flat[j])
        return v

    def diameter(self, n_features: int) -> float:
        """Twice the radius, between opposite vertices."""
        return 2.0 * self.radius

    def scaled(self, factor: float) -> Self:
        """The set of all ``factor * w`` with w in this one."""
        return type(self)(self.radius * factor)

    def n_vertices(self, n_features: int) -> int:
        """Two an entry."""
        return 2 * n_features

    def _vertex(self, index: int, n_features: int) -> np.ndarray:
        v = np.zeros(n_features)
        v[index % n_features] = self.radius if index < n_features else -self.radius
        return v
