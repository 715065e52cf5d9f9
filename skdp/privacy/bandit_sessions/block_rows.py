"""Queries to the users of one block at a time."""

from __future__ import annotations

from abc import ABC
from typing import final

import numpy as np

from ..accounting.events import Event, ExponentialEvent, GaussianEvent, Part
from ..accounting.ledger import Spend
from ..adjacency import Adjacency
from ..mechanisms.gaussian import GaussianMechanism
from ..mechanisms.gumbel import GumbelMechanism
from .base import ArmSession
from .noisy_vertices import best_vertices


class _BlockSession(ArmSession, ABC):
    """Sums of ``l' v`` over the users of each arm in the present block, at any weights.

    Blocks have no user in common. Who is in one is asked nothing by the others, so that the run
    costs what its costliest block costs (parallel composition, for neighbours that replace a user).
    """

    _rows: list[tuple[np.ndarray, np.ndarray, np.ndarray]]

    def _keep(self, V: np.ndarray, arms: np.ndarray, y: np.ndarray) -> None:
        self._rows.append((V, arms.copy(), y))

    @final
    def _sums(self, *at: np.ndarray) -> np.ndarray:
        if len(self._rows) > 1:
            self._rows = [tuple(np.concatenate(p) for p in zip(*self._rows, strict=True))]  # type: ignore[list-item]
        (w,), (V, arms, y) = at, self._rows[0]
        n, here = len(V), np.arange(len(V))
        z = (V @ w.T)[here, arms]
        slopes = np.zeros((n, self._problem.n_arms))
        slopes[here, arms] = self._problem.derivative(y, z, self._plan.clip)
        return slopes.T @ V

    def _forget_block(self) -> None:
        self._rows = []

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

    def _opening(self, adjacency: Adjacency, spend: Spend) -> Event:
        self._rows, count = [], max(self._plan.answers)
        moved = self._computed(adjacency.of_sum(self._plan.clip), self._plan.ends[-1])
        self._mechanism = GaussianMechanism.calibrated(moved, Spend(spend.amount / count))
        return GaussianEvent(
            query="arm_gradients",
            sensitivity=self._mechanism.sensitivity,
            noise_scale=self._mechanism.noise_scale,
            count=count,
            part=self._part(),
        )

    def _release(self, sums: np.ndarray) -> np.ndarray:
        return self._mechanism.randomize(sums, self._noise) / len(self._rows[0][0])


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

    def _opening(self, adjacency: Adjacency, spend: Spend) -> Event:
        self._rows, answers = [], self._plan.answers
        reach = self._computed(adjacency.of_sum(2 * self._plan.clip), self._plan.ends[-1])
        self._scales = [GumbelMechanism.calibrated(reach, k, spend).noise_scale for k in answers]
        # All blocks cost the same but for rounding.
        price = [k / scale**2 for k, scale in zip(answers, self._scales, strict=True)]
        j = int(np.argmax(price))
        return ExponentialEvent(
            query="arm_selections",
            sensitivity=reach,
            noise_scale=self._scales[j],
            count=answers[j],
            part=self._part(),
        )

    @property
    def scale(self) -> float:
        """Scale of the Gumbel noise of the present block. Public."""
        return self._scales[self._block]

    def _release(self, sums: np.ndarray) -> np.ndarray:
        return best_vertices(sums, self.scale, self._noise.gumbel)
