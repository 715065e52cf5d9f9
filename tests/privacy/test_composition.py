"""Totals of several fits: exact where they can be, valid always, against dp-accounting."""

import sys
from dataclasses import replace
from math import exp, expm1, inf, log, sqrt

import numpy as np
import pytest
from scipy.stats import binom

from skdp.model_selection import account_for
from skdp.privacy import Adjacency
from skdp.privacy.accounting import (
    ExponentialEvent,
    GaussianDP,
    GaussianEvent,
    NonPrivateEvent,
    ObjectivePerturbationEvent,
    Part,
    PrivacySpent,
    PurePerturbationEvent,
    SampledGaussianEvent,
    Site,
    gdp,
    perturbation,
    zcdp,
)
from skdp.reporting import (
    NumberOfTrials,
    Receipt,
    compose,
    composition,
    gaussian_price,
    grouped,
    renyi,
)

DELTA = 1e-5
PURE = PurePerturbationEvent(
    query="perturbed_minimum",
    sensitivity=0.9,
    noise_scale=1.0,
    jacobian=0.09,
    output_sensitivity=0.01,
    output_noise_scale=1.0,
)
PERTURBATION = ObjectivePerturbationEvent(
    query="perturbed_minimum",
    sensitivity=0.2,
    noise_scale=1.0,
    jacobian=0.08,
    output_sensitivity=1e-6,
    output_noise_scale=1e-4,
)


def gaussian(mu, part=None, delta=DELTA):
    event = GaussianEvent(query="sum", sensitivity=mu, noise_scale=1.0, part=part)
    return Receipt((event,), PrivacySpent(gdp.epsilon(mu, delta), delta))


def choices(eta, count):
    event = ExponentialEvent(query="choice", sensitivity=eta, noise_scale=1.0, count=count)
    return Receipt((event,), PrivacySpent(zcdp.epsilon(count * eta**2 / 8, DELTA), DELTA))


def sampled(rate, multiplier, count, adjacency=Adjacency.REPLACE_ONE):
    event = SampledGaussianEvent(
        query="difference",
        sensitivity=adjacency.of_sum(1.0),
        noise_scale=multiplier,
        sampling_rate=rate,
        adjacency=adjacency,
        count=count,
    )
    return Receipt((event,), PrivacySpent(50.0, DELTA), adjacency)


def pair(epsilon, delta):
    return Receipt((), PrivacySpent(epsilon, delta))


PERTURBED = Receipt((PERTURBATION,), PrivacySpent(perturbation.epsilon(0.201, DELTA), DELTA))


def test_the_delta_may_be_chosen():
    total = compose([gaussian(0.3), gaussian(0.4)], delta=1e-8)
    assert total == (pytest.approx(gdp.epsilon(0.5, 1e-8)), 1e-8)
    with pytest.raises(ValueError, match=r"delta in \[0, 1\)"):
        compose([], delta=1.0)
    assert compose([gaussian(0.3)], delta=0.0) == (inf, 0.0)


@pytest.mark.parametrize(
    "receipts",
    [
        [choices(0.1, 10), gaussian(0.2)],
        [PERTURBED, PERTURBED],
        [PERTURBED, gaussian(0.2), choices(0.1, 5)],
        [pair(0.5, 1e-6), pair(0.7, 1e-6)],
        [pair(0.5, 1e-6), PERTURBED, gaussian(0.1), choices(0.1, 5)],
    ],
)
@pytest.mark.by_day(3)
def test_a_total_is_at_least_each_fit_and_at_most_their_sum(receipts):
    whole = sum(r.spent.delta for r in receipts)
    total = compose(receipts, delta=whole)
    assert total.epsilon <= sum(r.spent.epsilon for r in receipts)
    assert total.epsilon >= max(compose([r], delta=whole).epsilon for r in receipts)
    assert compose(receipts[::-1], delta=whole) == pytest.approx(total, rel=1e-9)


def test_no_bound_is_better_than_it_can_be_for_gaussian_fits():
    """Each way of counting is valid, so none of them is below the exact total."""
    receipts = [gaussian(0.3), gaussian(0.2)]
    exact = gdp.epsilon(sqrt(0.13), DELTA)
    assert composition._renyi(receipts, DELTA) > exact
    assert composition._perturbed(receipts, DELTA) != inf
    assert composition._beside_sums(receipts, DELTA, composition._perturbed) >= exact * (1 - 1e-9)


