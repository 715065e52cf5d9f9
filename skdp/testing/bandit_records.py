"""Recording and replaying the run of a bandit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import numpy as np

from ..privacy.accounting.ledger import Ledger
from ..privacy.adjacency import Adjacency
from ..privacy.bandit_sessions.bandit_plans import Plan
from ..privacy.bandit_sessions.base import ArmSession
from ..privacy.bandit_sessions.session_factory import SESSIONS, sessions_opened_by
from ..privacy.randomness import SecretNoise
from ..problem.bandit_problem import BanditProblem

_QUESTIONS = ("moments", "gradient", "select", "step", "weights")
Exchange = tuple[str, tuple[np.ndarray, ...], Any]


def record_run(run: Callable[[], object]) -> list[Exchange]:
    """Let a bandit learn, and return all that its session was asked and answered.

    Parameters
    ----------
    run : callable
        Begins the run of one bandit, and goes through it.

    Returns
    -------
    list of tuple
        Name, arguments and answer of each exchange, in order.
    """
    exchanges: list[Exchange] = []

    def factory(
        plan: Plan, problem: BanditProblem, ledger: Ledger, adjacency: Adjacency, noise: SecretNoise
    ) -> ArmSession:
        inner = SESSIONS[type(plan)](plan, problem, ledger, adjacency, noise)
        return cast(ArmSession, _Recording(inner, exchanges))

    with sessions_opened_by(factory):
        run()
    return exchanges


def replay_run(run: Callable[[], object], exchanges: list[Exchange]) -> None:
    """Let a bandit learn from recorded answers: of rows only their number can matter.

    Parameters
    ----------
    run : callable
        Begins the run of one bandit with the parameters of the recorded one, and goes through it.
    exchanges : list of tuple
        Of :func:`record_run`.

    Raises
    ------
    AssertionError
        If other queries are asked than were recorded, or fewer.
    """
    left = list(exchanges)

    def factory(
        plan: Plan, problem: BanditProblem, ledger: Ledger, adjacency: Adjacency, noise: SecretNoise
    ) -> ArmSession:
        del problem, ledger, adjacency, noise
        return cast(ArmSession, _Replaying(plan, left))

    with sessions_opened_by(factory):
        run()
    assert not left, f"{len(left)} fewer queries than recorded"


class _Recording:
    def __init__(self, inner: ArmSession, exchanges: list[Exchange]) -> None:
        self._inner, self._exchanges = inner, exchanges

    def __getattr__(self, name: str) -> Any:
        member = getattr(self._inner, name)
        if name not in _QUESTIONS:
            return member

        def ask(*args: np.ndarray) -> Any:
            answer = member(*args)
            self._exchanges.append((name, tuple(a.copy() for a in args), answer))
            return answer

        return ask


class _Replaying:
    """Holds no rows."""

    def __init__(self, plan: Plan, left: list[Exchange]) -> None:
        self.plan, self._left = plan, left
        self.seen, self.due = 0, False

    @property
    def room(self) -> int | None:
        end = self.plan.next_end(self.seen)
        return None if end is None else end - self.seen

    def add(self, X: np.ndarray, *others: np.ndarray | None) -> None:
        del others
        self.due = len(X) == self.room
        self.seen += len(X)

    def close(self) -> None:
        self.due = False

    def __getattr__(self, name: str) -> Any:
        if name not in _QUESTIONS:
            raise AttributeError(name)

        def answer(*args: np.ndarray) -> Any:
            assert self._left, f"{name} was asked once more than recorded"
            recorded, before, value = self._left.pop(0)
            assert recorded == name, f"{name} was asked where {recorded} was recorded"
            for mine, theirs in zip(args, before, strict=True):
                np.testing.assert_array_equal(mine, theirs)
            return value

        return answer
