"""Noisy selection: its law, its price, and what it publishes."""

from itertools import permutations
from math import exp, prod

import numpy as np
import pytest
from known_noise import Silence, seeded
from scipy import stats

from skdp.privacy import SystemNoise
from skdp.privacy.accounting import Spend, ZeroConcentratedDP
from skdp.privacy.mechanisms import GumbelMechanism

SCORES = np.array([0.3, -1.0, 1.1, 0.0])
FALSE_ALARM = 1e-9


def peeling(scores, order):
    """Probability of exponential mechanisms, one after the other, among those that are left."""
    weights = {j: exp(u) for j, u in enumerate(scores)}
    return prod(weights[j] / sum(weights.values()) * bool(weights.pop(j)) for j in order)


@pytest.mark.parametrize("choices", [1, 2])
@pytest.mark.parametrize("scale", [0.7, 3.0])
@pytest.mark.parametrize("noise", [seeded(0), SystemNoise()], ids=["seeded", "system"])
def test_one_shot_is_a_sequence_of_exponential_mechanisms(choices, scale, noise):
    mechanism, draws = GumbelMechanism(1.0, scale, choices), 4000
    orders = list(permutations(range(SCORES.size), choices))
    counts = dict.fromkeys(orders, 0)
    for _ in range(draws):
        counts[tuple(mechanism.randomize(SCORES, noise).tolist())] += 1
    expected = np.array([draws * peeling(SCORES / scale, order) for order in orders])
    assert np.isclose(expected.sum(), draws)
    assert stats.chisquare(list(counts.values()), expected).pvalue > FALSE_ALARM


@pytest.mark.parametrize("choices", [1, 7, 500])
@pytest.mark.parametrize("amount", [1e-12, 0.3, 1e6])
def test_costs_what_may_be_spent_and_no_more(choices, amount):
    event = GumbelMechanism.calibrated(2.5, choices, Spend(amount)).event("q")
    price = event.count * ZeroConcentratedDP().cost(event)
    assert (event.mechanism, event.query, event.count) == ("exponential", "q", choices)
    assert amount * (1 - 1e-9) <= price <= amount


def test_without_noise_the_largest_come_first_and_ties_go_to_the_first_index():
    scores = np.array([1.0, 3.0, 3.0, -2.0, 0.5])
    answer = GumbelMechanism(1.0, 2.0, 3).randomize(scores, Silence())
    np.testing.assert_array_equal(answer, [1, 2, 0])
    everything = GumbelMechanism(1.0, 2.0, 9).randomize(scores, Silence())
    np.testing.assert_array_equal(everything, [1, 2, 0, 4, 3])


MANY = np.random.default_rng(5).normal(size=3000)
# Four that stand out, in the first block, in others and in the last one, which is short.
LIKELY = [3, 1500, 1501, 2999]
MANY[LIKELY] = [9.0, 8.5, 9.5, 8.0]


def chi_square_of_many(mechanism, scale, noise):
    """Of the four that stand out and all others together, over 4000 draws."""
    counts = np.zeros(5)
    for _ in range(4000):
        (j,) = mechanism.randomize(MANY, noise)
        counts[LIKELY.index(j) if j in LIKELY else 4] += 1
    weights = np.exp(MANY / scale)
    expected = np.append(weights[LIKELY], weights.sum() - weights[LIKELY].sum())
    return stats.chisquare(counts, 4000 * expected / weights.sum()).pvalue


@pytest.mark.parametrize("scale", [1.0, 1.5])
@pytest.mark.parametrize("noise", [seeded(0), SystemNoise()], ids=["seeded", "system"])
@pytest.mark.by_day(1)
def test_one_of_many_is_chosen_in_two_stages_by_the_same_law(scale, noise):
    assert chi_square_of_many(GumbelMechanism(1.0, scale, 1), scale, noise) > FALSE_ALARM


class Counting(Silence):
    """Counts the random numbers that are drawn."""

    def __init__(self):
        self.drawn, self.source = 0, np.random.default_rng(0)

    def gumbel(self, shape):
        self.drawn += int(np.prod(shape))
        return self.source.gumbel(size=shape)


def test_a_choice_among_many_draws_about_as_many_numbers_as_twice_their_root():
    noise = Counting()
    GumbelMechanism(1.0, 1.0, 1).randomize(np.zeros(10_000), noise)
    assert noise.drawn == 200


@pytest.mark.parametrize("size", [1e-300, 1e300])
def test_scores_of_any_size_choose_the_best_of_many(size):
    scores = size * np.linspace(-1, 1, 2000)
    scores[77] = 2 * size
    mechanism = GumbelMechanism(1.0, 1e-3 * size, 1)
    assert mechanism.randomize(scores, seeded(0)) == [77]
