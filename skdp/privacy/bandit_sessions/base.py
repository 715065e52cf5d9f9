"""Base of the sessions of a bandit, which take rows and answer what their plan allows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, final

import numpy as np

from ...problem.bandit_problem import BanditProblem
from ..accounting.events import Event
from ..accounting.ledger import Budget, Ledger, Spend
from ..adjacency import Adjacency
from ..no_noise import noise_under
from ..randomness import SecretNoise, SecretState
from ..rounding import inflated
from .bandit_plans import Plan

# Roundings of a term besides those of the additions that it passes through.
_FEW = 64


class ArmSession(SecretState, ABC):
    """Rows of users, their arms and rewards, behind the answers that a plan allows.

    The whole plan is charged when the session is opened, before it is given any row.

    Parameters
    ----------
    plan : Plan
        What will be answered, and when. Public.
    problem : BanditProblem
        Public facts.
    ledger : Ledger
        Charged at once for all of the plan, with all that it has left.
    adjacency : Adjacency
        Neighbouring relation between streams: all of a user's row, the context, what follows from
        it, the arm and the reward, is replaced, or counts as nothing.
    noise : SecretNoise
        Source of the noise.

    Guarantees
    ----------
    - All answers together are (epsilon, delta)-DP with the ledger's epsilon and delta, with
      respect to rows (context, arm, reward) of which each may depend on the answers before it.
    - For rows that do not count answers are those of rows that add nothing to any sum.
    - *Several visits.* A run that is mu-GDP for streams that differ in one row is (k mu)-GDP for
      those that differ in k, and likewise with k^2 rho of zCDP: *Several visits* in
      ``docs/proofs/bandits.md``.
    - The sums do not depend on how rows were cut into calls.
    """

    def __init__(
        self,
        plan: Plan,
        problem: BanditProblem,
        ledger: Ledger,
        adjacency: Adjacency,
        noise: SecretNoise,
    ) -> None:
        self._plan, self._problem = plan, problem
        self._noise = noise_under(ledger, noise)
        self._seen = self._block = self._asked = 0
        self._rows: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []
        ledger.charge(self._opening(adjacency, Budget(ledger.remaining).whole()))

    @property
    @final
    def seen(self) -> int:
        """Number of users so far. Public."""
        return self._seen

    @property
    @final
    def room(self) -> int | None:
        """Number of users until a release is due, 0 if one is; None after the last. Public."""
        ends = self._plan.ends
        return ends[self._block] - self._seen if self._block < len(ends) else None

    @final
    def add(
        self,
        X: np.ndarray,
        arms: np.ndarray,
        y: np.ndarray,
        counting: np.ndarray | None = None,
    ) -> None:
        """Take the rows of some more users.

        Parameters
        ----------
        X : ndarray of shape (n, d)
            Contexts, finite numbers in double precision.
        arms : ndarray of int of shape (n,)
            Arms that were pulled.
        y : ndarray of shape (n,)
            Rewards, mapped so that their bounds are -1 and 1; others are clipped.
        counting : ndarray of bool of shape (n,), optional
            Which rows count, secret; by default all of them.

        Raises
        ------
        RuntimeError
            If the rows reach beyond the next end. Nothing is taken then.
        """
        if len(X) > (self.room or 0):
            raise RuntimeError(
                f"{type(self).__name__} needs at most {self.room or 0} more users before the next "
                f"release, and what is due closed before them; got {len(X)}."
            )
        # A warning about one row would tell of it outside the answers.
        with np.errstate(all="ignore"):
            V, y = self._problem.contexts.rows(X), np.clip(y, -1.0, 1.0)
            if counting is not None:
                V = np.where(counting[:, np.newaxis], V, 0.0)
                # Rows of zeros add nothing to any arm; which one it is may show in rounding.
                arms, y = np.where(counting, arms, 0), np.where(counting, y, 0.0)
            if len(V):
                self._keep(V, arms, y)
        self._seen += len(X)

    @final
    def ask(self, *at: np.ndarray) -> Any:
        """Answer to what is due.

        Parameters
        ----------
        *at : ndarray of shape (K, p)
            Weights of the arms at which gradients or vertices are asked for; for steps the present
            ones and those before the last step of each arm; for all else none.

        Returns
        -------
        answer
            Of moments :class:`~skdp.privacy.bandit_sessions.ArmMoments`, of gradients the noisy
            mean over the block of the clipped derivative times the row, (K, p), of vertices ints
            (K,), j < p for coordinate j, p + j for minus it and -1 for arms that take no step, of
            streams the released weights, (K, p).
        """
        if self.room != 0 or self._asked >= self._plan.answers[self._block]:
            raise RuntimeError(
                f"{type(self).__name__} answers as often as its plan says, at the end of a block."
            )
        self._asked += 1
        with np.errstate(all="ignore"):
            return self._release(self._sums(*at))

    @final
    def close(self) -> None:
        """Go on to the next block; what the present one may still be asked is forfeited."""
        self._block += 1
        self._asked = 0
        self._forget_block()

    @final
    def _computed(self, sensitivity: float, additions: int) -> float:
        """The sensitivity of computed sums, with the margin of :mod:`skdp.privacy.rounding`.

        A term of them passes through at most so many additions. Two differences of scores err at a
        time where sums are scores, which makes it twice the margin of a sum.
        """
        rounding = (additions + _FEW) * self._problem.horizon * 2.0**-51
        return inflated(sensitivity, rounding)

    @final
    def _users(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Bounded rows, arms and rewards of the users of the present block: secret."""
        if len(self._rows) > 1:
            V, arms, y = (np.concatenate(parts) for parts in zip(*self._rows, strict=True))
            self._rows = [(V, arms, y)]
        return self._rows[0]

    @property
    @final
    def _turn(self) -> int | None:
        """Arm whose turn it was at the latest user; None once all arms take steps. Public."""
        return self._plan.turn(self._seen - 1, self._problem.n_arms)

    @abstractmethod
    def _opening(self, adjacency: Adjacency, spend: Spend) -> Event:
        """Prepare for the plan and return what it costs, at most the spend."""

    def _keep(self, V: np.ndarray, arms: np.ndarray, y: np.ndarray) -> None:
        """Take bounded rows, at least one."""
        self._rows.append((V, arms.copy(), y))

    @abstractmethod
    def _sums(self, *at: np.ndarray) -> np.ndarray:
        """Exact sums over users of each arm, (K, m): secret."""

    @abstractmethod
    def _release(self, sums: np.ndarray) -> Any:
        """The private answer."""

    def _forget_block(self) -> None:
        """Drop what belongs to the block that has ended alone."""
        self._rows = []
