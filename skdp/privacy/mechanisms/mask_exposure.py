r"""Noise that cancels: what masks between pairs of sites are worth against curious ones.

What is released
----------------
Sites i that take part in a round publish ``m_i = v_i + s n_i + r s sum_j (+-) n_ij``. Their own
noise n_i is standard normal; n_ij comes from a seed that only i and j know, and is added by one of
them and subtracted by the other, so that masks cancel in the sum over sites.

What a curious site learns
--------------------------
A neighbouring data set moves the message of one honest site i, by at most D. To an adversary that
sees all messages and knows what c curious sites know this is, exactly, a Gaussian release with

    mu^2 = D^2 / s^2  e_i' (I + r^2 L_H)^-1 e_i =: D^2 / s^2  f_i(H),

L_H being the Laplacian of the graph of pairs that share a seed, without the curious sites.
``exposure`` is the largest f_i over all sites i and all sets of c curious others; fewer are never
worse. If all pairs of h honest sites share seeds, every f_i is ``(1 + r^2) / (1 + r^2 h)``; for
other graphs ``f_i <= 1 / (1 + k r^2 / (1 + r^2))``, with at least ``k = deg i - c`` neighbours
left. Proofs: theorem F2 of ``docs/proofs/sites.md``.

A site that fails before the round leaves the graph for this round. A mask is used once.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import combinations
from math import comb

import numpy as np

# Inversions of small matrices that are worth an exact answer.
_MOST_INVERSIONS, _MOST_NODES = 3000, 64


def exposure_of_all_pairs(n_honest: int, ratio: float) -> float:
    """f_i where all honest sites share seeds with each other.

    There is at least one; the ratio is that of a mask to the own noise of a site.
    """
    square = ratio * ratio
    return (1 + square) / (1 + square * n_honest)


def exposure(n_nodes: int, edges: np.ndarray, ratio: float, colluders: int) -> float:
    """The largest f_i over sites and sets of curious ones: exact for small graphs, else a bound.

    Edges (n_edges, 2) are pairs of sites below ``n_nodes`` that share a seed; c is the number of
    ``colluders``, of which there are fewer than sites.
    """
    return _exposure(n_nodes, tuple(map(tuple, edges.tolist())), ratio, colluders)


def exposure_bound(n_nodes: int, edges: np.ndarray, ratio: float, colluders: int) -> float:
    """An upper bound on the same, whatever the size of the graph."""
    degree = np.bincount(edges.ravel(), minlength=n_nodes)
    kept = max(0, int(degree.min()) - colluders)
    square = ratio * ratio
    return 1 / (1 + kept * square / (1 + square))


@lru_cache(maxsize=4096)
def _exposure(
    n_nodes: int, pairs: tuple[tuple[int, int], ...], ratio: float, colluders: int
) -> float:
    edges = np.array(pairs, dtype=np.intp).reshape(-1, 2)
    if n_nodes > _MOST_NODES or comb(n_nodes, colluders) > _MOST_INVERSIONS:
        return exposure_bound(n_nodes, edges, ratio, colluders)
    largest = 0.0
    for curious in combinations(range(n_nodes), colluders):
        honest = np.setdiff1d(np.arange(n_nodes), curious)
        number = np.full(n_nodes, -1)
        number[honest] = np.arange(honest.size)
        left = number[edges]
        left = left[(left >= 0).all(axis=1)]
        laplacian = np.zeros((honest.size, honest.size))
        i, j = left[:, 0], left[:, 1]
        np.add.at(laplacian, (i, i), 1.0)
        np.add.at(laplacian, (j, j), 1.0)
        laplacian[i, j] = laplacian[j, i] = -1.0
        inverse = np.linalg.inv(np.eye(honest.size) + ratio * ratio * laplacian)
        largest = max(largest, float(inverse.diagonal().max()))
    # Rounding of the inversion, by far.
    return min(1.0, largest * (1 + 1e-9))
