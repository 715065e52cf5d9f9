"""Features brought from known ranges to a common one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, final

import numpy as np

from ..problem.column_bounds import ColumnBounds, ColumnScaling
from ..validation import PAIR, SCALERS, one_of, with_advice
from .base import FreeTransformer
from .scaler import Scaler, checked_range


@final
class BoundsScaler(Scaler, FreeTransformer):
    """Clip features to known bounds and bring them to a common range, at no cost.

    .. math:: z_j = a + (b - a) (clip(x_j, low_j, high_j) - low_j) / (high_j - low_j)

    Where bounds are known without the data (a code book, the range of a sensor, the format), this
    is the scaler to use: it learns nothing, so it spends nothing, and the range of what comes out
    is known.

    Parameters
    ----------
    bounds : (low, high) or mapping
        Each a number for all features or one for each feature, ``([low, ...], [high, ...])``; or a
        dictionary of pairs (low, high) by column name. Bounds that were read off the data make a
        model behind them not private.
    feature_range : (float, float) or 'auto', default=(-1.0, 1.0)
        The common range (a, b). One around zero suits a private linear model best, because rows are
        shortest then. ``'auto'`` is what the models do with ``data_bounds``: features that begin at
        0 are brought to [0, 1], so that zeros stay zeros, and all others to [-1, 1].

    Attributes
    ----------
    privacy_spent_ : PrivacySpent
        (0, 0).
    privacy_ledger_ : tuple
        Empty.

    See Also
    --------
    DPMinMaxScaler : Finds bounds privately.

    Notes
    -----
    Sparse rows are accepted where zeros stay zeros: ``low = 0`` and ``a = 0``, or ranges with zero
    in the middle.

    Examples
    --------
    >>> from skdp.preprocessing import BoundsScaler
    >>> scaler = BoundsScaler(bounds=([0, 1], [100, 16]))
    >>> scaler.fit_transform([[50, 1], [120, 16]])
    array([[ 0., -1.],
           [ 1.,  1.]])
    >>> scaler.privacy_spent_
    PrivacySpent(epsilon=0.0, delta=0.0)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "bounds": ["array-like"],
        "feature_range": [PAIR, one_of("auto")],
    }

    @with_advice(SCALERS)
    def __init__(self, bounds: Any, *, feature_range: Any = (-1.0, 1.0)) -> None:
        self.bounds = bounds
        self.feature_range = feature_range

    @property
    def _sparse(self) -> bool:
        who, given, names = type(self).__name__, self.bounds, None
        try:
            if isinstance(given, Mapping):
                names = list(given)
            n_features = max(map(np.size, given)) if names is None else len(names)
            return self._scaling(ColumnBounds.of(who, given, n_features, names=names)).shift is None
        except (TypeError, ValueError):
            # Said by fit, with the reason; tags are asked for before.
            return False

    def _settle(self) -> None:
        self._map(self.n_features_in_)

    def _map(self, n_features: int) -> ColumnScaling:
        return self._scaling(self._given_bounds(self.bounds))

    def _scaling(self, bounds: ColumnBounds) -> ColumnScaling:
        if isinstance(self.feature_range, str):
            return ColumnScaling.of_bounds(bounds, sparse=False)
        a, b = checked_range(type(self).__name__, self.feature_range)
        factor = (b - a) / (2 * bounds.half_width)
        shift = bounds.centre - (0.5 * a + 0.5 * b) / factor
        ends = np.full_like(factor, a), np.full_like(factor, b)
        return ColumnScaling(factor, None if not shift.any() else shift, ends)
