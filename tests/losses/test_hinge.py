import numpy as np

from skdp.problem.losses import Hinge

Z = np.array([-2.0, 0.0, 0.5, 1.0, 3.0])


def test_rows_beyond_the_margin_cost_nothing_and_others_their_distance_from_it():
    np.testing.assert_allclose(Hinge().value(np.ones(5), Z), [3.0, 1.0, 0.5, 0.0, 0.0])
    np.testing.assert_allclose(Hinge().value(np.zeros(5), -Z), [3.0, 1.0, 0.5, 0.0, 0.0])


def test_derivative_at_the_corner_is_zero():
    np.testing.assert_array_equal(Hinge().derivative(np.ones(5), Z), [-1, -1, -1, 0, 0])
    np.testing.assert_array_equal(Hinge().derivative(np.zeros(5), -Z), [1, 1, 1, 0, 0])


def test_derivative_is_a_subgradient_everywhere():
    y, other = np.repeat([0.0, 1.0], Z.size), np.linspace(-5, 5, 101)
    z = np.tile(Z, 2)
    tangent = Hinge().value(y, z)[:, None] + Hinge().derivative(y, z)[:, None] * (
        other - z[:, None]
    )
    value = np.column_stack([Hinge().value(y, np.full(y.size, o)) for o in other])
    assert np.all(tangent <= value + 1e-12)


def test_clip_scales_the_whole_loss():
    y, z = np.repeat([0.0, 1.0], Z.size), np.tile(Z, 2)
    np.testing.assert_array_equal(
        Hinge().clipped_derivative(y, z, 0.25), 0.25 * Hinge().derivative(y, z)
    )
