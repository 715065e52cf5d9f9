"""The binary tree: few noisy blocks per sum, without any correlation inside a block."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt

import numpy as np

from .base import ROUND_UP
from .prefix_sums import Correlator, PrefixSumMechanism


class _Blocks(Correlator):
    """Noise of the blocks that make up the present sum, added up from the longest."""

    def __init__(self, size: int) -> None:
        self._t = 0
        self._sums = [np.zeros(size)]

    def step(self, z: np.ndarray) -> np.ndarray:
        self._t += 1
        # The new block replaces all shorter ones.
        del self._sums[self._t.bit_count() :]
        self._sums.append(self._sums[-1] + z)
        return self._sums[-1].copy()


@dataclass(frozen=True)
class Tree(PrefixSumMechanism):
    r"""Prefix sums by a binary tree (Dwork, Naor, Pitassi and Rothblum, 2010; Chan et al., 2011).

    The terms up to t are cut into blocks, one for each bit of t that is set, the longest first. A
    block that ends at t and has the length of the lowest bit of t gets one normal vector, in step
    t, and every sum of which it is a part has that noise. So row t of C has ones in the columns
    of this block, and row t of B has ones where the blocks of t end.

    The first term is in one block of each length up to n, and no term in more. Hence

    .. math:: \|C\|^2 = \lfloor \log_2 n \rfloor + 1,

    the number of lengths, and a sum's noise has as many parts as t has bits that are set. The worst
    places of several terms of a person are found exactly. Proofs: theorems X2 and X6 of
    ``docs/proofs/streams.md``.

    The square of the norm is the whole price: mu of a block is ``sensitivity / noise_scale`` and
    mu^2 adds up over lengths. (Adding up epsilons over them would square their number.)

    Memory is that of ``log2(n) + 2`` terms.
    """

    @property
    def column_norm(self) -> float:
        """Root of the number of blocks that the first term is in."""
        return sqrt(self.length.bit_length()) * ROUND_UP

    def _squared_norms(self, most: int) -> np.ndarray:
        """Exact: the best shares of visits among the blocks of the longest sum."""
        of_visits = np.arange(most + 1.0) ** 2
        within = np.array([0.0, 0.0])  # Of no visit and of one, to a last term.
        total = np.array([0.0])
        for bit in range(self.length.bit_length()):
            block = within + of_visits[: len(within)]
            if self.length >> bit & 1:
                total = _best_shares(total, block, most)
            within = _best_shares(within, block, most)
        return total[1:] * ROUND_UP

    def variances(self, steps: np.ndarray) -> np.ndarray:
        """The number of bits that are set."""
        steps, out = np.asarray(steps), np.zeros(np.shape(steps))
        for bit in range(self.length.bit_length()):
            out += (steps >> bit) & 1
        return out

    def correlator(self, size: int) -> Correlator:
        """One vector for each bit of the present step."""
        return _Blocks(size)


def _best_shares(one: np.ndarray, other: np.ndarray, most: int) -> np.ndarray:
    """Largest sum for each number of visits, shared out among two places; at most ``most``."""
    out = np.full(min(most, len(one) + len(other) - 2) + 1, -np.inf)
    for visits, value in enumerate(one[: len(out)]):
        fitting = other[: len(out) - visits]
        here = out[visits : visits + len(fitting)]
        np.maximum(here, value + fitting, out=here)
    return out
