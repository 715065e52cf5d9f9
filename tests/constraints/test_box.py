import numpy as np
import pytest

from skdp.problem.constraints import Box


def test_entries_are_clipped():
    np.testing.assert_array_equal(
        Box(-1.0, 2.0).project(np.array([-3.0, 0.5, 7.0])), [-1.0, 0.5, 2.0]
    )


def test_linear_minimizer_is_a_corner():
    np.testing.assert_array_equal(Box(-1, 2).linear_minimizer(np.array([0.1, -0.1])), [-1.0, 2.0])


def test_start_is_the_feasible_point_nearest_to_zero():
    np.testing.assert_array_equal(Box(1.0, 2.0).start((2,)), [1.0, 1.0])
    np.testing.assert_array_equal(Box(-2.0, -1.0).start((2,)), [-1.0, -1.0])


@pytest.mark.parametrize(
    ("low", "high"),
    [(1, 0), (0, float("inf")), (-float("inf"), 0), (float("nan"), 1), (0, float("nan"))],
)
def test_bounds_that_are_crossed_or_not_finite_are_refused(low, high):
    with pytest.raises(ValueError, match="Box needs finite bounds"):
        Box(low, high)
