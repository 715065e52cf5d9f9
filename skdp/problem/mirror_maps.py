"""Mirror maps: geometries in which descent moves."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from math import log, pi, sqrt

import numpy as np
from scipy.optimize import brentq
from scipy.special import gammaln, softmax, xlogy

from .constraints import Constraint, L1Ball, LpBall, Simplex, lp_norm

__all__ = ["Entropy", "Euclidean", "MirrorMap", "PNorm", "choose_mirror_map"]


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


@dataclass(frozen=True)
class Euclidean(MirrorMap):
    """``psi(w) = ||w||_2^2 / 2``; coming back from the dual is projecting."""

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


@dataclass(frozen=True)
class PNorm(MirrorMap):
    r"""``psi(w) = ||w||_p^2 / (2 (p - 1))`` on the l_p ball, 1 < p <= 2.

    It is 1-strongly convex in the l_p norm. As psi depends on the norm alone, coming back to the
    ball from outside is shrinking.
    """

    #: Of the ball.
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
    """

    #: Of the simplex or l1 ball.
    radius: float
    #: Whether the set is the l1 ball.
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


def choose_mirror_map(constraint: Constraint, n_features: int) -> MirrorMap:
    """The map of the least error bound, ``width sqrt(reach)``, among those of a set.

    Entropy or the p-norm where the set is an l1 ball, a simplex or an l_p ball with p <= 2, and w
    has so many entries that it pays; otherwise the Euclidean map.
    """
    euclidean, own = Euclidean(constraint), _own(constraint)
    if own is None:
        return euclidean

    def bound(mirror: MirrorMap) -> float:
        return mirror.width(n_features) ** 2 * mirror.reach(n_features)

    return own if bound(own) < bound(euclidean) else euclidean


def _own(constraint: Constraint) -> MirrorMap | None:
    """The map made for a set, if there is one."""
    # By class and not by declarations: width and reach of a map are proved for that set alone.
    if isinstance(constraint, L1Ball):
        return Entropy(constraint.radius, signed=True)
    if isinstance(constraint, Simplex):
        return Entropy(constraint.radius, signed=False)
    if isinstance(constraint, LpBall) and constraint.p < 2:
        return PNorm(constraint.radius, constraint.p)
    return None
