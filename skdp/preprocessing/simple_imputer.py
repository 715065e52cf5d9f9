"""Missing values filled in by means, medians or commonest categories that are found privately."""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar, final

import numpy as np
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import _check_feature_names_in, check_is_fitted

from ..exceptions import warn_user
from ..privacy.accounting.calculus import Calculus, GaussianDP
from ..privacy.oracle import Oracle
from ..privacy.oracle_factory import PrivacyTerms
from ..privacy.rows.base import RowStore
from ..privacy.rows.category_rows import MISSING, CategoryRows, coded_categories, value_of
from ..privacy.rows.privacy_units import PrivacyUnits
from ..problem.column_bounds import ColumnBounds, ColumnScaling
from ..validation import IMPUTERS, keep_parameters, one_of, with_advice
from .bounds_scaler import BoundsScaler
from .column_categories import (
    calculus_of_categories,
    hidden_threshold,
    private_column_categories,
    warn_of_hidden_categories,
)
from .column_quantiles import private_column_distributions
from .ranged_transformer import RangedTransformer

# Standard deviations by which values have to be seen that are not missing.
_SEEN = 4.0
# Columns of truth values are none: one that is missing turns them into columns of objects.
_NUMERIC = "iuf"


@final
class DPSimpleImputer(RangedTransformer):
    r"""Fill in missing values by statistics of the columns that are released privately.

    Means are released with the moments of all columns at once, and medians with the quantiles of
    all columns; missing values count for nothing in either, at no cost. The commonest categories
    are those of the largest noisy counts above a threshold, see :class:`DPOneHotEncoder`; where
    that is beyond the number of rows nothing is spent, the fit warns, and ``fill_value`` is filled
    in.

    Parameters
    ----------
    strategy : {'mean', 'median', 'most_frequent', 'constant'}, default='mean'
        What is filled in: a statistic of each column, the last but one also of columns of texts, or
        ``fill_value``, which spends nothing. The last two take rows in a list, whose entries have
        no common type, as columns of objects.
    fill_value : number or str, optional
        What ``'constant'`` fills in, and ``'most_frequent'`` where it sees no category. By default
        0 in columns of numbers and ``'missing_value'`` in others.
    add_indicator : bool, default=False
        Whether columns follow that say where values were missing, one for each feature, whether it
        has gaps or not, which is for nobody to know.
    scale : bool, default=False
        Whether columns of numbers go on in units of the bounds that their means or medians are
        taken within, given or found, to which they are clipped: from 0 to 1 where bounds begin at
        0, and from -1 to 1 otherwise. Ranges are found here once for all later steps then, with 85
        percent of the budget.
    bounds : (low, high) or mapping, optional
        For means and medians, known without the data: each a number for all features or one for
        each feature; or a dictionary of pairs (low, high) by column name. Of columns that it leaves
        out, or all if it is None, an interval is found with half of the budget.

    Attributes
    ----------
    statistics_ : ndarray of shape (`n_features_in_`,)
        What is filled in, of each column.
    bounds_ : tuple of ndarray or None
        Low and high ends within which means or medians were taken, each of shape
        (`n_features_in_`,).

    See Also
    --------
    sklearn.impute.SimpleImputer : Free with strategy='constant' and keep_empty_features=True.

    Notes
    -----
    Missing are NaN, None and what pandas has for them. A column of which no value is seen beside
    the noise gets the middle of its bounds, or ``fill_value``, with a warning; none is left out.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp.preprocessing import DPSimpleImputer
    >>> ages = np.random.default_rng(0).normal(40, 10, size=(5000, 1))
    >>> ages[::7] = np.nan
    >>> imputer = DPSimpleImputer(epsilon=0.5, bounds=(0, 120)).fit(ages)
    >>> bool(abs(imputer.statistics_[0] - 40) < 3)
    True
    >>> bool(np.isnan(imputer.transform(ages)).any())
    False
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **RangedTransformer._parameter_constraints,
        "strategy": [one_of("mean", "median", "most_frequent", "constant")],
        "fill_value": [Real, str, None],
        "add_indicator": ["boolean"],
        "scale": ["boolean"],
    }

    _sparse = False
    _takes_missing = True

    strategy: str
    fill_value: Any
    add_indicator: bool
    scale: bool

    statistics_: np.ndarray
    bounds_: tuple[np.ndarray, np.ndarray] | None  # type: ignore[assignment]

    @with_advice(IMPUTERS)
    def __init__(
        self,
        *,
        strategy: str = "mean",
        fill_value: Any = None,
        add_indicator: bool = False,
        scale: bool = False,
        epsilon: float = 1.0,
        delta: float | None = None,
        bounds: Any = None,
        adjacency: str = "replace_one",
        random_state: Any = None,
    ) -> None:
        keep_parameters(self, locals())

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Names of the columns of the result.

        Parameters
        ----------
        input_features : array-like of str, optional
            Names of the features; by default those that ``fit`` has seen, or x0, x1 and so on.

        Returns
        -------
        ndarray of str objects
            The names, and those of indicators, as scikit-learn calls them.
        """
        check_is_fitted(self)
        names = _check_feature_names_in(self, input_features)
        gaps = [f"missingindicator_{name}" for name in names] if self.add_indicator else []
        return np.array([*names, *gaps], dtype=object)

    def to_sklearn(self) -> Any:
        """The fitted imputer as scikit-learn's own, to be served where skdp is not installed.

        Returns
        -------
        estimator
            A fitted ``SimpleImputer``, with a scaler behind it in a ``Pipeline`` if it scales. It
            transforms as this one does, where NaN stands for what is missing.
        """
        check_is_fitted(self)
        # Of a single row every statistic is that row, and beside one of gaps every column has one.
        rows = np.stack([self.statistics_, np.full_like(self.statistics_, np.nan)])
        kind = "mean" if rows.dtype.kind == "f" else "most_frequent"
        plain = SimpleImputer(strategy=kind, add_indicator=self.add_indicator).fit(rows)
        if hasattr(self, "feature_names_in_"):
            plain.feature_names_in_ = self.feature_names_in_.copy()
        if not self.scale:
            return plain
        assert self.bounds_ is not None
        # Indicators stay within 0 and 1.
        more = self.n_features_in_ * self.add_indicator
        bounds = [np.append(end, np.full(more, k)) for k, end in enumerate(self.bounds_)]
        scaler = BoundsScaler(bounds=tuple(bounds), feature_range="auto")
        scaler.fit(np.zeros((1, bounds[0].size)))
        return Pipeline([("fill", plain), ("scale", scaler.to_sklearn())])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.string = tags.input_tags.categorical = not self._of_numbers
        return tags

    @property
    def _of_numbers(self) -> bool:
        return self.strategy in ("mean", "median")

    @property
    def _finds_for_all(self) -> bool:
        return self.scale

    @property
    def _range_share(self) -> float:  # type: ignore[override]
        return 0.85 if self.scale else 0.5

    @property
    def _scaling(self) -> ColumnScaling | None:
        """The map that brings columns to units of their ranges, if they are."""
        if not self.scale:
            return None
        assert self.bounds_ is not None
        return ColumnScaling.of_bounds(ColumnBounds(*self.bounds_), sparse=False)

    def _calculus(self, delta: float) -> Calculus:
        return calculus_of_categories(delta) if self.strategy == "most_frequent" else GaussianDP()

    def _checked(self, X: Any, *, reset: bool, copy: bool = False) -> Any:
        if self._of_numbers:
            return super()._checked(X, reset=reset, copy=copy)
        return self._checked_table(X, reset=reset)

    def _stored(self, checked: Any, y: Any, units: PrivacyUnits | None) -> RowStore:
        if self._of_numbers:
            return super()._stored(checked, y, units)
        # Types of columns are public.
        self._numeric = [column.dtype.kind in _NUMERIC for column in checked]
        return CategoryRows(checked, units)

    def _settle(self) -> None:
        if self._of_numbers:
            super()._settle()
        elif self.scale:
            raise ValueError(
                f"{type(self).__name__} needs strategy='mean' or 'median' to scale columns, got "
                f"strategy={self.strategy!r}, which takes no ranges; leave out scale=True."
            )

    def _foresee(self, n_samples: int, terms: PrivacyTerms) -> None:
        if self.strategy == "most_frequent":
            filled = "fill_value is filled in, which spends nothing."
            instead = "Use strategy='constant', or pass a larger epsilon, or more rows."
            columns, who = tuple(range(self.n_features_in_)), type(self).__name__
            warn_of_hidden_categories(
                who, columns, n_samples, terms, fallback=filled, instead=instead
            )

    def _learn(self, oracle: Oracle, n_samples: int) -> None:
        self.bounds_ = None
        if not self._of_numbers:
            self.statistics_ = self._common(oracle, n_samples)
            return
        bounds = self._find_bounds(oracle, n_samples)
        spend = oracle.budget.whole()
        if self.strategy == "median":
            found = private_column_distributions(oracle, bounds, n_samples, spend)
            centre, seen = found.quantiles(np.array([0.5]))[0], found.seen
        else:
            oracle.note("means of columns")
            moments = oracle.column_moments(bounds, n_samples, spend=spend)
            assert moments.missing is not None
            present = 1.0 - moments.missing
            seen = present > _SEEN * moments.scale
            # As much as is not seen to be missing: the number of rows is known.
            present = np.where(moments.missing > _SEEN * moments.scale, present, 1.0)
            means = np.clip(moments.means / np.where(seen, present, 1.0), -1.0, 1.0)
            centre = bounds.centre + bounds.half_width * means
        self._warn_of_unseen(seen, "the middle of its bounds")
        self.statistics_ = np.where(seen, centre, bounds.centre)

    def _common(self, oracle: Oracle, n_samples: int) -> np.ndarray:
        """Commonest category of each column, or the constant."""
        d = self.n_features_in_
        usual = [0 if numeric else "missing_value" for numeric in self._numeric]
        if self.fill_value is not None:
            usual = [self.fill_value] * d
        columns, terms = tuple(range(d)), self._terms(n_samples)
        searched = self.strategy == "most_frequent"
        if searched and hidden_threshold(columns, n_samples, terms) is None:
            counts = private_column_categories(oracle, columns, self.delta_).counts
            seen = np.zeros(d, dtype=bool)
            for j, of_column in counts.items():
                named = {c: count for c, count in of_column.items() if c != MISSING}
                if named:
                    usual[j] = value_of(max(named, key=lambda c: named[c]))
                    seen[j] = True
            self._warn_of_unseen(seen, "fill_value")
        if all(self._numeric) and all(isinstance(value, int | float) for value in usual):
            return np.array(usual, dtype=np.float64)
        out = np.empty(d, dtype=object)
        out[:] = usual
        return out

    def _warn_of_unseen(self, seen: np.ndarray, instead: str) -> None:
        if unseen := [self._name(j) for j in np.flatnonzero(~seen)]:
            warn_user(
                f"DPSimpleImputer sees no value beside the noise in {', '.join(unseen)}, where "
                f"{instead} is filled in. Leave these columns out, or pass a larger epsilon.",
                UserWarning,
            )

    def _applied(self, X: Any) -> np.ndarray:
        if not self._of_numbers:
            return self._filled(X)
        gaps = np.isnan(X)
        X[gaps] = np.broadcast_to(self.statistics_, X.shape)[gaps]
        X = X if (scaling := self._scaling) is None else scaling.apply(X)
        return np.hstack([X, gaps.astype(X.dtype)]) if self.add_indicator else X

    def _filled(self, columns: list[np.ndarray]) -> np.ndarray:
        out = np.empty((columns[0].size, len(columns)), dtype=object)
        gaps = np.zeros(out.shape, dtype=bool)
        for j, column in enumerate(columns):
            categories, codes = coded_categories(column)
            gaps[:, j] = np.array([c == MISSING for c in categories])[codes]
            out[:, j] = column
            out[gaps[:, j], j] = self.statistics_[j]
        numeric = self.statistics_.dtype.kind == "f"
        numeric = numeric and all(column.dtype.kind in _NUMERIC for column in columns)
        kind = np.result_type(np.float32, *columns) if numeric else object
        filled = out.astype(kind, copy=False)
        return np.hstack([filled, gaps]) if self.add_indicator else filled
