"""Base of penalties."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Self

import numpy as np

__all__ = ["Penalty"]


class Penalty(ABC):
    """A convex penalty on the weights, of any shape, with an exact proximal map."""

    @property
    @abstractmethod
    def strong_convexity(self) -> float:
        """Largest m for which the penalty minus ``m ||w||^2 / 2`` is convex."""

    @abstractmethod
    def value(self, w: np.ndarray) -> float:
        """Penalty at w."""

    @abstractmethod
    def prox(self, w: np.ndarray, step: float) -> np.ndarray:
        """argmin_v ``||v - w||^2 / 2 + step * value(v)`` for step >= 0; a fresh array."""

    @abstractmethod
    def scaled(self, factor: float) -> Self:
        """The penalty times a factor >= 0."""
