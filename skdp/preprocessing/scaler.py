"""Transformers that shift and scale features, and can be undone."""

from __future__ import annotations

from abc import ABC, abstractmethod
from math import inf
from typing import Any, final

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from sklearn.utils.validation import check_is_fitted

from ..privacy.rows.bounded_rows import Rows
from ..privacy.rows.reading import strict_checks
from ..problem.column_bounds import ColumnScaling
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

    @final
    def to_sklearn(self) -> Any:
        """The fitted scaler as scikit-learn's own, to be served where skdp is not installed.

        Returns
        -------
        estimator
            A fitted ``StandardScaler`` of dense rows, in a ``Pipeline`` behind a ``MinMaxScaler``
            where columns are held to ranges. It transforms as this one does, but for rounding.
        """
        scaling, d = self.scaling_, self.n_features_in_
        plain = StandardScaler(with_mean=scaling.shift is not None)
        plain.mean_ = np.zeros(d) if scaling.shift is None else scaling.shift.copy()
        plain.scale_, plain.n_features_in_ = 1.0 / scaling.factor, d
        first, out = plain, plain
        if scaling.clipped_to is not None:
            first = plain_clipper(*scaling.clipped_to)
            # Columns leave the first step between 0 and 1.
            plain.mean_ = (plain.mean_ - first.data_min_) * first.scale_
            plain.scale_, plain.with_mean = plain.scale_ * first.scale_, True
            out = Pipeline([("clip", first), ("scale", plain)])
        plain.var_ = np.square(plain.scale_)
        if hasattr(self, "feature_names_in_"):
            first.feature_names_in_ = self.feature_names_in_.copy()
        return out

    @abstractmethod
    def _map(self, n_features: int) -> ColumnScaling:
        """The map, a function of parameters and public attributes."""

    @final
    def _applied(self, X: Rows) -> Rows:
        return self._map(X.shape[1]).apply(X)


def scaling_within(
    scale: np.ndarray, shift: np.ndarray | None, bounds: tuple[np.ndarray, np.ndarray] | None
) -> ColumnScaling:
    """The map that centres and scales features and, within bounds, holds them to these.

    Parameters
    ----------
    scale : ndarray of shape (d,)
        What features are divided by.
    shift : ndarray of shape (d,), optional
        What is taken off before. Without it zeros stay zeros: an interval without zero is
        widened up to it.
    bounds : tuple of ndarray, optional
        Low and high ends of the features.
    """
    factor = 1.0 / scale
    if bounds is None:
        return ColumnScaling(factor, shift)
    low, high = bounds
    if shift is None:
        return ColumnScaling(
            factor, None, (np.minimum(low, 0) * factor, np.maximum(high, 0) * factor)
        )
    return ColumnScaling(factor, shift, ((low - shift) * factor, (high - shift) * factor))


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


def plain_clipper(low: np.ndarray, high: np.ndarray) -> MinMaxScaler:
    """The fitted scaler of scikit-learn that holds columns to ranges and maps these to [0, 1].

    Parameters
    ----------
    low, high : ndarray of shape (d,)
        Ends of the ranges.
    """
    out = MinMaxScaler(clip=True)
    out.data_min_, out.data_max_, out.data_range_ = low.copy(), high.copy(), high - low
    out.scale_ = 1.0 / out.data_range_
    out.min_, out.n_features_in_ = -low * out.scale_, low.size
    return out
