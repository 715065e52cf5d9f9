"""Doubly stochastic averaging among neighbours, by Metropolis weights."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp


class Mixing:
    r"""One exchange among some of the nodes; the others keep what they have.

    Neighbours i and j average with the weight ``1 / (1 + max(deg i, deg j))``, and what is missing
    to 1 stays with the node itself (Xiao, Boyd and Kim, 2007). Rows and columns sum to 1 whatever
    the graph, and where all are neighbours this is the exact mean.

    Parameters
    ----------
    n_nodes : int
        Number of nodes.
    edges : ndarray of shape (n_edges, 2) or None
        Pairs that exchange, each once; None stands for all pairs of ``active``.
    active : ndarray of shape (n_active,)
        The nodes that take part.
    """

    def __init__(self, n_nodes: int, edges: np.ndarray | None, active: np.ndarray) -> None:
        self._n_nodes, self._active = n_nodes, active
        self._weights: sp.csr_array | None = None
        if edges is not None:
            self._weights = _metropolis(n_nodes, edges)[active]

    def mix(self, values: np.ndarray) -> None:
        """Overwrite what the nodes hold, (n_nodes, ...) and contiguous, with what they get."""
        if self._weights is None:
            values[self._active] = values[self._active].mean(axis=0)
            return
        flat = values.reshape(self._n_nodes, -1)
        flat[self._active] = self._weights @ flat

    def matrix(self) -> np.ndarray:
        """The weights, (n_nodes, n_nodes)."""
        weights = np.eye(self._n_nodes)
        self.mix(weights)
        return weights


def among(edges: np.ndarray, active: np.ndarray, n_nodes: int) -> np.ndarray:
    """The edges both ends of which are active.

    Parameters
    ----------
    edges : ndarray of shape (n_edges, 2)
        Of the whole graph.
    active : ndarray of shape (n_active,)
        Nodes.
    n_nodes : int
        Number of nodes.
    """
    awake = np.zeros(n_nodes, dtype=bool)
    awake[active] = True
    return edges[awake[edges].all(axis=1)]


def _metropolis(n_nodes: int, edges: np.ndarray) -> sp.csr_array:
    degree = np.bincount(edges.ravel(), minlength=n_nodes)
    weight = 1.0 / (1 + degree[edges].max(axis=1, initial=0))
    i, j = edges[:, 0], edges[:, 1]
    kept = 1.0 - np.bincount(edges.ravel(), np.repeat(weight, 2), minlength=n_nodes)
    here = np.arange(n_nodes)
    entries = np.concatenate([weight, weight, kept])
    rows, columns = np.concatenate([i, j, here]), np.concatenate([j, i, here])
    return sp.coo_array((entries, (rows, columns)), (n_nodes, n_nodes)).tocsr()
