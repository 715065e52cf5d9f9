"""Base of private linear regressors: target bounds and predictions."""

from __future__ import annotations

from abc import ABC
from collections.abc import Callable
from contextlib import suppress
from copy import copy
from dataclasses import replace
from functools import partial
from math import sqrt
from numbers import Real
from typing import Any, ClassVar, Self, final

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.linear_model import LinearRegression
from sklearn.metrics import r2_score
from sklearn.utils.metaestimators import available_if

from ..docstrings import documented_like
from ..privacy.lock import locked
from ..privacy.rows.dask_results import check_unweighted, lazily, summed
from ..privacy.rows.dask_rows import is_collection
from ..privacy.rows.reading import redacted, strict_checks
from ..privacy.rows.targets import as_numbers
from ..problem.bounds import CountBounds, RowBounds, TargetBounds
from ..problem.column_bounds import ColumnBounds
from ..problem.problem import Problem
from ..solvers import SOLVERS, Solution
from ..solvers.preconditioning.iterative_whitening import IterativeWhitening
from ..validation import PAIR, one_of, shown
from .base import PrivateLinearModel
from .partial_fit import advance
from .publishing import PublishedModel
from .sklearn_export import clipped_regressor

# Epsilon from which scikit-learn's checks of scores, on 200 rows, hold in every fit.
_SHOWS_FEW_ROWS = 100.0


def _takes_streams(model: PrivateLinearRegressor) -> bool:
    solver = model.solver
    kind = SOLVERS.get(solver) if isinstance(solver, str) else type(solver)
    bounded = getattr(kind, "bounded_streams", False)
    if bounded and "constraint" not in model.get_params(deep=False):
        raise AttributeError(
            f"{type(model).__name__} has no partial_fit with the solver 'frank_wolfe', which needs "
            "a bounded constraint for streams. Use the solver 'ftrl', or DPLinearRegression with "
            "an L1Ball."
        )
    return True


