"""Factory of sessions for bandits."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from ...problem.bandit_problem import BanditProblem
from ..accounting.ledger import Ledger
from ..adjacency import Adjacency
from ..randomness import SecretNoise
from .arm_moments import MomentSession
from .bandit_plans import GradientPlan, MomentPlan, Plan, SelectionPlan, StepPlan
from .base import ArmSession
from .block_rows import GradientSession, SelectionSession
from .noisy_steps import StepSession

__all__ = ["SESSIONS", "open_session", "sessions_opened_by"]

SESSIONS: dict[type[Plan], type[ArmSession]] = {
    GradientPlan: GradientSession,
    MomentPlan: MomentSession,
    SelectionPlan: SelectionSession,
    StepPlan: StepSession,
}

SessionFactory = Callable[[Plan, BanditProblem, Ledger, Adjacency, SecretNoise], ArmSession]


def _private(
    plan: Plan, problem: BanditProblem, ledger: Ledger, adjacency: Adjacency, noise: SecretNoise
) -> ArmSession:
    return SESSIONS[type(plan)](plan, problem, ledger, adjacency, noise)


# In a context variable so that what a test asks for is not seen by other threads.
_factory: ContextVar[SessionFactory] = ContextVar("session_factory", default=_private)


def open_session(
    plan: Plan, problem: BanditProblem, ledger: Ledger, adjacency: Adjacency, noise: SecretNoise
) -> ArmSession:
    """The session for a run: private, unless within :func:`sessions_opened_by`.

    Parameters
    ----------
    plan : Plan
        What will be answered.
    problem : BanditProblem
        Public facts.
    ledger : Ledger
        Charged at once.
    adjacency : Adjacency
        Neighbouring relation.
    noise : SecretNoise
        Source of the noise.
    """
    return _factory.get()(plan, problem, ledger, adjacency, noise)


@contextmanager
def sessions_opened_by(factory: SessionFactory) -> Iterator[None]:
    """Let bandits within the block, and no others, get their sessions from this factory. For tests.

    Parameters
    ----------
    factory : callable
        Takes the arguments of :func:`open_session` and returns a session. The privacy of runs that
        begin within the block is that of the sessions it returns.
    """
    token = _factory.set(factory)
    try:
        yield
    finally:
        _factory.reset(token)
