"""Calibration of the Gaussian mechanism, and the scale of its noise."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skdp.privacy import SystemNoise
from skdp.privacy.accounting import GaussianDP, Spend
from skdp.privacy.mechanisms import GaussianMechanism
from skdp.testing import check_noise

sizes = st.floats(-100, 100).map(lambda exponent: 10.0**exponent)


def noise_of(mechanism, value, source):
    return lambda: mechanism.randomize(value, source) - value


@given(sensitivity=sizes, amount=sizes)
def test_a_release_costs_no_more_than_its_spend_and_hardly_less(sensitivity, amount):
    mechanism = GaussianMechanism.calibrated(sensitivity, Spend(amount))
    cost = GaussianDP().cost(mechanism.event("gradient"))
    assert cost <= amount
    assert cost >= amount * (1 - 1e-11)


@pytest.mark.parametrize(("sensitivity", "amount"), [(1.0, 0.01), (0.02, 4.0), (2.0**0.5, 1e-4)])
def test_the_noise_has_the_calibrated_scale(sensitivity, amount):
    mechanism = GaussianMechanism.calibrated(sensitivity, Spend(amount))
    draw = noise_of(mechanism, np.full((50, 40), 3.0), SystemNoise())
    check_noise(draw, sensitivity / amount**0.5, repeats=5, false_alarm=1e-9)