class PrivateLinearRegressor(RegressorMixin, PrivateLinearModel, ABC):
    """A regressor whose predictions are a linear function of the features, or its exponential.

    Parameters
    ----------
    clip_predictions : bool, default=True
        Whether ``predict`` clips to ``target_bounds_``. The fit clips residuals, hence hardly sees
        the few rows for which a linear model leaves the bounds. This costs no privacy.
    target_bounds : tuple of float, optional
        (low, high), known without looking at y. Targets outside are clipped to it during the fit.
        If None, 4 % of the budget goes to a private estimate, and up to half of it if rows are few;
        where they are too few for any, the model predicts 0, with a warning.

    Attributes
    ----------
    target_bounds_ : tuple of float
        The target bounds (low, high) that the fit has used, given or privately found.
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **PrivateLinearModel._parameter_constraints,
        "target_bounds": [None, PAIR],
        "precondition": [None, one_of("auto", "full"), IterativeWhitening],
        "clip_predictions": ["boolean"],
    }

    target_bounds: Any
    clip_predictions: bool
    precondition: Any
    feature_bound: float | None = None

    intercept_: float | np.ndarray
    target_bounds_: tuple[Any, Any]
    n_iter_: int

    @final
    @documented_like(PublishedModel._scores)
    def predict(self, X: Any) -> np.ndarray:
        """Predicted targets, clipped to ``target_bounds_`` if ``clip_predictions``.

        ``X @ coef_ + intercept_``, or the exponential of that for a log-linear model.

        Returns
        -------
        ndarray of shape (n_samples,), or (n_samples, n_targets) if ``y`` was a table
            Predictions, in the units of the target. Of a list of quantiles (n_samples, n_quantiles)
            in their order.
        """
        if is_collection(X):
            return lazily(copy(self).predict, X)
        means = self._means(self._scores(X))
        return np.clip(means, *self.target_bounds_) if self.clip_predictions else means

    def _means(self, scores: np.ndarray) -> np.ndarray:
        """Means of the targets at scores of rows, an array that may be the same."""
        return scores

    @strict_checks()
    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Coefficient of determination of the predictions: R^2, or D^2 of a log-linear model.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features), or dask collection
            Features.
        y : array-like of shape (n_samples,) or (n_samples, n_targets), or dask collection
            Targets.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the rows; not for dask collections.

        Returns
        -------
        float
            1 minus the mean squared error over the variance of the targets, for several targets
            the mean over them; or 1 minus the deviance over that of the mean target.
        """
        name = type(self).__name__
        if not is_collection(X):
            # Apart, because predictions and targets are refused in words of their own.
            predicted = self.predict(X)
            y = self._read_targets(name, redacted(np.asarray, y))
            return float(redacted(self._score_of, y, predicted, sample_weight=sample_weight))
        check_unweighted(name, sample_weight)
        frozen = copy(self)

        def sums(X: Any, y: np.ndarray) -> np.ndarray:
            return frozen._sums_of_score(frozen._read_targets(name, y), frozen.predict(X))

        return self._score_by_sums(*summed(sums, X, y, tables=self._target_columns is not None))

    # Of arrays, and of collections, whose parts are summed up by their workers.
    @staticmethod
    def _score_of(y: Any, predicted: np.ndarray, sample_weight: Any = None) -> float:
        return float(r2_score(y, predicted, sample_weight=sample_weight))

    def _sums_of_score(self, y: np.ndarray, predicted: np.ndarray) -> np.ndarray:
        """Sums over some rows by which a score is found, one array for each argument of it."""
        # About a centre near theirs, so that little is lost when their mean is taken off.
        centred = (y - sum(self.target_bounds_) / 2).reshape(len(y), -1)
        errors = np.square(predicted - y).reshape(len(y), -1)
        n = np.full(centred.shape[1], len(y))
        return np.array([errors.sum(0), np.square(centred).sum(0), centred.sum(0), n])

    def _score_by_sums(
        self, errors: np.ndarray, squares: np.ndarray, total: np.ndarray, n: np.ndarray
    ) -> float:
        variation = squares - total**2 / n
        constant = np.where(errors == 0, 1.0, 0.0)
        varies = variation > 0
        return float(np.where(varies, 1 - errors / np.where(varies, variation, 1), constant).mean())

    @available_if(_takes_streams)
    @final
    @locked(waits=True)
    @documented_like(advance)
    def partial_fit(
        self, X: Any, y: Any, sample_weight: Any = None, privacy_unit: Any = None
    ) -> Self:
        """Go on fitting privately with the rows of one call, which are new records.

        Parameters
        ----------
        y : array-like of shape (n_samples,)
            Targets.
        """
        return advance(self, X, y, None, sample_weight, privacy_unit)

    @final
    def _encoder_of_stream(
        self, classes: Any, *, first: bool
    ) -> Callable[[np.ndarray], np.ndarray]:
        if first:
            self._given_target_bounds()
        return partial(self._read_targets, type(self).__name__)

    @staticmethod
    def _read_targets(name: str, y: np.ndarray) -> np.ndarray:
        """Targets as finite numbers; errors bear the name. Static, to be sent without a model."""
        return as_numbers(name, y)

    @final
    def _given_bounds(self, sparse: bool) -> RowBounds:
        target = self._given_target_bounds()
        if target is None and self._counts:
            target = CountBounds(0.0, 1.0)
        elif target is None:
            one = TargetBounds(-1.0, 1.0, self.fit_intercept)
            target = TargetBounds.joined([one] * (self._target_columns or 1))
        bounds = super()._given_bounds(sparse)
        return replace(bounds, target=target, feature_bound=self.feature_bound)

    @property
    @final
    def _known_norm(self) -> float | None:
        if self.data_norm is None and self.feature_bound is not None:
            return self.feature_bound * sqrt(self.n_features_in_)
        return super()._known_norm

    @final
    def _prepare_targets(self, y: np.ndarray | None) -> Callable[[np.ndarray], np.ndarray]:
        # How many targets there are elsewhere is not known yet.
        if y is not None or not self._several_targets:
            self._given_target_bounds()
        return partial(self._read_targets, type(self).__name__)

    @final
    def _given_target_bounds(self) -> TargetBounds | None:
        if self.target_bounds is None:
            return None
        bounds, t = list(self.target_bounds), self._target_columns
        pair = len(bounds) == 2 and all(isinstance(b, Real) for b in bounds)
        pairs = [tuple(bounds)] * (t or 1)
        if not pair and t is not None:
            found = ColumnBounds.of(
                type(self).__name__,
                self.target_bounds,
                t,
                parameter="target_bounds",
                names=self._target_names,
                each="target",
            )
            pair, pairs = True, list(zip(found.low, found.high, strict=True))
        if pair:
            with suppress(OverflowError):
                ends = [(float(low), float(high)) for low, high in pairs]
                if self._counts and ends[0][0] == 0 and 1e-100 <= ends[0][1] <= 1e100:
                    return CountBounds(*ends[0])
                targets = [TargetBounds(*both, self.fit_intercept) for both in ends]
                # Half the width is a unit that is divided by, so floats have to hold its inverse.
                wide = all(1e-100 <= target.half_width <= 1e100 for target in targets)
                if wide and all(low < high for low, high in ends) and not self._counts:
                    return TargetBounds.joined(targets)
        needed = "(low, high), two finite numbers with low < high, 2e-100 to 2e100 apart as floats"
        if self._counts:
            needed = "(0, cap), with a cap on targets times weights between 1e-100 and 1e100"
        raise ValueError(
            f"The 'target_bounds' parameter of {type(self).__name__} must be {needed}. Got "
            f"{shown(self.target_bounds)} instead."
        )

    def _plain(self, coef: np.ndarray) -> Any:
        plain = self._unfitted_plain()
        if self._target_columns is None:
            coef = np.ravel(coef)
        plain.coef_, plain.intercept_ = coef, np.asarray(self.intercept_, dtype=np.float64)[()]
        return clipped_regressor(plain, *self.target_bounds_) if self.clip_predictions else plain

    def _unfitted_plain(self) -> Any:
        """Scikit-learn's counterpart, which makes the same predictions with the same coef_."""
        return LinearRegression()

    @final
    def _publish(self, problem: Problem, solution: Solution, dtype: np.dtype) -> None:
        target = problem.bounds.target
        assert target is not None
        unit = target.half_width
        coef, intercept = problem.in_user_coordinates(solution.w)
        coef, intercept = np.transpose(unit * coef), unit * intercept + target.centre
        if not self.fit_intercept:
            intercept = np.zeros_like(intercept)
        one = not self._predicts_tables
        self.coef_ = np.ascontiguousarray(coef[0] if one else coef, dtype=dtype)
        self.intercept_ = float(intercept[0]) if one else intercept
        low, high = target.ends
        if self._target_columns is not None:
            low, high = np.atleast_1d(low), np.atleast_1d(high)
        self.target_bounds_ = low, high
        self.n_iter_ = solution.n_iter

    @property
    def _predicts_tables(self) -> bool:
        """True if predictions have a column for each output, even if it is one."""
        return self._target_columns is not None

    @property
    @final
    def _takes_tables(self) -> bool:
        """True unless solver or constraint are for one target at a time, whatever the rows are."""
        kind = SOLVERS.get(self.solver) if isinstance(self.solver, str) else type(self.solver)
        one = any(getattr(kind, trait, False) for trait in ("federated", "infers", "selects"))
        constraint = self.constraint
        apart = all(getattr(constraint, trait, False) for trait in ("cone", "separable"))
        return self._several_targets and not one and (constraint is None or apart)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = self._takes_tables
        # R2 of 0.5 on 200 rows of unknown scale, which is what the tag is about, takes the default
        # solver and a budget at which noise never hides bounds of the rows.
        enough = isinstance(self.epsilon, Real) and self.epsilon >= _SHOWS_FEW_ROWS
        usual = self.solver == "auto" and enough
        tags.regressor_tags.poor_score = not usual
        return tags
