"""Private searches over a grid of parameters, and over randomly drawn ones."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Real
from typing import Any, ClassVar, final

import numpy as np
from sklearn.model_selection import ParameterGrid, ParameterSampler
from sklearn.utils._param_validation import Interval

from ..reporting.number_of_trials import NumberOfTrials
from ..validation import SEARCHES, keep_parameters, with_advice
from .base import PrivateSearch


@final
class DPRandomizedSearchCV(PrivateSearch):
    """Search over randomly drawn parameters, private as a whole.

    A swap-in for :class:`sklearn.model_selection.RandomizedSearchCV`, without what would leak: the
    model of the best trial, its parameters and its noisy score are published, and nothing about
    other trials, not even how many there were. Everything together is (epsilon,
    delta)-differentially private: the budget of a single trial is derived from that of the search.

    The number of trials is random, secret, and ``n_iter`` in the mean; its distribution is the
    logarithmic one. A search of ten trials leaves each about two thirds of the budget, where ten
    fits side by side would leave less than a third (see
    :mod:`skdp.reporting.number_of_trials`).

    Parameters
    ----------
    param_distributions : dict or list of dict
        For each parameter a list of values or a distribution with ``rvs``, as in scikit-learn. It
        must not be made from the rows. Budgets, adjacency, classes and random states of private
        steps cannot be searched over.
    n_iter : float, default=10
        Mean number of trials, at least 1.

    Notes
    -----
    The search takes time in proportion to the secret number of trials, so that somebody who
    measures the time learns about that number, which the guarantee takes to be secret. Do not
    publish how long it took.

    Draws that fail count as the worst ones, and nothing is said about them.

    References
    ----------
    Liu and Talwar, "Private selection from private candidates", 2019.

    Papernot and Steinke, "Hyperparameter tuning with Renyi differential privacy", 2022.

    Koskela, Redberg and Wang, "Privacy profiles for private selection", 2024.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.preprocessing import normalize
    >>> from skdp import DPLogisticRegression
    >>> from skdp.model_selection import DPRandomizedSearchCV
    >>> X, y = load_digits(n_class=2, return_X_y=True)
    >>> model = DPLogisticRegression(data_norm=1.0, classes=[0, 1])
    >>> space = {"C": [0.01, 0.1, 1.0]}
    >>> search = DPRandomizedSearchCV(model, space, epsilon=2.0, n_iter=3).fit(normalize(X), y)
    >>> search.privacy_spent_
    PrivacySpent(epsilon=2.0, delta=1e-05)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **PrivateSearch._parameter_constraints,
        "param_distributions": [dict, list],
        "n_iter": [Interval(Real, 1, 1e4, closed="both")],
    }
    _space = "param_distributions"

    @with_advice(SEARCHES)
    def __init__(
        self,
        estimator: Any,
        param_distributions: dict[str, Any] | list[dict[str, Any]],
        *,
        epsilon: float = 1.0,
        delta: float | None = None,
        n_iter: float = 10,
        scoring: str | Callable[..., Any] | None = None,
        score_range: tuple[float, float] | None = None,
        validation: tuple[Any, Any] | None = None,
        score_share: float = 0.1,
        step_shares: dict[str, float] | None = None,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        keep_parameters(self, locals())

    def _trials(self) -> NumberOfTrials:
        return NumberOfTrials(float(self.n_iter))

    def _candidate(self, k: int, public_rng: np.random.RandomState) -> dict[str, Any]:
        del k
        return next(iter(ParameterSampler(self.param_distributions, 1, random_state=public_rng)))


@final
class DPGridSearchCV(PrivateSearch):
    """Search over a grid of parameters, private as a whole.

    A swap-in for :class:`sklearn.model_selection.GridSearchCV`, without what would leak: see
    :class:`DPRandomizedSearchCV`. Points of the grid are drawn at random, *with replacement*, a
    secret number of times: a private search cannot promise to visit each of them at this price.
    ``exhaustive=True`` does, and pays for every point as for a fit of its own, which is worth it
    for two points or three.

    Parameters
    ----------
    param_grid : dict or list of dict
        For each parameter a list of values, as in scikit-learn. It must not be made from the rows.
    n_iter : float, optional
        Mean number of trials, at least 1; by default twice the number of points.
    exhaustive : bool, default=False
        Whether to try each point once instead. ``n_iter`` is not used then.

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
    _space = "param_grid"

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
        validation: tuple[Any, Any] | None = None,
        score_share: float = 0.1,
        step_shares: dict[str, float] | None = None,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        keep_parameters(self, locals())

    def _trials(self) -> NumberOfTrials | int:
        points = len(ParameterGrid(self.param_grid))
        if self.exhaustive:
            return points
        return NumberOfTrials(2.0 * points if self.n_iter is None else float(self.n_iter))

    def _candidate(self, k: int, public_rng: np.random.RandomState) -> dict[str, Any]:
        grid = ParameterGrid(self.param_grid)
        return grid[k if self.exhaustive else int(public_rng.randint(len(grid)))]
