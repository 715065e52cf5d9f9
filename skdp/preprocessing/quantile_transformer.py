"""Features brought to a uniform or a normal distribution by private quantiles."""

from __future__ import annotations

from numbers import Integral
from typing import Any, ClassVar, final

import numpy as np
from sklearn.preprocessing import QuantileTransformer
from sklearn.utils._param_validation import Interval

from ..validation import SCALERS, keep_parameters, one_of, with_advice
from .base import Invertible
from .column_quantiles import ColumnDistributions, QuantileLearner


@final
class DPQuantileTransformer(Invertible, QuantileLearner):
    r"""Bring each feature to a uniform or a normal distribution by quantiles found privately.

    Rows are counted in 64 or 256 cells of the range of each feature, which are gathered four by
    four in a tree, with noise; all quantiles of all features follow from that one release. With d
    features and L levels of the tree it moves by at most ``sqrt(2 L d)``, so that a quantile is off
    by about ``3 sqrt(d) / mu`` rows, for the mu of the budget.

    Parameters
    ----------
    n_quantiles : int, default=1000
        Number of quantiles that are published. Between them, and within cells, values are taken to
        lie evenly.
    output_distribution : {'uniform', 'normal'}, default='uniform'
        Distribution of what comes out.

    Attributes
    ----------
    n_quantiles_ : int
        Number of quantiles.
    quantiles_ : ndarray of shape (`n_quantiles_`, `n_features_in_`)
        The quantiles.
    references_ : ndarray of shape (`n_quantiles_`,)
        The shares of rows that they leave below.

    See Also
    --------
    DPKBinsDiscretizer : Bins between such quantiles.
    DPStandardScaler : Centres and scales by moments.

    Notes
    -----
    Missing values are left out of the counts and stay missing, as in scikit-learn. Rows have no
    weights here, because the total of weights is not public.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp.preprocessing import DPQuantileTransformer
    >>> incomes = np.random.default_rng(0).lognormal(10, 1, size=(20_000, 1))
    >>> ranks = DPQuantileTransformer(epsilon=0.5, bounds=(0, 200_000)).fit_transform(incomes)
    >>> bool(abs(np.mean(ranks < 0.5) - 0.5) < 0.02)
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **QuantileLearner._parameter_constraints,
        "n_quantiles": [Interval(Integral, 2, 100_000, closed="both")],
        "output_distribution": [one_of("uniform", "normal")],
    }

    _takes_missing = True

    n_quantiles: int
    output_distribution: str

    n_quantiles_: int
    quantiles_: np.ndarray
    references_: np.ndarray

    @with_advice(
        {
            **SCALERS,
            "ignore_implicit_zeros": "Rows are dense: leave it out.",
            "subsample": "All rows are counted: leave it out.",
        }
    )
    def __init__(
        self,
        *,
        n_quantiles: int = 1000,
        output_distribution: str = "uniform",
        epsilon: float = 1.0,
        delta: float | None = None,
        bounds: Any = None,
        adjacency: str = "replace_one",
        random_state: Any = None,
    ) -> None:
        keep_parameters(self, locals())

    def _publish(self, distributions: ColumnDistributions) -> None:
        self.n_quantiles_ = self.n_quantiles
        self.references_ = np.linspace(0, 1, self.n_quantiles)
        self.quantiles_ = distributions.quantiles(self.references_)

    def _plain(self) -> QuantileTransformer:
        out = QuantileTransformer(
            n_quantiles=self.n_quantiles_, output_distribution=self.output_distribution
        )
        out.n_quantiles_, out.references_ = self.n_quantiles_, self.references_
        out.quantiles_ = self.quantiles_
        return out
