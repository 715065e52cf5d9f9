"""Communication graphs: undirected, with sites as nodes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from math import isqrt
from operator import index
from typing import ClassVar

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from ..validation import settle_numbers

_MOST_DRAWS = 1000


@dataclass(frozen=True)
class Topology(ABC):
    """A connected graph over any number of nodes, or over those that it was made for."""

    complete: ClassVar[bool] = False

    @abstractmethod
    def edges(self, n_nodes: int, public_rng: np.random.Generator) -> np.ndarray:
        """Pairs of neighbours (i, j), i < j, each once; shape (n_edges, 2).

        Parameters
        ----------
        n_nodes : int
            Number of nodes.
        public_rng : Generator
            Public randomness, for random graphs.

        Raises
        ------
        ValueError
            If there is no such connected graph.
        """


@dataclass(frozen=True)
class Complete(Topology):
    """Everyone talks to everyone."""

    complete: ClassVar[bool] = True

    def edges(self, n_nodes: int, public_rng: np.random.Generator) -> np.ndarray:
        return np.column_stack(np.triu_indices(n_nodes, 1))


@dataclass(frozen=True)
class Ring(Topology):
    """Everyone talks to the two next in a circle."""

    def edges(self, n_nodes: int, public_rng: np.random.Generator) -> np.ndarray:
        """Pairs of successors."""
        here = np.arange(n_nodes)
        return _tidy(np.column_stack([here, np.roll(here, -1)]))


@dataclass(frozen=True)
class Grid(Topology):
    """A rectangle, as near to a square as it gets; the last line may be shorter."""

    def edges(self, n_nodes: int, public_rng: np.random.Generator) -> np.ndarray:
        """Pairs of neighbours to the right and below."""
        width = isqrt(n_nodes - 1) + 1
        here = np.arange(n_nodes)
        right = here[(here + 1) % width != 0]
        pairs = [np.column_stack([right, right + 1]), np.column_stack([here, here + width])]
        found = np.concatenate(pairs)
        return found[found[:, 1] < n_nodes]


@dataclass(frozen=True)
class ErdosRenyi(Topology):
    """Each pair talks with a certain probability; drawn anew until all are connected.

    Parameters
    ----------
    probability : float, default=0.3
        Of an edge, in (0, 1].
    """

    probability: float = 0.3

    def __post_init__(self) -> None:
        settle_numbers(self)
        if not 0 < self.probability <= 1:
            raise ValueError(f"ErdosRenyi needs a probability in (0, 1], got {self.probability}.")

    def edges(self, n_nodes: int, public_rng: np.random.Generator) -> np.ndarray:
        """A random connected graph."""
        pairs = np.column_stack(np.triu_indices(n_nodes, 1))
        for _ in range(_MOST_DRAWS):
            drawn = pairs[public_rng.uniform(size=len(pairs)) < self.probability]
            if _connected(n_nodes, drawn):
                return drawn
        raise ValueError(
            f"ErdosRenyi needs a probability that connects {n_nodes} nodes, got "
            f"{self.probability}; take more than log(n) / n."
        )


@dataclass(frozen=True)
class Adjacent(Topology):
    """A graph of one's own.

    Parameters
    ----------
    neighbours : tuple of tuple of int
        For each node the nodes that it talks to.

    Raises
    ------
    ValueError
        If a neighbour is not a node, is the node itself, or does not talk back, or if these are no
        lists of whole numbers.
    """

    neighbours: tuple[tuple[int, ...], ...]

    def __post_init__(self) -> None:
        try:
            plain = tuple(tuple(index(j) for j in others) for others in self.neighbours)
        except TypeError:
            raise ValueError(
                "Adjacent needs for each node a tuple of the numbers of its neighbours, got "
                f"something else in a {type(self.neighbours).__name__}; for an adjacency matrix "
                "pass [np.flatnonzero(row) for row in matrix]."
            ) from None
        object.__setattr__(self, "neighbours", plain)
        n_nodes = len(self.neighbours)
        pairs = {(i, j) for i, others in enumerate(self.neighbours) for j in others}
        sound = all(0 <= j < n_nodes and i != j and (j, i) in pairs for i, j in pairs)
        if not sound:
            raise ValueError(
                "Adjacent needs for each node the numbers of other nodes that name it too, as a "
                "symmetric adjacency matrix with an empty diagonal does."
            )

    def edges(self, n_nodes: int, public_rng: np.random.Generator) -> np.ndarray:
        """The pairs that talk."""
        if n_nodes != len(self.neighbours):
            raise ValueError(
                f"Adjacent has {len(self.neighbours)} nodes and is asked about {n_nodes}; one for "
                "each site is needed."
            )
        return _connected_pairs(self.neighbours)


def _connected_pairs(neighbours: tuple[tuple[int, ...], ...]) -> np.ndarray:
    """The edges of a graph of one's own, refused if they leave a node out."""
    pairs = [(i, j) for i, others in enumerate(neighbours) for j in others if i < j]
    found = np.array(sorted(set(pairs)), dtype=np.intp).reshape(-1, 2)
    if not _connected(len(neighbours), found):
        raise ValueError(
            "Adjacent needs a connected graph; sites that are cut off learn nothing. Add the edges "
            "that are missing."
        )
    return found


def _tidy(pairs: np.ndarray) -> np.ndarray:
    """Each pair once, lower number first, without loops."""
    found = np.unique(np.sort(pairs, axis=1), axis=0)
    return found[found[:, 0] < found[:, 1]]


def _connected(n_nodes: int, edges: np.ndarray) -> bool:
    links = sp.coo_array((np.ones(len(edges)), (edges[:, 0], edges[:, 1])), (n_nodes, n_nodes))
    return bool(connected_components(links, directed=False, return_labels=False) == 1)
