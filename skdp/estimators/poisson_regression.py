"""Private Poisson regression of counts and rates, with a log link."""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar

import numpy as np
from scipy.special import xlogy
from sklearn.linear_model import PoissonRegressor
from sklearn.metrics import d2_tweedie_score
from sklearn.utils._param_validation import Interval

from ..privacy.rows.targets import as_counts
from ..problem.bounds import CountBounds, RowBounds
from ..problem.constraints import Constraint, Unconstrained
from ..problem.losses import Poisson
from ..problem.penalties import L2
from ..problem.problem import Problem
from ..solvers import Solver
from ..solvers.preconditioning import OPTIONS, Preconditioner
from ..validation import PAIR, REGRESSORS, keep_parameters, one_of, with_advice
from .base import solvers_but
from .inference import NoInference
from .regression import PrivateLinearRegressor

# Logarithm of the largest mean that is told from others, and of the inverse of the least.
_FARTHEST = 700.0


class DPPoissonRegressor(PrivateLinearRegressor):
    r"""Differentially private Poisson regression: numbers of events, with exposure.

    A swap-in for :class:`sklearn.linear_model.PoissonRegressor`. The coefficients, the intercept
    and everything else that a fitted model publishes are together (epsilon, delta)-differentially
    private with respect to the rows of the training data. The number of rows, the number of
    features and all parameters are public.

    Minimises

    .. math:: \frac{1}{\sum_i v_i} \sum_i v_i \bigl(e^{s_i} - y_i s_i\bigr)
              + \frac{\alpha}{2} \lVert w \rVert_2^2, \qquad s_i = \langle x_i, w\rangle + b

    by a private solver. As in scikit-learn targets are rates, events per exposure, and exposures
    are passed as ``sample_weight``; without weights targets are counts. The events of a row,
    target times weight, count up to a cap, and so do their means: the fit is that of the model as
    it is where neither reaches the cap. Only means have to be log-linear; targets may vary more
    than Poisson's, or be amounts instead of numbers.

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
        Strength of the ridge penalty beside the mean deviance, as in scikit-learn, whose default
        is 1.0. That is strong where events are rare, whatever the number of rows.
    fit_intercept : bool, default=True
        Whether to fit an intercept. It is neither penalised nor constrained.
    intercept_scaling : float, default=0.3
        Value of the constant column behind the intercept, in units of the row norm.
    target_bounds : (0, cap), optional
        Cap on the events of a row, known without looking at y: target times ``sample_weight`` in
        units of ``max_weight``, or the target alone without weights. More count as the cap. Noise
        is in proportion to it. If None, 4 % of the budget, and up to half of it if rows are few,
        goes to a noisy histogram, and the cap is the power of 2 at which noise and what is cut off
        are together least; where rows are too few to see any event, it is 1, with a warning.
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
        Exposures in ``sample_weight`` count up to this, in [1e-50, 1e50]; larger ones count as
        this one. A public bound.
    adjacency : {'replace_one', 'zero_out'}, default='replace_one'
        What neighbouring data sets are: one row replaced by any other, or one row's contribution
        removed; a row of zeros or of weight 0 is still there. Replace-one is the stronger promise.
    solver : str or Solver, default='auto'
        The algorithm: ``'auto'``, or one of ``'accmd'``, ``'adaptive_gd'``, ``'blocks'``,
        ``'dda'``, ``'frank_wolfe'``, ``'ftrl'``, ``'gd'``, ``'one_step'``, ``'ppm'``,
        ``'preconditioned_gd'``, ``'spider'`` and ``'svrg'`` (see :mod:`skdp.solvers`). ``'auto'``
        is ``'preconditioned_gd'``, ``'gd'`` under a constraint, or ``'dda'`` with ``sites``; under
        ``partial_fit`` it is ``'blocks'``, or if rows may not be kept ``'ftrl'``.
        ``'one_step'`` is the one with ``inference_``. A configured instance such as
        ``GD(steps=50)`` sets its hyperparameters.
    constraint : Constraint, optional
        A set that the coefficients must lie in. The solver 'frank_wolfe' needs one that is bounded,
        and without a constraint takes a ball of radius ``3 sqrt(n_features) / data_norm``.
    precondition : {'auto', 'diagonal', 'full', 'wide'}, Preconditioner or None, default='auto'
        Whether a tenth of the budget goes to bringing the rows to coordinates in which noise hurts
        less, as in :class:`skdp.DPLogisticRegression`.
    clip_predictions : bool, default=True
        Whether ``predict`` clips to ``target_bounds_``, beyond which no mean was fitted.
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
        Coefficients of the logarithm of the mean.
    intercept_ : float
        Intercept of the logarithm of the mean.
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
        ``(0, cap)`` that the fit has used, given or privately found.
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

    By default a fit releases the histogram of events, the mean count, second moments of the rows
    and 12 to 24 gradients. Rows are bounded by weights that do not depend on their targets, so
    that means stay what they are: of events nothing is clipped but what exceeds the cap.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp import DPPoissonRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-1, 1, size=(20_000, 2))
    >>> exposure = rng.uniform(0.1, 1.0, size=20_000)
    >>> claims = rng.poisson(exposure * np.exp(X @ [0.5, -1.0] - 1))
    >>> model = DPPoissonRegressor(epsilon=1.0, data_bounds=(-1, 1), target_bounds=(0, 4))
    >>> model = model.fit(X, claims / exposure, sample_weight=exposure)
    >>> bool(model.score(X, claims / exposure, sample_weight=exposure) > 0.05)
    True
    """

    _counts: ClassVar[bool] = True
    _penalty_beside_mean: ClassVar[bool] = True
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **PrivateLinearRegressor._parameter_constraints,
        "target_bounds": [None, PAIR],
        "delta": [None, Interval(Real, 0, 1, closed="neither")],
        "alpha": [Interval(Real, 0, None, closed="left")],
        "precondition": [None, one_of(*OPTIONS), Preconditioner],
        "solver": solvers_but(
            *("adassp", "dual_averaging", "objective_perturbation", "quantile_gd"),
            *("screening", "tracked_gd"),
        ),
    }

    inference_ = NoInference()

    alpha: float

    @with_advice(REGRESSORS)
    def __init__(
        self,
        *,
        epsilon: float = 1.0,
        delta: float | None = None,
        alpha: float = 0.0,
        fit_intercept: bool = True,
        intercept_scaling: float = 0.3,
        target_bounds: Any = None,
        data_norm: float | None = None,
        data_bounds: Any = None,
        max_weight: float = 1.0,
        adjacency: str = "replace_one",
        solver: str | Solver = "auto",
        constraint: Constraint | None = None,
        precondition: str | Preconditioner | None = "auto",
        clip_predictions: bool = True,
        horizon: int | None = None,
        buffer: bool = True,
        max_visits: int = 1,
        warm_start: bool | str = False,
        verbose: int = 0,
        random_state: Any = None,
    ) -> None:
        keep_parameters(self, locals())

    def _means(self, scores: np.ndarray) -> np.ndarray:
        # Positive and finite, as deviances need them, whatever noise has made of so few rows.
        return np.asarray(np.exp(np.clip(scores, -_FARTHEST, _FARTHEST)))

    def _problem(self, n_samples: int, bounds: RowBounds) -> Problem:
        target = bounds.target
        assert isinstance(target, CountBounds)
        return Problem(
            loss=Poisson(),
            n_samples=n_samples,
            n_features=self.n_features_in_,
            bounds=bounds,
            # Beside a loss in units of the cap.
            penalty=L2(self.alpha / target.cap),
            constraint=Unconstrained() if self.constraint is None else self.constraint,
        )

    @staticmethod
    def _read_targets(name: str, y: np.ndarray) -> np.ndarray:
        return as_counts(name, y)

    def _unfitted_plain(self) -> PoissonRegressor:
        plain = PoissonRegressor(alpha=self.alpha)
        # What predictions are made with, and only a fit makes.
        plain._base_loss = plain._get_loss()
        return plain

    @staticmethod
    def _score_of(y: Any, predicted: np.ndarray, sample_weight: Any = None) -> float:
        return float(d2_tweedie_score(y, predicted, sample_weight=sample_weight, power=1))

    def _sums_of_score(self, y: np.ndarray, predicted: np.ndarray) -> np.ndarray:
        parts = (xlogy(y, predicted), predicted, xlogy(y, y), y, np.ones(len(y)))
        return np.array([part.sum() for part in parts])

    def _score_by_sums(self, *sums: Any) -> float:
        likelihood, predicted, largest, total, n = sums
        # Of the model, and of the mean target: half the deviances.
        of_mean = largest - xlogy(total, total / n)
        return float(1 - (largest - likelihood - total + predicted) / of_mean)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.positive_only = True
        return tags
