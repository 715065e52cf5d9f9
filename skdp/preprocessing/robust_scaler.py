"""Features centred by private medians and scaled by private interquartile ranges."""

from __future__ import annotations

from typing import Any, ClassVar, final

import numpy as np
from scipy.special import ndtri

from ..problem.column_bounds import ColumnScaling
from ..validation import PAIR, SCALERS, check_numbers, keep_parameters, shown, with_advice
from .column_quantiles import ColumnDistributions, QuantileLearner
from .scaler import Scaler, scaling_within


@final
class DPRobustScaler(Scaler, QuantileLearner):
    r"""Centre features by medians and scale them by ranges of quantiles, found privately.

    The quantiles of all features come from one release, see :class:`DPQuantileTransformer`.

    Parameters
    ----------
    with_centering : bool, default=True
        Whether to take off the median. Sparse rows need False.
    with_scaling : bool, default=True
        Whether to divide by the distance of the two quantiles.
    quantile_range : (float, float), default=(25.0, 75.0)
        The two, in percent.
    unit_variance : bool, default=False
        Whether normally distributed features come out with variance 1.
    clip : bool, default=True
        Whether ``transform`` clips features to the bounds that quantiles were found within, as
        :class:`DPStandardScaler` does.

    Attributes
    ----------
    center_ : ndarray of shape (`n_features_in_`,) or None
        Medians; None without centring.
    scale_ : ndarray of shape (`n_features_in_`,) or None
        Distances of the two quantiles; None without scaling. Where they are too near to be told
        apart, it is half the length of the interval of the feature.

    See Also
    --------
    DPStandardScaler : Centres and scales by moments.

    Notes
    -----
    Missing values are left out of the counts and stay missing, as in scikit-learn.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp.preprocessing import DPRobustScaler
    >>> ages = np.random.default_rng(0).normal(40, 10, size=(5000, 1))
    >>> scaler = DPRobustScaler(epsilon=0.5, bounds=(0, 120)).fit(ages)
    >>> bool(abs(scaler.center_[0] - 40) < 3), bool(abs(scaler.scale_[0] - 13.5) < 3)
    (True, True)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **QuantileLearner._parameter_constraints,
        "with_centering": ["boolean"],
        "with_scaling": ["boolean"],
        "quantile_range": [PAIR],
        "unit_variance": ["boolean"],
        "clip": ["boolean"],
    }

    _takes_missing = True

    with_centering: bool
    with_scaling: bool
    quantile_range: tuple[float, float]
    unit_variance: bool
    clip: bool

    center_: np.ndarray | None
    scale_: np.ndarray | None

    @with_advice(SCALERS)
    def __init__(
        self,
        *,
        with_centering: bool = True,
        with_scaling: bool = True,
        quantile_range: tuple[float, float] = (25.0, 75.0),
        unit_variance: bool = False,
        epsilon: float = 1.0,
        delta: float | None = None,
        bounds: Any = None,
        clip: bool = True,
        adjacency: str = "replace_one",
        random_state: Any = None,
    ) -> None:
        keep_parameters(self, locals())

    @property
    def _sparse(self) -> bool:
        return not self.with_centering

    def _settle(self) -> None:
        super()._settle()
        self._shares()

    def _shares(self) -> tuple[float, float]:
        who = type(self).__name__
        if len(self.quantile_range) == 2:
            first, last = self.quantile_range
            check_numbers(who, **{"quantile_range": first, "the end of quantile_range": last})
            if 0 < first < last < 100:
                return first / 100, last / 100
        raise ValueError(
            f"{who} needs quantile_range=(first, last) with 0 < first < last < 100, in percent, "
            f"got {shown(self.quantile_range)}; (25.0, 75.0) is usual."
        )

    def _publish(self, distributions: ColumnDistributions) -> None:
        first, last = self._shares()
        low, high = distributions.quantiles(np.array([first, last]))
        (median,) = distributions.quantiles(np.array([0.5]))
        self.center_ = median if self.with_centering else None
        self.scale_ = None
        if self.with_scaling:
            apart = high - low > distributions.resolution
            length = self.bounds_[1] - self.bounds_[0]
            self.scale_ = np.where(apart, high - low, 0.5 * length)
            if self.unit_variance:
                self.scale_ /= ndtri(last) - ndtri(first)

    def _map(self, n_features: int) -> ColumnScaling:
        scale = np.ones(n_features) if self.scale_ is None else self.scale_
        return scaling_within(scale, self.center_, self.bounds_ if self.clip else None)
