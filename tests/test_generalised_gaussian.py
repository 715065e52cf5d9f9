"""The noise of Han et al. in its mended form, which the examples compare with Gaussian noise."""

from math import inf

import numpy as np
import pytest
from scipy import stats


@pytest.fixture
def noise_class(paper):
    return paper("generalised_gaussian").GeneralisedGaussian


def lengths(z, r):
    return np.linalg.norm(z, ord=r, axis=1)


@pytest.mark.parametrize(("d", "q"), [(3, 2.0), (20, 3.0), (50, inf)])
def test_squared_lengths_have_the_law_of_the_density(noise_class, d, q):
    noise = noise_class(d, q, 7.0)
    squares = lengths(noise.draw(4000, np.random.default_rng(0)), noise.exponent) ** 2
    assert stats.kstest(squares, stats.gamma(d / 2, scale=2 * 7.0**2).cdf).pvalue > 1e-3
    # The printed sampler, whose scale is 2 sigma, would be caught.
    assert stats.kstest(squares / 7.0, stats.gamma(d / 2, scale=2 * 7.0**2).cdf).pvalue < 1e-9


def test_in_l2_it_is_gaussian_noise(noise_class):
    noise = noise_class(4, 2.0, 3.0)
    assert noise.exponent == 2
    assert noise.rho(1.0) == pytest.approx(1 / (2 * 3.0**2))
    z = noise.draw(20_000, np.random.default_rng(1))
    assert stats.kstest(z[:, 0], stats.norm(scale=3.0).cdf).pvalue > 1e-3
    np.testing.assert_allclose(np.cov(z.T), 9 * np.eye(4), atol=0.4)


@pytest.mark.parametrize(("d", "q"), [(5, 2.5), (20, 3.0), (30, inf), (8, 6.0)])
def test_half_the_squared_norm_is_as_smooth_as_declared(noise_class, d, q):
    """``phi(z + h) + phi(z - h) - 2 phi(z) <= kappa ||h||_q^2``, close to equality somewhere."""
    noise, rng, largest = noise_class(d, q, 1.0), np.random.default_rng(2), 0.0
    assert 2 <= noise.exponent <= max(2.0, np.log(d))

    def phi(z):
        return lengths(z, noise.exponent) ** 2 / 2

    for scale in (1e-2, 0.3, 1.0, 3.0):
        z, h = rng.normal(size=(2, 5000, d))
        h = np.sign(h) * np.abs(h) ** rng.choice([0.0, 1.0, 5.0], size=(5000, 1))
        h *= (scale / lengths(h, q))[:, None]
        bend = (phi(z + h) + phi(z - h) - 2 * phi(z)) / lengths(h, q) ** 2
        assert bend.max() <= noise.smoothness * (1 + 1e-6)
        largest = max(largest, bend.max())
    assert largest > 0.4 * noise.smoothness


@pytest.mark.parametrize("alpha", [1.5, 2.0, 8.0])
@pytest.mark.by_day(1)
def test_the_divergence_is_at_most_what_is_charged(noise_class, alpha):
    """By quadrature in the plane, r = 2 there; and at r = 4, which the rule takes for large d."""
    grid = np.linspace(-12, 12, 601)
    Z = np.stack(np.meshgrid(grid, grid), axis=-1).reshape(-1, 2)
    for r in (2.0, 4.0):
        kappa = r - 1
        for shift in ([0.8, 0.0], [0.5, 0.5], [-0.3, 0.6]):
            s = np.array(shift)
            p, q = (-(lengths(z, r) ** 2) / 2 for z in (Z, Z - s))
            total = np.log(np.exp(p).sum())
            divergence = (np.log(np.exp(alpha * p + (1 - alpha) * q).sum()) - total) / (alpha - 1)
            # The density on a grid of step 0.04 is exact to many digits.
            assert divergence <= alpha * kappa * np.linalg.norm(s, ord=r) ** 2 / 2 * (1 + 1e-6)
    assert noise_class(2, 4.0, 1.0).exponent == 2


def test_calibration_spends_what_it_may(noise_class):
    noise = noise_class.calibrated(20, 3.0, 0.5, 0.01)
    assert noise.rho(0.5) == pytest.approx(0.01)
