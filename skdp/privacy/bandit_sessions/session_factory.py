"""Factory of runs of a bandit: it makes a ledger, and the session that is charged to it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import NamedTuple

from ...problem.bandit_problem import BanditProblem
from ..accounting.ledger import Ledger
from ..adjacency import Adjacency
from ..oracle_factory import PrivacyTerms, PrivateSession
from ..randomness import SecretNoise
from .arm_moments import MomentSession
from .arm_streams import ArmStreams
from .bandit_plans import (
    GradientPlan,
    MomentPlan,
    Plan,
    SelectionPlan,
    StepPlan,
    StreamsPlan,
)
from .base import ArmSession
from .block_rows import GradientSession, SelectionSession
from .noisy_steps import StepSession

SESSIONS: dict[type[Plan], type[ArmSession]] = {
    GradientPlan: GradientSession,
    MomentPlan: MomentSession,
    SelectionPlan: SelectionSession,
    StepPlan: StepSession,
    StreamsPlan: ArmStreams,
}

SessionFactory = Callable[[Plan, BanditProblem, Ledger, Adjacency, SecretNoise], ArmSession]


def _private(
    plan: Plan, problem: BanditProblem, ledger: Ledger, adjacency: Adjacency, noise: SecretNoise
) -> ArmSession:
    return SESSIONS[type(plan)](plan, problem, ledger, adjacency, noise)


# In a context variable so that what a test asks for is not seen by other threads.
_factory: ContextVar[SessionFactory] = ContextVar("session_factory", default=_private)


class OpenedRun(NamedTuple):
    """A session that no row was given yet, and the ledger that has paid for all of it."""

    session: ArmSession
    ledger: Ledger


def open_run(
    plan: Plan, problem: BanditProblem, terms: PrivacyTerms, private: PrivateSession
) -> OpenedRun:
    """Open and pay for a run: private, unless within :func:`sessions_opened_by`."""
    ledger = terms.ledger()
    ledger.note("models of the arms")
    session = _factory.get()(plan, problem, ledger, terms.adjacency, private.noise)
    return OpenedRun(session, ledger)


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
