"""Public facts of a contextual bandit."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import inf

import numpy as np

from ..privacy.adjacency import Adjacency
from .contexts import ContextBounds
from .losses import Loss


@dataclass(frozen=True)
class BanditProblem:
    """One linear score for each arm, over contexts that all arms share; public facts alone.

    Rewards are mapped linearly from their public bounds to [-1, 1]. With the squared loss the score
    of an arm estimates its mapped reward; with the logistic loss it is the logit of the reward
    mapped to [0, 1].

    Parameters
    ----------
    n_arms : int
        Number of arms K.
    n_features : int
        Number of features d of a context.
    horizon : int
        Number of users T.
    loss : Loss
        Squared or logistic.
    contexts : ContextBounds
        What contexts are brought to.
    epsilon, delta : float
        The whole budget.
    adjacency : Adjacency, default=Adjacency.REPLACE_ONE
        Neighbouring relation between streams.
    initial : ndarray of shape (K, p), optional
        Weights that were released before, of other users: public.
    """

    n_arms: int
    n_features: int
    horizon: int
    loss: Loss
    contexts: ContextBounds
    epsilon: float
    delta: float
    adjacency: Adjacency = Adjacency.REPLACE_ONE
    # Where one starts is not part of what is to be learned.
    initial: np.ndarray | None = field(default=None, compare=False)

    @property
    def n_rows(self) -> int:
        """Length p of a bounded row."""
        return self.contexts.n_rows(self.n_features)

    @property
    def logistic(self) -> bool:
        """True if scores are logits."""
        return self.loss.log_odds

    def derivative(self, y: np.ndarray, z: np.ndarray, clip: float = inf) -> np.ndarray:
        """Derivative of the loss in the score, clipped to ``[-clip, clip]``.

        Parameters
        ----------
        y : ndarray of shape (n,)
            Mapped rewards in [-1, 1].
        z : ndarray of shape (n,)
            Scores of the arms that were pulled.
        clip : float, default=inf
            Bound on each entry.

        Returns
        -------
        ndarray of shape (n,)
            A fresh array; entry i depends on ``y[i]`` and ``z[i]`` alone.
        """
        return self.loss.clipped_derivative(0.5 + 0.5 * y if self.logistic else y, z, clip)

    def mapped_rewards(self, scores: np.ndarray) -> np.ndarray:
        """Estimated rewards in units in which the bounds are -1 and 1, from scores."""
        # The hyperbolic tangent of z / 2 is twice the logistic function of z, less one.
        return np.tanh(0.5 * scores) if self.logistic else scores
