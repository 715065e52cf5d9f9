"""The Euclidean geometry on any set that can be projected on."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt

import numpy as np

from ..constraints import Constraint
from .base import MirrorMap


@dataclass(frozen=True)
class Euclidean(MirrorMap):
    """``psi(w) = ||w||_2^2 / 2``; coming back from the dual is projecting.

    Parameters
    ----------
    constraint : Constraint
        The set.
    """

    constraint: Constraint

    def norm(self, w: np.ndarray) -> float:
        """The l2 norm."""
        return float(np.linalg.norm(w))

    def value(self, w: np.ndarray) -> float:
        """Half the squared l2 norm."""
        return 0.5 * float(np.vdot(w, w))

    def dual(self, w: np.ndarray) -> np.ndarray:
        """The point itself."""
        return w.copy()

    def primal(self, dual: np.ndarray) -> np.ndarray:
        """The projection."""
        return self.constraint.project(dual)

    def reach(self, n_features: int) -> float:
        """Half the squared radius of a symmetric set; of others, half the squared diameter."""
        diameter = self.constraint.diameter(n_features)
        return (0.125 if self.constraint.symmetric else 0.5) * diameter * diameter

    def width(self, n_features: int) -> float:
        """Root of the number of entries."""
        return sqrt(n_features)
