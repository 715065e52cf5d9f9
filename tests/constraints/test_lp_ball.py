import numpy as np
import pytest
from scipy.optimize import minimize

from skdp.problem.constraints import L2Ball, LpBall


@pytest.mark.parametrize("p", [1.01, 1.3, 1.9, 2.5, 4.0, 60.0])
@pytest.mark.parametrize("size", [1.1, 3.0, 1e4])
def test_projection_meets_the_conditions_of_optimality(p, size):
    """w - v is a positive multiple of the gradient of ``||v||_p^p``, and v is on the sphere."""
    rng = np.random.default_rng(0)
    w = rng.normal(size=30)
    w *= size / (np.abs(w) ** p).sum() ** (1 / p)
    v = LpBall(1.0, p).project(w)
    assert (np.abs(v) ** p).sum() == pytest.approx(1, abs=1e-12)
    assert np.all(v * w >= 0)
    assert np.all(np.abs(v) <= np.abs(w) * (1 + 1e-12))
    # At p near 1, powers of entries that vanish are not to be compared one by one.
    normal = np.abs(v) ** (p - 1)
    c = (np.abs(w - v) @ normal) / (normal @ normal)
    # Rescaling to the sphere moves entries by rounding, and their powers by p - 1 times it.
    np.testing.assert_allclose(np.abs(w - v), c * normal, atol=1e-9 * np.abs(w).max())


def test_projection_agrees_with_a_general_solver():
    rng = np.random.default_rng(1)
    for p in (1.2, 1.5, 3.0):
        w = rng.normal(size=4)
        found = minimize(
            lambda v, w=w: 0.5 * np.sum((v - w) ** 2),
            0.1 * w,
            jac=lambda v, w=w: v - w,
            constraints={"type": "ineq", "fun": lambda v, p=p: 0.5**p - np.sum(np.abs(v) ** p)},
            method="SLSQP",
            options={"ftol": 1e-14, "maxiter": 500},
        )
        np.testing.assert_allclose(LpBall(0.5, p).project(w), found.x, atol=2e-4)


def test_with_p_2_it_is_the_euclidean_ball():
    rng = np.random.default_rng(2)
    for w in rng.normal(size=(20, 5)) * 3:
        np.testing.assert_allclose(LpBall(1.5, 2.0).project(w), L2Ball(1.5).project(w), atol=1e-13)


def test_huge_and_tiny_entries_are_no_trouble():
    for p in (1.001, 3.0, 500.0):
        ball = LpBall(1.0, p)
        far = ball.project(np.array([1e12, -1.0, 1e-200, 0.0]))
        assert far[0] == pytest.approx(1)
        assert np.all(np.isfinite(far))
        assert far[3] == 0
        assert ball.contains(far)
    # At p close to 1 the ball is close to the l1 ball, which sets small entries to zero.
    np.testing.assert_allclose(LpBall(1.0, 1.001).project(np.array([5.0, 0.1])), [1, 0], atol=1e-9)


@pytest.mark.parametrize("radius", [0.0, -1.0, float("inf"), float("nan")])
def test_radius_that_is_not_positive_and_finite_is_refused(radius):
    with pytest.raises(ValueError, match="LpBall needs a radius"):
        LpBall(radius, 1.5)


@pytest.mark.parametrize("p", [1.0, 0.5, 1e7, float("inf"), float("nan")])
def test_exponent_outside_its_range_is_refused(p):
    with pytest.raises(ValueError, match="LpBall needs an exponent"):
        LpBall(1.0, p)


@pytest.mark.parametrize("p", [1.000001, 1.5, 2.0])
def test_far_points_come_to_a_tiny_ball(p):
    v = LpBall(1e-307, p).project(np.array([1e6, -1.0, 0.0]))
    np.testing.assert_allclose(v / 1e-307, [1.0, 0.0, 0.0], atol=1e-5)
