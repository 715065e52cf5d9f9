"""Plan of a bandit's releases, declared before the first row, and moments as they are released.

Public facts, which policies see and sessions work with; neither knows of the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain, pairwise
from math import inf, sqrt
from typing import Any, Literal

import numpy as np

from ...problem.problem import Problem
from ..accounting.calculus import Calculus
from ..queries.moments import packed, unpacked


@dataclass(frozen=True)
class Plan:
    """Plan of a whole run over the users 1, ..., T, so that all of it can be charged at once.

    It is public. The session takes care that no more than this is answered.
    """

    #: What is released: moments of all users so far; gradients, or vertices of the l1 ball, of the
    #: users of a block at points that the policy chooses; a vertex for every arm from running sums
    #: of recursive gradients; or the weights that a streaming solver has learned for each arm.
    releases: Literal["moments", "gradients", "vertices", "steps", "streams"]
    #: Numbers of users after which something is released, increasing; the last is the horizon T.
    ends: Sequence[int]
    #: How the ledger adds up charges.
    calculus: Calculus
    #: Bound on the derivative of the loss of a user, or on the recursive one of ``'steps'``.
    clip: float = 1.0
    #: Number of answers at each end, one unless they are gradients or vertices; by default one.
    answers: tuple[int, ...] = ()
    #: The first ``n_arms * forced`` users belong to the arms in turn, ``forced`` to each, and only
    #: the arm whose turn it is takes steps. From then on every arm takes a step at every user.
    forced: int = 0
    #: For ``'streams'``: what learns the weights of an arm, from its users and synthetic rows, and
    #: the problem of one arm over bounded rows, of as many rows as an arm takes steps.
    solver: Any = None
    problem: Problem | None = None

    def __post_init__(self) -> None:
        answers = self.answers or (1,) * len(self.ends)
        ends, increasing = self.ends, all(a < b for a, b in pairwise(chain((0,), self.ends)))
        if not (ends and increasing and len(answers) == len(ends) and min(answers) >= 1):
            raise ValueError(
                "Plan of a bandit needs increasing ends and at least 1 answer at each of them, got "
                f"{self.answers} for {ends}."
            )
        # All else is charged once an end, and a step adds its user once.
        if max(answers) > 1 and self.releases not in ("gradients", "vertices"):
            raise ValueError(
                "Plan of a bandit needs 1 answer at each end but of gradients and vertices, got "
                f"{self.answers} of {self.releases}."
            )
        if not 0 < self.clip < inf:
            raise ValueError(
                f"Plan of a bandit needs a positive finite clip, got clip={self.clip}."
            )
        object.__setattr__(self, "answers", answers)
        # Sensitivities and noise in single precision would be rounded far below.
        object.__setattr__(self, "clip", float(self.clip))

    def updates(self, n_arms: int) -> int:
        """Most steps that an arm takes in all."""
        return self.forced + max(0, self.ends[-1] - n_arms * self.forced)

    def turn(self, seen: int, n_arms: int) -> int | None:
        """Arm whose turn it is after this many users; None once all arms take steps."""
        return seen // self.forced if seen < n_arms * self.forced else None


@dataclass(frozen=True, eq=False)
class ArmMoments:
    """Noisy sums over the users of each arm."""

    #: Of each arm ``sum v v'`` as the vector of its diagonal and of sqrt(2) times its upper
    #: triangle, whose norm is the Frobenius norm, and ``sum y v``; shape (K, p (p + 1) / 2 + p).
    packed: np.ndarray
    #: Standard deviation of the noise of an entry.
    scale: float
    #: Number of users.
    seen: int

    @classmethod
    def of(cls, matrices: np.ndarray, vectors: np.ndarray, scale: float, seen: int) -> ArmMoments:
        """Moments of symmetric matrices (K, p, p), of which the upper halves count, and vectors."""
        return cls(np.concatenate([packed(matrices), vectors], axis=1), scale, seen)

    @property
    def vectors(self) -> np.ndarray:
        """``sum y v``, (K, p)."""
        # The positive root of p (p + 3) / 2 = m.
        p = (round(sqrt(9 + 8 * self.packed.shape[1])) - 3) // 2
        return self.packed[:, -p:]

    @property
    def matrices(self) -> np.ndarray:
        """``sum v v'``, (K, p, p), symmetric; noise off the diagonal is smaller by sqrt(2).

        Of a symmetric matrix one half is released, and written twice: the halves may be rounded in
        two ways, and with the same noise on both their difference would bear none.
        """
        p = self.vectors.shape[1]
        return unpacked(self.packed[:, :-p], p)
