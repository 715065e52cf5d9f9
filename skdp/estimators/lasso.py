"""Private sparse linear regression."""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.utils._param_validation import Interval

from ..problem.bounds import RowBounds
from ..problem.constraints import NonNegative, Unconstrained
from ..problem.losses import Squared
from ..problem.penalties import L1
from ..problem.problem import Problem
from ..solvers import Solver
from ..validation import REGRESSORS, keep_parameters, with_advice
from .base import solvers_but
from .regression import PrivateLinearRegressor


class DPLassoRegressor(PrivateLinearRegressor):
    r"""Differentially private linear regression with few coefficients that are not zero.

    A swap-in for :class:`sklearn.linear_model.Lasso`, for many features of which few matter. The
    coefficients, which of them are zero, the intercept and everything else that a fitted model
    publishes are together (epsilon, delta)-differentially private with respect to the rows of the
    training data. The number of rows, the number of features and all parameters are public.

    Minimises

    .. math:: \frac{1}{2n} \lVert y - Xw - b \rVert_2^2 + \alpha \lVert w \rVert_1

    by a private solver. By default it selects about ``0.6 sqrt(n mu)`` features (40 or so for
    20,000 rows and epsilon=1), so that it is sparse without any penalty; alpha shrinks what was
    selected and makes it sparser still.

    Parameters
    ----------
    epsilon : float, default=1.0
        Privacy budget, in [1e-10, 1e9]. About 1 is a common choice; above 10 promises little.
        ``float('inf')`` fits along the same path without noise, and without privacy.
    delta : float, optional
        Probability-like slack of the guarantee, in (0, 1). By default the smaller of 1e-5 and
        n^-1.1, n being the number of rows of a fit or the ``horizon`` of a stream, 1e-5 if that
        is not declared; ``delta_`` says which.
    alpha : float, default=0.0
        Strength of the l1 penalty, in the user's units as in scikit-learn's Lasso, whose default
        of 1.0 suits standardised features. 0 leaves sparsity to the selection.
    fit_intercept : bool, default=True
        Whether to fit an intercept. It is neither penalised nor constrained.
    intercept_scaling : float, default=0.3
        Value of the constant column behind the intercept, in units of the row norm.
    positive : bool, default=False
        Whether coefficients may not be negative. Features are then selected by positive
        correlation.
    target_bounds : tuple of float, optional
        (low, high), known without looking at y. Targets outside are clipped to it during the fit.
        If None, 4 % of the budget goes to a private estimate, and up to half of it if rows are few;
        where they are too few for any, the model predicts 0, with a warning.
    data_norm : float, optional
        Bound on the l2 norm of the rows of X, known without looking at them. Longer rows are
        scaled down to it during the fit. If None, it follows from ``feature_bound``, or 4 % of the
        budget goes to a private estimate.
    feature_bound : float, optional
        Bound on the size of every entry of X, known without looking at them. Entries beyond it are
        clipped to it where features are selected. If None, entries are only known to be within
        ``data_norm``, and selecting costs up to ``data_norm / (feature_bound sqrt(k))`` times as
        much noise as with a bound, for k features at once. Bring features to one range first: the
        noise is the same for all, so small ones are not found.
    max_weight : float, default=1.0
        Weights in ``sample_weight`` count up to this, in [1e-50, 1e50]; larger ones count as this
        one. A public bound: a row of this weight counts as much as a row without weights, and
        noise is in proportion to it, so that most weights should be near it. Without weights it
        means nothing.
    adjacency : {'replace_one', 'zero_out'}, default='replace_one'
        What neighbouring data sets are: one row replaced by any other, or one row's contribution
        removed; a row of zeros or of weight 0 is still there. Replace-one is the stronger promise.
    solver : str or Solver, default='auto'
        The algorithm: ``'auto'``, or one of ``'accmd'``, ``'adaptive_gd'``, ``'blocks'``,
        ``'dda'``, ``'frank_wolfe'``, ``'ftrl'``, ``'gd'``, ``'ppm'``, ``'screening'``,
        ``'spider'``, ``'svrg'`` and ``'tracked_gd'`` (see :mod:`skdp.solvers`). ``'auto'`` is
        ``'screening'``, noisy selection and a fit on what was selected, or ``'gd'`` if there are
        fewer than 400 rows and at most 20 features, or ``'dda'`` with ``sites``; under
        ``partial_fit`` it is ``'blocks'``, or ``'ftrl'`` if rows may not be kept. ``'frank_wolfe'``
        needs a positive ``alpha``, which bounds the l1 norm of the solution. The others take
        proximal gradients in all features at once. A configured instance such as
        ``Screening(k=20)`` sets its hyperparameters.
    clip_predictions : bool, default=True
        Whether ``predict`` clips to ``target_bounds_``. The fit clips residuals, hence hardly sees
        the few rows for which a linear model leaves the bounds. This costs no privacy.
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
        spend counts. Nobody checks that. Solvers that fit in one shot have no use for a start.
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
    coef_ : ndarray of shape (n_features,)
        Coefficients; those of features that were not selected are exactly zero.
    sparse_coef_ : csr_array of shape (1, n_features)
        The same, stored sparsely.
    intercept_ : float
        Intercept.
    data_norm_ : float
        The bound on the norms of rows that the fit has used, given or privately found.
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

    With ``'screening'`` noisy choices and Gaussian answers are added up as zero-concentrated
    differential privacy: the sum of ``count * (sensitivity / noise_scale)**2``, over 2 for
    Gaussian and over 8 for exponential events, is the rho of the fit. There is no
    ``precondition``: the fit on selected features finds its own coordinates, and in others an l1
    penalty would mean something else.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp import DPLassoRegressor
    >>> X = np.random.default_rng(0).uniform(-1, 1, size=(10_000, 200))
    >>> y = X[:, 7] - 2 * X[:, 30] + 3
    >>> model = DPLassoRegressor(epsilon=1.0, feature_bound=1.0, target_bounds=(0, 6)).fit(X, y)
    >>> bool(model.coef_[7] > 0.9 and model.coef_[30] < -1.8)
    True
    >>> model.sparse_coef_.nnz < 50
    True
    """

    _may_select: ClassVar[bool] = True
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **{
            name: allowed
            for name, allowed in PrivateLinearRegressor._parameter_constraints.items()
            if name not in ("constraint", "precondition")
        },
        "alpha": [Interval(Real, 0, None, closed="left")],
        "positive": ["boolean"],
        "feature_bound": [None, Interval(Real, 1e-100, 1e100, closed="both")],
        "solver": solvers_but(
            *(
                "adassp",
                "dual_averaging",
                "objective_perturbation",
                "one_step",
                "preconditioned_gd",
            ),
            "quantile_gd",
        ),
    }

    precondition: None = None
    _penalty_beside_mean: ClassVar[bool] = True

    alpha: float
    positive: bool

    @with_advice(REGRESSORS)
    def __init__(
        self,
        *,
        epsilon: float = 1.0,
        delta: float | None = None,
        alpha: float = 0.0,
        fit_intercept: bool = True,
        intercept_scaling: float = 0.3,
        positive: bool = False,
        target_bounds: tuple[float, float] | None = None,
        data_norm: float | None = None,
        feature_bound: float | None = None,
        max_weight: float = 1.0,
        adjacency: str = "replace_one",
        solver: str | Solver = "auto",
        clip_predictions: bool = True,
        horizon: int | None = None,
        buffer: bool = True,
        max_visits: int = 1,
        warm_start: bool | str = False,
        verbose: int = 0,
        random_state: Any = None,
    ) -> None:
        keep_parameters(self, locals())

    @property
    def sparse_coef_(self) -> sp.csr_array:
        """Coefficients, stored sparsely, of shape (1, n_features)."""
        coef = self.coef_
        return sp.csr_array(coef if sp.issparse(coef) else np.atleast_2d(coef))

    def _problem(self, n_samples: int, bounds: RowBounds) -> Problem:
        # Solvers work with targets, hence with coefficients, in units of half the width of the
        # target bounds. The squared loss shrinks with the square of the unit, the penalty with it.
        assert bounds.target is not None
        return Problem(
            loss=Squared(),
            n_samples=n_samples,
            n_features=self.n_features_in_,
            bounds=bounds,
            penalty=L1(self.alpha / bounds.target.half_width),
            constraint=NonNegative() if self.positive else Unconstrained(),
        )
