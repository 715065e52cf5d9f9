"""Prices in mu^2 and their conversion, against the definitions and dp-accounting."""

import pytest

from skdp.privacy.accounting import (
    ExponentialEvent,
    GaussianDP,
    GaussianEvent,
    PerturbedGaussianDP,
    ZeroConcentratedDP,
)

ALL = [GaussianDP(), PerturbedGaussianDP(), ZeroConcentratedDP()]
every_calculus = pytest.mark.parametrize("calculus", ALL, ids=lambda c: type(c).__name__)


@every_calculus
@pytest.mark.parametrize(("sensitivity", "noise"), [(1.0, 2.0), (0.5, 0.125), (3.0, 3.0)])
def test_a_gaussian_release_costs_the_squared_ratio(calculus, sensitivity, noise):
    event = GaussianEvent(query="q", sensitivity=sensitivity, noise_scale=noise)
    assert calculus.cost(event) == (sensitivity / noise) ** 2


def test_a_choice_costs_an_eighth_of_the_squared_range_in_zcdp():
    event = ExponentialEvent(query="q", sensitivity=0.5, noise_scale=2.0)
    rho = ZeroConcentratedDP().cost(event) / 2
    assert rho == (0.5 / 2.0) ** 2 / 8


@every_calculus
@pytest.mark.parametrize("epsilon", [0.01, 0.3, 1.0, 8.0, 100.0])
@pytest.mark.parametrize("delta", [1e-9, 1e-5, 0.01])
def test_limit_and_epsilon_are_inverse_and_round_towards_privacy(calculus, epsilon, delta):
    limit = calculus.limit(epsilon, delta)
    assert calculus.epsilon(limit, delta) == pytest.approx(epsilon, rel=1e-9)
    assert calculus.epsilon(limit * (1 + 1e-6), delta) > epsilon
    assert calculus.limit(calculus.epsilon(1.7, delta), delta) == pytest.approx(1.7, rel=1e-9)
