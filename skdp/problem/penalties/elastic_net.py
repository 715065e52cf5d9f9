"""The elastic net: lasso and ridge penalties mixed."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import ClassVar, Self

import numpy as np

from ...validation import settle_numbers
from .base import Penalty
from .l1 import soft_threshold


@dataclass(frozen=True)
class ElasticNet(Penalty):
    """``alpha (l1_ratio ||w||_1 + (1 - l1_ratio) / 2 ||w||^2)``, as in Zou and Hastie (2005).

    Parameters
    ----------
    alpha : float
        Strength, non-negative and finite.
    l1_ratio : float, default=0.5
        Share of the l1 part, between 0 (L2) and 1 (L1).
    """

    alpha: float
    l1_ratio: float = 0.5

    separable: ClassVar[bool] = True

    def __post_init__(self) -> None:
        settle_numbers(self)
        if not 0 <= self.alpha < inf:
            raise ValueError(
                f"ElasticNet needs an alpha in [0, inf), got {self.alpha}; alpha=0 means no "
                "penalty."
            )
        if not 0 <= self.l1_ratio <= 1:
            raise ValueError(
                f"ElasticNet needs an l1_ratio in [0, 1], got {self.l1_ratio}; 0 means ridge and "
                "1 means lasso."
            )

    @property
    def isotropic(self) -> bool:
        """True if it has no l1 part."""
        return self.l1_ratio == 0

    @property
    def l1(self) -> float:
        """Strength of the l1 part."""
        return self.alpha * self.l1_ratio

    @property
    def strong_convexity(self) -> float:
        """Strength of the l2 part."""
        return self.alpha * (1.0 - self.l1_ratio)

    def value(self, w: np.ndarray) -> float:
        """Penalty at w."""
        l1, squares = float(np.abs(w).sum()), float(np.vdot(w, w))
        return self.alpha * (self.l1_ratio * l1 + 0.5 * (1.0 - self.l1_ratio) * squares)

    def prox(self, w: np.ndarray, step: float) -> np.ndarray:
        """Soft thresholding for the l1 part, then shrinking for the l2 part."""
        v = soft_threshold(w, step * self.alpha * self.l1_ratio)
        v /= 1.0 + step * self.alpha * (1.0 - self.l1_ratio)
        return v

    def scaled(self, factor: float) -> Self:
        """The penalty times a factor >= 0."""
        return type(self)(self.alpha * factor, self.l1_ratio)
