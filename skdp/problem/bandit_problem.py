"""Public facts of a contextual bandit, and the bounds that its contexts are brought to."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import hypot, sqrt

import numpy as np

from ..privacy.adjacency import Adjacency
from .losses import Loss


@dataclass(frozen=True)
class ContextBounds:
    """Bounds that turn a context into a bounded row, a function of that context alone.

    Contexts longer than ``bound`` in l2 are scaled down to it, and rows are in the unit ball; or
    the entries of contexts are clipped to ``[-bound, bound]``, and rows are in the unit cube.

    Parameters
    ----------
    bound : float
        What contexts are brought to, in their own units.
    intercept_scaling : float
        Value of the constant entry behind the intercept, in units of the bound; 0 adds none.
    entries : bool, default=False
        Whether contexts are bounded entry by entry.
    """

    bound: float
    intercept_scaling: float
    entries: bool = False

    def n_rows(self, n_features: int) -> int:
        """Length p of a bounded row: one more than the features with an intercept."""
        return n_features + bool(self.intercept_scaling)

    def longest(self, n_features: int) -> float:
        """Bound on the l2 norm of bounded rows."""
        return sqrt(self.n_rows(n_features)) if self.entries else 1.0

    @property
    def unit(self) -> float:
        """Size, in the units of contexts, that bounded contexts are divided by.

        It is the largest norm of a context with its constant entry, or the larger of the bound on
        entries and the constant entry.
        """
        constant = self.intercept_scaling
        return self.bound * (max(1.0, constant) if self.entries else hypot(1.0, constant))

    def rows(self, X: np.ndarray) -> np.ndarray:
        """Bounded rows of finite contexts.

        Parameters
        ----------
        X : ndarray of shape (n, d)
            Contexts in double precision.

        Returns
        -------
        ndarray of shape (n, p)
            Rows within the unit ball or cube, up to rounding; huge contexts may count as zero.
        """
        n, d = X.shape
        out = np.empty((n, self.n_rows(d)))
        bounded = out[:, :d]
        if self.entries:
            # Several times as fast as clip for few rows.
            np.maximum(X, -self.bound, out=bounded)
            np.minimum(bounded, self.bound, out=bounded)
            bounded /= self.unit
        else:
            # What overflows, without a word from einsum, has an infinite norm and counts as zero.
            norms = np.sqrt(np.einsum("ij,ij->i", X, X))
            shrink = self.bound / np.maximum(norms, self.bound)
            np.multiply(X, shrink[:, np.newaxis] / self.unit, out=bounded)
        out[:, d:] = self._constant
        return out

    @property
    def _constant(self) -> float:
        return self.intercept_scaling * self.bound / self.unit

    def in_user_units(self, w: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Coefficients (K, d) and intercepts (K,) that act on bounded contexts like w (K, p)."""
        if not self.intercept_scaling:
            return w / self.unit, np.zeros(len(w))
        return w[:, :-1] / self.unit, w[:, -1] * self._constant


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

    @property
    def longest_row(self) -> float:
        """Bound on the l2 norm of bounded rows."""
        return self.contexts.longest(self.n_features)

    def derivative(self, y: np.ndarray, z: np.ndarray) -> np.ndarray:
        """Derivative of the loss in the score, not bounded.

        Parameters
        ----------
        y : ndarray of shape (n,)
            Mapped rewards in [-1, 1].
        z : ndarray of shape (n,)
            Scores of the arms that were pulled.

        Returns
        -------
        ndarray of shape (n,)
            A fresh array; entry i depends on ``y[i]`` and ``z[i]`` alone.
        """
        return self.loss.derivative(0.5 + 0.5 * y if self.logistic else y, z)

    def mapped_rewards(self, scores: np.ndarray) -> np.ndarray:
        """Estimated rewards in units in which the bounds are -1 and 1, from scores."""
        # The hyperbolic tangent of z / 2 is twice the logistic function of z, less one.
        return np.tanh(0.5 * scores) if self.logistic else scores
