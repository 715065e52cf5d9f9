"""The price of a search: never below what explicit selections cost, and hardly above."""

from math import exp, inf, log, log1p, sqrt

import numpy as np
import pytest
from by_night import by_night
from selections_at_their_worst import (
    exact_delta,
    larger_is_better,
    smaller_is_better,
    worst_delta,
)

from skdp.privacy.accounting import gdp, tuning, zcdp
from skdp.privacy.accounting.run_laws import NegativeBinomial, Poisson

LAWS = [
    NegativeBinomial(5.0),
    NegativeBinomial(20.0, 1.0),
    NegativeBinomial(10.0, -0.5),
    Poisson(5.0),
]
every_law = pytest.mark.parametrize("law", LAWS, ids=str)
DELTA = 1e-6
MU = gdp.mu(1.0, DELTA)
ORDERS = 1 + np.geomspace(0.01, 1000, 1500)


def renyi_epsilon(mu, law, delta=DELTA):
    """By Renyi divergences, as Papernot and Steinke do it."""

    def profile(x):
        return gdp.delta(mu, x)

    return min(
        law.renyi(a, mu * mu / 2, profile) + log1p(-1 / a) - log(delta * a) / (a - 1)
        for a in ORDERS
    )


@every_law
@pytest.mark.parametrize("mu", [0.05, 0.27, 1.0, 3.0])
@pytest.mark.parametrize("times", [0.3, 1.0, 1.7])
def test_no_explicit_selection_costs_more(law, mu, times):
    epsilon = times * tuning.epsilon(mu, 1e-4, law)
    assert worst_delta(epsilon, mu, law) <= tuning.delta(mu, epsilon, law) * (1 + 1e-6)


@every_law
@pytest.mark.parametrize(("mu", "more"), [(0.2, 0.04), (0.3, 1.0), (1.0, 0.01)])
def test_no_explicit_selection_beside_other_releases_costs_more(law, mu, more):
    for times in (0.5, 1.0):
        epsilon = times * tuning.epsilon(mu, 1e-4, law, more)
        bound = tuning.delta(mu, epsilon, law, more)
        assert worst_delta(epsilon, mu, law, more) <= bound * (1 + 1e-6)


@pytest.mark.parametrize("law", LAWS[:2], ids=str)
def test_some_selection_comes_close(law):
    epsilon = tuning.epsilon(MU, DELTA, law)
    # At 98 % of the epsilon there is a selection that exceeds the delta.
    assert worst_delta(0.98 * epsilon, MU, law) > DELTA


@pytest.mark.parametrize("order", [larger_is_better, smaller_is_better])
def test_a_law_of_one_run_leaves_the_run_as_it_is(order):
    law = NegativeBinomial(1.0)
    for epsilon in (0.0, 0.5, 2.0):
        alone = gdp.delta(0.7, epsilon)
        assert exact_delta(epsilon, 0.7, law, order) == pytest.approx(alone, rel=1e-5)
        assert tuning.delta(0.7, epsilon, law) == pytest.approx(alone, rel=1e-9)
    assert tuning.epsilon(0.7, 1e-5, law) == pytest.approx(gdp.epsilon(0.7, 1e-5), rel=1e-6)


@every_law
def test_other_releases_compose_exactly_where_there_is_no_choice(law):
    once = NegativeBinomial(1.0)
    together = tuning.delta(0.5, 1.0, once, 0.3)
    assert together == pytest.approx(gdp.delta(sqrt(0.55), 1.0), rel=1e-6)
    assert tuning.delta(0.0, 1.0, law, 0.3) == pytest.approx(
        law.mean * gdp.delta(sqrt(0.3), 1.0), rel=1e-2
    )


