"""The high-dimensional bandit of Han et al. (2022): online Frank-Wolfe with synthetic rows."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from numbers import Integral, Real
from typing import Any, ClassVar, Literal

import numpy as np
from sklearn.utils._param_validation import Interval

from ...privacy.accounting.calculus import Calculus, ZeroConcentratedDP
from ...problem.bandit_problem import BanditProblem
from ...problem.constraints import Constraint, L1Ball
from ...solvers.frank_wolfe import FrankWolfe
from ...solvers.streaming import StreamingSolver
from .base import POSITIVE, Ask, toward, zero_weights
from .choices import Preselecting, RoundRobin, Rule
from .ftrl import StreamPolicy


@dataclass(frozen=True, eq=False)
class _Memory:
    """Weights now, before the last step, and once all had been forced, and the solver's memory."""

    w: np.ndarray
    before: np.ndarray
    first: np.ndarray | None = None
    streams: Any = None


@dataclass(frozen=True)
class HDBPolicy(StreamPolicy):
    """Algorithm 3 of Han et al. (2022), at the noise that its privacy needs, for comparison.

    First every arm is given to ``forced`` users in turn. From then on a user gets, among the arms
    whose estimate at the end of that phase is within ``margin / 2`` of the best, the one with the
    best present estimate. All estimates take a step of online Frank-Wolfe after every user, with a
    synthetic row of zeros for arms that were not pulled, by a vertex that Gumbel noise chooses from
    recursive gradients. Step sizes are ``1 / (i + 1)`` after i steps. (The paper's estimates of
    other arms wait while an arm is forced.)

    A user's row is in the sums that all later choices look at, so that each of about T choices is
    paid for; :class:`~skdp.bandit.policies.SparsePolicy` learns the same models from a few choices
    a block.

    Parameters
    ----------
    radius : float, default=1.0
        Radius of the l1 ball, for mapped rewards and entries in [-1, 1].
    stream_clip : float, default=0.25
        Bound on the recursive derivative of a user, which weighs derivatives at two points, for
        rewards mapped to [-1, 1].
    forced : int, optional
        Users given to each arm at first, t0; ``max(1, sqrt(T) / (2 K))`` by default.
    margin : float, optional
        h, in units of scores. None keeps all arms.
    solver : StreamingSolver, optional
        Learns the arms' weights from their streams with synthetic rows, in place of the steps
        above; it has a bound of its own. Most release less often than after every user.
    """

    calculus: ClassVar[Calculus] = ZeroConcentratedDP()
    contexts: ClassVar[Literal["norm", "entries"]] = "entries"
    # Steps of the paper begin with one that forgets all weights.
    anytime: ClassVar[bool] = False

    hyperparameters: ClassVar[dict[str, list[Any]]] = {
        "radius": [POSITIVE],
        "stream_clip": [POSITIVE],
        "forced": [None, Interval(Integral, 1, None, closed="left")],
        "margin": [None, Interval(Real, 0, None, closed="both")],
        "solver": [None, StreamingSolver],
    }

    radius: float = 1.0
    stream_clip: float = 0.25
    forced: int | None = None
    margin: float | None = None
    solver: Any = None

    def learns_by(self, problem: BanditProblem) -> StreamingSolver:
        """The given solver, or the steps of the paper, whose plan is that of all arms."""
        del problem
        own = FrankWolfe(batch=1, stream_clip=self.stream_clip, noise="gumbel")
        return own if self.solver is None else self.solver

    def constraint(self) -> Constraint:
        """The l1 ball."""
        return L1Ball(self.radius)

    def turns(self, problem: BanditProblem) -> int:
        """Users given to each arm at first."""
        return super().turns(problem) if self.forced is None else self.forced

    def learn(self, problem: BanditProblem, ask: Ask, seen: int, memory: Any) -> tuple[Rule, Any]:
        """One step of every arm, or the weights that the solver has released."""
        last = memory or _Memory(*[zero_weights(problem)] * 2)
        each, streams = self.turns(problem), None
        forced = each * problem.n_arms
        if self.solver is None:
            # As the solver would take it, of all arms at once.
            steps = np.full(problem.n_arms, 1 / seen)
            w = toward(last.w, ask(last.w, last.before), self.radius, steps)
        else:
            w, streams = self.stepped(problem, ask, last.streams)
        if seen < forced:
            return RoundRobin(w, each), _Memory(w, last.w, streams=streams)
        # The first that are released after that: a solver's batches end where they do.
        first = w if last.first is None else last.first
        margin = inf if self.margin is None else self.margin / 2
        return Preselecting(w, first, margin), _Memory(w, last.w, first, streams)
