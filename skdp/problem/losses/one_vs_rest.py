"""Several classes, each against the rest by a loss for two classes."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt

import numpy as np

from ...validation import check_integers
from .base import Loss

__all__ = ["OneVsRest"]


@dataclass(frozen=True)
class OneVsRest(Loss):
    """``sum_k loss(1[y = k], z_k)`` with y in {0, ..., K - 1}: K losses of a row.

    Each class has a score of its own and a loss for two classes that asks for this class or
    another. The K models share nothing but their rows, so one row moves all of them, and the
    gradients of a row are clipped together.

    The derivative in z_k is that of the inner loss, and the Hessian is diagonal:

    - ``lipschitz`` is ``sqrt(K)`` times that of the inner loss, because all K derivatives can be
      at its bound at once: each depends on a score of its own. This takes an inner loss that
      treats its two classes alike, as all margin losses do; it is an upper bound for any other.
    - ``smoothness`` is that of the inner loss, and so is ``convex``.

    Parameters
    ----------
    loss : Loss
        Inner loss, with one score a row and targets 0 and 1.
    n_classes : int
        Number of classes K, at least 2.
    """

    loss: Loss
    n_classes: int

    def __post_init__(self) -> None:
        check_integers("OneVsRest", n_classes=self.n_classes)
        if not self.n_classes >= 2:
            raise ValueError(
                f"OneVsRest needs n_classes of at least 2, got {self.n_classes}; name every class "
                "that could occur."
            )
        if getattr(self.loss, "n_scores", None) != 1:
            raise ValueError(
                "OneVsRest needs a loss with one score a row, got "
                f"{type(self.loss).__name__}; pass one such as Hinge() or Logistic()."
            )
        self.loss.check_targets(np.array([0.0, 1.0]))

    @property
    def n_scores(self) -> int:
        """One score a class."""
        return self.n_classes

    @property
    def family(self) -> str:
        """Family of the inner loss."""
        return self.loss.family

    @property
    def lipschitz(self) -> float:
        """Lipschitz constant of the inner loss times the root of the number of classes."""
        return sqrt(self.n_classes) * self.loss.lipschitz

    @property
    def smoothness(self) -> float:
        """Smoothness of the inner loss."""
        return self.loss.smoothness

    @property
    def convex(self) -> bool:
        """True if the inner loss is convex."""
        return self.loss.convex

    @property
    def targets(self) -> str:
        """The valid targets in words."""
        return f"integers from 0 to {self.n_classes - 1}"

    def value(self, y: np.ndarray, z: np.ndarray) -> np.ndarray:
        """Sum of the losses of all classes."""
        values = self.loss.value(self._membership(y), z.ravel()).reshape(z.shape)
        with np.errstate(over="ignore"):
            return values.sum(axis=1)

    def derivative(self, y: np.ndarray, z: np.ndarray) -> np.ndarray:
        """Derivatives of the losses of all classes."""
        return self.loss.derivative(self._membership(y), z.ravel()).reshape(z.shape)

    def _membership(self, y: np.ndarray) -> np.ndarray:
        """Membership of row i in class k, as 0 or 1, for all pairs (i, k) in row order."""
        return (y[:, None] == np.arange(self.n_classes)).ravel().astype(np.float64)

    def _valid(self, y: np.ndarray) -> np.ndarray:
        return (y >= 0) & (y < self.n_classes) & (np.floor(y) == y)
