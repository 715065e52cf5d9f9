"""The part of descent that needs no rows: steps, momentum, prox, projection, averaging."""

from __future__ import annotations

from math import ceil, inf
from typing import Any

import numpy as np

from ..problem.problem import Problem
from .descent_rules import DescentRule
from .shrinkage import typical_length

# Entries of a gradient, up to which products that sum up each row by itself are fast enough.
_MOST_COUNTED = 100


class Descent:
    """Iterates of heavy-ball descent along estimates of the gradient of the clipped loss.

    Parameters
    ----------
    problem : Problem
        Penalty, constraint and public bounds.
    rule : DescentRule
        Step size, as the total step size over the number of steps, momentum and clip.
    average : float
        Share of the planned steps whose iterates, the last ones, are averaged.

    Attributes
    ----------
    w : ndarray
        The current iterate.
    clip_norm : float
        Bound on the norm of a row's gradient: that of the rule times the length of a typical row
        and ``max_weight``.
    bounds : dict
        What an oracle is told of how rows are bounded, if they are as the problem says: this norm,
        and whether labels enter.
    step : float
        Step size without momentum.
    stride : float
        Step size with what the momentum adds to it in the end.
    n_steps : int
        Steps taken so far.
    """

    def __init__(self, problem: Problem, rule: DescentRule, average: float) -> None:
        norm = typical_length(problem)
        scale = norm * problem.max_weight
        self.clip_norm = rule.clip * scale
        # Where rows themselves are cut to the typical length, scores are too large as it is.
        whole = problem.bounds.row_map is None or problem.row_norm > norm
        self.bounds: dict[str, Any] = {
            "clip_norm": self.clip_norm,
            "label_blind": rule.label_blind and whole,
        }
        self.step = (1 - rule.momentum) * rule.total_step_size / rule.steps / (norm * scale)
        self.stride = self.step / (1 - rule.momentum)
        self.w = problem.start()
        self.n_steps = 0
        self._problem, self._momentum = problem, rule.momentum
        self._weight_of_penalty = problem.kept_by(rule.clip)
        self._pace = np.zeros_like(self.w)
        self._tail = TailMean(rule.steps, average)

    def move(self, v: np.ndarray, longest: float = inf) -> None:
        """One step against v and on with the momentum, no further than ``longest``."""
        w = self._after(self._momentum * self._pace - self.step * v)
        pace = w - self.w
        if longest < inf and (length := float(np.linalg.norm(pace))) > longest:
            # Part of the way to a feasible point is feasible.
            w = self.w + longest / length * pace
            pace = w - self.w
        self._pace, self.w = pace, w
        self.n_steps += 1
        self._tail.add(w)

    def gradient_map(self, v: np.ndarray) -> float:
        """Norm of what penalty and constraint leave of the gradient v at the current iterate."""
        return float(np.linalg.norm(self.w - self._after(-self.step * v))) / self.step

    def restart(self, w: np.ndarray) -> None:
        """Go on from another feasible point, at rest."""
        self.w, self._pace = w, np.zeros_like(w)

    def mean(self) -> np.ndarray:
        """Mean of the last iterates, among as many steps as the rule plans."""
        return self._tail.value()

    def _after(self, move: np.ndarray) -> np.ndarray:
        step = self.step * self._weight_of_penalty
        return self._problem.project(self._problem.prox(self.w + move, step))


def clips_whole_units(problem: Problem, *, counted: bool = False) -> bool:
    """True if descent clips the mean gradient of a privacy unit and not those of its rows.

    Means of sparse rows are not sparse, which matters where they have many features. Where units
    are counted by their means, these are brought to other coordinates one by one, which takes too
    long for many. A clip of means depends on targets, which moves quantiles.
    """
    many = problem.wide or (counted and problem.n_parameters > _MOST_COUNTED)
    return problem.whole_units and not (many or problem.loss.quantiles)


class TailMean:
    """A running mean, which takes the memory of one iterate.

    Parameters
    ----------
    steps : int
        Number of iterates that are planned.
    share : float
        Share of them, the last ones, that counts, in [0, 1]; at least the last one does.
    """

    def __init__(self, steps: int, share: float) -> None:
        self._skipped = steps - max(1, ceil(share * steps))
        self._taken = 0
        self._mean: np.ndarray | None = None

    def add(self, w: np.ndarray) -> None:
        """Take in the next iterate."""
        self._taken += 1
        kept = self._taken - self._skipped
        if self._mean is None or kept <= 1:
            # Before the share begins the latest iterate stands for it.
            self._mean = w.copy() if kept == 1 else w
        else:
            self._mean += (w - self._mean) / kept

    def value(self) -> np.ndarray:
        """The mean; the latest iterate if the share has not begun."""
        if self._mean is None:
            raise ValueError("TailMean needs an iterate before it has a value; add one.")
        return self._mean.copy()
