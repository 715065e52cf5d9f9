"""A ridge penalty in other coordinates."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import sqrt
from typing import ClassVar, Self

import numpy as np

from .base import Penalty


@dataclass(frozen=True, eq=False)
class Tikhonov(Penalty):
    """``||factor @ w||^2 / 2``, what a ridge penalty becomes after a linear change of coordinates.

    The proximal map solves ``(I + step factor^T factor) v = w`` exactly, by an eigendecomposition
    that is computed once. A diagonal factor needs none, and no more memory than its diagonal.

    Parameters
    ----------
    factor : ndarray of shape (m, d), or (d,)
        The linear map that precedes the ridge; one dimension is the diagonal of a diagonal map.
    """

    factor: np.ndarray

    quadratic: ClassVar[bool] = True

    @classmethod
    def of(cls, penalty: Penalty, change: np.ndarray) -> Penalty:
        """A quadratic penalty of the weights ``change @ v`` as one of v; none stays none.

        Parameters
        ----------
        penalty : Penalty
            Quadratic.
        change : ndarray of shape (d, k), or (d,)
            The change of coordinates; one dimension is the diagonal of a diagonal one.
        """
        root = penalty.root
        if not isinstance(root, np.ndarray):
            return cls(root * change) if root else penalty
        if change.ndim == 1:
            return cls(root * change)
        return cls(root[:, None] * change if root.ndim == 1 else root @ change)

    @property
    def root(self) -> np.ndarray:
        """The factor."""
        return self.factor

    @property
    def diagonal(self) -> bool:
        """True if the factor is given by its diagonal."""
        return self.factor.ndim == 1

    @cached_property
    def _spectrum(self) -> tuple[np.ndarray, np.ndarray | None]:
        """Eigenvalues of ``factor^T factor`` and its eigenvectors; None are the unit vectors."""
        if self.diagonal:
            return np.square(self.factor), None
        values, vectors = np.linalg.eigh(self.factor.T @ self.factor)
        return np.maximum(values, 0.0), vectors

    @property
    def strong_convexity(self) -> float:
        """Smallest eigenvalue of ``factor^T factor``."""
        return float(self._spectrum[0].min())

    def value(self, w: np.ndarray) -> float:
        """Half the squared norm of ``factor @ w``."""
        if not self.diagonal:
            return 0.5 * float(np.square(self.factor @ w).sum())
        # Axes the other way round: the factor meets the features of one score or of several.
        return 0.5 * float(np.square(self.factor * w.T).sum())

    def prox(self, w: np.ndarray, step: float) -> np.ndarray:
        """``(I + step factor^T factor)^{-1} w``."""
        values, vectors = self._spectrum
        shrink = 1.0 + step * (values if w.ndim == 1 else values[:, None])
        return w / shrink if vectors is None else vectors @ ((vectors.T @ w) / shrink)

    def scaled(self, factor: float) -> Self:
        """The penalty times a factor >= 0."""
        return type(self)(sqrt(factor) * self.factor)
