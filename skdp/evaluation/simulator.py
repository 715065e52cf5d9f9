"""Simulated users, for examples, tests and benchmarks."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import expit

__all__ = ["Users", "classified_users", "linear_users", "logistic_users", "sparse_users"]


@dataclass(frozen=True, eq=False)
class Users:
    """Users with contexts, and what each would return for each arm.

    Parameters
    ----------
    X : ndarray of shape (n, d)
        Contexts.
    rewards : ndarray of shape (n, K)
        What would be returned. Of each user one entry is ever seen.
    means : ndarray of shape (n, K)
        Its expectation, from which regret is counted.
    """

    X: np.ndarray
    rewards: np.ndarray
    means: np.ndarray

    @property
    def n_arms(self) -> int:
        """Number of arms."""
        return self.means.shape[1]

    @property
    def uniform_regret(self) -> float:
        """Regret of choosing arms by chance, over all users."""
        return float((self.means.max(axis=1) - self.means.mean(axis=1)).sum())


def linear_users(
    n: int, d: int, n_arms: int, rng: np.random.Generator, *, noise: float = 0.1
) -> Users:
    """Unit contexts and unit parameters, both without a preferred direction; normal noise.

    Parameters
    ----------
    n, d, n_arms : int
        Numbers of users, features and arms.
    rng : Generator
        Where they come from.
    noise : float, default=0.1
        Standard deviation of rewards around their means, which are in [-1, 1].
    """
    X = _unit(rng.normal(size=(n, d)))
    means = X @ _unit(rng.normal(size=(n_arms, d))).T
    return Users(X, means + noise * rng.normal(size=means.shape), means)


def logistic_users(
    n: int, d: int, n_arms: int, rng: np.random.Generator, *, strength: float = 4.0
) -> Users:
    """The same with rewards 0 or 1, whose log odds are ``strength`` times those means.

    Parameters
    ----------
    n, d, n_arms : int
        Numbers of users, features and arms.
    rng : Generator
        Where they come from.
    strength : float, default=4.0
        Size of log odds.
    """
    X = _unit(rng.normal(size=(n, d)))
    means = expit(strength * X @ _unit(rng.normal(size=(n_arms, d))).T)
    return Users(X, (rng.random(means.shape) < means).astype(float), means)


def sparse_users(
    n: int, d: int, n_arms: int, rng: np.random.Generator, *, relevant: int = 3, noise: float = 0.1
) -> Users:
    """Contexts uniform in the cube [-1, 1]^d, and parameters with few entries, of l1 norm 1.

    Parameters
    ----------
    n, d, n_arms : int
        Numbers of users, features and arms.
    rng : Generator
        Where they come from.
    relevant : int, default=3
        Entries of a parameter that are not zero, all of one size, with random signs.
    noise : float, default=0.1
        Standard deviation of rewards around their means, which are in [-1, 1].
    """
    X = rng.uniform(-1, 1, size=(n, d))
    theta = np.zeros((n_arms, d))
    for row in theta:
        row[rng.permutation(d)[:relevant]] = rng.choice([-1.0, 1.0], relevant) / relevant
    means = X @ theta.T
    return Users(X, means + noise * rng.normal(size=means.shape), means)


def classified_users(X: np.ndarray, y: np.ndarray, n_arms: int) -> Users:
    """A classification data set as a bandit: the reward is 1 for naming the class, else 0.

    Parameters
    ----------
    X : ndarray of shape (n, d)
        Contexts, in the order in which users come.
    y : ndarray of int of shape (n,)
        Classes from 0 to ``n_arms - 1``.
    n_arms : int
        Number of classes.
    """
    right = np.eye(n_arms)[np.asarray(y, dtype=np.intp)]
    return Users(np.asarray(X, dtype=float), right, right)


def _unit(rows: np.ndarray) -> np.ndarray:
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)
