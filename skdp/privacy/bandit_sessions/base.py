"""Base of the sessions of a bandit, which take rows and say when a release is due."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar, NoReturn, final

import numpy as np

from ...problem.bandit_problem import BanditProblem
from ..accounting.events import Event
from ..accounting.ledger import Budget, Ledger, Spend
from ..adjacency import Adjacency
from ..no_noise import NoNoise, noise_under
from ..randomness import SecretNoise
from ..rounding import inflated
from .bandit_plans import Plan

# Roundings of a term besides those of the additions that it passes through.
_FEW = 64


class ArmSession(ABC):
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
    - It can be neither pickled nor copied; ``secret_state`` is for a checkpoint that is kept as
      secret as the rows.
    """

    # What is neither a fact that the session is opened with nor part of its state.
    _outside: ClassVar[tuple[str, ...]] = ("_problem", "_plan", "_noise")

    def __init__(
        self,
        plan: Plan,
        problem: BanditProblem,
        ledger: Ledger,
        adjacency: Adjacency,
        noise: SecretNoise,
    ) -> None:
        self._plan, self._problem, self._exact = plan, problem, ledger.exact
        self._noise = noise_under(ledger, noise)
        self._seen, self._due = 0, False
        ledger.charge(self._opening(adjacency, Budget(ledger.remaining).whole()))

    @property
    @final
    def plan(self) -> Plan:
        """Schedule and mechanism of the releases."""
        return self._plan

    @property
    @final
    def seen(self) -> int:
        """Number of users so far."""
        return self._seen

    @property
    @final
    def room(self) -> int | None:
        """Number of users until a release is due; None if none ever is."""
        end = self._plan.next_end(self._seen)
        return None if end is None else end - self._seen

    @property
    @final
    def due(self) -> bool:
        """True if the users so far end a block that has not been closed."""
        return self._due

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
        end = self._plan.next_end(self._seen)
        if self._due or end is None or self._seen + len(X) > end:
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
            self._keep(V, arms, y)
        self._seen += len(X)
        self._due = self._seen == end

    @final
    def close(self) -> None:
        """Go on to the next block; what the present one may still be asked is forfeited."""
        self._due = False
        self._forget_block()

    @final
    def secret_state(self) -> dict[str, Any]:
        """All that is needed to go on later. As secret as the rows."""
        kept = {k: v for k, v in vars(self).items() if k not in self._outside}
        return {k: self._packed(v) for k, v in kept.items()}

    @classmethod
    @final
    def resumed(
        cls, plan: Plan, problem: BanditProblem, noise: SecretNoise, state: dict[str, Any]
    ) -> ArmSession:
        """The session that goes on from a secret state, which must be resumed at most once."""
        session = cls.__new__(cls)
        session._plan, session._problem = plan, problem
        session._noise = NoNoise(noise) if state["_exact"] else noise
        for name, value in state.items():
            setattr(session, name, session._unpacked(value))
        return session

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            f"{type(self).__name__} cannot be copied or pickled: it holds rows and noise. Use a "
            "secret checkpoint."
        )

    @final
    def _computed(self, sensitivity: float, additions: int) -> float:
        """The sensitivity of computed sums, with the margin of :mod:`skdp.privacy.rounding`.

        A term of them passes through at most so many additions. Two differences of scores err at a
        time where sums are scores, which makes it twice the margin of a sum.
        """
        rounding = (additions + _FEW) * self._problem.horizon * 2.0**-51
        return inflated(sensitivity, rounding)

    def _packed(self, value: Any) -> Any:
        return value.copy() if isinstance(value, np.ndarray | list) else value

    def _unpacked(self, value: Any) -> Any:
        return value

    @abstractmethod
    def _opening(self, adjacency: Adjacency, spend: Spend) -> Event:
        """Prepare for the plan and return what it costs, at most the spend."""

    @abstractmethod
    def _keep(self, V: np.ndarray, arms: np.ndarray, y: np.ndarray) -> None:
        """Take bounded rows."""

    @abstractmethod
    def _forget_block(self) -> None:
        """Drop what belongs to the present block alone."""
