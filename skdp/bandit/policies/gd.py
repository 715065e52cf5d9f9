"""Noisy gradient descent on the scores of all arms, in blocks that each begin anew."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from numbers import Integral
from typing import Any, ClassVar, Literal

import numpy as np
from sklearn.utils._param_validation import Interval

from ...problem.bandit_problem import BanditProblem
from .base import GROWTH, POSITIVE, Ask, AveragingPolicy, zero_weights

_MOMENTUM = 0.9
_FARTHEST = 4000.0


@dataclass(frozen=True)
class GDPolicy(AveragingPolicy):
    """Noisy gradient descent, for real rewards and contexts that vary alike in all directions.

    At the end of each block, gradient descent with momentum fits the weights of all arms to the
    users of that block, from zero. The derivative of the loss is clipped far below its range, which
    leaves little more than signs of residuals: noise falls with the clip, the signs stay. The rule
    is greedy on the average of the models of all blocks, weighted by the squares of their sizes.

    The product of step size and number of steps follows ``n mu / (clip sqrt(K p))``, the distance
    at which noise catches up with signal, as long as momentum stays stable.

    Parameters
    ----------
    clip : float, default=0.1
        Bound on the derivative of the loss of a row, for rewards mapped to [-1, 1].
    growth : float, default=2.0
        Factor by which blocks grow, in [1.001, 1e6].
    steps : int, default=50
        Gradients a block.
    """

    releases: ClassVar[Literal["gradients", "selections"]] = "gradients"
    hyperparameters: ClassVar[dict[str, list[Any]]] = {
        "clip": [POSITIVE],
        "growth": [GROWTH],
        "steps": [Interval(Integral, 1, None, closed="left")],
    }

    clip: float = 0.1
    steps: int = 50

    def rounds(self, problem: BanditProblem, n: int) -> int:
        """Number of steps, the same for any block."""
        del problem, n
        return self.steps

    def _fitted(self, problem: BanditProblem, ask: Ask, size: int) -> np.ndarray:
        reach = size * sqrt(self.amount(problem) / (problem.n_arms * problem.n_rows)) / self.clip
        rate = (1 - _MOMENTUM) * min(_FARTHEST, reach) / self.steps
        w = zero_weights(problem)
        velocity = np.zeros_like(w)
        for _ in range(self.steps):
            velocity = _MOMENTUM * velocity - rate * ask(w)
            w = w + velocity
        return w
