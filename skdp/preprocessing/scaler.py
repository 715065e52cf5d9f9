"""Transformers that shift and scale features, and can be undone."""

from __future__ import annotations

from abc import ABC, abstractmethod
from math import inf
from typing import Any, final

from sklearn.utils.validation import check_is_fitted

from ..privacy.rows.bounded_rows import Rows
from ..privacy.rows.reading import strict_checks
from ..problem.column_bounds import ColumnBounds, ColumnScaling
from ..validation import check_numbers, shown
from .base import Transformer


class Scaler(Transformer, ABC):
    """A transformer that is an :class:`ColumnScaling` map."""

    @property
    def scaling_(self) -> ColumnScaling:
        """The map of a fitted scaler: what it takes off, multiplies by and clips to."""
        check_is_fitted(self)
        return self._map(self.n_features_in_)

    @final
    @strict_checks()
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
    def _map(self, n_features: int) -> ColumnScaling:
        """The map, a function of parameters and public attributes."""

    @final
    def _given_bounds(self, bounds: Any) -> ColumnBounds:
        """Bounds that a parameter gives to the features that ``fit`` has seen."""
        names = getattr(self, "feature_names_in_", None)
        return ColumnBounds.of(type(self).__name__, bounds, self.n_features_in_, names=names)

    @final
    def _applied(self, X: Rows) -> Rows:
        return self._map(X.shape[1]).apply(X)


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
