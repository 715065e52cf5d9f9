"""The baselines of the bandit benchmark have the noise that they say, and its tables run."""

import sys
from math import sqrt

import numpy as np
import pytest

from skdp.privacy.accounting import gdp
from skdp.privacy.mechanisms import Toeplitz, Tree

T, K, D = 1000, 2, 3


@pytest.fixture
def bandit(piece):
    return piece("bandit")


@pytest.mark.parametrize(("noise", "mechanism"), [("tree", Tree), ("toeplitz", Toeplitz)])
@pytest.mark.parametrize("t", [1, 512, 999])
def test_noise_of_the_baselines_is_that_of_the_mechanisms(bandit, noise, mechanism, t):
    model = bandit.LinUCB(K, D, T, 1.0, noise, np.random.default_rng(0))
    model.t = t
    added, scale = model.added()
    mu = gdp.mu(1.0, T**-1.1)
    expected = sys.modules["linear_ucb"].SENSITIVITY / mu * mechanism(T).errors(np.array([t]))[0]
    assert model.unit * scale == pytest.approx(expected, rel=0.01)
    draws = []
    for _ in range(400):
        model = bandit.LinUCB(K, D, T, 1.0, noise, model.rng)
        model.t = t
        draws.append(model.added()[0])
    spread = np.std(draws, axis=0)
    assert spread[:, :, D] == pytest.approx(scale, rel=0.2)
    assert spread[:, range(D), range(D)] == pytest.approx(scale, rel=0.2)
    assert spread[:, 0, 1] == pytest.approx(scale / sqrt(2), rel=0.2)
    np.testing.assert_array_equal(added[:, :, :D], added[:, :, :D].transpose(0, 2, 1))


def test_noise_of_the_square_root_is_correlated_over_looks(bandit):
    model = bandit.LinUCB(1, 1, 50, 1.0, "toeplitz", np.random.default_rng(0))
    for t in (10, 11, 40):
        model.t = t
        model.added()
    ones = np.tril(np.ones((50, 50)))
    column = sys.modules["linear_ucb"].square_root(50)
    root = np.tril(column[np.abs(np.subtract.outer(range(50), range(50)))])
    np.testing.assert_allclose(root @ root, ones, atol=1e-12)
    at = np.array([9, 10, 39])
    np.testing.assert_allclose(model.root @ model.root.T, (root @ root.T)[np.ix_(at, at)])


def test_without_noise_the_baseline_learns(bandit):
    users = bandit.linear_users(T, D, K, np.random.default_rng(0))
    model = bandit.LinUCB(K, D, T, 1.0, "none", np.random.default_rng(0), half_width=2.0, bonus=0.0)
    done = bandit.run(("synthetic", "x", "not private", None, 0), users, lambda: model)
    assert done.value < 10
    assert len(done.curve) == 60
