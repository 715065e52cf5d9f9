"""Bugs planted into private searches, each of which a check has to notice.

First by exact arithmetic: the worst order of outcomes of Gaussian runs, see
``selections_at_their_worst``. Then by measuring what searches release about two neighbours.
"""

from dataclasses import dataclass

import numpy as np
import pytest
from private_toys import Toy
from selections_at_their_worst import (
    exact_delta,
    smaller_is_better,
    telling_tail,
    worst_delta,
)

from skdp.model_selection import DPGridSearchCV, DPRandomizedSearchCV
from skdp.model_selection import base as searching
from skdp.model_selection.accounts import GaussianSearch
from skdp.privacy.accounting import gdp, trials
from skdp.privacy.accounting.trials import NumberOfTrials
from skdp.privacy.adjacency import Adjacency
from skdp.privacy.mechanisms.gaussian import GaussianMechanism
from skdp.privacy.row_scores import RowScore

EPSILON, DELTA = 1.0, 1e-5
every_number = pytest.mark.parametrize(
    "number", [NumberOfTrials(10.0), NumberOfTrials(50.0)], ids=str
)


def level(number):
    """What a search gives to its trials."""
    return np.sqrt(GaussianSearch(EPSILON, DELTA, number).trial)


@dataclass(frozen=True)
class Fixed:
    """A number of trials that is not random."""

    runs: int

    def slope(self, beaten):
        return self.runs * (1 - beaten) ** (self.runs - 1)


@every_number
def test_searches_keep_their_promise_in_the_worst_case(number):
    assert worst_delta(EPSILON, level(number), number) <= DELTA


@every_number
def test_runs_that_get_the_whole_budget_are_caught(number):
    whole = gdp.mu(EPSILON, DELTA)
    assert worst_delta(EPSILON, whole, number) > 2 * DELTA


@every_number
def test_a_fixed_number_of_runs_is_caught(number):
    assert worst_delta(EPSILON, level(number), Fixed(int(number.mean))) > 1.5 * DELTA


@every_number
def test_a_number_of_runs_that_is_told_is_caught(number):
    uniform = (np.arange(4000) + 0.5) / 4000
    shares = np.bincount([number.draw(float(u)) for u in uniform]) / uniform.size
    mu, told = level(number), 0.0
    for runs in np.flatnonzero(shares):
        # Whoever knows the number knows which order is worst for it.
        orders = [telling_tail(cut, mu / 2 + 0.5 / mu) for cut in (-2.5, -1.5, -0.5)]
        worst = max(
            exact_delta(EPSILON, mu, Fixed(int(runs)), order)
            for order in [*orders, smaller_is_better]
        )
        told += shares[runs] * worst
    assert told > 1.5 * DELTA


@every_number
def test_another_fit_that_nobody_pays_for_is_caught(number):
    mu = level(number)
    assert worst_delta(EPSILON, mu, number, mu * mu) > 3 * DELTA


# So much that a factor of two is seen.
N, BUDGET, SEARCHES = 100, 8.0, 100
ROWS = np.zeros((N, 2))


def released(options, label, searches=SEARCHES):
    """Scores that searches release about rows of which the last has this label."""
    y = np.ones(N, int)
    y[-1] = label
    out = []
    for seed in range(searches):
        search = DPGridSearchCV(
            Toy(), {"label": [1]}, exhaustive=True, epsilon=BUDGET, random_state=seed, **options
        )
        out.append(search.fit(ROWS, y).best_score_)
    return np.array(out)


def measured_mu(options):
    """How far apart the scores of two neighbours are, in standard deviations."""
    one, other = released(options, 1), released(options, 0)
    spread = np.sqrt((one.var(ddof=1) + other.var(ddof=1)) / 2)
    return abs(one.mean() - other.mean()) / spread if spread else np.inf


def allowed_mu(share):
    # Runs of toys tell their (epsilon, delta) alone.
    return searching.account_for([None], BUDGET, 1e-5, 1).score_mu(share)


pytestmark = [
    pytest.mark.filterwarnings("ignore::skdp.SeededNoiseWarning"),
    pytest.mark.filterwarnings("ignore:.*compares scores whose noise:UserWarning"),
]
# Of both means, and of the standard deviation that the distance is measured in.
ERROR = 4 * np.sqrt(2 / SEARCHES)


@pytest.mark.parametrize("share", [0.5, 0.9])
def test_scores_of_neighbours_are_as_far_apart_as_they_may(share):
    measured = measured_mu({"score_share": share})
    assert abs(measured - allowed_mu(share)) < ERROR


