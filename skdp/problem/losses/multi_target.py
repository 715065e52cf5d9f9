"""Several targets a row, each with a score of its own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import sqrt
from typing import ClassVar

import numpy as np

from ...validation import check_integers
from .base import Loss

__all__ = ["MultiTarget"]


@dataclass(frozen=True)
class MultiTarget(Loss):
    """``sum_k loss(y_k, z_k)`` with a vector of targets a row: t regressions on the same rows.

    The t models share nothing but their rows, so one row moves all of them, and the gradients of a
    row, the outer product of its t derivatives and its features, are clipped together.

    The derivative in z_k is that of the inner loss, and the Hessian is diagonal:

    - ``lipschitz`` is ``sqrt(t)`` times that of the inner loss, because all t derivatives can be
      at its bound at once: each depends on a target and a score of its own.
    - ``smoothness`` is that of the inner loss, and so is ``convex``.

    Parameters
    ----------
    loss : Loss
        Inner loss, of residuals, with one score a row.
    n_targets : int
        Number of targets t, at least 2.
    """

    loss: Loss
    n_targets: int

    of_residuals: ClassVar[bool] = True
    vector_targets: ClassVar[bool] = True
    targets: ClassVar[str] = "finite numbers"

    def __post_init__(self) -> None:
        check_integers("MultiTarget", n_targets=self.n_targets)
        if not self.n_targets >= 2:
            raise ValueError(
                f"MultiTarget needs n_targets of at least 2, got {self.n_targets}; one target "
                "needs its loss alone."
            )
        if not (getattr(self.loss, "n_scores", None) == 1 and self.loss.of_residuals):
            raise ValueError(
                "MultiTarget needs a loss of residuals with one score a row, got "
                f"{type(self.loss).__name__}; pass one such as Squared() or Huber()."
            )

    @property
    def n_scores(self) -> int:
        """One score a target."""
        return self.n_targets

    @property
    def squared(self) -> bool:  # type: ignore[override]
        """True if the inner loss is half the square of the residual."""
        return self.loss.squared

    @property
    def lipschitz(self) -> float:
        """Lipschitz constant of the inner loss times the root of the number of targets."""
        return sqrt(self.n_targets) * self.loss.lipschitz

    @property
    def smoothness(self) -> float:
        """Smoothness of the inner loss."""
        return self.loss.smoothness

    @property
    def convex(self) -> bool:
        """True if the inner loss is convex."""
        return self.loss.convex

    def value(self, y: np.ndarray, z: np.ndarray) -> np.ndarray:
        """Sum of the losses of all targets."""
        with np.errstate(over="ignore"):
            return self._of_all(self.loss.value, y, z).sum(axis=1)

    def derivative(self, y: np.ndarray, z: np.ndarray) -> np.ndarray:
        """Derivative of the loss of each target."""
        return self._of_all(self.loss.derivative, y, z)

    @staticmethod
    def _of_all(
        function: Callable[[np.ndarray, np.ndarray], np.ndarray], y: np.ndarray, z: np.ndarray
    ) -> np.ndarray:
        return np.asarray(function(y.ravel(), z.ravel())).reshape(z.shape)

    def _valid(self, y: np.ndarray) -> np.ndarray:
        return np.isfinite(y)