@pytest.mark.nightly
@every_law
def test_answers_are_monotone(law):
    mus, epsilons = np.geomspace(0.01, 5, 4), np.linspace(0, 5, 4)
    table = np.array([[tuning.delta(m, e, law) for e in epsilons] for m in mus])
    assert np.all(np.diff(table, axis=0) >= -1e-12)
    assert np.all(np.diff(table, axis=1) <= 1e-12)
    more = [tuning.delta(0.5, 1.0, law, s) for s in (0.0, 0.1, 1.0)]
    assert sorted(more) == more
    assert np.all(np.diff([tuning.epsilon(m, 1e-5, law) for m in mus]) > 0)


@pytest.mark.nightly
def test_more_runs_cost_more():
    for kind in (NegativeBinomial, Poisson):
        costs = [tuning.epsilon(MU, DELTA, kind(mean)) for mean in (1.0, 2.0, 5.0, 20.0, 100.0)]
        assert sorted(costs) == costs
    etas = [tuning.epsilon(MU, DELTA, NegativeBinomial(10.0, eta)) for eta in (-0.5, 0.0, 1.0)]
    assert sorted(etas) == etas


@every_law
@pytest.mark.parametrize("refit", [0.0, 0.4])
@pytest.mark.parametrize(("epsilon", "delta"), [(0.01, 1e-6), (1.0, 1e-5), (8.0, 1e-10)])
def test_mu_and_epsilon_are_inverse_and_err_on_the_safe_side(law, refit, epsilon, delta):
    mu = tuning.mu(epsilon, delta, law, refit)
    more = mu * mu * refit / (1 - refit)
    assert tuning.delta(mu, epsilon, law, more) <= delta
    assert tuning.delta(mu * (1 + 1e-6), epsilon, law, more * (1 + 2e-6)) > delta
    assert tuning.epsilon(mu, delta, law, more) == pytest.approx(epsilon, rel=1e-6)
    assert tuning.delta(mu, tuning.epsilon(mu, delta, law, more), law, more) <= delta


@pytest.mark.parametrize(
    ("law", "total"),
    [
        (NegativeBinomial(5.0), 1.675),
        (NegativeBinomial(20.0), 1.905),
        (NegativeBinomial(100.0), 2.116),
        (NegativeBinomial(5.0, 1.0), 1.950),
        (NegativeBinomial(20.0, 1.0), 2.324),
        (NegativeBinomial(100.0, 1.0), 2.673),
        (Poisson(20.0), 2.670),
        (Poisson(100.0), 6.544),
    ],
    ids=str,
)
def test_renyi_totals_are_those_of_the_formulas_and_the_bound_is_below(law, total):
    # Of a run that is (1, 1e-6)-DP; computed by hand from the theorems.
    by_renyi = renyi_epsilon(MU, law)
    assert by_renyi == pytest.approx(total, abs=1e-3)
    assert tuning.epsilon(MU, DELTA, law) < by_renyi


@pytest.mark.parametrize(("mean", "eta"), [(2.0, 0.0), (10.0, 0.5), (200.0, 1.0)])
def test_renyi_divergences_are_those_of_dp_accounting_and_never_above(mean, eta):
    dp_event = pytest.importorskip("dp_accounting").dp_event
    from dp_accounting import rdp

    # Theirs takes its second order from the list of orders, ours the best of all.
    orders = 1 + np.geomspace(0.1, 100, 60)
    theirs = rdp.RdpAccountant(orders)
    theirs.compose(dp_event.RepeatAndSelectDpEvent(dp_event.GaussianDpEvent(4.0), mean, eta))
    law = NegativeBinomial(mean, eta)
    for order, other in zip(theirs._orders, theirs._rdp, strict=True):
        mine = law.renyi(order, 1 / 32, lambda x: gdp.delta(0.25, x))
        assert mine <= other * (1 + 1e-9)
        assert mine == pytest.approx(other, rel=3e-3)


