"""Dual averaging with a soft threshold at the known noise level, for more features than rows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import ceil, isinf, log, sqrt
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from scipy.special import softmax

from ..problem.penalties import soft_threshold
from ..problem.problem import Problem
from ..validation import interval
from .base import Solution, Solver
from .defaults import DualAveraging as tuned
from .descent import TailMean
from .preconditioning.class_frequencies import curvature_at_start

if TYPE_CHECKING:
    from ..privacy.oracle import Oracle


@dataclass(frozen=True)
class DualAveraging(Solver):
    r"""Noisy gradients are summed, and weights are the sum beyond what noise alone would reach.

    .. math:: V_{t+1} = V_t - \eta g_t, \qquad
              w_t = w_0 + \mathrm{soft}(V_t, \theta\,\mathrm{sd}(V_t)), \qquad
              \mathrm{soft}(v, c) = \mathrm{sign}(v) \max(|v| - c, 0)

    The standard deviation of the noise in the sum is known, so thresholding is post-processing and
    free. With many more features than rows most entries of the sum are noise; they stay at their
    start, while a threshold on single gradients would also drop weak but lasting signals. The
    intercept is not thresholded. The answer is the mean of the last iterates.

    With several classes a part of the budget goes to an opening: the first gradient is linear in
    the sums of rows by class, and those of non-negative rows take less noise than gradients by
    sqrt(2), because rows of different classes add to different sums and rows of one class are at
    most sqrt(2) norms apart. In the opening negative features count as zero.

    Penalties act through their proximal map and constraints by projection after each step, and what
    they change is carried over to V. At budgets beyond mu = 2 the threshold and the opening fade,
    the clip tends to the Lipschitz constant, steps grow in number and gain heavy-ball momentum,
    which makes this proximal gradient descent.

    Where one of two classes of text is rare, clipping makes it seem rarer than it is. The logarithm
    of the clip is given back to the intercept, as far as the starting intercept tells that a class
    is rare.

    Made for the coordinates of :class:`skdp.solvers.preconditioning.FrequencyScaling`.

    Parameters
    ----------
    steps : int, optional
        Number of gradients; by default 10 for sparse rows of more than a thousand features and 100
        for others, more at budgets beyond mu = 2.
    clip : float, optional
        Bound on the derivative of the loss of a row of full norm, that is, on a row's gradient in
        units of ``row_norm * max_weight``. 0.1 by default, more at budgets beyond mu = 2. Below
        the Lipschitz constant of the loss the penalty is scaled down alike.
    opening : float, optional
        Share of the budget for sums by class, in [0, 1). By default ``1 / (1 + mu / 2)`` for sparse
        rows with several classes and 0 otherwise. It is left out where the start already weighs
        features or where the rows are rotated.
    threshold : float, optional
        The factor theta; 1 by default, less at budgets beyond mu = 2.
    average : float, default=0.5
        Share of the last iterates that are averaged, in [0, 1]; 0 returns the last one.

    References
    ----------
    Nesterov (2009) and Xiao (2010) for dual averaging and its thresholded form; Donoho and
    Johnstone (1994) for soft thresholding at the noise level.

    Examples
    --------
    >>> from skdp.solvers import DualAveraging
    >>> DualAveraging(steps=20).get_params()["steps"]
    20
    """

    descends: ClassVar[bool] = True

    hyperparameters: ClassVar[dict[str, list[Any]]] = {
        "clip": [None, interval(1e-50, None, "neither")],
        "opening": [None, interval(0, 1, "left")],
        "threshold": [None, interval(0, None, "left")],
    }

    steps: int | None = None
    clip: float | None = None
    opening: float | None = None
    threshold: float | None = None
    average: float = 0.5

    def refuse(self, problem: Problem) -> None:
        name = type(self).__name__
        if problem.loss.of_residuals or problem.loss.log_means:
            raise ValueError(
                f"{name} needs a loss of classes, such as the logistic loss or a hinge loss, got "
                f"{type(problem.loss).__name__}. Use the solver 'gd'."
            )
        if self.opening and problem.loss.n_scores == 1:
            raise ValueError(
                f"{name} needs several scores a row for an opening, with one it gains nothing, got "
                f"opening={self.opening}. Leave opening out."
            )

    def solve(self, problem: Problem, oracle: Oracle, rng: np.random.Generator) -> Solution:
        self.check(problem)
        budget, d = oracle.budget, problem.n_features
        growth = max(1.0, budget.mu / 2)
        threshold = 1 / growth if self.threshold is None else self.threshold
        start = problem.start()
        V: np.ndarray = np.zeros_like(start)
        variance: np.ndarray = np.zeros(problem.loss.n_scores)
        share = self._share_of_opening(problem, start, budget.mu)
        if share > 0:
            V[:d], noise = _opening(problem, oracle.for_problem(problem), start, share, threshold)
            variance = noise**2
        rest = oracle.budget

        steps = self.steps
        if steps is None:
            steps = tuned.STEPS if problem.wide else tuned.STEPS_OF_FEW_FEATURES
            steps = min(tuned.MOST_STEPS, ceil(steps * growth**0.75))
        lipschitz = min(problem.loss.lipschitz, tuned.STEEPEST)
        clip = min(lipschitz, tuned.CLIP * growth if self.clip is None else self.clip)
        scale = problem.row_norm * problem.max_weight
        momentum = 1 - 1 / sqrt(growth)
        # From the stride at the default clip to that of the loss itself.
        whole = max(0.0, clip - tuned.CLIP) / max(1e-9, lipschitz - tuned.CLIP)
        curvature = problem.loss.smoothness
        curvature = tuned.MOST_CURVED if isinf(curvature) else curvature
        stride = tuned.STRIDE ** (1 - whole) * (1 / curvature) ** whole
        score_noise = (
            tuned.SCORE_NOISE if problem.loss.n_scores == 1 else tuned.SCORE_NOISE_OF_SEVERAL
        )
        afforded = (1 - momentum) * score_noise * problem.n_samples * rest.mu / (2 * clip) / steps
        step = min(stride, afforded) / (problem.row_norm * scale)
        weight_of_penalty = clip / lipschitz

        def beyond_noise() -> np.ndarray:
            out = start + V
            out[:d] = start[:d] + soft_threshold(V[:d], threshold * np.sqrt(variance))
            return out

        tail = TailMean(steps, self.average)
        moved = beyond_noise()
        before = w = problem.project(moved)
        oracle.note(planned=steps)
        for spend in rest.split(steps):
            g = oracle.gradient(w, spend=spend, clip_norm=clip * scale)
            sd = oracle.gradient_scale(spend=spend, clip_norm=clip * scale)
            # Rows are told apart by ``eta |gradient|^2 / clip`` a step, noise taken off.
            agreement = float(np.vdot(g, g)) - g.size * sd**2
            eta = step
            if step * agreement > tuned.ADVANTAGE * clip:
                eta = tuned.ADVANTAGE * clip / agreement
            # What penalty and constraint changed is part of where the next step starts.
            V += (w - moved) - eta * g + momentum * (w - before)
            variance = variance + (eta * sd / (1 - momentum)) ** 2
            moved, before = beyond_noise(), w
            w = problem.project(problem.prox(moved, eta * weight_of_penalty))
            tail.add(w)
        return Solution(_unclipped(problem, tail.value(), clip), n_iter=steps)

    def _share_of_opening(self, problem: Problem, start: np.ndarray, mu: float) -> float:
        row_map = problem.bounds.row_map
        rotated = row_map is not None and row_map.matrix is not None
        if problem.loss.n_scores == 1 or rotated or start[: problem.n_features].any():
            return 0.0
        if self.opening is not None:
            return self.opening
        return 1 / (1 + mu / 2) if problem.sparse else 0.0


def _unclipped(problem: Problem, w: np.ndarray, clip: float) -> np.ndarray:
    """w with an intercept that makes up for clipping, if one of two classes of text is rare.

    Where hardly a row is predicted to be of the rare class, the derivatives of its rows are clipped
    and those of the other rows are not. Log-odds then come out too low by about the logarithm of
    the clip. The more alike the classes are in number, the more this cancels.
    """
    constant, start = problem.bounds.intercept_value, problem.start()
    two = problem.loss.log_odds and problem.loss.n_scores == 1
    # From an earlier model scores spread so far that rows of both classes are clipped.
    if not (problem.wide and two and constant) or start[:-1].any():
        return w
    rareness = 1 - curvature_at_start(problem) ** tuned.FADING
    shift = rareness * log(problem.loss.lipschitz / clip) / constant
    out = w.copy()
    out[-1] -= np.sign(start[-1]) * shift
    return out


def _opening(
    problem: Problem, oracle: Oracle, start: np.ndarray, share: float, threshold: float
) -> tuple[np.ndarray, np.ndarray]:
    """Minus the gradient at the start, times a length, without the intercept; and its noise."""
    bounds, row_map, k = problem.bounds, problem.bounds.row_map, problem.loss.n_scores
    if row_map is not None:
        # The shift cancels: what a class has more of, the others have less of.
        row_map = replace(row_map, shift=np.zeros_like(row_map.shift))
    asked = replace(problem, bounds=replace(bounds, row_map=row_map, nonnegative=True))
    spend = oracle.budget.fraction(share).whole()
    sums, sd = oracle.for_problem(asked).row_means(by_class=True, spend=spend)
    constant = bounds.intercept_value
    expected = softmax(constant * start[-1]) if constant else np.full(k, 1 / k)
    weights = np.array(problem.class_weight or np.ones(k))
    contrast = np.diag(weights) - np.outer(weights, expected)
    G = sums[: problem.n_features] @ contrast
    noise = sd * np.linalg.norm(contrast, axis=0)
    kept = soft_threshold(G, threshold * noise)
    # By how much a row's class is ahead on average for weights ``kept``; noise that passed the
    # threshold agrees with itself and is taken off.
    agreement = float(np.vdot(kept, G)) - float(((kept != 0) * noise**2).sum())
    # A saturated prior and class weights may leave nothing to be learned, and no noise either.
    afforded = tuned.SCORE_NOISE / (problem.row_norm * max(float(noise.max()), 1e-9 * sd))
    length = afforded if agreement * afforded <= tuned.ADVANTAGE else tuned.ADVANTAGE / agreement
    return length * G, length * noise
