"""Rounds of gossip: averaging among neighbours, by Metropolis weights, and who takes part."""

from __future__ import annotations

from math import ceil, sqrt

import numpy as np
import scipy.sparse as sp

from .topology import Topology

# Standard deviations by which a node may be active more often than on average.
_DEVIATIONS = 4.0


class Round:
    r"""One exchange among the nodes that are active; the others keep what they have.

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
        The nodes that take part and ask their rows, in increasing order.
    """

    def __init__(self, n_nodes: int, edges: np.ndarray | None, active: np.ndarray) -> None:
        self.edges, self.active = edges, active
        self._n_nodes = n_nodes
        self._weights: sp.csr_array | None = None
        if edges is not None:
            self._weights = _metropolis(n_nodes, edges)[active]

    def mix(self, values: np.ndarray) -> None:
        """Overwrite what the nodes hold, (n_nodes, ...) and contiguous, with what they get."""
        if self._weights is None:
            values[self.active] = values[self.active].mean(axis=0)
            return
        flat = values.reshape(self._n_nodes, -1)
        flat[self.active] = self._weights @ flat

    def matrix(self) -> np.ndarray:
        """The weights, (n_nodes, n_nodes)."""
        weights = np.eye(self._n_nodes)
        self.mix(weights)
        return weights


def most_activations(rounds: int, n_active: int, n_nodes: int, schedule: str) -> int:
    """Largest number of rounds in which a node can be active, known before anything is drawn.

    Parameters
    ----------
    rounds, n_active, n_nodes, schedule
        As for :func:`draw_rounds`.
    """
    mean = rounds * min(1.0, n_active / n_nodes)
    if schedule == "round_robin":
        # Sweeps of all nodes, of which the last may be cut short.
        return ceil(mean)
    share = mean / rounds
    return min(rounds, ceil(mean + _DEVIATIONS * sqrt(mean * (1 - share)) + 1))


def draw_rounds(
    rounds: int,
    n_active: int,
    n_nodes: int,
    schedule: str,
    topology: Topology,
    dropout: float,
    public_rng: np.random.Generator,
) -> list[Round]:
    """The whole schedule.

    Parameters
    ----------
    rounds : int
        Number of rounds.
    n_active : int
        Nodes that are active in each.
    n_nodes : int
        Number of nodes.
    schedule : {'round_robin', 'random', 'edges'}
        Everyone once before anyone again, in an order that is shuffled for each sweep; any set of
        nodes with the same probability; or the ends of ``n_active / 2`` random edges, which alone
        talk. With the last two a node that has been active very often is left out from then on.
    topology : Topology
        Who may talk to whom.
    dropout : float
        Probability with which an active node fails before it has sent anything. The others go on
        without it.
    public_rng : Generator
        Public randomness.
    """
    graph = None if topology.complete else topology.edges(n_nodes, public_rng)
    left = np.full(n_nodes, most_activations(rounds, n_active, n_nodes, schedule))
    everyone = np.arange(n_nodes)
    always: Round | None = None
    queue = np.empty(0, dtype=np.intp)
    out = []
    for _ in range(rounds):
        edges = graph
        if schedule == "edges":
            edges = _some_edges(graph, n_active, n_nodes, public_rng)
            active = np.unique(edges)
        elif n_active == n_nodes:
            active = everyone
        elif schedule == "random":
            active = np.sort(public_rng.choice(n_nodes, size=n_active, replace=False))
        else:
            if queue.size < n_active:
                fresh = public_rng.permutation(n_nodes)
                # Who is still in the queue comes first, and not twice in one round.
                fresh = np.concatenate(
                    [fresh[~np.isin(fresh, queue)], fresh[np.isin(fresh, queue)]]
                )
                queue = np.concatenate([queue, fresh])
            active, queue = np.sort(queue[:n_active]), queue[n_active:]
        active = active[left[active] > 0]
        if dropout:
            active = active[public_rng.uniform(size=active.size) >= dropout]
        left[active] -= 1
        if active.size == n_nodes and schedule != "edges":
            always = always or Round(n_nodes, edges, active)
            out.append(always)
            continue
        if edges is not None:
            edges = among(edges, active, n_nodes)
        out.append(Round(n_nodes, edges, active))
    return out


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


def _some_edges(
    graph: np.ndarray | None, n_active: int, n_nodes: int, public_rng: np.random.Generator
) -> np.ndarray:
    """Different edges, each set of them with the same probability."""
    n_edges = n_nodes * (n_nodes - 1) // 2 if graph is None else len(graph)
    chosen = public_rng.choice(n_edges, size=min(n_edges, max(1, n_active // 2)), replace=False)
    if graph is not None:
        return graph[np.sort(chosen)]
    # The pair (i, j), i < j, has the number j (j - 1) / 2 + i.
    j = ((1 + np.sqrt(1 + 8.0 * chosen)) / 2).astype(np.intp)
    j -= j * (j - 1) // 2 > chosen
    return np.column_stack([chosen - j * (j - 1) // 2, j])


def _metropolis(n_nodes: int, edges: np.ndarray) -> sp.csr_array:
    degree = np.bincount(edges.ravel(), minlength=n_nodes)
    weight = 1.0 / (1 + degree[edges].max(axis=1, initial=0))
    i, j = edges[:, 0], edges[:, 1]
    kept = 1.0 - np.bincount(edges.ravel(), np.repeat(weight, 2), minlength=n_nodes)
    here = np.arange(n_nodes)
    entries = np.concatenate([weight, weight, kept])
    rows, columns = np.concatenate([i, j, here]), np.concatenate([j, i, here])
    return sp.coo_array((entries, (rows, columns)), (n_nodes, n_nodes)).tocsr()
