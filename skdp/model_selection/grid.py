"""Private search over a grid."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Real
from typing import Any, ClassVar, final

import numpy as np
from sklearn.model_selection import ParameterGrid
from sklearn.utils._param_validation import Interval

from ..reporting.number_of_trials import NumberOfTrials
from ..validation import SEARCHES, shown, with_advice
from .base import PrivateSearch
from .candidates import made_of


@final
class DPGridSearchCV(PrivateSearch):
    """Search over a grid of parameters, private as a whole.

    A swap-in for :class:`sklearn.model_selection.GridSearchCV`, without what would leak: see
    :class:`DPRandomizedSearchCV`, which has all parameters and attributes that are not explained
    here. Points of the grid are drawn at random, *with replacement*, a secret number of times: a
    private search cannot promise to visit each of them at this price. ``exhaustive=True`` does, and
    pays for every point as for a fit of its own, which is worth it for two points or three.

    Parameters
    ----------
    estimator : estimator
        A private estimator, or a pipeline in which every step that learns from rows has ``epsilon``
        and ``delta``, which the search sets.
    param_grid : dict or list of dict
        For each parameter a list of values, as in scikit-learn. It must not be made from the rows.
    epsilon : float, default=1.0
        Budget of the whole search, scores included.
    delta : float, optional
        Budget of the whole search, in (0, 1). By default the smaller of 1e-5 and n^-1.1 for n rows.
    n_iter : float, optional
        Mean number of trials, at least 1; by default twice the number of points.
    exhaustive : bool, default=False
        Whether to try each point once instead. ``n_iter`` is not used then.
    scoring : str or callable, optional
        How models are compared.
    score_range : tuple of (float, float), optional
        Numbers of rows are clipped to it.
    validation : None, float or tuple (X, y), default=None
        What models are scored on: their training rows, a share of the rows, or public rows.
    score_share : float, default=0.1
        Share of the budget of a trial that its score takes, if it is about training rows.
    step_shares : dict, optional
        Weights by which private steps of a pipeline share the budget of a fit.
    n_jobs : int, optional
        How many trials at once, as in joblib.
    random_state : int, RandomState, Generator or None, default=None
        For tests; None draws all secrets from the operating system.

    Attributes
    ----------
    best_estimator_ : estimator
        The model of the best trial. Its receipts are those of the search.
    best_params_ : dict
        Its parameters.
    best_score_ : float
        The noisy score by which it won.
    classes_ : ndarray of shape (n_classes,)
        Labels, if the model is a classifier.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, if X had string column names.
    delta_ : float
        Slack of the guarantee: ``delta``, or what it is by default.
    privacy_spent_ : PrivacySpent
        Named tuple ``(epsilon, delta)`` of what the search has spent, which is its budget.
    privacy_ledger_ : tuple of events
        The receipt.

    Warns
    -----
    PrivacyLeakWarning
        If classes are not given to a private classifier.
    SeededNoiseWarning
        If ``random_state`` is not None.
    UserWarning
        If the noise on scores hides all differences that can be expected.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.preprocessing import normalize
    >>> from skdp import DPLogisticRegression
    >>> from skdp.model_selection import DPGridSearchCV
    >>> X, y = load_digits(n_class=2, return_X_y=True)
    >>> model = DPLogisticRegression(data_norm=1.0, classes=[0, 1])
    >>> grid = {"C": [0.1, 1.0]}
    >>> search = DPGridSearchCV(model, grid, epsilon=2.0, exhaustive=True).fit(normalize(X), y)
    >>> sorted(search.best_params_)
    ['C']
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **PrivateSearch._parameter_constraints,
        "param_grid": [dict, list],
        "n_iter": [None, Interval(Real, 1, 1e4, closed="both")],
        "exhaustive": ["boolean"],
    }

    @with_advice(SEARCHES)
    def __init__(
        self,
        estimator: Any,
        param_grid: dict[str, Any] | list[dict[str, Any]],
        *,
        epsilon: float = 1.0,
        delta: float | None = None,
        n_iter: float | None = None,
        exhaustive: bool = False,
        scoring: str | Callable[..., Any] | None = None,
        score_range: tuple[float, float] | None = None,
        validation: float | tuple[Any, Any] | None = None,
        score_share: float = 0.1,
        step_shares: dict[str, float] | None = None,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.param_grid = param_grid
        self.epsilon = epsilon
        self.delta = delta
        self.n_iter = n_iter
        self.exhaustive = exhaustive
        self.scoring = scoring
        self.score_range = score_range
        self.validation = validation
        self.score_share = score_share
        self.step_shares = step_shares
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _spaces(self) -> list[dict[str, Any]]:
        grid = made_of(ParameterGrid, self.param_grid)
        if grid is None:
            raise ValueError(
                f"{type(self).__name__} needs param_grid to be a dict with a list of values for "
                "each parameter, none of them empty, or a list of such dicts, got "
                f"{shown(self.param_grid)}."
            )
        spaces = list(grid.param_grid)
        if not spaces:
            raise ValueError(
                f"{type(self).__name__} needs something to choose from in param_grid, got an empty "
                "list."
            )
        return spaces

    def _trials(self) -> NumberOfTrials | int:
        points = len(ParameterGrid(self.param_grid))
        if self.exhaustive:
            return points
        return NumberOfTrials(2.0 * points if self.n_iter is None else float(self.n_iter))

    def _candidate(self, k: int, public_rng: np.random.RandomState) -> dict[str, Any]:
        grid = ParameterGrid(self.param_grid)
        return grid[k if self.exhaustive else int(public_rng.randint(len(grid)))]
