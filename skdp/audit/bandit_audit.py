"""Sessions of bandits whose answers are recorded, or which give recorded answers."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast, final

import numpy as np

from ..privacy.accounting.ledger import Ledger
from ..privacy.adjacency import Adjacency
from ..privacy.bandit_sessions.arm_moments import ArmMoments, MomentSession
from ..privacy.bandit_sessions.bandit_plans import Plan
from ..privacy.bandit_sessions.block_rows import GradientSession, SelectionSession
from ..privacy.bandit_sessions.noisy_steps import StepSession
from ..privacy.bandit_sessions.session_factory import SESSIONS
from ..privacy.mechanisms.gumbel import GumbelMechanism
from ..privacy.mechanisms.toeplitz import Toeplitz
from ..privacy.randomness import SecretNoise, SystemNoise
from ..problem.bandit_problem import BanditProblem
from .likelihoods import GaussianAnswer, UnknownLikelihoodError
from .tape import Tape

__all__ = ["TapedSession"]

_KNOWN = (GradientSession, MomentSession, SelectionSession, StepSession)


@final
class TapedSession:
    """A private session whose answers are recorded, or one that gives recorded answers.

    Beside it there is a twin without noise, which is given the same rows: its answers are exact.

    Parameters
    ----------
    plan, problem, ledger, adjacency, noise
        As for :class:`~skdp.privacy.bandit_sessions.base.ArmSession`. Noise is drawn from the
        operating system.
    tape : Tape
        The record.

    Raises
    ------
    UnknownLikelihoodError
        If it is not known how such a session answers.
    """

    def __init__(
        self,
        plan: Plan,
        problem: BanditProblem,
        ledger: Ledger,
        adjacency: Adjacency,
        noise: SecretNoise,
        *,
        tape: Tape,
    ) -> None:
        del noise
        kind = SESSIONS[type(plan)]
        if kind not in _KNOWN:
            raise UnknownLikelihoodError(kind.__name__)
        self._twin = kind(plan, problem, ledger.anew(), adjacency, _Silence())
        # Without a record to make it is only charged, and says where in the plan the run is.
        self._inner = kind(plan, problem, ledger, adjacency, SystemNoise())
        self._tape = tape
        self._exact: list[np.ndarray] = []
        self._given: list[np.ndarray] = []

    def __getattr__(self, name: str) -> Any:
        # Public facts: the plan, and where in it the run is.
        return getattr(self._inner, name)

    def add(self, X: np.ndarray, arms: np.ndarray, y: np.ndarray) -> None:
        """Take the rows of some more users."""
        for session in (self._inner, self._twin):
            session.add(X, arms, y)

    def close(self) -> None:
        """Go on to the next block."""
        for session in (self._inner, self._twin):
            session.close()

    def gradient(self, w: np.ndarray) -> np.ndarray:
        """The answer of the private session."""
        inner, twin = cast(GradientSession, self._inner), cast(GradientSession, self._twin)
        given = self._tape.exchange("gradient", (w.copy(),), lambda: inner.gradient(w))
        # The mechanism is that of the last answer, and rows are there until the block is closed.
        n, of_sum = len(inner._rows[0][0]), inner._mechanism
        of_mean = replace(
            of_sum, sensitivity=of_sum.sensitivity / n, noise_scale=of_sum.noise_scale / n
        )
        kept = given.copy()
        self._tape.note(lambda sides: GaussianAnswer(sides, kept, of_mean), twin.gradient(w))
        return given

    def moments(self) -> ArmMoments:
        """The answer of the private session."""
        inner, twin = cast(MomentSession, self._inner), cast(MomentSession, self._twin)
        # Its noise goes on from block to block, and so does the count of blocks.
        fresh = inner.moments()
        given = self._tape.exchange("moments", (), lambda: fresh)
        if not self._given:
            mechanism = Toeplitz(len(cast(Any, self._inner.plan).ends))
            first = float(np.sqrt(mechanism.variances(np.array([1]))[0]))
            self._tape.note_sums(mechanism, given.scale / first, self._given, self._exact)
        self._exact.append(_as_vector(twin.moments()))
        self._given.append(_as_vector(given))
        return given

    def select(self, w: np.ndarray) -> np.ndarray:
        """The answer of the private session."""
        inner, twin = cast(SelectionSession, self._inner), cast(SelectionSession, self._twin)
        chosen = self._tape.exchange("select", (w.copy(),), lambda: inner.select(w))
        block = inner.plan.ends.index(inner.seen)  # type: ignore[attr-defined]
        self._note(chosen, twin._sums(w), inner._mechanisms[block].noise_scale)
        return chosen

    def step(self, w: np.ndarray, before: np.ndarray) -> np.ndarray:
        """The answer of the private session."""
        inner, twin = cast(StepSession, self._inner), cast(StepSession, self._twin)
        fresh = inner.step(w, before)
        chosen = self._tape.exchange("step", (w.copy(), before.copy()), lambda: fresh)
        twin.step(w, before)
        self._note(chosen, twin._sums.copy(), inner._scale)
        return chosen

    def _note(self, chosen: np.ndarray, sums: np.ndarray, scale: float) -> None:
        """One choice for each arm that has made one."""
        mechanism = GumbelMechanism(1.0, scale, 1)
        for arm in np.flatnonzero(chosen >= 0):
            scores = np.concatenate([-sums[arm], sums[arm]])
            self._tape.note_choice(mechanism, chosen[[arm]], scores)


def _as_vector(moments: ArmMoments) -> np.ndarray:
    """Answer as a vector, in coordinates in which the noise is independent and of one scale."""
    matrices = moments.matrices
    upper = np.triu_indices(matrices.shape[1], 1)
    parts = np.einsum("kii->ki", matrices), np.sqrt(2.0) * matrices[:, upper[0], upper[1]]
    return np.concatenate([*parts, moments.vectors], axis=1)


class _Silence(SecretNoise):
    """No noise: twins hand out exact answers, to nobody but the audit."""

    def normal(self, shape: int | tuple[int, ...]) -> np.ndarray:
        return np.zeros(shape)

    def rounded(self, shape: int | tuple[int, ...], scale: float) -> np.ndarray:
        del scale
        return np.zeros(shape)

    def gumbel(self, shape: int | tuple[int, ...]) -> np.ndarray:
        return np.zeros(shape)

    def chosen(self, size: int, rate: float) -> np.ndarray:
        del rate
        return np.ones(size, dtype=bool)
