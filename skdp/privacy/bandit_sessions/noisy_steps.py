"""Online Frank-Wolfe for every arm at once: a vertex for each arm after every user."""

from __future__ import annotations

from math import prod

import numpy as np

from ..accounting.events import Event, ExponentialEvent
from ..accounting.ledger import Spend
from ..adjacency import Adjacency
from ..mechanisms.gumbel import GumbelMechanism
from .base import ArmSession
from .noisy_vertices import chosen, score, scores_of

# Gumbel variables that are drawn ahead.
_AHEAD = 1 << 13


class StepSession(ArmSession):
    r"""Running sums of recursive gradients of each arm, of which the best vertices are published.

    The i-th step of an arm adds ``g v`` to its sum, with

    .. math:: g = [(i + 1)\, l'(\langle w, v \rangle) - i\, l'(\langle w_0, v \rangle)]_{-c}^{c}

    for its present and its former weights. An arm that was not pulled takes a step all the same,
    with the *synthetic row* v = 0 that adds nothing: that a user's arm changes moves the sums of
    two arms, but neither the number of steps of any arm nor the moment at which noise is drawn.
    While arms are forced in turn, only the arm whose turn it is takes a step, and a user who was
    given another one counts as its synthetic row.

    Guarantees
    ----------
    - *Factor 1.* With ``eta = 4 c / scale`` and n steps an arm, all choices of all arms together
      are (n eta^2 / 8)-zCDP, as much as those of one arm alone with replaced rows.
      Choices under zero-out have a range of 2 c. Proof: theorem B3 of ``docs/proofs/bandits.md``.
    """

    def _opening(self, adjacency: Adjacency, spend: Spend) -> Event:
        K, p = self._problem.n_arms, self._problem.n_rows
        n = self._plan.updates(K)
        reach = self._computed(adjacency.of_sum(2 * self._plan.clip), n)
        self.scale = GumbelMechanism.calibrated(reach, n, spend).noise_scale
        self._running = np.zeros((K, p))
        self._cells, self._totals = scores_of(self._running, self.scale)
        self._steps = np.zeros(K, dtype=np.intp)
        self._ahead = np.empty(0)
        return ExponentialEvent(
            query="arm_steps", sensitivity=reach, noise_scale=self.scale, count=n
        )

    def _keep(self, V: np.ndarray, arms: np.ndarray, y: np.ndarray) -> None:
        self._row = V[0], int(arms[0]), float(y[0])

    @property
    def _turn(self) -> int | None:
        return self._plan.turn(self._seen - 1, self._problem.n_arms)

    def _sums(self, *at: np.ndarray) -> np.ndarray:
        v, arm, y = self._row
        if self._turn in (None, arm):
            w, before = at
            self._running[arm] += self._term(v, arm, y, w, before)
            # The scores of all other arms are those of the step before.
            mine = slice(arm, arm + 1)
            score(self._running[mine], self.scale, self._cells[mine], self._totals[mine])
        return self._running

    def _release(self, sums: np.ndarray) -> np.ndarray:
        turn = self._turn
        stepping = slice(None) if turn is None else slice(turn, turn + 1)
        self._steps[stepping] += 1
        out = np.full(len(sums), -1)
        out[stepping] = chosen(self._cells[stepping], self._totals[stepping], self._gumbel)
        return out

    def _term(
        self, v: np.ndarray, arm: int, y: float, w: np.ndarray, before: np.ndarray
    ) -> np.ndarray:
        i = int(self._steps[arm])
        z = np.array([v @ w[arm], v @ before[arm]])
        now, then = self._problem.derivative(np.array([y, y]), z).tolist()
        g = (i + 1) * now - i * then
        clip = self._plan.clip
        return (min(max(g, -clip), clip) if g == g else 0.0) * v

    def _gumbel(self, shape: tuple[int, ...]) -> np.ndarray:
        size = prod(shape)
        if size > len(self._ahead):
            self._ahead = self._noise.gumbel((max(size, _AHEAD),))
        # Taken away before it is wiped: an interruption in between leaves no zeros behind.
        taken, self._ahead = self._ahead[:size], self._ahead[size:]
        out = taken.copy()
        taken[:] = 0.0
        return out.reshape(shape)

    def _forget_block(self) -> None:
        del self._row