@every_law
@pytest.mark.parametrize("order", [1.5, 4.0, 30.0])
def test_renyi_divergences_bound_those_of_explicit_selections(law, order):
    mu, step = 0.4, 1e-3
    x = np.arange(-14, 14, step)
    bound = law.renyi(order, mu * mu / 2, lambda e: gdp.delta(mu, e))
    for beaten in (larger_is_better, smaller_is_better):
        here = -((x - mu) ** 2) / 2 + np.log(law.slope(beaten(x, mu)))
        there = -(x**2) / 2 + np.log(law.slope(beaten(x, 0.0)))
        powers = np.exp(order * here + (1 - order) * there)
        exact = log(powers.sum() * step / sqrt(2 * np.pi)) / (order - 1)
        assert exact <= bound


def best_of(shares, law):
    """Law of the best of K runs over outcomes in order, the first the best; ties are random."""
    above = np.cumsum(shares) - shares
    # The integral of f' over the outcome's stretch of quantiles.
    fine = (np.arange(2000) + 0.5) / 2000
    slopes = law.slope(np.minimum(above[:, None] + shares[:, None] * fine, 1.0))
    return shares * slopes.mean(axis=1)


@pytest.mark.nightly
@every_law
def test_the_split_form_covers_every_order_of_few_outcomes(law):
    from itertools import permutations

    base, slack = 0.6, 0.01
    top, rest = exp(base), 1 - slack
    # The pair that is (base, slack)-DP and no better, with a rare outcome of the same ratio.
    here = np.array([slack, rest * 0.1 * top / (1 + top), rest * 0.9 * top / (1 + top), 0, 0])
    here[3] = rest / (1 + top)
    there = np.array([0, rest * 0.1 / (1 + top), rest * 0.9 / (1 + top), 0, slack])
    there[3] = rest * top / (1 + top)

    def run(x):
        return slack if x >= base else max(0.0, float(np.sum(np.maximum(here - exp(x) * there, 0))))

    for epsilon in (0.7, 1.0, 1.5):
        bound = tuning.split_delta(epsilon, law, run, run)
        single = tuning.split_delta(epsilon, law, lambda x: slack if x >= base else 1.0, run)
        assert bound <= single
        for order in permutations(range(5)):
            a, b = best_of(here[[*order]], law), best_of(there[[*order]], law)
            for one, other in ((a, b), (b, a)):
                exact = np.sum(np.maximum(one - exp(epsilon) * other, 0))
                assert exact <= bound * (1 + 1e-9)


def test_the_split_form_is_above_the_exact_one_and_below_renyi():
    for law in LAWS:
        epsilon = renyi_epsilon(MU, law)

        def run(x):
            return gdp.delta(MU, x)

        split = tuning.split_delta(epsilon, law, run, run)
        assert tuning.delta(MU, epsilon, law) <= split
        if isinstance(law, NegativeBinomial):
            assert split < DELTA


def test_concentrated_runs_cost_more_than_gaussian_ones():
    law, rho = LAWS[0], MU * MU / 2

    def run(x):
        return zcdp.delta(rho, x)

    assert tuning.split_delta(1.4, law, run, run) > tuning.delta(MU, 1.4, law)


STEEP = [
    NegativeBinomial(1e6, 100.0),
    NegativeBinomial(1e4, -0.99),
    NegativeBinomial(1e6, -1 + 1e-12),
    Poisson(1e4),
    Poisson(1e6),
]


@pytest.mark.parametrize("law", [*STEEP[:2], *by_night(*STEEP[2:])], ids=str)
@pytest.mark.parametrize("delta", [0.0028, *by_night(1e-300, 0.9)])
def test_prices_of_the_most_extreme_laws_are_numbers_that_grow_with_mu(law, delta):
    mus = [1e-12, 0.3, 2.611236576641302, 2e3, 1e9, 1e160]
    prices = [tuning.epsilon(mu, delta, law) for mu in mus]
    assert np.all(np.diff(prices[:-1]) >= 0)
    assert prices[0] >= 0
    assert np.isfinite(prices[:-1]).all()
    assert prices[-1] == inf
    for mu, price in zip(mus[:-1], prices[:-1], strict=True):
        assert price >= gdp.epsilon(mu, delta)
        assert tuning.delta(mu, price, law) <= delta * (1 + 1e-9)


