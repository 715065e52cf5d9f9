"""Penalties on the weights. They carry no data, so solvers see them in the clear."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from functools import cached_property
from math import inf, sqrt
from typing import ClassVar, Self

import numpy as np

from ..validation import settle_numbers

__all__ = ["L1", "L2", "ElasticNet", "NoPenalty", "Penalty", "Tikhonov"]


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


@dataclass(frozen=True)
class NoPenalty(Penalty):
    """The penalty that is zero everywhere."""

    separable: ClassVar[bool] = True
    isotropic: ClassVar[bool] = True
    strong_convexity: ClassVar[float] = 0.0

    def value(self, w: np.ndarray) -> float:
        return 0.0

    def prox(self, w: np.ndarray, step: float) -> np.ndarray:
        """A copy of w."""
        return w.copy()

    def scaled(self, factor: float) -> Self:
        """Itself."""
        return self


@dataclass(frozen=True)
class _OfStrength(Penalty, ABC):
    """A share of the l1 norm and half the squared l2 norm, by their strength alpha."""

    alpha: float

    separable: ClassVar[bool] = True

    @property
    @abstractmethod
    def l1_ratio(self) -> float:
        """Share of the l1 part."""

    def __post_init__(self) -> None:
        settle_numbers(self)
        if not 0 <= self.alpha < inf:
            raise ValueError(
                f"{type(self).__name__} needs an alpha in [0, inf), got {self.alpha}; alpha=0 "
                "means no penalty."
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
        # What does not count may be infinite.
        l1 = float(np.abs(w).sum()) if self.l1_ratio > 0 else 0.0
        squares = float(np.vdot(w, w)) if self.l1_ratio < 1 else 0.0
        return self.alpha * (self.l1_ratio * l1 + 0.5 * (1.0 - self.l1_ratio) * squares)

    def prox(self, w: np.ndarray, step: float) -> np.ndarray:
        """Soft thresholding for the l1 part, then shrinking for the l2 part."""
        v = soft_threshold(w, step * self.alpha * self.l1_ratio) if self.l1_ratio else w
        return v / (1.0 + step * self.alpha * (1.0 - self.l1_ratio))

    def scaled(self, factor: float) -> Self:
        return replace(self, alpha=self.alpha * factor)


@dataclass(frozen=True)
class L2(_OfStrength):
    """``alpha / 2 ||w||^2``, alpha-strongly convex; the norm is Frobenius' if w is a matrix.

    Parameters
    ----------
    alpha : float
        Strength, non-negative and finite.
    """

    l1_ratio: ClassVar[float] = 0.0


@dataclass(frozen=True)
class L1(_OfStrength):
    """``alpha ||w||_1``: sum of absolute entries, which makes entries exactly zero.

    Parameters
    ----------
    alpha : float
        Strength, non-negative and finite.
    """

    selects: ClassVar[bool] = True
    l1_ratio: ClassVar[float] = 1.0


@dataclass(frozen=True)
class ElasticNet(_OfStrength):
    """``alpha (l1_ratio ||w||_1 + (1 - l1_ratio) / 2 ||w||^2)``, as in Zou and Hastie (2005).

    Parameters
    ----------
    alpha : float
        Strength, non-negative and finite.
    l1_ratio : float, default=0.5
        Share of the l1 part, between 0 (L2) and 1 (L1).
    """

    l1_ratio: float = 0.5

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 <= self.l1_ratio <= 1:
            raise ValueError(
                f"ElasticNet needs an l1_ratio in [0, 1], got {self.l1_ratio}; 0 means ridge and "
                "1 means lasso."
            )


def soft_threshold(w: np.ndarray, threshold: float | np.ndarray) -> np.ndarray:
    """``sign(w) max(|w| - threshold, 0)``, the proximal map of ``threshold ||.||_1``.

    The threshold may be one for each column.
    """
    # Several times as fast as numpy's clip for the few entries of a model.
    out = np.minimum(w, threshold)
    np.maximum(out, -threshold, out=out)
    return np.subtract(w, out, out=out)


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
        return type(self)(sqrt(factor) * self.factor)
