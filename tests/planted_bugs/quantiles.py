"""Bugs in quantiles: how rows are bounded, where intercepts come from, and what is scored."""

import warnings
from functools import partial

import numpy as np
from estimators import test_quantile_regression, test_replay
from example_of_a_query import Example
from planted_bugs.bug import TOO_FAR, Bug

from skdp import DPQuantileRegressor
from skdp.privacy import Adjacency
from skdp.privacy.queries import GradientQuery
from skdp.privacy.rows import DenseRows
from skdp.problem import Problem, RowBounds, TargetBounds
from skdp.problem.losses import Pinball

COEF, QUANTILES = np.array([0.6, -0.4, 0.0]), (0.1, 0.5, 0.9)
BOUNDS = {"data_bounds": (-1, 1), "target_bounds": (-4, 4)}


def spread_rows(n=6000, seed=0):
    """Rows whose targets spread more, the larger the first feature is."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, size=(n, 3))
    return X, X @ COEF + (0.4 + 0.3 * X[:, 0]) * rng.uniform(-1, 1, size=n)


def problem_of(quantiles, n):
    return Problem(Pinball(quantiles), n, 3, RowBounds(2.0, 1.0, TargetBounds(-1.0, 1.0)))


def bounds_on_rows_leave_quantiles_as_they_are():
    """At the truth the bounded gradient is zero, but for sampling."""
    n, q = 100_000, 0.9
    X, y = spread_rows(n)
    w = np.append(COEF + np.array([0.3 * (2 * q - 1), 0, 0]), 0.4 * (2 * q - 1))
    for clip in (0.05, 0.5):
        g = GradientQuery(problem_of((q,), n), w, clip).evaluate(DenseRows(X, y))
        assert np.abs(g).max() < 6 * clip / np.sqrt(n), "a bias"


def crossing_scores_are_bounded_together():
    """Derivatives of all quantiles of a row are within its clip together."""
    X, other, y = np.tile([0.02, 1.9, 0.0], (4, 1)), np.tile([0.02, -1.9, 0.0], (4, 1)), np.zeros(4)
    w = np.zeros((4, 3))
    w[0] = 90.0, 90.0, -90.0
    query = GradientQuery(problem_of(QUANTILES, 4), w, 0.4)
    assert Example(query, X, y, other, y).check(Adjacency.REPLACE_ONE) < 1 + 1e-9, TOO_FAR


def predictions_do_not_cross():
    X, y = spread_rows()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = DPQuantileRegressor(quantile=list(QUANTILES), random_state=0, **BOUNDS).fit(X, y)
    model.coef_ = model.coef_[::-1] * np.array([[3.0], [1.0], [-3.0]])
    assert np.all(np.diff(model.predict(X), axis=1) >= 0), "quantiles cross"


def rows_of(oracle):
    rows = vars(vars(oracle).get("_inner", oracle)).get("_rows")
    return np.zeros(1) if rows is None else np.concatenate([b.y for b in rows.blocks()])


def peeks(honest, self, *args, **options):
    moved, density = honest(self, *args, **options)
    return moved + 1e-3 * rows_of(self._oracle).max() * self.one, density


BUGS = (
    Bug("quantiles whose rows are clipped by their targets", {"Pinball.weighed_from": lambda honest, self: float("inf")}, bounds_on_rows_leave_quantiles_as_they_are, "a bias"),
    Bug("quantiles of a row that are bounded one by one", {"Loss.shrunk": lambda _, d, bound: np.clip(d, *(np.reshape(s * np.asarray(bound), (-1, *[1] * (d.ndim - 1))) for s in (-1, 1)))}, crossing_scores_are_bounded_together, TOO_FAR),
    Bug("intercepts of quantiles that know the targets", {"SharesBelow.settled": peeks}, partial(test_replay.test_replay_on_garbage_publishes_the_same, DPQuantileRegressor(epsilon=20.0, quantile=list(QUANTILES)), test_replay.real_data)),
    Bug("quantiles that cross", {"DPQuantileRegressor._means": lambda _, self, scores: scores}, predictions_do_not_cross, "quantiles cross"),
    Bug("a coverage that leaves out the lower end", {"PredictedBlock.predictions": lambda honest, self: honest(self)[:, -1:]}, partial(test_quantile_regression.test_evaluations_are_the_exact_scores_but_for_noise, list(QUANTILES))),
)  # fmt: skip
