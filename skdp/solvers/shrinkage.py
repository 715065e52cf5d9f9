"""Shrink a noisy solution towards where it started, by as much as noise explains the distance."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, hypot, log, pi, sqrt
from typing import NamedTuple

import numpy as np

from ..problem.bounds import RowMap
from ..problem.problem import Problem
from .defaults import HonestScale as tuned
from .preconditioning.class_frequencies import curvatures_at_start

# Curvatures of so many sizes are told apart.
_SIZES = 32


class Course(NamedTuple):
    """Steps of heavy-ball descent as they were taken, all of them public.

    Parameters
    ----------
    steps : sequence of float
        Size of each step, without what momentum adds.
    momentum : float
        Heavy-ball coefficient.
    scales : sequence of float
        Standard deviation of the noise of each gradient.
    average : float
        Share of the iterates, the last ones, that are averaged; at least one is.
    """

    steps: Sequence[float]
    momentum: float
    scales: Sequence[float]
    average: float

    def variance(self, curvatures: np.ndarray) -> np.ndarray:
        """Variance that the noise puts into the mean of the last iterates.

        Where the loss is a quadratic along a coordinate, iterates are linear in the noise of each
        gradient. The factors, from the last gradient back to the first, follow from step sizes.

        Parameters
        ----------
        curvatures : ndarray of shape (p,)
            Curvature of the loss along each coordinate.

        Returns
        -------
        ndarray of shape (p,)
            Variance along each coordinate.
        """
        n, p = len(self.steps), len(curvatures)
        kept = max(1, ceil(self.average * n))
        steps = np.asarray(self.steps)
        turns, moves = np.multiply.outer(steps, curvatures), np.empty((n, p))
        # What the mean gains by a change of the iterate, and of the move that led to it.
        of_iterate, of_move = np.zeros((2, p))
        for k in reversed(range(n)):
            if k >= n - kept:
                of_iterate += 1 / kept
            of_move += of_iterate
            moves[k] = of_move
            of_iterate -= turns[k] * of_move
            of_move *= self.momentum
        moves *= np.multiply(steps, self.scales)[:, None]
        return np.asarray(np.square(moves, out=moves).sum(axis=0))


def towards_start(
    problem: Problem,
    w: np.ndarray,
    course: Course,
    *,
    length: float,
    whole: float,
    noise_ratio: float,
) -> np.ndarray:
    r"""The solution, moved towards the start of descent by the positive-part factor of Stein.

    .. math:: w_0 + \max\Bigl(0, 1 - c\,\frac{\sum_j h_j N_j}{\sum_j h_j (w - w_0)_j^2}\Bigr)
              (w - w_0)

    where ``h_j`` are second moments of rows along coordinates and ``N_j`` the variance that noise
    has there. Without a signal the solution is about as long as its noise, and the factor is about
    0; where there is one, it takes off the order of noise squared over signal. All of it follows
    from released numbers.

    In private coordinates the direction of the constant is left out, so that an offset of the
    targets does not hide noise in slopes. The factor is 0 there, but for models without an
    intercept, unless the square exceeds its noise by two standard deviations, and by the more the
    smaller moments are on average: where noise makes a moment seem too large, that of the
    coefficient seems too small. In the user's coordinates descent starts at the mean of the targets
    (:func:`skdp.solvers.preconditioning.target_mean.with_target_mean`).

    Parameters
    ----------
    problem : Problem
        Public bounds, and the start.
    w : ndarray
        Mean of the last iterates.
    course : Course
        How descent came there.
    length : float
        Length of a typical row, which counts where second moments are not known.
    whole : float
        Share of rows whose gradients are left whole; the others have no curvature.
    noise_ratio : float
        Factor c of the noise.

    References
    ----------
    James and Stein (1961); Baranchik (1964) for the positive part.
    """
    start, row_map = problem.start(), problem.bounds.row_map
    move = (w - start).reshape(problem.n_rows, -1)
    moments, noise = moments_and_noise(problem, course, length=length, whole=whole)
    along = np.zeros(problem.n_rows)
    if row_map is not None and row_map.moments is not None:
        along, _ = direction_of_constant(problem, row_map)
    kept = np.outer(along, along @ move)
    rest = move - kept
    expected = move.shape[1] * float(moments @ noise - (moments * along) @ (noise * along))
    square = float(np.sum(moments[:, None] * rest**2))
    factor = max(0.0, 1 - noise_ratio * expected / square) if square > 0 else 1.0
    if along.any():
        more = (1 + 2 * sqrt(2 / move.size)) / max(tuned.LEAST_MOMENT, float(moments.mean()))
        factor *= square > more * noise_ratio * expected
    return start + (kept + factor * rest).reshape(w.shape)


def at_honest_scale(problem: Problem, w: np.ndarray, course: Course) -> np.ndarray:
    r"""The solution for classes, moved towards the start until noise in log-odds costs little.

    With N the variance that noise has in the score of a typical row, and S that of the score, it is

    .. math:: w_0 + \max\Bigl(\frac{k}{\sqrt{1 + \pi k N / 8}}, \frac{z^2}{z^2 + 2 c}, f\Bigr)
              (w - w_0), \qquad k = \max\Bigl(0, 1 - c\,\frac{N}{S}\Bigr),

    at most w. The first is Stein's factor, and what the mean probability of log-odds of variance
    k N around it asks for besides. It takes rows for as long in all directions. The second is for
    rows that lie along few, those of the signal, where much less of the noise counts: z is by how
    much the square of ``w - w_0`` exceeds what noise alone makes it, in standard deviations of the
    noise in its product with a direction (0 if it does not); without a signal the variance of that
    is 2. The least factor f is that at which noise costs 4 % of the log-loss of equal frequencies
    even if there is no signal: the loss is ``f^2 N / 8`` for two classes.

    No prediction is changed, as a solution that did not start at an earlier model is shortened as a
    whole, with the log-odds of the classes (``w_0 = 0`` above). All of it follows from released
    numbers.

    Parameters
    ----------
    problem : Problem
        With a loss whose scores are log-odds.
    w, course
        See :func:`towards_start`.

    References
    ----------
    MacKay (1992), "The evidence framework applied to classification networks", for the mean
    probability.
    """
    start, k = problem.start(), max(2, problem.loss.n_scores)
    # Log-odds are differences of two scores where each class has one.
    scores = 1 if problem.loss.n_scores == 1 else 2
    curvature, length = tuned.WHOLE * (1 - 1 / k) / k, typical_length(problem)
    if problem.loss.log_means:
        # Few are so large that they are clipped, and their mean is known.
        curvature = tuned.WHOLE_OF_COUNTS * float(curvatures_at_start(problem)[0]) / 4
    moments, of_noise = moments_and_noise(problem, course, length=length, whole=curvature)
    noise, variance = scores * float(moments @ of_noise), score_size(problem, w) ** 2
    if not noise > 0:
        return w
    kept = max(0.0, 1 - tuned.NOISE_RATIO * noise / variance) if variance > 0 else 0.0
    if problem.loss.log_means:
        least = sqrt(2 * tuned.PRICE / noise)
    else:
        kept /= sqrt(1 + pi / 8 * kept * noise)
        bend = 1 / 8 if scores == 1 else (1 - 1 / k) / 4
        least = sqrt(tuned.PRICE * log(k) / (bend * noise))
    # Drawn to log-odds of the classes alone, few rows of the rarer one would ever be predicted;
    # shortened as a whole, a later factor for the scale undoes what was too much.
    of_classes = problem.loss.log_odds and not start[:-1].any()
    origin = np.zeros_like(start) if of_classes else start
    kept = max(kept, _along_few_directions(w - start, course), least)
    return origin + min(1.0, kept) * (w - origin)


def _along_few_directions(move: np.ndarray, course: Course) -> float:
    """Share of a move to keep if all of its signal is where rows lie, in [0, 1)."""
    # Without curvature, which is not known there.
    noise = float(course.variance(np.zeros(1))[0])
    square = float(np.sum(move**2))
    if not square > 0:
        return 0.0
    # Ratios, because a square of them need not be a number where rows are extremely short.
    ratio = noise / square
    excess = max(0.0, 1 - move.size * ratio)
    return excess**2 / (excess**2 + 2 * tuned.NOISE_RATIO * ratio) if excess > 0 else 0.0


def score_size(problem: Problem, w: np.ndarray) -> float:
    """Root mean square of the log-odds that a solution adds to its start, for a typical row.

    All directions of rows count alike.

    Parameters
    ----------
    problem : Problem
        Public bounds, and the start.
    w : ndarray
        The solution.
    """
    move = (w - problem.start()).reshape(problem.n_rows, -1)
    scores = 1 if move.shape[1] == 1 else 2
    return typical_length(problem) * sqrt(scores * float(np.sum(move**2)) / move.size)


def typical_length(problem: Problem) -> float:
    """Length of a typical row with its intercept entry.

    Parameters
    ----------
    problem : Problem
        Public bounds.
    """
    row_map = problem.bounds.row_map
    if row_map is None or row_map.typical is None:
        return problem.row_norm
    return hypot(row_map.typical, problem.bounds.intercept_value)


def moments_and_noise(
    problem: Problem, course: Course, *, length: float, whole: float
) -> tuple[np.ndarray, np.ndarray]:
    """Second moments of rows along each coordinate, and the variance of a solution's noise there.

    Parameters
    ----------
    problem : Problem
        Public bounds.
    course : Course
        How descent came to the solution.
    length : float
        Length of a typical row, which counts where second moments are not known.
    whole : float
        Share of rows whose gradients are left whole; the others have no curvature.
    """
    row_map = problem.bounds.row_map
    moments = np.full(problem.n_rows, length**2 / problem.n_rows)
    if row_map is not None and row_map.moments is not None:
        moments[: problem.n_features] = row_map.moments
    curvatures = whole * moments + problem.strong_convexity
    sizes, where = np.unique(_rounded(curvatures), return_inverse=True)
    return moments, course.variance(sizes)[where]


def direction_of_constant(problem: Problem, row_map: RowMap) -> tuple[np.ndarray, float]:
    """Unit vector along the model that is 1 for all rows, and its length; zeros without one.

    Parameters
    ----------
    problem : Problem
        In private coordinates.
    row_map : RowMap
        The coordinates.
    """
    k = problem.loss.n_scores
    constant = problem.from_user_coordinates(np.zeros((row_map.scale.size, k)), np.ones(k))
    along = constant.reshape(problem.n_rows, k)[:, 0]
    length = float(np.linalg.norm(along))
    return (along / length, length) if length > 0 else (along, 0.0)


def _rounded(curvatures: np.ndarray) -> np.ndarray:
    """Curvatures to a share of the largest, so that few of them differ."""
    largest = float(curvatures.max(initial=0.0))
    return np.ceil(curvatures / largest * _SIZES) / _SIZES * largest if largest > 0 else curvatures
