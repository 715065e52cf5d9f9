"""Private linear regression of quantiles."""

from __future__ import annotations

from math import inf
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from sklearn.linear_model import LinearRegression, QuantileRegressor
from sklearn.metrics import d2_pinball_score
from sklearn.utils._param_validation import Interval

from ..privacy.rows.dask_rows import is_collection
from ..privacy.rows.reading import redacted, strict_checks
from ..problem.bounds import RowBounds
from ..problem.losses import Pinball
from ..problem.penalties import L1, NoPenalty
from ..problem.problem import Problem
from ..solvers import Solver
from ..solvers.preconditioning.iterative_whitening import IterativeWhitening
from ..validation import REGRESSORS, keep_parameters, shown, with_advice
from .base import solvers_but
from .plain_models import clipped_regressor
from .regression import PrivateLinearRegressor


class DPQuantileRegressor(PrivateLinearRegressor):
    r"""Differentially private linear regression of one or several quantiles.

    A swap-in for :class:`sklearn.linear_model.QuantileRegressor`, for targets whose spread matters
    as well as their middle, and for prediction intervals: the quantiles .05 and .95 are the ends of
    an interval for 90 % of the targets. The coefficients, the intercepts and everything else that
    a fitted model publishes are together (epsilon, delta)-differentially private with respect to
    the rows of the training data. The number of rows, the number of features and all parameters
    are public.

    Minimises, for each quantile q, the mean pinball loss and an l1 penalty

    .. math:: \frac1n \sum_i \max\bigl(q r_i, (q - 1) r_i\bigr) + \alpha \lVert w \rVert_1,
              \qquad r_i = y_i - w' x_i - b,

    by a private solver. Several quantiles cost one budget: one noisy answer serves all of them,
    bounded by what one row adds to all together, which is less than for each by itself since
    quantiles have an order. Predictions are sorted, so that they never cross; that is never worse
    in pinball loss.

    Parameters
    ----------
    epsilon : float, default=1.0
        Privacy budget, in [1e-10, 1e9]. About 1 is a common choice; above 10 promises little.
        ``float('inf')`` fits along the same path without noise, and without privacy.
    delta : float, optional
        Probability-like slack of the guarantee, in (0, 1). By default the smaller of 1e-5 and
        n^-1.1, n being the number of rows of a fit or the ``horizon`` of a stream, 1e-5 if that
        is not declared; ``delta_`` says which.
    quantile : float or list of float, default=0.5
        The quantile that is predicted, in (0, 1), or several, in increasing order.
    alpha : float, default=0.0
        Strength of the l1 penalty, with the meaning that it has in scikit-learn's
        QuantileRegressor, whose default of 1.0 leaves little of features that are standardised.
        A penalty is about features in their own units, so rows stay as they are then, which is
        less accurate.
    fit_intercept : bool, default=True
        Whether to fit an intercept. It is not penalised.
    intercept_scaling : float, default=0.3
        Value of the constant column behind the intercept, in units of the row norm.
    target_bounds : tuple of float, optional
        (low, high), known without looking at y. Targets outside are clipped to it during the fit,
        which changes no quantile within. If None, 4 % of the budget goes to a private estimate,
        and up to half of it if rows are few; where they are too few for any, the model predicts 0,
        with a warning.
    data_norm : float, optional
        Bound on the l2 norm of the rows of X, known without looking at them. Longer rows are
        scaled down to it during the fit. If None, ranges of the columns are found privately, or,
        with a penalty, a norm for 4 % of the budget.
    data_bounds : tuple or dict, optional
        (low, high) of all columns, or arrays of one each, or a dictionary by names of columns, in
        which None stands for a range that is to be found. Features are clipped to it, also in
        predictions. Not with a penalty.
    max_weight : float, default=1.0
        Weights in ``sample_weight`` count up to this, in [1e-50, 1e50]; larger ones count as this
        one. A public bound: a row of this weight counts as much as a row without weights, and
        noise is in proportion to it, so that most weights should be near it. Without weights it
        means nothing.
    adjacency : {'replace_one', 'zero_out'}, default='replace_one'
        What neighbouring data sets are: one row replaced by any other, or one row's contribution
        removed; a row of zeros or of weight 0 is still there. Replace-one is the stronger promise.
    solver : str or Solver, default='auto'
        The algorithm: ``'auto'``, or one of ``'adaptive_gd'``, ``'blocks'``, ``'dda'``,
        ``'ftrl'``, ``'gd'``, ``'ppm'`` and ``'quantile_gd'`` (see :mod:`skdp.solvers`). ``'auto'``
        is ``'quantile_gd'``, or ``'dda'`` with ``sites``; under ``partial_fit`` it is
        ``'blocks'``, or ``'ftrl'`` if rows may not be kept. The loss is not smooth, as the others
        need it.
    precondition : {'auto', 'full'}, IterativeWhitening or None, default='auto'
        Whether rows are brought to private coordinates in which noise hurts less: by default where
        rows are enough and there is no penalty.
    clip_predictions : bool, default=True
        Whether ``predict`` clips to ``target_bounds_``. This costs no privacy.
    horizon : int, optional
        Number of rows that ``partial_fit`` is going to be given in all, if it is known beforehand.
        It is public. Streams are cut so that the model is at its best there; rows beyond are
        taken, too. ``fit`` does not use it.
    buffer : bool, default=True
        Whether ``partial_fit`` may keep rows until a block of them is full. If not,
        ``solver='auto'`` takes a method that keeps sums alone, which is less accurate.
    max_visits : int, default=1
        Most parts of a stream in which a person counts whom ``partial_fit`` is told of by
        ``privacy_unit``: blocks, batches or calls, whatever is answered by itself. All of them
        together have the budget. Rows of a person in further parts weigh nothing, silently.
    warm_start : bool or 'disjoint', default=False
        Whether ``fit`` starts from ``coef_`` and ``intercept_``, if they are there: from an earlier
        fit, in whose private coordinates the rows are then looked at, or set by you from what is
        public. It spends the whole budget anew, and the receipt adds up both, since the rows may be
        the same. ``'disjoint'`` starts in the same way and declares that the rows of each further
        fit, or of a stream after a fit, have no row in common with those before; then the largest
        spend counts. Nobody checks that.
    verbose : int, default=0
        Whether to print, while fitting, what is asked and what has been spent, all of which is
        public: 1 for a line at each new kind of query and each tenth of the budget, 2 for a
        line at each query.
    random_state : int, RandomState, Generator or None, default=None
        None draws the secret noise from the operating system. Anything else makes the fit
        reproducible, for tests, and warns that the guarantee does not hold against whoever knows
        the seed. Pickles of a fitted model do not contain it.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,), or (n_quantiles, n_features) if ``quantile`` is a list
        Coefficients.
    intercept_ : float, or ndarray of shape (n_quantiles,) if ``quantile`` is a list
        Intercepts.
    data_norm_ : float
        The bound on the norms of rows that the fit has used, given or privately found; of rows on
        the scale of ``data_bounds_``, if there is one.
    data_bounds_ : tuple of ndarray or None
        Low and high ends of the range of each column that the fit has used, given or privately
        found. Predictions hold features to them. None if columns were used as they come.
    unseen_columns_ : list
        Columns, by name or index, whose ranges were looked for and not found; codes of 0, 1 and -1
        are among them, and need none.
    target_bounds_ : tuple of float
        The target bounds (low, high) that the fit has used, given or privately found.
    plan_ : FitPlan
        What was settled before rows were asked, see :func:`skdp.plan`; after ``partial_fit``, that
        of the latest part of the stream.
    delta_ : float
        Slack of the guarantee: ``delta``, or what it is by default.
    privacy_spent_ : PrivacySpent
        Named tuple ``(epsilon, delta)`` of what the fit has spent; after ``partial_fit``, on the
        condition that rows of each call are new records, or named by ``privacy_unit``.
    privacy_ledger_ : tuple of events
        The receipt. Each has ``mechanism``, ``query``, ``count``, ``sensitivity`` and
        ``noise_scale``; the spend can be recomputed from these alone.
    n_iter_ : int
        Number of iterations.
    n_samples_seen_ : int
        Number of rows that ``fit`` or ``partial_fit`` has been given.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, if X had string column names.

    Warns
    -----
    SeededNoiseWarning
        If ``random_state`` is not None.
    UserWarning
        If the budget is too small to find a bound that was not given. A fixed value replaces it.

    Notes
    -----
    Each call of ``fit`` spends (epsilon, delta) anew: fits on the same rows add up.

    Rows are bounded by weights that depend on their features alone, so that quantiles that are
    linear in the features are found without bias, the nearer the more rows and budget there are.

    References
    ----------
    Koenker and Bassett (1978), "Regression quantiles", Econometrica 46(1); Chernozhukov,
    Fernandez-Val and Galichon (2010), "Quantile and probability curves without crossing",
    Econometrica 78(3), for sorting.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp import DPQuantileRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(0, 1, size=(20_000, 2))
    >>> y = X[:, 0] + (0.1 + X[:, 1]) * rng.uniform(-1, 1, size=20_000)
    >>> bounds = {"data_bounds": (0, 1), "target_bounds": (-1.1, 2.1)}
    >>> model = DPQuantileRegressor(epsilon=1.0, quantile=[0.05, 0.5, 0.95], **bounds).fit(X, y)
    >>> low, median, high = model.predict(X).T
    >>> bool(0.87 < np.mean((low <= y) & (y <= high)) < 0.93)
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **{
            name: allowed
            for name, allowed in PrivateLinearRegressor._parameter_constraints.items()
            if name != "constraint"
        },
        "quantile": [Interval(Real, 0, 1, closed="neither"), "array-like"],
        "delta": [None, Interval(Real, 0, 1, closed="neither")],
        "alpha": [Interval(Real, 0, None, closed="left")],
        "solver": solvers_but(
            *("accmd", "adassp", "dual_averaging", "frank_wolfe"),
            *("objective_perturbation", "one_step", "preconditioned_gd", "screening", "spider"),
            *("svrg", "tracked_gd"),
        ),
    }

    _penalty_beside_mean: ClassVar[bool] = True

    quantile: Any
    alpha: float

    @with_advice(REGRESSORS)
    def __init__(
        self,
        *,
        epsilon: float = 1.0,
        delta: float | None = None,
        quantile: Any = 0.5,
        alpha: float = 0.0,
        fit_intercept: bool = True,
        intercept_scaling: float = 0.3,
        target_bounds: tuple[float, float] | None = None,
        data_norm: float | None = None,
        data_bounds: Any = None,
        max_weight: float = 1.0,
        adjacency: str = "replace_one",
        solver: str | Solver = "auto",
        precondition: str | IterativeWhitening | None = "auto",
        clip_predictions: bool = True,
        horizon: int | None = None,
        buffer: bool = True,
        max_visits: int = 1,
        warm_start: bool | str = False,
        verbose: int = 0,
        random_state: Any = None,
    ) -> None:
        keep_parameters(self, locals())

    @strict_checks()
    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Share of the pinball loss of constant quantiles that predictions save, the D^2.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features), or dask collection
            Features.
        y : array-like of shape (n_samples,), or dask collection
            Targets.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the rows.

        Returns
        -------
        float
            1 minus the pinball loss over that of the quantile of ``y`` itself, the mean over
            several quantiles; 1 at best, 0 for constants.
        """
        # Apart, because predictions refuse rows in words of their own.
        columns = np.asarray(self.predict(X)).reshape(-1, len(self._quantiles)).T
        given = np.asarray(y) if is_collection(y) else y, sample_weight
        each = zip(self._quantiles, columns, strict=True)
        return float(np.mean([redacted(_saved, q, z, *given) for q, z in each]))

    @property
    def _quantiles(self) -> tuple[float, ...]:
        """The quantiles, checked."""
        one = isinstance(self.quantile, Real)
        listed = [self.quantile] if one else list(self.quantile)
        if all(isinstance(q, Real) for q in listed):
            try:
                return Pinball(tuple(listed)).quantiles
            except ValueError:
                pass
        raise ValueError(
            f"The 'quantile' parameter of {type(self).__name__} must be a number between 0 and 1, "
            "or a list of such numbers in increasing order, as in [0.1, 0.5, 0.9]. Got "
            f"{shown(self.quantile if one else tuple(listed))} instead."
        )

    @property
    def _n_outputs(self) -> int:
        return len(self._quantiles)

    @property
    def _predicts_tables(self) -> bool:
        return not isinstance(self.quantile, Real)

    def _means(self, scores: np.ndarray) -> np.ndarray:
        """Quantiles in their order: sorted, by which the pinball loss of no row grows."""
        return np.sort(scores, axis=1) if self._predicts_tables else scores

    def _plain(self, coef: np.ndarray) -> Any:
        one = not self._predicts_tables
        plain: Any = LinearRegression()
        if one:
            plain = QuantileRegressor(quantile=self.quantile, alpha=self.alpha)
            coef = np.ravel(coef)
        plain.coef_, plain.intercept_ = coef, self.intercept_
        if one and not self.clip_predictions:
            return plain
        ends = self.target_bounds_ if self.clip_predictions else (-inf, inf)
        return clipped_regressor(plain, *ends, in_order=not one)

    def _problem(self, n_samples: int, bounds: RowBounds) -> Problem:
        # The loss is in proportion to the unit of targets, as are coefficients and the penalty.
        return Problem(
            loss=Pinball(self._quantiles),
            n_samples=n_samples,
            n_features=self.n_features_in_,
            bounds=bounds,
            penalty=L1(self.alpha) if self.alpha else NoPenalty(),
        )


def _saved(q: float, predicted: np.ndarray, y: np.ndarray, sample_weight: Any) -> float:
    """Share of the pinball loss of a constant quantile that predictions save."""
    return float(d2_pinball_score(y, predicted, sample_weight=sample_weight, alpha=q))
