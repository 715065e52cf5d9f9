"""Queries to the users of one block at a time."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import final

import numpy as np

from ..accounting.events import Event, ExponentialEvent, GaussianEvent, Part
from ..accounting.ledger import Spend
from ..adjacency import Adjacency
from ..mechanisms.gaussian import GaussianMechanism
from ..mechanisms.gumbel import GumbelMechanism
from .bandit_plans import GradientPlan, SelectionPlan
from .base import ArmSession
from .noisy_vertices import best_vertices


class _BlockSession(ArmSession, ABC):
    """Keeps the rows of the present block, and forgets them when it is closed.

    Blocks have no user in common. Who is in one is asked nothing by the others, so that the run
    costs what its costliest block costs (parallel composition, for neighbours that replace a user).
    """

    _plan: GradientPlan | SelectionPlan

    def _begin(self) -> None:
        self._rows: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []
        self._asked = 0

    @abstractmethod
    def _allowed(self, block: int) -> int:
        """Number of answers in this block."""

    @final
    def _next_answer(self) -> int:
        """Number of the block, whose rows are together now; counts the answer."""
        ends = self._plan.ends
        block = ends.index(self._seen) if self._seen in ends else -1
        if block < 0 or not self._rows or self._asked >= self._allowed(block):
            raise RuntimeError(
                f"{type(self).__name__} answers as often as its plan says, at the end of a block."
            )
        self._asked += 1
        if len(self._rows) > 1:
            V, arms, y = (np.concatenate(parts) for parts in zip(*self._rows, strict=True))
            self._rows = [(V, arms, y)]
        return block

    @final
    def _pulled(self, w: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Bounded rows, spread to the arms that were pulled: (n, p) and one-hot (n, K) slopes."""
        V, arms, y = self._rows[0]
        n, here = len(V), np.arange(len(V))
        z = (V @ w.T)[here, arms]
        slopes = np.zeros((n, self._problem.n_arms))
        slopes[here, arms] = self._problem.derivative(y, z, self._plan.clip)
        return V, slopes

    @final
    def _sums(self, w: np.ndarray) -> np.ndarray:
        with np.errstate(all="ignore"):
            V, slopes = self._pulled(w)
            return slopes.T @ V

    def _keep(self, V: np.ndarray, arms: np.ndarray, y: np.ndarray) -> None:
        if len(V):
            self._rows.append((V, arms.copy(), y))

    def _forget_block(self) -> None:
        self._begin()

    @final
    def _part(self) -> Part:
        return Part(0, self._plan.ends[-1], len(self._plan.ends))


class GradientSession(_BlockSession):
    """Noisy gradients of the mean loss of a block in the scores of all arms at once.

    Guarantees
    ----------
    - A user adds ``l' v`` to the row of one arm, with ``|l'| <= clip`` and ``|v| <= 1``. Replacing
      the user moves the sum by at most ``2 clip`` if the arm stays and by at most
      ``sqrt(2) clip`` if it changes; zeroing out moves it by at most ``clip``.
    """

    _plan: GradientPlan

    def _opening(self, adjacency: Adjacency, spend: Spend) -> Event:
        self._begin()
        count = self._plan.answers
        moved = self._computed(adjacency.of_sum(self._plan.clip), self._plan.ends[-1])
        self._mechanism = GaussianMechanism.calibrated(moved, Spend(spend.amount / count))
        return GaussianEvent(
            query="arm_gradients",
            sensitivity=self._mechanism.sensitivity,
            noise_scale=self._mechanism.noise_scale,
            count=count,
            part=self._part(),
        )

    def gradient(self, w: np.ndarray) -> np.ndarray:
        """Noisy mean over the block of the clipped derivative times the row; (K, p) as w.

        Raises
        ------
        RuntimeError
            If this is no end of a block, or all of its answers were given.
        """
        self._next_answer()
        answer = self._mechanism.randomize(self._sums(w), self._noise)
        return answer / len(self._rows[0][0])

    def _allowed(self, block: int) -> int:
        return self._plan.answers


class SelectionSession(_BlockSession):
    r"""Noisy choice for every arm of the signed coordinate along which a block's loss falls most.

    Arm k scores coordinate j with ``-+ sum l' v_j`` over its users, 2 p candidates in all, and the
    largest score after Gumbel noise is published, one for each arm.

    Guarantees
    ----------
    - Let eta be the range by which scores move if the arm stays, ``4 clip`` as entries are at most
      1, in units of the noise. One round of choices, one for each arm, costs eta^2 / 8 in zCDP, as
      much as one choice; under zero-out a range of ``2 clip`` remains. Proof: theorem B2 of
      ``docs/proofs/bandits.md``.
    """

    _plan: SelectionPlan

    def _opening(self, adjacency: Adjacency, spend: Spend) -> Event:
        self._begin()
        reach = self._computed(adjacency.of_sum(2 * self._plan.clip), self._plan.ends[-1])
        self._mechanisms = [GumbelMechanism.calibrated(reach, k, spend) for k in self._plan.answers]
        # All blocks cost the same but for rounding.
        price = [
            k / m.noise_scale**2 for k, m in zip(self._plan.answers, self._mechanisms, strict=True)
        ]
        j = int(np.argmax(price))
        return ExponentialEvent(
            query="arm_selections",
            sensitivity=reach,
            noise_scale=self._mechanisms[j].noise_scale,
            count=self._plan.answers[j],
            part=self._part(),
        )

    def select(self, w: np.ndarray) -> np.ndarray:
        """Chosen vertex of each arm, j < p for coordinate j or p + j for minus it; ints, (K,).

        Raises
        ------
        RuntimeError
            If this is no end of a block, or all of its answers were given.
        """
        scale = self._mechanisms[self._next_answer()].noise_scale
        return best_vertices(self._sums(w), scale, self._noise.gumbel)

    def _allowed(self, block: int) -> int:
        return self._plan.answers[block]
