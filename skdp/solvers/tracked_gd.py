"""Noisy gradient descent for regression with a clip that follows the residuals."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, exp, sqrt
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from sklearn.utils._param_validation import Interval

from ..problem.problem import Problem
from ..validation import check_hyperparameters
from .base import Solution, Solver
from .calibration import calibrated
from .descent import TailMean, clips_whole_units
from .shrinkage import Course, towards_start

if TYPE_CHECKING:
    from ..privacy.oracle import Oracle

_HYPERPARAMETERS: dict[str, list[Any]] = {
    "steps": [None, Interval(Integral, 1, None, closed="left")],
    "whole": [None, Interval(Real, 0, 1, closed="neither")],
    "average": [Interval(Real, 0, 1, closed="both")],
}

# Shares of mu^2: of the whole for the first clip, of each step for following it.
_START_SHARE = 0.01
_FOLLOW_SHARE = 0.0236
# Where the first clip is sought, in units of the norm of a typical row, and where it is if noise
# hides the counts.
_OCTAVES = 2.0 ** np.arange(-10, 3)
_BLIND_CLIP = 0.1
# Largest noise of a count, as a share of the rows, at which counts are used.
_VISIBLE = 1 / 12
# Steps in the user's coordinates, and in good ones: as many as there is evidence for, for what
# many short steps do a few do with momentum. With fewer at the least skewed targets lose.
_STEPS, _MOST_STEPS, _LEAST_STEPS, _EVIDENCE_IN_STEPS = 200, 100, 40, 12_400.0
# How far all steps together go where second moments are known: for directions whose moments exceed
# those of a tenth of them as far as this, over such a moment, and never further than many steps go.
# The further, the more noise those bear whose moments noise hides. Set on delays, beside
# california_without_logs and ill_conditioned, with examples/benchmarks/defaults.py.
_FAR, _SLOWEST = 20.0, 0.1
# So many of the longest steps need no momentum to go all the way.
_LONGEST, _WITHOUT_MOMENTUM = 1.25, 160
# Times that momentum is forgotten, at least, so that it can replace steps.
_MEMORIES = 6.4
# Where rows are many and second moments stand out of their noise in nearly all directions, these go
# at one pace: few steps are enough, and with less momentum the clip follows residuals more closely.
_RESOLVED, _RESOLVED_STEPS, _RESOLVED_MEMORIES = 0.9, 24, 12.0
# How fast the clip follows, a step, and over all steps.
_PACE, _TURNS = 0.1, 20.0
# How much of the noise is taken off the solution; and the least share of rows that are taken to be
# left whole by the clip.
_NOISE_RATIO, _LEAST_WHOLE = 1.0, 0.1
# Evidence for each coefficient from which predictions are calibrated; that for all from which
# counts of long gradients stand out of their noise; and the share for it.
_CALIBRATED, _COUNTED, _CALIBRATION_SHARE = 20.0, 700.0, 0.05
# Coordinates that nobody has conditioned hold directions of little variance, which need a longer
# way than unit steps go. Stable: heavy-ball steps may be 2 (1 + momentum) over the curvature.
_MOMENTUM, _STRIDE = 0.9, 20.0


@dataclass(frozen=True)
class TrackedGD(Solver):
    r"""Noisy gradient descent whose clip tracks a quantile of the rows' gradient norms.

    .. math:: w_{t+1} = \mathrm{prox}_{\eta_t r}(w_t - \eta_t g_t), \qquad
              C_{t+1} = C_t \exp\bigl(-\kappa\,[(f_t - q) / (1 - q)]_{-1}^{1}\bigr)

    where ``g_t`` is the noisy mean of gradients clipped to ``C_t``, ``f_t`` the noisy share of
    rows that the clip left whole, and q the share to aim at. Residuals shrink as the fit improves,
    and noise, which is proportional to the clip, shrinks with them. The first clip is read off a
    noisy histogram of gradient norms over octaves; kappa is 0.1, or 20 / T where steps are few.
    Both cost 3.4 % of the budget together. Where noise hides the counts, the clip starts at a
    constant and hardly moves. The answer is the mean of the last iterates, taken back towards the
    start as far as noise explains it (:func:`skdp.solvers.shrinkage.towards_start`).

    Clipped residuals fit skewed targets near their middle. Where coordinates are private, offset
    and scale of the predictions of one target are therefore asked for once more with wide clips,
    for 5 % of the budget, unless ``whole`` or a penalty is given
    (:func:`skdp.solvers.calibration.calibrated`).

    Made for coordinates in which second moments are about 1, see
    :class:`skdp.solvers.preconditioning.IterativeWhitening`, where one step size suits all
    directions. In the user's coordinates, where it does not, steps are as long as those of
    :class:`skdp.solvers.GD` and have its heavy-ball momentum.

    Parameters
    ----------
    steps : int, optional
        Number of gradients T. By default 200 in the user's coordinates and, the more rows there are
        for each coordinate, 100 to 40 in private ones, where momentum replaces steps; 24 in place
        of 40 where released second moments stand out of their noise in nearly all directions; more
        at budgets beyond mu = 2.
    whole : float, optional
        Share q of the rows that the clip should leave whole, in (0, 1). By default between 0.5
        and 0.97, growing with the number of rows times the budget for each coordinate, and
        towards 1 at budgets beyond mu = 2. If it is given the fit stays robust: nothing is asked
        for with wider clips.
    average : float, default=0.5
        Share of the last iterates that are averaged, in [0, 1]; 0 returns the last one.

    References
    ----------
    Andrew, Thakkar, McMahan and Ramaswamy (2021) for following a quantile by noisy counts.

    Examples
    --------
    >>> from skdp.solvers import TrackedGD
    >>> TrackedGD(steps=50).get_params()["steps"]
    50
    """

    steps: int | None = None
    whole: float | None = None
    average: float = 0.5

    whitened: ClassVar[bool] = True

    def check(self, problem: Problem) -> None:
        check_hyperparameters(_HYPERPARAMETERS, self.get_params(), "TrackedGD")
        if not problem.loss.of_residuals or problem.loss.quantiles:
            raise ValueError(
                "TrackedGD needs the squared loss, Huber's or Tukey's, whose gradients are as long "
                f"as residuals, got {type(problem.loss).__name__}. Use the solver 'gd'."
            )

    def solve(self, problem: Problem, oracle: Oracle, rng: np.random.Generator) -> Solution:
        del rng
        self.check(problem)
        budget, p = oracle.budget, problem.n_rows
        # Residuals of several targets are longer by this together, and so are clips and noise.
        together = sqrt(problem.loss.n_scores)
        evidence = problem.evidence_for_each(budget.mu)
        growth = max(1.0, budget.mu / 2)
        whole = self.whole
        if whole is None:
            whole = 1 - min(0.5, max(0.03, 0.02 + 3.9 / evidence)) / growth
        # Length of a typical row, and largest second moment in a direction.
        length, curvature = problem.row_norm, problem.row_norm**2
        longer = sqrt(growth)
        most = _STEPS * longer
        momentum, stride, pace = _MOMENTUM, _STRIDE, _PACE
        memories, row_map = _MEMORIES, problem.bounds.row_map
        if row_map is not None:
            needed = _EVIDENCE_IN_STEPS / evidence
            most = max(_LEAST_STEPS, needed) * growth
            # In white coordinates a row is as long as the root of the directions that are seen.
            seen = row_map.typical is not None and row_map.typical**2 >= _RESOLVED * p
            if seen and needed <= _LEAST_STEPS:
                most, memories = _RESOLVED_STEPS * growth, _RESOLVED_MEMORIES
            most = min(_MOST_STEPS * longer, most)
        steps = ceil(most) if self.steps is None else self.steps
        if row_map is not None:
            enough = _WITHOUT_MOMENTUM * longer
            momentum = max(0.0, 1 - max(steps / enough, memories / steps))
            # No step longer than 1.25 over the curvature, which any momentum leaves stable.
            far = _STEPS * longer
            if row_map.moments is not None:
                rank = int(_SLOWEST * row_map.moments.size)
                slow = max(float(np.partition(row_map.moments, rank)[rank]), _FAR / far)
                far = min(far, _FAR / slow)
            stride = max(1.0, min(far / steps, _LONGEST / (1 - momentum)))
            pace = max(_PACE, _TURNS / steps)
            length, curvature = min(length, sqrt(p)), min(curvature, 1.0)

        w = before = problem.start()
        looking = budget.fraction(_START_SHARE).whole()
        unit = length * together
        whole_units = clips_whole_units(problem, counted=True)
        counts = oracle.gradient_sizes(w, unit * _OCTAVES, spend=looking, whole_units=whole_units)
        clip_norm = unit * _first_clip(counts.value, counts.scale, whole, problem.n_samples)
        tail = TailMean(steps, self.average)
        sizes, scales, shares = [], [], []
        oracle.note(planned=steps)
        known = row_map is not None and row_map.moments is not None
        # A share that is given is one of robustness, and a penalty would have to be shared out.
        asks = self.whole is None and known and problem.loss.squared and problem.loss.n_scores == 1
        asks = asks and evidence >= _CALIBRATED and not np.any(problem.penalty.root)
        asks = asks and problem.n_samples * budget.mu >= _COUNTED
        last = _CALIBRATION_SHARE if asks else 0.0
        for spend in budget.fraction(1 - _START_SHARE - last).split(steps):
            g, share = oracle.gradient_and_share(
                w,
                spend=spend,
                clip_norm=clip_norm,
                of_share=_FOLLOW_SHARE,
                usual=whole,
                whole_units=whole_units,
            )
            # Beyond this total step length noise, not data, would lengthen w.
            total_step_size = 0.65 * evidence * sqrt(p * curvature) * together / clip_norm
            step = (1 - momentum) * min(stride, total_step_size / steps) / curvature
            moved = w - step * g + momentum * (w - before)
            before, w = w, problem.project(problem.prox(moved, step))
            tail.add(w)
            sizes.append(step)
            scales.append(oracle.gradient_scale(spend=spend, clip_norm=clip_norm))
            shares.append(float(share.value))
            # Noise larger than the share of clipped rows would make the clip a random walk.
            rate = pace * min(1.0, (1 - whole) / share.scale)
            excess = (float(share.value) - whole) / (1 - whole)
            clip_norm *= exp(-rate * min(1.0, max(-1.0, excess)))
        ratio = _NOISE_RATIO / (1 - _FOLLOW_SHARE)
        left = min(1.0, max(_LEAST_WHOLE, float(np.mean(shares))))
        course = Course(sizes, momentum, scales, self.average)
        ratios = {"whole": left, "noise_ratio": ratio}
        w = towards_start(problem, tail.value(), course, length=length, **ratios)
        if asks:
            w = calibrated(problem, oracle, w, budget.fraction(last))
        return Solution(w, n_iter=steps)


def _first_clip(counts: np.ndarray, scale: float, whole: float, n_samples: int) -> float:
    """First octave below which there are enough rows, in units of the norm of a typical row."""
    if scale > _VISIBLE * n_samples:
        return _BLIND_CLIP
    # Each share is known from both ends, less precisely the more counts it sums.
    bins = np.arange(1, counts.size)
    below = np.cumsum(counts)[:-1]
    not_above = n_samples - np.cumsum(counts[::-1])[-2::-1]
    rows = (below * bins[::-1] + not_above * bins) / counts.size
    enough = np.flatnonzero(rows >= whole * n_samples)
    return float(_OCTAVES[enough[0] if enough.size else -1])
