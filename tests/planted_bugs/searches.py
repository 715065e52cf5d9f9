"""Bugs in private searches, by exact arithmetic and by what searches release about neighbours."""

import io
import logging
from contextlib import nullcontext, redirect_stderr
from functools import partial
from itertools import count
from unittest.mock import patch

import numpy as np
from model_selection import test_rows_in_searches
from planted_bugs.bug import Anew, Bug, gives
from privacy import test_trials
from privacy.test_trials import gaussian_price
from private_toys import Toy
from selections_at_their_worst import worst_delta

from skdp import DPLogisticRegression
from skdp.model_selection import DPGridSearchCV, DPRandomizedSearchCV, account_for
from skdp.privacy import Adjacency, gdp
from skdp.privacy.accounting import GaussianDP
from skdp.reporting import NumberOfTrials
from skdp.solvers import GD

EPSILON, DELTA = 1.0, 1e-5
TRIALS = NumberOfTrials(10.0)


def searches_keep_their_promise_in_the_worst_case():
    """The delta of the worst order of outcomes, for the level that a trial is given."""
    level = np.sqrt(account_for([GaussianDP()], EPSILON, DELTA, TRIALS).trial)
    assert worst_delta(EPSILON, level, TRIALS) <= DELTA, "a delta beyond the promise"


def the_price_covers_the_exact_one(mu=0.2, more=0.25):
    for besides in (0.0, more):
        found = gaussian_price(mu, DELTA, TRIALS, besides)
        assert worst_delta(found, mu, TRIALS, besides) <= DELTA, "less than the exact epsilon"


# So much that a factor of two is seen.
N, BUDGET, SEARCHES = 100, 8.0, 100
ROWS = np.zeros((N, 2))
# Of both means, and of the standard deviation that the distance is measured in.
ERROR = 4 * np.sqrt(2 / SEARCHES)


def wild(model, X, y):
    """Numbers far outside of their range."""
    return np.where(y == 0, -50.0, 1.0)


def scores_of_neighbours_are_as_close_as_they_may(share, scoring=None):
    """Means of released scores of neighbours, in standard deviations."""
    options = {"score_share": share}
    if scoring is not None:
        options |= {"scoring": scoring, "score_range": (0.0, 1.0)}
    out = []
    for label in (1, 0):
        y = np.ones(N, int)
        y[-1] = label
        searches = [
            DPGridSearchCV(
                Toy(), {"label": [1]}, exhaustive=True, epsilon=BUDGET, random_state=seed, **options
            )
            for seed in range(SEARCHES)
        ]
        out.append(np.array([search.fit(ROWS, y).best_score_ for search in searches]))
    spread = np.sqrt((out[0].var(ddof=1) + out[1].var(ddof=1)) / 2)
    apart = abs(out[0].mean() - out[1].mean()) / spread if spread else np.inf
    # Trials of toys tell their (epsilon, delta) alone.
    allowed = account_for([None], BUDGET, 1e-5, 1).score_mu(share)
    assert apart < allowed + ERROR, "scores tell more than they may"


def counted(factor=1.0, adjacency=None):
    def bug(honest, self, n, mu, relation):
        return honest(self, round(factor * n), mu, adjacency or relation)

    return {"RowScore.mechanism": bug}


def whole(honest, self):
    return gdp.mu(EPSILON, DELTA) ** 2


def searches_log_nothing_of_their_trials():
    """Neither a log nor a terminal hears of trials, since each would tell that it was one."""
    heard, terminal = [], io.StringIO()
    terminal.isatty = lambda: True
    handler = logging.Handler()
    handler.emit = heard.append
    logger = logging.getLogger("skdp")
    level, X = logger.level, np.random.default_rng(0).uniform(-1, 1, size=(60, 2))
    given = {"classes": [0, 1], "data_norm": 2.0, "solver": GD(steps=2), "precondition": None}
    search = DPRandomizedSearchCV(
        DPLogisticRegression(**given), {"C": [1.0]}, epsilon=9.0, n_iter=2
    )
    logger.setLevel(logging.DEBUG)
    logger.addHandler(handler)
    try:
        search.fit(X, X[:, 0] > 0)
    finally:
        logger.removeHandler(handler)
        logger.setLevel(level)
    # As if each look at the clock were ten seconds after the last.
    clock = patch("skdp.reporting.progress_bar.monotonic", count(step=10.0).__next__)
    with redirect_stderr(terminal), clock:
        search.fit(X, X[:, 0] > 0)
    assert not heard, "trials were logged"
    assert not terminal.getvalue(), "trials were shown"


