"""Moments of every arm over all users so far, with noise that is correlated over blocks."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod, sqrt
from typing import Any

import numpy as np

from ..accounting.events import Event
from ..accounting.ledger import Spend
from ..adjacency import Adjacency
from ..mechanisms.noise_grid import on_grid, spacing
from ..mechanisms.prefix_sums import PrefixNoise, PrefixState
from ..mechanisms.toeplitz import Toeplitz
from .bandit_plans import MomentPlan
from .base import ArmSession

# Rows that are kept before they are added up: one product for many is faster.
_WAITING = 256


@dataclass(frozen=True, eq=False)
class ArmMoments:
    """Noisy sums over the users of each arm.

    Parameters
    ----------
    matrices : ndarray of shape (K, p, p)
        ``sum v v'``, symmetric; noise has the standard deviation ``scale`` on the diagonal and
        ``scale / sqrt(2)`` off it.
    vectors : ndarray of shape (K, p)
        ``sum y v``, with noise of standard deviation ``scale``.
    scale : float
        Standard deviation of the noise.
    seen : int
        Number of users.
    """

    matrices: np.ndarray
    vectors: np.ndarray
    scale: float
    seen: int


class MomentSession(ArmSession):
    r"""Prefix sums of ``(v v', y v)`` of the arm that was pulled, at the ends of blocks.

    ``v`` is the bounded row, of norm at most 1, and ``y`` in [-1, 1]. A symmetric matrix is kept as
    the vector of its diagonal and of sqrt(2) times its upper triangle, whose norm is the Frobenius
    norm, so that equal noise on the vector is isotropic noise on symmetric matrices. The vectors of
    all arms are one long vector; a user adds to the part of one arm.

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

    _plan: MomentPlan

    def _opening(self, adjacency: Adjacency, spend: Spend) -> Event:
        K, p = self._problem.n_arms, self._problem.n_rows
        folds = self._plan.ends[-1] // _WAITING + len(self._plan.ends)
        sensitivity = self._computed(joint_sensitivity(adjacency), _WAITING + folds)
        mechanism = Toeplitz(len(self._plan.ends))
        scale = mechanism.noise_scale(sensitivity, spend)
        self._A = np.zeros((K, p, p))
        self._b = np.zeros((K, p))
        self._waiting = np.empty((min(_WAITING, self._plan.ends[-1]), p + 2))
        self._filled = 0
        shape = K, p * (p + 1) // 2 + p
        self._noise_of_sums = mechanism.open(shape, scale, self._noise)
        # Of the blocks that were released, on the grid; A and b are those of the open one.
        self._total, self._grid = np.zeros(shape), spacing(sensitivity, scale, prod(shape))
        steps = np.arange(1, mechanism.length + 1)
        self._scales = scale * np.sqrt(mechanism.variances(steps))
        return mechanism.event("arm_moments", sensitivity, scale)

    def moments(self) -> ArmMoments:
        """Noisy moments of all users so far; once at each end.

        Raises
        ------
        RuntimeError
            If this is no end, or its moments were given already.
        """
        ends, taken = self._plan.ends, self._noise_of_sums.taken
        if taken >= len(ends) or self._seen != ends[taken]:
            raise RuntimeError("MomentSession answers once at each end of its plan.")
        self._fold()
        p = self._problem.n_rows
        # Of a symmetric matrix one half is released, and written twice: the halves may be rounded
        # in two ways, and with the same noise on both their difference would bear none.
        diagonal, upper = np.arange(p), np.triu_indices(p, 1)
        parts = self._A[:, diagonal, diagonal], sqrt(2.0) * self._A[:, upper[0], upper[1]], self._b
        self._total += on_grid(np.concatenate(parts, axis=1), self._grid)
        self._A[:] = self._b[:] = 0.0
        answer = self._total + on_grid(self._noise_of_sums.next(), self._grid)
        matrices = np.zeros_like(self._A)
        matrices[:, upper[0], upper[1]] = answer[:, p:-p] / sqrt(2.0)
        matrices += matrices.transpose(0, 2, 1)
        matrices[:, diagonal, diagonal] = answer[:, :p]
        scale = float(self._scales[taken])
        return ArmMoments(matrices, answer[:, -p:].copy(), scale, self._seen)

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
            products = V[:, :-1].T @ V
            self._A[k] += products[:, :-1]
            self._b[k] += products[:, -1]
        self._filled = 0

    def _forget_block(self) -> None:
        if self._plan.next_end(self._seen) is None:
            self._waiting[:] = self._A[:] = self._b[:] = self._total[:] = 0.0

    def _packed(self, value: Any) -> Any:
        return value.secret_state() if isinstance(value, PrefixNoise) else super()._packed(value)

    def _unpacked(self, value: Any) -> Any:
        return value.resume(self._noise) if isinstance(value, PrefixState) else value


def joint_sensitivity(adjacency: Adjacency) -> float:
    """Most by which one user moves the moments of all arms together, in l2."""
    return 3 / sqrt(2.0) if adjacency is Adjacency.REPLACE_ONE else sqrt(2.0)
