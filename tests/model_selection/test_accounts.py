"""Accounts of searches: what trials and scores may spend is within the whole."""

from functools import partial
from math import log, log1p, sqrt

import numpy as np
import pytest

from skdp.model_selection import SearchAccount, account_for
from skdp.privacy.accounting import (
    GaussianDP,
    PerturbedGaussianDP,
    SearchEvent,
    ZeroConcentratedDP,
    gdp,
    zcdp,
)
from skdp.reporting import NumberOfTrials, Receipt, grouped, renyi
from skdp.reporting import number_of_trials as trials

GAUSSIAN, CONCENTRATED = GaussianDP(), ZeroConcentratedDP()
RULES = [GAUSSIAN, CONCENTRATED, None]
TEN = NumberOfTrials(10.0)
NUMBERS = [TEN, NumberOfTrials(1.5), 1, 3]
every_rule = pytest.mark.parametrize("rule", RULES, ids=lambda r: type(r).__name__)
every_number = pytest.mark.parametrize("number", NUMBERS, ids=str)
EPSILON, DELTA = 1.0, 1e-5


def whole(account):
    """The epsilon at the promised delta, recomputed from what trials may spend."""
    number, trial = account.trials, account.trial
    if isinstance(number, int):
        if account.rule is None:
            assert number * account.trial_delta <= DELTA
            return number * trial
        return account.rule.epsilon(number * trial, DELTA)
    if account.rule is None:
        assert number.mean * account.trial_delta <= DELTA
        profile = lambda epsilon: account.trial_delta if epsilon >= trial else 1.0  # noqa: E731
        return trials.epsilon(DELTA, number, profile, lambda delta: trial, (trial,))
    gaussian = account.rule is GAUSSIAN
    profile = partial(gdp.delta, sqrt(trial)) if gaussian else partial(zcdp.delta, trial / 2)
    return trials.epsilon(DELTA, number, profile, partial(account.rule.epsilon, trial))


@every_rule
@every_number
def test_all_together_are_within_the_whole_and_use_it_up(rule, number):
    account = SearchAccount(rule, EPSILON, DELTA, number)
    assert 0.999 * EPSILON < whole(account) <= EPSILON
    assert account.spent == (EPSILON, DELTA)


@every_number
def test_parameters_of_gaussian_steps_are_their_shares(number):
    account = SearchAccount(GAUSSIAN, EPSILON, DELTA, number)
    steps = [account.of_trial(share, GaussianDP()) for share in (0.5, 0.2, 0.2)]
    spent = sum(gdp.mu(*step) ** 2 for step in steps) + account.score_mu(0.1) ** 2
    assert account.trial * (1 - 1e-6) < spent <= account.trial * (1 + 1e-10)


def test_steps_of_a_concentrated_trial_get_what_their_own_calculus_makes_of_it():
    account = SearchAccount(CONCENTRATED, EPSILON, DELTA, TEN)
    exact, mixed = account.of_trial(0.5, GAUSSIAN), account.of_trial(0.5, CONCENTRATED)
    assert gdp.mu(*exact) ** 2 == pytest.approx(account.trial / 2, rel=1e-6)
    assert 2 * zcdp.rho(*mixed) == pytest.approx(account.trial / 2, rel=1e-6)
    # Read by the other rule, the second would be too much.
    assert gdp.mu(*mixed) ** 2 > 1.05 * account.trial / 2


def test_parameters_of_approximate_steps_add_up():
    account = SearchAccount(None, EPSILON, DELTA, TEN)
    steps = np.sum([account.of_trial(share) for share in (0.5, 0.4)], axis=0)
    assert steps[0] <= 0.9 * account.trial * (1 + 1e-12)
    assert steps[1] <= 0.9 * account.trial_delta * (1 + 1e-12)
    left = account.trial * 0.1, account.trial_delta * 0.1
    assert account.score_mu(0.1) == pytest.approx(gdp.mu(*left), rel=1e-12)


@every_rule
@pytest.mark.parametrize("share", [1e-3, 1e-6])
def test_small_shares_stay_parameters_that_estimators_take(rule, share):
    epsilon, delta = SearchAccount(rule, 0.01, 0.1, 50).of_trial(share, GAUSSIAN)
    assert epsilon >= 1e-10 or rule is None
    assert 0 < delta < 1


def test_the_account_is_the_best_one_that_holds_for_all_steps():
    other = PerturbedGaussianDP()
    for steps, rule in [
        ([GAUSSIAN], GAUSSIAN),
        ([GAUSSIAN, CONCENTRATED], CONCENTRATED),
        ([GAUSSIAN, other], None),
        ([GAUSSIAN, None], None),
    ]:
        assert account_for(steps, EPSILON, DELTA, TEN).rule == rule
    one, two, three = (SearchAccount(rule, EPSILON, DELTA, TEN) for rule in RULES)
    alone = [one.rule.epsilon(one.trial, DELTA), two.rule.epsilon(two.trial, DELTA), three.trial]
    assert sorted(alone, reverse=True) == alone


@pytest.mark.parametrize("rule", [GAUSSIAN, CONCENTRATED], ids=lambda r: type(r).__name__)
@every_number
def test_receipts_have_renyi_divergences_that_cover_the_trials(rule, number):
    account = SearchAccount(rule, EPSILON, DELTA, number)
    receipt = Receipt((account.event,), account.spent)
    rho = account.trial / 2
    public = isinstance(number, int)
    for order in (2.0, 10.0):
        assert receipt.renyi(order) >= order * (number if public else 1) * rho * (1 - 1e-12)
    by_renyi = min(
        receipt.renyi(a) + log1p(-1 / a) - log(DELTA * a) / (a - 1)
        for a in 1 + np.geomspace(0.5, 500, 400)
    )
    # Nothing is lost where nothing is chosen, but for the conversion.
    assert EPSILON * 0.99 < by_renyi < EPSILON * (1.15 if public else 1.6)


def test_a_search_between_data_sets_two_steps_apart_is_one_with_trials_of_twice_the_level():
    event = SearchAccount(GAUSSIAN, EPSILON, DELTA, TEN).event
    twice = grouped(event, 2, None)
    assert twice.sensitivity == 2 * event.sensitivity
    assert renyi(twice, 3.0) > renyi(event, 3.0)


@pytest.mark.parametrize(
    "wrong",
    [{"calculus": "other"}, {"published": "some"}, {"mean_trials": 0.5}, {"trial_delta": 1.0}],
    ids=str,
)
def test_impossible_searches_are_refused(wrong):
    facts = {"calculus": "gaussian", "published": "best", "mean_trials": 3.0} | wrong
    with pytest.raises(ValueError, match=r"^SearchEvent needs"):
        SearchEvent(query="search", sensitivity=0.1, noise_scale=1.0, **facts)
