"""Base of policies: a plan of releases, and decision rules made of them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from math import ceil, floor, log
from numbers import Integral, Real
from typing import Any, ClassVar, Literal, final

import numpy as np
from sklearn.utils._param_validation import Interval

from ...privacy.accounting.calculus import Calculus, GaussianDP
from ...privacy.bandit_sessions.bandit_plans import Plan
from ...problem.bandit_problem import BanditProblem
from ...solvers.base import Hyperparameters
from ...validation import check_hyperparameters
from .choices import Greedy, RoundRobin, Rule

Ask = Callable[..., Any]

# What hyperparameters of several policies may be. Ends of blocks are listed, and there would be no
# end of them if blocks hardly grew.
POSITIVE = Interval(Real, 1e-50, 1e6, closed="both")
GROWTH = Interval(Real, 1.001, 1e6, closed="both")
_LEAST_FIRST_BLOCK = 16


@dataclass(frozen=True)
class Policy(Hyperparameters, ABC):
    """A deterministic function of public facts and of released answers.

    Fields are hyperparameters. A policy says what it will ask, when, and how often; the session
    derives sensitivities and noise. It never sees a row. ``memory`` is what it takes from one
    release to the next: computed from answers, hence as public as they are.

    ``calculus`` says how the ledger adds up what the plan costs; ``contexts`` whether contexts are
    bounded by their l2 norm or entry by entry; ``anytime`` whether it can go on from one epoch to
    the next, as a stream without a horizon needs it; ``hyperparameters`` what each of them may be.
    """

    calculus: ClassVar[Calculus] = GaussianDP()
    contexts: ClassVar[Literal["norm", "entries"]] = "norm"
    anytime: ClassVar[bool] = True
    hyperparameters: ClassVar[dict[str, list[Any]]] = {}

    @final
    def __post_init__(self) -> None:
        self.set_params(**self.get_params())

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
        del problem
        check_hyperparameters(self.hyperparameters, self.get_params(), type(self).__name__)

    @abstractmethod
    def plan(self, problem: BanditProblem, *, at_once: bool = False) -> Plan:
        """All that will be asked.

        Parameters
        ----------
        problem : BanditProblem
            Public facts.
        at_once : bool, default=False
            Whether users are all there already, and do not come one after the other.
        """

    def turns(self, problem: BanditProblem) -> int:
        """Users in a row that each arm is given before anything is known; by default one.

        Parameters
        ----------
        problem : BanditProblem
            Public facts.
        """
        del problem
        return 1

    @final
    def start(self, problem: BanditProblem) -> Rule:
        """The rule before anything is known: every arm in turn.

        Parameters
        ----------
        problem : BanditProblem
            Public facts.
        """
        return RoundRobin(zero_weights(problem), self.turns(problem))

    def go_on(self, problem: BanditProblem, rule: Rule, memory: Any, seen: int) -> tuple[Rule, Any]:
        """The rule and the memory at the start of an epoch, from those at the end of the last.

        By default it begins anew. An epoch is learned from users of its own, who are in no other
        one, so that what is taken over is all that it knows of those before.

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
        del rule, memory, seen
        return self.start(problem), None

    @abstractmethod
    def learn(self, problem: BanditProblem, ask: Ask, seen: int, memory: Any) -> tuple[Rule, Any]:
        """Ask what is due, and return the rule from now on and the memory.

        Parameters
        ----------
        problem : BanditProblem
            Public facts.
        ask : callable
            Answers what the plan says, see :meth:`skdp.privacy.bandit_sessions.ArmSession.ask`.
        seen : int
            Number of users of the epoch so far.
        memory : object
            As it was returned before; None at first.
        """

    @final
    def amount(self, problem: BanditProblem) -> float:
        """The whole budget in mu^2."""
        return self.calculus.limit(problem.epsilon, problem.delta)

    def _kept(self, value: Any) -> Any:
        # Not in single precision, which would go on through all sums.
        if not isinstance(value, Real) or isinstance(value, Integral | float):
            return value
        try:
            return float(value)
        except OverflowError:
            return value  # A fraction, which is refused as too large.


