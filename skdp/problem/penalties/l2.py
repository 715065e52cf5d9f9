"""The ridge penalty."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import ClassVar, Self

import numpy as np

from ...validation import settle_numbers
from .base import Penalty


@dataclass(frozen=True)
class L2(Penalty):
    """``alpha / 2 ||w||^2``, alpha-strongly convex; the norm is Frobenius' if w is a matrix.

    Parameters
    ----------
    alpha : float
        Strength, non-negative and finite.
    """

    alpha: float

    separable: ClassVar[bool] = True
    isotropic: ClassVar[bool] = True

    def __post_init__(self) -> None:
        settle_numbers(self)
        if not 0 <= self.alpha < inf:
            raise ValueError(
                f"L2 needs an alpha in [0, inf), got {self.alpha}; alpha=0 means no penalty."
            )

    @property
    def strong_convexity(self) -> float:
        """The strength alpha."""
        return self.alpha

    def value(self, w: np.ndarray) -> float:
        """Half the squared norm, times alpha."""
        return 0.5 * self.alpha * float(np.vdot(w, w))

    def prox(self, w: np.ndarray, step: float) -> np.ndarray:
        """``w / (1 + step alpha)``."""
        return w / (1.0 + step * self.alpha)

    def scaled(self, factor: float) -> Self:
        """The penalty times a factor >= 0."""
        return type(self)(self.alpha * factor)
