"""Dual averaging over running sums: a current model of a stream whose rows are not kept."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import ceil, hypot, isinf, sqrt
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.utils._param_validation import Interval

from ..privacy.streams.stream_plan import StreamPlan, StreamRequest
from ..problem.problem import Problem
from ..validation import check_hyperparameters, one_of
from .base import Solution
from .defaults import FTRL as tuned
from .defaults import StreamFamily
from .streaming import Learner, StreamingSolver

_HYPERPARAMETERS: dict[str, list[Any]] = {
    "batches": [None, Interval(Integral, 1, None, closed="left")],
    "clip": [None, Interval(Real, 1e-50, 1e50, closed="neither")],
    "reach": [None, Interval(Real, 0, None, closed="neither")],
    "momentum": [Interval(Real, 0, 1, closed="left")],
    "average": [Interval(Real, 0, None, closed="left")],
    "mechanism": [one_of("blt", "toeplitz", "tree")],
}


@dataclass(frozen=True)
class FTRL(StreamingSolver):
    r"""One model after each batch, from the noisy sum of all clipped gradients so far.

    .. math:: w_{k+1} = \Pi\Bigl( \mathrm{prox}\bigl( w_k - s\, (\tilde S_k - \tilde S_{k-1})
              \bigr) \Bigr), \qquad
              \tilde S_k = \sum_{j \le k} \sum_{i \in B_j} \mathrm{clip}(\nabla f_i(w_j)) / C
              + \text{noise}_k

    Without penalty and constraint this is follow the regularized leader, w_0 less s times the sum,
    in which the noise of earlier batches does not add up: the noise of running sums is correlated
    so that each has hardly more than a single release would have. Steps are in units of the clip,
    so the noise in the weights has the same length whatever the clip. The published model is an
    average of iterates that forgets the first ones.

    Rows are read once and not kept; memory is a few times the size of the model. The cuts between
    batches are public. A single row moves one term of the sums only, and is in no other batch.

    Parameters
    ----------
    batches : int, optional
        Number of batches of about equal size, at most the number of rows. By default 100 or as
        many more as steps have to be shorter to be stable: that grows with rows and budget.
    clip : float, optional
        Bound on the derivative of the loss of a row of full norm, that is, on a row's gradient in
        units of ``row_norm * max_weight``. By default 0.5 for log-odds and margins and 0.1 for
        residuals, more at budgets beyond mu = 2.
    reach : float, optional
        Length of the noise in the last iterate, before it is averaged, for rows of norm 1: s is
        what brings it about. A part of the noise of sampling counts as well. By default 32 for
        log-odds, 10 for margins, 0.8 for residuals, less where there are few parameters, whose
        scores would have all the noise.
    momentum : float, default=0.0
        Heavy-ball coefficient, in [0, 1).
    average : float, default=4.0
        Iterate k counts ``average / (k + average)`` in the mean, k = 0, 1, ...; 0 publishes the
        last iterate.
    mechanism : {'blt', 'toeplitz', 'tree'}, default='blt'
        How the noise of the running sums is correlated.

    References
    ----------
    Kairouz, McMahan, Song, Thakkar, Thakurta and Xu (2021) for private follow the regularized
    leader; Denisov et al. (2022) and Dvijotham et al. (2024) for the noise; Nesterov (2009) for
    dual averaging.

    Examples
    --------
    >>> from skdp.solvers import FTRL
    >>> FTRL(batches=500).get_params()["batches"]
    500
    """

    in_order: ClassVar[bool] = True

    batches: int | None = None
    clip: float | None = None
    reach: float | None = None
    momentum: float = 0.0
    average: float = 4.0
    mechanism: str = "blt"

    def check(self, problem: Problem) -> None:
        del problem
        check_hyperparameters(_HYPERPARAMETERS, self.get_params(), type(self).__name__)

    def plan(self, problem: Problem, mu: float) -> StreamPlan:
        """Number of batches and clip, functions of public facts."""
        family = _family(problem)
        clip = self.clip
        if clip is None:
            clip = family.clip * max(1.0, mu / 2)
        clip = min(clip, problem.loss.lipschitz)
        batches = self.batches
        if batches is None:
            step = self._step(problem, clip, 2 * tuned.COLUMN / mu)
            curvature = problem.n_samples * family.smoothness / clip
            batches = max(
                tuned.FEWEST_ROWS, min(problem.n_samples, ceil(step * curvature / tuned.STRIDE))
            )
        return StreamPlan(min(batches, problem.n_samples), clip, self.mechanism)

    def learner(
        self, problem: Problem, plan: StreamPlan, deviation: float, before: Learner | None
    ) -> Learner:
        """Iterate, mean and running sum, starting at the model before if there is one."""
        start, earlier = problem.start(), 0
        if before is not None:
            start, earlier = problem.project(before.solution.w), before.solution.n_iter
        step = self._step(problem, plan.clip, deviation)
        rows = problem.n_samples / plan.releases
        # Row by row no step may be longer than the curvature of a single row allows.
        stride = min(tuned.STRIDE, 1 + rows) * plan.clip / (_family(problem).smoothness * rows)
        step = min(step, stride) / problem.row_norm
        return _Averaging(self, problem, plan, Solution(start, earlier), step)

    def _step(self, problem: Problem, clip: float, deviation: float) -> float:
        """Length of the move of the weights for one unit of the sum, for rows of norm 1."""
        family, length, n = _family(problem), sqrt(problem.n_parameters), problem.n_samples
        score_noise = min(family.reach / length, family.most)
        if self.reach is not None:
            score_noise = self.reach / length
        # Rows are a sample, which is noise as well, though averaging takes more of it away. It is
        # of the size of gradients, not of their bound.
        sampling = tuned.OF_SAMPLING * family.clip / clip * sqrt(n) / length
        noise = hypot(deviation, sampling)
        return min(score_noise / noise, family.total_step_size * clip / n)


class _Averaging(Learner):
    """See :class:`FTRL`."""

    def __init__(
        self, solver: FTRL, problem: Problem, plan: StreamPlan, start: Solution, step: float
    ) -> None:
        self._problem = problem
        self._plan = plan
        self._momentum = solver.momentum
        self._average = solver.average
        self._step = step
        # A row adds its gradient over ``clip * row_norm * max_weight``.
        unit = plan.clip * problem.row_norm * problem.max_weight
        self._penalty_step = step * problem.n_samples / plan.releases / unit
        self.solution, self._w = start, start.w
        self._sum: np.ndarray = np.zeros_like(start.w)
        self._pace: np.ndarray = np.zeros_like(start.w)
        self._done = 0

    def request(self) -> StreamRequest:
        """The gradient at the present iterate."""
        n, k = self._problem.n_samples, self._done
        return StreamRequest(self._plan.end(k + 1, n) - self._plan.end(k, n), self._w)

    def learn(self, answer: np.ndarray) -> None:
        """One step along what the sum has grown by."""
        problem = self._problem
        self._pace = self._momentum * self._pace + (1 - self._momentum) * (answer - self._sum)
        self._sum = answer
        moved = problem.prox(self._w - self._step * self._pace, self._penalty_step)
        self._w = problem.project(moved)
        weight = self._average / (self._done + self._average) if self._average else 1.0
        mean, made = self.solution.w, self.solution.n_iter
        self.solution = Solution(mean + weight * (self._w - mean), made + 1)
        self._done += 1


def _family(problem: Problem) -> StreamFamily:
    if problem.loss.family != "residuals":
        return {"logistic": tuned.LOG_ODDS, "counts": tuned.COUNTS}.get(
            problem.loss.family, tuned.MARGIN
        )
    smoothness = problem.loss.smoothness
    return tuned.RESIDUAL if isinf(smoothness) else replace(tuned.RESIDUAL, smoothness=smoothness)
