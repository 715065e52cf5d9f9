import numpy as np
import pytest
from scipy.optimize import brentq, minimize

from skdp.problem.constraints import L1Ball


def test_projection_agrees_with_thresholds_found_by_root_finding():
    """The projection is soft thresholding at the level that brings the norm to the radius."""
    rng = np.random.default_rng(1)
    for d in (1, 3, 50):
        for radius in (0.1, 1.0):
            w = 2 * radius * np.sign(rng.normal(size=d)) + rng.normal(size=d)
            size = np.abs(w)
            if size.sum() <= radius:
                continue
            level = brentq(
                lambda t, size=size, radius=radius: np.maximum(size - t, 0).sum() - radius,
                0,
                size.max(),
                xtol=1e-15,
            )
            expected = np.sign(w) * np.maximum(size - level, 0)
            np.testing.assert_allclose(L1Ball(radius).project(w), expected, atol=1e-13)


def test_projection_agrees_with_a_general_solver():
    rng = np.random.default_rng(2)
    for _ in range(5):
        w = rng.normal(size=4)
        # w = u - v with non-negative u and v, whose sum is bounded.
        found = minimize(
            lambda uv, w=w: 0.5 * np.sum((uv[:4] - uv[4:] - w) ** 2),
            np.full(8, 0.01),
            jac=lambda uv, w=w: np.concatenate([uv[:4] - uv[4:] - w, w - uv[:4] + uv[4:]]),
            bounds=[(0, None)] * 8,
            constraints={"type": "ineq", "fun": lambda uv: 0.5 - uv.sum()},
            method="SLSQP",
            options={"ftol": 1e-14, "maxiter": 500},
        )
        np.testing.assert_allclose(L1Ball(0.5).project(w), found.x[:4] - found.x[4:], atol=1e-5)


def test_projection_of_points_inside_is_bitwise_the_identity():
    w = np.array([0.1, -0.2, 0.3])
    np.testing.assert_array_equal(L1Ball(1.0).project(w), w)


def test_small_entries_become_exactly_zero():
    np.testing.assert_array_equal(L1Ball(1.0).project(np.array([-5.0, 1.0, 0.0])), [-1.0, 0.0, 0.0])


def test_vertices_are_the_positive_ones_first():
    ball = L1Ball(3.0)
    np.testing.assert_array_equal(
        [ball.vertex(j, 2) for j in range(4)], [[3, 0], [0, 3], [-3, 0], [0, -3]]
    )


@pytest.mark.parametrize("radius", [0.0, -1.0, float("inf"), float("nan")])
def test_radius_that_is_not_positive_and_finite_is_refused(radius):
    with pytest.raises(ValueError, match="L1Ball needs a radius"):
        L1Ball(radius)