def test_scores_without_noise_are_caught(monkeypatch):
    monkeypatch.setattr(GaussianMechanism, "randomize", lambda self, value, noise: value)
    assert measured_mu({"score_share": 0.5}) > allowed_mu(0.5) + ERROR


@pytest.mark.parametrize("error", [0.5, 0.1])
def test_scores_of_which_too_many_rows_are_counted_are_caught(monkeypatch, error):
    honest = RowScore.mechanism

    def too_little(self, n, mu, adjacency):
        return honest(self, round(n / error), mu, adjacency)

    monkeypatch.setattr(RowScore, "mechanism", too_little)
    assert measured_mu({"score_share": 0.9}) > allowed_mu(0.9) + ERROR


def test_scores_for_the_wrong_relation_are_caught(monkeypatch):
    honest = RowScore.mechanism

    def zero_out(self, n, mu, adjacency):
        return honest(self, n, mu, Adjacency.ZERO_OUT)

    monkeypatch.setattr(RowScore, "mechanism", zero_out)
    assert measured_mu({"score_share": 0.9}) > allowed_mu(0.9) + ERROR


def test_scores_that_leave_their_range_are_caught(monkeypatch):
    def wild(model, X, y):
        return np.where(y == 0, -50.0, 1.0)

    options = {"scoring": wild, "score_range": (0.0, 1.0), "score_share": 0.5}
    assert measured_mu(options) < allowed_mu(0.5) + ERROR
    monkeypatch.setattr(np, "clip", lambda values, low, high: values)
    assert measured_mu(options) > allowed_mu(0.5) + ERROR


def number_of_trials(searches, options):
    """How many fits each of several searches makes."""
    counts = []

    class Counted(Toy):
        __module__ = "skdp.toys"

        def fit(self, X, y):
            counts[-1] += 1
            return super().fit(X, y)

    for seed in range(searches):
        counts.append(0)
        space = {"label": [0, 1]}
        DPRandomizedSearchCV(Counted(), space, random_state=seed, **options).fit(ROWS, ROWS[:, 0])
    return np.array(counts)


def test_searches_draw_the_number_of_trials_from_its_distribution(monkeypatch):
    searches, options = 200, {"n_iter": 3}
    number = NumberOfTrials(3.0)
    uniform = (np.arange(2000) + 0.5) / 2000
    drawn = np.array([number.draw(float(u)) for u in uniform])

    def distance():
        counts = number_of_trials(searches, options)
        support = np.arange(1, 40)
        ours = [np.mean(counts <= k) for k in support]
        return np.max(np.abs(np.array(ours) - [np.mean(drawn <= k) for k in support]))

    # The Kolmogorov-Smirnov distance of an honest sample is below this but for 1 in 1000.
    least = 1.95 / np.sqrt(searches)
    assert distance() < least
    monkeypatch.setattr(NumberOfTrials, "draw", lambda self, uniform: int(self.mean))
    assert distance() > least


@pytest.mark.nightly
@pytest.mark.parametrize("honest", [True, False])
def test_audit_of_selections_by_simulation(honest):
    # A large delta, so that what breaks the promise is seen; the order is the worst that is known.
    delta, number, n = 0.01, NumberOfTrials(10.0), 200_000
    promised = trials.mu(EPSILON, delta, number)
    mu = promised if honest else gdp.mu(EPSILON, delta)
    worst = {
        exact_delta(EPSILON, mu, number, telling_tail(cut, tail)): (cut, tail)
        for cut in np.linspace(-3, 1, 9)
        for tail in np.linspace(mu, mu + 4, 17)
    }
    excess_expected = max(worst)
    cut, tail = worst[excess_expected]
    rng = np.random.default_rng(0)

    def share_of_tail(mean):
        runs = np.array([number.draw(u) for u in rng.random(n)])
        x = rng.normal(size=runs.sum()) + mean
        # Smaller is better, but outcomes in the tail take part as if they were at the cut.
        worth = np.where(x > tail, cut, x)
        best = np.minimum.reduceat(worth, np.concatenate([[0], np.cumsum(runs)[:-1]]))
        return np.mean(best == cut)

    here, there = share_of_tail(mu), share_of_tail(0.0)
    error = np.sqrt((here + np.exp(2 * EPSILON) * there) / n)
    excess = here - np.exp(EPSILON) * there
    if honest:
        assert excess < delta + 4 * error
        # And what was looked for was there to be seen.
        assert excess > 0.4 * delta
    else:
        assert excess > delta + 4 * error
