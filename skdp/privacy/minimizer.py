"""Minimisers of smooth and strongly convex functions, to a gradient that is surely small enough.

It runs inside the trusted part: what it is told may be secret, and how long it takes is told to
nobody.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from math import ceil, log, sqrt

import numpy as np

_NEWTON_STEPS, _HALVINGS = 50, 20
# A step is accepted where the slope along it is negative, or by this factor smaller than before.
_OVERSHOOT = 0.1


class SmoothObjective(ABC):
    """A function with an L-Lipschitz gradient that is m-strongly convex, m > 0."""

    smoothness: float
    strength: float

    @abstractmethod
    def gradient(self, w: np.ndarray) -> np.ndarray:
        """The gradient at w."""

    @abstractmethod
    def newton_step(self, w: np.ndarray, gradient: np.ndarray) -> np.ndarray:
        """Roughly minus the inverse of the Hessian at w times the gradient there.

        The better it is the fewer steps are taken; nothing else depends on it.
        """


def minimize(objective: SmoothObjective, start: np.ndarray, tolerance: float) -> np.ndarray:
    """A point at which the norm of the gradient is at most ``tolerance``.

    Newton's method gets there in a few steps, nearly always. Where it does not, Nesterov's
    accelerated gradient method goes on, for which the number of steps that suffice is known:
    after k steps from a point with gradient g the function is above its minimum by at most
    ``(1 - sqrt(m / L))^k ||g||^2 / m`` (Nesterov 2018, theorem 2.2.3), and the squared norm of the
    gradient is at most 2 L times that. The tolerance has to be far enough above the rounding of
    gradients.

    Guarantees
    ----------
    - But for rounding, the gradient there is that small, whatever ``newton_step`` does.
    - The number of gradients is bounded.
    """
    w, g = _newton(objective, start, tolerance)
    return w if np.linalg.norm(g) <= tolerance else _accelerated(objective, w, g, tolerance)


def _newton(
    objective: SmoothObjective, start: np.ndarray, tolerance: float
) -> tuple[np.ndarray, np.ndarray]:
    w, g = start, objective.gradient(start)
    for _ in range(_NEWTON_STEPS):
        if np.linalg.norm(g) <= tolerance:
            break
        step = objective.newton_step(w, g)
        slope = -float(np.vdot(g, step))
        if not slope > 0:
            break
        size = 1.0
        for _ in range(_HALVINGS):
            h = objective.gradient(w + size * step)
            ahead = float(np.vdot(h, step))
            if ahead <= _OVERSHOOT * slope:
                break
            # The slope along the step increases; where a line through its two ends is zero.
            size *= slope / (slope + ahead)
        else:
            # What is known is the gradient at the end of a longer step.
            h = objective.gradient(w + size * step)
        w, g = w + size * step, h
    return w, g


def _accelerated(
    objective: SmoothObjective, start: np.ndarray, gradient: np.ndarray, tolerance: float
) -> np.ndarray:
    root = sqrt(objective.strength / objective.smoothness)
    momentum = (1 - root) / (1 + root)
    ratio = max(1.0, float(np.linalg.norm(gradient)) / tolerance)
    w = ahead = start
    g = gradient
    for _ in range(ceil(2 * log(sqrt(2.0) * ratio / root) / root) + 1):
        after = ahead - g / objective.smoothness
        ahead, w = after + momentum * (after - w), after
        g = objective.gradient(ahead)
        if np.linalg.norm(g) <= tolerance:
            return ahead
    return w
