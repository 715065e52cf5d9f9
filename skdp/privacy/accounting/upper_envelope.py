"""The largest of many lines, and what it integrates to over two Gaussians."""

from __future__ import annotations

from math import inf

import numpy as np
from scipy.special import log_ndtr, ndtr

__all__ = ["envelope", "integrals"]


def envelope(slopes: list[float], offsets: list[float]) -> np.ndarray:
    """Indices of the lines ``slopes * t - offsets`` that are largest, and positive, at some t > 0.

    Parameters
    ----------
    slopes : list of float
        In increasing order.
    offsets : list of float
        As many, none below 0.

    Returns
    -------
    ndarray of int
        Their positions, in increasing order.
    """
    kept: list[int] = []
    # Where each line that is kept takes over from the one before, the first one from zero.
    starts = [0.0]
    a0 = b0 = 0.0
    for j, (a, b) in enumerate(zip(slopes, offsets, strict=True)):
        while kept:
            before = kept[-1]
            a0, b0 = slopes[before], offsets[before]
            # Once a line is no better where the last one begins, it is better nowhere before.
            if a > a0 and b - b0 > starts[-1] * (a - a0):
                break
            if a <= a0 and b >= b0:
                break
            kept.pop()
            starts.pop()
        else:
            a0 = b0 = 0.0
        if a > a0:
            kept.append(j)
            starts.append((b - b0) / (a - a0))
    return np.array(kept)


def integrals(slopes: np.ndarray, offsets: np.ndarray, mu: float, epsilon: float) -> np.ndarray:
    """Integral of ``slopes * dP - e^epsilon offsets * dP'`` over Gaussians, line by line.

    Parameters
    ----------
    slopes, offsets : ndarray
        Lines of which each is the largest somewhere, in increasing order.
    mu : float
        Distance of the two Gaussians of standard deviation 1, positive.
    epsilon : float
        At least 0.

    Returns
    -------
    ndarray
        At least 0 for each line, over those likelihood ratios for which it is the largest.
    """
    steps = np.diff(offsets, prepend=0.0) / np.diff(slopes, prepend=0.0)
    # The likelihood ratio exp(mu y - mu^2 / 2) passes e^epsilon steps at y.
    with np.errstate(divide="ignore", over="ignore"):
        y = (np.log(steps) + epsilon) / mu + mu / 2
        scale = np.log(offsets) + epsilon
    ends = np.append(y[1:], inf)
    own = ndtr(mu - y) - ndtr(mu - ends)
    # Together, since exp(epsilon) may be too large for a float; the product never is.
    other = np.exp(scale + log_ndtr(-y)) - np.exp(scale + log_ndtr(-ends))
    return np.maximum(slopes * own - other, 0.0)
