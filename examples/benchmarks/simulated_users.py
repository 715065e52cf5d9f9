"""Simulated users of a bandit, and a game in which a bandit acts on them and learns."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import expit


@dataclass(frozen=True, eq=False)
class Users:
    """Users with contexts X (n, d), and for each arm what they would return, rewards (n, K).

    Of each user one reward is ever seen. Regret is counted from ``means``, their expectations.
    """

    X: np.ndarray
    rewards: np.ndarray
    means: np.ndarray

    @property
    def n_arms(self) -> int:
        return self.means.shape[1]

    @property
    def uniform_regret(self) -> float:
        """Regret of choosing arms by chance, over all users."""
        # Where all arms are as good, the mean may be above the maximum by rounding.
        return max(0.0, float((self.means.max(axis=1) - self.means.mean(axis=1)).sum()))


@dataclass(frozen=True, eq=False)
class Played:
    """Arms that n users were given, what they returned, and the regret summed up so far."""

    actions: np.ndarray
    rewards: np.ndarray
    regret: np.ndarray

    @property
    def mean_reward(self) -> float:
        """Mean over all users; with classes, online accuracy."""
        return float(self.rewards.mean())


def linear_users(n, d, n_arms, rng, *, noise=0.1):
    """Unit contexts and unit parameters without a preferred direction; normal noise."""
    X = _unit(rng.normal(size=(n, d)))
    means = X @ _unit(rng.normal(size=(n_arms, d))).T
    return Users(X, means + noise * rng.normal(size=means.shape), means)


def logistic_users(n, d, n_arms, rng, *, strength=4.0):
    """Rewards 0 or 1, whose log odds are ``strength`` times the means of ``linear_users``."""
    X = _unit(rng.normal(size=(n, d)))
    means = expit(strength * X @ _unit(rng.normal(size=(n_arms, d))).T)
    return Users(X, (rng.random(means.shape) < means).astype(float), means)


def sparse_users(n, d, n_arms, rng, *, relevant=3, noise=0.1):
    """Contexts uniform in the cube [-1, 1]^d, and parameters with few entries, of l1 norm 1."""
    X = rng.uniform(-1, 1, size=(n, d))
    theta = np.zeros((n_arms, d))
    for row in theta:
        row[rng.permutation(d)[:relevant]] = rng.choice([-1.0, 1.0], relevant) / relevant
    means = X @ theta.T
    return Users(X, means + noise * rng.normal(size=means.shape), means)


def classified_users(X, y, n_arms):
    """A classification data set: the reward is 1 for naming the class, 0 to K - 1, else 0."""
    right = np.eye(n_arms)[y]
    return Users(X, right, right)


def play(bandit, users, *, batch=1):
    """Act and learn, for ``batch`` users at a time; a release is used from the next batch on."""
    n = len(users.X)
    actions = np.empty(n, dtype=np.intp)
    rewards, lost = np.empty(n), np.empty(n)
    for start in range(0, n, batch):
        some = slice(start, min(start + batch, n))
        X = users.X[some]
        chosen = bandit.act(X)
        here = np.arange(len(X)), chosen
        actions[some] = chosen
        rewards[some] = users.rewards[some][here]
        lost[some] = users.means[some].max(axis=1) - users.means[some][here]
        bandit.partial_fit(X, chosen, rewards[some])
    return Played(actions, rewards, np.cumsum(lost))


def _unit(rows):
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)
