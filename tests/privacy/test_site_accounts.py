from math import inf, sqrt

import numpy as np
import pytest

from skdp.exceptions import BudgetExceededError
from skdp.privacy import Adjacency
from skdp.privacy.accounting import (
    GaussianEvent,
    Ledger,
    ObjectivePerturbationEvent,
    SampledGaussianEvent,
    Site,
    SubsampledGaussianDP,
    gdp,
)


def event(site, price=1e-4, count=1):
    """A Gaussian release of this price in mu^2."""
    return GaussianEvent(
        query="q", part=Site(site), sensitivity=sqrt(price), noise_scale=1.0, count=count
    )


def whole(price=1e-4):
    return GaussianEvent(query="w", sensitivity=sqrt(price), noise_scale=1.0)


def test_the_fullest_account_counts_with_what_all_were_asked():
    ledger = Ledger(1.0, 1e-5)
    ledger.charge((event("a"), event("b", 2e-4)))
    ledger.charge(whole(5e-4))
    ledger.charge((event("a"),))
    assert ledger.total == pytest.approx(7e-4)
    ledger.charge((event("a"),))
    assert ledger.total == pytest.approx(8e-4)
    # More at the other site counts only from there on.
    ledger.charge((event("b"),))
    assert ledger.total == pytest.approx(8e-4)
    ledger.charge((event("b"),))
    assert ledger.total == pytest.approx(9e-4)
    assert ledger.spent().epsilon == pytest.approx(gdp.epsilon(sqrt(9e-4), 1e-5))


def test_the_receipt_recomputes_the_spend_of_each_site():
    rng = np.random.default_rng(0)
    ledger, spent = Ledger(1e9, 1e-5), dict.fromkeys("abcd", 0.0)
    for _ in range(200):
        events = []
        for site in "abcd":
            if rng.random() < 0.5:
                price = [1e-4, 3e-4][rng.integers(2)]
                spent[site] += price
                events.append(event(site, price))
        ledger.charge(tuple(events))
    found = dict.fromkeys("abcd", 0.0)
    for e in ledger.receipt():
        found[e.part.label] += e.count * (e.sensitivity / e.noise_scale) ** 2
    assert found == pytest.approx(spent)
    assert ledger.total == pytest.approx(max(spent.values()))


@pytest.mark.parametrize("same_object", [True, False])
def test_rounds_that_repeat_are_counted_one_by_one_and_folded(same_object):
    events = tuple(event(s, p) for s, p in (("a", 1e-4), ("b", 2e-4)))
    ledger = Ledger(1.0, 1e-5)
    for k in range(1, 51):
        ledger.charge(events if same_object else (event("a", 1e-4), event("b", 2e-4)))
        assert ledger.total == pytest.approx(k * 2e-4)
    assert [(e.part.label, e.count) for e in ledger.receipt()] == [("a", 50), ("b", 50)]
    ledger.charge((event("b", 2e-4),))
    assert [(e.part.label, e.count) for e in ledger.receipt()] == [("a", 50), ("b", 51)]
    ledger.charge(events)
    assert [(e.part.label, e.count) for e in ledger.receipt()] == [("a", 51), ("b", 52)]


@pytest.mark.parametrize("same_object", [True, False])
def test_a_round_that_one_site_cannot_pay_is_recorded_for_none(same_object):
    ledger = Ledger(1.0, 1e-5)
    third = ledger.limit / 3
    events = (event("a", third / 10), event("b", third))
    for _ in range(3):
        events = events if same_object else (event("a", third / 10), event("b", third))
        ledger.charge(events)
    before = ledger.receipt(), ledger.total
    with pytest.raises(BudgetExceededError, match=r"at the site 'b'.* Nothing was read"):
        ledger.charge(events)
    assert (ledger.receipt(), ledger.total) == before
    ledger.charge((event("a", third / 10),))
    with pytest.raises(BudgetExceededError, match="Nothing was read"):
        ledger.charge(whole())


def test_an_event_of_no_site_or_two_of_one_are_refused():
    ledger = Ledger(1.0, 1e-5)
    for events in ((whole(),), (event("a"), event("a"))):
        with pytest.raises(ValueError, match="different sites"):
            ledger.charge(events)
    assert ledger.receipt() == ()


def sampled(site, count=1):
    return SampledGaussianEvent(
        query="s",
        part=Site(site),
        sensitivity=2.0,
        noise_scale=400.0,
        sampling_rate=1.0,
        adjacency=Adjacency.REPLACE_ONE,
        count=count,
    )


def test_what_is_reserved_is_reserved_for_each_site():
    calculus = SubsampledGaussianDP(sampling_rate=1.0, releases=((400.0, 3),))
    ledger = Ledger(1.0, 1e-5, calculus=calculus)
    assert ledger.spent().epsilon == 0
    for sites in ("ab", "ab", "bc"):
        ledger.charge(tuple(sampled(s) for s in sites))
    assert ledger.total == 0
    assert ledger.spent().epsilon > 0
    with pytest.raises(BudgetExceededError, match=r"reserved 3 times .* site 'b'"):
        ledger.charge((sampled("a"), sampled("b")))
    ledger.charge((sampled("a"), sampled("c")))
    with pytest.raises(BudgetExceededError, match="reserved 3 times"):
        ledger.charge(SampledGaussianEvent(**{**vars(sampled("a")), "part": None}))


def test_a_release_that_has_to_dominate_is_not_hidden_behind_sites():
    perturbed = ObjectivePerturbationEvent(
        query="p",
        sensitivity=0.1,
        noise_scale=1.0,
        jacobian=0.0,
        output_sensitivity=0.0,
        output_noise_scale=0.0,
    )
    from skdp.privacy.accounting import PerturbedGaussianDP

    ledger = Ledger(inf, 1e-5, calculus=PerturbedGaussianDP())
    ledger.charge((event("a", 0.5),))
    with pytest.raises(BudgetExceededError, match="at least 51%"):
        ledger.charge(perturbed)
    ledger = Ledger(inf, 1e-5, calculus=PerturbedGaussianDP())
    ledger.charge(perturbed)
    with pytest.raises(BudgetExceededError, match="beside a release"):
        ledger.charge((event("a"),))
