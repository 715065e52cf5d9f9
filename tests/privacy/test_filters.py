"""The rules that keep a ceiling: what they charge, and that they keep it."""

from dataclasses import replace
from math import inf, sqrt

import numpy as np
import pytest

from skdp.privacy import Adjacency
from skdp.privacy.accounting import (
    ExponentialEvent,
    GaussianDP,
    GaussianEvent,
    Ledger,
    ObjectivePerturbationEvent,
    PerturbedGaussianDP,
    PrivacySpent,
    PureDP,
    PurePerturbationEvent,
    SampledGaussianEvent,
    SubsampledGaussianDP,
    ZeroConcentratedDP,
    gdp,
    perturbation,
    zcdp,
)
from skdp.reporting import (
    FILTERS,
    Amount,
    GaussianFilter,
    Receipt,
    RenyiFilter,
    SpendBound,
    SumsFilter,
    compose,
)

E, D = 2.0, 1e-5
ONE, ZERO = Adjacency.REPLACE_ONE, Adjacency.ZERO_OUT
BLOCK = SubsampledGaussianDP(sampling_rate=1.0, releases=((100.0, 50),))
CALCULI = [GaussianDP(), ZeroConcentratedDP(), PerturbedGaussianDP(), PureDP(), BLOCK]
every_rule = pytest.mark.parametrize("rule", FILTERS.values(), ids=list(FILTERS))
every_calculus = pytest.mark.parametrize("calculus", CALCULI, ids=lambda c: type(c).__name__)


def gaussian(mu, adjacency=ONE):
    event = GaussianEvent(query="sum", sensitivity=mu, noise_scale=1.0)
    return Receipt((event,), PrivacySpent(gdp.epsilon(mu, D), D), adjacency)


def claim(epsilon, calculus, adjacency=ONE):
    return SpendBound(epsilon, D, calculus, adjacency)


def fullest(calculus, epsilon, adjacency=ONE):
    """A receipt that uses all a ledger accepts, in the way that costs most."""
    ledger = Ledger(epsilon, D, calculus=calculus)
    left = ledger.limit * (1 - 1e-9)
    if isinstance(calculus, ZeroConcentratedDP):
        eta = 2 * sqrt(left / 400)
        ledger.charge(ExponentialEvent(query="choice", sensitivity=eta, noise_scale=1.0, count=400))
    elif isinstance(calculus, PerturbedGaussianDP):
        share = left * (1 - perturbation.OUTPUT_SHARE)
        ledger.charge(
            ObjectivePerturbationEvent(
                query="minimum",
                sensitivity=sqrt(share),
                noise_scale=1.0,
                jacobian=perturbation.KAPPA * sqrt(share),
                output_sensitivity=sqrt(left * perturbation.OUTPUT_SHARE),
                output_noise_scale=1.0,
            )
        )
    elif isinstance(calculus, PureDP):
        nothing = {"jacobian": 0.0, "output_sensitivity": 0.0, "output_noise_scale": 0.0}
        event = PurePerturbationEvent(query="minimum", sensitivity=1.0, noise_scale=1.0, **nothing)
        # Two at once cost no more than one of their epsilon.
        for share in (0.3, 0.7):
            ledger.charge(replace(event, sensitivity=share * left))
    else:
        ledger.charge(GaussianEvent(query="sum", sensitivity=sqrt(left), noise_scale=1.0))
    if isinstance(calculus, SubsampledGaussianDP):
        ledger.charge(
            SampledGaussianEvent(
                query="difference",
                sensitivity=2.0,
                noise_scale=100.0,
                sampling_rate=1.0,
                adjacency=ONE,
                count=50,
            )
        )
    return Receipt(ledger.receipt(), ledger.spent(), adjacency)


@every_rule
@every_calculus
def test_no_receipt_costs_more_than_what_was_reserved_for_it(rule, calculus):
    keeper = rule(E, D, ONE)
    reserved = keeper.reserved(claim(0.7, calculus))
    price = keeper.settled(reserved, fullest(calculus, 0.7))
    assert price.main <= reserved.main * (1 + 1e-9)
    assert price.delta <= reserved.delta * (1 + 1e-9)


@every_rule
@pytest.mark.parametrize("calculus", CALCULI[:-1], ids=lambda c: type(c).__name__)
def test_under_zero_out_two_steps_are_reserved_and_settled(rule, calculus):
    keeper = rule(E, D, ONE)
    reserved = keeper.reserved(claim(0.2, calculus, ZERO))
    once = keeper.reserved(claim(0.2, calculus)).main
    assert reserved.main > 1.2 * once or once == inf
    price = keeper.settled(reserved, fullest(calculus, 0.2, ZERO))
    assert price.main <= reserved.main * (1 + 1e-9)
    weaker = rule(E, D, ZERO)
    assert weaker.reserved(claim(0.2, calculus, ZERO)) == keeper.reserved(claim(0.2, calculus))
    # What holds under replace-one holds under zero-out.
    assert weaker.reserved(claim(0.2, calculus)) == keeper.reserved(claim(0.2, calculus))


@every_rule
def test_a_total_at_the_limit_is_the_ceiling(rule):
    keeper = rule(E, D, ONE)
    assert keeper.holds(keeper.limit)
    assert not keeper.holds(Amount(keeper.limit.main * (1 + 1e-12)))
    assert keeper.spent(keeper.limit) == (pytest.approx(E), D)
    assert keeper.left(keeper.limit).epsilon == 0.0


@pytest.mark.parametrize(
    ("rule", "calculus"),
    [
        (GaussianFilter, GaussianDP()),
        (RenyiFilter, ZeroConcentratedDP()),
        *((SumsFilter, calculus) for calculus in CALCULI),
    ],
)
def test_the_whole_ceiling_fits_in_one_fit(rule, calculus):
    keeper = rule(E, D, ONE)
    assert keeper.holds(keeper.reserved(claim(E, calculus)))
    assert not keeper.holds(keeper.reserved(claim(E * (1 + 1e-9), calculus)))


