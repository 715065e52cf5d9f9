"""Private linear regression, ordinary or ridge."""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar

import numpy as np
from sklearn.utils._param_validation import Interval

from ..problem.bounds import RowBounds, TargetBounds
from ..problem.constraints import Constraint, NonNegative, Unconstrained
from ..problem.losses import Huber, Loss, MultiTarget, Squared
from ..problem.penalties import L2
from ..problem.problem import Problem
from ..solvers import Solver
from ..solvers.preconditioning.iterative_whitening import IterativeWhitening
from ..validation import PAIRS, REGRESSORS, keep_parameters, one_of, shown, with_advice
from .base import solvers_but
from .inference import NoInference
from .regression import PrivateLinearRegressor


class DPLinearRegression(PrivateLinearRegressor):
    """Differentially private linear regression.

    A swap-in for :class:`sklearn.linear_model.LinearRegression` and, with ``alpha``, for
    :class:`sklearn.linear_model.Ridge`. The coefficients, the intercept and everything else that a
    fitted model publishes are together (epsilon, delta)-differentially private with respect to the
    rows of the training data. The number of rows, the number of features and all parameters are
    public.

    Minimises the mean squared error plus ``alpha / n ||w||^2`` by a private solver. Residuals far
    beyond most others count less, which is what bounds the influence of a row.

    ``fit`` takes several targets at once, as a table ``y`` of one column each, for one budget: the
    contribution of a row to the models of all targets is bounded together, and what is found out
    about the features is paid for once.

    Parameters
    ----------
    epsilon : float, default=1.0
        Privacy budget, in [1e-10, 1e9]. About 1 is a common choice; above 10 promises little.
        ``float('inf')`` fits along the same path without noise, and without privacy.
    delta : float, optional
        Probability-like slack of the guarantee, in [0, 1). By default the smaller of 1e-5 and
        n^-1.1, n being the number of rows of a fit or the ``horizon`` of a stream, 1e-5 if that
        is not declared; ``delta_`` says which. 0 is pure epsilon, by objective perturbation,
        with bounds that are given.
    alpha : float, default=0.0
        Strength of the ridge penalty, as in scikit-learn's Ridge.
    loss : {'squared', 'huber'} or Loss, default='squared'
        The loss. A configured ``Huber(delta=...)`` takes its threshold in units of half the
        width of the target bounds.
    fit_intercept : bool, default=True
        Whether to fit an intercept. It is neither penalised nor constrained.
    intercept_scaling : float, default=0.3
        Value of the constant column behind the intercept, in units of the row norm.
    positive : bool, default=False
        Whether coefficients may not be negative; the same as ``constraint=NonNegative()``.
    target_bounds : (low, high) or mapping, optional
        (low, high), known without looking at y. Targets outside are clipped to it during the fit.
        If None, 4 % of the budget goes to a private estimate, and up to half of it if rows are few;
        where they are too few for any, the model predicts 0, with a warning. For several targets
        each end may be a number for all or a sequence of one for each, and if ``y`` is a data
        frame, the parameter a dictionary of pairs by column name. Half the distance is a target's
        unit: give equal units to targets that are to count alike.
    data_norm : float, optional
        Bound on the l2 norm of the rows of X, known without looking at them. Longer rows are
        scaled down to it during the fit. If None, the fit looks privately for the range of each
        column that ``data_bounds`` does not give, for 10 to 20 % of the budget, and for a norm of
        the rows on that scale, for 4 %. Where noise hides a range, its column is held to (-1, 1);
        a warning says so before rows are read, and ``unseen_columns_`` after the fit. No ranges are
        looked for in sparse rows of more than a thousand columns, and with an l1 penalty or a
        constraint, which are about your units.
    data_bounds : (low, high) or mapping, optional
        Ranges of the columns that are known without looking at the rows, for example from a code
        book: a number for all columns or one for each, or a dictionary of pairs by column name or
        index, with None for ranges that are to be found, as are those of columns it leaves out.
        Known ranges cost nothing. Columns are brought to one scale; values beyond count as the
        nearest end, in the fit and in predictions. Not together with ``data_norm``, an l1 penalty
        or a constraint.
    max_weight : float, default=1.0
        Weights in ``sample_weight`` count up to this, in [1e-50, 1e50]; larger ones count as this
        one. A public bound: a row of this weight counts as much as a row without weights, and
        noise is in proportion to it, so that most weights should be near it. Without weights it
        means nothing.
    adjacency : {'replace_one', 'zero_out'}, default='replace_one'
        What neighbouring data sets are: one row replaced by any other, or one row's contribution
        removed; a row of zeros or of weight 0 is still there. Replace-one is the stronger promise.
    solver : str or Solver, default='auto'
        The algorithm: ``'auto'``, or one of ``'accmd'``, ``'adaptive_gd'``, ``'adassp'``,
        ``'blocks'``, ``'dda'``, ``'frank_wolfe'``, ``'ftrl'``, ``'gd'``, ``'one_step'``, ``'ppm'``,
        ``'screening'``, ``'spider'``, ``'svrg'`` and ``'tracked_gd'`` (see :mod:`skdp.solvers`).
        ``'auto'`` is ``'tracked_gd'`` for preconditioned rows, ``'frank_wolfe'`` for an l1 ball or
        simplex and many features, ``'dda'`` with ``sites``, else ``'gd'``; under ``partial_fit``
        it is ``'blocks'``, or if rows may not be kept ``'ftrl'``, for an l1 ball or simplex
        ``'frank_wolfe'``. ``'adassp'``, ``'one_step'`` and ``'screening'`` take the squared loss
        only; the latter a constraint on each coefficient alone, the others none. ``'one_step'`` is
        the one with ``inference_``. A configured instance such as
        ``TrackedGD(steps=50)`` sets its hyperparameters.
    constraint : Constraint, optional
        A set that the coefficients must lie in. The solver 'frank_wolfe' needs one that is bounded,
        and without a constraint takes a ball of radius ``3 sqrt(n_features) / data_norm``.
    precondition : {'auto', 'full'}, IterativeWhitening or None, default='auto'
        Whether to spend a part of the budget on finding coordinates in which the features,
        constant column included, are about white; see
        :class:`skdp.solvers.preconditioning.IterativeWhitening`. It is what learns directions in
        which the features vary little. ``'auto'`` does so unless the rows are few, there are more
        than 2,000 features, or 1,000 in sparse rows, there is a constraint, or another solver is
        asked for;
        ``'full'`` always does. The meaning of ``alpha`` and of the published coefficients stays
        the same.
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
    coef_ : ndarray of shape (n_features,), or (n_targets, n_features) if ``y`` was a table
        Coefficients.
    intercept_ : float, or ndarray of shape (n_targets,) if ``y`` was a table
        Intercept.
    data_norm_ : float
        The bound on the norms of rows that the fit has used, given or privately found; of rows on
        the scale of ``data_bounds_``, if there is one.
    data_bounds_ : tuple of ndarray or None
        Low and high ends of the range of each column that the fit has used, given or privately
        found. Predictions hold features to them. None if columns were used as they come.
    unseen_columns_ : list
        Columns, by name or index, whose ranges were looked for and not found; codes of 0, 1 and -1
        are among them, and need none.
    target_bounds_ : tuple of float, or of ndarray of shape (n_targets,) if ``y`` was a table
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
    inference_ : Inference
        Standard errors, intervals and tests of the coefficients, with ``solver='one_step'`` only;
        see :class:`skdp.Inference`. After ``partial_fit`` those of the latest call's rows, as the
        coefficients of this solver are.
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

    Examples
    --------
    >>> import numpy as np
    >>> from skdp import DPLinearRegression
    >>> X = np.random.default_rng(0).uniform(-1, 1, size=(20_000, 2))
    >>> y = X @ [1.0, -2.0] + 3.0
    >>> model = DPLinearRegression(epsilon=1.0, data_norm=1.5, target_bounds=(0, 6)).fit(X, y)
    >>> bool(model.score(X, y) > 0.95)
    True
    """

    _several_targets: ClassVar[bool] = True
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **PrivateLinearRegressor._parameter_constraints,
        "target_bounds": [None, PAIRS],
        "alpha": [Interval(Real, 0, None, closed="left")],
        "loss": [one_of("huber", "squared"), Loss],
        "solver": solvers_but(
            "dual_averaging", "objective_perturbation", "preconditioned_gd", "quantile_gd"
        ),
        "positive": ["boolean"],
    }

    inference_ = NoInference()

    alpha: float
    loss: str | Loss
    positive: bool

    @with_advice(REGRESSORS)
    def __init__(
        self,
        *,
        epsilon: float = 1.0,
        delta: float | None = None,
        alpha: float = 0.0,
        loss: str | Loss = "squared",
        fit_intercept: bool = True,
        intercept_scaling: float = 0.3,
        positive: bool = False,
        target_bounds: Any = None,
        data_norm: float | None = None,
        data_bounds: Any = None,
        max_weight: float = 1.0,
        adjacency: str = "replace_one",
        solver: str | Solver = "auto",
        constraint: Constraint | None = None,
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

    def _problem(self, n_samples: int, bounds: RowBounds) -> Problem:
        # Solvers work with targets in units of half the width of their bounds.
        assert bounds.target is not None
        return Problem(
            loss=self._loss(),
            n_samples=n_samples,
            n_features=self.n_features_in_,
            bounds=bounds,
            penalty=L2(self.alpha / n_samples),
            constraint=self._scaled_constraint(bounds.target),
        )

    def _scaled_constraint(self, target: TargetBounds) -> Constraint:
        """The constraint in units of half the width of the target bounds."""
        constraint = self._feasible()
        if target.n_targets == 1:
            return constraint.scaled(1 / target.half_width)
        if not (constraint.cone and constraint.separable):
            raise ValueError(
                f"{type(self).__name__} needs a constraint that does not depend on the units of "
                f"targets, NonNegative() or none, for {target.n_targets} targets, got "
                f"{shown(constraint)}. Fit one target at a time, each with a part of the budget."
            )
        return constraint

    def _feasible(self) -> Constraint:
        if self.positive and self.constraint is not None:
            raise ValueError(
                f"{type(self).__name__} needs constraint=None with positive=True, got "
                f"{shown(self.constraint)}. Pass one of them."
            )
        if self.positive:
            return NonNegative()
        return Unconstrained() if self.constraint is None else self.constraint

    def _loss(self) -> Loss:
        named: dict[str, Loss] = {"squared": Squared(), "huber": Huber()}
        loss = named[self.loss] if isinstance(self.loss, str) else self.loss
        usable = loss.n_scores == 1
        if usable:
            try:
                loss.check_targets(np.array([-1.0, 0.5, 1.0]))
            except ValueError:
                usable = False
        if not usable:
            raise ValueError(
                f"{type(self).__name__} needs a loss for numeric targets with one score a row, "
                f"got {type(loss).__name__}; pass one such as Squared() or Huber()."
            )
        several = self._target_columns or 1
        return loss if several == 1 else MultiTarget(loss, several)
