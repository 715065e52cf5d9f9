"""Simulated users are what they say, and playing counts what was given and lost."""

import numpy as np
import pytest
from simulated_users import (
    Users,
    classified_users,
    linear_users,
    logistic_users,
    play,
    sparse_users,
)

N, D, K = 4000, 6, 3
MAKERS = [linear_users, logistic_users, sparse_users]


def rng():
    return np.random.default_rng(0)


@pytest.mark.parametrize("make", MAKERS)
def test_rewards_vary_around_their_means(make):
    users = make(N, D, K, rng())
    assert users.X.shape == (N, D)
    assert users.rewards.shape == users.means.shape == (N, K)
    assert users.n_arms == K
    excess = (users.rewards - users.means).mean(axis=0)
    assert np.abs(excess).max() < 5 * 0.5 / np.sqrt(N)
    again = make(N, D, K, rng())
    np.testing.assert_array_equal(again.rewards, users.rewards)


def test_dense_contexts_are_unit_vectors_and_means_are_bounded():
    users = linear_users(N, D, K, rng())
    np.testing.assert_allclose(np.linalg.norm(users.X, axis=1), 1)
    assert np.abs(users.means).max() <= 1
    assert set(np.unique(logistic_users(N, D, K, rng()).rewards)) == {0.0, 1.0}


def test_sparse_means_depend_on_few_features():
    users = sparse_users(N, D, K, rng(), relevant=2)
    theta = np.linalg.lstsq(users.X, users.means, rcond=None)[0].T
    np.testing.assert_array_equal((np.abs(theta) > 1e-9).sum(axis=1), 2)
    np.testing.assert_allclose(np.abs(theta).sum(axis=1), 1)
    assert np.abs(users.X).max() <= 1


def test_naming_the_class_is_rewarded():
    users = classified_users(np.zeros((4, 2)), np.array([0, 2, 1, 2]), 3)
    np.testing.assert_array_equal(users.rewards.argmax(axis=1), [0, 2, 1, 2])
    np.testing.assert_array_equal(users.rewards.sum(axis=1), 1)
    assert users.uniform_regret == pytest.approx(4 * 2 / 3)


class Cyclic:
    """Gives arms in turn, and notes what it is told."""

    def __init__(self):
        self.seen, self.told = 0, []

    def act(self, X):
        return (self.seen + np.arange(len(X))) % K

    def partial_fit(self, X, a, r):
        self.seen += len(X)
        self.told += list(r)


@pytest.mark.parametrize("batch", [1, 7, 100])
def test_playing_counts_rewards_and_regret(batch):
    means = np.arange(20 * K, dtype=float).reshape(20, K)
    users = Users(np.zeros((20, D)), means + 0.5, means)
    bandit = Cyclic()
    played = play(bandit, users, batch=batch)
    actions = np.arange(20) % K
    np.testing.assert_array_equal(played.actions, actions)
    np.testing.assert_array_equal(played.rewards, means[np.arange(20), actions] + 0.5)
    np.testing.assert_array_equal(bandit.told, played.rewards)
    np.testing.assert_array_equal(played.regret, np.cumsum(K - 1 - actions))
    assert played.mean_reward == pytest.approx(played.rewards.mean())


def test_chance_has_no_regret_where_all_arms_are_as_good():
    means = np.full((1000, 3), 0.1)
    assert Users(means, means, means).uniform_regret == 0.0
