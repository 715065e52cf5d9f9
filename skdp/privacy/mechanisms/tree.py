"""The binary tree: few noisy blocks per sum, without any correlation inside a block."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import sqrt

import numpy as np

from .prefix_sums import Correlator, PrefixSumMechanism

__all__ = ["Tree"]

_ROUND_UP = 1 + 1e-12


class _Blocks(Correlator):
    """Noise of the blocks that make up the present sum, added up from the longest."""

    def __init__(self, size: int) -> None:
        self._t = 0
        self._sums = [np.zeros(size)]

    def step(self, draw: Callable[[int], np.ndarray]) -> np.ndarray:
        self._t += 1
        # The new block replaces all shorter ones.
        del self._sums[self._t.bit_count() :]
        self._sums.append(self._sums[-1] + draw(1)[0])
        return self._sums[-1].copy()


@dataclass(frozen=True)
class Tree(PrefixSumMechanism):
    r"""Prefix sums by a binary tree (Dwork, Naor, Pitassi and Rothblum, 2010; Chan et al., 2011).

    The terms up to t are cut into blocks, one for each bit of t that is set, the longest first. A
    block that ends at t and has the length of the lowest bit of t gets one normal vector, in step
    t, and every sum of which it is a part has that noise. So row t of C has ones in the columns
    of this block, and row t of B has ones where the blocks of t end.

    The term of step i is in the blocks that end at the first multiple of 1, 2, 4, ... from i on, at
    most one for each length, and the first term is in one of each length up to n. Hence

    .. math:: \|C\|^2 = \lfloor \log_2 n \rfloor + 1,

    the number of lengths, and a sum's noise has as many parts as t has bits that are set. Blocks
    of a tree that no sum uses get no noise and cost nothing, but the first term's are all used.

    The square of the norm is the whole price: mu of a block is ``sensitivity / noise_scale`` and
    mu^2 adds up over lengths. (Adding up epsilons over them would square their number.)

    Memory is that of ``log2(n) + 2`` terms.

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
        """The number of bits that are set."""
        steps, out = np.asarray(steps), np.zeros(np.shape(steps))
        for bit in range(self.length.bit_length()):
            out += (steps >> bit) & 1
        return out

    def correlator(self, size: int) -> Correlator:
        """One vector for each bit of the present step."""
        return _Blocks(size)
