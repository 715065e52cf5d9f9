"""Plans of a bandit's releases: schedule and mechanism, declared before the first row.

A plan is public. It names the statistic, when it is released and how often, so that the whole run
can be charged at once; the session takes care that no more than this is answered.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from bisect import bisect_right
from dataclasses import dataclass
from math import inf
from typing import Any

from ...problem.problem import Problem
from ..accounting.calculus import Calculus, GaussianDP, ZeroConcentratedDP


@dataclass(frozen=True)
class Plan(ABC):
    """A schedule of releases over the users 1, ..., T."""

    @property
    def calculus(self) -> Calculus:
        """Calculus by which the ledger adds up charges; exact for Gaussian noise by default."""
        return GaussianDP()

    @abstractmethod
    def next_end(self, seen: int) -> int | None:
        """Number of users after which the next release is due; None after the last."""


@dataclass(frozen=True)
class _Ends(Plan):
    """Releases at the ends of blocks, which are increasing numbers of users.

    Parameters
    ----------
    ends : tuple of int
        Ends of the blocks.
    """

    ends: tuple[int, ...]

    def __post_init__(self) -> None:
        if not self.ends or any(b <= a for a, b in zip((0, *self.ends), self.ends, strict=False)):
            raise ValueError(f"{type(self).__name__} needs increasing ends, got {self.ends}.")

    def next_end(self, seen: int) -> int | None:
        """The first end beyond what was seen."""
        block = bisect_right(self.ends, seen)
        return self.ends[block] if block < len(self.ends) else None


@dataclass(frozen=True)
class MomentPlan(_Ends):
    """Plan of moments of all users so far, at each end: ``sum v v'``, ``sum y v`` of every arm."""


@dataclass(frozen=True)
class GradientPlan(_Ends):
    """Plan of gradients over the users of each block, at points that the policy chooses.

    Attributes
    ----------
    clip : float
        Bound on the derivative of the loss of a user.
    answers : int
        Gradients a block.
    """

    clip: float
    answers: int

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_clip(self, self.clip)
        if self.answers < 1:
            raise ValueError(f"GradientPlan needs at least 1 answer, got {self.answers}.")


@dataclass(frozen=True)
class SelectionPlan(_Ends):
    """Plan of vertex selections: in each block and for every arm, the steepest one of the l1 ball.

    Attributes
    ----------
    clip : float
        Bound on the derivative of the loss of a user.
    answers : tuple of int
        Rounds of selections in each block, one vertex an arm each.
    """

    clip: float
    answers: tuple[int, ...]

    @property
    def calculus(self) -> Calculus:
        """Zero-concentrated, for choices."""
        return ZeroConcentratedDP()

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_clip(self, self.clip)
        if len(self.answers) != len(self.ends) or min(self.answers) < 1:
            raise ValueError(
                "SelectionPlan needs a positive number of answers for each end, got "
                f"{self.answers} for {self.ends}."
            )


@dataclass(frozen=True)
class ForcedPlan(Plan, ABC):
    """Streams of the arms that all take steps together, once each arm has been forced.

    The first ``n_arms * forced`` users belong to the arms in turn, ``forced`` to each, and only the
    arm whose turn it is takes a step. From then on every arm takes a step at every user.

    Parameters
    ----------
    horizon : int
        Number of users.
    n_arms : int
        Number of arms.
    forced : int
        Users that each arm is given at first.
    """

    horizon: int
    n_arms: int
    forced: int

    def __post_init__(self) -> None:
        if self.forced < 1 or self.n_arms * self.forced > self.horizon:
            raise ValueError(
                f"{type(self).__name__} needs at least 1 forced user an arm and no more than the "
                f"horizon of {self.horizon} for {self.n_arms} arms, got {self.forced}."
            )

    @property
    def updates(self) -> int:
        """Steps that each arm takes in all."""
        return self.horizon - (self.n_arms - 1) * self.forced

    def turn(self, seen: int) -> int | None:
        """Arm whose turn it is after this many users; None once all arms take steps."""
        arm = seen // self.forced
        return arm if arm < self.n_arms else None


@dataclass(frozen=True)
class StepPlan(ForcedPlan):
    """After every user, a vertex for every arm from its sum of recursive gradients.

    Attributes
    ----------
    clip : float
        Bound on the recursive derivative of a user.
    """

    clip: float

    @property
    def calculus(self) -> Calculus:
        """Zero-concentrated, for choices."""
        return ZeroConcentratedDP()

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_clip(self, self.clip)

    def next_end(self, seen: int) -> int | None:
        """The next user."""
        return seen + 1 if seen < self.horizon else None


@dataclass(frozen=True)
class StreamsPlan(ForcedPlan):
    """A streaming solver for each arm.

    Attributes
    ----------
    solver : StreamingSolver
        Learns the weights of one arm from its users and synthetic rows.
    problem : Problem
        What it solves: one arm's, over bounded rows.
    counted : Calculus
        How the ledger counts what it asks.
    every : int
        Users after which the rule looks at the weights again, once all arms have been forced.
    """

    solver: Any
    problem: Problem
    counted: Calculus
    every: int

    @property
    def calculus(self) -> Calculus:
        """Calculus of the solver."""
        return self.counted

    def next_end(self, seen: int) -> int | None:
        """The end of a forced turn, or the next multiple of ``every``."""
        if seen >= self.horizon:
            return None
        step = self.forced if self.turn(seen) is not None else self.every
        return min(self.horizon, (seen // step + 1) * step)


def _check_clip(plan: Plan, clip: float) -> None:
    if not 0 < clip < inf:
        raise ValueError(f"{type(plan).__name__} needs a positive finite clip, got {clip}.")
    # Sensitivities and noise in single precision would be rounded far below.
    object.__setattr__(plan, "clip", float(clip))
