"""Sets whose vertices are signed coordinates, by number."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from .constraints import Constraint


@dataclass(frozen=True)
class AxisVertices:
    """A set whose vertices are signed coordinates, and perhaps zero.

    Vertex j < d is ``radius e_j`` for d entries, and vertex d + j, if there are such,
    ``-radius e_j``; zero is the last.

    Parameters
    ----------
    radius : float
        Size of the entry of a vertex.
    two_sided : bool
        Whether one may go down as well as up.
    zero : bool, default=False
        Whether zero is one of the points to go to.
    """

    radius: float
    two_sided: bool
    zero: bool = False

    @classmethod
    def of(cls, constraint: Constraint, *, penalised: bool = False) -> Self:
        """The vertices of a constraint that has such.

        Parameters
        ----------
        constraint : Constraint
            With ``axis_vertices``.
        penalised : bool, default=False
            Whether there is an l1 penalty beside it, for which zero is a point to go to.
        """
        # The vertex farthest down a slope is a negative one, if there are any.
        vertex = float(constraint.linear_minimizer(np.ones(1))[0])
        return cls(abs(vertex), vertex < 0, vertex < 0 and penalised)

    def point(self, index: int, shape: tuple[int, ...]) -> tuple[int, float]:
        """Position among the entries of weights of this shape, and value, of a numbered vertex.

        Parameters
        ----------
        index : int
            Number of the vertex.
        shape : tuple of int
            Of the weights.
        """
        size = int(np.prod(shape))
        if index == size * (1 + self.two_sided):
            return 0, 0.0
        return index % size, self.radius if index < size else -self.radius

    def scores(self, slopes: np.ndarray, l1: float) -> np.ndarray:
        """Fall of the objective towards each vertex for these slopes, over the radius.

        Parameters
        ----------
        slopes : ndarray
            Of the objective without its l1 penalty.
        l1 : float
            Strength of that.
        """
        g = slopes.ravel()
        out = np.concatenate([-g, g]) if self.two_sided else -g
        return np.append(out - l1, 0.0) if self.zero else out
