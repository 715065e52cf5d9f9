"""The columns that tell most about the target, chosen privately."""

from __future__ import annotations

from collections.abc import Callable
from math import sqrt
from numbers import Integral
from typing import Any, ClassVar, final

import numpy as np
import scipy.sparse as sp
from sklearn.feature_selection import SelectKBest
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import check_consistent_length, check_is_fitted, column_or_1d

from ..privacy.oracle import Oracle
from ..privacy.rows.bounded_rows import Rows
from ..privacy.rows.reading import redacted
from ..privacy.rows.targets import ClassEncoder, as_numbers, checked_classes
from ..problem.bounds import RowBounds, TargetBounds
from ..problem.column_bounds import ColumnBounds, ColumnScaling
from ..problem.losses import Softmax, Squared
from ..problem.problem import Problem
from ..validation import PAIR, SELECTORS, keep_parameters, with_advice
from .base import Invertible
from .column_ranges import private_column_moments
from .ranged_transformer import RangedTransformer

# Of the budget without ranges: means and variances, and for numbers the middle of the targets and
# the sizes of products. The rest is for sums of products.
_COLUMN_SHARE, _CENTRE_SHARE, _SIZE_SHARE = 0.25, 0.02, 0.03
# Length of a row, and its constant entry, beside the root of the number of columns.
_LENGTH, _CONSTANT = 1.25, 0.25
# Share of rows whose product with the target keeps its length, and lengths, in units of a row's.
_KEPT, _SIZES = 0.9, np.geomspace(2.0**-10, 1.0, 21)


