"""Bugs in counts: their exposures, their caps, and what is said of them."""

import warnings
from dataclasses import replace
from functools import partial

import numpy as np
from estimators import test_poisson_regression as counts
from estimators import test_replay
from planted_bugs.bug import Bug, after, sets

from skdp import DPPoissonRegressor
from skdp.privacy.queries import GradientQuery
from skdp.privacy.rows import DenseRows
from skdp.problem import CountBounds, Problem, RowBounds
from skdp.problem.losses import Loss, Poisson

COEF = counts.COEF


def standard_errors_are_those_of_the_estimates():
    misses = []
    for seed in range(40):
        X, events, exposure = counts.claims(6000, seed, dispersion=1.0)
        options = {"data_bounds": (-1, 1), "target_bounds": (0, 4), "solver": "one_step"}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = DPPoissonRegressor(epsilon=4.0, **options).fit(X, events / exposure, exposure)
        found = model.inference_
        misses.append((found.params[:3] - COEF) / found.bse[:3])
    square = np.nanmean(np.square(misses))
    assert 0.5 < square < 2.0, f"standard errors are off: {square:.2f}"


def bounds_on_rows_leave_means_as_they_are():
    """At the truth the bounded gradient of rare events is zero, but for sampling."""
    n = 200_000
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(n, 3))
    y = rng.poisson(0.1 * np.exp(X @ COEF)).astype(float)
    problem = Problem(Poisson(), n, 3, RowBounds(2.0, 1.0, CountBounds(0.0, 8.0)))
    w = np.append(COEF, np.log(0.1))
    g = GradientQuery(problem, w, 0.1, label_blind=True).evaluate(DenseRows(X, y))
    # Its standard deviation is below the root of the mean of squared residuals over n.
    assert np.abs(g).max() < 6 * 0.1 * np.sqrt(0.12) / 8 / np.sqrt(n), "a bias"


def uncapped(block, raw, bounds):
    if isinstance(bounds.target, CountBounds):
        block.y = raw.events / bounds.target.cap


def peeks(honest, oracle, spend, *, noise):
    found = honest(oracle, spend, noise=noise)
    rows = vars(vars(oracle).get("_inner", oracle)).get("_rows")
    largest = 1.0 if rows is None else max(float(b.events.max()) for b in rows.blocks())
    return replace(found, high=largest)


THEIRS = partial(counts.test_without_noise_the_fit_is_that_of_scikit_learn, alpha=0.0, solver="gd")
BUGS = (
    Bug("exposures that weigh rows besides", {"BoundedBlock.__init__": sets("weights", lambda block, *args: block.masses)}, THEIRS),
    Bug("exposures that are left out of scores", {"BoundedBlock.scores": lambda honest, self, w: honest(self, w, offset=False)}, THEIRS),
    Bug("rates that count as events", {"RawBlock.events": lambda _, self: self.y}, THEIRS),
    Bug("counts beyond their cap", {"BoundedBlock.__init__": after(uncapped)}, counts.test_a_row_is_its_events_below_the_cap_beside_its_exposure),
    Bug("rows weighed by the count that they have", {"Loss.label_blind_derivative": lambda _, *args: Loss.clipped_derivative(*args)}, bounds_on_rows_leave_means_as_they_are, "a bias"),
    Bug("standard errors of counts without the noise", {"OneStep._uncertainty": lambda honest, self, *args: (lambda found: replace(found, noise=0 * found.noise, drawn=None))(honest(self, *args))}, standard_errors_are_those_of_the_estimates, "are off"),
    Bug("a cap that is read off the rows", {"stages.private_cap_on_counts": peeks}, partial(test_replay.test_replay_on_garbage_publishes_the_same, DPPoissonRegressor(epsilon=20.0), test_replay.count_data)),
)  # fmt: skip