def as_they_are(honest, self, estimator, X, y, rows):
    return self.of_rows(estimator, X[rows], y[rows])


WORST = "beyond the promise"
PROMISE = searches_keep_their_promise_in_the_worst_case
CLOSE = scores_of_neighbours_are_as_close_as_they_may


def of_the_first_alone():
    seen = []

    def bug(honest, self, made, y):
        if not seen:
            honest(self, made, y)
        seen.append(made)

    return bug


BUGS = (
    Bug("targets that are looked at for the first candidate alone", {"Candidates.check_targets": Anew(of_the_first_alone)}, partial(test_rows_in_searches.test_a_target_that_one_candidate_refuses_does_not_make_others_win, False)),
    Bug("trials that get the whole budget", {"SearchAccount.trial": whole}, PROMISE, WORST),
    Bug("trials that are logged", {"search_base.silence": lambda honest: nullcontext()}, searches_log_nothing_of_their_trials, "were logged"),
    Bug("trials that show their progress", {"search_trials.without_progress": lambda _: nullcontext()}, searches_log_nothing_of_their_trials, "were shown"),
    Bug("releases beside a search that cost nothing", {"trials.epsilon": lambda honest, delta, number, trial, together, losses=None: honest(delta, number, trial, partial(gdp.epsilon, 0.2), losses)}, the_price_covers_the_exact_one, "less than the exact"),
    Bug("a search that pays for one trial whatever their number", {"trials.epsilon": lambda honest, delta, number, trial, together, losses=None: honest(delta * number.mean, number, trial, together, losses)}, the_price_covers_the_exact_one, "less than the exact"),
    Bug("a winner that is no likelier for a neighbour", {"trials.largest_ratio": lambda honest, *facts: 1.0}, the_price_covers_the_exact_one, "less than the exact"),
    Bug("a fixed number of trials (randomised search)", {"NumberOfTrials.draw": lambda _, self, uniform: int(self.mean)}, partial(test_trials.test_draws_from_all_uniform_numbers_have_the_distribution, 10.0)),
    Bug("scores without noise", {"GaussianMechanism.randomize": lambda _, self, value, noise: value}, partial(CLOSE, 0.5), "more than", nightly=True),
    Bug("exact scores in a search", {"RowScore.noisy_mean": lambda _, self, model, X, y, *rest: float(np.mean(self.of_rows(model, X, y)))}, partial(CLOSE, 0.9), "more than"),
    Bug("scores of which twice the rows are counted", counted(2), partial(CLOSE, 0.9), "more than", nightly=True),
    Bug("scores of which ten times the rows are counted", counted(10), partial(CLOSE, 0.9), "more than", nightly=True),
    Bug("scores for the wrong relation", counted(adjacency=Adjacency.ZERO_OUT), partial(CLOSE, 0.9), "more than", nightly=True),
    Bug("scores that leave their range", {"row_scores.np.clip": lambda _, values, low, high: values}, partial(CLOSE, 0.5, wild), "more than", nightly=True),
    Bug("rows of which a candidate makes what is not finite fail it", {"search_trials.zero_unless_finite": lambda _: nullcontext()}, partial(test_rows_in_searches.test_a_row_that_a_step_makes_infinite_fails_no_candidate, test_rows_in_searches.LOG, -1.0, next(iter(test_rows_in_searches.WAYS.values())), False)),
    Bug("rows at which a score raises fail a candidate", {"RowScore._values": as_they_are}, partial(test_rows_in_searches.test_a_row_at_which_a_score_raises_has_the_lowest_and_moves_no_other, False)),
    Bug("rows that a step refuses fail a candidate", {"Candidates.check_rows": gives(None)}, test_rows_in_searches.test_rows_that_are_numbers_for_some_candidates_only_are_refused),
)  # fmt: skip
