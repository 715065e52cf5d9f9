"""Private logistic regression, binary and multinomial."""

from __future__ import annotations

from copy import copy
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from scipy.special import log_expit, log_softmax
from sklearn.linear_model import LogisticRegression
from sklearn.utils._param_validation import Interval

from ..privacy.rows.dask_results import lazily
from ..privacy.rows.dask_rows import is_collection
from ..privacy.rows.reading import strict_checks
from ..problem.constraints import Constraint
from ..problem.losses import Logistic, Loss, Softmax
from ..solvers import Solver
from ..solvers.preconditioning import Preconditioner
from ..validation import CLASSIFIERS, keep_parameters, with_advice
from .base import solvers_but
from .classification import PrivateLinearClassifier
from .inference import NoInference


class DPLogisticRegression(PrivateLinearClassifier):
    """Differentially private logistic regression.

    A swap-in for :class:`sklearn.linear_model.LogisticRegression`. The coefficients, the intercept
    and everything else that a fitted model publishes are together (epsilon, delta)-differentially
    private with respect to the rows of the training data. The number of rows, the number of
    features, the classes and all parameters are public.

    Minimises the mean logistic loss plus ``||w||^2 / (2 n C)`` (or the elastic net) by a private
    solver. Two classes take one score, more take one each (softmax) within one budget.

    Parameters
    ----------
    epsilon : float, default=1.0
        Privacy budget, in [1e-10, 1e9]. About 1 is a common choice; above 10 promises little.
        ``float('inf')`` fits along the same path without noise, and without privacy.
    delta : float, optional
        Probability-like slack of the guarantee, in [0, 1). By default the smaller of 1e-5 and
        n^-1.1, n being the number of rows of a fit or the ``horizon`` of a stream, 1e-5 if that
        is not declared; ``delta_`` says which. 0 is pure epsilon, by objective perturbation,
        with bounds that are given and an equal share of epsilon for each of several classes.
    C : float, optional
        Inverse strength of the penalty, as in scikit-learn. By default the penalty is no stronger
        than noise asks for: C is ``n_samples`` times the privacy budget mu over 10, between 1 and
        100 (10 with more than a thousand features), and for rows in units of their length if they
        are shorter than 1; with an l1 penalty it is 1.
    l1_ratio : float, default=0.0
        Share of the l1 norm in the elastic-net penalty, in [0, 1].
    fit_intercept : bool, default=True
        Whether to fit an intercept. It is neither penalised nor constrained.
    intercept_scaling : float, default=0.3
        Value of the constant column behind the intercept, in units of the row norm. The larger,
        the faster the intercept is learned, and the more noise the other coefficients bear.
    class_weight : dict or 'balanced', optional
        Weight of each label, 1 where missing; must not be computed from the data. ``'balanced'``
        predicts as if all classes were equally frequent, like scikit-learn, but from noisy counts
        (2 % of the budget) and with less noise: weights are the frequencies to the power -3/4,
        and the intercepts published make up for the rest. Where clipping bends the log-odds
        (up to about epsilon = 10), predictions are a little short of balanced. Where counts
        would be drowned in noise, all weights are 1 and a warning says so.
    classes : array-like, optional
        The labels that may occur, at least two. If None they are read off y, with a
        ``PrivacyLeakWarning``.
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
        The algorithm: ``'auto'``, or one of ``'accmd'``, ``'adaptive_gd'``, ``'blocks'``,
        ``'dda'``, ``'dual_averaging'``, ``'frank_wolfe'``, ``'ftrl'``, ``'gd'``,
        ``'objective_perturbation'``, ``'one_step'``, ``'ppm'``, ``'preconditioned_gd'``,
        ``'spider'`` and ``'svrg'`` (see :mod:`skdp.solvers`). ``'auto'`` is ``'dual_averaging'``
        for preconditioned sparse rows of more than 1000 features, ``'frank_wolfe'`` for an l1 ball
        or simplex and many features, ``'dda'`` with ``sites``, ``'preconditioned_gd'`` for
        two classes, and for more with rows enough, but for ``class_weight``, else ``'gd'``; under
        ``partial_fit`` it is ``'blocks'``, or if rows may not be kept ``'ftrl'``, for an l1 ball or
        simplex ``'frank_wolfe'``.
        ``'objective_perturbation'`` takes two classes. Neither it nor ``'one_step'``, which is the
        one with ``inference_``, takes an l1 penalty or a constraint.
        A configured instance such as ``GD(steps=50)`` sets its hyperparameters.
    constraint : Constraint, optional
        A set that the coefficients must lie in. The solver 'frank_wolfe' needs one that is bounded,
        and without a constraint takes a ball of radius ``3 sqrt(n_features) / data_norm``.
    precondition : {'auto', 'diagonal', 'full', 'wide'}, Preconditioner or None, default='auto'
        Whether a tenth of the budget goes to bringing the rows to coordinates in which noise hurts
        less: centred and scaled (``'diagonal'``), also whitened (``'full'``), or left as they are
        (None). ``'auto'`` decides by n, d and budget for dense rows and damps frequent features of
        sparse ones if they have more than 1000, unless there is an l1 penalty, a constraint or a
        solver that does without. ``'wide'``, a quarter of the budget, is for embeddings of hundreds
        to thousands of features, see :class:`skdp.solvers.preconditioning.WideWhitening`, and is
        ``'auto'`` where rows or budget are too few for it. The model stays linear in X, and
        penalties keep their meaning: they are about ``coef_``.
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
    coef_ : ndarray of shape (1, n_features) or (n_classes, n_features)
        Coefficients.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        Intercepts.
    classes_ : ndarray of shape (n_classes,)
        Labels.
    data_norm_ : float
        The bound on the norms of rows that the fit has used, given or privately found; of rows on
        the scale of ``data_bounds_``, if there is one.
    data_bounds_ : tuple of ndarray or None
        Low and high ends of the range of each column that the fit has used, given or privately
        found. Predictions hold features to them. None if columns were used as they come.
    unseen_columns_ : list
        Columns, by name or index, whose ranges were looked for and not found; codes of 0, 1 and -1
        are among them, and need none.
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
    n_iter_ : ndarray of shape (1,)
        Number of iterations.
    n_samples_seen_ : int
        Number of rows that ``fit`` or ``partial_fit`` has been given.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, if X had string column names.

    Warns
    -----
    PrivacyLeakWarning
        If ``classes`` is None.
    SeededNoiseWarning
        If ``random_state`` is not None.
    UserWarning
        If the budget is too small to find ``data_norm``, which a fixed value then replaces, or the
        counts behind ``class_weight='balanced'``.

    Notes
    -----
    Each call of ``fit`` spends (epsilon, delta) anew: fits on the same rows add up.

    By default a fit releases second moments of the rows, counts of the classes, 6 to 24 gradients
    (up to 100 where the moments do not stand out of their noise) and residuals at a few scales of
    the scores. The counts cost 2 % of what the moments leave, and are left out, like the moments,
    where noise would drown them. They tell the solver where to start: at the log-odds of the
    classes, so that a rare class is known to be rare from the first step on.

    Up to about epsilon = 10 solvers clip the gradient of each row well below its largest possible
    value, which leaves scores at a wrong scale. The last answer mends that: coefficients and
    intercept are multiplied by the factor at which probabilities agree with the labels, so that
    ``predict_proba`` is honest. No prediction is changed by it, but that with
    ``class_weight='balanced'`` a part of the balance is added after it, and that few texts with a
    rare class have their scores drawn to the log-odds of the classes.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import Normalizer
    >>> from skdp import DPLogisticRegression
    >>> X, y = load_digits(n_class=2, return_X_y=True)
    >>> private = DPLogisticRegression(epsilon=1.0, delta=1e-5, data_norm=1.0, classes=[0, 1])
    >>> model = make_pipeline(Normalizer(), private).fit(X, y)
    >>> round(private.privacy_spent_.epsilon, 6)
    1.0
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **PrivateLinearClassifier._parameter_constraints,
        "C": [None, Interval(Real, 0, None, closed="right")],
        "l1_ratio": [Interval(Real, 0, 1, closed="both")],
        "solver": solvers_but("adassp", "quantile_gd", "screening", "tracked_gd"),
    }

    _counterpart = LogisticRegression
    inference_ = NoInference()

    l1_ratio: float

    @with_advice(CLASSIFIERS)
    def __init__(
        self,
        *,
        epsilon: float = 1.0,
        delta: float | None = None,
        C: float | None = None,
        l1_ratio: float = 0.0,
        fit_intercept: bool = True,
        intercept_scaling: float = 0.3,
        class_weight: dict[Any, float] | str | None = None,
        classes: Any = None,
        data_norm: float | None = None,
        data_bounds: Any = None,
        max_weight: float = 1.0,
        adjacency: str = "replace_one",
        solver: str | Solver = "auto",
        constraint: Constraint | None = None,
        precondition: str | Preconditioner | None = "auto",
        horizon: int | None = None,
        buffer: bool = True,
        max_visits: int = 1,
        warm_start: bool | str = False,
        verbose: int = 0,
        random_state: Any = None,
    ) -> None:
        keep_parameters(self, locals())

    @strict_checks()
    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Logarithms of class probabilities.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features), or dask collection
            Features. For a dask array or dataframe the result is a dask array, computed when it is
            asked for.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Log-probabilities, columns in the order of ``classes_``.
        """
        if is_collection(X):
            return lazily(copy(self).predict_log_proba, X)
        scores = self.decision_function(X)
        if scores.ndim == 1:
            return np.column_stack([log_expit(-scores), log_expit(scores)])
        return log_softmax(scores, axis=1)

    @strict_checks()
    def predict_proba(self, X: Any) -> np.ndarray:
        """Class probabilities.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features), or dask collection
            Features. For a dask array or dataframe the result is a dask array, computed when it is
            asked for.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Probabilities, columns in the order of ``classes_``.
        """
        return np.exp(self.predict_log_proba(X))

    def _loss_of(self, n_classes: int) -> Loss:
        return Logistic() if n_classes == 2 else Softmax(n_classes)

    @property
    def _l1_share(self) -> float:
        return float(self.l1_ratio)
