"""Noisy gradient descent for quantiles, at the pace of the densities there."""

from __future__ import annotations

from dataclasses import dataclass
from math import pi, sqrt
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from scipy.special import ndtr, ndtri

from ..problem.problem import Problem
from ..validation import count
from .base import Solution, Solver, name_of
from .defaults import QuantileGD as tuned
from .descent import TailMean
from .shrinkage import Course, moments_and_noise

if TYPE_CHECKING:
    from ..privacy.accounting.ledger import Budget, Spend
    from ..privacy.oracle import Oracle


@dataclass(frozen=True)
class QuantileGD(Solver):
    r"""Noisy gradient descent on the pinball loss, each quantile at the pace of its density.

    .. math:: w_k \leftarrow w_k - \frac{\eta}{f_k}\, g_k, \qquad
              g_k = \frac1n \sum_i \omega_i\, ([y_i < z_{ik}] - q_k)\, x_i + N(0, \sigma^2 I)

    The pinball loss has no curvature of its own. In white coordinates that of its mean is about the
    density f of the residuals at the quantile, which follows from noisy shares of rows below
    shifted scores; their noise does not grow with the features. Intercepts are found by halving
    intervals by such shares, those of constant quantiles at the start, and once more at the end, so
    that the share of rows below each quantile is right even where noise hides the slopes.

    The weight ``omega`` of a row depends on its features alone. One noisy answer serves all
    quantiles, whose derivatives are short together where scores are in order (see
    :class:`skdp.problem.losses.Pinball`). Later gradients get more of the budget. The answer is the
    mean of the last iterates, moved towards parallel quantiles, and these towards constant ones, as
    far as noise explains the distance.

    Made for coordinates in which second moments are about 1. In the user's, steps are longer and
    have momentum, and directions of little variance are learned slowly.

    Parameters
    ----------
    rounds : int, default=5
        Number of times that densities are looked at.
    steps : int, optional
        Number of gradients in each round; by default 8 in private coordinates and 32 in others.
    average : float, default=0.5
        Share of the last iterates that are averaged, in [0, 1]; 0 returns the last one.

    References
    ----------
    Koenker and Bassett (1978), "Regression quantiles", Econometrica 46(1).

    Examples
    --------
    >>> from skdp.solvers import QuantileGD
    >>> QuantileGD(steps=10).get_params()["steps"]
    10
    """

    hyperparameters: ClassVar[dict[str, list[Any]]] = {
        "rounds": [count()],
    }

    rounds: int = 5
    steps: int | None = None
    average: float = 0.5

    whitened: ClassVar[bool] = True

    def refuse(self, problem: Problem) -> None:
        if not problem.loss.quantiles:
            raise ValueError(
                "QuantileGD needs the pinball loss, which is least at quantiles, got "
                f"{name_of(problem.loss)}. Use the solver 'auto'."
            )

    def solve(self, problem: Problem, oracle: Oracle, rng: np.random.Generator) -> Solution:
        self.check(problem)
        row_map, p, budget = problem.bounds.row_map, problem.n_rows, oracle.budget
        lipschitz, evidence = problem.loss.weighed_from, problem.n_samples * budget.mu
        length, curvature = problem.row_norm, problem.row_norm**2
        longest, momentum, stride, steps = (
            length,
            tuned.MOMENTUM,
            tuned.STRIDE,
            tuned.MORE_STEPS_A_ROUND,
        )
        if row_map is not None:
            length = min(length, sqrt(p) if row_map.typical is None else row_map.typical)
            curvature, momentum, stride, steps = min(curvature, 1.0), 0.0, 1.0, tuned.STEPS_A_ROUND
            # Noise of a coefficient over the error of sampling, at most.
            ratio = (
                2 * lipschitz * length * sqrt(problem.n_samples) / (tuned.NOISE_RATIO * evidence)
            )
            longest = length * max(tuned.ROW_LENGTH, min(tuned.MOST_ROW_LENGTH, 1 / ratio))
        steps = steps if self.steps is None else self.steps
        total, clip_norm = self.rounds * steps, lipschitz * longest
        # Rows that are long in other coordinates are weighed down, and not shortened.
        oracle = oracle.for_problem(problem.unshortened)
        oracle.note(planned=total)

        share = min(
            tuned.MOST_INTERCEPT_SHARE,
            max(tuned.LEAST_INTERCEPT_SHARE, tuned.INTERCEPT_SHARE / evidence),
        )
        shares = SharesBelow(problem, oracle)
        # Scores and targets are between -1 and 1 but for a few.
        everywhere = np.full(problem.loss.n_scores, 2.0)
        # Of targets that are spread evenly over their bounds, which is all that is known.
        even = 2 * np.array(problem.loss.quantiles) - 1 if problem.initial is None else 0.0
        start, density = shares.settled(
            problem.start(), budget.fraction(share), everywhere, tuned.HALVINGS, centre=even
        )
        look = budget.fraction(share / max(1, self.rounds - 1))
        growth = np.repeat(np.geomspace(1.0, tuned.LAST_ROUND, self.rounds), steps)
        # At the start, in the rounds and at the end, if there is an intercept to ask about.
        asked = (3 if self.rounds > 1 else 2) if shares.one.any() else 0
        spends = budget.fraction(1 - asked * share).split(growth / growth.sum())
        paces = (
            np.geomspace(
                tuned.FIRST_STEP,
                tuned.LAST_STEP if shares.one.any() else tuned.LAST_STEP_UNKNOWN,
                total,
            )
            * stride
        )
        # Beyond this total step length noise, not data, would lengthen w.
        afforded = tuned.SCORE_NOISE * evidence * sqrt(curvature / p) / (2 * clip_norm)
        paces *= (1 - momentum) * min(1.0, afforded / float(paces.sum())) / curvature

        w, pace, tail = start, np.zeros_like(start), TailMean(total, self.average)
        scales: list[float] = []
        for t, spend in enumerate(spends):
            if t and t % steps == 0:
                w, density = shares.settled(w, look, 1 / density, tuned.FEWER_HALVINGS)
            g = oracle.gradient(w, spend=spend, clip_norm=clip_norm)
            if t < total * tuned.TOGETHER_SHARE and g.ndim == 2:
                # Quantiles that are parallel: one model, with the curvature of all of them.
                g = density * g.sum(axis=1, keepdims=True) / density.sum()
            pace = momentum * pace - paces[t] * g / density
            before, w = w, problem.project(_prox(problem, w + pace, paces[t] / density))
            pace = w - before
            tail.add(w)
            scales.append(oracle.gradient_scale(spend=spend, clip_norm=clip_norm))
        course = Course(paces.tolist(), momentum, scales, self.average)
        moments, noise = moments_and_noise(problem, course, length=length, whole=1.0)
        first, mean, one = (v.reshape(len(v), -1) for v in (start, tail.value(), shares.one))
        w = _shrunk(first, mean, one, density, moments, noise).reshape(problem.shape)
        w, _ = shares.settled(w, budget.fraction(share), everywhere, tuned.HALVINGS)
        return Solution(w, n_iter=total)


