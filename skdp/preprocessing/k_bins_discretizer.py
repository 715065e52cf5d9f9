"""Features cut into bins between private quantiles."""

from __future__ import annotations

from numbers import Integral
from typing import Any, ClassVar, final

import numpy as np
from sklearn.preprocessing import KBinsDiscretizer, OneHotEncoder
from sklearn.utils._param_validation import Interval

from ..validation import SCALERS, keep_parameters, numbers_in, one_of, with_advice
from .base import Invertible
from .column_quantiles import ColumnDistributions, QuantileLearner


@final
class DPKBinsDiscretizer(Invertible, QuantileLearner):
    r"""Cut each feature into bins between quantiles that are found privately.

    The quantiles of all features come from one release, see :class:`DPQuantileTransformer`. Bins of
    equal width follow from the ranges alone, so that they are free where ``bounds`` are known.

    Parameters
    ----------
    n_bins : int or array-like of shape (n_features,), default=5
        Number of bins of all features, or of each, at least 2.
    encode : {'onehot', 'onehot-dense', 'ordinal'}, default='onehot'
        Whether an entry becomes a one among zeros, in a sparse or a dense matrix, or the number of
        its bin.
    strategy : {'quantile', 'uniform'}, default='quantile'
        Whether bins hold equally many rows or have equal widths.

    Attributes
    ----------
    bin_edges_ : ndarray of shape (`n_features_in_`,), of arrays
        Ends of the bins of each feature. Bins narrower than the cells of the counts are merged.
    n_bins_ : ndarray of shape (`n_features_in_`,)
        Number of bins of each feature.

    See Also
    --------
    DPQuantileTransformer : Ranks in place of bins.
    DPSplineTransformer : Smooth curves in place of steps.

    Notes
    -----
    Rows have no weights here, because the total of weights is not public.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp.preprocessing import DPKBinsDiscretizer
    >>> ages = np.random.default_rng(0).uniform(20, 60, size=(5000, 1))
    >>> bins = DPKBinsDiscretizer(n_bins=4, bounds=(0, 100), encode="ordinal").fit(ages)
    >>> bool(np.abs(bins.bin_edges_[0][1:-1] - [30, 40, 50]).max() < 2)
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **QuantileLearner._parameter_constraints,
        "n_bins": [Interval(Integral, 2, None, closed="left"), "array-like"],
        "encode": [one_of("onehot", "onehot-dense", "ordinal")],
        "strategy": [
            one_of(
                "quantile",
                "uniform",
                advice={"kmeans": "which would need many looks at the rows; use 'quantile'."},
            )
        ],
    }

    n_bins: Any
    encode: str
    strategy: str

    bin_edges_: np.ndarray
    n_bins_: np.ndarray

    @with_advice(
        {
            **SCALERS,
            "dtype": "Single precision stays so, and all else is double: leave it out.",
            "quantile_method": "Values lie evenly within the cells of the counts: leave it out.",
            "subsample": "All rows are counted: leave it out.",
        }
    )
    def __init__(
        self,
        n_bins: Any = 5,
        *,
        encode: str = "onehot",
        strategy: str = "quantile",
        epsilon: float = 1.0,
        delta: float | None = None,
        bounds: Any = None,
        adjacency: str = "replace_one",
        random_state: Any = None,
    ) -> None:
        keep_parameters(self, locals())

    @property
    def _by_ranges(self) -> bool:
        return self.strategy == "uniform"

    @property
    def _always_dense(self) -> bool:
        return self.encode != "onehot"

    def _settle(self) -> None:
        super()._settle()
        self._numbers_of_bins()

    def _numbers_of_bins(self) -> np.ndarray:
        given, d = numbers_in(self.n_bins), self.n_features_in_
        if (
            given is None
            or given.shape not in ((), (d,))
            or not np.all((given >= 2) & (given < 2**31) & (given % 1 == 0))
        ):
            raise ValueError(
                f"{type(self).__name__} needs n_bins of at least 2 and below 2^31, one number for "
                f"all or for each of {d} features, got others."
            )
        return np.broadcast_to(given.astype(int), d)

    def _publish(self, distributions: ColumnDistributions) -> None:
        low, high = self.bounds_
        self.bin_edges_ = np.empty(low.size, dtype=object)
        for j, n_bins in enumerate(self._numbers_of_bins()):
            evenly = np.linspace(0, 1, n_bins + 1)
            edges = low[j] + (high[j] - low[j]) * evenly
            if not self._by_ranges:
                cell = distributions.resolution[j]
                found = distributions.quantiles(evenly[1:-1])[:, j]
                edges = [low[j]]
                # A value that many rows have is somewhere within its cell.
                for edge in np.clip(found, low[j] + cell, high[j] - cell):
                    if edge - edges[-1] >= 0.5 * cell:
                        edges.append(edge)
                edges = np.array([*edges, high[j]])
            self.bin_edges_[j] = edges
        self.n_bins_ = np.array([edges.size - 1 for edges in self.bin_edges_])

    def _plain(self) -> KBinsDiscretizer:
        out = KBinsDiscretizer(encode=self.encode, strategy=self.strategy)
        out.bin_edges_, out.n_bins_ = self.bin_edges_, self.n_bins_
        if self.encode != "ordinal":
            categories = [np.arange(n_bins) for n_bins in self.n_bins_]
            encoder = OneHotEncoder(categories=categories, sparse_output=self.encode == "onehot")
            out._encoder = encoder.fit(np.zeros((1, len(categories))))
        return out
