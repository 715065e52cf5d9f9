"""Private estimates of the bounds that a user did not give.

Both estimates are post-processing of noisy histograms over public grids. They are robust by
construction: a few rows, however large, never fill a bin beyond its noise.
"""

from __future__ import annotations

import warnings
from math import log, sqrt

import numpy as np

from ..bounds import TargetBounds
from .ledger import Budget, Spend
from .oracle import Oracle

__all__ = ["private_data_norm", "private_target_bounds"]

# Coarse search: factors of 4 from 2^-100 to 2^100.
_SIZES = 4.0 ** np.arange(-50, 51)
# Fine search for the norm: eighth powers of 2 over the last factor of 16.
_FINE_STEPS = 32
_FINE_RATIO = 2.0 ** (1 / 8)
_NORM_TAIL = 0.05
# Fine search for the targets: linear zooms.
_ZOOMS = 3
_ZOOM_BINS = 32
_TARGET_TAIL = 0.01


def private_data_norm(oracle: Oracle, budget: Budget, n_samples: int, n_features: int) -> float:
    """A norm that about 95 % of the rows do not exceed, found in two looks.

    First the highest factor of 4 that holds clearly more rows than noise, then, if n is large
    enough for it to be worth its price, a finer look below it.

    Parameters
    ----------
    oracle : Oracle
        Asked for histograms of row norms.
    budget : Budget
        Most that may be spent.
    n_samples, n_features : int
        Public sizes.

    Returns
    -------
    float
        The bound. ``sqrt(n_features)``, right for standardised features, with a warning, if the
        budget is too small to see anything.
    """
    coarse, fine = budget.split(2)
    counts = oracle.histogram("row_norm", _SIZES, spend=coarse)
    filled = np.flatnonzero(_clearly_filled(counts, oracle, coarse))
    if filled.size == 0:
        _warn_unseen("data_norm", f"the square root of the number of features, {n_features}")
        return sqrt(n_features)
    if filled[-1] == 0:
        # Rows of (nearly) zero length: any bound does.
        return sqrt(n_features)
    top = float(_SIZES[min(filled[-1], _SIZES.size - 1)])
    tail = _tail(n_samples, _NORM_TAIL, oracle, fine, _FINE_STEPS)
    if tail > n_samples / 4:
        return top
    edges = top * _FINE_RATIO ** np.arange(-_FINE_STEPS, 1)
    above = np.cumsum(oracle.histogram("row_norm", edges, spend=fine)[::-1])[::-1]
    # above[k] counts the rows at or beyond edges[k - 1].
    enough = np.flatnonzero(above[1:] <= tail)
    return float(edges[enough[0]]) if enough.size else top


def private_target_bounds(
    oracle: Oracle, budget: Budget, n_samples: int, *, centred: bool
) -> TargetBounds:
    """An interval that holds all but a few percent of the targets.

    First sign and size by factors of 4, then up to three linear zooms, each of them only while n
    is large enough and the last one made the interval clearly shorter.

    Parameters
    ----------
    oracle : Oracle
        Asked for histograms of targets.
    budget : Budget
        Most that may be spent; what is not needed stays for the fit.
    n_samples : int
        Public size.
    centred : bool
        Passed on to the bounds.

    Returns
    -------
    TargetBounds
        ``(-1, 1)`` with a warning if the budget is too small to see anything.
    """
    coarse, *zooms = budget.split(1 + _ZOOMS)
    edges = np.concatenate([-_SIZES[::-1], _SIZES])
    filled = np.flatnonzero(
        _clearly_filled(oracle.histogram("target", edges, spend=coarse), oracle, coarse)
    )
    if filled.size == 0:
        _warn_unseen("target_bounds", "(-1, 1)")
        return TargetBounds(-1.0, 1.0, centred)
    low = float(edges[max(filled[0] - 1, 0)])
    high = float(edges[min(filled[-1], edges.size - 1)])
    for spend in zooms:
        tail = _tail(n_samples, _TARGET_TAIL, oracle, spend, _ZOOM_BINS)
        if tail > n_samples / 8:
            break
        grid = np.linspace(low, high, _ZOOM_BINS + 1)
        counts = oracle.histogram("target", grid, spend=spend)
        first = np.flatnonzero(np.cumsum(counts)[:-1] > tail)
        last = np.flatnonzero(np.cumsum(counts[::-1])[::-1][1:] > tail)
        if first.size == 0 or last.size == 0 or first[0] > last[-1] + 1:
            break
        # counts[k] lies between grid[k - 1] and grid[k].
        new_low = float(grid[max(first[0] - 1, 0)])
        new_high = float(grid[min(last[-1] + 1, _ZOOM_BINS)])
        shorter = new_high - new_low < 0.5 * (high - low)
        low, high = new_low, new_high
        if not shorter:
            break
    return TargetBounds(low, high, centred)


def _noise_scale(oracle: Oracle, spend: Spend) -> float:
    return oracle.adjacency.of_histogram() / sqrt(spend.amount)


def _clearly_filled(counts: np.ndarray, oracle: Oracle, spend: Spend) -> np.ndarray:
    # The largest of m normals is about sqrt(2 ln m); one more makes a false alarm rare.
    return counts > _noise_scale(oracle, spend) * (sqrt(2 * log(counts.size)) + 1)


def _tail(n_samples: int, share: float, oracle: Oracle, spend: Spend, bins: int) -> float:
    # Rows that may be left out: the share asked for, or what the noise of partial sums can fake.
    return max(share * n_samples, 2 * _noise_scale(oracle, spend) * sqrt(bins))


def _warn_unseen(parameter: str, instead: str) -> None:
    warnings.warn(
        f"The share of the budget set aside to find {parameter} privately is too small for this "
        f"number of rows; {instead} is used. Pass {parameter} if you know a bound.",
        UserWarning,
        stacklevel=2,
    )
