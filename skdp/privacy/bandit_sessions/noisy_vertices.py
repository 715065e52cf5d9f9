"""The vertex of the l1 ball along which each arm's loss falls fastest, noisily."""

from __future__ import annotations

from collections.abc import Callable
from math import ceil, sqrt

import numpy as np

# From this many candidates an arm on a choice is made in two stages.
_MANY = 64


def best_vertices(
    sums: np.ndarray, scale: float, gumbel: Callable[[tuple[int, ...]], np.ndarray]
) -> np.ndarray:
    """Report noisy max over the 2 p signed coordinates, for each row by itself.

    Many candidates are chosen among in two stages, whose law is the same and which draw about as
    many random numbers as twice the root of their number: theorem E1 of ``docs/proofs/choices.md``
    has the proof. Of sums of gradients (K, p), vertex j scores minus entry j and vertex p + j entry
    j; there is a vertex for each of K. ``scale`` is that of the Gumbel noise, and ``gumbel`` draws
    fresh standard variables of a shape.
    """
    return chosen(*scores_of(sums, scale), gumbel)


def scores_of(sums: np.ndarray, scale: float) -> tuple[np.ndarray, np.ndarray]:
    """Scores in units of the noise, cut into B blocks of W, and the logarithms of blocks' weights.

    For sums (K, p) the scores have the shape (K, B, W), minus infinity in the rest of the last
    block, and ``log sum exp`` of each block, up to a constant for each row, has the shape (K, B); a
    single block has zeros.
    """
    K, p = sums.shape
    width = 2 * p if 2 * p < _MANY else ceil(sqrt(2 * p))
    blocks = ceil(2 * p / width)
    cells, totals = np.full((K, blocks, width), -np.inf), np.zeros((K, blocks))
    score(sums, scale, cells, totals)
    return cells, totals


def score(sums: np.ndarray, scale: float, cells: np.ndarray, totals: np.ndarray) -> None:
    """Write the scores of other sums into what ``scores_of`` has returned, or into rows of it."""
    K, p = sums.shape
    scores = cells.reshape(K, -1)
    np.divide(sums, scale, out=scores[:, p : 2 * p])
    np.negative(scores[:, p : 2 * p], out=scores[:, :p])
    if cells.shape[1] == 1:
        return
    # No exponential overflows. A block whose exponentials all vanish lies further behind than
    # Gumbel variables ever make up for.
    powers = np.exp(scores - scores.max(axis=1)[:, np.newaxis]).reshape(cells.shape)
    with np.errstate(divide="ignore"):
        np.log(np.einsum("kij->ki", powers), out=totals)


def chosen(
    cells: np.ndarray, totals: np.ndarray, gumbel: Callable[[tuple[int, ...]], np.ndarray]
) -> np.ndarray:
    """A vertex for each row of scores: first a block of it, then one within that."""
    K, blocks, width = cells.shape
    if blocks == 1:
        return (cells[:, 0] + gumbel((K, width))).argmax(axis=1)
    block = (totals + gumbel(totals.shape)).argmax(axis=1)
    within = cells[np.arange(K), block]
    return block * width + (within + gumbel(within.shape)).argmax(axis=1)
