"""Noise of pure epsilon: its law, its grid, its length, and its price."""

import numpy as np
import pytest
from known_noise import Silence, seeded
from scipy.stats import gamma as gamma_law
from scipy.stats import kstest

from skdp.privacy import SystemNoise
from skdp.privacy.accounting import PureDP, Spend
from skdp.privacy.mechanisms import PurePerturbation, largest_pure_jacobian, spacing

# A chance of a false alarm of one in a million in each test of a law.
SURELY = 1e-6


@pytest.mark.parametrize("p", [1, 2, 7, 60])
def test_lengths_follow_the_gamma_law_and_directions_are_even(p):
    mechanism, noise = PurePerturbation((p,), 1.0, 2.5, 0.1, 1e-3, 0.25), seeded(p)
    drawn = np.array([mechanism.perturbation(noise) for _ in range(2000)])
    lengths = np.linalg.norm(drawn, axis=1)
    assert kstest(lengths, gamma_law(p, scale=2.5).cdf).pvalue > SURELY
    # Of an even direction a coordinate has mean 0 and variance 1 / p. Six standard errors.
    directions = drawn / lengths[:, None]
    assert np.abs(directions.mean(axis=0)).max() <= 6 / np.sqrt(2000 * p)
    assert abs(np.square(directions[:, 0]).mean() - 1 / p) <= 6 * np.sqrt(2 / 2000) / p


@pytest.mark.parametrize("p", [1, 7])
def test_the_noise_of_the_answer_follows_the_same_law_on_a_public_grid(p):
    mechanism, noise = PurePerturbation((p,), 1.0, 2.5, 0.1, 1e-3, 0.25), seeded(p)
    value = np.linspace(0, 1, p)
    drawn = np.array([mechanism.randomize(value, noise) for _ in range(2000)])
    lengths = np.linalg.norm(drawn - value, axis=1)
    assert kstest(lengths, gamma_law(p, scale=0.25).cdf).pvalue > SURELY
    g = spacing(1e-3, 0.25, p)
    np.testing.assert_array_equal(np.rint(drawn / g) * g, drawn)


class Longest(Silence):
    """Normals as long as those of the operating system can be."""

    def normal(self, shape):
        return np.full(shape, 13.0)


@pytest.mark.parametrize("p", [1, 30, 4000])
def test_no_slope_that_can_be_drawn_is_longer_than_is_said(p):
    mechanism = PurePerturbation((p,), 1.0, 2.5, 0.1, 1e-3, 0.25)
    longest = np.linalg.norm(mechanism.perturbation(Longest()))
    assert 0.8 * mechanism.longest <= longest <= mechanism.longest


def test_normals_of_the_system_are_no_longer_than_thirteen(monkeypatch):
    # Words of zeros are the most extreme draw.
    monkeypatch.setattr("os.urandom", bytes)
    assert 12.9 < np.abs(SystemNoise().normal(5)).max() <= 13.2


@pytest.mark.parametrize("epsilon", [1e-10, 0.3, 1.0, 1e3, 1e9])
@pytest.mark.parametrize("share", [0.0, 0.5, 1.0])
def test_the_noise_is_the_least_for_the_spend(epsilon, share):
    spend = Spend(epsilon)
    jacobian = share * largest_pure_jacobian(spend)
    mechanism = PurePerturbation.calibrated((3,), 0.7, jacobian, 1e-5, spend)
    event = mechanism.event("q")
    price = 0.7 / event.noise_scale + jacobian + 1e-5 / event.output_noise_scale
    assert PureDP().cost(event) == event.epsilon == pytest.approx(price, rel=1e-14)
    assert epsilon * (1 - 1e-11) <= event.epsilon <= epsilon
