"""What every kind of event has to keep, whoever counts it.

Add a kind of event to ``EXAMPLES`` and it is tested.
"""

import dataclasses
import inspect
import itertools
from math import inf, isinf

import numpy as np
import pytest

from skdp.exceptions import BudgetExceededError
from skdp.privacy import Adjacency
from skdp.privacy.accounting import (
    Calculus,
    Event,
    ExponentialEvent,
    GaussianDP,
    GaussianEvent,
    Ledger,
    NonPrivateEvent,
    ObjectivePerturbationEvent,
    PerturbedGaussianDP,
    PrefixSumEvent,
    PureDP,
    PurePerturbationEvent,
    SampledGaussianEvent,
    SearchEvent,
    Site,
    SiteGaussianEvent,
    SubsampledGaussianDP,
    ThresholdedGaussianDP,
    ThresholdEvent,
    ZeroConcentratedDP,
    events,
)


def of(kind, query, sensitivity, noise_scale, **facts):
    return kind(query=query, sensitivity=sensitivity, noise_scale=noise_scale, **facts)


REPLACE = {"sampling_rate": 1.0, "adjacency": Adjacency.REPLACE_ONE}
MESSAGE = {"part": Site("north"), "own_noise_scale": 0.1, "trust": "pairwise", "colluders": 1}
LOOSE = {"jacobian": 0.1, "output_sensitivity": 1e-6, "output_noise_scale": 1e-4}
EXACT = {"jacobian": 0.125, "output_sensitivity": 2.0**-20, "output_noise_scale": 2.0**-12}
BLT = {"factorization": "blt", "length": 1000, "column_norm": 1.8}
TREE = {"factorization": "tree", "length": 64, "column_norm": 7.0**0.5}
BEST = {"calculus": "gaussian", "published": "best", "mean_trials": 10.0}
FIVE = {"calculus": "approximate", "published": "best", "mean_trials": 5.0, "trial_delta": 1e-6}
EXAMPLES = {
    ThresholdEvent: [
        of(ThresholdEvent, "names", 1.5, 30.0, threshold_delta=1e-10),
        of(ThresholdEvent, "names", 3.0, 60.0, threshold_delta=1e-11),
    ],
    ExponentialEvent: [of(ExponentialEvent, "choice", s, b) for s, b in ((0.1, 0.7), (3.0, 60.0))],
    GaussianEvent: [
        of(GaussianEvent, "gradient", 0.02, 0.3),
        of(GaussianEvent, "histogram", 2.0**0.5, 44.0),
    ],
    NonPrivateEvent: [NonPrivateEvent(query="mean")],
    ObjectivePerturbationEvent: [
        of(ObjectivePerturbationEvent, "perturbed_minimum", 2.0, 3.0, **LOOSE)
    ],
    PrefixSumEvent: [
        of(PrefixSumEvent, "stream_term", 0.02, 0.7, **BLT),
        of(PrefixSumEvent, "moments", 3.0, 200.0, **TREE),
    ],
    PurePerturbationEvent: [
        of(PurePerturbationEvent, "perturbed_minimum", s, 4.0, **EXACT) for s in (2.0, 0.25)
    ],
    SampledGaussianEvent: [of(SampledGaussianEvent, "sampled_gradient", 0.02, 4.1, **REPLACE)],
    SearchEvent: [
        of(SearchEvent, "search", 0.2, 1.0, **BEST),
        of(SearchEvent, "search", 0.3, 1.0, **FIVE),
    ],
    SiteGaussianEvent: [of(SiteGaussianEvent, "site_gradients", 0.02, 0.3, **MESSAGE)],
}
# A rate of 1 needs no privacy loss distributions; others have tests of their own.
SUBSAMPLED = SubsampledGaussianDP(sampling_rate=1.0, releases=((400.0, 2000),))
CALCULI = [
    GaussianDP(),
    PerturbedGaussianDP(),
    PureDP(),
    SUBSAMPLED,
    ThresholdedGaussianDP(1e-10, releases=10_000),
    ZeroConcentratedDP(),
]
COUNTS = [1, 2, 3, 7, 1000]


class Unheard(Event):
    """An event that no calculus knows."""

    mechanism = "unheard"


def priced(event, calculus):
    """Whether the calculus has a price for it at all; a test elsewhere says which have none."""
    try:
        calculus.cost(event)
    except TypeError:
        return False
    return True


