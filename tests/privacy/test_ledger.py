"""The ledger as a filter, its receipts, and budgets as plans."""

import re
from math import fsum, inf, sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skdp.exceptions import BudgetExceededError
from skdp.privacy.accounting import (
    Budget,
    ExponentialEvent,
    GaussianDP,
    GaussianEvent,
    Ledger,
    NonPrivateEvent,
    Spend,
    ZeroConcentratedDP,
)
from skdp.privacy.mechanisms import GaussianMechanism
from skdp.solvers import schedules

CALCULI = [GaussianDP(), ZeroConcentratedDP()]
every_calculus = pytest.mark.parametrize("calculus", CALCULI, ids=lambda c: type(c).__name__)
BUDGETS = [(0.01, 1e-9), (1.0, 1e-5), (50.0, 0.1)]
GRAMMAR = re.compile(
    r"^(\w+) would cost mu\^2=(\S+) but (\S+) of (\S+) is left\. Nothing was read\.$"
)


def gaussian(cost, query="gradient"):
    return GaussianEvent(query=query, sensitivity=sqrt(cost), noise_scale=1.0)


def choice(cost):
    return ExponentialEvent(query="choice", sensitivity=2 * sqrt(cost), noise_scale=1.0)


def pay(ledger, spend, sensitivity=0.37):
    ledger.charge(GaussianMechanism.calibrated(sensitivity, spend).event("gradient"))


def every_schedule(steps):
    rng = np.random.default_rng(steps)
    return {
        "uniform": schedules.uniform(steps),
        "exponential": schedules.exponential(steps, 0.97),
        "momentum": schedules.momentum(steps, 0.99, 0.9),
        "custom": schedules.custom(10.0 ** rng.uniform(-6, 6, steps)),
        "equal parts": steps,
    }


def test_refuses_what_exceeds_the_limit_and_records_nothing():
    ledger = Ledger(1.0, 1e-5)
    ledger.charge(gaussian(0.6 * ledger.limit))
    before = ledger.receipt(), ledger.total, ledger.remaining, ledger.spent()
    with pytest.raises(BudgetExceededError):
        ledger.charge(gaussian(0.5 * ledger.limit))
    assert (ledger.receipt(), ledger.total, ledger.remaining, ledger.spent()) == before
    ledger.charge(gaussian(0.3 * ledger.limit))
    assert ledger.total > 0.89 * ledger.limit


def test_a_refused_repeat_leaves_the_count():
    ledger = Ledger(1.0, 1e-5)
    event = gaussian(0.3 * ledger.limit)
    for _ in range(3):
        ledger.charge(event)
    with pytest.raises(BudgetExceededError):
        ledger.charge(event)
    assert [e.count for e in ledger.receipt()] == [3]
    assert ledger.total == pytest.approx(0.9 * ledger.limit)


@pytest.mark.parametrize("repeat", [False, True])
def test_the_error_says_what_was_asked_and_what_is_left(repeat):
    ledger = Ledger(1.0, 1e-5)
    ledger.charge(gaussian(0.7 * ledger.limit))
    dear = gaussian((0.7 if repeat else 0.5) * ledger.limit, "gradient" if repeat else "histogram")
    with pytest.raises(BudgetExceededError) as caught:
        ledger.charge(dear)
    query, cost, left, whole = GRAMMAR.match(str(caught.value)).groups()
    assert query == dear.query
    assert float(cost) == pytest.approx(dear.sensitivity**2, rel=1e-2)
    assert float(left) == pytest.approx(0.3 * ledger.limit, rel=1e-2)
    assert float(whole) == pytest.approx(ledger.limit, rel=1e-2)


@pytest.mark.parametrize(("epsilon", "delta"), BUDGETS)
@pytest.mark.parametrize("steps", [1, 2, 7, 100, 3000])
def test_no_schedule_is_refused_at_its_last_step_and_all_use_up_the_budget(steps, epsilon, delta):
    for name, shares in every_schedule(steps).items():
        ledger = Ledger(epsilon, delta)
        for spend in Budget(ledger.remaining).split(shares):
            pay(ledger, spend)
        assert ledger.total <= ledger.limit, name
        spent = ledger.spent()
        assert (1 - 1e-9) * epsilon <= spent.epsilon <= epsilon, name
        assert spent.delta == delta
        with pytest.raises(BudgetExceededError):
            pay(ledger, Spend(1e-6 * ledger.limit))


@every_calculus
@pytest.mark.parametrize(("epsilon", "delta"), BUDGETS)
def test_an_event_of_exactly_the_limit_fits(calculus, epsilon, delta):
    ledger = Ledger(epsilon, delta, calculus=calculus)
    limit = ledger.limit
    pay(ledger, Budget(limit).whole())
    assert (1 - 1e-9) * epsilon <= ledger.spent().epsilon <= epsilon
    # What is left are the roundings in favour of privacy.
    assert 0 <= ledger.remaining <= 1e-11 * limit


