"""Base of feasible sets: projection, diameter, start."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar, Self

import numpy as np


class Constraint(ABC):
    """A closed convex set of weights.

    A set concerns the entries of w, not their arrangement: a matrix is treated as the vector of
    its entries, and norms are those of that vector.

    Solvers and estimators ask what a set declares, and never for its class: ``whole_space``, that
    it allows all weights; ``cone``, that it holds all multiples of its points; ``separable``, that
    it allows each entry the same interval, whatever the others are; ``axis_vertices``, that it is
    the hull of multiples of unit vectors, all of one length; ``symmetric``, that with each point it
    holds its negative.
    """

    whole_space: ClassVar[bool] = False
    cone: ClassVar[bool] = False
    separable: ClassVar[bool] = False
    axis_vertices: ClassVar[bool] = False
    symmetric: ClassVar[bool] = False

    @abstractmethod
    def project(self, w: np.ndarray) -> np.ndarray:
        """The point of the set nearest to w in l2, in the shape of w; a fresh array."""

    @abstractmethod
    def linear_minimizer(self, g: np.ndarray) -> np.ndarray:
        """A point v of the set with the least ``<g, v>``, in the shape of g; a fresh array."""

    @abstractmethod
    def diameter(self, n_features: int) -> float:
        """Largest l2 distance of two points of the set, if w has ``n_features`` entries."""

    @abstractmethod
    def scaled(self, factor: float) -> Self:
        """The set of all ``factor * w`` with w in this one, factor > 0; for a change of units."""

    def contains(self, w: np.ndarray, tol: float = 1e-9) -> bool:
        """True if w lies within l2 distance ``tol`` of the set."""
        return bool(np.linalg.norm(w - self.project(w)) <= tol)

    def start(self, shape: tuple[int, ...]) -> np.ndarray:
        """The feasible point nearest to zero: zero if it is feasible, the centre of a simplex."""
        return self.project(np.zeros(shape))


class Polytope(Constraint, ABC):
    """A set that is the convex hull of finitely many vertices, numbered from 0."""

    @abstractmethod
    def n_vertices(self, n_features: int) -> int:
        """Number of vertices, if w has ``n_features`` entries."""

    @abstractmethod
    def _vertex(self, index: int, n_features: int) -> np.ndarray:
        """The vertex of a valid index, shape (n_features,)."""

    def vertex(self, index: int, n_features: int) -> np.ndarray:
        """One vertex.

        Parameters
        ----------
        index : int
            From 0 to ``n_vertices(n_features) - 1``.
        n_features : int
            Number of entries.

        Returns
        -------
        v : ndarray of shape (n_features,)
            A fresh array.

        Raises
        ------
        IndexError
            If there is no such vertex.
        """
        count = self.n_vertices(n_features)
        if not 0 <= index < count:
            raise IndexError(
                f"{type(self).__name__} has vertices 0 to {count - 1} with {n_features} entries, "
                f"got index {index}; pass one of them."
            )
        return self._vertex(index, n_features)
