"""Renyi divergences, prices as Gaussian releases and groups of events, against first principles."""

from dataclasses import replace
from math import exp, inf, log, pi, sqrt

import numpy as np
import pytest
from scipy.special import expit, logit, ndtr, ndtri
from test_every_event import EXAMPLES, Unheard

from skdp.privacy import Adjacency
from skdp.privacy.accounting import (
    ExponentialEvent,
    GaussianEvent,
    ObjectivePerturbationEvent,
    PrefixSumEvent,
    PurePerturbationEvent,
    SampledGaussianEvent,
    gdp,
)
from skdp.reporting import CHOICE_AS_GAUSSIAN, gaussian_price, grouped, renyi

ALL = [event for kind in EXAMPLES.values() for event in kind]
every_event = pytest.mark.parametrize("event", ALL, ids=str)
ORDERS = [1.01, 1.5, 2.0, 7.3, 64.0]


def choice(eta, count=1):
    return ExponentialEvent(query="choice", sensitivity=eta, noise_scale=1.0, count=count)


def test_an_unknown_event_has_no_price():
    event = Unheard(query="x", sensitivity=1.0, noise_scale=1.0)
    assert renyi(event, 2.0) == gaussian_price(event) == inf
    assert grouped(event, 2, Adjacency.REPLACE_ONE) is None


@every_event
def test_prices_are_for_all_releases_and_never_too_small_to_be_true(event):
    twice = replace(event, count=2)
    for order in ORDERS:
        one = renyi(event, order)
        assert one > 0
        assert renyi(twice, order) == pytest.approx(2 * one)
    assert gaussian_price(twice) == pytest.approx(2 * gaussian_price(event))


@every_event
def test_what_is_mu_gaussian_has_at_most_the_divergences_of_a_gaussian(event):
    for order in ORDERS:
        assert renyi(event, order) <= order * gaussian_price(event) / 2 * (1 + 1e-9)


def test_the_slope_of_the_normal_quantile_against_the_logit_falls_to_both_sides():
    """What the Gaussian price of a choice rests on: the middle pair is the worst."""
    x = np.linspace(0, 30, 20_001)
    z = -ndtri(expit(-x))
    # In logarithms: expit(x) expit(-x) / phi(z).
    slope = np.log(expit(x)) + np.log(expit(-x)) + z * z / 2
    assert np.all(np.diff(slope) < 1e-12)


@pytest.mark.parametrize("eta", [1e-3, 0.1, 1.0, 3.0, 8.0])
def test_a_choice_is_dominated_by_its_gaussian_release(eta):
    mu = sqrt(gaussian_price(choice(eta)))
    for q in expit(np.linspace(-12, 12, 49) - eta / 2):
        p = expit(logit(q) + eta)
        # The two outcomes of the worst choices: from (q, p) all hockey-stick divergences follow.
        for epsilon in np.linspace(0, eta, 7)[:-1]:
            for first, second in [((p, 1 - p), (q, 1 - q)), ((q, 1 - q), (p, 1 - p))]:
                pairs = zip(first, second, strict=True)
                stick = sum(max(0.0, a - exp(epsilon) * b) for a, b in pairs)
                assert stick <= gdp.delta(mu, epsilon) + 1e-12
    # It is attained by the middle pair, so there is no smaller mu.
    p = expit(eta / 2)
    assert ndtr(mu / 2) == pytest.approx(p)


def test_a_choice_costs_at_most_half_pi_times_its_concentrated_price():
    ratios = [gaussian_price(choice(eta)) / (eta * eta / 4) for eta in np.geomspace(1e-4, 20, 50)]
    assert max(ratios) <= CHOICE_AS_GAUSSIAN * (1 + 1e-6)
    assert ratios[0] == pytest.approx(CHOICE_AS_GAUSSIAN, rel=1e-6)
    assert pytest.approx(pi / 2) == CHOICE_AS_GAUSSIAN


def test_a_choice_has_the_divergence_of_its_worst_pair_or_more():
    for eta in (0.1, 1.0, 4.0):
        for order in ORDERS:
            x = np.linspace(-10, 10, 81) - eta / 2
            terms = [
                order * np.log(expit(s * (x + eta))) + (1 - order) * np.log(expit(s * x))
                for s in (1, -1)
            ]
            worst = np.logaddexp(*terms).max() / (order - 1)
            assert 0.5 * eta**2 / 8 < worst <= renyi(choice(eta), order) * (1 + 1e-9)


