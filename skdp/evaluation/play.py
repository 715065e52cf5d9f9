"""Letting a bandit act on simulated users."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..arguments import check_integers
from .simulator import Users

__all__ = ["Played", "play"]


@dataclass(frozen=True, eq=False)
class Played:
    """What happened.

    Parameters
    ----------
    actions : ndarray of int of shape (n,)
        Arms that users were given.
    rewards : ndarray of shape (n,)
        What they returned.
    regret : ndarray of shape (n,)
        Expected reward lost to the best arm of each user, summed up over users so far.
    """

    actions: np.ndarray
    rewards: np.ndarray
    regret: np.ndarray

    @property
    def mean_reward(self) -> float:
        """Mean over all users; with classes, online accuracy."""
        return float(self.rewards.mean())


def play(bandit: Any, users: Users, *, batch: int = 1) -> Played:
    """Act and learn, for some users at once or one by one.

    Parameters
    ----------
    bandit : estimator
        Has ``act`` and ``partial_fit``; its arms are 0, ..., K - 1.
    users : Users
        In the order in which they come.
    batch : int, default=1
        How many act before what they returned is learned. A release within a batch is used from the
        next batch on.

    Raises
    ------
    ValueError
        If ``batch`` is no whole number of at least 1.
    """
    check_integers("play", batch=batch)
    if batch < 1:
        raise ValueError(f"play needs a batch of at least 1 user, got {batch}.")
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
