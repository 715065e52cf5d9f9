"""Participation schedules: which nodes take part in a round, drawn by public randomness."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, sqrt

import numpy as np

from .mixing import Mixing, among
from .topology import Topology

# Standard deviations by which a node may be active more often than on average.
_DEVIATIONS = 4.0


@dataclass(frozen=True, eq=False)
class Round:
    """One exchange.

    Parameters
    ----------
    active : ndarray of shape (n_active,)
        Nodes that ask their rows, in increasing order.
    edges : ndarray of shape (n_edges, 2) or None
        Pairs of them that talk; None stands for all pairs.
    mixing : Mixing
        Their weights.
    """

    active: np.ndarray
    edges: np.ndarray | None
    mixing: Mixing


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
            always = always or Round(active, edges, Mixing(n_nodes, edges, active))
            out.append(always)
            continue
        if edges is not None:
            edges = among(edges, active, n_nodes)
        out.append(Round(active, edges, Mixing(n_nodes, edges, active)))
    return out


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
