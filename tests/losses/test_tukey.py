import numpy as np
import pytest

from skdp.problem.losses import Squared, Tukey


def test_small_residuals_cost_about_as_in_the_squared_loss():
    # rho = r^2 / 2 (1 - u^2 + u^4 / 3), so the relative difference is below u^2.
    z, y = np.linspace(-0.01, 0.01, 20), np.zeros(20)
    np.testing.assert_allclose(Tukey().value(y, z), Squared().value(y, z), rtol=1e-4)


@pytest.mark.parametrize("width", [1e-50, 0.5, 1e50])
def test_large_residuals_cost_the_same_and_pull_nothing(width):
    z, y = width * np.array([1.0, -1.0, 1e3, -1e3]), np.zeros(4)
    np.testing.assert_allclose(Tukey(width).value(y, z), width**2 / 6, rtol=1e-12)
    np.testing.assert_array_equal(Tukey(width).derivative(y, z), 0)


def test_value_is_the_biweight_as_published():
    z, c = np.linspace(-3, 3, 61), 2.5
    expected = np.where(np.abs(z) <= c, c**2 / 6 * (1 - (1 - (z / c) ** 2) ** 3), c**2 / 6)
    np.testing.assert_allclose(Tukey(c).value(np.zeros(61), z), expected, atol=1e-14)


def test_steepest_where_declared():
    c = 3.0
    at = np.array([c / np.sqrt(5)])
    np.testing.assert_allclose(Tukey(c).derivative(np.zeros(1), at), Tukey(c).lipschitz, rtol=1e-14)


@pytest.mark.parametrize("width", [0.0, -1.0, 1e-51, 1e51, float("inf"), float("nan")])
def test_width_out_of_range_is_refused(width):
    with pytest.raises(ValueError, match="Tukey needs a width"):
        Tukey(width)
