"""Factory of runs of a bandit: it makes a ledger, and the session that is charged to it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from ...problem.bandit_problem import BanditProblem
from ..accounting.ledger import Ledger
from ..adjacency import Adjacency
from ..randomness import SecretNoise
from .arm_gradients import GradientSession, SelectionSession, StepSession
from .arm_moments import MomentSession
from .arm_streams import ArmStreams
from .bandit_plans import Plan
from .base import ArmSession

SESSIONS: dict[str, type[ArmSession]] = {
    "gradients": GradientSession,
    "moments": MomentSession,
    "steps": StepSession,
    "streams": ArmStreams,
    "vertices": SelectionSession,
}

SessionFactory = Callable[[Plan, BanditProblem, Ledger, Adjacency, SecretNoise], ArmSession]


def private_session(
    plan: Plan, problem: BanditProblem, ledger: Ledger, adjacency: Adjacency, noise: SecretNoise
) -> ArmSession:
    """The session that answers what a plan releases; the ledger has paid for all of it."""
    return SESSIONS[plan.releases](plan, problem, ledger, adjacency, noise)


# In a context variable so that what a test asks for is not seen by other threads.
_factory: ContextVar[SessionFactory] = ContextVar("session_factory", default=private_session)


def open_run(
    plan: Plan, problem: BanditProblem, epsilon: float, noise: SecretNoise
) -> tuple[ArmSession, Ledger]:
    """A session without rows, and the ledger that has paid for all of it.

    Epsilon may be infinite. The session is private, unless within :func:`sessions_opened_by`.
    """
    ledger = Ledger(epsilon, problem.delta, calculus=plan.calculus)
    ledger.note("models of the arms")
    session = _factory.get()(plan, problem, ledger, problem.adjacency, noise)
    return session, ledger


@contextmanager
def sessions_opened_by(factory: SessionFactory) -> Iterator[None]:
    """Let bandits within the block, and no others, get their sessions from this factory. For tests.

    It takes plan, problem, ledger, neighbouring relation and source of noise; the privacy of runs
    that begin within the block is that of the sessions it returns.
    """
    token = _factory.set(factory)
    try:
        yield
    finally:
        _factory.reset(token)
