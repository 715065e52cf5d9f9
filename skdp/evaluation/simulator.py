"""Simulated users, for examples, tests and benchmarks."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from ..arguments import check_integers, check_numbers, numbers_in, shown

__all__ = ["Users", "classified_users", "linear_users", "logistic_users", "sparse_users"]

# Rewards of this size can still be squared and summed up.
_LARGEST = 1e50


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
        # Where all arms are as good, the mean may be above the maximum by rounding.
        return max(0.0, float((self.means.max(axis=1) - self.means.mean(axis=1)).sum()))


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

    Raises
    ------
    ValueError
        If a number is no whole number of at least 1, or noise is not in [0, 1e50].
    """
    _check("linear_users", n=n, d=d, n_arms=n_arms)
    _check_size("linear_users", "noise", noise, 0.0)
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

    Raises
    ------
    ValueError
        If a number is no whole number of at least 1, or strength is not in [-1e50, 1e50].
    """
    _check("logistic_users", n=n, d=d, n_arms=n_arms)
    _check_size("logistic_users", "strength", strength, -_LARGEST)
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

    Raises
    ------
    ValueError
        If a number is no whole number of at least 1, relevant is above d, or noise is not in
        [0, 1e50].
    """
    _check("sparse_users", n=n, d=d, n_arms=n_arms, relevant=relevant)
    _check_size("sparse_users", "noise", noise, 0.0)
    if relevant > d:
        raise ValueError(
            f"sparse_users needs at most d relevant entries, got relevant={relevant} and d={d}."
        )
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

    Raises
    ------
    ValueError
        If X is no matrix of finite numbers, ``n_arms`` is below 1, or y is not one class a row.
    """
    _check("classified_users", n_arms=n_arms)
    contexts, labels = _plain(X), _plain(y)
    if contexts is None or contexts.ndim != 2 or not len(contexts):
        raise ValueError(
            "classified_users needs a matrix of finite numbers as X, with at least one row, got a "
            f"{type(X).__name__} of something else."
        )
    sound = labels is not None and labels.shape == (len(contexts),)
    if labels is None or not (sound and np.isin(labels, np.arange(n_arms)).all()):
        raise ValueError(
            "classified_users needs one whole number from 0 to n_arms - 1 a row as y, got others "
            f"with n_arms={n_arms}; encode the classes, for example with LabelEncoder."
        )
    right = np.eye(n_arms)[labels.astype(np.intp)]
    return Users(contexts, right, right)


def _check(who: str, **counts: int) -> None:
    check_integers(who, **counts)
    for name, count in counts.items():
        if count < 1:
            raise ValueError(f"{who} needs at least 1 for {name}, got {count}.")


def _check_size(who: str, name: str, size: float, least: float) -> None:
    check_numbers(who, **{name: size})
    if not least <= size <= _LARGEST:
        raise ValueError(f"{who} needs {name} in [{least:g}, {_LARGEST:g}], got {shown(size)}.")


def _plain(given: object) -> np.ndarray | None:
    """An array of finite numbers that can be indices, or None."""
    plain = numbers_in(given)
    return None if plain is None or not np.all(np.abs(plain) <= _LARGEST) else plain


def _unit(rows: np.ndarray) -> np.ndarray:
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)