def test_perturbations_beside_gaussian_fits_are_a_union_over_vertices():
    total = compose([PERTURBED, gaussian(0.3), PERTURBED], delta=DELTA).epsilon - 0.16
    squares = [0.04 * share for share in (1.0, 0.25, 0.25, 0.0)]
    rest = 0.09 + 2 * 1e-4
    union = sum(gdp.delta(sqrt(rest + a + b), total) for a in squares for b in squares)
    assert union == pytest.approx(DELTA, rel=1e-6)


def test_many_perturbations_fall_back_on_divergences():
    many = [replace(PERTURBATION, sensitivity=0.02 + 1e-4 * k) for k in range(10)]
    receipts = [Receipt((event,), PrivacySpent(1.0, DELTA)) for event in many]
    assert composition._perturbed(receipts, None) == inf
    assert compose(receipts).epsilon < 2.0


@pytest.mark.nightly
def test_sampled_and_gaussian_releases_agree_with_dp_accounting():
    pld = pytest.importorskip("dp_accounting.pld.privacy_loss_distribution")
    import dp_accounting

    relation = dp_accounting.NeighboringRelation.REPLACE_ONE
    fine = {"value_discretization_interval": 1e-4}
    block = pld.from_gaussian_mechanism(
        2.0, sampling_prob=0.02, neighboring_relation=relation, **fine
    ).self_compose(100)
    both = block.compose(pld.from_gaussian_mechanism(1 / 0.2, **fine))
    expected = both.get_epsilon_for_delta(DELTA)
    total = compose([sampled(0.02, 2.0, 100), gaussian(0.2)]).epsilon
    assert total == pytest.approx(expected, rel=1e-3)


def test_without_dp_accounting_parameters_of_sampled_fits_are_added(monkeypatch):
    monkeypatch.setitem(sys.modules, "dp_accounting", None)
    # Of no kind whose distribution is remembered.
    both = [sampled(0.0213, 2.0, 100), gaussian(0.2)]
    assert compose(both, delta=2 * DELTA).epsilon >= both[0].spent.epsilon


def test_fits_of_which_only_the_parameters_are_known_compose_optimally():
    """Kairouz, Oh and Viswanath (2015): k fits that are (e, d)-DP have a binomial law of losses."""
    pytest.importorskip("dp_accounting")
    k, e, d, slack = 30, 0.1, 1e-7, 1e-5
    total = compose([pair(e, d)] * k, delta=slack).epsilon
    assert total < k * e
    p = exp(e) / (1 + exp(e))
    rest = sum(binom.pmf(i, k, p) * max(0.0, -expm1(total - (2 * i - k) * e)) for i in range(k + 1))
    assert 1 - (1 - d) ** k * (1 - rest) == pytest.approx(slack, rel=0.02)


def test_a_search_beside_gaussian_fits_is_accounted_for_together():
    account = account_for([GaussianDP()], 1.0, DELTA, NumberOfTrials(10.0))
    search = Receipt((account.event,), account.spent)
    assert compose([search]).epsilon == pytest.approx(1.0, rel=1e-3)
    total = compose([search, gaussian(0.1)]).epsilon
    assert 1.0 < total < 1.0 + gaussian(0.1).spent.epsilon
    assert total < composition._renyi([search, gaussian(0.1)], DELTA)
    assert compose([search, search]).epsilon <= 2.5


def test_parts_of_a_stream_compose_in_parallel_and_other_fits_do_not():
    parts = Receipt(
        gaussian(0.3, Part(0, 10)).events + gaussian(0.4, Part(10, 30)).events,
        PrivacySpent(gdp.epsilon(0.4, DELTA), DELTA),
    )
    assert compose([parts]).epsilon == pytest.approx(gdp.epsilon(0.4, DELTA))
    assert compose([parts, gaussian(0.3)]).epsilon == pytest.approx(gdp.epsilon(0.5, DELTA))
    # Two receipts that name the same parts are about the same rows, for all that is known.
    assert compose([parts, parts]).epsilon == pytest.approx(gdp.epsilon(sqrt(0.32), DELTA))


