"""A ridge penalty in other coordinates."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import sqrt
from typing import Self

import numpy as np

from .base import Regularizer

__all__ = ["Tikhonov"]


@dataclass(frozen=True, eq=False)
class Tikhonov(Regularizer):
    """``||factor @ w||^2 / 2``, what a ridge penalty becomes after a linear change of coordinates.

    The proximal map solves ``(I + step factor^T factor) v = w`` exactly, by an eigendecomposition
    that is computed once.

    Parameters
    ----------
    factor : ndarray of shape (m, d)
        The linear map that precedes the ridge.
    """

    factor: np.ndarray

    @cached_property
    def _spectrum(self) -> tuple[np.ndarray, np.ndarray]:
        """Eigenvalues of ``factor^T factor`` in increasing order, and its eigenvectors."""
        values, vectors = np.linalg.eigh(self.factor.T @ self.factor)
        return np.maximum(values, 0.0), vectors

    @property
    def strong_convexity(self) -> float:
        """Smallest eigenvalue of ``factor^T factor``."""
        return float(self._spectrum[0][0])

    def value(self, w: np.ndarray) -> float:
        """Half the squared norm of ``factor @ w``."""
        return 0.5 * float(np.square(self.factor @ w).sum())

    def prox(self, w: np.ndarray, step: float) -> np.ndarray:
        """``(I + step factor^T factor)^{-1} w``."""
        values, vectors = self._spectrum
        inside = vectors.T @ w
        inside /= 1.0 + step * (values if w.ndim == 1 else values[:, None])
        return vectors @ inside

    def scaled(self, factor: float) -> Self:
        """The same penalty times a factor >= 0."""
        return type(self)(sqrt(factor) * self.factor)
