"""Base of penalties."""

from __future__ import annotations

from abc import ABC, abstractmethod
from math import sqrt
from typing import ClassVar, Self

import numpy as np


class Penalty(ABC):
    """A convex penalty on the weights, of any shape, with an exact proximal map.

    Solvers and estimators ask what a penalty declares, and never for its class: ``separable``, that
    it is the sum of the same function of each weight; ``selects``, that it is there because few
    weights are expected to matter; ``quadratic``, that it is a quadratic form, zero included;
    ``isotropic``, that it is ``strong_convexity ||w||^2 / 2``; ``l1``, how much of ``||w||_1`` is
    in it.
    """

    separable: ClassVar[bool] = False
    selects: ClassVar[bool] = False

    @property
    def isotropic(self) -> bool:
        """True if it is a multiple of the squared l2 norm, or zero."""
        return False

    @property
    def quadratic(self) -> bool:
        """True if it is a quadratic form of the weights, or zero."""
        return self.isotropic

    @property
    def root(self) -> float | np.ndarray:
        """The map f, or a number, for which a quadratic penalty is ``||f w||^2 / 2``."""
        return sqrt(self.strong_convexity)

    @property
    def l1(self) -> float:
        """Factor of the l1 norm in it."""
        return 0.0

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
