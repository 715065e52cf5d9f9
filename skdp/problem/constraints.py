"""Feasible sets of the weights, which are public."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from math import inf, sqrt
from typing import ClassVar, Self, final

import numpy as np

from ..validation import settle_numbers

__all__ = [
    "Box",
    "Constraint",
    "L1Ball",
    "L2Ball",
    "LpBall",
    "NonNegative",
    "Simplex",
    "Unconstrained",
]


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


@dataclass(frozen=True)
class _OfRadius(Constraint, ABC):
    """A set that is proportional to its radius, positive and finite."""

    _advice: ClassVar[str] = "use Unconstrained for no bound"

    radius: float

    def __post_init__(self) -> None:
        settle_numbers(self)
        if not 0 < self.radius < inf:
            raise ValueError(
                f"{type(self).__name__} needs a radius in (0, inf), got {self.radius}; "
                f"{self._advice}."
            )

    def scaled(self, factor: float) -> Self:
        return replace(self, radius=self.radius * factor)


@dataclass(frozen=True)
class L2Ball(_OfRadius):
    """``||w|| <= radius`` in the l2 norm (Frobenius' norm if w is a matrix).

    Parameters
    ----------
    radius : float
        Positive and finite.
    """

    symmetric: ClassVar[bool] = True

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


@dataclass(frozen=True)
class L1Ball(_OfRadius):
    """``||w||_1 <= radius``: the sum of the absolute entries is bounded.

    Parameters
    ----------
    radius : float
        Positive and finite.
    """

    axis_vertices: ClassVar[bool] = True
    symmetric: ClassVar[bool] = True

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


# Newton's method is monotone here and stops long before.
_MOST_STEPS = 200
# In units of the radius: points that are further away count as this far in their direction.
_FARTHEST = 1e100
# Beyond this the ball is a box but for rounding, and powers of what rounding leaves are lost.
_LARGEST = 1e6
_TINY = float(np.finfo(np.float64).tiny)


@dataclass(frozen=True)
class LpBall(_OfRadius):
    r"""``||w||_p <= radius`` with ``||w||_p = (sum_j |w_j|^p)^{1/p}``.

    Between p = 1, which makes entries zero, and p = 2, which treats all directions alike.

    Parameters
    ----------
    radius : float
        Positive and finite.
    p : float
        Exponent, in (1, 1e6]. ``L1Ball`` is p = 1, ``L2Ball`` a faster p = 2, ``Box`` p = inf.
    """

    p: float

    symmetric: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 1 < self.p <= _LARGEST:
            raise ValueError(
                f"LpBall needs an exponent p in (1, {_LARGEST:g}], got {self.p}; use L1Ball for "
                "p=1 and Box for p=inf."
            )

    def project(self, w: np.ndarray) -> np.ndarray:
        r"""The nearest point, by the root of one equation in one unknown.

        It is ``sign(w) s`` with ``s + c s^{p-1} = |w|`` for each entry, and c such that the norm of
        s is the radius. Each entry and its p-th power are convex and decreasing in c, so Newton's
        method ascends to the root from the left.
        """
        largest = float(np.abs(w).max(initial=0.0))
        size = np.abs(w) / max(self.radius, largest / _FARTHEST)
        # What is inside but for rounding stays, so that projecting twice is projecting once.
        if lp_norm(size, self.p) <= 1 + 4 * np.finfo(np.float64).eps:
            return w.copy()
        # With a norm of 1 no entry exceeds 1, so c is at least the excess of the largest entry.
        c = max(0.0, float(size.max()) - 1)
        low, exponent = min(1.0, self.p - 1), max(self.p, self.p / (self.p - 1))
        t = np.minimum(1.0, size**low)
        for _ in range(_MOST_STEPS):
            t = self._root(size, c, t)
            powers = t**exponent
            excess = float(powers.sum()) - 1
            slope = exponent * float(np.vdot(powers, self._falling(c, t)))
            if not excess > 1e-15 * c * slope or c + excess / slope == c:
                break
            c += excess / slope
        s = t ** (1 / low)
        s *= self.radius / lp_norm(s, self.p)
        return np.copysign(s, w)

    def _root(self, size: np.ndarray, c: float, t: np.ndarray) -> np.ndarray:
        """The root of ``s + c s^{p-1} = size``, from a t that is not below it.

        t is the smaller of the powers s and s^{p-1}, in which the left-hand side is convex and
        increasing, so that Newton's method descends to the root.
        """
        power, linear, curved = self._form(c)
        for _ in range(_MOST_STEPS):
            bent = curved * t ** (power - 1)
            new = t - ((linear + bent) * t - size) / (linear + power * bent + _TINY)
            np.maximum(new, 0.0, out=new)
            if np.all(new >= t * (1 - 1e-15)):
                break
            t = new
        return t

    def _falling(self, c: float, t: np.ndarray) -> np.ndarray:
        """``-dlog(t) / dc``."""
        power, linear, curved = self._form(c)
        slope = linear + power * curved * t ** (power - 1) + _TINY
        return (1.0 if self.p < 2 else t ** (power - 1)) / slope

    def _form(self, c: float) -> tuple[float, float, float]:
        """The equation as ``linear t + curved t^power = size``, power >= 1."""
        return (1 / (self.p - 1), c, 1.0) if self.p < 2 else (self.p - 1, 1.0, c)

    def linear_minimizer(self, g: np.ndarray) -> np.ndarray:
        """``-radius sign(g) |g|^{q-1}`` brought to the sphere, q = p / (p - 1)."""
        largest = np.abs(g).max(initial=0.0)
        if largest == 0:
            return np.zeros(g.shape)
        v = (np.abs(g) / largest) ** (1 / (self.p - 1))
        return np.copysign(v * (self.radius / lp_norm(v, self.p)), -g)

    def diameter(self, n_features: int) -> float:
        """Between opposite unit vectors for p <= 2, beyond it between opposite corners."""
        return 2.0 * self.radius * n_features ** max(0.0, 0.5 - 1 / self.p)


def lp_norm(w: np.ndarray, p: float) -> float:
    """``(sum_j |w_j|^p)^{1/p}`` of all entries, in units of the largest so that none overflows."""
    largest = float(np.abs(w).max(initial=0.0))
    if largest == 0:
        return 0.0
    return largest * float(np.sum((np.abs(w) / largest) ** p)) ** (1 / p)


@dataclass(frozen=True)
class Simplex(_OfRadius):
    """Non-negative weights that sum to ``radius``.

    Parameters
    ----------
    radius : float, default=1.0
        The sum, positive and finite.
    """

    _advice: ClassVar[str] = "radius=1 gives probabilities"
    axis_vertices: ClassVar[bool] = True

    radius: float = 1.0

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


@dataclass(frozen=True)
class Box(Constraint):
    """``low <= w_j <= high`` for every entry.

    It is a polytope, but with 2^d vertices it is of no use to methods that choose among them.

    Parameters
    ----------
    low, high : float
        Bounds of each entry, finite, low <= high.
    """

    low: float
    high: float

    separable: ClassVar[bool] = True

    def __post_init__(self) -> None:
        settle_numbers(self)
        if not -inf < self.low <= self.high < inf:
            raise ValueError(
                f"Box needs finite bounds with low <= high, got low={self.low} and "
                f"high={self.high}; swap them, or use Unconstrained for no bounds."
            )

    def project(self, w: np.ndarray) -> np.ndarray:
        """Clip each entry."""
        return np.clip(w, self.low, self.high)

    def linear_minimizer(self, g: np.ndarray) -> np.ndarray:
        """The corner with ``low`` where g is positive and ``high`` elsewhere."""
        return np.where(g > 0, float(self.low), float(self.high))

    def diameter(self, n_features: int) -> float:
        """Length of the diagonal."""
        return (self.high - self.low) * sqrt(n_features)

    def scaled(self, factor: float) -> Self:
        return type(self)(self.low * factor, self.high * factor)


class _Cone(Constraint, ABC):
    """A set that holds all multiples of its points."""

    cone: ClassVar[bool] = True
    separable: ClassVar[bool] = True
    _advice: ClassVar[str]

    @final
    def linear_minimizer(self, g: np.ndarray) -> np.ndarray:
        """Refused: a linear function may have no minimum on an unbounded set.

        Raises
        ------
        ValueError
            Always.
        """
        raise ValueError(
            f"A linear minimizer needs a bounded set, got {type(self).__name__}; use "
            f"{self._advice}, or a solver that projects."
        )

    @final
    def diameter(self, n_features: int) -> float:
        """Infinite."""
        return inf

    @final
    def scaled(self, factor: float) -> Self:
        """The set of all ``factor * w`` with w in this one, which is itself."""
        return self


@dataclass(frozen=True)
class Unconstrained(_Cone):
    """The whole space."""

    whole_space: ClassVar[bool] = True
    _advice: ClassVar[str] = "L1Ball, L2Ball, Box or Simplex"

    def project(self, w: np.ndarray) -> np.ndarray:
        """A copy of w."""
        return w.copy()


@dataclass(frozen=True)
class NonNegative(_Cone):
    """``w_j >= 0`` for every entry."""

    _advice: ClassVar[str] = "Box with a low of 0"

    def project(self, w: np.ndarray) -> np.ndarray:
        """Negative entries become zero."""
        return np.maximum(w, 0.0)