def test_a_law_that_is_too_steep_for_floats_has_the_price_of_the_split_form():
    # All runs are at least one and at most exp(a) times as likely to win as any other run.
    mu, delta, law = 2.611236576641302, 0.0028, NegativeBinomial(1e6, 100.0)
    ratio = log(law.mean) - law.log_once
    most = ratio + gdp.epsilon(mu, delta / law.mean)
    assert most - 60 > tuning.epsilon(mu, delta, law) > gdp.epsilon(mu, delta)
    far = 1e5
    assert tuning.epsilon(far, delta, law) == pytest.approx(
        ratio + gdp.epsilon(far, delta / law.mean), rel=1e-4
    )


@pytest.mark.nightly
@pytest.mark.parametrize("epsilon", [0.0, 1e-3, 0.01, 0.1, 1.0, 1e3, 1e9])
@pytest.mark.parametrize("law", [Poisson(1e4), NegativeBinomial(1e4, 100.0)], ids=str)
def test_levels_of_steep_laws_keep_within_the_budget_and_are_not_given_away(law, epsilon):
    mu = tuning.mu(epsilon, 1e-5, law, 0.3)
    assert 0 <= mu <= gdp.mu(epsilon, 1e-5)
    assert tuning.delta(mu, epsilon, law, mu * mu * 0.3 / 0.7) <= 1e-5
    # About a fourth of what a single run would get, per unit of log(mean).
    assert epsilon < 1e-3 or mu > 0.01 * gdp.mu(epsilon, 1e-5)


@pytest.mark.parametrize("law", [Poisson(300.0), NegativeBinomial(300.0, 30.0)], ids=str)
@pytest.mark.parametrize("mu", [0.003, 0.1, 0.9])
def test_where_laws_are_steep_no_explicit_selection_costs_more_either(law, mu):
    epsilon = tuning.epsilon(mu, 1e-4, law)
    assert worst_delta(epsilon, mu, law) <= tuning.delta(mu, epsilon, law) * (1 + 1e-6)


@pytest.mark.parametrize("law", STEEP, ids=str)
@pytest.mark.parametrize("rho", [1e-12, 0.1, 1e6])
def test_split_and_renyi_forms_are_probabilities_for_every_law(law, rho):
    def run(x):
        return zcdp.delta(rho, x)

    for epsilon in (0.0, 1.0, 1e6):
        assert 0 <= tuning.split_delta(epsilon, law, run, run) <= 1
        assert 0 <= tuning.renyi_delta(epsilon, law, rho, run) <= 1


def test_limits():
    law = LAWS[0]
    assert tuning.delta(0.0, 0.0, law) == 0
    assert tuning.delta(inf, 1.0, law) == 1
    assert tuning.delta(1.0, inf, law) == 0
    assert tuning.epsilon(inf, 1e-5, law) == inf
    assert tuning.epsilon(0.0, 1e-5, law) == 0
    assert tuning.epsilon(1e-9, 1e-5, law) < 1e-3
    assert tuning.mu(inf, 1e-5, law) == inf
    # Also where no model is private any more.
    assert tuning.delta(tuning.mu(1e6, 1e-5, law), 1e6, law) <= 1e-5


@pytest.mark.parametrize("wrong", [-1.0, float("nan")])
def test_impossible_arguments_are_refused(wrong):
    law = LAWS[0]
    for call in (
        lambda: tuning.delta(wrong, 1.0, law),
        lambda: tuning.delta(1.0, wrong, law),
        lambda: tuning.delta(1.0, 1.0, law, wrong),
        lambda: tuning.epsilon(wrong, 1e-5, law),
        lambda: tuning.epsilon(1.0, 1e-5, law, wrong),
        lambda: tuning.epsilon(1.0, wrong, law),
        lambda: tuning.mu(wrong, 1e-5, law),
        lambda: tuning.mu(1.0, wrong, law),
        lambda: tuning.mu(1.0, 1e-5, law, wrong),
    ):
        with pytest.raises(ValueError, match=r"^tuning\.\w+ needs"):
            call()
