import numpy as np
import pytest

from skdp.problem.losses import Huber, Squared


def test_small_residuals_cost_as_in_the_squared_loss():
    z, y = np.linspace(-0.5, 0.5, 11), np.zeros(11)
    np.testing.assert_allclose(Huber(0.5).value(y, z), Squared().value(y, z), rtol=1e-15)


def test_large_residuals_cost_linearly():
    # delta (|r| - delta / 2) with delta = 2 and r = 5, -5.
    np.testing.assert_allclose(Huber(2.0).value(np.zeros(2), np.array([5.0, -5.0])), 8.0)


@pytest.mark.parametrize("delta", [0.0, -1.0, 1e-60, 1e60, float("inf"), float("nan")])
def test_delta_outside_its_range_is_refused(delta):
    with pytest.raises(ValueError, match="Huber needs a delta"):
        Huber(delta)
