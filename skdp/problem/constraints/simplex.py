"""The simplex."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, sqrt
from typing import ClassVar, Self

import numpy as np

from ...validation import settle_numbers
from .base import Polytope


@dataclass(frozen=True)
class Simplex(Polytope):
    """Non-negative weights that sum to ``radius``.

    With d entries it has d vertices: vertex j is ``radius e_j``.

    Parameters
    ----------
    radius : float, default=1.0
        The sum, positive and finite.
    """

    radius: float = 1.0

    axis_vertices: ClassVar[bool] = True

    def __post_init__(self) -> None:
        settle_numbers(self)
        if not 0 < self.radius < inf:
            raise ValueError(
                f"Simplex needs a radius in (0, inf), got {self.radius}; radius=1 gives "
                "probabilities."
            )

    def project(self, w: np.ndarray) -> np.ndarray:
        """``max(w - theta, 0)``, theta being such that the entries sum to the radius.

        Exact, by sorting (Duchi et al. 2008), in O(d + k log k) for k entries that are within
        ``radius`` of the largest.
        """
        # Adding a constant to all entries changes nothing. With the largest at zero, theta is at
        # least -radius, so that entries below are out, and large entries cost no precision.
        v = w - w.max()
        near = np.sort(v[v > -self.radius])[::-1]
        excess = near.cumsum() - self.radius
        k = np.count_nonzero(near * np.arange(1, near.size + 1) > excess)
        v -= excess[k - 1] / k
        return np.maximum(v, 0.0, out=v)

    def linear_minimizer(self, g: np.ndarray) -> np.ndarray:
        """The vertex at the least entry of g."""
        v = np.zeros(g.shape)
        v.flat[g.argmin()] = self.radius
        return v

    def diameter(self, n_features: int) -> float:
        """Distance of two vertices; zero if there is only one."""
        return sqrt(2.0) * self.radius if n_features > 1 else 0.0

    def scaled(self, factor: float) -> Self:
        """The set of all ``factor * w`` with w in this one."""
        return type(self)(self.radius * factor)

    def n_vertices(self, n_features: int) -> int:
        """One an entry."""
        return n_features

    def _vertex(self, index: int, n_features: int) -> np.ndarray:
        v = np.zeros(n_features)
        v[index] = self.radius
        return v
