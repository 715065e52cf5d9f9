import numpy as np
import pytest

from skdp.problem.penalties import L2


def test_value_is_half_the_squared_norm():
    assert L2(3.0).value(np.array([[1.0, -2.0], [0.0, 1.0]])) == 9.0


def test_prox_shrinks_in_proportion():
    np.testing.assert_array_equal(L2(2.0).prox(np.array([4.0, -2.0]), 0.5), [2.0, -1.0])


@pytest.mark.parametrize("alpha", [-1.0, float("inf"), float("nan")])
def test_strength_that_is_negative_or_not_finite_is_refused(alpha):
    with pytest.raises(ValueError, match="L2 needs an alpha"):
        L2(alpha)