class SharesBelow:
    """Noisy shares of rows whose targets are below shifted scores, less the quantiles.

    Parameters
    ----------
    problem : Problem
        Loss and coordinates.
    oracle : Oracle
        Answers queries about the rows.
    """

    def __init__(self, problem: Problem, oracle: Oracle) -> None:
        K, row_map = problem.loss.n_scores, problem.bounds.row_map
        d = problem.n_features if row_map is None else row_map.scale.size
        # The model that is 1 for all rows; zero if there is no intercept.
        self.one = problem.from_user_coordinates(np.zeros((d, K)), np.ones(K))
        self._oracle, self._clip = oracle, problem.loss.weighed_from
        self._q = np.array(problem.loss.quantiles)

    def _below(
        self, w: np.ndarray, at: np.ndarray, centre: np.ndarray, spend: Spend
    ) -> tuple[np.ndarray, float]:
        """Shares below scores shifted by ``at``, less the quantiles, and their standard deviation.

        Drawn to those of targets that are spread evenly about a quantile at ``centre``, as far as
        noise explains the distance: where nothing is seen, quantiles are those of the bounds.
        """
        found = self._oracle.intercept_gradient(w + at * self.one, clip=self._clip, spend=spend)
        kept = 1 / (1 + found.scale**2 / tuned.VARIANCE_OF_SHARES)
        even = np.clip((at - centre) / 2, -self._q, 1 - self._q)
        return kept * found.value + (1 - kept) * even, sqrt(kept) * found.scale

    def settled(
        self,
        w: np.ndarray,
        budget: Budget,
        reach: np.ndarray,
        halvings: int,
        *,
        centre: np.ndarray | float = 0.0,
    ) -> tuple[np.ndarray, np.ndarray]:
        """The model with intercepts at the quantiles, and the densities there.

        Intervals of ``reach`` to either side of the scores are halved so many times, and the last
        answer is about what is left. Quantiles are expected at ``centre`` from the scores. Without
        an intercept nothing is asked.
        """
        q, one, centre = self._q, self.one, np.broadcast_to(centre, self._q.shape)
        if not one.any():
            return w, np.full_like(q, tuned.UNKNOWN_DENSITY)
        parts = np.append(
            np.full(halvings, (1 - tuned.LAST_ANSWER_SHARE) / halvings), tuned.LAST_ANSWER_SHARE
        )
        *spends, last = budget.split(parts)
        low, high = -reach, reach
        places, found = [], []
        for spend in spends:
            at = (low + high) / 2
            share, scale = self._below(w, at, centre, spend)
            places.append(at)
            found.append(share)
            low, high = np.where(share < 0, at, low), np.where(share < 0, high, at)
        at, density = _density(q, np.array(places), np.array(found), scale, reach)
        share, _ = self._below(w, at, centre, last)
        most = tuned.LONGEST_CORRECTION / density
        return w + (at - np.clip(share / density, -most, most)) * one, density


