"""Features turned into splines with private quantiles for knots."""

from __future__ import annotations

from numbers import Integral
from typing import Any, ClassVar, final

import numpy as np
from sklearn.preprocessing import SplineTransformer
from sklearn.utils._param_validation import Interval

from ..privacy.rows.bounded_rows import Rows
from ..validation import SCALERS, keep_parameters, one_of, with_advice
from .base import Delegating
from .column_quantiles import ColumnDistributions, QuantileLearner

# Of the range, what the gaps between knots are at least together.
_GAPS = 0.25


@final
class DPSplineTransformer(Delegating, QuantileLearner):
    r"""Turn each feature into B-splines with knots at quantiles that are found privately.

    A linear model behind it is an additive one: a smooth curve for each feature. The quantiles of
    all features come from one release, see :class:`DPQuantileTransformer`; with known ``bounds``
    evenly spaced knots are free.

    Parameters
    ----------
    n_knots : int, default=5
        Number of knots, at least 2.
    degree : int, default=3
        Degree of the polynomials between them.
    knots : {'quantile', 'uniform'}, default='quantile'
        Whether equally many rows lie between knots, or they are evenly spaced over the range.
    extrapolation : {'error', 'constant', 'linear', 'continue', 'periodic'}, default='constant'
        What lies beyond the range; as in scikit-learn.
    include_bias : bool, default=True
        Whether all splines are kept, which sum to 1; else the last of each feature is left out.
    handle_missing : {'error', 'zeros'}, default='error'
        Whether missing values are refused, or are left out of the counts and all splines are 0.

    Attributes
    ----------
    knots_ : ndarray of shape (n_knots, `n_features_in_`)
        The knots, which increase visibly even where all rows have one value.
    n_features_out_ : int
        Number of splines of all features.

    See Also
    --------
    DPKBinsDiscretizer : Steps in place of curves.

    Notes
    -----
    Rows have no weights here, because the total of weights is not public.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp.preprocessing import DPSplineTransformer
    >>> X = np.random.default_rng(0).uniform(-1, 1, size=(5000, 1))
    >>> DPSplineTransformer(bounds=(-1, 1)).fit_transform(X).shape
    (5000, 7)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **QuantileLearner._parameter_constraints,
        "n_knots": [Interval(Integral, 2, 10_000, closed="both")],
        "degree": [Interval(Integral, 0, 100, closed="both")],
        "knots": [one_of("quantile", "uniform")],
        "extrapolation": [one_of("error", "constant", "linear", "continue", "periodic")],
        "include_bias": ["boolean"],
        "handle_missing": [one_of("error", "zeros")],
    }

    n_knots: int
    degree: int
    knots: str
    extrapolation: str
    include_bias: bool
    handle_missing: str

    knots_: np.ndarray
    n_features_out_: int

    @with_advice(
        {
            **SCALERS,
            "order": "Rows are in C order: leave it out.",
            "sparse_output": "Splines are dense here: leave it out.",
        }
    )
    def __init__(
        self,
        n_knots: int = 5,
        degree: int = 3,
        *,
        knots: str = "quantile",
        extrapolation: str = "constant",
        include_bias: bool = True,
        handle_missing: str = "error",
        epsilon: float = 1.0,
        delta: float | None = None,
        bounds: Any = None,
        adjacency: str = "replace_one",
        random_state: Any = None,
    ) -> None:
        keep_parameters(self, locals())

    @property
    def _takes_missing(self) -> bool:
        return self.handle_missing == "zeros"

    @property
    def _by_ranges(self) -> bool:
        return self.knots == "uniform"

    def _settle(self) -> None:
        super()._settle()
        if self.extrapolation == "periodic" and self.n_knots <= self.degree:
            raise ValueError(
                f"{type(self).__name__} needs more knots than the degree for periodic splines, got "
                f"n_knots={self.n_knots} and degree={self.degree}."
            )

    def _publish(self, distributions: ColumnDistributions) -> None:
        low, high = self.bounds_
        evenly = np.linspace(0, 1, self.n_knots)
        found = (distributions.quantiles(evenly) - low) / (high - low)
        # Knots nearer than noise can tell would make curves that jump.
        found[0], found[-1] = 0.0, 1.0
        self.knots_ = low + (high - low) * ((1.0 - _GAPS) * found + _GAPS * evenly[:, None])
        self.n_features_out_ = self._plain().n_features_out_

    def _plain(self) -> SplineTransformer:
        out = SplineTransformer(
            degree=self.degree,
            knots=self.knots_,
            extrapolation=self.extrapolation,
            include_bias=self.include_bias,
        )
        # Of what it is fitted to, knots that are given leave only the shape.
        return out.fit(self.knots_)

    def _applied(self, X: Rows) -> Rows:
        assert isinstance(X, np.ndarray)
        missing = np.isnan(X)
        X[missing] = np.broadcast_to(self.bounds_[0], X.shape)[missing]
        out = super()._applied(X)
        out.reshape(*X.shape, -1)[missing] = 0.0
        return out
