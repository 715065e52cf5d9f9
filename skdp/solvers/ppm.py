"""The proximal point method, each stage solved by noisy gradient descent."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import repeat
from math import ceil
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from ..problem.problem import Problem
from ..validation import count, one_of
from . import schedules
from .base import Solution
from .descent_rules import DescentSolver, largest_step

if TYPE_CHECKING:
    from ..privacy.oracle import Oracle


@dataclass(frozen=True)
class PPM(DescentSolver):
    r"""Proximal point method: K stages, each a strongly convex model solved with noisy gradients.

    .. math:: c_{k+1} \approx \arg\min_w \Bigl\{F(w) + r(w)
              + \frac{1}{2 \lambda} \|w - c_k\|^2\Bigr\}

    Stage k takes T / K steps of noisy gradient descent with heavy-ball momentum on its model, from
    its centre c_k, with steps that shrink like ``2 lambda / (t + 1)``, and answers with the mean of
    its iterates weighted by t. The minimiser of the model lies within ``lambda`` times the bound on
    gradients of the point where penalty and constraint alone would take c_k, so iterates are
    brought back to that ball. The model's quadratic and all else carry no data: the T gradients are
    all that is paid for.

    lambda is ``total step size / K``: K exact stages go as far as gradient descent of that total
    step length does, and the noise of T gradients moves the answer about as far as it does there.

    Works for every loss, smooth or not, every penalty and every constraint. The model is convex
    also for losses that are not, provided that ``stages >= total step size * loss.smoothness``;
    with fewer stages there is no more to rely on than in gradient descent.

    When it does not work: for smooth convex losses there is nothing to gain over ``gd``, and the
    long first steps of each stage and its own mean cost a little, most where budgets are small.
    Many stages with few steps each do not reach the minimiser of their model, so that the total
    length falls short of the total step size: for the mean of ``|w_j - y_j|^5 / 5`` between 2,000
    and 512,000 rows the excess risk fell with exponent .63 where 1.25 is promised, that of ``gd``
    with .74. More steps help, fewer stages help only where rows are few.

    Parameters
    ----------
    stages : int, default=5
        Number of proximal points K.
    steps : int, optional
        Number of gradients T of all stages together, rounded up to a multiple of K.
    total_step_size : float, optional
        ``K lambda`` in units of ``1 / (row_norm**2 * max_weight)``.
    momentum : float, optional
        Heavy-ball coefficient within a stage, in [0, 1); 0 is the method as published.
    schedule : {'uniform'} or tuple of float, default='uniform'
        How mu^2 is shared between the stages: evenly, or in proportion to the numbers given, one a
        stage. Within a stage it is shared evenly.

    References
    ----------
    Menart et al. (2023), algorithm 2, with the noisy gradient descent of their appendix E as the
    inner solver. All releases are Gaussian, so one budget covers all stages exactly, where the
    composition of zCDP parameters as printed needs sqrt(2) times the noise.

    Examples
    --------
    >>> from skdp.solvers import PPM
    >>> PPM(stages=4).get_params()["stages"]
    4
    """

    hyperparameters: ClassVar[dict[str, list[Any]]] = {
        "stages": [count()],
        "schedule": [one_of("uniform"), tuple, list],
    }

    stages: int = 5
    schedule: str | tuple[float, ...] = "uniform"

    def refuse(self, problem: Problem) -> None:
        if self._shares().size != self.stages:
            raise ValueError(
                f"PPM needs one share a stage, got stages={self.stages} and "
                f"{self._shares().size} shares in schedule."
            )

    def solve(self, problem: Problem, oracle: Oracle, rng: np.random.Generator) -> Solution:
        self.check(problem)
        budget = oracle.budget
        rule = self.rule(problem, budget.mu)
        steps = ceil(rule.steps / self.stages)
        shares = [s / steps for share in self._shares() for s in repeat(share, steps)]
        spends = iter(budget.split(shares))
        scale = problem.row_norm * problem.max_weight
        unit, clip_norm = 1 / (problem.row_norm * scale), rule.clip * scale
        # Of the method lambda, and the longest step.
        reach = rule.total_step_size / self.stages * unit
        longest = largest_step(problem, budget.mu, rule.clip) * unit
        # Weights of a parabola fall where scores grow, which long first steps overshoot.
        label_blind, weight = rule.label_blind and problem.loss.log_odds, problem.kept_by(rule.clip)
        w = problem.start()
        oracle.note(planned=steps * self.stages)
        for _ in range(self.stages):
            centre = before = w
            middle = problem.project(problem.prox(centre, reach * weight))
            mean = np.zeros_like(w)
            for t in range(1, steps + 1):
                g = oracle.gradient(
                    w, spend=next(spends), clip_norm=clip_norm, label_blind=label_blind
                )
                step = min(longest, (1 - rule.momentum) * 2 * reach / (t + 1))
                moved = w - step * (g + (w - centre) / reach) + rule.momentum * (w - before)
                nearby = problem.project(problem.prox(moved, step * weight))
                before, w = w, _within(nearby, middle, reach * clip_norm)
                mean += 2 * t / (steps * (steps + 1)) * w
            w = mean
        return Solution(w, n_iter=steps * self.stages)

    def _shares(self) -> np.ndarray:
        if isinstance(self.schedule, str):
            return schedules.uniform(self.stages)
        return schedules.custom(self.schedule)


def _within(w: np.ndarray, middle: np.ndarray, most: float) -> np.ndarray:
    """Towards the middle until the minimiser of the model could be there; stays feasible."""
    away = w - middle
    far = float(np.linalg.norm(away))
    return middle + away * (most / far) if far > most else w