def _density(
    q: np.ndarray, places: np.ndarray, shares: np.ndarray, scale: float, reach: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Quantiles, and densities there, of the normal distributions that shares suggest.

    Shares far from the quantile count for less, as no distribution is normal. Standard deviations
    of different quantiles are alike unless shares say otherwise.

    Parameters
    ----------
    q : ndarray of shape (K,)
        Quantiles.
    places, shares : ndarray of shape (m, K)
        Shares of rows below each place, less the quantile.
    scale : float
        Standard deviation of their noise.
    reach : ndarray of shape (K,)
        Half the interval in which quantiles lie.
    """
    scores = ndtri(q)
    spread = np.geomspace(reach.min() * tuned.LEAST_SPREAD, 2 * reach.max(), tuned.SPREADS)
    offset = np.linspace(-1.0, 1.0, tuned.OFFSETS)[:, None, None]
    width = spread[:, None, None, None]
    expected = ndtr(scores + (places - places[-1]) / width - offset) - q
    # Offsets between those that are tried are told apart by spreads that are too small, unless they
    # count for an error of shares.
    of_grid = 2 / (tuned.OFFSETS - 1) / sqrt(12 * 2 * pi)
    variance = scale**2 + (tuned.MISFIT * shares) ** 2 + of_grid**2
    cost = np.sum((shares - expected) ** 2 / variance, axis=2) / 2
    best = cost.min(axis=1)
    common = spread[best.sum(axis=1).argmin()]
    best += (np.log(spread / common)[:, None] / tuned.SPREAD_OF_DEVIATIONS) ** 2 / 2
    of, columns = best.argmin(axis=0), np.arange(len(q))
    found = spread[of]
    shift = offset[cost[of, :, columns].argmin(axis=1), 0, 0]
    return places[-1] + found * shift, np.exp(-(scores**2) / 2) / (sqrt(2 * pi) * found)


def _prox(problem: Problem, w: np.ndarray, steps: np.ndarray) -> np.ndarray:
    """Proximal operator of the penalty, with a step for each score."""
    columns = w.reshape(len(w), -1).T
    moved = [problem.prox(column, step) for column, step in zip(columns, steps, strict=True)]
    return np.column_stack(moved).reshape(w.shape)


def _shrunk(
    start: np.ndarray,
    w: np.ndarray,
    one: np.ndarray,
    density: np.ndarray,
    moments: np.ndarray,
    noise: np.ndarray,
) -> np.ndarray:
    """The solution, moved towards parallel quantiles, and these towards constant ones.

    As far as noise explains the distance, in the direction of the constant not at all. Of slopes
    whose noise has the variance ``noise / density^2`` the mean in proportion to ``density^2`` has
    the least; what they are apart from it tells of a spread that is not the same everywhere.

    Parameters
    ----------
    start, w, one : ndarray of shape (p, K)
        Constant quantiles, the solution, and the model that is 1 for all rows.
    density : ndarray of shape (K,)
        Densities at the quantiles.
    moments, noise : ndarray of shape (p,)
        Second moments of rows, and variance for a density of 1, along each coordinate.
    """
    along = one[:, 0] / (np.linalg.norm(one[:, 0]) or 1.0)
    move = w - start
    kept = np.outer(along, along @ move)
    slopes = move - kept
    precision = density**2
    mean = slopes @ precision / precision.sum()
    apart = slopes - mean[:, None]
    expected = float(moments @ noise - (moments * along) @ (noise * along))

    def share(square: float, times: int) -> float:
        return max(0.0, 1 - times * expected / square) if square > 0 else 1.0

    of_mean = share(float(precision.sum() * (moments @ mean**2)), 1)
    of_apart = share(float(moments @ apart**2 @ precision), len(density) - 1)
    return np.asarray(start + kept + of_mean * mean[:, None] + of_apart * apart)
