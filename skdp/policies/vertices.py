"""Steps towards vertices of the l1 ball."""

from __future__ import annotations

import numpy as np

__all__ = ["toward"]


def toward(w: np.ndarray, vertices: np.ndarray, radius: float, steps: np.ndarray) -> np.ndarray:
    """Weights moved towards signed coordinates.

    Parameters
    ----------
    w : ndarray of shape (K, p)
        Weights.
    vertices : ndarray of int of shape (K,)
        j < p for coordinate j, p + j for minus it, -1 to stay.
    radius : float
        Radius of the l1 ball.
    steps : ndarray of shape (K,)
        How far, from 0 to 1.

    Returns
    -------
    ndarray of shape (K, p)
        A fresh array.
    """
    K, p = w.shape
    steps = np.where(vertices < 0, 0.0, steps)
    out = w * (1 - steps)[:, np.newaxis]
    # One index is faster than two.
    entries = np.arange(0, K * p, p) + vertices % p
    out.reshape(-1)[entries] += np.where(vertices < p, radius, -radius) * steps
    return out
