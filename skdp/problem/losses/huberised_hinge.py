"""The hinge loss with its corner rounded off."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ...validation import settle_numbers
from .base import Loss

_LEAST, _LARGEST = 1e-50, 1e50


@dataclass(frozen=True)
class HuberisedHinge(Loss):
    """The hinge loss, quadratic where the margin ``s z`` is within ``width`` of 1.

    With y in {0, 1}, the sign ``s = 2 y - 1`` and h the width, the loss is 0 for ``s z > 1 + h``,
    ``1 - s z`` for ``s z < 1 - h``, and ``(1 + h - s z)^2 / (4 h)`` in between (Chapelle 2007;
    Chaudhuri, Monteleoni and Sarwate 2011).

    Its derivative, ``-s [(1 + h - s z) / (2 h)]`` with the bracket clipped to [0, 1], is
    continuous. It attains -1 and 1, so ``lipschitz`` is 1; in between its slope is 1 / (2 h),
    which is ``smoothness``. The loss exceeds the hinge loss by at most h / 4, at ``s z = 1``.

    Parameters
    ----------
    width : float, default=0.5
        Half the length h of the quadratic part, in units of the margin; in [1e-50, 1e50].
    """

    width: float = 0.5

    family: ClassVar[str] = "hinge"
    n_scores: ClassVar[int] = 1
    lipschitz: ClassVar[float] = 1.0
    convex: ClassVar[bool] = True
    targets: ClassVar[str] = "0 or 1"

    def __post_init__(self) -> None:
        settle_numbers(self)
        if not _LEAST <= self.width <= _LARGEST:
            raise ValueError(
                f"HuberisedHinge needs a width between {_LEAST} and {_LARGEST}, got {self.width}; "
                "use Hinge for a loss without a quadratic part."
            )

    @property
    def smoothness(self) -> float:
        """Slope of the derivative in the quadratic part, 1 / (2 width)."""
        return 0.5 / self.width

    def value(self, y: np.ndarray, z: np.ndarray) -> np.ndarray:
        """Loss of each row."""
        away = 1.0 + self.width + (1.0 - 2.0 * y) * z
        curved = np.clip(away, 0.0, 2.0 * self.width)
        return curved / (2.0 * self.width) * (away - 0.5 * curved)

    def derivative(self, y: np.ndarray, z: np.ndarray) -> np.ndarray:
        """Minus the sign within the margin, and less and less around its edge."""
        d = 1.0 - 2.0 * y
        away = d * z
        away += 1.0 + self.width
        np.clip(away, 0.0, 2.0 * self.width, out=away)
        away /= 2.0 * self.width
        d *= away
        return d

    def _valid(self, y: np.ndarray) -> np.ndarray:
        return (y == 0) | (y == 1)