def test_sampled_releases_count_as_if_every_row_took_part():
    (event,) = EXAMPLES[SampledGaussianEvent]
    rare = replace(event, sampling_rate=0.01)
    whole = GaussianEvent(query="x", sensitivity=event.sensitivity, noise_scale=event.noise_scale)
    for order in ORDERS:
        assert renyi(rare, order) == pytest.approx(renyi(whole, order))
    assert gaussian_price(rare) == pytest.approx(gaussian_price(whole))


def test_a_perturbation_costs_a_gaussian_release_the_jacobian_and_little_more():
    (event,) = EXAMPLES[ObjectivePerturbationEvent]
    moves = event.sensitivity / event.noise_scale
    output = event.output_sensitivity / event.output_noise_scale
    for order in ORDERS:
        least = order * (moves**2 + output**2) / 2 + event.jacobian
        most = least + log(4) / (order - 1)
        assert least * (1 - 1e-12) <= renyi(event, order) <= most * (1 + 1e-12)


def test_a_replaced_row_is_two_that_are_zeroed_out():
    out = SampledGaussianEvent(
        query="x",
        sensitivity=1.0,
        noise_scale=2.0,
        sampling_rate=0.1,
        adjacency=Adjacency.ZERO_OUT,
    )
    replaced = grouped(out, 2, Adjacency.REPLACE_ONE)
    assert replaced.adjacency is Adjacency.REPLACE_ONE
    assert replaced.noise_multiplier == out.noise_multiplier
    # Several rows are drawn independently, which no such event describes.
    assert grouped(out, 3, Adjacency.ZERO_OUT) is None
    (event,) = EXAMPLES[ObjectivePerturbationEvent]
    assert grouped(event, 2, Adjacency.REPLACE_ONE).jacobian == 2 * event.jacobian
    assert grouped(event, 2, Adjacency.ZERO_OUT) == grouped(event, 2, Adjacency.REPLACE_ONE)
    for event in EXAMPLES[GaussianEvent] + EXAMPLES[PrefixSumEvent]:
        assert gaussian_price(grouped(event, 3, Adjacency.ZERO_OUT)) == pytest.approx(
            9 * gaussian_price(event)
        )


def pure(epsilon):
    nothing = {"jacobian": 0.0, "output_sensitivity": 0.0, "output_noise_scale": 0.0}
    return PurePerturbationEvent(query="q", sensitivity=epsilon, noise_scale=1.0, **nothing)


@pytest.mark.parametrize("epsilon", [1e-13, 1e-10, 1e-7, 1e-4])
def test_next_to_zero_rounding_makes_nothing_cheaper(epsilon):
    # The limits for small epsilon, from which the exact values differ by epsilon^2 and less.
    for order in (1.01, 1.5, 2.0, 10.0):
        assert renyi(pure(epsilon), order) == pytest.approx(order * epsilon**2 / 2, rel=1e-6)
    assert gaussian_price(pure(epsilon)) == pytest.approx(pi / 2 * epsilon**2, rel=1e-6)
    assert gaussian_price(choice(epsilon)) == pytest.approx(pi / 8 * epsilon**2, rel=1e-6)


@pytest.mark.parametrize("order", [1.5, 10.0, 200.0])
def test_pure_epsilon_has_the_divergence_of_its_coin_and_shares_cost_no_more(order):
    for epsilon in np.geomspace(1e-3, 30, 40):
        right, wrong = expit(epsilon), expit(-epsilon)
        logs = [order * log(a) + (1 - order) * log(b) for a, b in ((right, wrong), (wrong, right))]
        coin = float(np.logaddexp(*logs)) / (order - 1)
        assert renyi(pure(epsilon), order) == pytest.approx(min(coin, epsilon), rel=1e-6)
        halves = replace(pure(epsilon / 2), count=2)
        assert renyi(halves, order) <= renyi(pure(epsilon), order) * (1 + 1e-12)
        assert gaussian_price(halves) <= gaussian_price(pure(epsilon)) * (1 + 1e-12)