@pytest.mark.parametrize("n", [2, 3, 7, 1000])
def test_equal_shares_of_mu_squared_are_the_whole_and_no_more(n):
    keeper = GaussianFilter(E, D, ONE)
    epsilon = gdp.epsilon(gdp.mu(E, D) / sqrt(n), D)
    one = keeper.reserved(claim(epsilon, GaussianDP())).main
    assert keeper.holds(Amount(sum([one] * n)))
    assert not keeper.holds(Amount(sum([one] * (n + 1))))


@every_rule
def test_what_is_left_is_accepted_and_no_more_than_that(rule):
    keeper = rule(E, D, ONE)
    spent = keeper.reserved(claim(0.7, GaussianDP()))
    left = keeper.left(spent)
    more = keeper.reserved(SpendBound(left.epsilon, max(left.delta, 1e-300), GaussianDP(), ONE))
    total = spent.main + more.main
    assert total == pytest.approx(keeper.limit.main, rel=1e-6)


@pytest.mark.parametrize(
    ("epsilon", "delta"), [(0.1, 1e-5), (1.0, 1e-6), (5.0, 1e-9), (20.0, 0.01)]
)
def test_the_order_is_that_of_the_best_conversion(epsilon, delta):
    keeper = RenyiFilter(epsilon, delta, ONE)
    assert keeper.limit.main / keeper.order == pytest.approx(zcdp.rho(epsilon, delta), rel=1e-9)


def test_renyi_totals_are_never_below_the_exact_ones():
    keeper = RenyiFilter(E, D, ONE)
    for mus in ([0.1], [0.3, 0.2], [0.05] * 30):
        receipts = [gaussian(mu) for mu in mus]
        total = sum(keeper.price(r).main for r in receipts)
        assert keeper.spent(Amount(total)).epsilon > compose(receipts).epsilon


def test_as_long_as_it_is_open_how_a_fit_counts_it_is_the_least():
    for rule in FILTERS.values():
        keeper = rule(E, D, ONE)
        least = keeper.reserved(claim(0.7, None)).main
        others = [keeper.reserved(claim(0.7, c)).main for c in (GaussianDP(), ZeroConcentratedDP())]
        assert least <= min(others) * (1 + 1e-9)


def test_sums_keep_what_was_reserved_once_something_is_released():
    keeper = SumsFilter(E, D, ONE)
    reserved = keeper.reserved(claim(0.7, GaussianDP()))
    assert keeper.settled(reserved, gaussian(0.01)) == reserved
    assert keeper.settled(reserved, Receipt((), PrivacySpent(0.0, 0.0))) == (0.0, 0.0)


def test_to_accept_what_any_rule_accepts_would_exceed_the_ceiling():
    """Why a rule has to be settled first: an adversary that switches rules by what was released.

    The first release is N(0, 1) against N(m, 1), m^2 being half of what there is. Where its loss
    is below a threshold the rest goes on under sums with a fit that leaks outright with
    probability ``D`` of its own (e = 0), and elsewhere under Gaussian sums with the other half.
    """
    first = gdp.mu(E, D) / sqrt(2)
    x, step = np.linspace(-10, 10, 20_001, retstep=True)
    density = np.exp(-x * x / 2) / np.sqrt(2 * np.pi) * step
    # What is left of epsilon after the loss of the first release, and the delta of the rest there.
    left = E - (first * x + first**2 / 2)
    rest = np.array([gdp.delta(first, e) if e >= 0 else _delta_below(first, e) for e in left])
    assert np.sum(density * rest) == pytest.approx(D, rel=1e-4)
    # Sums have room for a fit of epsilon = 0, since the first counts less than E at half of D.
    assert gdp.epsilon(first, D / 2) < E
    assert np.sum(density * np.maximum(rest, D / 2)) > 1.3 * D


def _delta_below(mu, epsilon):
    """The profile at a negative epsilon, from that of the exchanged pair."""
    return 1 - np.exp(epsilon) * (1 - gdp.delta(mu, -epsilon))


@every_calculus
@every_rule
def test_what_is_set_aside_for_several_fits_covers_what_they_release(rule, calculus):
    ceiling = rule(20.0, 1e-4, ONE)
    plan, most = claim(1.0, calculus), fullest(calculus, 1.0)
    once = ceiling.reserved(plan).main
    several = ceiling.reserved(replace(plan, fits=3))
    assert several.main == pytest.approx(3 * once)
    assert several.main >= ceiling.price(most.times(3)).main * (1 - 1e-9)


@pytest.mark.parametrize("rule", [GaussianFilter, RenyiFilter])
def test_samples_under_zero_out_are_reserved_as_if_rows_were_replaced(rule):
    keeper, block = rule(E, D, ONE), replace(BLOCK, adjacency=ZERO)
    reserved = keeper.reserved(claim(0.7, block, ZERO))
    ledger = Ledger(0.7, D, calculus=block)
    facts = {"sensitivity": 1.0, "noise_scale": 100.0, "sampling_rate": 1.0, "count": 50}
    ledger.charge(SampledGaussianEvent(query="difference", adjacency=ZERO, **facts))
    left = ledger.remaining * (1 - 1e-9)
    ledger.charge(GaussianEvent(query="sum", sensitivity=sqrt(left), noise_scale=1.0))
    receipt = Receipt(ledger.receipt(), ledger.spent(), ZERO)
    price = keeper.settled(reserved, receipt)
    assert price.main <= reserved.main * (1 + 1e-9)
    assert price.main >= reserved.main * (1 - 1e-6)
