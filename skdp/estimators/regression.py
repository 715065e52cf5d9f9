"""What private linear regressors share: target bounds and predictions."""

from __future__ import annotations

from abc import ABC
from collections.abc import Callable
from contextlib import suppress
from math import sqrt
from numbers import Real
from typing import Any, ClassVar, final

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils._param_validation import StrOptions

from ..bounds import RowBounds, TargetBounds
from ..conditioning import Conditioner
from ..conditioning.looks import Looks
from ..data.base import RowStore
from ..privacy.oracle import Oracle
from ..privacy.range_finding import private_target_bounds
from ..problem import Problem
from ..solvers import Screening, Solution, Solver, TrackedGD
from .base import RANGE_SHARE, PrivateLinearModel

__all__ = ["PrivateLinearRegressor"]

# Beyond, matrices of that many rows and columns take longer than all else.
_MOST_ROWS_OF_W = 2000


class PrivateLinearRegressor(RegressorMixin, PrivateLinearModel, ABC):
    """A regressor that is linear in the features."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **PrivateLinearModel._parameter_constraints,
        "target_bounds": [None, tuple, list, np.ndarray],
        "precondition": [None, StrOptions({"auto", "full"}), Looks],
        "clip_predictions": ["boolean"],
    }

    target_bounds: tuple[float, float] | None
    clip_predictions: bool
    precondition: Any
    feature_bound: float | None = None

    intercept_: float
    target_bounds_: tuple[float, float]
    n_iter_: int

    @final
    def predict(self, X: Any) -> np.ndarray:
        """Predicted targets, ``X @ coef_ + intercept_``, clipped if ``clip_predictions``.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
            Features.

        Returns
        -------
        ndarray of shape (n_samples,)
            Predictions, in the units of the target.
        """
        scores = self._scores(X)
        return np.clip(scores, *self.target_bounds_) if self.clip_predictions else scores

    @final
    def _prepare_targets(self, y: np.ndarray | None) -> Callable[[np.ndarray], np.ndarray]:
        self._given_target_bounds()
        return self._as_numbers

    @final
    def _as_numbers(self, y: np.ndarray) -> np.ndarray:
        name = type(self).__name__
        numbers = None
        # Times would be counted in units that y happens to have, and missing ones be finite.
        if np.asarray(y).dtype.kind not in "mM":
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
    def _conditioner(self, problem: Problem) -> Conditioner | None:
        screened = self.solver == Screening.option() or isinstance(self.solver, Screening)
        if screened and self.precondition not in (None, "auto"):
            raise ValueError(
                f"{type(self).__name__} needs precondition=None with the solver 'screening', which "
                f"conditions the features that it selects, got precondition={self.precondition!r}."
            )
        if self.precondition == "full":
            return Looks(least=0.0)
        if self.precondition != "auto":
            return self.precondition
        # Another solver than the one made for it has no use for it.
        wanted = self.solver in ("auto", TrackedGD.option()) or isinstance(self.solver, TrackedGD)
        possible = not (problem.wide or problem.tied_to_coordinates)
        possible &= problem.n_rows <= _MOST_ROWS_OF_W and isinstance(problem.loss, TrackedGD.losses)
        return Looks() if wanted and possible else None

    @final
    def _row_bounds(self, oracle: Oracle, rows: RowStore) -> RowBounds:
        reserve = oracle.budget.fraction(RANGE_SHARE)
        if self.data_norm is None and self.feature_bound is not None:
            data_norm = self.feature_bound * sqrt(rows.n_features)
        else:
            data_norm = self._norm_bound(oracle, rows)
        target = self._given_target_bounds()
        if target is None:
            target = private_target_bounds(
                oracle, reserve, rows.n_samples, centred=self.fit_intercept
            )
        constant = self._intercept_value(data_norm)
        return RowBounds(data_norm, constant, target, feature_bound=self.feature_bound)

    @final
    def _with_prior(self, problem: Problem, oracle: Oracle, solver: Solver) -> Problem:
        del oracle, solver
        return problem

    @final
    def _publish(self, problem: Problem, solution: Solution, dtype: np.dtype) -> None:
        target = problem.bounds.target
        assert target is not None
        unit = target.half_width
        coef, intercept = problem.in_user_coordinates(solution.w.reshape(problem.n_rows, 1))
        self.coef_ = np.ascontiguousarray(unit * coef[:, 0], dtype=dtype)
        self.intercept_ = unit * float(intercept[0]) + target.centre if self.fit_intercept else 0.0
        self.target_bounds_ = (target.low, target.high)
        self.n_iter_ = solution.n_iter
