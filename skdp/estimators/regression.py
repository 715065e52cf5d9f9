"""What private linear regressors share: target bounds and predictions."""

from __future__ import annotations

from abc import ABC
from collections.abc import Callable
from contextlib import suppress
from numbers import Real
from typing import Any, ClassVar, final

import numpy as np
from sklearn.base import RegressorMixin

from ..bounds import RowBounds, TargetBounds
from ..data.base import RowStore
from ..privacy.oracle import Oracle
from ..privacy.range_finding import private_target_bounds
from ..problem import Problem
from ..solvers import Solution
from .base import RANGE_SHARE, PrivateLinearModel

__all__ = ["PrivateLinearRegressor"]


class PrivateLinearRegressor(RegressorMixin, PrivateLinearModel, ABC):
    """A regressor that is linear in the features."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **PrivateLinearModel._parameter_constraints,
        "target_bounds": [None, tuple, list, np.ndarray],
    }

    target_bounds: tuple[float, float] | None

    intercept_: float
    target_bounds_: tuple[float, float]
    n_iter_: int

    @final
    def predict(self, X: Any) -> np.ndarray:
        """Predicted targets.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
            Features.

        Returns
        -------
        ndarray of shape (n_samples,)
            Predictions, in the units of the target.
        """
        return self._scores(X)

    @final
    def _prepare_targets(self, y: np.ndarray | None) -> Callable[[np.ndarray], np.ndarray]:
        self._given_target_bounds()
        return self._as_numbers

    @final
    def _as_numbers(self, y: np.ndarray) -> np.ndarray:
        name = type(self).__name__
        numbers = None
        with suppress(TypeError, ValueError, OverflowError):
            numbers = np.asarray(y).astype(np.float64, copy=False)
        # Raised here and not on the way, where it would carry an error that quotes a target.
        if numbers is None:
            raise ValueError(f"{name} needs numeric targets; y holds other values.")
        if not np.all(np.isfinite(numbers)):
            raise ValueError(f"{name} needs finite targets; input y contains NaN or infinity.")
        return numbers

    @final
    def _given_target_bounds(self) -> TargetBounds | None:
        if self.target_bounds is None:
            return None
        bounds = list(self.target_bounds)
        if len(bounds) == 2 and all(isinstance(b, Real) for b in bounds):
            with suppress(OverflowError):
                target = TargetBounds(float(bounds[0]), float(bounds[1]), self.fit_intercept)
                # Half the width is a unit that is divided by, so floats have to hold its inverse.
                if target.low < target.high and 1e-100 <= target.half_width <= 1e100:
                    return target
        raise ValueError(
            f"The 'target_bounds' parameter of {type(self).__name__} must be a pair of finite "
            "numbers (low, high) with low < high, also as floats, and between 1e-100 and 1e100 "
            f"in half their distance. Got {self.target_bounds!r} instead."
        )

    @final
    def _row_bounds(self, oracle: Oracle, rows: RowStore) -> RowBounds:
        reserve = oracle.budget.fraction(RANGE_SHARE)
        data_norm = self._norm_bound(oracle, rows)
        target = self._given_target_bounds()
        if target is None:
            target = private_target_bounds(
                oracle, reserve, rows.n_samples, centred=self.fit_intercept
            )
        return RowBounds(data_norm, self._intercept_value(data_norm), target)

    @final
    def _publish(self, problem: Problem, solution: Solution, dtype: np.dtype) -> None:
        bounds, d = problem.bounds, problem.n_features
        assert bounds.target is not None
        unit = bounds.target.half_width
        self.coef_ = (unit * solution.w[:d]).astype(dtype)
        self.intercept_ = 0.0
        if self.fit_intercept:
            last = bounds.intercept_value * float(solution.w[d])
            self.intercept_ = unit * last + bounds.target.centre
        self.target_bounds_ = (bounds.target.low, bounds.target.high)
        self.n_iter_ = solution.n_iter
