"""Transformers that shift and scale features, and can be undone."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, final

from sklearn.utils.validation import check_is_fitted

from ..data.blocks import Rows
from .affine import Affine
from .base import Transformer

__all__ = ["Scaler"]


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