ALL = [event for kind in EXAMPLES.values() for event in kind]
every_event = pytest.mark.parametrize("event", ALL, ids=str)
every_calculus = pytest.mark.parametrize("calculus", CALCULI, ids=lambda c: type(c).__name__)
PRICES = [(e, c) for e in ALL for c in CALCULI if priced(e, c)]
NOISY = [(kind[0], c) for kind in EXAMPLES.values() for c in CALCULI if priced(kind[0], c)]


def prices(chosen):
    return pytest.mark.parametrize(("event", "calculus"), chosen, ids=str)


# Events that have to be most of what a ledger holds occur once.
repeatable = prices([(e, c) for e, c in PRICES if e.least_share <= 0.5])
dominant = prices([(e, c) for e, c in PRICES if e.least_share > 0.5])
every_noisy_price = prices([(e, c) for e, c in NOISY if not isinstance(e, NonPrivateEvent)])


def ledger_for(calculus, epsilon=inf):
    return Ledger(epsilon, 1e-5, calculus=calculus)


def charged(calculus, events):
    ledger = ledger_for(calculus)
    for event in events:
        ledger.charge(event)
    return ledger


def test_every_kind_of_event_has_examples():
    found = {
        thing
        for _, thing in inspect.getmembers(events, inspect.isclass)
        if issubclass(thing, Event) and thing.mechanism
    }
    assert found == set(EXAMPLES)
    assert {calculus.__class__ for calculus in CALCULI} == set(Calculus.__subclasses__())


def test_mechanisms_have_distinct_names():
    assert len({kind.mechanism for kind in EXAMPLES}) == len(EXAMPLES)


@every_event
def test_a_dictionary_of_an_event_keeps_its_mechanism(event):
    assert dataclasses.asdict(event)["mechanism"] == event.mechanism != ""


@every_event
def test_no_field_can_be_changed(event):
    for field in dataclasses.fields(event):
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(event, field.name, getattr(event, field.name))
    with pytest.raises((dataclasses.FrozenInstanceError, AttributeError, TypeError)):
        event.mechanism = "other"


@every_event
@pytest.mark.parametrize(
    "wrong",
    [{"sensitivity": v} for v in (0.0, -1.0, float("nan"))]
    + [{"noise_scale": v} for v in (-1.0, float("nan"))]
    + [{"count": v} for v in (0, -3)],
    ids=str,
)
def test_impossible_facts_are_refused(event, wrong):
    with pytest.raises(ValueError, match=f"^{type(event).__name__} (needs|has)"):
        dataclasses.replace(event, **wrong)


@every_event
def test_equal_facts_are_equal_events_and_the_kind_is_part_of_the_facts(event):
    assert dataclasses.replace(event) == event
    assert hash(dataclasses.replace(event)) == hash(event)
    facts = {f.name: getattr(event, f.name) for f in dataclasses.fields(Event) if f.init}
    for kind, (other, *_) in EXAMPLES.items():
        if kind not in (type(event), NonPrivateEvent) and not isinf(event.sensitivity):
            assert dataclasses.replace(other, **facts) != event


@repeatable
@pytest.mark.parametrize("n", COUNTS)
def test_n_at_once_equal_n_one_by_one(event, calculus, n):
    at_once = charged(calculus, [dataclasses.replace(event, count=n)])
    one_by_one = charged(calculus, [event] * n)
    assert one_by_one.total == at_once.total
    assert one_by_one.spent() == at_once.spent()
    assert one_by_one.receipt() == at_once.receipt()
    price = calculus.cost(event)
    assert at_once.total == (inf if isinf(price) else pytest.approx(n * price, rel=1e-15))


@dominant
@pytest.mark.parametrize("epsilon", [1e6, inf])
def test_an_event_that_has_to_dominate_occurs_once(event, calculus, epsilon):
    twice = dataclasses.replace(event, count=2)
    elsewhere = dataclasses.replace(event, query="another")
    for first, second in [(event, event), (event, elsewhere), (None, twice)]:
        ledger = ledger_for(calculus, epsilon)
        if first is not None:
            ledger.charge(first)
        before = ledger.receipt(), ledger.total
        with pytest.raises(BudgetExceededError, match=r"at least 51% .* Nothing was read"):
            ledger.charge(second)
        assert (ledger.receipt(), ledger.total) == before


@dominant
@pytest.mark.parametrize("first", [True, False])
def test_an_event_that_has_to_dominate_does(event, calculus, first):
    def gaussian(share):
        price = calculus.cost(event) * share / (1 - share)
        return GaussianEvent(query="gradient", sensitivity=price**0.5, noise_scale=1.0)

    def order(share):
        return (event, gaussian(share)) if first else (gaussian(share), event)

    charged(calculus, order(1 - 1.001 * event.least_share))
    with pytest.raises(BudgetExceededError, match="has to be at least"):
        charged(calculus, order(1 - 0.999 * event.least_share))


