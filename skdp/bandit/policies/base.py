"""Base of policies: a plan of releases, and decision rules made of them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, fields
from math import ceil, floor, log
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self, final

import numpy as np

from ...privacy.accounting.calculus import Calculus, GaussianDP
from ...privacy.bandit_sessions.bandit_plans import Plan
from ...problem.bandit_problem import BanditProblem
from .choices import Rule

if TYPE_CHECKING:
    from ...privacy.bandit_sessions.base import ArmSession

# Ends of blocks are listed, and there would be no end of them if blocks hardly grew.
LEAST_GROWTH = 1.001


@dataclass(frozen=True)
class Policy(ABC):
    """A deterministic function of public facts and of released answers.

    Fields are hyperparameters. A policy says what it will ask, when, and how often; the session
    derives sensitivities and noise. It never sees a row. ``memory`` is what it takes from one
    release to the next: computed from answers, hence as public as they are.

    ``calculus`` says how the ledger adds up what the plan costs; ``contexts`` whether contexts are
    bounded by their l2 norm or entry by entry; ``anytime`` whether it can go on from one epoch to
    the next, as a stream without a horizon needs it.
    """

    calculus: ClassVar[Calculus] = GaussianDP()
    contexts: ClassVar[Literal["norm", "entries"]] = "norm"
    anytime: ClassVar[bool] = True

    @final
    def __post_init__(self) -> None:
        self.set_params(**self.get_params())

    @abstractmethod
    def check(self, problem: BanditProblem) -> None:
        """Refuse hyperparameters that make no sense, before anything is paid.

        Parameters
        ----------
        problem : BanditProblem
            Public facts.

        Raises
        ------
        ValueError
            Naming the hyperparameter and what it needs.
        """

    @abstractmethod
    def plan(self, problem: BanditProblem) -> Plan:
        """All that will be asked, for users who come one after the other.

        Parameters
        ----------
        problem : BanditProblem
            Public facts.
        """

    @abstractmethod
    def plan_at_once(self, problem: BanditProblem) -> Plan:
        """All that will be asked of users who are all there already.

        Parameters
        ----------
        problem : BanditProblem
            Public facts.
        """

    @abstractmethod
    def start(self, problem: BanditProblem) -> tuple[Rule, Any]:
        """The rule before anything is known, and an empty memory.

        Parameters
        ----------
        problem : BanditProblem
            Public facts.
        """

    @abstractmethod
    def go_on(self, problem: BanditProblem, rule: Rule, memory: Any, seen: int) -> tuple[Rule, Any]:
        """The rule and the memory at the start of an epoch, from those at the end of the last.

        An epoch is learned from users of its own, who are in no other one, so that what is taken
        over is all that it knows of those before.

        Parameters
        ----------
        problem : BanditProblem
            Public facts of the epoch, with the weights of the rule as ``initial``.
        rule : Rule
            As it was.
        memory : object
            As ``learn`` returned it; None if another policy did.
        seen : int
            Number of users before the epoch.
        """

    @abstractmethod
    def learn(self, problem: BanditProblem, session: ArmSession, memory: Any) -> tuple[Rule, Any]:
        """Ask what is due, and return the rule from now on and the memory.

        Parameters
        ----------
        problem : BanditProblem
            Public facts.
        session : ArmSession
            Answers what its plan says.
        memory : object
            As it was returned before.
        """

    @final
    def amount(self, problem: BanditProblem) -> float:
        """The whole budget in mu^2."""
        return self.calculus.limit(problem.epsilon, problem.delta)

    @classmethod
    @final
    def option(cls) -> str:
        """The string that selects this policy: its module's name."""
        return cls.__module__.rpartition(".")[2]

    @final
    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Hyperparameters by name, so that a search can reach ``policy__name``."""
        del deep  # A policy has no nested estimators.
        return {f.name: getattr(self, f.name) for f in fields(self)}

    @final
    def set_params(self, **params: Any) -> Self:
        """Change hyperparameters in place, as scikit-learn's searches do on their own clones."""
        known = {f.name for f in fields(self)}
        for name, value in params.items():
            if name not in known:
                raise ValueError(
                    f"{type(self).__name__} needs one of its hyperparameters {sorted(known)}, got "
                    f"{name!r}; set another one."
                )
            object.__setattr__(self, name, _in_double(value))
        return self


def _in_double(value: Any) -> Any:
    """A number that is not whole as a float, or single precision would go on through all sums."""
    if not isinstance(value, Real) or isinstance(value, Integral | float):
        return value
    try:
        return float(value)
    except OverflowError:
        return value  # A fraction, which is refused as too large.


def growing_blocks(horizon: int, first: int, growth: float) -> tuple[int, ...]:
    """Ends of blocks that grow by a factor, counted backwards from the horizon.

    The last block but one ends at ``horizon / growth``, so that every release but the last serves
    about as many users, relative to those it is made of. The last one, at the horizon, serves
    whoever publishes the final model.

    Parameters
    ----------
    horizon : int
        Number of users.
    first : int
        No block ends before this many users, unless the horizon does.
    growth : float
        The factor, at least ``LEAST_GROWTH``.

    Returns
    -------
    tuple of int
        Increasing; the last is the horizon.
    """
    count = max(0, floor(log(horizon / first) / log(growth)))
    ends = {ceil(horizon * growth**-j) for j in range(1, count + 1)}
    return (*sorted(e for e in ends if e < horizon), horizon)


def zero_weights(problem: BanditProblem) -> np.ndarray:
    """Weights of arms of which nothing is known."""
    return np.zeros((problem.n_arms, problem.n_rows))


@dataclass(frozen=True, eq=False)
class Average:
    """Released weights so far.

    The noise of a block's model falls with its size, so weights that are inverse to variances go
    with the square.

    Parameters
    ----------
    w : ndarray
        Average of the weights of blocks.
    weight : float, default=0.0
        Sum of the squared sizes of blocks.
    seen : int, default=0
        Number of users in them.
    """

    w: np.ndarray
    weight: float = 0.0
    seen: int = 0

    def with_block(self, w: np.ndarray, seen: int) -> Average:
        """The average with one more block, which ends after this many users.

        Parameters
        ----------
        w : ndarray
            Weights of the block.
        seen : int
            Number of users up to its end.
        """
        added = float(seen - self.seen) ** 2
        total = self.weight + added
        return Average(self.w + (w - self.w) * (added / total), total, seen)


def toward(w: np.ndarray, vertices: np.ndarray, radius: float, steps: np.ndarray) -> np.ndarray:
    """Weights moved towards signed coordinates.

    Parameters
    ----------
    w : ndarray of shape (K, p)
        Weights.
    vertices : ndarray of int of shape (K,)
        j < p for coordinate j, p + j for minus it, -1 to stay.
    radius : float
        Radius of the l1 ball.
    steps : ndarray of shape (K,)
        How far, from 0 to 1.

    Returns
    -------
    ndarray of shape (K, p)
        A fresh array.
    """
    K, p = w.shape
    steps = np.where(vertices < 0, 0.0, steps)
    out = w * (1 - steps)[:, np.newaxis]
    # One index is faster than two.
    entries = np.arange(0, K * p, p) + vertices % p
    out.reshape(-1)[entries] += np.where(vertices < p, radius, -radius) * steps
    return out
