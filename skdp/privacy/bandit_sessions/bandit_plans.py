"""Plan of a bandit's releases, declared before the first row, and moments as they are released.

Public facts, which policies see and sessions work with; neither knows of the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf, sqrt
from typing import Literal

import numpy as np

from ..accounting.calculus import Calculus
from ..queries.moments import packed, unpacked


@dataclass(frozen=True)
class Plan:
    """Plan of a whole run over the users 1, ..., T, so that all of it can be charged at once.

    It is public. The session takes care that no more than this is answered.
    """

    #: What is released of each arm: moments of all users so far; the gradient of the loss over the
    #: users of a block, or the vertex of the l1 ball that it selects, at points that the policy
    #: chooses; and the running sum of gradients over all users so far, each at the point of its
    #: block, or for a step the vertex that it selects.
    releases: Literal["moments", "gradients", "selections", "sums", "steps"]
    #: Numbers of users after which something is released, increasing; the last is the horizon T.
    ends: Sequence[int]
    #: How the ledger adds up charges.
    calculus: Calculus
    #: Bound on the derivative of the loss of a user; for ``'sums'`` on the vector that the user
    #: adds, in units of the longest row. Of recursive derivatives it bounds the whole.
    clip: float = 1.0
    #: Number of answers at each end, one unless they are about a block; by default one.
    answers: tuple[int, ...] = ()
    #: How the Gaussian noise of running sums is correlated.
    mechanism: str = "toeplitz"

    def __post_init__(self) -> None:
        ends, answers = self.ends, self.answers or (1,) * len(self.ends)
        increasing = len(ends) and np.diff(ends, prepend=0).min() >= 1
        if not (increasing and len(answers) == len(ends) and min(answers) >= 1):
            raise ValueError(
                "Plan of a bandit needs increasing ends and at least 1 answer at each of them, got "
                f"{self.answers} for {ends}."
            )
        # A running sum is charged once an end, and adds a user once.
        if self.running and max(answers) > 1:
            raise ValueError(
                "Plan of a bandit needs 1 answer at each end but of gradients and selections, got "
                f"{self.answers} of {self.releases}."
            )
        if not 0 < self.clip < inf:
            raise ValueError(
                f"Plan of a bandit needs a positive finite clip, got clip={self.clip}."
            )
        object.__setattr__(self, "answers", answers)
        # Sensitivities and noise in single precision would be rounded far below.
        object.__setattr__(self, "clip", float(self.clip))

    @property
    def running(self) -> bool:
        """True if what is released is about all users so far, and not about those of a block."""
        return self.releases in ("moments", "sums", "steps")

    @property
    def chooses(self) -> bool:
        """True if a vertex is chosen for each arm."""
        return self.releases in ("selections", "steps")


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
