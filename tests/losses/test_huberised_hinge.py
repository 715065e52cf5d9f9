import numpy as np
import pytest

from skdp.problem.losses import Hinge, HuberisedHinge

Y = np.repeat([0.0, 1.0], 401)
Z = np.tile(np.linspace(-5, 5, 401), 2)


@pytest.mark.parametrize("width", [1e-12, 0.1, 0.5, 2.0])
def test_exceeds_the_hinge_by_a_quarter_of_the_width_at_most_and_there_at_the_margin(width):
    excess = HuberisedHinge(width).value(Y, Z) - Hinge().value(Y, Z)
    assert excess.min() >= -1e-12
    assert excess.max() <= width / 4 + 1e-12
    at_margin = HuberisedHinge(width).value(np.ones(1), np.ones(1))
    np.testing.assert_allclose(at_margin, width / 4, rtol=1e-3)


@pytest.mark.parametrize("width", [0.1, 0.5, 2.0])
def test_away_from_the_corner_it_is_the_hinge(width):
    away = np.abs((2 * Y - 1) * Z - 1) > width
    loss = HuberisedHinge(width)
    np.testing.assert_allclose(loss.value(Y, Z)[away], Hinge().value(Y, Z)[away], atol=1e-14)
    np.testing.assert_allclose(
        loss.derivative(Y, Z)[away], Hinge().derivative(Y, Z)[away], atol=1e-14
    )


@pytest.mark.parametrize("width", [0.0, -1.0, 1e-51, 1e51, float("inf"), float("nan")])
def test_width_out_of_range_is_refused(width):
    with pytest.raises(ValueError, match="HuberisedHinge needs a width"):
        HuberisedHinge(width)
