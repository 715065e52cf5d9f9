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

    A person in j terms is in the block of step t as often as terms of theirs are in it, and that
    number counts squared. Blocks are nested: that of length ``2^s`` is made up of blocks of lengths
    ``2^(s-1), ..., 2, 1``, one each, and of its last term. So the worst places follow from the
    most for every shorter block and every number of visits to it, exactly, from the shortest on.

    The square of the norm is the whole price: mu of a block is ``sensitivity / noise_scale`` and
    mu^2 adds up over lengths. (Adding up epsilons over them would square their number.)

    Memory is that of ``log2(n) + 2`` terms.
    """

    @property
    def column_norm(self) -> float:
        """Root of the number of blocks that the first term is in."""
        return sqrt(self.length.bit_length()) * _ROUND_UP

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
        return total[1:] * _ROUND_UP

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