@final
class DPSelectKBest(Invertible, RangedTransformer):
    r"""Keep the k columns that tell most about the target.

    Columns are brought to mean 0 and variance 1 by private moments and rows held to a length, and
    then the sums of all columns in each class, or their products with the target, are released at
    once. Where k of d columns tell something, their correlations with the target must stand out of
    noise of about ``2.3 sqrt(d) / (n mu)``, for two even classes, n rows and the mu of the budget;
    of twice that if the target is a number.

    Parameters
    ----------
    k : int, default=10
        Number of columns to keep; all of them if there are no more.
    classes : array-like, optional
        Labels that may occur in y, known without the data, if it has labels.
    target_bounds : (low, high), optional
        Ends that y is clipped to, known without the data, if it has numbers. One of the two is
        needed.
    bounds : (low, high) or mapping, optional
        Each a number for all features or one for each feature, known without the data; or a
        dictionary of pairs (low, high) by column name. Bounds that are not given are found with
        a quarter of the budget.

    Attributes
    ----------
    scores_ : ndarray of shape (`n_features_in_`,)
        Size of the noisy covariance of each column, in units of its standard deviation, with the
        target, in units of half the width of its bounds; two classes count as the bounds. Of more
        classes, the length of the vector of covariances with each.
    bounds_ : tuple of ndarray
        Low and high ends that were used, given or found, each of shape (`n_features_in_`,).

    See Also
    --------
    skdp.solvers.Screening : Chooses the features of a lasso within the budget of the fit.

    Notes
    -----
    Two classes rank columns as an analysis of variance does. Of several, frequent ones count for
    more, because the sums of rare ones would be noise.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp.preprocessing import DPSelectKBest
    >>> X = np.random.default_rng(0).normal(size=(20_000, 5))
    >>> y = X[:, 3] > X[:, 1]
    >>> selector = DPSelectKBest(k=2, classes=[False, True], bounds=(-5, 5)).fit(X, y)
    >>> [int(j) for j in selector.get_support(indices=True)]
    [1, 3]
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **RangedTransformer._parameter_constraints,
        "k": [Interval(Integral, 1, None, closed="left")],
        "classes": [None, "array-like"],
        "target_bounds": [None, PAIR],
    }

    _range_share = 0.25
    _sparse = True

    k: int
    classes: Any
    target_bounds: Any

    scores_: np.ndarray

    @with_advice(SELECTORS)
    def __init__(
        self,
        k: int = 10,
        *,
        classes: Any = None,
        target_bounds: Any = None,
        epsilon: float = 1.0,
        delta: float | None = None,
        bounds: Any = None,
        adjacency: str = "replace_one",
        random_state: Any = None,
    ) -> None:
        keep_parameters(self, locals())

    def get_support(self, indices: bool = False) -> np.ndarray:
        """Columns that are kept.

        Parameters
        ----------
        indices : bool, default=False
            Whether their positions are returned in place of a mask.

        Returns
        -------
        ndarray
            Of bool and shape (`n_features_in_`,), or of int.
        """
        check_is_fitted(self)
        return self._plain().get_support(indices)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags

    def _targets(self, X: Rows, y: Any) -> tuple[Any, Callable[[np.ndarray], np.ndarray]]:
        name = type(self).__name__
        if (self.classes is None) == (self.target_bounds is None):
            raise ValueError(
                f"{name} needs either classes=[...], for labels, or target_bounds=(low, high), for "
                "numbers, which are known without the data."
            )
        if y is None:
            raise ValueError(f"{name} requires y to be passed, but the target y is None.")
        y = redacted(column_or_1d, y, warn=True)
        redacted(check_consistent_length, X, y)
        # Layouts are public.
        self._of_sparse = sp.issparse(X)
        if self.classes is None:
            return y, lambda given: as_numbers(name, given)
        return y, ClassEncoder(name, self._labels())

    def _settle(self) -> None:
        super()._settle()
        if self._target() is None and (K := self._labels().size) < 2:
            raise ValueError(f"{type(self).__name__} needs at least 2 classes, got {K}.")

    def _labels(self) -> np.ndarray:
        return checked_classes(type(self).__name__, self.classes)

    def _target(self) -> TargetBounds | None:
        """Bounds of the targets, if these are numbers or the codes of two classes."""
        if self.target_bounds is None:
            return TargetBounds(0.0, 1.0) if self._labels().size == 2 else None
        name, each = "target_bounds", "target"
        found = ColumnBounds.of(
            type(self).__name__, self.target_bounds, 1, parameter=name, each=each
        )
        return TargetBounds(float(found.low[0]), float(found.high[0]))

    def _learn(self, oracle: Oracle, n_samples: int) -> None:
        d, target = self.n_features_in_, self._target()
        bounds = self._find_bounds(oracle, n_samples)
        centre, sizes, columns = (
            oracle.budget.fraction(s).whole() for s in (_CENTRE_SHARE, _SIZE_SHARE, _COLUMN_SHARE)
        )
        mean, variance = private_column_moments(oracle, bounds, n_samples, columns)
        deviation = np.sqrt(variance)
        scale = np.sqrt(variance + mean**2) if self._of_sparse else deviation
        scaling = ColumnScaling.standard(bounds, mean, scale, sparse=self._of_sparse)
        length, constant = _LENGTH * sqrt(d), _CONSTANT * sqrt(d)
        loss = Softmax(self._labels().size) if target is None else Squared()
        rows = RowBounds(length, constant, target, scaling=scaling)
        asked = oracle.for_problem(Problem(loss, n_samples, d, rows))
        if target is None:
            oracle.note("sums of classes")
            sums = asked.row_means(by_class=True, spend=oracle.budget.whole()).value
            shares = np.clip(sums[-1] / constant, 0.0, 1.0)
            covariances = sums[:-1] - sums[:-1].sum(axis=1, keepdims=True) * shares
        else:
            oracle.note("products with the target")
            w = np.zeros(d + 1)
            w[-1] = -asked.intercept_gradient(w, clip=1.0, spend=centre).value[0] / constant
            edges = length * _SIZES
            counts = np.cumsum(asked.gradient_sizes(w, edges, spend=sizes).value)[:-1]
            enough = np.flatnonzero(counts >= _KEPT * n_samples)
            clip_norm = float(edges[enough[0] if enough.size else -1])
            sums = asked.gradient(w, clip_norm=clip_norm, spend=oracle.budget.whole())
            means = mean / scale if self._of_sparse else 0.0
            covariances = (sums[:-1] - means * sums[-1] / constant)[:, None]
        self.scores_ = np.linalg.norm(covariances, axis=1) * scale / deviation

    def _plain(self) -> SelectKBest:
        out = SelectKBest(k=min(self.k, self.n_features_in_))
        out.scores_ = self.scores_
        return out
