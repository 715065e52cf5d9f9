"""Noisy gradient descent in few steps, each direction at the pace of its released moment."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import partial
from math import ceil, inf, sqrt
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from ..problem.problem import Problem
from ..validation import interval
from .base import Solution, Solver, refuse_all_but_ridge
from .defaults import PreconditionedGD as tuned
from .descent import TailMean, clips_whole_units
from .preconditioning.class_frequencies import (
    curvature_at_start,
    curvatures_at_start,
    scores_at_start,
)
from .shrinkage import Course, at_honest_scale, typical_length

if TYPE_CHECKING:
    from ..privacy.oracle import Oracle


@dataclass(frozen=True)
class PreconditionedGD(Solver):
    r"""Noisy gradient descent whose steps are scaled by the released moments of the coordinates.

    .. math:: v_{t+1} = \beta v_t - P_t (g_t + Q w_t), \qquad w_{t+1} = w_t + v_{t+1},

    with ``g_t`` the noisy mean of label-blind bounded gradients, Q the Hessian of the ridge and
    P diagonal. A row's gradient is weighed by what it would be for the worst label, so that it is
    bounded whatever the label and, unlike clipped, still zero on average at the truth: the larger
    the budget, the nearer the model is to the one without privacy. Of people with several rows the
    mean gradient is clipped instead, which is mostly short enough to be left whole.

    In coordinates whose second moments stand out of their noise, as
    :class:`skdp.solvers.preconditioning.Whitening` releases them, ``1 / P_j`` is the assumed
    curvature of the loss times the second moment of coordinate j, the share of the ridge, and what
    keeps the noise in the score of a typical row below a constant. Noise has the geometry of the
    coordinates, steps that of the loss, so that all directions are learned at one pace. The model
    is the combination of late iterates at which their gradients cancel best, for their noise, which
    costs nothing: it is made of answers that are paid for.

    Elsewhere all directions have one pace. Steps go as far as noise and the number of rows allow,
    and further while released gradients agree beyond their noise; the model is the mean of the last
    iterates.

    Of counts the curvature grows with scores, so that steps are held to half a unit of the score
    of a typical row. What is combined are mean rates in place of intercepts, and the model is taken
    back towards its start by the positive-part factor of Stein.

    Parameters
    ----------
    steps : int, optional
        Number of gradients. By default 24 where no moments were released. Where they were, 5.5 for
        two balanced classes, up to 12 for rare ones, and 12 for several and for counts, times the
        ratio of the largest to the smallest moment, and 24 at most. More at budgets beyond mu = 2.
    clip : float, optional
        Bound on the derivative of the loss of a row of full norm, that is, on a row's gradient in
        units of ``row_norm * max_weight``. By default 0.3, more at budgets beyond mu = 2. In other
        coordinates a row of full norm is one of typical length.
    momentum : float, optional
        Heavy-ball coefficient beta, in [0, 1). By default 0.6 where moments are known, else
        ``1 - 10 / steps``.
    average : float, default=0.5
        Share of the steps, the last ones, whose iterates are combined, in [0, 1]; 0 returns the
        last iterate.
    score_noise : float, optional
        Bound on the standard deviation, under replace-one, that noise puts on the score of a
        typical row before iterates are combined. The smaller, the shorter the steps. By default 6
        where moments are known, 1 for counts there, and else 1 for rare classes to 1.5 for balanced
        ones, or for two classes with n mu below 600 0 to 3; 1.5 suits rows of many features that
        are white.
    label_blind : bool, optional
        Whether rows are bounded by weights that do not depend on their labels. False clips them
        instead, which is a bias but leaves more of rows that are hard to fit: for several classes
        with few rows a coefficient, and where labels may be wrong. By default True, but for two
        classes with n mu below 600, where noise counts for more than the bias.
    follows : bool, default=False
        Whether it starts at the model of rows like these, as a block of a stream does, which leaves
        less of the way. Then half of the default number of steps are taken and at least 4, unless n
        mu is below 5,000.

    References
    ----------
    Anderson (1965), "Iterative procedures for nonlinear integral equations", Journal of the ACM
    12(4), for combining iterates by their residuals; here with a ridge for noise, as by Mallows.

    Examples
    --------
    >>> from skdp.solvers import PreconditionedGD
    >>> PreconditionedGD(steps=20).get_params()["steps"]
    20
    """

    descends: ClassVar[bool] = True

    hyperparameters: ClassVar[dict[str, list[Any]]] = {
        "score_noise": [None, interval(0, None, "neither")],
        "follows": ["boolean"],
    }

    steps: int | None = None
    clip: float | None = None
    momentum: float | None = None
    average: float = 0.5
    score_noise: float | None = None
    label_blind: bool | None = None
    follows: bool = False

    def refuse(self, problem: Problem) -> None:
        if not (problem.loss.log_odds or problem.loss.log_means):
            raise ValueError(
                "PreconditionedGD needs the logistic, softmax or Poisson loss, whose curvature its "
                f"steps assume, got {type(problem.loss).__name__}. Use the solver 'gd'."
            )
        refuse_all_but_ridge(self, problem)

    def from_nearby(self, mu: float) -> Self:
        growth = min(max(1.0, mu / 2), tuned.MOST_STEP_GROWTH)
        return replace(self, steps=ceil(tuned.STEPS_FROM_NEARBY * growth))

    def solve(self, problem: Problem, oracle: Oracle, rng: np.random.Generator) -> Solution:
        self.check(problem)
        moments, run = _known_moments(problem), _Run(self, problem, oracle)
        w = run.at_one_pace() if moments is None else run.by_moments(moments)
        return Solution(w, n_iter=run.steps)

    def planned(self, problem: Problem, mu: float) -> int:
        """Number of gradients for a budget, see ``steps``.

        Parameters
        ----------
        problem : Problem
            Loss and public sizes.
        mu : float
            Gaussian-DP parameter of the budget.
        """
        if self.steps is not None:
            return self.steps
        # Enough for directions as different as released moments let expect.
        row_map = problem.bounds.row_map
        apart = inf if row_map is None else row_map.apart
        least = tuned.STEPS_OF_TWO if problem.loss.n_scores == 1 else tuned.STEPS_OF_SEVERAL
        # The rarer a class, the more does its curvature change on the way, as that of counts does.
        bend = 0.0 if problem.loss.log_means else curvature_at_start(problem)
        each = least / sqrt(min(1.0, max(bend, (least / tuned.STEPS_OF_RARE) ** 2)))
        enough = ceil(min(tuned.MOST_STEPS, apart * each))
        if self.follows and problem.n_samples * mu >= tuned.EVIDENCE_OF_FOLLOWING:
            half = ceil(tuned.STEPS_OF_FOLLOWING * enough)
            enough = min(enough, max(tuned.LEAST_OF_FOLLOWING, half))
        return ceil(enough * min(max(1.0, mu / 2), tuned.MOST_STEP_GROWTH))


class _Run:
    """Steps along the principal axes of the ridge, and what they need.

    Parameters
    ----------
    solver : PreconditionedGD
        Hyperparameters.
    problem : Problem
        To be solved.
    oracle : Oracle
        Answers about the problem.
    """

    def __init__(self, solver: PreconditionedGD, problem: Problem, oracle: Oracle) -> None:
        mu, counts = oracle.budget.mu, problem.loss.log_means
        self._solver, self._problem = solver, problem
        self.steps = solver.planned(problem, mu)
        # By how much the budget exceeds an ordinary one.
        self._growth = max(1.0, mu / 2)
        clip = tuned.CLIP * self._growth if solver.clip is None else solver.clip
        norm = typical_length(problem)
        scale = norm * problem.max_weight
        self._oracle = oracle.for_problem(problem.unshortened)
        self._oracle.note(planned=self.steps)
        # The loss is left with about the weight of typical rows at the start, and so is the ridge.
        # Means of people's rows are mostly short enough to be left whole.
        # But for those of counts: of a rare event a clip would leave a part.
        whole_units = clips_whole_units(problem) and not counts
        scores = scores_at_start(problem).reshape(1, *problem.shape[1:])
        worst = 0.0 if whole_units else float(problem.loss.worst_derivative(scores)[0])
        self._weight = min(1.0, clip / worst) if worst else 1.0
        # Gradients are so noisy then that their agreement says little.
        weak = problem.loss.n_scores == 1 and problem.n_samples * mu < tuned.WEAK_EVIDENCE
        self._weak = weak and not counts
        blind = not self._weak if solver.label_blind is None else solver.label_blind
        spend, clip_norm = oracle.budget.split(self.steps)[0], clip * scale
        self._asked: dict[str, Any] = {
            "spend": spend,
            "clip_norm": clip_norm,
            "label_blind": blind,
            "whole_units": whole_units,
        }
        # Standard deviation of an entry of a gradient.
        self._noise = self._oracle.gradient_scale(spend=spend, clip_norm=clip_norm)
        self._axes = _Axes.of(problem, self._weight)
        # One for each axis, along which arrays of the shape of the problem have several entries.
        self._columns = (-1, *(1 for _ in problem.shape[1:]))
        self._of_ridge = self._axes.curvature.reshape(self._columns)
        # Inverse of the unit of the total step size, and the noise that such a unit puts on the
        # score of a typical row.
        self._unit = norm * scale
        self._blur = 2 * clip / (problem.n_samples * mu)

    def _gradient(self, w: np.ndarray) -> np.ndarray:
        """Noisy gradient of loss and ridge at a point, both along the axes."""
        g = self._oracle.gradient(self._axes.back(w), **self._asked)
        return self._axes.turned(g) + self._of_ridge * w

    def by_moments(self, moments: np.ndarray) -> np.ndarray:
        """Steps at the pace of known moments, and the best combination of late iterates.

        Parameters
        ----------
        moments : ndarray of shape (d,)
            Second moments of the coordinates.
        """
        solver, problem, steps, d = self._solver, self._problem, self.steps, moments.size
        momentum = tuned.MOMENTUM if solver.momentum is None else solver.momentum
        counts = problem.loss.log_means
        usual = tuned.SCORE_NOISE_OF_COUNTS if counts else tuned.SCORE_NOISE
        noise = usual if solver.score_noise is None else solver.score_noise
        k = max(2, problem.loss.n_scores)
        bend = curvatures_at_start(problem) * (1 - 1 / k) / k
        # Rare classes at a pace of their own would swing, since scores of others move them too.
        bend = self._weight * problem.max_weight * np.maximum(bend, bend.mean())
        # In white coordinates directions have one moment, if what noise adds to them counts.
        constant = problem.bounds.intercept_value
        moments = np.append(np.full(d, moments.max()), [constant**2] if constant else [])
        curvature = moments.reshape(self._columns) * (
            bend if problem.loss.n_scores > 1 else bend[0]
        )
        of_noise = steps * self._unit * self._blur / (noise * (1 - momentum))
        slowest = of_noise + self._of_ridge
        start = self._axes.turned(problem.start())
        w = start
        pace = np.zeros_like(w)
        late: deque[tuple[np.ndarray, np.ndarray]] = deque(
            maxlen=max(1, ceil(solver.average * steps))
        )
        last = tuned.LAST_CURVATURE_OF_COUNTS if counts else tuned.LAST_CURVATURE
        # Where means are small the curvature grows as the exponential of scores does.
        rare = problem.loss.n_scores == 1 and curvature_at_start(problem) < tuned.GROWING
        longest = tuned.LONGEST_MOVE if counts or rare else inf
        assumed, falls = tuned.FIRST_CURVATURE, np.geomspace(1.0, last, steps)
        for t in range(steps):
            g = self._gradient(w)
            if t:
                of_move = float(np.sum(curvature * pace**2)) or 1.0
                measured = float(np.sum((g - late[-1][1]) * pace)) / of_move
                assumed = min(
                    tuned.MOST_CURVATURE, max(falls[t], tuned.MEASURED_CURVATURE * measured)
                )
            late.append((w, g))
            stretch = 1 / (assumed * curvature + slowest)
            pace = momentum * pace - stretch * g
            moved = sqrt(float(np.sum(moments.reshape(self._columns) * pace**2)))
            pace *= longest / max(moved, longest) if longest < inf else 1.0
            w = w + pace
        if not solver.average:
            return self._axes.back(w)
        if not counts:
            return self._axes.back(_combined(late, stretch, self._noise)[0])
        level = partial(_level, problem, moments[:d])
        w, share = _combined([(level(w, 1), g) for w, g in late], stretch, self._noise)
        of_noise = float(np.sum(moments.reshape(self._columns)[:d] * stretch[:d] ** 2))
        noise = tuned.NOISE_OF_ALL_STEPS * self._noise**2 * share * of_noise
        w = level(_shrunk(level(start, 1), w, moments[:d], noise), -1)
        return self._axes.back(w)

    def at_one_pace(self) -> np.ndarray:
        """Steps of one size in all directions, longer while gradients agree; mean of the last."""
        solver, problem, steps = self._solver, self._problem, self.steps
        noise = solver.score_noise
        if noise is None:
            bend = min(1.0, curvature_at_start(problem))
            noise = (
                tuned.SCORE_NOISE_IF_WEAK * bend
                if self._weak
                else tuned.SCORE_NOISE_OF_RARE + tuned.MORE_SCORE_NOISE_OF_BALANCED * bend
            )
        momentum = (
            max(0.0, 1 - tuned.MEMORIES / steps) if solver.momentum is None else solver.momentum
        )
        # What sampling tells of: directions that a row of typical length could have.
        told = self._growth**2 * problem.n_samples / self._weight
        total = min(noise / self._blur, told, tuned.LONGEST_STEP * steps**2 / tuned.MEMORIES)
        most = (
            1.0 if self._weak else max(1.0, min(told, tuned.MOST_SCORE_NOISE / self._blur) / total)
        )
        total /= 1 + tuned.AHEAD / steps
        step = (1 - momentum) * total / steps / self._unit
        w = self._axes.turned(problem.start())
        pace, tail, sizes = np.zeros_like(w), TailMean(steps, solver.average), []
        longer, latest = 1.0, deque[np.ndarray](maxlen=tuned.LATEST_GRADIENTS)
        strongest = float(self._of_ridge.max())
        for _ in range(steps):
            g = self._gradient(w)
            latest.append(g.ravel())
            back = float(np.vdot(g, pace)) / (self._noise * (sqrt(np.vdot(pace, pace)) or 1.0))
            if back > tuned.AGREEMENT:
                longer, pace = tuned.STEP_SHRINKAGE * longer, np.zeros_like(w)
            elif _agreement(latest, self._noise) > tuned.AGREEMENT:
                longer = min(tuned.STEP_GROWTH * longer, most)
            pace = momentum * pace - g / (1 / (longer * step) + self._of_ridge)
            w = w + pace
            tail.add(w)
            sizes.append(1 / (1 / (longer * step) + strongest))
        if problem.wide or not (self._weak or problem.loss.log_means):
            # Of text the scale is known from the number of rows, and of many rows it is asked.
            return self._axes.back(tail.value())
        course = Course(sizes, momentum, [self._noise] * steps, solver.average)
        return at_honest_scale(problem, self._axes.back(tail.value()), course)


@dataclass(frozen=True, eq=False)
class _Axes:
    """Principal axes of the ridge penalty, along which steps are made in place of coordinates.

    Along each axis the ridge has a curvature of its own, which sets the step there. Along
    coordinates a ridge that is strong in a single direction would be steep in all of them, and all
    steps would have to be short. Noise and moments of white rows are the same along any axes.

    Parameters
    ----------
    directions : ndarray of shape (d, d) or None
        Orthonormal rows; None are the coordinates themselves.
    curvature : ndarray of shape (p,)
        Of the ridge along each of them, zero for the intercept.
    """

    directions: np.ndarray | None
    curvature: np.ndarray

    @classmethod
    def of(cls, problem: Problem, weight: float) -> _Axes:
        """Axes of the penalty of a problem, whose curvature counts by a weight."""
        root, directions = np.asarray(problem.penalty.root), None
        if root.ndim == 2:
            # By the root itself: in its square small curvatures would drown in rounding.
            rows, columns = root.shape
            _, root, directions = np.linalg.svd(root, full_matrices=rows < columns)
        lengths = np.zeros(problem.n_rows)
        lengths[: root.size if root.ndim else problem.n_features] = root
        return cls(directions, weight * np.square(lengths))

    def turned(self, w: np.ndarray) -> np.ndarray:
        """Entries along the axes, of a point or gradient in coordinates of the problem."""
        return w if self.directions is None else self._times(self.directions, w)

    def back(self, w: np.ndarray) -> np.ndarray:
        """Coordinates of the problem, of a point that is given along the axes."""
        return w if self.directions is None else self._times(self.directions.T, w)

    def _times(self, matrix: np.ndarray, w: np.ndarray) -> np.ndarray:
        d = len(matrix)
        return np.concatenate([matrix @ w[:d], w[d:]])


def _agreement(gradients: deque[np.ndarray], noise: float) -> float:
    """Sum of the products of different gradients (p,), in standard deviations of those of noise."""
    m, p = len(gradients), gradients[0].size
    if m == 1:
        return 0.0
    of_all = np.array(gradients)
    total = of_all.sum(axis=0)
    products = float(total @ total - np.vdot(of_all, of_all))
    return products / (noise**2 * sqrt(2 * m * (m - 1) * p))


def _known_moments(problem: Problem) -> np.ndarray | None:
    """Second moments of the features in white coordinates, if any were released."""
    row_map = problem.bounds.row_map
    moments = None if row_map is None else row_map.moments
    # Those of a single direction may be lost in noise.
    return moments if moments is not None and moments.any() else None


def _combined(
    late: Iterable[tuple[np.ndarray, np.ndarray]], stretch: np.ndarray, noise: float
) -> tuple[np.ndarray, float]:
    r"""A step from the combination of iterates whose gradients cancel best for their noise.

    With gradients g_t of noise sd, P the stretch of a step and weights c that sum to 1, it is

    .. math:: \sum_t c_t (w_t - P g_t), \qquad
              \min_c \Bigl\|\sum_t c_t g_t\Bigr\|_P^2 + 2\, sd^2\, tr(P) \|c\|^2.

    Parameters
    ----------
    late : iterable of (ndarray, ndarray)
        Iterates w_t and the noisy gradients at them.
    stretch : ndarray
        Diagonal of P, of a shape that broadcasts to theirs.
    noise : float
        Standard deviation of the noise of an entry of a gradient.

    Returns
    -------
    w : ndarray
        The point.
    share : float
        Sum of the squares of c.
    """
    points, gradients = map(np.array, zip(*late, strict=True))
    stretched = stretch * gradients
    k = len(points)
    products = gradients.reshape(k, -1) @ stretched.reshape(k, -1).T
    size = float(np.trace(products)) / k or 1.0
    of_noise = noise**2 * float(np.broadcast_to(stretch, points[0].shape).sum())
    ridge = tuned.NOISE_PENALTY * of_noise / size + tuned.LEAST_NOISE_PENALTY
    weights = np.linalg.solve(products / size + ridge * np.eye(k), np.ones(k))
    weights /= weights.sum()
    found = np.asarray(np.tensordot(weights, points - stretched, axes=1))
    return found, float(weights @ weights)


def _level(problem: Problem, moments: np.ndarray, w: np.ndarray, sign: int) -> np.ndarray:
    """A solution for counts with the logarithm of the mean rate in place of the intercept.

    Noise in scores makes rates larger on average, for which the intercept of a noisy solution makes
    up: by half the variance of the scores if they are about normal. Where solutions are averaged or
    shortened, of which noise is less, it is mean rates that stay.

    Parameters
    ----------
    problem : Problem
        Of counts, in white coordinates.
    moments : ndarray of shape (d,)
        Second moments of the coordinates.
    w : ndarray
        The solution.
    sign : {1, -1}
        Whether the intercept is replaced, or comes back.
    """
    out, constant = w.copy(), problem.bounds.intercept_value
    if constant:
        variance = float(moments @ w[: problem.n_features] ** 2)
        out[-1] += sign * min(variance, tuned.LARGEST_VARIANCE_OF_SCORES) / (2 * constant)
    return out


def _shrunk(start: np.ndarray, w: np.ndarray, moments: np.ndarray, noise: float) -> np.ndarray:
    """The solution, moved towards its start by Stein's factor for the noise in scores.

    Parameters
    ----------
    start, w : ndarray
        Solutions.
    moments : ndarray of shape (d,)
        Second moments of the coordinates.
    noise : float
        Variance of the noise in the score of a typical row.
    """
    move = w - start
    variance = float(moments @ move[: moments.size] ** 2)
    return start + max(0.0, 1 - noise / variance if variance > 0 else 1.0) * move
