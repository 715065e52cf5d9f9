"""Accounts of searches: what runs, scores and last fits may spend is within the whole."""

from math import log, log1p, sqrt

import numpy as np
import pytest

from skdp.privacy.accounting import gdp, tuning, zcdp
from skdp.privacy.accounting.calculus import GaussianDP, PerturbedGaussianDP, ZeroConcentratedDP
from skdp.privacy.accounting.divergences import grouped, renyi
from skdp.privacy.accounting.events import SearchEvent
from skdp.privacy.accounting.run_laws import NegativeBinomial, Poisson
from skdp.privacy.accounting.searches import (
    ApproximateSearch,
    ConcentratedSearch,
    GaussianSearch,
    account_for,
)
from skdp.report.receipts import Receipt

KINDS = [GaussianSearch, ConcentratedSearch, ApproximateSearch]
LAWS = [NegativeBinomial(10.0), Poisson(4.0), 1, 3]
every_kind = pytest.mark.parametrize("kind", KINDS, ids=lambda k: k.__name__)
every_law = pytest.mark.parametrize("law", LAWS, ids=str)
EPSILON, DELTA = 1.0, 1e-5


def whole(account):
    """The delta at the promised epsilon, recomputed from what runs and last fits may spend."""
    law, epsilon = account.law, account.epsilon
    if isinstance(account, GaussianSearch):
        if isinstance(law, int):
            return gdp.delta(sqrt(law * account.run + account.last), epsilon)
        return tuning.delta(sqrt(account.run), epsilon, law, account.last)
    if isinstance(account, ConcentratedSearch):
        if isinstance(law, int):
            return zcdp.delta(law * account.run + account.last, epsilon)

        def run(x):
            return zcdp.delta(account.run, x)

        split = tuning.split_delta(
            epsilon, law, run, lambda x: zcdp.delta(account.run + account.last, x)
        )
        return min(split, tuning.renyi_delta(epsilon, law, account.run, run, account.last))
    run, last = account.run, account.last
    if isinstance(law, int):
        assert law * run.epsilon + last.epsilon <= epsilon
        return law * run.delta + last.delta
    ratio = tuning.largest_ratio(law, lambda x: run.delta, (run.epsilon,))
    assert run.epsilon + last.epsilon + log(ratio) <= epsilon
    return law.mean * (run.delta + last.delta)


@every_kind
@every_law
@pytest.mark.parametrize("refit", [0.0, 0.4])
def test_all_together_are_within_the_whole_and_use_it_up(kind, law, refit):
    account = kind(EPSILON, DELTA, law, refit)
    assert 0.98 * DELTA < whole(account) <= DELTA
    assert account.spent == (EPSILON, DELTA)
    assert len(account.events) == 1 + (refit > 0)
    assert (refit == 0) == (0 in np.atleast_1d(account.last))


@every_law
def test_parameters_of_gaussian_steps_are_their_shares(law):
    account = GaussianSearch(EPSILON, DELTA, law, 0.3)
    steps = [account.of_run(share, GaussianDP()) for share in (0.5, 0.2, 0.2)]
    spent = sum(gdp.mu(*step) ** 2 for step in steps) + account.score_mu(0.1) ** 2
    assert account.run * (1 - 1e-6) < spent <= account.run * (1 + 1e-10)
    last = gdp.mu(*account.of_refit(1.0, GaussianDP())) ** 2
    assert account.last * (1 - 1e-6) < last <= account.last * (1 + 1e-10)


def test_steps_of_a_concentrated_run_get_what_their_own_calculus_makes_of_it():
    account = ConcentratedSearch(EPSILON, DELTA, LAWS[0])
    exact, mixed = account.of_run(0.5, GaussianDP()), account.of_run(0.5, ZeroConcentratedDP())
    assert gdp.mu(*exact) ** 2 / 2 == pytest.approx(account.run / 2, rel=1e-6)
    assert zcdp.rho(*mixed) == pytest.approx(account.run / 2, rel=1e-6)
    # Read by the other rule, the second would be too much.
    assert gdp.mu(*mixed) ** 2 / 2 > 1.05 * account.run / 2


