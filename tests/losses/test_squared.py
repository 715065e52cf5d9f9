import numpy as np

from skdp.problem.losses import Huber, Squared


def test_value_is_half_the_squared_residual():
    np.testing.assert_array_equal(
        Squared().value(np.array([1.0, -2.0]), np.array([4.0, -2.0])), [4.5, 0.0]
    )


def test_value_beyond_the_largest_float_is_infinite():
    assert Squared().value(np.array([0.0]), np.array([1e200])) == np.inf


def test_clipped_squared_loss_is_huber():
    z, y = np.linspace(-5, 5, 41), np.full(41, 0.3)
    np.testing.assert_array_equal(
        Squared().clipped_derivative(y, z, 0.75), Huber(0.75).derivative(y, z)
    )