def orders(batch):
    """All orders of few events, many of more."""
    if len(batch) <= 5:
        return itertools.permutations(batch)
    rng = np.random.default_rng(0)
    return [[batch[i] for i in rng.permutation(len(batch))] for _ in range(200)]


@every_calculus
def test_order_does_not_matter(calculus):
    known = [e for kind in EXAMPLES.values() for e in kind if priced(e, calculus)]
    finite = [e for e in known if calculus.cost(e) < inf]
    assert len(finite) >= 2
    more = [dataclasses.replace(e, count=3) for e in finite if not e.least_share]
    for batch in (known, finite + more):
        ledgers = [charged(calculus, order) for order in orders(batch)]
        assert len({ledger.total for ledger in ledgers}) == 1
        assert len({ledger.spent() for ledger in ledgers}) == 1


@every_calculus
def test_non_private_means_infinite_epsilon(calculus):
    ledger = charged(calculus, [NonPrivateEvent(query="mean")])
    assert ledger.spent() == (inf, 1e-5)


@every_noisy_price
def test_no_noise_is_as_good_as_not_private(event, calculus):
    event = dataclasses.replace(event, noise_scale=0.0)
    assert calculus.cost(event) == inf
    with pytest.raises(BudgetExceededError):
        ledger_for(calculus, epsilon=100.0).charge(event)


@every_noisy_price
@pytest.mark.parametrize(("sensitivity", "noise"), [(1e300, 1e-300), (1.0, 1e-200), (inf, 1.0)])
def test_extreme_ratios_are_refused_and_not_an_arithmetic_error(
    event, calculus, sensitivity, noise
):
    event = dataclasses.replace(event, sensitivity=sensitivity, noise_scale=noise)
    with pytest.raises(BudgetExceededError):
        ledger_for(calculus, epsilon=100.0).charge(event)


@every_calculus
@pytest.mark.parametrize("epsilon", [1.0, inf])
def test_a_price_that_is_not_a_number_is_refused(calculus, epsilon):
    event = GaussianEvent(query="sum", sensitivity=inf, noise_scale=inf)
    if not calculus.gaussian:
        (event, _) = EXAMPLES[PurePerturbationEvent]
        event = dataclasses.replace(event, sensitivity=inf, noise_scale=inf)
    ledger = ledger_for(calculus, epsilon)
    with pytest.raises(BudgetExceededError):
        ledger.charge(event)
    assert ledger.receipt() == ()


@every_calculus
def test_an_unknown_event_is_refused_and_not_recorded(calculus):
    ledger = ledger_for(calculus)
    with pytest.raises(TypeError, match=f"^{type(calculus).__name__} .*price for a Unheard"):
        ledger.charge(Unheard(query="x", sensitivity=1.0, noise_scale=1.0))
    assert ledger.receipt() == ()
    assert ledger.total == 0


@pytest.mark.parametrize("event", EXAMPLES[ExponentialEvent], ids=str)
def test_gaussian_dp_refuses_the_exponential_mechanism_and_names_the_way_out(event):
    ledger = Ledger(1.0, 1e-5)
    with pytest.raises(TypeError, match=r"ZeroConcentratedDP\(\)"):
        ledger.charge(event)
    assert ledger.receipt() == ()


@pytest.mark.parametrize("event", EXAMPLES[PrefixSumEvent], ids=str)
@pytest.mark.parametrize("calculus", [GaussianDP(), ZeroConcentratedDP()], ids=str)
def test_a_stream_costs_as_one_release_of_its_terms_seen_through_the_longest_column(
    event, calculus
):
    once = GaussianEvent(
        query=event.query,
        sensitivity=event.sensitivity * event.column_norm,
        noise_scale=event.noise_scale,
    )
    assert calculus.cost(event) == calculus.cost(once)


@pytest.mark.parametrize(
    "wrong",
    [{"length": v} for v in (0, -1)] + [{"column_norm": v} for v in (0.0, -1.0, inf, float("nan"))],
    ids=str,
)
def test_a_stream_without_terms_or_norm_is_refused(wrong):
    event = EXAMPLES[PrefixSumEvent][0]
    with pytest.raises(
        ValueError, match=r"^PrefixSumEvent needs a (length|positive finite column)"
    ):
        dataclasses.replace(event, **wrong)
