import numpy as np
import pytest

from skdp.problem.constraints import L2Ball


def test_long_vector_is_scaled_to_the_radius():
    np.testing.assert_allclose(L2Ball(1.0).project(np.array([3.0, -4.0])), [0.6, -0.8])


def test_linear_minimizer_points_away_from_the_gradient():
    np.testing.assert_allclose(L2Ball(2.0).linear_minimizer(np.array([3.0, -4.0])), [-1.2, 1.6])


def test_zero_gradient_has_a_feasible_minimizer():
    np.testing.assert_array_equal(L2Ball(2.0).linear_minimizer(np.zeros(3)), np.zeros(3))


@pytest.mark.parametrize("radius", [0.0, -1.0, float("inf"), float("nan")])
def test_radius_that_is_not_positive_and_finite_is_refused(radius):
    with pytest.raises(ValueError, match="L2Ball needs a radius"):
        L2Ball(radius)
