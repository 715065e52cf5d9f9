"""Losses of several scores a row: several targets, or several classes, each against the rest."""

from __future__ import annotations

from abc import ABC
from collections.abc import Callable
from dataclasses import dataclass
from math import sqrt
from typing import ClassVar, final

import numpy as np

from ...validation import check_integers
from .base import Loss


class _SumOfLosses(Loss, ABC):
    """Sum of an inner loss over the scores of a row, several of them.

    The derivative in a score is that of the inner loss, and the Hessian is diagonal. All
    derivatives can be at the bound of the inner loss at once: each depends on a score of its own.

    Attributes
    ----------
    loss : Loss
        Inner loss, with one score a row.
    """

    loss: Loss

    @property
    @final
    def lipschitz(self) -> float:
        """Lipschitz constant of the inner loss times the root of the number of scores."""
        return sqrt(self.n_scores) * self.loss.lipschitz

    @property
    @final
    def smoothness(self) -> float:
        """Smoothness of the inner loss."""
        return self.loss.smoothness

    @property
    @final
    def convex(self) -> bool:
        """True if the inner loss is convex."""
        return self.loss.convex


@dataclass(frozen=True)
class MultiTarget(_SumOfLosses):
    """``sum_k loss(y_k, z_k)`` with a vector of targets a row: t regressions on the same rows.

    The t models share nothing but their rows, so one row moves all of them, and the gradients of a
    row, the outer product of its t derivatives and its features, are clipped together.

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


@dataclass(frozen=True)
class OneVsRest(_SumOfLosses):
    """``sum_k loss(1[y = k], z_k)`` with y in {0, ..., K - 1}: K losses of a row.

    Each class has a score of its own and a loss for two classes that asks for this class or
    another. The K models share nothing but their rows, so one row moves all of them, and the
    gradients of a row are clipped together.

    ``lipschitz`` is attained for an inner loss that treats its two classes alike, as all margin
    losses do; it is an upper bound for any other.

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
