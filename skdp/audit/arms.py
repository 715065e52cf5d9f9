"""Sessions of bandits that also note how their answers look if one user had another record."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast, final

import numpy as np

from ..bandit_plans import Plan
from ..bandit_problem import BanditProblem
from ..privacy.adjacency import Adjacency
from ..privacy.arms.block_rows import GradientSession, SelectionSession
from ..privacy.arms.moments import ArmMoments, MomentSession
from ..privacy.arms.opening import SESSIONS
from ..privacy.arms.steps import StepSession
from ..privacy.ledger import Ledger
from ..privacy.mechanisms.gumbel import GumbelMechanism
from ..privacy.mechanisms.toeplitz import Toeplitz
from ..privacy.randomness import SecretNoise
from .answers import Answer
from .exact_answers import GaussianAnswer, VertexAnswer
from .running_sums import SumsAnswer

__all__ = ["WitnessSession"]

_KNOWN = (GradientSession, MomentSession, SelectionSession, StepSession)


@final
class WitnessSession:
    """Answers as a private session does, and takes notes that must not be published.

    For each data set there is a twin without noise, which is given the rows of that data set with
    the arms that were pulled in truth.

    Parameters
    ----------
    plan, problem, ledger, adjacency, noise
        As for :class:`~skdp.privacy.arms.base.ArmSession`.
    records : tuple of tuple
        ``(X, y)`` of each data set: contexts, and mapped rewards of all arms.
    notes : list of Answer
        Where answers are noted.

    Raises
    ------
    TypeError
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
        records: tuple[tuple[np.ndarray, np.ndarray], ...],
        notes: list[Answer],
    ) -> None:
        kind = SESSIONS[type(plan)]
        if kind not in _KNOWN:
            raise TypeError(
                f"An audit of answers needs a likelihood for {kind.__name__}, and knows none; "
                "audit what is published instead, with sees='model'."
            )
        self._inner = kind(plan, problem, ledger, adjacency, noise)
        self._twins = [kind(plan, problem, ledger.anew(), adjacency, _Silence()) for _ in records]
        self._records, self._notes = records, notes
        self._sums: SumsAnswer | None = None

    def __getattr__(self, name: str) -> Any:
        # Public facts: the plan, and where in it the run is.
        return getattr(self._inner, name)

    def add(self, X: np.ndarray, arms: np.ndarray, y: np.ndarray) -> None:
        """Take the rows of some more users; the twins have their own."""
        here = slice(self._inner.seen, self._inner.seen + len(X))
        self._inner.add(X, arms, y)
        for twin, (contexts, rewards) in zip(self._twins, self._records, strict=True):
            twin.add(contexts[here], arms, rewards[here][np.arange(len(X)), arms])

    def close(self) -> None:
        """Go on to the next block."""
        for session in (self._inner, *self._twins):
            session.close()

    def gradient(self, w: np.ndarray) -> np.ndarray:
        """The answer of the private session."""
        # The sessions forget how many rows there were only when they are closed.
        inner = cast(GradientSession, self._inner)
        answer = inner.gradient(w)
        n = len(inner._rows[0][0])
        exact = tuple(cast(GradientSession, twin).gradient(w) for twin in self._twins)
        of_sum = inner._mechanism
        of_mean = replace(
            of_sum, sensitivity=of_sum.sensitivity / n, noise_scale=of_sum.noise_scale / n
        )
        self._notes.append(GaussianAnswer(of_mean, exact, answer.copy()))
        return answer

    def moments(self) -> ArmMoments:
        """The answer of the private session."""
        answer = cast(MomentSession, self._inner).moments()
        if self._sums is None:
            mechanism = Toeplitz(len(cast(Any, self._inner.plan).ends))
            first = float(np.sqrt(mechanism.variances(np.array([1]))[0]))
            exact: tuple[list[np.ndarray], ...] = tuple([] for _ in self._twins)
            self._sums = SumsAnswer(mechanism, answer.scale / first, exact, [])
            self._notes.append(self._sums)
        for sums, twin in zip(self._sums.exact, self._twins, strict=True):
            sums.append(_as_vector(cast(MomentSession, twin).moments()))
        self._sums.given.append(_as_vector(answer))
        return answer

    def select(self, w: np.ndarray) -> np.ndarray:
        """The answer of the private session."""
        inner = cast(SelectionSession, self._inner)
        chosen = inner.select(w)
        block = inner.plan.ends.index(inner.seen)  # type: ignore[attr-defined]
        sums = [cast(SelectionSession, twin)._sums(w) for twin in self._twins]
        self._note(chosen, sums, inner._mechanisms[block].noise_scale)
        return chosen

    def step(self, w: np.ndarray, before: np.ndarray) -> np.ndarray:
        """The answer of the private session."""
        inner = cast(StepSession, self._inner)
        chosen = inner.step(w, before)
        for twin in self._twins:
            cast(StepSession, twin).step(w, before)
        sums = [cast(StepSession, twin)._sums.copy() for twin in self._twins]
        self._note(chosen, sums, inner._scale)
        return chosen

    def _note(self, chosen: np.ndarray, sums: list[np.ndarray], scale: float) -> None:
        """One choice for each arm that has made one."""
        mechanism = GumbelMechanism(1.0, scale, 1)
        for arm in np.flatnonzero(chosen >= 0):
            scores = tuple(np.concatenate([-total[arm], total[arm]]) for total in sums)
            self._notes.append(VertexAnswer(mechanism, scores, chosen[[arm]]))


def _as_vector(moments: ArmMoments) -> np.ndarray:
    """In coordinates in which the noise is independent and of one scale."""
    matrices = moments.matrices
    upper = np.triu_indices(matrices.shape[1], 1)
    parts = np.einsum("kii->ki", matrices), np.sqrt(2.0) * matrices[:, upper[0], upper[1]]
    return np.concatenate([*parts, moments.vectors], axis=1)


class _Silence(SecretNoise):
    """No noise: twins hand out exact answers, to nobody but their witness."""

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
