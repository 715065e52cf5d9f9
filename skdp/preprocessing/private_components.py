"""Principal components of rows, from private second moments."""

from __future__ import annotations

from abc import ABC, abstractmethod
from math import sqrt
from typing import Any, ClassVar, final

import numpy as np
from sklearn.utils.extmath import svd_flip

from ..privacy.accounting.ledger import Spend
from ..privacy.oracle import Oracle
from ..problem.bounds import RowBounds
from ..problem.column_bounds import ColumnScaling
from ..problem.losses import Squared
from ..problem.problem import Problem
from ..validation import SCALERS
from .base import Invertible
from .column_ranges import private_column_moments
from .ranged_transformer import RangedTransformer

# Of the budget without ranges: means and variances, lengths of rows, the rest for second moments.
_COLUMN_SHARE, _LENGTH_SHARE = 0.2, 0.05
# Shares of rows beyond the length that all are held to, where noise is large and where it is not,
# and lengths that are tried, in units of the usual.
_TAIL, _FAR_TAIL, _LENGTHS = 0.05, 0.002, np.geomspace(0.25, 32.0, 29)
# Length in the same units where noise hides the lengths.
_UNSEEN = 1.25
# Noise of the second moments, beside the variance of a column, that is as good as none.
_SMALL = 0.05
# What is published of components, as in scikit-learn.
_LEARNED = "components_", "explained_variance_", "explained_variance_ratio_", "singular_values_"
# More features have second moments that nothing can be done with.
_MOST_FEATURES = 4096


def components_advice(*names: str) -> dict[str, str]:
    """Advice on parameters of scikit-learn's that say how exact components are computed.

    Parameters
    ----------
    *names : str
        The parameters.
    """
    exact = "Components are the eigenvectors of private second moments: leave it out."
    return {**SCALERS, **dict.fromkeys(names, exact)}


class ComponentsLearner(Invertible, RangedTransformer, ABC):
    """A transformer that turns rows along the directions in which they vary most.

    Columns are brought to one scale first, by private means and variances, so that each has noise
    in proportion to how much it varies; rows are held to a length that nearly all of them have.

    Parameters
    ----------
    bounds : (low, high) or mapping, optional
        Each a number for all features or one for each feature, known without the data; or a
        dictionary of pairs (low, high) by column name. Bounds that are not given are found with
        a quarter of the budget.

    Attributes
    ----------
    bounds_ : tuple of ndarray
        Low and high ends that were used, given or found, each of shape (`n_features_in_`,).
    """

    _range_share = 0.25
    # Whether means are taken off.
    _centred: ClassVar[bool]

    components_: np.ndarray
    explained_variance_: np.ndarray
    explained_variance_ratio_: np.ndarray
    singular_values_: np.ndarray

    @abstractmethod
    def _number(self) -> int:
        """Number of components."""

    def _settle(self) -> None:
        super()._settle()
        d, k = self.n_features_in_, self._number()
        if not 1 <= k <= d <= _MOST_FEATURES:
            raise ValueError(
                f"{type(self).__name__} needs 1 to {min(d, _MOST_FEATURES)} components of at most "
                f"{_MOST_FEATURES} features, got n_components={k} and {d} features."
            )

    @final
    def _learn(self, oracle: Oracle, n_samples: int) -> None:
        d, bounds = self.n_features_in_, self._find_bounds(oracle, n_samples)
        columns, lengths = (oracle.budget.fraction(s) for s in (_COLUMN_SHARE, _LENGTH_SHARE))
        mean, variance = private_column_moments(oracle, bounds, n_samples, columns.whole())
        scale = np.sqrt(variance if self._centred else variance + mean**2)
        scaling = ColumnScaling.standard(bounds, mean, scale, sparse=not self._centred)
        length = _usual_length(oracle, scaling, n_samples, lengths.whole())
        oracle.note("second moments")
        problem = Problem(Squared(), n_samples, d, RowBounds(length, scaling=scaling))
        moments, noise = oracle.for_problem(problem).second_moments(
            full=True, spend=oracle.budget.whole()
        )
        moments = scale[:, None] * moments * scale
        values, directions = np.linalg.eigh(moments)
        order = np.argsort(values)[::-1][: self._number()]
        # With signs as scikit-learn chooses them.
        _, self.components_ = svd_flip(None, directions[:, order].T, u_based_decision=False)
        # Along each of them no less than what noise leaves to see.
        least = noise * np.square(self.components_ * scale).sum(axis=1)
        along = np.maximum(values[order], least)
        if not self._centred:
            along = np.maximum(along - np.square(self.components_ @ mean), least)
        self.explained_variance_ = along
        total = max(float(variance.sum()), float(along.sum()))
        self.explained_variance_ratio_ = along / total
        self.singular_values_ = np.sqrt(n_samples * np.maximum(values[order], least))
        self._publish(mean, total)

    def _publish(self, mean: np.ndarray, variance: float) -> None:
        """Set further attributes by the means of the columns and the sum of their variances."""

    @final
    def _learned_by(self, plain: Any, *names: str) -> Any:
        """An estimator of scikit-learn's with what this one has learned, and these attributes."""
        for name in (*_LEARNED, *names):
            setattr(plain, name, getattr(self, name))
        return plain


def _usual_length(oracle: Oracle, scaling: ColumnScaling, n_samples: int, spend: Spend) -> float:
    """Length of a row that few rows exceed, or hardly any where that costs little."""
    one, d = oracle.adjacency.of_histogram(), scaling.factor.size
    noise = one * sqrt(_LENGTHS.size / spend.amount) / n_samples
    if noise > 0.5 * _TAIL:
        return _UNSEEN * sqrt(d)
    oracle.note("lengths of rows")
    edges = sqrt(d) * _LENGTHS
    counts = oracle.histogram("row_norm", edges, spend=spend, scaling=scaling)
    below = np.maximum.accumulate(np.cumsum(counts[:-1])) / n_samples
    usual, most = (
        float(edges[min(int(np.searchsorted(below, 1 - tail)), edges.size - 1)])
        for tail in (_TAIL, _FAR_TAIL)
    )
    # The spectral norm of what noise adds to the moments is sqrt(2 d) times its scale.
    small = _SMALL * n_samples * oracle.budget.mu / (one * sqrt(2 * d))
    return max(usual, min(most, sqrt(small)))
