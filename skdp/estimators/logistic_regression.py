"""Private logistic regression, binary and multinomial."""

from __future__ import annotations

from copy import copy
from typing import Any, ClassVar

import numpy as np
from scipy.special import log_expit, log_softmax
from sklearn.linear_model import LogisticRegression

from ..docstrings import documented_like
from ..privacy.rows.dask_results import lazily
from ..privacy.rows.dask_rows import is_collection
from ..privacy.rows.reading import strict_checks
from ..problem.constraints import Constraint
from ..problem.losses import Logistic, Loss, Softmax
from ..solvers import Solver
from ..solvers.preconditioning import Preconditioner
from ..validation import CLASSIFIERS, interval, keep_parameters, with_advice
from .base import solvers_but
from .classification import PrivateLinearClassifier
from .inference import WithInference
from .publishing import PublishedModel


class DPLogisticRegression(WithInference, PrivateLinearClassifier):
    """Differentially private logistic regression.

    A swap-in for :class:`sklearn.linear_model.LogisticRegression`. The coefficients, the intercept
    and everything else that a fitted model publishes are together (epsilon, delta)-differentially
    private with respect to the rows of the training data. The number of rows, the number of
    features, the classes and all parameters are public.

    Minimises the mean logistic loss plus ``||w||^2 / (2 n C)`` (or the elastic net) by a private
    solver. Two classes take one score, more take one each (softmax) within one budget.

    Parameters
    ----------
    l1_ratio : float, default=0.0
        Share of the l1 norm in the elastic-net penalty, in [0, 1].
    class_weight : dict or 'balanced', optional
        Weight of each label, 1 where missing; must not be computed from the data. ``'balanced'``
        predicts as if all classes were equally frequent, like scikit-learn, but from noisy counts
        (2 % of the budget) and with less noise: weights are the frequencies to the power -3/4,
        and the intercepts published make up for the rest. Where clipping bends the log-odds
        (up to about epsilon = 10), predictions are a little short of balanced. Where counts
        would be drowned in noise, all weights are 1 and a warning says so.
    solver : str or Solver, default='auto'
        The algorithm: ``'auto'``, or one of
        {solvers}
        (see :mod:`skdp.solvers`). ``'auto'`` is ``'dual_averaging'`` for preconditioned sparse rows
        of more than 1000 features, ``'frank_wolfe'`` for an l1 ball or simplex and many features,
        ``'dda'`` with ``sites``, ``'preconditioned_gd'`` for two classes, and for more with rows
        enough, but for ``class_weight``, else ``'gd'``; under ``partial_fit`` it is ``'blocks'``,
        or if rows may not be kept ``'ftrl'``, for an l1 ball or simplex ``'frank_wolfe'``.
        ``'objective_perturbation'`` takes two classes. Neither it nor ``'one_step'``, which is the
        one with ``inference_``, takes an l1 penalty or a constraint. A configured instance such as
        ``GD(steps=50)`` sets its hyperparameters.
    precondition : {'auto', 'diagonal', 'full', 'wide'}, Preconditioner or None, default='auto'
        Whether a tenth of the budget goes to bringing the rows to coordinates in which noise hurts
        less: centred and scaled (``'diagonal'``), also whitened (``'full'``), or left as they are
        (None). ``'auto'`` decides by n, d and budget for dense rows and damps frequent features of
        sparse ones if they have more than 1000, unless there is an l1 penalty, a constraint or a
        solver that does without. ``'wide'``, a quarter of the budget, is for embeddings of hundreds
        to thousands of features, see :class:`skdp.solvers.preconditioning.WideWhitening`, and is
        ``'auto'`` where rows or budget are too few for it. The model stays linear in X, and
        penalties keep their meaning: they are about ``coef_``.

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
        "l1_ratio": [interval(0, 1, "both")],
        "solver": solvers_but("adassp", "quantile_gd", "screening", "tracked_gd"),
    }

    _counterpart = LogisticRegression
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
    @documented_like(PublishedModel._scores)
    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Logarithms of class probabilities.

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
    @documented_like(PublishedModel._scores)
    def predict_proba(self, X: Any) -> np.ndarray:
        """Class probabilities.

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
