"""Losses are those of their definitions; the battery relates value, derivative and constants."""

import numpy as np
import pytest

from skdp.problem.losses import (
    Hinge,
    Huber,
    HuberisedHinge,
    Logistic,
    OneVsRest,
    Poisson,
    Sigmoid,
    Softmax,
    Squared,
    SquaredHinge,
    Tukey,
)

Y = np.repeat([0.0, 1.0], 81)
Z = np.tile(np.linspace(-4, 4, 81), 2)
MARGIN, RESIDUAL = (2 * Y - 1) * Z, Z - Y
DEFINITIONS = {
    Hinge(): np.maximum(1 - MARGIN, 0),
    SquaredHinge(): np.maximum(1 - MARGIN, 0) ** 2,
    Logistic(): -np.log(1 / (1 + np.exp(-MARGIN))),
    Sigmoid(): 1 - 1 / (1 + np.exp(-MARGIN)),
    Squared(): RESIDUAL**2 / 2,
    Huber(0.5): np.where(abs(RESIDUAL) < 0.5, RESIDUAL**2 / 2, 0.5 * (abs(RESIDUAL) - 0.25)),
    # The biweight as published.
    Tukey(2.5): 2.5**2 / 6 * (1 - np.maximum(1 - (RESIDUAL / 2.5) ** 2, 0) ** 3),
}


@pytest.mark.parametrize(("loss", "expected"), DEFINITIONS.items(), ids=str)
def test_value_is_that_of_the_definition(loss, expected):
    np.testing.assert_allclose(loss.value(Y, Z), expected, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("width", [1e-12, 0.1, 0.5, 2.0])
def test_a_huberised_hinge_exceeds_the_hinge_by_a_quarter_of_its_width_at_the_corner_alone(width):
    loss = HuberisedHinge(width)
    excess = loss.value(Y, Z) - Hinge().value(Y, Z)
    assert excess.min() >= -1e-12
    assert excess.max() <= width / 4 + 1e-12
    np.testing.assert_allclose(loss.value(np.ones(1), np.ones(1)), width / 4, rtol=1e-3)
    np.testing.assert_allclose(excess[np.abs(MARGIN - 1) > width], 0, atol=1e-14)


@pytest.mark.parametrize("loss", [Logistic(), Poisson()], ids=str)
def test_curvature_and_mean_are_those_of_the_derivative(loss):
    h, y = 1e-6, np.zeros(Z.size)
    # The mean of counts bends where it reaches its cap.
    smooth = np.abs(Z) > 2 * h
    slope = (loss.derivative(y, Z + h) - loss.derivative(y, Z - h)) / (2 * h)
    np.testing.assert_allclose(loss.curvature(Z)[smooth], slope[smooth], atol=1e-8)
    np.testing.assert_allclose(loss.mean(Z), loss.derivative(y, Z), rtol=1e-14)


def test_the_derivative_of_the_hinge_is_a_subgradient_and_zero_at_the_corner():
    assert Hinge().derivative(np.ones(1), np.ones(1))[0] == 0
    slope = Hinge().derivative(Y, Z)
    for other in np.linspace(-5, 5, 21):
        tangent = Hinge().value(Y, Z) + slope * (other - Z)
        assert np.all(tangent <= Hinge().value(Y, np.full(Y.size, other)) + 1e-12)


@pytest.mark.parametrize("clip", [0.2, 0.75, 1.0, 2.0])
def test_clipped_losses_are_others_of_the_family(clip):
    clipped = Squared().clipped_derivative(Y, Z, clip)
    np.testing.assert_array_equal(clipped, Huber(clip).derivative(Y, Z))
    # Quadratic for margins in [1 - clip / 2, 1]: half that length is the width of a hinge whose
    # corner is at 1 - clip / 4.
    other = clip * HuberisedHinge(clip / 4).derivative(Y, Z + (2 * Y - 1) * clip / 4)
    clipped = SquaredHinge().clipped_derivative(Y, Z, clip)
    np.testing.assert_allclose(clipped, other, atol=1e-13)


def test_extreme_scores_keep_their_precision():
    far, y = np.array([50.0, -50.0]), np.array([1.0, 0.0])
    # log(1 + e^-50) is e^-50 up to a relative error of e^-50 / 2.
    np.testing.assert_allclose(Logistic().value(y, far), np.exp(-50.0), rtol=1e-14)
    assert np.all(np.abs(Sigmoid().derivative(y, -far)) < 1e-15)
    for loss in (Squared(), SquaredHinge()):
        assert loss.value(np.zeros(1), np.array([1e200]))[0] == np.inf
    for width in (1e-50, 0.5, 1e50):
        away = width * np.array([1.0, -1.0, 1e3, -1e3])
        np.testing.assert_allclose(Tukey(width).value(np.zeros(4), away), width**2 / 6, rtol=1e-12)
        np.testing.assert_array_equal(Tukey(width).derivative(np.zeros(4), away), 0)


@pytest.mark.parametrize("width", [0.0, -1.0, 1e-60, 1e60, float("inf"), float("nan")])
@pytest.mark.parametrize("kind", [Huber, HuberisedHinge, Tukey])
def test_a_width_out_of_range_is_refused(kind, width):
    with pytest.raises(ValueError, match=f"{kind.__name__} needs a (delta|width)"):
        kind(width)


@pytest.mark.parametrize("n_classes", [1, 0, -3])
@pytest.mark.parametrize("given", [(Softmax,), (OneVsRest, Hinge())], ids=str)
def test_fewer_than_two_classes_are_refused(given, n_classes):
    kind, *inner = given
    with pytest.raises(ValueError, match=f"{kind.__name__} needs n_classes of at least 2"):
        kind(*inner, n_classes)
