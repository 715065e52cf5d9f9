"""Private linear regression, ordinary or ridge."""

from __future__ import annotations

from typing import Any, ClassVar

from ..problem.bounds import RowBounds
from ..problem.constraints import Constraint, NonNegative
from ..problem.losses import Huber, Loss, MultiTarget, Squared
from ..problem.penalties import L2, Penalty
from ..solvers import Solver
from ..solvers.preconditioning.iterative_whitening import IterativeWhitening
from ..validation import PAIRS, REGRESSORS, keep_parameters, one_of, shown, with_advice
from .base import solvers_but
from .inference import WithInference
from .regression import PrivateLinearRegressor


class DPLinearRegression(WithInference, PrivateLinearRegressor):
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
    positive : bool, default=False
        Whether coefficients may not be negative; the same as ``constraint=NonNegative()``.
    target_bounds : (low, high) or mapping, optional
        (low, high), known without looking at y. Targets outside are clipped to it during the fit.
        If None, 4 % of the budget goes to a private estimate, and up to half of it if rows are few;
        where they are too few for any, the model predicts 0, with a warning. For several targets
        each end may be a number for all or a sequence of one for each, and if ``y`` is a data
        frame, the parameter a dictionary of pairs by column name. Half the distance is a target's
        unit: give equal units to targets that are to count alike.
    solver : str or Solver, default='auto'
        The algorithm: ``'auto'``, or one of
        {solvers}
        (see :mod:`skdp.solvers`). ``'auto'`` is ``'tracked_gd'`` for preconditioned rows,
        ``'frank_wolfe'`` for an l1 ball or simplex and many features, ``'dda'`` with ``sites``,
        else ``'gd'``; under ``partial_fit`` it is ``'blocks'``, or if rows may not be kept
        ``'ftrl'``, for an l1 ball or simplex ``'frank_wolfe'``. ``'adassp'``, ``'one_step'`` and
        ``'screening'`` take the squared loss only; the latter a constraint on each coefficient
        alone, the others none. ``'one_step'`` is the one with ``inference_``. A configured instance
        such as ``TrackedGD(steps=50)`` sets its hyperparameters.
    precondition : {'auto', 'full'}, IterativeWhitening or None, default='auto'
        Whether to spend a part of the budget on finding coordinates in which the features,
        constant column included, are about white; see
        :class:`skdp.solvers.preconditioning.IterativeWhitening`. It is what learns directions in
        which the features vary little. ``'auto'`` does so unless the rows are few, there are more
        than 2,000 features, or 1,000 in sparse rows, there is a constraint, or another solver is
        asked for;
        ``'full'`` always does. The meaning of ``alpha`` and of the published coefficients stays
        the same.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,), or (n_targets, n_features) if ``y`` was a table
        Coefficients.
    intercept_ : float, or ndarray of shape (n_targets,) if ``y`` was a table
        Intercept.
    target_bounds_ : tuple of float, or of ndarray of shape (n_targets,) if ``y`` was a table
        The target bounds (low, high) that the fit has used, given or privately found.

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
        "loss": [one_of("huber", "squared"), Loss],
        "solver": solvers_but(
            "dual_averaging", "objective_perturbation", "preconditioned_gd", "quantile_gd"
        ),
    }

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

    def _objective(self, n_samples: int, bounds: RowBounds) -> tuple[Loss, Penalty]:
        return self._loss(), L2(self.alpha / n_samples)

    def _feasible_set(self, bounds: RowBounds) -> Constraint:
        if self.positive and self.constraint is not None:
            raise ValueError(
                f"{type(self).__name__} needs constraint=None with positive=True, got "
                f"{shown(self.constraint)}. Pass one of them."
            )
        constraint = NonNegative() if self.positive else super()._feasible_set(bounds)
        target = bounds.target
        assert target is not None
        if target.n_targets == 1:
            # Solvers work with targets in units of half the width of their bounds.
            return constraint.scaled(1 / target.half_width)
        if not (constraint.cone and constraint.separable):
            raise ValueError(
                f"{type(self).__name__} needs a constraint that does not depend on the units of "
                f"targets, NonNegative() or none, for {target.n_targets} targets, got "
                f"{shown(constraint)}. Fit one target at a time, each with a part of the budget."
            )
        return constraint

    def _loss(self) -> Loss:
        named: dict[str, Loss] = {"squared": Squared(), "huber": Huber()}
        loss = named[self.loss] if isinstance(self.loss, str) else self.loss
        if not (loss.n_scores == 1 and loss.takes(-1.0, 0.5, 1.0)):
            raise ValueError(
                f"{type(self).__name__} needs a loss for numeric targets with one score a row, "
                f"got {type(loss).__name__}; pass one such as Squared() or Huber()."
            )
        several = self._target_columns or 1
        return loss if several == 1 else MultiTarget(loss, several)
