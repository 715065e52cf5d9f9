"""The ridge penalty in other coordinates."""

import numpy as np
import pytest

from skdp.problem.penalties import L2, Tikhonov

FACTOR = np.random.default_rng(0).normal(size=(3, 4))


@pytest.mark.parametrize("shape", [(4,), (4, 2)])
def test_the_proximal_map_solves_the_linear_system(shape):
    w = np.random.default_rng(1).normal(size=shape)
    v = Tikhonov(FACTOR).prox(w, 0.7)
    np.testing.assert_allclose(v + 0.7 * FACTOR.T @ FACTOR @ v, w, atol=1e-14)


def test_a_multiple_of_the_identity_is_a_ridge():
    w = np.random.default_rng(1).normal(size=4)
    ridge, penalty = L2(2.0), Tikhonov(np.sqrt(2.0) * np.eye(4))
    assert penalty.value(w) == pytest.approx(ridge.value(w))
    assert penalty.strong_convexity == pytest.approx(2.0)
    np.testing.assert_allclose(penalty.prox(w, 0.3), ridge.prox(w, 0.3))


def test_it_is_the_ridge_of_the_mapped_weights():
    w = np.random.default_rng(1).normal(size=4)
    assert Tikhonov(FACTOR).value(w) == pytest.approx(L2(1.0).value(FACTOR @ w))


def test_the_strong_convexity_is_the_least_curvature():
    square = np.random.default_rng(2).normal(size=(4, 4))
    penalty = Tikhonov(square)
    directions = np.linalg.eigh(square.T @ square)[1].T
    curvatures = [2 * penalty.value(v) for v in directions]
    assert penalty.strong_convexity == pytest.approx(min(curvatures))
    # Three rows leave a direction of R^4 without penalty.
    assert Tikhonov(FACTOR).strong_convexity == pytest.approx(0.0, abs=1e-14)


@pytest.mark.parametrize("factor", [0.0, 0.5, 3.0])
def test_scaled_multiplies_the_penalty(factor):
    w, penalty = np.random.default_rng(1).normal(size=4), Tikhonov(FACTOR)
    scaled = penalty.scaled(factor)
    assert scaled.value(w) == pytest.approx(factor * penalty.value(w))
    np.testing.assert_allclose(scaled.prox(w, 0.7), penalty.prox(w, 0.7 * factor))


def test_prox_leaves_its_argument_alone():
    w = np.ones(4)
    Tikhonov(FACTOR).prox(w, 0.5)
    np.testing.assert_array_equal(w, np.ones(4))


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
