"""Noisy selection: its law, its price, and what it publishes."""

from itertools import permutations
from math import exp, inf, nan, prod

import numpy as np
import pytest
from scipy import stats

from skdp.privacy.calculus import ZeroConcentratedDP
from skdp.privacy.ledger import Spend
from skdp.privacy.mechanisms.gumbel import GumbelMechanism
from skdp.privacy.randomness import SecretNoise, SeededNoise, SystemNoise

SCORES = np.array([0.3, -1.0, 1.1, 0.0])
FALSE_ALARM = 1e-9


class Silence(SecretNoise):
    def normal(self, shape):
        return np.zeros(shape)

    def gumbel(self, shape):
        return np.zeros(shape)


def peeling(scores, order):
    """Probability of exponential mechanisms, one after the other, among those that are left."""
    weights = {j: exp(u) for j, u in enumerate(scores)}
    return prod(weights[j] / sum(weights.values()) * bool(weights.pop(j)) for j in order)


@pytest.mark.parametrize("choices", [1, 2])
@pytest.mark.parametrize("scale", [0.7, 3.0])
@pytest.mark.parametrize(
    "noise", [SeededNoise(np.random.default_rng(0)), SystemNoise()], ids=["seeded", "system"]
)
def test_one_shot_is_a_sequence_of_exponential_mechanisms(choices, scale, noise):
    mechanism, draws = GumbelMechanism(1.0, scale, choices), 4000
    orders = list(permutations(range(SCORES.size), choices))
    counts = dict.fromkeys(orders, 0)
    for _ in range(draws):
        counts[tuple(mechanism.randomize(SCORES, noise).tolist())] += 1
    expected = np.array([draws * peeling(SCORES / scale, order) for order in orders])
    assert np.isclose(expected.sum(), draws)
    assert stats.chisquare(list(counts.values()), expected).pvalue > FALSE_ALARM


def test_another_scale_is_noticed_by_the_same_count():
    mechanism, noise, draws = (
        GumbelMechanism(1.0, 1.4, 1),
        SeededNoise(np.random.default_rng(1)),
        4000,
    )
    counts = np.bincount(
        [mechanism.randomize(SCORES, noise)[0] for _ in range(draws)], minlength=SCORES.size
    )
    expected = [draws * peeling(SCORES / 0.7, (j,)) for j in range(SCORES.size)]
    assert stats.chisquare(counts, expected).pvalue < FALSE_ALARM


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


@pytest.mark.parametrize("sensitivity", [0.0, -1.0, inf, nan])
def test_needs_a_positive_finite_range(sensitivity):
    with pytest.raises(ValueError, match="GumbelMechanism needs a positive finite sensitivity"):
        GumbelMechanism.calibrated(sensitivity, 1, Spend(1.0))


def test_needs_something_to_choose():
    with pytest.raises(ValueError, match="needs at least 1 choice, got 0"):
        GumbelMechanism.calibrated(1.0, 0, Spend(1.0))
