import numpy as np
import pytest

from skdp.problem.penalties import L1


def test_value_is_the_sum_of_absolute_entries():
    assert L1(3.0).value(np.array([[1.0, -2.0], [0.0, 1.0]])) == 12.0


def test_prox_moves_entries_towards_zero_and_stops_there():
    np.testing.assert_array_equal(
        L1(2.0).prox(np.array([4.0, -2.0, 0.5, -1.0]), 0.5), [3.0, -1.0, 0.0, 0.0]
    )


@pytest.mark.parametrize("alpha", [-1.0, float("inf"), float("nan")])
def test_strength_that_is_negative_or_not_finite_is_refused(alpha):
    with pytest.raises(ValueError, match="L1 needs an alpha"):
        L1(alpha)
