"""Accelerated mirror descent with noisy gradients, in the geometry of the feasible set."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, isinf, sqrt
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from ..problem.mirror_maps import Euclidean, MirrorMap, choose_mirror_map
from ..problem.problem import Problem
from ..validation import interval, one_of
from .base import Solution, Solver, name_of
from .defaults import ACCMD as tuned
from .descent_rules import DescentRule, descent_rule, largest_step

if TYPE_CHECKING:
    from ..privacy.oracle import Oracle

# Accelerated steps are stable up to 4 / (3 L), heavy-ball steps at momentum 0.9 up to 3.8 / L.
_STABLE = 0.35


@dataclass(frozen=True)
class AccMD(Solver):
    r"""Accelerated mirror descent: T noisy full gradients in a geometry that fits the constraint.

    .. math:: x_{k+1} &= r_k z_k + (1 - r_k) y_k, \qquad
              g_{k+1} = \nabla F(x_{k+1}) + N(0, \sigma^2 I) \\
              z_{k+1} &= \arg\min_z \Bigl\{\psi(z)
              + \sum_{j \le k+1} \alpha_j \langle g_j, z \rangle + A_{k+1} r(z)\Bigr\} \\
              y_{k+1} &= r_k z_{k+1} + (1 - r_k) y_k,
              \qquad r_k = \frac{2}{k + 2}, \quad \alpha_{k+1} = \frac{\gamma}{r_k}

    with A the sum of the alpha, and y after T steps as the answer. psi is 1-strongly convex in a
    norm that fits the set (see :mod:`skdp.problem.mirror_maps`): entropy on the l1 ball and the
    simplex, a p-norm on l_p balls, ``||z||^2 / 2`` elsewhere. Noise enters the error only by its
    size in the dual norm. On the l1 ball that is its largest entry, so that the error grows with
    the logarithm of the number of features where that of ``gd`` grows with its root.

    The algorithm as printed computes y from the exact gradient and returns it, so its answer is
    not private: after one step it is a deterministic function of the data. Here one noisy gradient
    a step serves both z and y, and nothing else is asked. With y a mean of the z, every iterate is
    feasible and the accelerated rate stays.

    Works for smooth convex losses and every constraint. A ridge enters through its gradient, other
    penalties by their proximal maps in the Euclidean geometry.

    When it does not work: acceleration buys steps, not budget. Where noise and not the number of
    steps limits the fit, that is at most budgets, it is level with ``gd`` unless the geometry
    helps; and that takes many features, a solution of small l1 norm, and rows whose l2 norm does
    not grow with the number of features. Non-smooth losses are declined.

    Parameters
    ----------
    steps : int, optional
        Number of gradients T.
    total_step_size : float, optional
        Sum of the alpha, in units of ``1 / (row_norm**2 * max_weight)``. By default three
        times what balances the reach of the set against the noise in the dual norm; in the
        Euclidean geometry at most the total step size of ``gd``; at most what stable steps can
        cover.
    clip : float, optional
        Bound on the derivative of the loss of a row of full norm, that is, on a row's gradient in
        units of ``row_norm * max_weight``, as for ``gd``.
    radius : float, optional
        Public guess at the l2 distance of the solution from the start, from which the total step
        size follows in the Euclidean geometry. It sets the size of steps and bounds nothing.
    geometry : {'auto', 'euclidean'}, default='auto'
        ``'auto'`` takes the geometry of the least error bound for the set and the number of
        features; there is a choice for l1 balls, simplices and l_p balls with p < 2 only.

    References
    ----------
    Wang, Ye and Xu (2017), algorithm 3, made private; Lan (2012) for the accelerated stochastic
    method that results, and its steps.

    Examples
    --------
    >>> from skdp.solvers import AccMD
    >>> AccMD(steps=50).get_params()["steps"]
    50
    """

    hyperparameters: ClassVar[dict[str, list[Any]]] = {
        "radius": [None, interval(0, None, "neither")],
        "geometry": [one_of("auto", "euclidean")],
    }

    steps: int | None = None
    total_step_size: float | None = None
    clip: float | None = None
    radius: float | None = None
    geometry: str = "auto"

    def refuse(self, problem: Problem) -> None:
        loss = problem.loss
        if isinf(loss.smoothness) or not loss.convex:
            raise ValueError(
                f"AccMD needs a smooth convex loss, got {name_of(loss)}. Use the solver 'gd'."
            )

    def solve(self, problem: Problem, oracle: Oracle, rng: np.random.Generator) -> Solution:
        self.check(problem)
        budget = oracle.budget
        rule = descent_rule(problem, budget.mu, steps=self.steps, clip=self.clip)
        scale = problem.row_norm * problem.max_weight
        clip_norm, unit = rule.clip * scale, 1 / (problem.row_norm * scale)
        # Of the mean of all gradients together.
        noise = oracle.gradient_scale(spend=budget.whole(), clip_norm=clip_norm)
        mirror = _mirror_map(problem, self.geometry)
        total_step_size = self._total_step_size(problem, mirror, rule, budget.mu, noise * unit)
        rate = 4 * total_step_size / (rule.steps * (rule.steps + 3)) * unit
        # The total step size is 0 in double precision where the set is hardly more than a point.
        slow = min(1.0, rule.total_step_size / total_step_size) if total_step_size else 1.0
        space = _DualSpace(problem, mirror, problem.kept_by(rule.clip), slow)

        y = z = problem.start()
        dual, total = space.dual(z), 0.0
        oracle.note(planned=rule.steps)
        for k, spend in enumerate(budget.split(rule.steps)):
            r = 2 / (k + 2)
            x = r * z + (1 - r) * y
            g = oracle.gradient(x, spend=spend, clip_norm=clip_norm, label_blind=rule.label_blind)
            total += rate / r
            dual -= rate / r * space.with_penalty(g, x)
            z = space.primal(dual, total)
            y = r * z + (1 - r) * y
        return Solution(y, n_iter=rule.steps)

    def _total_step_size(
        self, problem: Problem, mirror: MirrorMap, rule: DescentRule, mu: float, noise: float
    ) -> float:
        r"""The error is at most ``V / H + H W^2 noise^2`` for the reach V and the width W.

        With steps that grow linearly to a sum of H, noise in the dual norm adds
        ``sum alpha^2 E||xi||_*^2 / H``, which is of that order whatever T, as each of T gradients
        bears T times the variance of all together.
        """
        if self.total_step_size is not None:
            return self.total_step_size
        entries = problem.n_features * problem.loss.n_scores
        reach = mirror.reach(entries)
        if self.radius is not None and isinstance(mirror, Euclidean):
            reach = min(reach, 0.5 * self.radius * self.radius)
        best = (
            tuned.BEYOND_BOUND * sqrt(reach) / (noise * mirror.width(entries))
            if reach < inf
            else inf
        )
        if isinstance(mirror, Euclidean) and self.radius is None:
            best = min(best, rule.total_step_size)
        largest = largest_step(problem, mu, rule.clip)
        return min(best, _STABLE * largest * rule.steps * (rule.steps + 3) / 4)


@dataclass(frozen=True)
class _DualSpace:
    """Maps between weights and their duals, with the penalty and the intercept.

    The intercept is not constrained: its geometry is Euclidean, with steps ``slow`` times as long,
    because a long total step size that a small set can bear is too long for what is not bounded.
    """

    problem: Problem
    mirror: MirrorMap
    weight: float
    slow: float

    def dual(self, w: np.ndarray) -> np.ndarray:
        d = self.problem.n_features
        if isinstance(self.mirror, Euclidean):
            return w.copy()
        return np.concatenate([self.mirror.dual(w[:d]), w[d:] / self.slow])

    def primal(self, dual: np.ndarray, total: float) -> np.ndarray:
        if isinstance(self.mirror, Euclidean):
            return self.problem.project(self.problem.prox(dual, total * self.weight))
        d = self.problem.n_features
        return np.concatenate([self.mirror.primal(dual[:d]), self.slow * dual[d:]])

    def with_penalty(self, g: np.ndarray, x: np.ndarray) -> np.ndarray:
        """The gradient with that of a ridge at x, unless the penalty enters by its prox."""
        if not isinstance(self.mirror, Euclidean):
            d = self.problem.n_features
            g[:d] += self.weight * self.problem.strong_convexity * x[:d]
        return g


def _mirror_map(problem: Problem, geometry: str) -> MirrorMap:
    penalty = problem.penalty
    ridge = penalty.separable and not (penalty.selects or penalty.l1)
    if geometry == "euclidean" or not ridge:
        return Euclidean(problem.constraint)
    return choose_mirror_map(problem.constraint, problem.n_features * problem.loss.n_scores)