def test_sites_compose_in_parallel_beside_what_all_were_asked():
    events = (
        *gaussian(0.3).events,
        *gaussian(0.4, Site("north")).events,
        *gaussian(0.1, Site("south")).events,
    )
    receipt = Receipt(events, PrivacySpent(9.0, DELTA))
    assert compose([receipt]).epsilon == pytest.approx(gdp.epsilon(0.5, DELTA))


def test_folded_parts_are_read_only_if_one_number_says_all():
    folded = Part(0, 100, count=7)
    gaussians = Receipt(gaussian(0.3, folded).events, PrivacySpent(9.0, DELTA))
    assert compose([gaussians]).epsilon == pytest.approx(gdp.epsilon(0.3, DELTA))
    event = replace(choices(0.1, 10).events[0], part=folded)
    assert compose([Receipt((event,), PrivacySpent(9.0, DELTA))]) == (9.0, DELTA)


def test_a_group_of_rows_is_protected_step_by_step():
    by_steps = pair(0.5, 1e-6).between(3)
    assert by_steps.spent.epsilon == 1.5
    assert by_steps.spent.delta == pytest.approx(1e-6 * (1 + exp(0.5) + exp(1.0)))
    assert pair(0.0, 1e-6).between(3).spent.delta == pytest.approx(3e-6)
    assert pair(400.0, 1e-6).between(2).spent.delta == 1.0
    assert gaussian(0.2).between(3).gaussian_price() == pytest.approx(0.36)


def test_a_delta_that_has_grown_to_one_is_not_the_delta_of_a_total():
    (event,) = gaussian(0.2).events
    group = Receipt((event,), PrivacySpent(400.0, 1e-6)).between(2)
    assert group.spent.delta == 1.0
    assert compose([group]) == (inf, 0.0)
    assert compose([group], DELTA).epsilon == pytest.approx(gdp.epsilon(0.4, DELTA))
    beside = compose([group, gaussian(0.3)])
    assert beside == pytest.approx((gdp.epsilon(0.5, DELTA), DELTA))
    assert compose([pair(400.0, 1e-6).between(2), gaussian(0.3)]).epsilon == inf


def test_a_vertex_that_does_not_move_counts_for_people():
    """As one does that next to does not: beside a Gaussian release of next to nothing."""
    facts = {"query": "minimum", "sensitivity": 1.0, "noise_scale": 1.0, "jacobian": 0.0}
    alone, beside = (
        ObjectivePerturbationEvent(
            **facts, output_sensitivity=moved, output_noise_scale=1.0, of_units=True
        )
        for moved in (0.0, 1e-7)
    )
    for delta in (1e-5, 0.3, 0.8, 0.9, 0.95):
        totals = [
            compose([Receipt((event,), PrivacySpent(50.0, 1e-9))], delta).epsilon
            for event in (alone, beside)
        ]
        assert totals[0] == pytest.approx(totals[1], rel=1e-4)


def test_a_perturbed_objective_costs_groups_of_rows_their_number_of_sensitivities():
    event = ObjectivePerturbationEvent(
        query="minimum",
        sensitivity=0.1,
        noise_scale=1.0,
        jacobian=0.01,
        output_sensitivity=0.0,
        output_noise_scale=0.0,
    )
    for relation in Adjacency:
        receipt = Receipt((event,), PrivacySpent(50.0, 1e-6), relation)
        (found,) = receipt.between(3).events
        assert found == replace(event, sensitivity=3 * 0.1, jacobian=3 * 0.01, of_units=True)
        total = compose([receipt.between(3)], DELTA).epsilon
        one_row = replace(event, sensitivity=3 * 0.1, jacobian=3 * 0.01)
        of_one_row = compose([replace(receipt, events=(one_row,))], DELTA).epsilon
        assert of_one_row < total < 1.01 * of_one_row
    # Two steps of zero-out are one row that is replaced.
    replaced = Receipt((event,), PrivacySpent(0.5, 1e-6), Adjacency.ZERO_OUT)
    assert replaced.under(Adjacency.REPLACE_ONE).events == receipt.between(2).events


