"""Harrell's index of concordance, in the order of n log n."""

from __future__ import annotations

import numpy as np


def concordance(y: np.ndarray, risk: np.ndarray, weights: np.ndarray) -> float:
    """Share of comparable pairs in which the one whose event came first has the larger risk.

    A pair can be compared if one had an event and the other was there for longer, or was last seen
    at that very time without one; two events at one time say nothing. Equal risks count half.

    Parameters
    ----------
    y : ndarray of shape (n,)
        Times of events, or minus times of last sights.
    risk : ndarray of shape (n,)
        Scores.
    weights : ndarray of shape (n,)
        Of the rows; a pair counts the product of its two.

    Returns
    -------
    float
        Not a number if no pair can be compared.
    """
    event, time = ~np.signbit(y), np.abs(y)
    ranks = np.unique(risk, return_inverse=True)[1].reshape(-1) + 1
    size = int(ranks.max(initial=0))
    # Weights of those who are still there, by rank of their risk: sums of a Fenwick tree.
    tree, whole = np.zeros(size + 1), 0.0
    pairs = agreeing = 0.0
    # From the latest time on; at one time those without an event come first.
    order = np.lexsort((event, -time))
    begins = np.flatnonzero(np.diff(time[order], prepend=np.nan) != 0)
    for first, last in zip(begins, [*begins[1:], len(order)], strict=True):
        together = order[first:last]
        had = event[together]
        for i in together[~had]:
            whole += _add(tree, ranks[i], weights[i])
        for i in together[had]:
            below, up_to = _sum(tree, ranks[i] - 1), _sum(tree, ranks[i])
            pairs += weights[i] * whole
            agreeing += weights[i] * (below + up_to) / 2
        for i in together[had]:
            whole += _add(tree, ranks[i], weights[i])
    return agreeing / pairs if pairs > 0 else float("nan")


def _add(tree: np.ndarray, place: int, weight: float) -> float:
    while place < len(tree):
        tree[place] += weight
        place += place & -place
    return weight


def _sum(tree: np.ndarray, place: int) -> float:
    found = 0.0
    while place > 0:
        found += tree[place]
        place -= place & -place
    return found
