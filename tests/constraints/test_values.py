"""Sets are those of their definitions, and precise at extremes; the battery does the rest."""

import numpy as np
import pytest

from skdp.problem import AxisVertices
from skdp.problem.constraints import Box, L1Ball, L2Ball, LpBall, Simplex, Unconstrained


@pytest.mark.parametrize(
    ("constraint", "given", "projected"),
    [
        (Box(-1.0, 2.0), [-3.0, 0.5, 7.0], [-1.0, 0.5, 2.0]),
        (L1Ball(1.0), [0.1, -0.2, 0.3], [0.1, -0.2, 0.3]),
        (L1Ball(1.0), [-5.0, 1.0, 0.0], [-1.0, 0.0, 0.0]),
        (L2Ball(5.0), [6.0, -8.0], [3.0, -4.0]),
        (Simplex(2.0), [3.0, 1.0, -4.0], [2.0, 0.0, 0.0]),
        (Simplex(2.0), [1e6, 1e6, 1e6, 1e6], [0.5, 0.5, 0.5, 0.5]),
        # Naively, the sum 2e16 - 1 rounds to 2e16 and the projection is zero.
        (Simplex(), [1e16, 1e16, 0.0], [0.5, 0.5, 0.0]),
        (Unconstrained(), [1e300, -5.0], [1e300, -5.0]),
    ],
    ids=str,
)
def test_projection_is_the_known_one(constraint, given, projected):
    np.testing.assert_array_equal(constraint.project(np.array(given)), projected)


def test_minimisers_starts_and_vertices_are_the_known_ones():
    np.testing.assert_array_equal(Box(-1, 2).linear_minimizer(np.array([0.1, -0.1])), [-1.0, 2.0])
    np.testing.assert_allclose(L2Ball(2.0).linear_minimizer(np.array([3.0, -4.0])), [-1.2, 1.6])
    np.testing.assert_array_equal(L2Ball(2.0).linear_minimizer(np.zeros(3)), np.zeros(3))
    np.testing.assert_array_equal(Box(1.0, 2.0).start((2,)), [1.0, 1.0])
    np.testing.assert_array_equal(Box(-2.0, -1.0).start((2,)), [-1.0, -1.0])
    np.testing.assert_allclose(Simplex(3.0).start((2, 3)), np.full((2, 3), 0.5))
    corners = [AxisVertices.of(L1Ball(3.0)).point(j, (2,)) for j in range(4)]
    assert corners == [(0, 3.0), (1, 3.0), (0, -3.0), (1, -3.0)]
    assert Unconstrained().diameter(2) == np.inf
    with pytest.raises(ValueError, match="needs a bounded set, got Unconstrained; use L1Ball"):
        Unconstrained().linear_minimizer(np.ones(2))


@pytest.mark.parametrize("p", [1.01, 1.3, 1.9, 2.5, 4.0, 60.0])
@pytest.mark.parametrize("size", [1.1, 3.0, 1e4])
def test_projection_on_a_ball_meets_the_conditions_of_optimality(p, size):
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


def test_balls_of_norms_next_to_each_other_are_alike():
    rng = np.random.default_rng(2)
    for w in rng.normal(size=(20, 5)) * 3:
        np.testing.assert_allclose(LpBall(1.5, 2.0).project(w), L2Ball(1.5).project(w), atol=1e-13)
    # Small entries become zero.
    np.testing.assert_allclose(LpBall(1.0, 1.001).project(np.array([5.0, 0.1])), [1, 0], atol=1e-9)


@pytest.mark.parametrize("p", [1.000001, 1.5, 2.0, 3.0, 500.0])
def test_huge_and_tiny_entries_are_no_trouble(p):
    far = LpBall(1.0, p).project(np.array([1e12, -1.0, 1e-200, 0.0]))
    assert far[0] == pytest.approx(1)
    assert LpBall(1.0, p).contains(far)
    if p <= 2:
        tiny = LpBall(1e-307, p).project(np.array([1e6, -1.0, 0.0]))
        np.testing.assert_allclose(tiny / 1e-307, [1.0, 0.0, 0.0], atol=1e-5)


@pytest.mark.parametrize("radius", [0.0, -1.0, float("inf"), float("nan")])
@pytest.mark.parametrize("kind", [L1Ball, L2Ball, LpBall, Simplex])
def test_a_radius_that_is_not_positive_and_finite_is_refused(kind, radius):
    with pytest.raises(ValueError, match=f"{kind.__name__} needs a radius"):
        kind(radius, *([1.5] if kind is LpBall else []))


@pytest.mark.parametrize(
    ("kind", "given", "complaint"),
    [
        *((LpBall, (1.0, p), "an exponent") for p in (1.0, 0.5, 1e7, np.inf, np.nan)),
        *((Box, ends, "finite bounds") for ends in ((1, 0), (0, np.inf), (-np.inf, 0))),
        *((Box, ends, "finite bounds") for ends in ((np.nan, 1), (0, np.nan))),
    ],
)
def test_other_shapes_are_refused(kind, given, complaint):
    with pytest.raises(ValueError, match=f"{kind.__name__} needs {complaint}"):
        kind(*given)
