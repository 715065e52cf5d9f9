"""Noisy gradient descent for regression with a clip that follows the residuals."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import ceil, exp, log, sqrt
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from ..problem.problem import Problem
from ..validation import interval
from .base import Solution, Solver
from .defaults import TrackedGD as tuned
from .descent import TailMean, clips_whole_units
from .regression_offset import calibrated, widely_clipped
from .shrinkage import Course, direction_of_constant, towards_start

if TYPE_CHECKING:
    from ..privacy.oracle import Oracle


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
    (:func:`skdp.solvers.regression_offset.calibrated`).

    Made for coordinates in which second moments are about 1, see
    :class:`skdp.solvers.preconditioning.IterativeWhitening`, where one step size suits all
    directions. At budgets beyond mu = 2 those of which noise hides whether any row lies along them
    are held to a constant model by a ridge. In the user's coordinates, where one step size does not
    suit all, steps are as long as those of :class:`skdp.solvers.GD` and have its heavy-ball
    momentum.

    Parameters
    ----------
    steps : int, optional
        Number of gradients T. By default 200 in the user's coordinates and, the more rows there are
        for each coordinate, 100 to 40 in private ones, where momentum replaces steps. Where
        released second moments stand out of their noise in nearly all directions, 6 times the ratio
        of the largest to the smallest, and 24 at most. More at budgets beyond mu = 2.
    whole : float, optional
        Share q of the rows that the clip should leave whole, in (0, 1). By default between 0.5
        and 0.97, growing with the number of rows times the budget for each coordinate, and
        towards 1 at budgets beyond mu = 2. If it is given the fit stays robust: nothing is asked
        for with wider clips.
    average : float, default=0.5
        Share of the last iterates that are averaged, in [0, 1]; 0 returns the last one.
    nearby : bool, default=False
        Whether the start is nearly the solution, in private coordinates that white rows have. Then
        two steps of Newton's method, with wide clips, are all
        (:func:`skdp.solvers.regression_offset.widely_clipped`).

    References
    ----------
    Andrew, Thakkar, McMahan and Ramaswamy (2021) for following a quantile by noisy counts.

    Examples
    --------
    >>> from skdp.solvers import TrackedGD
    >>> TrackedGD(steps=50).get_params()["steps"]
    50
    """

    hyperparameters: ClassVar[dict[str, list[Any]]] = {
        "whole": [None, interval(0, 1, "neither")],
        "nearby": ["boolean"],
    }

    steps: int | None = None
    whole: float | None = None
    average: float = 0.5
    nearby: bool = False

    whitened: ClassVar[bool] = True

    def refuse(self, problem: Problem) -> None:
        if not problem.loss.of_residuals or problem.loss.quantiles:
            raise ValueError(
                "TrackedGD needs the squared loss, Huber's or Tukey's, whose gradients are as long "
                f"as residuals, got {type(problem.loss).__name__}. Use the solver 'gd'."
            )
        one = problem.loss.squared and problem.loss.n_scores == 1
        if self.nearby and (not one or np.any(problem.penalty.root)):
            raise ValueError(
                "TrackedGD(nearby=True) needs the squared loss of one target and no penalty; leave "
                "nearby out."
            )

    def from_nearby(self, mu: float) -> Self:
        return replace(self, nearby=True)

    def solve(self, problem: Problem, oracle: Oracle, rng: np.random.Generator) -> Solution:
        self.check(problem)
        budget, p = oracle.budget, problem.n_rows
        if self.nearby:
            count = tuned.STEPS_FROM_NEARBY
            w, _ = widely_clipped(problem, oracle, problem.start(), budget, count)
            return Solution(w, n_iter=count)
        # Residuals of several targets are longer by this together, and so are clips and noise.
        together = sqrt(problem.loss.n_scores)
        evidence = problem.evidence_for_each(budget.mu)
        growth = max(1.0, budget.mu / 2)
        whole = self.whole
        if whole is None:
            clipped = tuned.CLIPPED + tuned.CLIPPED_A_UNIT / evidence
            whole = 1 - min(tuned.MOST_CLIPPED, max(tuned.LEAST_CLIPPED, clipped)) / growth
        # Length of a typical row, and largest second moment in a direction.
        length, curvature = problem.row_norm, problem.row_norm**2
        longer = sqrt(growth)
        most = tuned.STEPS * longer
        momentum, stride, pace = tuned.MOMENTUM, tuned.STRIDE, tuned.CLIP_RATE
        held, along, constant = None, np.zeros(p), 0.0
        memories, row_map = tuned.MEMORIES, problem.bounds.row_map
        if row_map is not None:
            needed = tuned.EVIDENCE_IN_STEPS / evidence
            most = max(tuned.LEAST_STEPS, needed) * growth
            # In white coordinates a row is as long as the root of the directions that are seen.
            seen = row_map.typical is not None and row_map.typical**2 >= tuned.RESOLVED_SHARE * p
            if seen and needed <= tuned.LEAST_STEPS:
                few = tuned.RESOLVED_STEPS * row_map.apart
                most = min(tuned.MOST_RESOLVED_STEPS, few) * growth
                memories = tuned.RESOLVED_MEMORIES
            most = min(tuned.MOST_STEPS * longer, most)
        steps = ceil(most) if self.steps is None else self.steps
        if row_map is not None:
            enough = tuned.STEPS_WITHOUT_MOMENTUM * growth * longer
            # The larger the budget, the less is to be left of oscillations.
            memories += 2 * log(growth)
            momentum = max(0.0, 1 - max(steps / enough, memories / steps))
            # No step longer than 1.25 over the curvature, which any momentum leaves stable.
            far = tuned.STEPS * longer
            # Below an ordinary budget nothing is held.
            if row_map.hidden is not None and growth > 1:
                held = (1 - 1 / growth) * row_map.hidden
            if row_map.moments is not None:
                along, constant = direction_of_constant(problem, row_map)
                rank = int(tuned.SLOWEST_SHARE * row_map.moments.size)
                slow = max(float(np.partition(row_map.moments, rank)[rank]), tuned.REACH / far)
                far = min(far, tuned.REACH / slow)
            stride = max(1.0, min(far / steps, tuned.LONGEST_STEP / (1 - momentum)))
            fastest = min(tuned.MOST_CLIP_RATE, tuned.TOTAL_CLIP_RATE / steps)
            pace = max(tuned.CLIP_RATE, fastest)
            length, curvature = min(length, sqrt(p)), min(curvature, 1.0)

        w = before = start = problem.start()
        looking = budget.fraction(tuned.FIRST_CLIP_SHARE).whole()
        unit = length * together
        whole_units = clips_whole_units(problem, counted=True)
        counts = oracle.gradient_sizes(
            w, unit * tuned.OCTAVES, spend=looking, whole_units=whole_units
        )
        clip_norm = unit * _first_clip(counts.value, counts.scale, whole, problem.n_samples)
        tail = TailMean(steps, self.average)
        sizes, scales, shares = [], [], []
        oracle.note(planned=steps)
        # Without an intercept there is no offset to look for; a share that is given is one of
        # robustness, and a penalty would have to be shared out.
        asks = self.whole is None and constant > 0
        asks = asks and problem.loss.squared and problem.loss.n_scores == 1
        asks = asks and evidence >= tuned.CALIBRATED_EVIDENCE and not np.any(problem.penalty.root)
        asks = asks and problem.n_samples * budget.mu >= tuned.COUNTED_EVIDENCE
        last = tuned.CALIBRATION_SHARE if asks else 0.0
        for spend in budget.fraction(1 - tuned.FIRST_CLIP_SHARE - last).split(steps):
            gradient, share = oracle.gradient_and_share(
                w,
                spend=spend,
                clip_norm=clip_norm,
                of_share=tuned.FOLLOWING_SHARE,
                usual=whole,
                whole_units=whole_units,
            )
            # Beyond this total step length noise, not data, would lengthen w.
            total_step_size = (
                tuned.SCORE_NOISE * evidence * sqrt(p * curvature) * together / clip_norm
            )
            step = (1 - momentum) * min(stride, total_step_size / steps) / curvature
            slope = gradient.value
            if held is not None:
                slope = slope + _pull(held, along, w - start)
            moved = w - step * slope + momentum * (w - before)
            before, w = w, problem.project(problem.prox(moved, step))
            tail.add(w)
            sizes.append(step)
            scales.append(gradient.scale)
            shares.append(float(share.value))
            # Noise larger than the share of clipped rows would make the clip a random walk.
            rate = pace * min(1.0, (1 - whole) / share.scale)
            excess = (float(share.value) - whole) / (1 - whole)
            clip_norm *= exp(-rate * min(1.0, max(-1.0, excess)))
        left = min(1.0, max(tuned.LEAST_WHOLE, float(np.mean(shares))))
        course = Course(sizes, momentum, scales, self.average)
        w = towards_start(
            problem, tail.value(), course, length=length, whole=left, noise_ratio=tuned.NOISE_RATIO
        )
        if asks:
            w = calibrated(problem, oracle, w, budget.fraction(last))
        return Solution(w, n_iter=steps)


def _pull(held: np.ndarray, along: np.ndarray, move: np.ndarray) -> np.ndarray:
    """Gradient of a ridge on a move, which leaves an offset of all predictions free."""
    slopes = move - np.multiply.outer(along, along @ move)
    pull = (held * slopes.T).T
    return pull - np.multiply.outer(along, along @ pull)


def _first_clip(counts: np.ndarray, scale: float, whole: float, n_samples: int) -> float:
    """First octave below which there are enough rows, in units of the norm of a typical row."""
    if scale > tuned.VISIBLE_NOISE * n_samples:
        return tuned.BLIND_CLIP
    # Each share is known from both ends, less precisely the more counts it sums.
    bins = np.arange(1, counts.size)
    below = np.cumsum(counts)[:-1]
    not_above = n_samples - np.cumsum(counts[::-1])[-2::-1]
    rows = (below * bins[::-1] + not_above * bins) / counts.size
    enough = np.flatnonzero(rows >= whole * n_samples)
    return float(tuned.OCTAVES[enough[0] if enough.size else -1])
