"""Shrink a noisy solution towards where it started, by as much as noise explains the distance."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil
from typing import NamedTuple

import numpy as np

from ..problem.bounds import RowMap
from ..problem.problem import Problem

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
        n = len(self.steps)
        kept = max(1, ceil(self.average * n))
        # What the mean gains by a change of the iterate, and of the move that led to it.
        of_iterate, of_move, total = (np.zeros(len(curvatures)) for _ in range(3))
        for k in reversed(range(n)):
            if k >= n - kept:
                of_iterate += 1 / kept
            of_move += of_iterate
            total += (self.steps[k] * self.scales[k] * of_move) ** 2
            of_iterate -= self.steps[k] * curvatures * of_move
            of_move *= self.momentum
        return total


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
    targets does not hide noise in slopes. In the user's, descent starts at the mean of the targets
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
    return start + (kept + factor * rest).reshape(w.shape)


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
