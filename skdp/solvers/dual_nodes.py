"""What the nodes of distributed dual averaging hold, and how it changes."""

from __future__ import annotations

import numpy as np

from ..constraints import Box, NonNegative, Unconstrained
from ..gossip import Mixing
from ..problem import Problem
from ..regularizers import L1, L2, ElasticNet, NoRegularizer

__all__ = ["DualNodes"]


class DualNodes:
    r"""Sums z_i of noisy gradients and iterates x_i, one of each a node.

    .. math:: x_i \leftarrow \beta x_i + (1 - \beta) \arg\min_x\;
              \langle z_i, x\rangle + c\,h(x) + \tfrac{\gamma}{2} \|x - x_0\|^2

    over the feasible set. An iterate is brought up to date when it is needed, with the weights of
    that time, so that with beta = 0 it is a function of the node's z and of t alone.

    Parameters
    ----------
    problem : Problem
        With penalty h, constraint and start x_0.
    n_nodes : int
        Number of nodes.
    momentum : float
        The share beta of the old iterate that is kept.
    """

    def __init__(self, problem: Problem, n_nodes: int, momentum: float) -> None:
        self._problem, self._momentum = problem, momentum
        self._start = problem.start()
        self.z = np.zeros((n_nodes, *self._start.shape))
        self.x = np.broadcast_to(self._start, self.z.shape).copy()
        # Maps that treat each entry by itself can be applied to all nodes at once.
        self._entrywise = isinstance(
            problem.regularizer, NoRegularizer | L1 | L2 | ElasticNet
        ) and isinstance(problem.constraint, Unconstrained | Box | NonNegative)

    def look(self, active: np.ndarray, penalty: float, gamma: float) -> np.ndarray:
        """Iterates of the active nodes, brought up to date, (n_active, ...).

        Parameters
        ----------
        active : ndarray of shape (n_active,)
            Nodes.
        penalty : float
            Weight c of the penalty h.
        gamma : float
            Weight of the distance to the start.
        """
        beta = self._momentum
        fresh = self.minimisers(self.z[active], penalty, gamma)
        self.x[active] = beta * self.x[active] + (1 - beta) * fresh if beta else fresh
        return self.x[active]

    def learn(
        self, active: np.ndarray, messages: np.ndarray, weight: float, mixing: Mixing, times: int
    ) -> None:
        """Add the messages of the active nodes, and exchange.

        Parameters
        ----------
        active : ndarray of shape (n_active,)
            Nodes.
        messages : ndarray of shape (n_active, ...)
            Noisy gradients.
        weight : float
            Of these gradients in the sums.
        mixing : Mixing
            Who averages with whom.
        times : int
            How often.
        """
        self.z[active] += weight * messages
        for _ in range(times):
            mixing.mix(self.z)

    def minimisers(self, z: np.ndarray, penalty: float, gamma: float) -> np.ndarray:
        """The argmin above for each of some sums z.

        Parameters
        ----------
        z : ndarray of shape (k, ...)
            Sums.
        penalty, gamma : float
            Weights as in ``look``.
        """
        problem, moved = self._problem, self._start - z / gamma
        if self._entrywise:
            # With nodes last: what is not penalised is told by the first axis.
            along = np.moveaxis(moved, 0, -1)
            return np.moveaxis(problem.project(problem.prox(along, penalty / gamma)), -1, 0)
        return np.stack([problem.project(problem.prox(v, penalty / gamma)) for v in moved])
