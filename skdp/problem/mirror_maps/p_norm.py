"""Squared p-norms on l_p balls."""

from __future__ import annotations

from dataclasses import dataclass
from math import log, pi

import numpy as np
from scipy.special import gammaln

from ..constraints.lp_ball import lp_norm
from .base import MirrorMap


@dataclass(frozen=True)
class PNorm(MirrorMap):
    r"""``psi(w) = ||w||_p^2 / (2 (p - 1))`` on the l_p ball, 1 < p <= 2.

    It is 1-strongly convex in the l_p norm. As psi depends on the norm alone, coming back to the
    ball from outside is shrinking.

    Parameters
    ----------
    radius : float
        Of the ball.
    p : float
        Exponent.
    """

    radius: float
    p: float

    def norm(self, w: np.ndarray) -> float:
        """The l_p norm."""
        return lp_norm(w, self.p)

    def value(self, w: np.ndarray) -> float:
        """Half the squared norm over p - 1."""
        return 0.5 * lp_norm(w, self.p) ** 2 / (self.p - 1)

    def dual(self, w: np.ndarray) -> np.ndarray:
        """Gradient: ``sign(w) |w|^{p-1} ||w||_p^{2-p} / (p - 1)``."""
        return _duality(w, self.p) / (self.p - 1)

    def primal(self, dual: np.ndarray) -> np.ndarray:
        """The gradient of the conjugate, shrunk to the radius if it is longer."""
        w = _duality(dual, self.p / (self.p - 1)) * (self.p - 1)
        norm = lp_norm(w, self.p)
        return w * (self.radius / norm) if norm > self.radius else w

    def reach(self, n_features: int) -> float:
        """``radius^2 / (2 (p - 1))``."""
        return 0.5 * self.radius * self.radius / (self.p - 1)

    def width(self, n_features: int) -> float:
        """``d^{1/q} (E |xi|^q)^{1/q}`` with q = p / (p - 1), which bounds it as q >= 2."""
        q = self.p / (self.p - 1)
        log_moment = 0.5 * q * log(2) + float(gammaln(0.5 * (q + 1))) - 0.5 * log(pi)
        return float(np.exp((log(n_features) + log_moment) / q))


def _duality(w: np.ndarray, p: float) -> np.ndarray:
    """Gradient of ``||w||_p^2 / 2``."""
    norm = lp_norm(w, p)
    if norm == 0:
        return np.zeros(w.shape)
    return np.copysign(norm * (np.abs(w) / norm) ** (p - 1), w)
