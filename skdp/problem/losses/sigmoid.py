"""The sigmoid loss: bounded, hence not convex."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import ClassVar

import numpy as np
from scipy.special import expit

from .base import Loss


@dataclass(frozen=True)
class Sigmoid(Loss):
    """``1 / (1 + e^(s z))`` with y in {0, 1} and the sign ``s = 2 y - 1``.

    The probability that a logit model gives to the wrong class: a smooth stand-in for the share of
    errors, in (0, 1). Rows that are far on the wrong side count as lost and no longer pull, which
    makes wrong labels harmless; it also means that a minimum found need not be the lowest.

    With ``q = 1 / (1 + e^(s z))`` the derivative is ``-s q (1 - q)``, largest for z = 0, so
    ``lipschitz`` is 1/4. The second derivative is ``q (1 - q) (1 - 2 q)``. Its derivative in q,
    ``1 - 6 q + 6 q^2``, vanishes at ``q = (1 ± 1 / sqrt(3)) / 2``, where ``q (1 - q) = 1/6``, so
    ``smoothness`` is ``1 / (6 sqrt(3))``.
    """

    family: ClassVar[str] = "logistic"
    n_scores: ClassVar[int] = 1
    lipschitz: ClassVar[float] = 0.25
    smoothness: ClassVar[float] = 1.0 / (6.0 * sqrt(3.0))
    convex: ClassVar[bool] = False
    targets: ClassVar[str] = "0 or 1"

    def value(self, y: np.ndarray, z: np.ndarray) -> np.ndarray:
        """Probability of the wrong class."""
        return expit((1.0 - 2.0 * y) * z)

    def derivative(self, y: np.ndarray, z: np.ndarray) -> np.ndarray:
        """Product of both probabilities, with the sign of the wrong class."""
        d = 1.0 - 2.0 * y
        d *= expit(z)
        d *= expit(-z)
        return d

    def _valid(self, y: np.ndarray) -> np.ndarray:
        return (y == 0) | (y == 1)
