"""Frank-Wolfe with noisy vertices for every arm, in blocks that each begin anew."""

from __future__ import annotations

from dataclasses import dataclass
from math import log
from typing import Any, ClassVar, Literal

import numpy as np

from ...privacy.accounting.calculus import Calculus, ZeroConcentratedDP
from ...problem.bandit_problem import BanditProblem
from .base import GROWTH, POSITIVE, Ask, AveragingPolicy, toward, zero_weights

_MOST_ROUNDS = 40


@dataclass(frozen=True)
class SparsePolicy(AveragingPolicy):
    """Noisy Frank-Wolfe, for many features of which few matter; contexts bounded entrywise.

    At the end of each block, Frank-Wolfe over the l1 ball fits each arm to the users of that block.
    What is released of the rows is one signed feature an arm and round, by Gumbel noise. A user is
    in one block and pays for its rounds alone; their number follows from how many choices the
    budget makes well. The rule is greedy on the average of the models of all blocks, weighted by
    the squares of their sizes.

    Parameters
    ----------
    clip : float, default=0.5
        Bound on the derivative of the loss of a row, for rewards mapped to [-1, 1].
    growth : float, default=2.0
        Factor by which blocks grow, in [1.001, 1e6].
    radius : float, default=1.0
        Radius of the l1 ball, for mapped rewards and entries in [-1, 1].
    """

    calculus: ClassVar[Calculus] = ZeroConcentratedDP()
    contexts: ClassVar[Literal["norm", "entries"]] = "entries"
    releases: ClassVar[Literal["gradients", "selections"]] = "selections"
    hyperparameters: ClassVar[dict[str, list[Any]]] = {
        "clip": [POSITIVE],
        "growth": [GROWTH],
        "radius": [POSITIVE],
    }

    radius: float = 1.0

    def _fitted(self, problem: BanditProblem, ask: Ask, size: int) -> np.ndarray:
        w = zero_weights(problem)
        for t in range(self.rounds(problem, size)):
            w = toward(w, ask(w), self.radius, np.full(len(w), 2 / (t + 2)))
        return w

    def rounds(self, problem: BanditProblem, n: int) -> int:
        """Number of rounds that leaves the noise below the largest score to be told apart."""
        rho = self.amount(problem) / 2
        told = n / (8 * problem.n_arms * self.clip * log(2 * problem.n_rows))
        return int(np.clip(told * told * rho / 2, 1, _MOST_ROUNDS))
