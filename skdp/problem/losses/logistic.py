"""The logistic loss, for two classes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.special import expit

from .base import Loss


@dataclass(frozen=True)
class Logistic(Loss):
    """``log(1 + e^z) - y z`` with y in {0, 1}: minus the log-likelihood of a logit model.

    The derivative ``s(z) - y``, s being the logistic function, lies in (-1, 1) and comes
    arbitrarily close to both ends, so ``lipschitz`` is 1. The second derivative ``s (1 - s)`` is
    largest at z = 0, so ``smoothness`` is 1/4.
    """

    family: ClassVar[str] = "logistic"
    log_odds: ClassVar[bool] = True
    n_scores: ClassVar[int] = 1
    lipschitz: ClassVar[float] = 1.0
    smoothness: ClassVar[float] = 0.25
    convex: ClassVar[bool] = True
    targets: ClassVar[str] = "0 or 1"

    def value(self, y: np.ndarray, z: np.ndarray) -> np.ndarray:
        """Loss of each row, to full relative precision for confident scores too."""
        # max(z, 0) - y z has no cancellation for y in {0, 1}, unlike log(1 + e^z) - y z.
        return np.maximum(z, 0.0) - y * z + np.log1p(np.exp(-np.abs(z)))

    def derivative(self, y: np.ndarray, z: np.ndarray) -> np.ndarray:
        """Probability of class 1 minus the target."""
        d = expit(z)
        d -= y
        return d

    def _valid(self, y: np.ndarray) -> np.ndarray:
        return (y == 0) | (y == 1)
