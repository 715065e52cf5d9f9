"""Simulated users are what they say, and playing counts what was given and lost."""

import numpy as np
import pytest
from simulated_users import Users, classified_users, play

N, D, K = 4000, 6, 3


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
