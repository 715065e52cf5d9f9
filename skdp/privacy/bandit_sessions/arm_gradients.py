"""Sums of gradients over the users of each arm, and vertices of the l1 ball chosen by them."""

from __future__ import annotations

from abc import ABC
from collections.abc import Callable
from dataclasses import replace
from math import ceil, prod, sqrt
from typing import final

import numpy as np

from ..accounting.events import Event, GaussianEvent, Part
from ..accounting.ledger import Spend
from ..adjacency import Adjacency
from ..mechanisms.gaussian import GaussianMechanism
from ..mechanisms.gumbel import GumbelMechanism
from .base import ArmSession

# From this many candidates an arm on a choice is made in two stages.
_MANY = 64
# Gumbel variables that are drawn ahead.
_AHEAD = 1 << 13


class _BlockSession(ArmSession, ABC):
    """Sums of ``l' v`` over the users of each arm in the present block, at any weights.

    Blocks have no user in common, and a user is asked about in one block alone, so that the run
    costs what its costliest block costs (parallel composition, for neighbours that replace a user).
    """

    @final
    def _sums(self, *at: np.ndarray) -> np.ndarray:
        (w,), (V, arms, y) = at, self._users()
        n, here = len(V), np.arange(len(V))
        z = (V @ w.T)[here, arms]
        slopes = np.zeros((n, self._problem.n_arms))
        slopes[here, arms] = self._problem.derivative(y, z, self._plan.clip)
        return slopes.T @ V

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
        count = max(self._plan.answers)
        moved = self._computed(adjacency.of_sum(self._plan.clip), self._plan.ends[-1])
        self._mechanism = GaussianMechanism.calibrated(moved, Spend(spend.amount / count))
        return GaussianEvent(
            query="arm_gradients",
            sensitivity=moved,
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
        reach = self._computed(adjacency.of_sum(2 * self._plan.clip), self._plan.ends[-1])
        blocks = [GumbelMechanism.calibrated(reach, k, spend) for k in self._plan.answers]
        self._scales = [block.noise_scale for block in blocks]
        # All blocks cost the same but for rounding.
        costliest = max(blocks, key=lambda block: block.choices / block.noise_scale**2)
        return replace(costliest.event("arm_selections"), part=self._part())

    @property
    def scale(self) -> float:
        """Scale of the Gumbel noise of the present block. Public."""
        return self._scales[self._block]

    def _release(self, sums: np.ndarray) -> np.ndarray:
        return best_vertices(sums, self.scale, self._noise.gumbel)


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
        mechanism = GumbelMechanism.calibrated(reach, n, spend)
        self.scale = mechanism.noise_scale
        self._running = np.zeros((K, p))
        self._cells, self._totals = scores_of(self._running, self.scale)
        self._steps = np.zeros(K, dtype=np.intp)
        self._ahead = np.empty(0)
        return mechanism.event("arm_steps")

    def _sums(self, *at: np.ndarray) -> np.ndarray:
        (w, before), (V, arms, y) = at, self._users()
        v, arm, clip = V[0], int(arms[0]), self._plan.clip
        if self._turn in (None, arm):
            i = int(self._steps[arm])
            z = np.array([v @ w[arm], v @ before[arm]])
            now, then = self._problem.derivative(np.repeat(y, 2), z).tolist()
            g = (i + 1) * now - i * then
            self._running[arm] += (min(max(g, -clip), clip) if g == g else 0.0) * v
            # The scores of all other arms are those of the step before.
            mine = slice(arm, arm + 1)
            self._cells[mine], self._totals[mine] = scores_of(self._running[mine], self.scale)
        return self._running

    def _release(self, sums: np.ndarray) -> np.ndarray:
        turn = self._turn
        stepping = slice(None) if turn is None else slice(turn, turn + 1)
        self._steps[stepping] += 1
        out = np.full(len(sums), -1)
        out[stepping] = chosen(self._cells[stepping], self._totals[stepping], self._gumbel)
        return out

    def _gumbel(self, shape: tuple[int, ...]) -> np.ndarray:
        size = prod(shape)
        if size > len(self._ahead):
            self._ahead = self._noise.gumbel((max(size, _AHEAD),))
        # Taken away before it is wiped: an interruption in between leaves no zeros behind.
        taken, self._ahead = self._ahead[:size], self._ahead[size:]
        out = taken.copy()
        taken[:] = 0.0
        return out.reshape(shape)


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
    scores = np.full((K, blocks * width), -np.inf)
    np.divide(sums, scale, out=scores[:, p : 2 * p])
    np.negative(scores[:, p : 2 * p], out=scores[:, :p])
    cells = scores.reshape(K, blocks, width)
    if blocks == 1:
        return cells, np.zeros((K, 1))
    # No exponential overflows. A block whose exponentials all vanish lies further behind than
    # Gumbel variables ever make up for.
    powers = np.exp(scores - scores.max(axis=1)[:, np.newaxis]).reshape(cells.shape)
    with np.errstate(divide="ignore"):
        return cells, np.log(np.einsum("kij->ki", powers))


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
