"""Decision rules: what is released of a bandit, and all that decides about the next user.

A rule is public. Given a rule, a user's action depends on the user's own context and on public
randomness that know nothing of anybody.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

# Entries of the products that exploration makes at once.
_ENTRIES = 1 << 21


@dataclass(frozen=True, eq=False)
class Rule(ABC):
    """Released weights, and how they are used to act.

    Parameters
    ----------
    w : ndarray of shape (K, p)
        Weights of the arms over bounded rows.
    """

    w: np.ndarray

    @abstractmethod
    def actions(self, V: np.ndarray, turn: int, public_rng: np.random.Generator) -> np.ndarray:
        """Arms for users, each by the own row, in the order in which they come.

        Parameters
        ----------
        V : ndarray of shape (n, p)
            Bounded rows.
        turn : int
            Number of decisions made before.
        public_rng : Generator
            Public randomness. What is drawn depends on n alone.

        Returns
        -------
        ndarray of int of shape (n,)
        """


@dataclass(frozen=True, eq=False)
class Greedy(Rule):
    """The arm with the largest score."""

    def actions(self, V: np.ndarray, turn: int, public_rng: np.random.Generator) -> np.ndarray:
        """The arm with the largest score for each user; the first of equals."""
        del turn, public_rng
        return (V @ self.w.T).argmax(axis=1)


@dataclass(frozen=True, eq=False)
class RoundRobin(Rule):
    """Round-robin: ``each`` users to every arm in turn, whatever their contexts.

    Parameters
    ----------
    w : ndarray of shape (K, p)
        Weights so far; they do not decide.
    each : int, default=1
        How many users in a row.
    """

    each: int = 1

    def actions(self, V: np.ndarray, turn: int, public_rng: np.random.Generator) -> np.ndarray:
        """The arms whose turn it is."""
        del public_rng
        return (turn + np.arange(len(V))) // self.each % len(self.w)


@dataclass(frozen=True, eq=False)
class Thompson(Rule):
    r"""The arm with the largest score after a random change of the size of its uncertainty.

    Parameters
    ----------
    w : ndarray of shape (K, p)
        Weights.
    factors : ndarray of shape (p, K, q)
        ``factors[:, k]`` is L_k, with ``L_k L_k'`` the covariance of the weights of arm k.
    scale : float
        Standard deviations by which scores are changed.
    """

    factors: np.ndarray
    scale: float

    def actions(self, V: np.ndarray, turn: int, public_rng: np.random.Generator) -> np.ndarray:
        """Arms by Thompson sampling; one normal for each user and arm."""
        del turn
        scores = V @ self.w.T
        draws = public_rng.standard_normal(scores.shape)
        p, K, q = self.factors.shape
        step = max(1, _ENTRIES // (K * q))
        for start in range(0, len(V), step):
            rows = slice(start, start + step)
            spread = (V[rows] @ self.factors.reshape(p, K * q)).reshape(-1, K, q)
            draws[rows] *= np.sqrt(np.einsum("ikj,ikj->ik", spread, spread))
        return (scores + self.scale * draws).argmax(axis=1)


@dataclass(frozen=True, eq=False)
class Preselecting(Rule):
    """Greedy among the arms that a first estimate does not rule out.

    Parameters
    ----------
    w : ndarray of shape (K, p)
        Weights that choose.
    first : ndarray of shape (K, p)
        Weights that rule out.
    margin : float
        Arms whose first estimate is within this of the best first estimate stay; infinite keeps
        all.
    """

    first: np.ndarray
    margin: float

    def actions(self, V: np.ndarray, turn: int, public_rng: np.random.Generator) -> np.ndarray:
        """The arm with the largest score among those that stay."""
        del turn, public_rng
        scores = V @ self.w.T
        if self.margin < np.inf:
            first = V @ self.first.T
            scores[first < first.max(axis=1, keepdims=True) - self.margin] = -np.inf
        return scores.argmax(axis=1)
