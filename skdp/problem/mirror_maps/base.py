"""Base of mirror maps: geometries in which descent moves."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np


class MirrorMap(ABC):
    r"""A function psi that is 1-strongly convex on a convex set, in a norm of its own.

    Descent moves in the dual space and comes back by ``primal``, the point of the set at which
    ``psi(w) - <dual, w>`` is least. The better the norm fits the set, the less noise counts: what
    enters error bounds is ``width``, the size of noise in the dual norm, and ``reach``, the size of
    the set as psi sees it.

    As for constraints, a matrix is treated as the vector of its entries. All is public.
    """

    @abstractmethod
    def norm(self, w: np.ndarray) -> float:
        """The norm in which psi is 1-strongly convex; at least the l2 norm."""

    @abstractmethod
    def value(self, w: np.ndarray) -> float:
        """psi at a point of the set."""

    @abstractmethod
    def dual(self, w: np.ndarray) -> np.ndarray:
        """The gradient of psi: ``primal(dual(w)) = w`` for w in the interior of the set.

        Points at the border, where the gradient may be infinite, are drawn inwards a little.
        """

    @abstractmethod
    def primal(self, dual: np.ndarray) -> np.ndarray:
        """argmin of ``psi(w) - <dual, w>`` over the set; a fresh array in the shape of dual."""

    @abstractmethod
    def reach(self, n_features: int) -> float:
        """Bound on ``psi - min psi`` over the set, if w has ``n_features`` entries; may be inf."""

    @abstractmethod
    def width(self, n_features: int) -> float:
        """Root of a bound on ``E ||xi||_*^2`` for standard normal xi, in the dual norm."""
