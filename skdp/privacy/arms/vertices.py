"""The vertex of the l1 ball along which each arm's loss falls fastest, noisily."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

__all__ = ["best_vertices"]


def best_vertices(
    sums: np.ndarray, scale: float, gumbel: Callable[[tuple[int, ...]], np.ndarray]
) -> np.ndarray:
    """Report noisy max over the 2 p signed coordinates, for each row by itself.

    Parameters
    ----------
    sums : ndarray of shape (K, p)
        Sums of gradients; vertex j scores minus entry j, vertex p + j entry j.
    scale : float
        Scale of the Gumbel noise.
    gumbel : callable
        Fresh standard Gumbel variables of a shape.

    Returns
    -------
    ndarray of int of shape (K,)
        The numbers of the vertices, from 0 to 2 p - 1.
    """
    K, p = sums.shape
    noisy = gumbel((K, 2 * p))
    scaled = sums / scale
    noisy[:, :p] -= scaled
    noisy[:, p:] += scaled
    return noisy.argmax(axis=1)
