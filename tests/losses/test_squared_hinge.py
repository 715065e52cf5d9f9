import numpy as np
import pytest

from skdp.problem.losses import Hinge, HuberisedHinge, SquaredHinge

Y = np.repeat([0.0, 1.0], 81)
Z = np.tile(np.linspace(-4, 4, 81), 2)


def test_value_is_the_square_of_the_hinge():
    np.testing.assert_allclose(SquaredHinge().value(Y, Z), Hinge().value(Y, Z) ** 2, rtol=1e-14)


@pytest.mark.parametrize("clip", [0.2, 1.0, 2.0])
def test_clipped_it_is_a_huberised_hinge_whose_margin_lies_lower(clip):
    # Quadratic for margins in [1 - clip / 2, 1]: half that length is the width of a hinge whose
    # corner is at 1 - clip / 4.
    other = HuberisedHinge(clip / 4).derivative(Y, Z + (2 * Y - 1) * clip / 4)
    np.testing.assert_allclose(
        SquaredHinge().clipped_derivative(Y, Z, clip), clip * other, atol=1e-13
    )


def test_value_that_exceeds_the_largest_float_is_infinite():
    assert SquaredHinge().value(np.zeros(1), np.array([1e200]))[0] == np.inf
