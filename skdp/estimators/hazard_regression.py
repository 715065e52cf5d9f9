"""Private regression of times to an event: proportional hazards in periods."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, NoReturn, final

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.linear_model import LinearRegression
from sklearn.utils.validation import check_is_fitted, check_non_negative, column_or_1d

from ..privacy.rows.reading import redacted, strict_checks
from ..privacy.rows.targets import as_numbers, signed_times
from ..problem.bounds import RowBounds
from ..problem.losses import Hazard, Loss
from ..problem.penalties import L2, Penalty
from ..problem.problem import Problem
from ..solvers import Solution, Solver
from ..solvers.preconditioning import Preconditioner
from ..validation import REGRESSORS, interval, keep_parameters, numbers_in, shown, with_advice
from .base import PrivateLinearModel, solvers_but
from .concordance import concordance
from .inference import WithInference
from .solver_choice import default_strength


@final
@dataclass(frozen=True, eq=False)
class StepFunction:
    """A curve over time, linear between the ends of periods and constant after the last.

    Parameters
    ----------
    x : ndarray of shape (K,)
        Ends of the periods, increasing; the first begins at 0.
    y : ndarray of shape (K,)
        Values there.
    first : float
        Value at time 0.
    """

    x: np.ndarray
    y: np.ndarray
    first: float

    @property
    def domain(self) -> tuple[float, float]:
        """Times between which the curve is known."""
        return 0.0, float(self.x[-1])

    def __call__(self, times: Any) -> Any:
        """Values at times of at least 0, in the shape of ``times``."""
        at = numbers_in(times)
        if at is None:
            raise ValueError(f"A StepFunction needs times as numbers, got {shown(times)}.")
        ends, values = np.append(0.0, self.x), np.append(self.first, self.y)
        return np.interp(at, ends, values)


class DPHazardRegressor(WithInference, RegressorMixin, PrivateLinearModel):
    r"""Differentially private proportional hazards for times to an event, in periods.

    What Cox regression is for, under (epsilon, delta)-differential privacy with respect to the
    people in the training data, each of whom is one row: coefficients are logarithms of hazard
    ratios, of a Cox model that is grouped into periods (complementary log-log link). They, the
    baseline hazards and everything else that a fitted model publishes are private together. The
    number of rows, the number of features and all parameters are public.

    A person counts in each period as long as there; nobody has to make rows of periods. What one
    person adds is bounded without clipping: scores are those of Peto and Peto's Wilcoxon test,
    weighed by survival under the model. If hazards are not proportional, coefficients are averages
    in which early times count more.

    Parameters
    ----------
    alpha : float, optional
        Strength of the ridge penalty, as in scikit-survival. By default there is none with
        intervals, and otherwise as much as noise asks for.
    times : array-like of shape (K,), optional
        Ends of the periods, increasing, positive and known without looking at the rows, such as
        years or rounds. All that happens after the last counts as not seen. By default a noisy
        life table of 40 cells up to ``max_time`` is released, of which 5 to 12 periods of about
        equally many events are made.
    max_time : float, optional
        Bound on times, such as the length of the study, known without looking at the rows; not
        needed with ``times``. If None it is found privately, for 5 % of the budget.
    solver : str or Solver, default='auto'
        The algorithm: ``'auto'``, or one of
        {solvers}
        (see :mod:`skdp.solvers`). ``'auto'`` is ``'one_step'``, which is the one with
        ``inference_``, where rows and budget are enough for it, and else ``'gd'``. Only
        ``'one_step'`` fits the trend of the baseline together with the coefficients; with others
        they are nearer to zero where most people have an event (by a sixth at 70 %).
    precondition : {'auto', 'diagonal', 'full', 'wide'}, Preconditioner or None, default='auto'
        Coordinates for solvers that move by clipped gradients, see
        :class:`skdp.DPLogisticRegression`.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        Logarithms of hazard ratios of one unit of each feature.
    intercept_ : float
        0: the level belongs to the baseline.
    times_ : ndarray of shape (K,)
        Ends of the periods.
    baseline_hazard_ : ndarray of shape (K,)
        Integral of the hazard over each period where all features are 0.
    population_survival_ : ndarray of shape (K,)
        Probability of no event up to the end of each period in the population that the rows are
        from, by the life table: a noisy Kaplan-Meier curve.

    Notes
    -----
    ``y`` is a structured array of a boolean field (event) and a numeric one (time) as in
    scikit-survival, or a frame of two such columns. A vector of numbers is read as XGBoost's Cox
    objective does: the time of an event, or minus the time when somebody was last seen without one.
    Where people have several records, as of recurrent events, ``privacy_unit`` protects them as a
    whole, with one record counting as much as all.

    References
    ----------
    Prentice and Gloeckler (1978), Regression analysis of grouped survival data.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp import DPHazardRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-1, 1, size=(20_000, 2))
    >>> died, left = rng.exponential(np.exp(-X @ [1.0, -0.5])), rng.uniform(0, 2, size=20_000)
    >>> y = np.rec.fromarrays([died <= left, np.minimum(died, left)], names="event, time")
    >>> model = DPHazardRegressor(epsilon=1.0, data_norm=1.5, max_time=2.0).fit(X, y)
    >>> bool(np.all(np.abs(model.coef_ - [1.0, -0.5]) < 0.2))
    True
    >>> model.predict_survival_function(X[:3], return_array=True).shape == (3, len(model.times_))
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **PrivateLinearModel._parameter_constraints,
        "delta": [None, interval(0, 1, "neither")],
        "alpha": [None, interval(0, None, "left")],
        "times": [None, "array-like"],
        "max_time": [None, interval(1e-50, 1e50, "both")],
        "solver": solvers_but(
            *("adassp", "blocks", "dda", "dual_averaging", "frank_wolfe", "ftrl"),
            *(
                "objective_perturbation",
                "preconditioned_gd",
                "quantile_gd",
                "screening",
                "tracked_gd",
            ),
        ),
    }

    # The level is always fitted, streams are not taken.
    fit_intercept, buffer, warm_start, horizon, max_visits = True, True, False, None, 1

    alpha: float | None
    times: Any
    max_time: float | None

    coef_: np.ndarray
    intercept_: float
    times_: np.ndarray
    baseline_hazard_: np.ndarray
    population_survival_: np.ndarray
    n_iter_: int

    @with_advice(REGRESSORS)
    def __init__(
        self,
        *,
        epsilon: float = 1.0,
        delta: float | None = None,
        alpha: float | None = None,
        times: Any = None,
        max_time: float | None = None,
        intercept_scaling: float = 0.3,
        data_norm: float | None = None,
        data_bounds: Any = None,
        max_weight: float = 1.0,
        adjacency: str = "replace_one",
        solver: str | Solver = "auto",
        precondition: str | Preconditioner | None = "auto",
        verbose: int = 0,
        random_state: Any = None,
    ) -> None:
        keep_parameters(self, locals())

    def predict(self, X: Any) -> np.ndarray:
        """Risk scores: logarithms of hazard ratios to somebody whose features are all 0.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
            Features.

        Returns
        -------
        ndarray of shape (n_samples,)
            ``X @ coef_``; the larger, the earlier an event is expected.
        """
        return self._scores(X)

    def predict_survival_function(self, X: Any, return_array: bool = False) -> np.ndarray:
        """Probabilities of no event up to each time.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
            Features.
        return_array : bool, default=False
            Whether to return the values at ``times_`` in place of functions.

        Returns
        -------
        ndarray of shape (n_samples,) of functions of time, or (n_samples, K) of numbers
            As scikit-survival does. Functions start at 1 and are linear within periods.
        """
        with np.errstate(under="ignore"):
            survival = np.exp(-self._cumulated(X))
        return self._curves(survival, 1.0, return_array=return_array)

    def predict_cumulative_hazard_function(self, X: Any, return_array: bool = False) -> np.ndarray:
        """Integrals of the hazard up to each time.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
            Features.
        return_array : bool, default=False
            Whether to return the values at ``times_`` in place of functions.

        Returns
        -------
        ndarray of shape (n_samples,) of functions of time, or (n_samples, K) of numbers
            As scikit-survival does. Functions start at 0 and are linear within periods.
        """
        return self._curves(self._cumulated(X), 0.0, return_array=return_array)

    @strict_checks()
    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Harrell's index of concordance of the risk scores, not private.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
            Features.
        y : structured array, frame of two columns, or array-like of shape (n_samples,)
            Events and times, as in ``fit``.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the rows; a pair counts the product of its two.

        Returns
        -------
        float
            Share of the pairs that can be compared, of which the one with an event came first, in
            which that one has the larger score; equal scores count half. Not a number without any.
        """
        name, risk = type(self).__name__, self.predict(X)
        y = redacted(column_or_1d, as_numbers(name, redacted(np.asarray, signed_times(name, y))))
        weights = np.ones(len(y)) if sample_weight is None else sample_weight
        weights = redacted(column_or_1d, weights, dtype=np.float64)
        redacted(check_non_negative, weights, "weights of rows")
        if not len(risk) == len(y) == len(weights):
            raise ValueError(
                f"{name} needs as many times and weights as rows, got {len(y)}, {len(weights)} and "
                f"{len(risk)}."
            )
        return concordance(y, risk, weights)

    def _cumulated(self, X: Any) -> np.ndarray:
        """Integrals of the hazard of each row up to the ends of the periods, (n_samples, K)."""
        check_is_fitted(self)
        with np.errstate(over="ignore", under="ignore"):
            return np.exp(self._scores(X))[:, None] * np.cumsum(self.baseline_hazard_)

    def _curves(self, values: np.ndarray, first: float, *, return_array: bool) -> np.ndarray:
        if return_array:
            return values
        curves = np.empty(len(values), dtype=object)
        curves[:] = [StepFunction(self.times_, row, first) for row in values]
        return curves

    def _cut_points(self) -> np.ndarray | None:
        """Ends of the periods that parameters give."""
        if self.times is None:
            return None
        if self.max_time is not None:
            raise ValueError(
                f"{type(self).__name__} needs max_time=None with times, the last of which is where "
                f"time ends, got max_time={shown(self.max_time)}. Leave one of them out."
            )
        ends = numbers_in(self.times)
        if ends is None or not (
            ends.ndim == 1
            and 1 <= ends.size <= 1000
            and np.all(np.diff(ends, prepend=0.0) > 0)
            and np.isfinite(ends).all()
        ):
            given = tuple(self.times) if isinstance(self.times, list) else self.times
            raise ValueError(
                f"The 'times' parameter of {type(self).__name__} must be 1 to 1000 positive numbers"
                f" that increase, the ends of the periods. Got {shown(given)} instead."
            )
        return ends

    def _flat(self, y: Any) -> Any:
        return signed_times(type(self).__name__, y)

    def _prepare_targets(self, y: np.ndarray | None) -> Callable[[np.ndarray], np.ndarray]:
        self._cut_points()
        return partial(as_numbers, type(self).__name__)

    def _encoder_of_stream(self, classes: Any, *, first: bool) -> NoReturn:
        raise NotImplementedError(f"{type(self).__name__} takes no streams.")

    @property
    def _penalty_given(self) -> bool:
        return self.alpha is not None

    def _objective(self, n_samples: int, bounds: RowBounds) -> tuple[Loss, Penalty]:
        alpha = self.alpha
        strength = default_strength(self, n_samples) if alpha is None else alpha / n_samples
        # A stand-in for the baseline, until it is found.
        return Hazard((1.0,), (1.0,)), L2(strength)

    def _publish(self, problem: Problem, solution: Solution, dtype: np.dtype) -> None:
        coef, intercept = problem.in_user_coordinates(solution.w)
        table, found = problem.loss, problem.loss if solution.loss is None else solution.loss
        assert isinstance(found, Hazard)
        assert isinstance(table, Hazard)
        self.coef_ = np.ascontiguousarray(coef[:, 0], dtype=dtype)
        self.intercept_, self.times_ = 0.0, np.array(found.times)
        self.population_survival_ = np.exp(-np.cumsum(table.hazards))
        self.baseline_hazard_ = np.array(found.hazards) * np.exp(np.clip(intercept[0], -700, 700))
        self.n_iter_ = solution.n_iter

    def _plain(self, coef: np.ndarray) -> Any:
        plain = LinearRegression()
        plain.coef_, plain.intercept_ = np.ravel(coef), 0.0
        return plain

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        # The score is a concordance, which is .5 for a model that says nothing.
        tags.regressor_tags.poor_score = True
        return tags
