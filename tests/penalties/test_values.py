"""Penalties are those of their definitions; the battery relates value, prox and constants."""

import numpy as np
import pytest

from skdp.problem.penalties import L1, L2, ElasticNet, NoPenalty, Tikhonov

W = np.array([4.0, -2.0, 0.5])


@pytest.mark.parametrize(
    ("penalty", "value", "step", "moved"),
    [
        (L1(2.0), 13.0, 0.5, [3.0, -1.0, 0.0]),
        (L2(2.0), 20.25, 0.5, [2.0, -1.0, 0.25]),
        # Thresholds at 1 * 2 * 0.5 = 1, then divides by 1 + 1.
        (ElasticNet(2.0, 0.5), 16.625, 1.0, [1.5, -0.5, 0.0]),
        (NoPenalty(), 0.0, 5.0, W),
    ],
    ids=str,
)
def test_value_and_prox_are_those_of_the_definition(penalty, value, step, moved):
    assert penalty.value(W) == value
    np.testing.assert_array_equal(penalty.prox(W, step), moved)


@pytest.mark.parametrize("alpha", [-1.0, float("inf"), float("nan")])
@pytest.mark.parametrize("kind", [L1, L2, ElasticNet])
def test_a_strength_that_is_negative_or_not_finite_is_refused(kind, alpha):
    with pytest.raises(ValueError, match=f"{kind.__name__} needs an alpha"):
        kind(alpha)


@pytest.mark.parametrize("l1_ratio", [-0.1, 1.1, float("nan")])
def test_a_share_outside_the_unit_interval_is_refused(l1_ratio):
    with pytest.raises(ValueError, match="ElasticNet needs an l1_ratio"):
        ElasticNet(1.0, l1_ratio)


# The ridge penalty in other coordinates.
FACTOR = np.random.default_rng(0).normal(size=(3, 4))


def test_tikhonov_is_the_ridge_of_the_mapped_weights():
    w = np.random.default_rng(1).normal(size=4)
    assert Tikhonov(FACTOR).value(w) == pytest.approx(L2(1.0).value(FACTOR @ w))


def test_the_strong_convexity_of_tikhonov_is_the_least_curvature():
    square = np.random.default_rng(2).normal(size=(4, 4))
    penalty = Tikhonov(square)
    directions = np.linalg.eigh(square.T @ square)[1].T
    curvatures = [2 * penalty.value(v) for v in directions]
    assert penalty.strong_convexity == pytest.approx(min(curvatures))
    # Three rows leave a direction of R^4 without penalty.
    assert Tikhonov(FACTOR).strong_convexity == pytest.approx(0.0, abs=1e-14)


@pytest.mark.parametrize("shape", [(4,), (4, 2)])
def test_a_diagonal_factor_is_the_matrix_it_stands_for(shape):
    diagonal = np.array([2.0, 0.1, 1.0, 3.0])
    short, long = Tikhonov(diagonal), Tikhonov(np.diag(diagonal))
    w = np.random.default_rng(1).normal(size=shape)
    assert short.diagonal
    assert not long.diagonal
    assert short.value(w) == pytest.approx(long.value(w))
    assert short.strong_convexity == pytest.approx(long.strong_convexity)
    np.testing.assert_allclose(short.prox(w, 0.7), long.prox(w, 0.7), atol=1e-14)
    np.testing.assert_allclose(short.scaled(2.0).prox(w, 0.7), long.prox(w, 1.4), atol=1e-14)
