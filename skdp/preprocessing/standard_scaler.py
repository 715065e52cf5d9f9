"""Features brought to mean 0 and variance 1 by private moments."""

from __future__ import annotations

from typing import Any, ClassVar, final

import numpy as np

from ..privacy.oracle import Oracle
from ..problem.column_bounds import ColumnScaling
from ..validation import SCALERS, keep_parameters, with_advice
from .column_ranges import private_column_moments
from .ranged_transformer import RangedTransformer
from .scaler import Scaler, scaling_within


@final
class DPStandardScaler(Scaler, RangedTransformer):
    r"""Centre and scale features by means and variances that are released privately.

    With features clipped to bounds ``[low_j, high_j]``, of middle ``c_j`` and half width ``h_j``,
    the means of ``u_j = (x_j - c_j) / h_j`` and of ``u_j^2`` are released for all features at once.
    Under replace-one this answer moves by at most ``2 sqrt(d) / n``, the squares included, so that
    the noise of a mean is about ``2 sqrt(d) h_j / (n mu)``, for the mu of the budget, whatever the
    units of the other features.

    Parameters
    ----------
    bounds : (low, high) or mapping, optional
        Each a number for all features or one for each feature, known without the data; or a
        dictionary of pairs (low, high) by column name. Bounds that are not given are found with
        up to a half of the budget.
    with_mean : bool, default=True
        Whether to centre. Sparse rows need False.
    with_std : bool, default=True
        Whether to scale.
    clip : bool, default=True
        Whether ``transform`` clips features to the bounds that the moments were taken within. A
        private linear model shortens rows that are long, with all of their features, so that a
        single wild value would hide the others.

    Attributes
    ----------
    mean_ : ndarray of shape (`n_features_in_`,) or None
        Released means; None without centring and scaling.
    var_ : ndarray of shape (`n_features_in_`,) or None
        Released variances about them, at least what noise leaves to see; None without scaling.
    scale_ : ndarray of shape (`n_features_in_`,) or None
        Roots of the variances; None without scaling.
    bounds_ : tuple of ndarray
        Low and high ends that were used, given or found, each of shape (`n_features_in_`,).

    See Also
    --------
    BoundsScaler : Free, where bounds are known.
    DPMinMaxScaler : Brings features to a range instead.

    Notes
    -----
    A feature that does not vary visibly has the smallest variance that can be told from noise, so
    that it comes out as nearly zero and is not blown up. Missing values count in no moment and stay
    missing, as in scikit-learn; how many there are of each feature costs nothing.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp.preprocessing import DPStandardScaler
    >>> ages = np.random.default_rng(0).normal(40, 10, size=(5000, 1))
    >>> scaler = DPStandardScaler(epsilon=0.5, bounds=(0, 120)).fit(ages)
    >>> bool(abs(scaler.mean_[0] - 40) < 3), bool(abs(scaler.scale_[0] - 10) < 3)
    (True, True)
    >>> scaler.privacy_spent_
    PrivacySpent(epsilon=0.5, delta=1e-05)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **RangedTransformer._parameter_constraints,
        "with_mean": ["boolean"],
        "with_std": ["boolean"],
        "clip": ["boolean"],
    }

    _range_share = 0.5
    _takes_missing = True

    with_mean: bool
    with_std: bool
    clip: bool

    mean_: np.ndarray | None
    var_: np.ndarray | None
    scale_: np.ndarray | None

    @with_advice(SCALERS)
    def __init__(
        self,
        *,
        epsilon: float = 1.0,
        delta: float | None = None,
        bounds: Any = None,
        with_mean: bool = True,
        with_std: bool = True,
        clip: bool = True,
        adjacency: str = "replace_one",
        random_state: Any = None,
    ) -> None:
        keep_parameters(self, locals())

    @property
    def _sparse(self) -> bool:
        return not self.with_mean

    def _learn(self, oracle: Oracle, n_samples: int) -> None:
        bounds = self._find_bounds(oracle, n_samples)
        self.mean_ = self.var_ = self.scale_ = None
        if not (self.with_mean or self.with_std):
            return
        mean, var = private_column_moments(oracle, bounds, n_samples, oracle.budget.whole())
        self.mean_ = mean
        if self.with_std:
            self.var_, self.scale_ = var, np.sqrt(var)

    def _map(self, n_features: int) -> ColumnScaling:
        scale = np.ones(n_features) if self.scale_ is None else self.scale_
        shift = self.mean_ if self.with_mean else None
        return scaling_within(scale, shift, self.bounds_ if self.clip else None)
