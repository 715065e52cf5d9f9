"""The square root of the matrix of running sums."""

from math import log, pi

import numpy as np
import pytest
from factors_of_prefix_sums import landau, max_error, rms_error
from scipy.signal import fftconvolve

from skdp.privacy import SeededNoise
from skdp.privacy.mechanisms import Toeplitz


@pytest.mark.parametrize(("n", "largest", "typical"), [(1000, 3.27, 3.10), (10_000, 4.00, 3.84)])
def test_errors_are_those_of_the_square_root(n, largest, typical):
    mechanism = Toeplitz(n)
    assert max_error(mechanism) == pytest.approx(np.sum(landau(n) ** 2))
    assert max_error(mechanism) == pytest.approx(largest, abs=0.005)
    assert rms_error(mechanism) == pytest.approx(typical, abs=0.005)


@pytest.mark.parametrize("n", [100, 10_000, 1_000_000])
def test_the_largest_error_is_the_constant_of_landau(n):
    """``(log(n) + Euler's constant + 4 log 2) / pi``, up to ``O(1 / n)`` (Watson, 1930)."""
    expected = (log(n) + np.euler_gamma + 4 * log(2)) / pi
    assert max_error(Toeplitz(n)) == pytest.approx(expected, abs=0.1 / n + 1e-8)


@pytest.mark.parametrize("n", [1000, 4096, 5001])
def test_cut_into_squares_it_is_the_whole_convolution(n):
    """Lengths that use both ways of convolving, and that end inside a square."""
    z = np.random.default_rng(5).standard_normal((n, 3))
    noise = Toeplitz(n).open(3, 2.0, SeededNoise(np.random.default_rng(5)))
    found = np.array([noise.next() for _ in range(n)])
    expected = 2 * fftconvolve(z, landau(n)[:, np.newaxis], axes=0)[:n]
    np.testing.assert_allclose(found, expected, atol=1e-11)
