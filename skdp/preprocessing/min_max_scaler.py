"""Features brought to a range by private quantiles."""

from __future__ import annotations

from typing import Any, ClassVar, final

import numpy as np

from ..privacy.oracle import Oracle
from ..problem.column_bounds import ColumnScaling
from ..validation import PAIR, SCALERS, keep_parameters, with_advice
from .ranged_transformer import RangedTransformer
from .scaler import Scaler, checked_range


@final
class DPMinMaxScaler(Scaler, RangedTransformer):
    r"""Bring features to a range by bounds that are found privately, and clip to it.

    The smallest and the largest value of a feature are single rows, which privacy hides. In their
    place stand intervals in which nearly all rows are seen, for all features at once: first each
    row votes for the sizes of its entries, then counts of rows in cells say where between zero and
    that size they lie, with noise. Features may differ in size by many orders of magnitude, from
    about 1e-15 to 1e15, and a few wild values move nothing.

    Parameters
    ----------
    feature_range : (float, float), default=(0.0, 1.0)
        The range.
    bounds : (low, high) or mapping, optional
        Wide bounds that are known without the data, between which to search; each a number for all
        features or one for each feature; or a dictionary of pairs (low, high) of some of them by
        column name. Where the data fill known bounds, ``BoundsScaler`` is free.
    clip : bool, default=True
        Whether ``transform`` clips to the range.

    Attributes
    ----------
    data_min_, data_max_ : ndarray of shape (`n_features_in_`,)
        The bounds that were found.
    data_range_ : ndarray of shape (`n_features_in_`,)
        The distances between them.
    scale_, min_ : ndarray of shape (`n_features_in_`,)
        ``z = x * scale_ + min_``, before clipping.
    privacy_spent_ : PrivacySpent
        What ``fit`` has spent: (0, 0) if the budget is so small for the number of rows that nothing
        would have been found and nothing was asked, which is said by a warning.

    See Also
    --------
    BoundsScaler : Free, where bounds are known.
    DPStandardScaler : Centres and scales by moments.

    Notes
    -----
    A feature that does not vary gets an interval as narrow as the search resolves, in which it lies
    somewhere; one that is nearly always zero keeps its units, with bounds (-1, 1). Missing values
    count for no bound and stay missing, as in scikit-learn.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp.preprocessing import DPMinMaxScaler
    >>> incomes = np.random.default_rng(0).lognormal(10, 1, size=(20_000, 1))
    >>> scaler = DPMinMaxScaler(epsilon=0.5).fit(incomes)
    >>> bool(100_000 < scaler.data_max_[0] < 1_000_000)
    True
    >>> bool(scaler.privacy_spent_.epsilon <= 0.5)
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **RangedTransformer._parameter_constraints,
        "feature_range": [PAIR],
        "clip": ["boolean"],
    }

    _sparse = False
    _takes_missing = True

    feature_range: tuple[float, float]
    clip: bool

    data_min_: np.ndarray
    data_max_: np.ndarray
    data_range_: np.ndarray
    scale_: np.ndarray
    min_: np.ndarray

    @with_advice(SCALERS)
    def __init__(
        self,
        *,
        epsilon: float = 1.0,
        delta: float | None = None,
        feature_range: tuple[float, float] = (0.0, 1.0),
        bounds: Any = None,
        clip: bool = True,
        adjacency: str = "replace_one",
        random_state: Any = None,
    ) -> None:
        keep_parameters(self, locals())

    def _settle(self) -> None:
        checked_range(type(self).__name__, self.feature_range)
        super()._settle()

    def _learn(self, oracle: Oracle, n_samples: int) -> None:
        found, unknown = self._known_bounds()
        known, left = tuple(set(range(self.n_features_in_)) - set(unknown)), self.n_features_in_
        for columns, within in ((unknown, False), (known, True)):
            if columns:
                # Bounds that are given hold the ranges, which are found all the same.
                part = oracle.budget.fraction(len(columns) / left)
                found = self._ranges_of(oracle, part, n_samples, found, columns, within=within)
                left -= len(columns)
        a, b = checked_range(type(self).__name__, self.feature_range)
        self.data_min_, self.data_max_ = found.low, found.high
        self.data_range_ = 2 * found.half_width
        self.scale_ = (b - a) / self.data_range_
        self.min_ = a - found.low * self.scale_

    def _map(self, n_features: int) -> ColumnScaling:
        a, b = self.feature_range
        ends = np.full(n_features, a, dtype=float), np.full(n_features, b, dtype=float)
        return ColumnScaling(self.scale_, -self.min_ / self.scale_, ends if self.clip else None)
