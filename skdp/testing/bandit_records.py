"""Recording and replaying the run of a bandit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import numpy as np

from ..privacy.bandit_sessions.bandit_plans import Plan
from ..privacy.bandit_sessions.base import ArmSession
from ..privacy.bandit_sessions.session_factory import private_session, sessions_opened_by

Exchange = tuple[tuple[np.ndarray, ...], Any]


def record_run(run: Callable[[], object]) -> list[Exchange]:
    """Let a bandit learn, and return all that its session was asked and answered.

    Parameters
    ----------
    run : callable
        Begins the run of one bandit, and goes through it.

    Returns
    -------
    list of tuple
        Arguments and answer of each exchange, in order.
    """
    exchanges: list[Exchange] = []

    def factory(*facts: Any) -> ArmSession:
        return cast(ArmSession, _Recording(private_session(*facts), exchanges))

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

    def factory(plan: Plan, *others: Any) -> ArmSession:
        del others
        return cast(ArmSession, _Replaying(plan, left))

    with sessions_opened_by(factory):
        run()
    assert not left, f"{len(left)} fewer queries than recorded"


class _Recording:
    def __init__(self, inner: ArmSession, exchanges: list[Exchange]) -> None:
        self._inner, self._exchanges = inner, exchanges

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def ask(self, *at: np.ndarray) -> Any:
        answer = self._inner.ask(*at)
        self._exchanges.append((tuple(w.copy() for w in at), answer))
        return answer


class _Replaying:
    """Holds no rows."""

    def __init__(self, plan: Plan, left: list[Exchange]) -> None:
        self._ends, self._left, self.seen = list(plan.ends), left, 0

    @property
    def room(self) -> int | None:
        return self._ends[0] - self.seen if self._ends else None

    def add(self, X: np.ndarray, *others: np.ndarray | None) -> None:
        del others
        self.seen += len(X)

    def close(self) -> None:
        del self._ends[0]

    def ask(self, *at: np.ndarray) -> Any:
        assert self._left, "more queries than recorded"
        before, answer = self._left.pop(0)
        for mine, theirs in zip(at, before, strict=True):
            np.testing.assert_array_equal(mine, theirs)
        return answer
