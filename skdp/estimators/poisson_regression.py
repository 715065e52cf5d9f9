"""Private Poisson regression of counts and rates, with a log link."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from scipy.special import xlogy
from sklearn.linear_model import PoissonRegressor
from sklearn.metrics import d2_tweedie_score

from ..privacy.rows.targets import as_counts
from ..problem.bounds import CountBounds, RowBounds
from ..problem.constraints import Constraint
from ..problem.losses import Loss, Poisson
from ..problem.penalties import L2, Penalty
from ..solvers import Solver
from ..solvers.preconditioning import OPTIONS, Preconditioner
from ..validation import PAIR, REGRESSORS, interval, keep_parameters, one_of, with_advice
from .base import solvers_but
from .inference import WithInference
from .regression import PrivateLinearRegressor

# Logarithm of the largest mean that is told from others, and of the inverse of the least.
_FARTHEST = 700.0


class DPPoissonRegressor(WithInference, PrivateLinearRegressor):
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
    alpha : float, default=0.0
        Strength of the ridge penalty beside the mean deviance, as in scikit-learn, whose default
        is 1.0. That is strong where events are rare, whatever the number of rows.
    target_bounds : (0, cap), optional
        Cap on the events of a row, known without looking at y: target times ``sample_weight`` in
        units of ``max_weight``, or the target alone without weights. More count as the cap. Noise
        is in proportion to it. If None, 4 % of the budget, and up to half of it if rows are few,
        goes to a noisy histogram, and the cap is the power of 2 at which noise and what is cut off
        are together least; where rows are too few to see any event, it is 1, with a warning.
    max_weight : float, default=1.0
        Exposures in ``sample_weight`` count up to this, in [1e-50, 1e50]; larger ones count as
        this one. A public bound.
    solver : str or Solver, default='auto'
        The algorithm: ``'auto'``, or one of
        {solvers}
        (see :mod:`skdp.solvers`). ``'auto'`` is ``'preconditioned_gd'``, ``'gd'`` under a
        constraint, or ``'dda'`` with ``sites``; under ``partial_fit`` it is ``'blocks'``, or if
        rows may not be kept ``'ftrl'``. ``'one_step'`` is the one with ``inference_``. A configured
        instance such as ``GD(steps=50)`` sets its hyperparameters.
    precondition : {'auto', 'diagonal', 'full', 'wide'}, Preconditioner or None, default='auto'
        Whether a tenth of the budget goes to bringing the rows to coordinates in which noise hurts
        less, as in :class:`skdp.DPLogisticRegression`.
    clip_predictions : bool, default=True
        Whether ``predict`` clips to ``target_bounds_``, beyond which no mean was fitted.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        Coefficients of the logarithm of the mean.
    intercept_ : float
        Intercept of the logarithm of the mean.
    target_bounds_ : tuple of float
        ``(0, cap)`` that the fit has used, given or privately found.

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
        "delta": [None, interval(0, 1, "neither")],
        "precondition": [None, one_of(*OPTIONS), Preconditioner],
        "solver": solvers_but(
            *("adassp", "dual_averaging", "objective_perturbation", "quantile_gd"),
            *("screening", "tracked_gd"),
        ),
    }

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

    def _objective(self, n_samples: int, bounds: RowBounds) -> tuple[Loss, Penalty]:
        assert isinstance(bounds.target, CountBounds)
        # The penalty stands beside a loss in units of the cap.
        return Poisson(), L2(self.alpha / bounds.target.cap)

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
