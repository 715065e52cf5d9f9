"""``fit``, written once: validate, bound, ask, solve, publish."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import replace
from numbers import Real
from typing import Any, ClassVar, Self, final

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, is_classifier
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted, validate_data

from ..bounds import RowBounds, TargetBounds
from ..conditioning import OPTIONS, Conditioner
from ..constraints import Constraint
from ..data.base import RowStore
from ..data.chunked import ChunkedRows, Chunks
from ..data.dense import DenseRows
from ..data.reading import unquoted, vigilant
from ..data.sparse import SparseRows
from ..privacy.adjacency import Adjacency
from ..privacy.events import Event
from ..privacy.ledger import Ledger, PrivacySpent
from ..privacy.opening import open_oracle
from ..privacy.oracle import Oracle
from ..privacy.randomness import public_coins, secret_noise
from ..privacy.range_finding import private_data_norm
from ..problem import Problem
from ..solvers import SOLVERS, Solution, Solver, choose

__all__ = ["PrivateLinearModel"]

# Share of mu^2 that is set aside for a bound that the user did not give.
RANGE_SHARE = 0.04

_ACCEPTED = {"accept_sparse": "csr", "dtype": [np.float64, np.float32]}


class PrivateLinearModel(BaseEstimator, ABC):
    """What all private linear models share.

    A subclass stores its parameters, encodes targets, states its problem and reads the released
    solution; it never sees a row after encoding, and never a noise source or a ledger.
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "epsilon": [Interval(Real, 1e-10, 1e9, closed="both")],
        "delta": [Interval(Real, 0, 1, closed="neither")],
        "adjacency": [StrOptions({a.value for a in Adjacency})],
        "data_norm": [None, Interval(Real, 1e-100, 1e100, closed="both")],
        "fit_intercept": ["boolean"],
        "intercept_scaling": [Interval(Real, 1e-20, 1e20, closed="both")],
        "solver": [StrOptions({"auto", *SOLVERS}), Solver],
        "constraint": [None, Constraint],
        "precondition": [None, StrOptions(set(OPTIONS)), Conditioner],
        "random_state": ["random_state", np.random.Generator],
    }

    epsilon: float
    delta: float
    adjacency: str
    data_norm: float | None
    fit_intercept: bool
    intercept_scaling: float
    solver: str | Solver
    constraint: Constraint | None
    precondition: str | Conditioner | None
    random_state: Any

    n_features_in_: int
    feature_names_in_: np.ndarray
    coef_: np.ndarray
    data_norm_: float
    privacy_spent_: PrivacySpent
    privacy_ledger_: tuple[Event, ...]

    @final
    def fit(self, X: Any, y: Any = None) -> Self:
        """Fit the model privately.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features), or Chunks
            Features. Dense float64 and float32 arrays, memory-mapped ones included, are used
            where they lie. ``Chunks`` deliver features and targets together.
        y : array-like of shape (n_samples,), optional
            Targets; left out only if X is ``Chunks``.

        Returns
        -------
        self
            The fitted model.

        Raises
        ------
        ValueError
            If parameters or data are malformed. Nothing has been spent then, and the results of
            an earlier fit are still there.

        Notes
        -----
        If anything fails later, the model has no coefficients, ``privacy_spent_`` and
        ``privacy_ledger_`` say what has been spent, and so does a note on the exception.
        """
        before = vars(self).copy()
        try:
            self._validate_params()
            rows, dtype = self._open(X, y)
            # Bounds may have to be paid for; whether the problem can be taken does not depend on
            # them, so others stand in.
            target = None if is_classifier(self) else TargetBounds(-1.0, 1.0)
            bounds = RowBounds(1.0, self._intercept_value(1.0), target)
            outline = replace(self._problem(rows.n_samples, bounds), sparse=rows.sparse)
            conditioner = self._conditioner(outline)
            if conditioner is not None:
                conditioner.check(outline)
            solver = choose(self.solver, outline)
            solver.check(outline)
            adjacency = Adjacency(self.adjacency)
            calculus = solver.calculus_for(outline, self.epsilon, self.delta, adjacency)
            ledger = Ledger(self.epsilon, self.delta, calculus=calculus)
            noise = secret_noise(self.random_state)
        except BaseException:
            self.__dict__.clear()
            self.__dict__.update(before)
            raise
        oracle = open_oracle(rows, ledger, adjacency, noise)
        self._forget()
        try:
            stated = self._problem(rows.n_samples, self._row_bounds(oracle, rows))
            problem = replace(stated, sparse=rows.sparse)
            coins = public_coins(self.random_state)
            if conditioner is not None:
                problem = conditioner.prepare(problem, oracle.for_problem(problem), coins)
                # Which solver suits may depend on the coordinates, too.
                solver = choose(self.solver, problem)
            problem = self._with_prior(problem, oracle, solver)
            solution = solver.solve(problem, oracle.for_problem(problem), coins)
            self._publish(problem, solution, dtype)
            self.data_norm_ = problem.bounds.data_norm
        except BaseException as failure:
            spent = ledger.spent()
            failure.add_note(
                f"{type(self).__name__}.fit stopped after spending epsilon={spent.epsilon:.6g} at "
                f"delta={spent.delta:.6g}; see privacy_ledger_."
            )
            raise
        finally:
            self.privacy_ledger_ = ledger.receipt()
            self.privacy_spent_ = ledger.spent()
        return self

    @abstractmethod
    def _prepare_targets(self, y: np.ndarray | None) -> Callable[[np.ndarray], np.ndarray]:
        """Check what is public about targets and return the function that encodes them.

        ``y`` is None if targets come in chunks.
        """

    @abstractmethod
    def _conditioner(self, problem: Problem) -> Conditioner | None:
        """The stage before the solver, by parameters and public facts."""

    @abstractmethod
    def _row_bounds(self, oracle: Oracle, rows: RowStore) -> RowBounds:
        """Given bounds, or private estimates of those that are missing."""

    @abstractmethod
    def _problem(self, n_samples: int, bounds: RowBounds) -> Problem:
        """The problem to solve, a function of parameters and public bounds."""

    @abstractmethod
    def _with_prior(self, problem: Problem, oracle: Oracle, solver: Solver) -> Problem:
        """The problem with what the targets alone say about it, in its final coordinates."""

    @abstractmethod
    def _publish(self, problem: Problem, solution: Solution, dtype: np.dtype) -> None:
        """Set the public attributes from a released solution."""

    @final
    def _open(self, X: Any, y: Any) -> tuple[RowStore, np.dtype]:
        """Validate the data and lay them in a row store."""
        name = type(self).__name__
        if isinstance(X, Chunks):
            if y is not None:
                raise ValueError(f"{name} needs y=None when X is Chunks, which hold the targets.")
            rows = ChunkedRows(X, self._prepare_targets(None))
            self.n_features_in_ = rows.n_features
            self.__dict__.pop("feature_names_in_", None)
            if rows.feature_names is not None:
                self.feature_names_in_ = np.array(rows.feature_names, dtype=object)
            return rows, np.dtype(np.float64)
        X, y = unquoted(validate_data, self, X, y, multi_output=False, **_ACCEPTED)
        with vigilant():
            encoded = self._prepare_targets(y)(y)
        if sp.issparse(X):
            return SparseRows(X, encoded), X.dtype
        return DenseRows(X, encoded), X.dtype

    @final
    def _norm_bound(self, oracle: Oracle, rows: RowStore) -> float:
        if self.data_norm is not None:
            return float(self.data_norm)
        budget = oracle.budget.fraction(RANGE_SHARE)
        return private_data_norm(oracle, budget, rows.n_samples, rows.n_features)

    @final
    def _intercept_value(self, data_norm: float) -> float:
        return self.intercept_scaling * data_norm if self.fit_intercept else 0.0

    @final
    def _scores(self, X: Any) -> np.ndarray:
        check_is_fitted(self)
        X = unquoted(validate_data, self, X, reset=False, **_ACCEPTED)
        return X @ self.coef_.T + self.intercept_

    @final
    def _forget(self) -> None:
        """Drop what an earlier fit published, so that no old model meets a new receipt."""
        kept = {"n_features_in_", "feature_names_in_", "classes_"}
        for name in [a for a in vars(self) if a.endswith("_") and not a.startswith("_")]:
            if name not in kept:
                delattr(self, name)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "coef_")

    def __getstate__(self) -> dict[str, Any]:
        # A seed reproduces the secret noise, so it stays behind when a fitted model travels.
        state = super().__getstate__()
        return state | {"random_state": None} if "coef_" in state else state

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
