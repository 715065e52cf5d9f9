"""Transformers that shift and scale features, and can be undone."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from math import inf
from typing import Any, final

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ..privacy.rows.bounded_rows import Rows
from ..validation import check_numbers, shown
from .base import Transformer

__all__ = ["FEATURE_RANGE", "Affine", "Scaler", "checked_range"]


class Scaler(Transformer, ABC):
    """A transformer that is an :class:`Affine` map."""

    @final
    def inverse_transform(self, X: Any) -> Any:
        """Bring rows back to their units.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or CSR matrix if zeros stay zeros
            Scaled rows. They are not changed.

        Returns
        -------
        ndarray or CSR matrix of shape (n_samples, n_features)
            Rows in their units; what was clipped stays at the bound.
        """
        check_is_fitted(self)
        X = self._checked(X, reset=False, copy=True)
        return self._map(X.shape[1]).undo(X)

    @abstractmethod
    def _map(self, n_features: int) -> Affine:
        """The map, a function of parameters and public attributes."""

    @final
    def _applied(self, X: Rows) -> Rows:
        return self._map(X.shape[1]).apply(X)


@dataclass(frozen=True, eq=False)
class Affine:
    """The map ``z_j = clip((x_j - shift_j) * factor_j, low_j, high_j)``, feature by feature.

    Parameters
    ----------
    factor : ndarray of shape (d,)
        Positive.
    shift : ndarray of shape (d,), optional
        What is taken off; None for nothing, which sparse rows need.
    within : (ndarray, ndarray), optional
        low and high, each of shape (d,); None holds nothing back. For sparse rows low <= 0 <= high.
    """

    factor: np.ndarray
    shift: np.ndarray | None = None
    within: tuple[np.ndarray, np.ndarray] | None = None

    def apply(self, X: Rows) -> Rows:
        """The rows (m, d) on the new scale. Overwrites them."""
        values, features = _entries(X)
        # Entries beyond the largest float end at the bound, which is where they belong.
        with np.errstate(all="ignore"):
            if self.shift is not None:
                values -= self.shift[features]
            values *= self.factor[features]
            if self.within is not None:
                low, high = self.within
                np.clip(values, low[features], high[features], out=values)
        return X

    def undo(self, X: Rows) -> Rows:
        """Rows on the new scale brought back. Overwrites them."""
        values, features = _entries(X)
        with np.errstate(all="ignore"):
            values /= self.factor[features]
            if self.shift is not None:
                values += self.shift[features]
        return X


def _entries(X: Rows) -> tuple[np.ndarray, np.ndarray | slice]:
    """The entries that are stored, and the feature of each as an index."""
    return (X, slice(None)) if isinstance(X, np.ndarray) else (X.data, X.indices)


FEATURE_RANGE: list[Any] = [tuple, list]


def checked_range(who: str, given: Any) -> tuple[float, float]:
    """The two ends that a parameter ``feature_range`` gives.

    Parameters
    ----------
    who : str
        Whose parameter it is.
    given : (float, float)
        The ends.

    Raises
    ------
    ValueError
        If these are not two finite numbers, the first less than the second.
    """
    if len(given) == 2:
        a, b = given
        check_numbers(who, **{"the low end of feature_range": a, "its high end": b})
        if a < b and float(b) - float(a) < inf:
            return float(a), float(b)
    raise ValueError(
        f"{who} needs feature_range=(low, high), finite with low < high, got {shown(given)}; "
        "(0, 1) and (-1, 1) are usual."
    )