@every_calculus
@given(
    epsilon=st.floats(1e-3, 100.0),
    shares=st.lists(st.floats(1e-3, 2.0), min_size=1, max_size=25),
    kinds=st.lists(st.booleans(), min_size=25, max_size=25),
)
def test_adaptive_spending_never_exceeds_the_budget(calculus, epsilon, shares, kinds):
    """Each charge is chosen in view of what is left, and charging goes on after a refusal."""
    ledger = Ledger(epsilon, 1e-6, calculus=calculus)
    accepted = []
    for share, other in zip(shares, kinds, strict=False):
        left = ledger.remaining
        if left <= 1e-6 * ledger.limit:
            break
        price = share * left
        event = choice(price) if other and calculus == ZeroConcentratedDP() else gaussian(price)
        try:
            ledger.charge(event)
        except BudgetExceededError:
            assert share > 1 - 1e-12
        else:
            assert share < 1 + 1e-12
            accepted.append(calculus.cost(event))
        assert ledger.total <= ledger.limit
        assert ledger.total == pytest.approx(fsum(accepted), rel=1e-14)
        assert ledger.remaining >= 0
        assert ledger.spent().epsilon <= epsilon


@given(units=st.lists(st.integers(1, 2**20), min_size=1, max_size=40))
def test_many_small_charges_do_not_slip_through_rounding(units):
    """Charges of 2^-60 beside large ones would vanish in a running sum."""
    ledger = Ledger(1.0, 1e-5)
    first = gaussian(ledger.limit * (1 - 2.0**-50))
    ledger.charge(first)
    for unit in units:
        event = gaussian(ledger.limit * unit * 2.0**-60)
        try:
            ledger.charge(event)
        except BudgetExceededError:
            continue
    prices = [e.count * GaussianDP().cost(e) for e in ledger.receipt()]
    assert fsum(prices) <= ledger.limit


@every_calculus
def test_runs_of_equal_events_are_folded(calculus):
    ledger = Ledger(1.0, 1e-5, calculus=calculus)
    a, b = gaussian(1e-4), gaussian(2e-4)
    for event in (a, a, b, a, a, a):
        ledger.charge(event)
    assert [(e.sensitivity, e.count) for e in ledger.receipt()] == [
        (a.sensitivity, 2),
        (b.sensitivity, 1),
        (a.sensitivity, 3),
    ]


def test_the_receipt_alone_tells_what_was_spent():
    ledger = Ledger(1.0, 1e-5)
    for spend in Budget(ledger.limit).split([0.1] * 5 + [0.2, 0.3]):
        pay(ledger, spend)
        total = sum(e.count * (e.sensitivity / e.noise_scale) ** 2 for e in ledger.receipt())
        told = GaussianDP().epsilon(total, 1e-5)
        assert told == pytest.approx(ledger.spent().epsilon, rel=1e-9)
        # What is reported is never less than what was spent.
        assert ledger.spent().epsilon >= told


@every_calculus
@pytest.mark.parametrize(
    ("epsilon", "delta"), [(1e200, 1e-5), (1e200, 1e-300), (1e-100, 1e-120), (1e-300, 1e-100)]
)
def test_extreme_budgets_that_are_accepted_can_be_shared_out(calculus, epsilon, delta):
    ledger = Ledger(epsilon, delta, calculus=calculus)
    for spend in Budget(ledger.limit).split([1e-9, 0.1, 0.8]):
        pay(ledger, spend)
    assert 0 <= ledger.spent().epsilon <= epsilon


@pytest.mark.parametrize("seed", range(5))
def test_the_running_total_is_the_exact_sum_of_the_prices(seed):
    rng = np.random.default_rng(seed)
    ledger, prices = Ledger(1e9, 1e-5), []
    for sensitivity in 10.0 ** rng.uniform(-12, 2, size=200):
        times = int(rng.integers(1, 4))
        event = GaussianEvent(query="gradient", sensitivity=float(sensitivity), noise_scale=1.0)
        for _ in range(times):
            ledger.charge(event)
        prices.append(times * GaussianDP().cost(event))
        assert ledger.total == fsum(prices)


def test_an_infinite_price_makes_the_total_infinite_for_good():
    ledger = Ledger(inf, 1e-5)
    finite = GaussianEvent(query="gradient", sensitivity=1.0, noise_scale=1.0)
    for event in (finite, NonPrivateEvent(query="rows"), finite, NonPrivateEvent(query="more")):
        ledger.charge(event)
    assert ledger.total == inf
    assert ledger.spent().epsilon == inf


def test_events_bear_the_purpose_that_was_noted_before_them():
    ledger = Ledger(1.0, 1e-5)
    event = GaussianEvent(query="q", sensitivity=1.0, noise_scale=100.0)
    ledger.charge(event)
    ledger.note("one thing")
    ledger.charge(event)
    ledger.note(planned=2)
    ledger.charge(event)
    ledger.note("another")
    ledger.charge(event)
    assert [(e.purpose, e.count) for e in ledger.receipt()] == [
        ("", 1),
        ("one thing", 2),
        ("another", 1),
    ]
    assert event.purpose == ""
    assert ledger.total == pytest.approx(4 * 1e-4)


def test_a_finite_budget_is_never_exact_however_large():
    assert not Ledger(1e30, 1e-5).exact
    assert Ledger(1e30, 1e-5).anew().exact is False
    assert Ledger(inf, 1e-5).anew().exact