def test_an_epsilon_and_delta_on_a_ledger_adds_to_what_is_known_of_the_others():
    stated = Receipt((), PrivacySpent(0.5, 1e-6)).explicit().events
    (event,) = gaussian(0.2).events
    several = tuple(replace(event, query=str(k)) for k in range(9))
    ledger = Receipt((*stated, *several), PrivacySpent(99.0, 1e-5))
    assert compose([ledger], 1e-5).epsilon <= 0.5 + gdp.epsilon(0.6, 9e-6) * (1 + 1e-9)
    assert compose([ledger], 1e-5).epsilon > gdp.epsilon(0.6, 1e-5)
    # Which is so too if it is there several times.
    twice = compose([ledger.times(2)], 1e-5).epsilon
    assert twice <= 1.0 + gdp.epsilon(sqrt(2) * 0.6, 8e-6) * (1 + 1e-9)


@pytest.mark.parametrize("spent", [(inf, 1e-5), (3.0, 1.0), (800.0, 1.0)])
def test_what_nothing_is_known_of_is_an_exact_answer(spent):
    receipt = Receipt((), PrivacySpent(*spent)).explicit()
    assert [type(e) for e in receipt.events] == [NonPrivateEvent]
    assert compose([receipt, gaussian(0.2)]).epsilon == inf


def pure(count=1, adjacency=Adjacency.REPLACE_ONE):
    event = replace(PURE, count=count)
    return Receipt((event,), PrivacySpent(float(count), 0.0), adjacency)


def test_pure_epsilon_beside_gaussian_noise_costs_at_most_its_epsilon():
    alone = compose([gaussian(0.3)])
    together = compose([gaussian(0.3), pure()])
    assert together.delta == DELTA
    assert alone.epsilon < together.epsilon <= alone.epsilon + 1
    assert compose([gaussian(0.3), pure()], delta=0.0).epsilon == inf


def test_many_fits_of_small_pure_epsilon_cost_less_than_their_sum_at_a_delta():
    small = replace(PURE, sensitivity=0.05, jacobian=0.0, output_sensitivity=0.0, count=400)
    receipt = Receipt((small,), PrivacySpent(20.0, 0.0))
    found = compose([receipt], delta=1e-6).epsilon
    # By the law of the coin that is right with probability 1 / (1 + e^-epsilon), 400 times.
    wins = np.arange(401)
    right = 1 / (1 + np.exp(-0.05))
    p = binom.pmf(wins, 400, right)
    slack = np.maximum(p - np.exp(found) * p[::-1], 0.0).sum()
    assert slack <= 1e-6
    assert found < 0.5 * 20


def test_no_kind_of_account_makes_pure_epsilon_cheaper_than_a_coin():
    for epsilon in (0.01, 0.3, 1.0, 3.0, 20.0):
        event = replace(PURE, sensitivity=epsilon, jacobian=0.0, output_sensitivity=0.0)
        right = 1 / (1 + np.exp(-epsilon))
        mu = sqrt(gaussian_price(event))
        for e in np.linspace(0, epsilon, 20):
            coin = right - np.exp(e) * (1 - right)
            assert gdp.delta(mu, float(e)) >= coin * (1 - 1e-9)
        for order in (1.01, 2.0, 30.0):
            wrong = 1 - right if epsilon < 10 else np.exp(-epsilon) * right
            powers = right**order * wrong ** (1 - order) + wrong**order * right ** (1 - order)
            assert renyi(event, order) == pytest.approx(log(powers) / (order - 1), rel=1e-6)
            assert renyi(event, order) <= epsilon
        three = grouped(event, 3, Adjacency.REPLACE_ONE)
        assert three.epsilon == pytest.approx(3 * epsilon)


def test_zero_out_counts_twice_beside_replace_one():
    out = replace(gaussian(0.2), adjacency=Adjacency.ZERO_OUT)
    assert compose([out, out]).epsilon == pytest.approx(gdp.epsilon(0.2 * sqrt(2), DELTA))
    assert compose([out, gaussian(0.3)]).epsilon == pytest.approx(gdp.epsilon(0.5, DELTA))
    weaker = compose([out, gaussian(0.3)], adjacency="zero_out").epsilon
    assert weaker == pytest.approx(gdp.epsilon(sqrt(0.13), DELTA))


def test_an_exact_answer_makes_the_total_infinite():
    leak = Receipt((NonPrivateEvent(query="mean"),), PrivacySpent(inf, DELTA))
    assert compose([gaussian(0.3), leak]).epsilon == inf