def growing_blocks(
    problem: BanditProblem, growth: float, *, at_once: bool, first: int = 0
) -> tuple[int, ...]:
    """Increasing ends of blocks that grow by a factor, counted backwards from the horizon.

    The last block but one ends at ``horizon / growth``, so that every release but the last serves
    about as many users, relative to those it is made of. The last one, at the horizon, serves
    whoever publishes the final model. None ends before ``first`` users, two users an arm and 16 in
    all, unless the horizon does. Users who are all there at once are one block.
    """
    horizon, first = problem.horizon, max(2 * problem.n_arms, _LEAST_FIRST_BLOCK, first)
    count = 0 if at_once else max(0, floor(log(horizon / first) / log(growth)))
    ends = {ceil(horizon * growth**-j) for j in range(1, count + 1)}
    return (*sorted(e for e in ends if e < horizon), horizon)


def zero_weights(problem: BanditProblem) -> np.ndarray:
    """Weights of arms of which nothing is known."""
    return np.zeros((problem.n_arms, problem.n_rows))


@dataclass(frozen=True, eq=False)
class _Average:
    """Average of the models of blocks, by the squares of their sizes, and the sum of these.

    The noise of a block's model falls with its size, so weights that are inverse to variances go
    with the square. ``seen`` is the number of users in them.
    """

    w: np.ndarray
    weight: float = 0.0
    seen: int = 0


@dataclass(frozen=True)
class AveragingPolicy(Policy, ABC):
    """A base of policies that fit each growing block anew and act greedily on the average.

    Parameters
    ----------
    clip : float
        Bound on the derivative of the loss of a row, for rewards mapped to [-1, 1].
    growth : float, default=2.0
        Factor by which blocks grow, in [1.001, 1e6].
    """

    releases: ClassVar[Literal["gradients", "selections"]]

    clip: float = 0.5
    growth: float = 2.0

    @final
    def plan(self, problem: BanditProblem, *, at_once: bool = False) -> Plan:
        """Answers at the ends of growing blocks, or over all users."""
        ends = growing_blocks(problem, self.growth, at_once=at_once)
        rounds = tuple(self.rounds(problem, int(n)) for n in np.diff((0, *ends)))
        return Plan(self.releases, ends, self.calculus, self.clip, rounds)

    @abstractmethod
    def rounds(self, problem: BanditProblem, n: int) -> int:
        """Number of answers about a block of n users."""

    @final
    def go_on(self, problem: BanditProblem, rule: Rule, memory: Any, seen: int) -> tuple[Rule, Any]:
        """Go on with the average, to which the users before count as one block."""
        del problem
        average = _Average(rule.w, float(seen) ** 2) if memory is None else replace(memory, seen=0)
        return Greedy(average.w), average

    @final
    def learn(self, problem: BanditProblem, ask: Ask, seen: int, memory: Any) -> tuple[Rule, Any]:
        """Fit the block, average, act greedily."""
        memory = memory or _Average(zero_weights(problem))
        size = seen - memory.seen
        w, total = self._fitted(problem, ask, size), memory.weight + float(size) ** 2
        w = memory.w + (w - memory.w) * (float(size) ** 2 / total)
        return Greedy(w), _Average(w, total, seen)

    @abstractmethod
    def _fitted(self, problem: BanditProblem, ask: Ask, size: int) -> np.ndarray:
        """Weights of all arms from the users of one block, from zero."""


def toward(w: np.ndarray, vertices: np.ndarray, radius: float, steps: np.ndarray) -> np.ndarray:
    """Weights (K, p) moved by steps (K,), from 0 to 1, towards vertices of the l1 ball.

    Of vertices (K,), j < p is coordinate j, and p + j is minus it.
    """
    K, p = w.shape
    out = w * (1 - steps)[:, np.newaxis]
    # One index is faster than two.
    entries = np.arange(0, K * p, p) + vertices % p
    out.reshape(-1)[entries] += np.where(vertices < p, radius, -radius) * steps
    return out
