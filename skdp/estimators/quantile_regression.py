"""Private linear regression of quantiles."""

from __future__ import annotations

from functools import partial
from math import inf
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from sklearn.linear_model import LinearRegression, QuantileRegressor
from sklearn.metrics import d2_pinball_score

from ..privacy.rows.dask_rows import is_collection
from ..privacy.rows.reading import redacted, strict_checks
from ..problem.bounds import RowBounds
from ..problem.losses import Loss, Pinball
from ..problem.penalties import L1, NoPenalty, Penalty
from ..solvers import Solver
from ..solvers.preconditioning.iterative_whitening import IterativeWhitening
from ..validation import REGRESSORS, interval, keep_parameters, shown, with_advice
from .base import solvers_but
from .regression import PrivateLinearRegressor
from .sklearn_export import clipped_regressor


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
    quantile : float or list of float, default=0.5
        The quantile that is predicted, in (0, 1), or several, in increasing order.
    alpha : float, default=0.0
        Strength of the l1 penalty, with the meaning that it has in scikit-learn's
        QuantileRegressor, whose default of 1.0 leaves little of features that are standardised.
        A penalty is about features in their own units, so rows stay as they are then, which is
        less accurate.
    fit_intercept : bool, default=True
        Whether to fit an intercept. It is not penalised.
    target_bounds : tuple of float, optional
        (low, high), known without looking at y. Targets outside are clipped to it during the fit,
        which changes no quantile within. If None, 4 % of the budget goes to a private estimate,
        and up to half of it if rows are few; where they are too few for any, the model predicts 0,
        with a warning.
    solver : str or Solver, default='auto'
        The algorithm: ``'auto'``, or one of
        {solvers}
        (see :mod:`skdp.solvers`). ``'auto'`` is ``'quantile_gd'``, or ``'dda'`` with ``sites``;
        under ``partial_fit`` it is ``'blocks'``, or ``'ftrl'`` if rows may not be kept. The loss is
        not smooth, as the others need it.
    precondition : {'auto', 'full'}, IterativeWhitening or None, default='auto'
        Whether rows are brought to private coordinates in which noise hurts less: by default where
        rows are enough and there is no penalty.
    clip_predictions : bool, default=True
        Whether ``predict`` clips to ``target_bounds_``. This costs no privacy.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,), or (n_quantiles, n_features) if ``quantile`` is a list
        Coefficients.
    intercept_ : float, or ndarray of shape (n_quantiles,) if ``quantile`` is a list
        Intercepts.

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
        **PrivateLinearRegressor._parameter_constraints,
        "quantile": [interval(0, 1, "neither"), "array-like"],
        "delta": [None, interval(0, 1, "neither")],
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
        y = np.asarray(y) if is_collection(y) else y
        saved = partial(redacted, d2_pinball_score, y, sample_weight=sample_weight)
        each = zip(self._quantiles, columns, strict=True)
        return float(np.mean([saved(z, alpha=q) for q, z in each]))

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

    def _objective(self, n_samples: int, bounds: RowBounds) -> tuple[Loss, Penalty]:
        # The loss is in proportion to the unit of targets, as are coefficients and the penalty.
        penalty = L1(self.alpha) if self.alpha else NoPenalty()
        return Pinball(self._quantiles), penalty
