"""Entropy on the simplex and, by doubling, on the l1 ball."""

from __future__ import annotations

from dataclasses import dataclass
from math import log, sqrt

import numpy as np
from scipy.optimize import brentq
from scipy.special import softmax, xlogy

from .base import MirrorMap

# Share of the radius by which points at the border are drawn inwards, where logarithms end.
_INWARDS = 1e-3


@dataclass(frozen=True)
class Entropy(MirrorMap):
    r"""Negative entropy on a simplex, or on the l1 ball as the image of a simplex twice as large.

    On the simplex, ``psi(w) = radius^2 sum_j u_j log u_j`` with ``u = w / radius``. On the l1 ball
    w is ``radius (u - v)`` with (u, v) in the simplex of twice the entries, and psi(w) is the least
    entropy of such a pair. Both are 1-strongly convex in the l1 norm by Pinsker's inequality, and
    their range is ``radius^2`` times the logarithm of the number of vertices, while the dual norm
    of noise, its largest entry, grows like the root of that logarithm: neither sees the dimension.

    Parameters
    ----------
    radius : float
        Of the simplex or l1 ball.
    signed : bool
        Whether the set is the l1 ball.
    """

    radius: float
    signed: bool

    def norm(self, w: np.ndarray) -> float:
        """The l1 norm."""
        return float(np.abs(w).sum())

    def value(self, w: np.ndarray) -> float:
        """``radius^2`` times the negative entropy."""
        u = w / self.radius
        if not self.signed:
            return self.radius * self.radius * float(xlogy(u, u).sum())
        z = self._normaliser(u)
        # The pair that represents w is exp(+-t) / z, with sinh(t) = z u / 2.
        t = np.arcsinh(0.5 * z * u)
        return self.radius * self.radius * (float(np.vdot(t, u)) - log(z))

    def dual(self, w: np.ndarray) -> np.ndarray:
        """Logarithms of the entries on the simplex; their signed counterpart on the ball."""
        u = w / self.radius
        if not self.signed:
            u = (1 - _INWARDS) * np.maximum(u, 0.0) + _INWARDS / u.size
            return self.radius * np.log(u)
        size = float(np.abs(u).sum())
        u = u * min(1.0, (1 - _INWARDS) / max(size, 0.5))
        return self.radius * np.arcsinh(0.5 * self._normaliser(u) * u)

    def primal(self, dual: np.ndarray) -> np.ndarray:
        """Exponentials, normalised; on the ball ``radius sinh(t) / sum(cosh(t))``."""
        t = dual / self.radius
        if not self.signed:
            return self.radius * softmax(t)
        size = np.abs(t)
        shift = size.max()
        up, down = np.exp(size - shift), np.exp(-size - shift)
        return np.copysign(self.radius * (up - down) / (up.sum() + down.sum()), t)

    def reach(self, n_features: int) -> float:
        """``radius^2`` times the logarithm of the number of vertices."""
        return self.radius * self.radius * log(self._vertices(n_features))

    def width(self, n_features: int) -> float:
        """``sqrt(2 log(d) + 2)``: squares of d normals exceed t with probability d exp(-t / 2)."""
        return sqrt(2 * log(n_features) + 2)

    def _vertices(self, n_features: int) -> int:
        return 2 * n_features if self.signed else max(2, n_features)

    @staticmethod
    def _normaliser(u: np.ndarray) -> float:
        """The z with ``sum_j 2 sqrt(1 + (z u_j / 2)^2) = z``, for ``||u||_1 < 1``."""
        size = float(np.abs(u).sum())
        if size == 0:
            return 2.0 * u.size
        # sqrt(1 + x^2) lies between max(1, x) and 1 + x.
        return float(
            brentq(
                lambda z: 2 * np.sqrt(1 + (0.5 * z * u) ** 2).sum() - z,
                2.0 * u.size * (1 - 1e-12),
                2.0 * u.size / (1 - size) * (1 + 1e-12),
                xtol=1e-12,
            )
        )
