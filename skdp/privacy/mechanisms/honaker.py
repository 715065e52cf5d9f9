"""Honaker's estimator: what the inside of a block says about its sum."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import sqrt

import numpy as np

from .prefix_sums import Correlator, PrefixSumMechanism
from .tree import sum_over_bits

__all__ = ["Honaker"]

_ROUND_UP = 1 + 1e-12


def _variance(levels: np.ndarray) -> np.ndarray:
    """Of the estimates for blocks of ``2**levels`` terms; see the class."""
    return 1 / (2 - 0.5**levels)


class _Estimates(Correlator):
    """Noise of the estimates for the blocks that make up the present sum, the longest first."""

    def __init__(self, size: int) -> None:
        self._t = 0
        self._blocks: list[np.ndarray] = []
        self._sums = [np.zeros(size)]

    def step(self, draw: Callable[[int], np.ndarray]) -> np.ndarray:
        self._t += 1
        # One block of each length up to the lowest bit of t ends here.
        own = draw((self._t & -self._t).bit_length())
        block = own[0]
        for row, v in zip(own[1:], _variance(np.arange(1, len(own))), strict=True):
            block = v * row + (1 - v) * (self._blocks.pop() + block)
            self._sums.pop()
        self._blocks.append(block)
        self._sums.append(self._sums[-1] + block)
        return self._sums[-1].copy()


@dataclass(frozen=True)
class Honaker(PrefixSumMechanism):
    r"""Prefix sums by a tree whose blocks are estimated from below (Honaker, 2015).

    Every block ``{k 2^j + 1, ..., (k + 1) 2^j}`` within the n terms is published with one normal
    vector of its own when it is complete: these are the rows of C, in the order of time, and those
    that end together in the order of their lengths. The sum of a block can be read off its own
    row, with variance 1, and off the estimates for its two halves. Their noises are independent,
    so the best combination has

    .. math:: \frac{1}{v_j} = 1 + \frac{1}{2 v_{j-1}}, \qquad v_0 = 1, \qquad
              v_j = \frac{1}{2 - 2^{-j}},

    with the weight v_j for its own row and 1 - v_j for the sum of the halves. The prefix sum up to
    t adds up the estimates for the blocks of t, one for each bit of t that is set; these
    weights are row t of B. All of it is known at step t.

    A term is in one block of each length, if that is complete by n, as the first term's are:
    ``||C||^2 = floor(log2(n)) + 1``. The variance is about half that of the tree without
    estimates, at the same price, which is that of publishing all blocks. The sums alone tell a
    little less, about 0.87 of that mu^2. Memory is that of ``2 log2(n) + 3`` terms.

    Parameters
    ----------
    length : int
        Number of terms, at least 1. Public, and fixed in advance.

    Raises
    ------
    ValueError
        If there are no terms.

    Guarantees
    ----------
    - See :class:`PrefixSumMechanism`.
    """

    @property
    def column_norm(self) -> float:
        """Root of the number of blocks that the first term is in."""
        return sqrt(self.length.bit_length()) * _ROUND_UP

    def variances(self, steps: np.ndarray) -> np.ndarray:
        """The sum of v_j over the bits that are set."""
        return sum_over_bits(steps, _variance(np.arange(self.length.bit_length())))

    def correlator(self, size: int) -> Correlator:
        """Two vectors for each bit of the present step."""
        return _Estimates(size)
