"""Private sparse linear regression."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from ..problem.bounds import RowBounds
from ..problem.constraints import Constraint, NonNegative, Unconstrained
from ..problem.losses import Loss, Squared
from ..problem.penalties import L1, Penalty
from ..solvers import Solver
from ..validation import REGRESSORS, interval, keep_parameters, with_advice
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
    alpha : float, default=0.0
        Strength of the l1 penalty, in the user's units as in scikit-learn's Lasso, whose default
        of 1.0 suits standardised features. 0 leaves sparsity to the selection.
    positive : bool, default=False
        Whether coefficients may not be negative. Features are then selected by positive
        correlation.
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
    solver : str or Solver, default='auto'
        The algorithm: ``'auto'``, or one of
        {solvers}
        (see :mod:`skdp.solvers`). ``'auto'`` is ``'screening'``, noisy selection and a fit on what
        was selected, or ``'gd'`` if there are fewer than 400 rows and at most 20 features, or
        ``'dda'`` with ``sites``; under ``partial_fit`` it is ``'blocks'``, or ``'ftrl'`` if rows
        may not be kept. ``'frank_wolfe'`` needs a positive ``alpha``, which bounds the l1 norm of
        the solution. The others take proximal gradients in all features at once. A configured
        instance such as ``Screening(k=20)`` sets its hyperparameters.

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
        **PrivateLinearRegressor._parameter_constraints,
        "feature_bound": [None, interval(1e-100, 1e100, "both")],
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

    def _objective(self, n_samples: int, bounds: RowBounds) -> tuple[Loss, Penalty]:
        # Solvers work with targets, hence with coefficients, in units of half the width of the
        # target bounds. The squared loss shrinks with the square of the unit, the penalty with it.
        assert bounds.target is not None
        penalty = L1(self.alpha / bounds.target.half_width)
        return Squared(), penalty

    def _feasible_set(self, bounds: RowBounds) -> Constraint:
        return NonNegative() if self.positive else Unconstrained()
