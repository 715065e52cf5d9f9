"""Moments of every arm over all users so far, with noise that is correlated over blocks."""

from __future__ import annotations

from math import prod, sqrt

import numpy as np

from ..accounting.events import Event
from ..accounting.ledger import Spend
from ..adjacency import Adjacency
from ..mechanisms.noise_grid import on_grid, spacing
from ..mechanisms.toeplitz import Toeplitz
from .bandit_plans import ArmMoments
from .base import ArmSession

# Rows that are kept before they are added up: one product for many is faster.
_WAITING = 256


class MomentSession(ArmSession):
    r"""Prefix sums of ``(v v', y v)`` of the arm that was pulled, at the ends of blocks.

    ``v`` is the bounded row, of norm at most 1, and ``y`` in [-1, 1]. A symmetric matrix is kept as
    a vector of the same norm, see :class:`~skdp.privacy.bandit_sessions.ArmMoments`, so that equal
    noise on the vector is isotropic noise on symmetric matrices. The vectors of all arms are one
    long vector; a user adds to the part of one arm.

    Guarantees
    ----------
    - Replacing a user moves the long vector of one block by at most ``3 / sqrt(2)``, whatever arms
      the user was given before and after, and by at most 2 if these differ; both are attained.
      Under zero-out it is at most ``sqrt(2)``. Proof: theorem B1 of ``docs/proofs/bandits.md``.
    - A user is in one block, so that the factorisation of the prefix sums prices the whole stream
      (:class:`~skdp.privacy.mechanisms.prefix_sums.PrefixSumMechanism`).
    - Sums and their noise are whole multiples of a public power of two, to which the sums of each
      block are rounded, so that last bits rule no neighbour out: *Sums on a grid* in
      ``docs/proofs/streams.md``.
    """

    def _opening(self, adjacency: Adjacency, spend: Spend) -> Event:
        K, p, ends = self._problem.n_arms, self._problem.n_rows, self._plan.ends
        folds = ends[-1] // _WAITING + len(ends)
        sensitivity = self._computed(joint_sensitivity(adjacency), _WAITING + folds)
        mechanism = Toeplitz(len(ends))
        scale = mechanism.noise_scale(sensitivity, spend)
        # Products of each arm with itself and, in the last column, with rewards.
        self._products = np.zeros((K, p, p + 1))
        self._waiting = np.empty((min(_WAITING, ends[-1]), p + 2))
        self._filled = 0
        shape = K, p * (p + 1) // 2 + p
        self._prefix = mechanism.open(shape, scale, self._noise)
        # Of the blocks that were released, on the grid; products are those of the open one.
        self._total, self._grid = np.zeros(shape), spacing(sensitivity, scale, prod(shape))
        steps = np.arange(1, mechanism.length + 1)
        self._scales = scale * np.sqrt(mechanism.variances(steps))
        return mechanism.event("arm_moments", sensitivity, scale)

    def _keep(self, V: np.ndarray, arms: np.ndarray, y: np.ndarray) -> None:
        start, size = 0, len(self._waiting)
        while start < len(V):
            n = min(len(V) - start, size - self._filled)
            into = self._waiting[self._filled : self._filled + n]
            into[:, :-2] = V[start : start + n]
            into[:, -2] = y[start : start + n]
            into[:, -1] = arms[start : start + n]
            self._filled += n
            start += n
            # Always after the same users, so that rounding does not depend on the cuts.
            if self._filled == size:
                self._fold()

    def _fold(self) -> None:
        rows = self._waiting[: self._filled]
        arms = rows[:, -1]
        for k in np.unique(arms).astype(np.intp):
            V = rows[arms == k, :-1]
            self._products[k] += V[:, :-1].T @ V
        self._filled = 0

    def _sums(self, *at: np.ndarray) -> np.ndarray:
        self._fold()
        products = self._products
        of_block = ArmMoments.of(products[:, :, :-1], products[:, :, -1], 0.0, self._seen)
        self._total = self._total + on_grid(of_block.packed, self._grid)
        products[:] = 0.0
        return self._total

    def _release(self, sums: np.ndarray) -> ArmMoments:
        scale = float(self._scales[self._prefix.taken])
        answer = sums + on_grid(self._prefix.next(), self._grid)
        return ArmMoments(answer, scale, self._seen)

    def _forget_block(self) -> None:
        if self.room is None:
            self._waiting[:] = self._products[:] = self._total[:] = 0.0


def joint_sensitivity(adjacency: Adjacency) -> float:
    """Most by which one user moves the moments of all arms together, in l2."""
    return 3 / sqrt(2.0) if adjacency is Adjacency.REPLACE_ONE else sqrt(2.0)
