"""Accounts of searches: what trials and scores may spend is within the whole."""

from math import log, log1p, sqrt

import numpy as np
import pytest

from skdp.model_selection import ApproximateSearch, ConcentratedSearch, GaussianSearch, account_for
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

KINDS = [GaussianSearch, ConcentratedSearch, ApproximateSearch]
TEN = NumberOfTrials(10.0)
NUMBERS = [TEN, NumberOfTrials(1.5), 1, 3]
every_kind = pytest.mark.parametrize("kind", KINDS, ids=lambda k: k.__name__)
every_number = pytest.mark.parametrize("number", NUMBERS, ids=str)
EPSILON, DELTA = 1.0, 1e-5


def whole(account):
    """The delta at the promised epsilon, recomputed from what trials may spend."""
    number, epsilon, trial = account.trials, account.epsilon, account.trial
    if isinstance(account, GaussianSearch):
        if isinstance(number, int):
            return gdp.delta(sqrt(number * trial), epsilon)
        return trials.delta(sqrt(trial), epsilon, number)
    if isinstance(account, ConcentratedSearch):
        if isinstance(number, int):
            return zcdp.delta(number * trial, epsilon)
        return trials.split_delta(epsilon, number, lambda x: zcdp.delta(trial, x))
    if isinstance(number, int):
        assert number * trial.epsilon <= epsilon
        return number * trial.delta
    ratio = trials.largest_ratio(number, lambda x: trial.delta, (trial.epsilon,))
    assert trial.epsilon + log(ratio) <= epsilon
    return number.mean * trial.delta


@every_kind
@every_number
def test_all_together_are_within_the_whole_and_use_it_up(kind, number):
    account = kind(EPSILON, DELTA, number)
    assert 0.98 * DELTA < whole(account) <= DELTA
    assert account.spent == (EPSILON, DELTA)


@every_number
def test_parameters_of_gaussian_steps_are_their_shares(number):
    account = GaussianSearch(EPSILON, DELTA, number)
    steps = [account.of_trial(share, GaussianDP()) for share in (0.5, 0.2, 0.2)]
    spent = sum(gdp.mu(*step) ** 2 for step in steps) + account.score_mu(0.1) ** 2
    assert account.trial * (1 - 1e-6) < spent <= account.trial * (1 + 1e-10)


def test_steps_of_a_concentrated_trial_get_what_their_own_calculus_makes_of_it():
    account = ConcentratedSearch(EPSILON, DELTA, TEN)
    exact, mixed = account.of_trial(0.5, GaussianDP()), account.of_trial(0.5, ZeroConcentratedDP())
    assert gdp.mu(*exact) ** 2 / 2 == pytest.approx(account.trial / 2, rel=1e-6)
    assert zcdp.rho(*mixed) == pytest.approx(account.trial / 2, rel=1e-6)
    # Read by the other rule, the second would be too much.
    assert gdp.mu(*mixed) ** 2 / 2 > 1.05 * account.trial / 2


def test_parameters_of_approximate_steps_add_up():
    account = ApproximateSearch(EPSILON, DELTA, TEN)
    steps = np.sum([account.of_trial(share) for share in (0.5, 0.4)], axis=0)
    assert steps[0] <= 0.9 * account.trial.epsilon * (1 + 1e-12)
    assert steps[1] <= 0.9 * account.trial.delta * (1 + 1e-12)
    left = account.trial.epsilon * 0.1, account.trial.delta * 0.1
    assert account.score_mu(0.1) == pytest.approx(gdp.mu(*left), rel=1e-12)


@every_kind
@pytest.mark.parametrize("share", [1e-3, 1e-6])
def test_small_shares_stay_parameters_that_estimators_take(kind, share):
    epsilon, delta = kind(0.01, 0.1, 50).of_trial(share, GaussianDP())
    assert epsilon >= 1e-10 or kind is ApproximateSearch
    assert 0 < delta < 1


def test_the_account_is_the_best_one_that_holds_for_all_steps():
    gaussian, mixed, other = GaussianDP(), ZeroConcentratedDP(), PerturbedGaussianDP()
    for steps, kind in [
        ([gaussian], GaussianSearch),
        ([gaussian, mixed], ConcentratedSearch),
        ([gaussian, other], ApproximateSearch),
        ([gaussian, None], ApproximateSearch),
    ]:
        assert isinstance(account_for(steps, EPSILON, DELTA, TEN), kind)
    accounts = [kind(EPSILON, DELTA, TEN) for kind in KINDS]
    alone = [
        gdp.epsilon(sqrt(accounts[0].trial), DELTA),
        zcdp.epsilon(accounts[1].trial, DELTA),
        accounts[2].trial.epsilon,
    ]
    assert sorted(alone, reverse=True) == alone


@pytest.mark.parametrize("kind", [GaussianSearch, ConcentratedSearch])
@every_number
def test_receipts_have_renyi_divergences_that_cover_the_trials(kind, number):
    account = kind(EPSILON, DELTA, number)
    receipt = Receipt((account.event,), account.spent)
    rho = account.trial / 2 if kind is GaussianSearch else account.trial
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
    event = GaussianSearch(EPSILON, DELTA, TEN).event
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