def test_parameters_of_approximate_steps_add_up():
    account = ApproximateSearch(EPSILON, DELTA, LAWS[0])
    steps = np.sum([account.of_run(share) for share in (0.5, 0.4)], axis=0)
    assert steps[0] <= 0.9 * account.run.epsilon * (1 + 1e-12)
    assert steps[1] <= 0.9 * account.run.delta * (1 + 1e-12)
    left = account.run.epsilon * 0.1, account.run.delta * 0.1
    assert account.score_mu(0.1) == pytest.approx(gdp.mu(*left), rel=1e-12)


@every_kind
@pytest.mark.parametrize("share", [1e-3, 1e-6])
def test_small_shares_stay_parameters_that_estimators_take(kind, share):
    epsilon, delta = kind(0.01, 0.1, 50).of_run(share, GaussianDP())
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
        assert isinstance(account_for(steps, EPSILON, DELTA, LAWS[0]), kind)
    runs = [kind(EPSILON, DELTA, LAWS[0]) for kind in KINDS]
    alone = [
        gdp.epsilon(sqrt(runs[0].run), DELTA),
        zcdp.epsilon(runs[1].run, DELTA),
        runs[2].run.epsilon,
    ]
    assert sorted(alone, reverse=True) == alone


@pytest.mark.nightly
def test_a_search_leaves_more_than_composition_of_as_many_fits():
    # Figures of the page on model selection.
    shares = {
        (mean, law): sqrt(GaussianSearch(1.0, 1e-5, law(mean)).run) / gdp.mu(1.0, 1e-5)
        for mean in (5.0, 10.0, 50.0)
        for law in (NegativeBinomial, Poisson)
    }
    assert shares[10.0, NegativeBinomial] == pytest.approx(0.703, abs=2e-3)
    for (mean, _), share in shares.items():
        assert share > 1 / sqrt(mean)


@pytest.mark.parametrize("kind", [GaussianSearch, ConcentratedSearch])
@every_law
def test_receipts_have_renyi_divergences_that_cover_the_runs(kind, law):
    account = kind(EPSILON, DELTA, law, 0.3)
    receipt = Receipt(account.events, account.spent)
    rho = account.run / 2 if kind is GaussianSearch else account.run
    last = account.last / 2 if kind is GaussianSearch else account.last
    for order in (2.0, 10.0):
        runs = law if isinstance(law, int) else 1
        assert receipt.renyi(order) >= order * (runs * rho + last) * (1 - 1e-12)
    by_renyi = min(
        receipt.renyi(a) + log1p(-1 / a) - log(DELTA * a) / (a - 1)
        for a in 1 + np.geomspace(0.5, 500, 400)
    )
    # Nothing is lost where nothing is chosen, but for the conversion.
    assert EPSILON * 0.99 < by_renyi < EPSILON * (1.15 if isinstance(law, int) else 1.6)


def test_approximate_runs_have_no_renyi_divergence():
    (event,) = ApproximateSearch(EPSILON, DELTA, LAWS[0]).events
    assert renyi(event, 2.0) == np.inf
    assert grouped(event, 2, None) is None


def test_a_search_between_data_sets_two_steps_apart_is_one_with_runs_of_twice_the_level():
    (event,) = GaussianSearch(EPSILON, DELTA, LAWS[0]).events
    twice = grouped(event, 2, None)
    assert twice.sensitivity == 2 * event.sensitivity
    assert renyi(twice, 3.0) > renyi(event, 3.0)


@pytest.mark.parametrize(
    "wrong",
    [{"runs": "other"}, {"law": "fixed"}, {"mean_runs": 0.5}, {"run_delta": 1.0}],
    ids=str,
)
def test_impossible_searches_are_refused(wrong):
    facts = {"runs": "gaussian", "law": "poisson", "mean_runs": 3.0} | wrong
    with pytest.raises(ValueError, match=r"^SearchEvent needs"):
        SearchEvent(query="search", sensitivity=0.1, noise_scale=1.0, **facts)
