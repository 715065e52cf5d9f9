"""The price of running sums for a person in several of their terms: by the worst places."""

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from factors_of_prefix_sums import KINDS, strategy

from skdp.privacy.accounting import GaussianDP, Spend
from skdp.privacy.mechanisms import PREFIX_SUMS

MOST = 4
every_kind = pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)


def worst_squares(C, most):
    """Largest squared norm of a sum of 1, 2, ... different columns, by trying all."""
    products = C.T @ C
    return [
        max(products[np.ix_(chosen, chosen)].sum() for chosen in combinations(range(len(C)), j))
        for j in range(1, min(most, len(C)) + 1)
    ]


@every_kind
@pytest.mark.parametrize("length", [1, 2, 3, 5, 7, 8, 12, 13])
def test_the_price_is_that_of_the_worst_places(kind, length):
    mechanism = kind(length)
    found = worst_squares(strategy(mechanism), MOST)
    exact = {"tree", "toeplitz"} & {mechanism.option()}
    for visits in range(1, MOST + 1):
        needed = max(visits / j * found[j - 1] for j in range(1, min(visits, length) + 1))
        ratio = mechanism.norm(visits) ** 2 / needed
        assert ratio >= 1 - 1e-12
        assert ratio <= (1 + 1e-8 if exact else 1.03)


@every_kind
def test_visits_to_several_streams_cost_no_more_than_to_one(kind):
    lengths, visits = (1, 3, 8), 4
    prices = []
    for length in lengths:
        mechanism = kind(length)
        squares = np.array([0.0, *worst_squares(strategy(mechanism), visits)])
        prices.append(squares / mechanism.norm(visits) ** 2)
    splits = np.ndindex(*(len(p) for p in prices))
    total = max(sum(p[j] for p, j in zip(prices, s, strict=True)) for s in splits if sum(s) <= 4)
    assert total <= 1 + 1e-9


@pytest.mark.parametrize("option", ["blt", "tree"])
def test_very_long_streams_and_very_many_visits_are_priced_by_the_sum_of_norms(option):
    for length, visits in ((10**12, 10), (10_000, 5000)):
        mechanism = PREFIX_SUMS[option](length)
        assert mechanism.norm(visits) == visits * mechanism.column_norm


@pytest.mark.parametrize("option", ["blt", "toeplitz"])
def test_terms_next_to_each_other_at_the_start_of_a_long_stream_reach_the_price(option):
    mechanism = PREFIX_SUMS[option](400)
    C = strategy(mechanism)
    for visits in (2, 5, 10, 20):
        reached = np.linalg.norm(C[:, :visits].sum(axis=1))
        assert 0.99 <= reached / mechanism.norm(visits) <= 1 + 1e-12


@every_kind
def test_more_visits_than_terms_are_priced_as_those_to_streams_to_come(kind):
    mechanism = kind(2)
    assert mechanism.norm(6) ** 2 >= 6 / 2 * worst_squares(strategy(mechanism), 2)[-1] * (1 - 1e-9)


@every_kind
def test_the_event_prices_all_visits(kind):
    mechanism = kind(9)
    scale = mechanism.noise_scale(2.0, Spend(0.3), 3)
    event = mechanism.event("sum", 2.0, scale, 3)
    assert event.max_visits == 3
    assert 0.3 * (1 - 1e-9) <= GaussianDP().cost(event) <= 0.3
    with pytest.raises(ValueError, match="needs max_visits >= 1, got 0"):
        replace(event, max_visits=0)
