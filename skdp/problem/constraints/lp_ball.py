"""The ball of an l_p norm, 1 < p < inf."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import ClassVar, Self

import numpy as np

from ...validation import settle_numbers
from .base import Constraint

# Newton's method is monotone here and stops long before.
_MOST_STEPS = 200
# In units of the radius: points that are further away count as this far in their direction.
_FARTHEST = 1e100
# Beyond this the ball is a box but for rounding, and powers of what rounding leaves are lost.
_LARGEST = 1e6
_TINY = float(np.finfo(np.float64).tiny)


@dataclass(frozen=True)
class LpBall(Constraint):
    r"""``||w||_p <= radius`` with ``||w||_p = (sum_j |w_j|^p)^{1/p}``.

    Between p = 1, which makes entries zero, and p = 2, which treats all directions alike.

    Parameters
    ----------
    radius : float
        Positive and finite.
    p : float
        Exponent, in (1, 1e6]. ``L1Ball`` is p = 1, ``L2Ball`` a faster p = 2, ``Box`` p = inf.
    """

    radius: float
    p: float

    symmetric: ClassVar[bool] = True

    def __post_init__(self) -> None:
        settle_numbers(self)
        if not 0 < self.radius < inf:
            raise ValueError(
                f"LpBall needs a radius in (0, inf), got {self.radius}; use Unconstrained for no "
                "bound."
            )
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

    def scaled(self, factor: float) -> Self:
        """The set of all ``factor * w`` with w in this one."""
        return type(self)(self.radius * factor, self.p)


def lp_norm(w: np.ndarray, p: float) -> float:
    """``(sum_j |w_j|^p)^{1/p}`` of all entries, in units of the largest so that none overflows."""
    largest = float(np.abs(w).max(initial=0.0))
    if largest == 0:
        return 0.0
    return largest * float(np.sum((np.abs(w) / largest) ** p)) ** (1 / p)
