"""A run of distributed dual averaging: what it asks, and how far it goes."""

from __future__ import annotations

from math import ceil, isinf, sqrt
from typing import TYPE_CHECKING

import numpy as np

from ..gossip import Round
from ..gossip.masks import exposure, exposure_of_all_pairs
from ..problem import Problem
from ..sites import Sites
from .base import Solution
from .dual_nodes import DualNodes
from .rules import descent_rule

if TYPE_CHECKING:
    from ..privacy.oracle import Oracle
    from .dda import DDA

__all__ = ["Run"]

# Norm of the noise in the answer, in units of the inverse of the row norm.
_NOISE = 8.0
# Of losses that are not smooth; in units of row_norm**2 max_weight.
_CURVATURE = 0.25
# Steps are a quarter of what heavy-ball momentum takes without diverging.
_STABLE = 0.5
# Heavy-ball momentum. More of it lags behind steps that a penalty makes shorter and shorter.
_MOMENTUM = 0.9


class Run:
    """Asks and learns, round by round.

    Parameters
    ----------
    solver : DDA
        Hyperparameters.
    problem : Problem
        What is to be solved.
    sites : Sites
        Where rows lie.
    schedule : list of Round
        Who is active when.
    growth : float
        By how much the budget is beyond one that promises something, at least 1.
    oracle : Oracle
        Answers about the problem.
    """

    def __init__(
        self,
        solver: DDA,
        problem: Problem,
        sites: Sites,
        schedule: list[Round],
        growth: float,
        oracle: Oracle,
    ) -> None:
        self._solver, self._problem, self._sites = solver, problem, sites
        self._schedule, self._oracle, self._trust = schedule, oracle, solver.trust
        clip = solver.clip
        if clip is None:
            clip = problem.loss.lipschitz
            if isinf(clip):
                clip = descent_rule(problem, oracle.budget.mu).clip
        clip = min(clip, problem.loss.lipschitz)
        lipschitz = problem.loss.lipschitz
        # Clipping a bounded derivative shrinks the loss to about this share of itself.
        self._weight_of_penalty = 1.0 if isinf(lipschitz) else clip / lipschitz
        self._clip = clip * problem.row_norm * problem.max_weight
        momentum = solver.momentum
        self._momentum = _MOMENTUM if momentum is None else momentum
        active = np.concatenate([r.active for r in schedule])
        self._counts = np.bincount(active, minlength=sites.n_sites)
        self._participation = active.size / len(schedule) / sites.n_sites
        self._budget = oracle.budget

    def by_gossip(self) -> Solution:
        """Messages are published, and each site has a model of its own."""
        solver, sites = self._solver, self._sites
        nodes = DualNodes(self._problem, sites.n_sites, self._momentum)
        iota, gamma = self._participation, self._gamma(self._participation)
        tail = _Tail(solver.average, len(self._schedule), self._problem.shape)
        whole = 0.0
        for t, r in enumerate(self._schedule, start=1):
            a = float(t) if solver.weights == "linear" else 1.0
            whole += a
            W = nodes.look(r.active, self._penalty(iota * whole), gamma * t**solver.gamma_growth)
            tail.add(W.mean(axis=0), a)
            nodes.learn(r.active, self._messages(r, W), a, r.mixing, solver.gossip_steps)
        everyone = np.arange(sites.n_sites)
        last = nodes.look(
            everyone, self._penalty(iota * whole), gamma * (t + 1) ** solver.gamma_growth
        )
        return Solution(tail.mean(last.mean(axis=0)), n_iter=len(self._schedule))

    def by_sums(self) -> Solution:
        """Sums of messages are published, and all sites have one model."""
        solver, sites = self._solver, self._sites
        model = DualNodes(self._problem, 1, self._momentum)
        gamma, one = self._gamma(1.0), np.zeros(1, dtype=np.intp)
        tail = _Tail(solver.average, len(self._schedule), self._problem.shape)
        whole = 0.0
        for t, r in enumerate(self._schedule, start=1):
            a = float(t) if solver.weights == "linear" else 1.0
            whole += a
            w = model.look(one, self._penalty(whole), gamma * t**solver.gamma_growth)
            tail.add(w[0], a)
            W = np.broadcast_to(w, (r.active.size, *w.shape[1:]))
            # From the sum of messages to the mean gradient of the rows of the active sites.
            rows = sites.sizes[r.active].sum() * sites.n_sites / self._problem.n_samples
            model.z += a / rows * self._messages(r, W)
        last = model.look(one, self._penalty(whole), gamma * (t + 1) ** solver.gamma_growth)
        return Solution(tail.mean(last[0]), n_iter=len(self._schedule))

    def _messages(self, r: Round, W: np.ndarray) -> np.ndarray:
        oracle, counts = self._oracle, self._counts
        if self._solver.subsampling is not None:
            return oracle.sampled_site_gradients(self._sites, r.active, W, clip=self._clip)
        # Where noise is of many sites, they all pay the same.
        paid = counts.max()
        shares = np.ones(r.active.size)
        if self._trust[0] == "local":
            paid = counts[counts > 0].min()
            shares = paid / counts[r.active]
        return oracle.site_gradients(
            self._sites,
            r.active,
            W,
            spend=self._budget.split(int(paid))[0],
            shares=shares,
            clip=self._clip,
            trust=self._trust,
            edges=r.edges if self._trust[0] == "pairwise" else None,
        )

    def _penalty(self, weight: float) -> float:
        return self._weight_of_penalty * weight

    def _gamma(self, participation: float) -> float:
        """Weight of the distance to the start, that of the whole way divided by its length."""
        solver, problem = self._solver, self._problem
        if solver.gamma is not None:
            return solver.gamma
        rounds = len(self._schedule)
        unit = problem.row_norm**2 * problem.max_weight
        horizon = solver.horizon
        if horizon is None:
            afforded = _NOISE * problem.row_norm * problem.max_weight
            afforded /= self._noise_of_mean() * sqrt(problem.n_rows)
            smoothness = problem.loss.smoothness
            curvature = _CURVATURE if isinf(smoothness) else smoothness
            beta = self._momentum
            sweeps = rounds * self._participation
            stable = _STABLE * sweeps * (1 + beta) / (1 - beta) / curvature
            horizon = min(afforded, stable)
        linear = solver.weights == "linear"
        whole = rounds * (rounds + 1) / 2 if linear else float(rounds)
        gamma = participation * whole * unit / horizon
        return gamma / rounds**solver.gamma_growth

    def _noise_of_mean(self) -> float:
        """Standard deviation of the noise in the mean of all gradients of the run."""
        oracle, sites, counts = self._oracle, self._sites, self._counts
        releases = int(counts.sum())
        source, colluders, ratio = self._trust
        n_active = releases / len(self._schedule)
        if self._solver.subsampling is not None:
            scale = oracle.sampled_site_gradient_scale(sites, clip=self._clip)
            return scale / sqrt(releases)
        often = max(1, round(float(counts[counts > 0].mean())))
        spend = self._budget.split(often)[0]
        scale = oracle.gradient_scale(spend=spend, clip=self._clip)
        if self._solver.summed:
            honest = (n_active - colluders) / n_active
            return scale / self._participation / sqrt(len(self._schedule) * honest)
        if source == "pairwise":
            first = self._schedule[0]
            edges = first.edges
            if edges is None:
                scale *= sqrt(exposure_of_all_pairs(max(1, round(n_active) - colluders), ratio))
            else:
                place = np.searchsorted(first.active, edges)
                scale *= sqrt(exposure(first.active.size, place, ratio, colluders))
        return scale * sites.n_sites / sqrt(releases)


class _Tail:
    """The weighted mean of the last of a known number of vectors."""

    def __init__(self, share: float, count: int, shape: tuple[int, ...]) -> None:
        self._skipped = count - ceil(share * count)
        self._sum, self._weight = np.zeros(shape), 0.0

    def add(self, w: np.ndarray, weight: float) -> None:
        if self._skipped > 0:
            self._skipped -= 1
            return
        self._sum += weight * w
        self._weight += weight

    def mean(self, last: np.ndarray) -> np.ndarray:
        """What was found, or else the last one."""
        return self._sum / self._weight if self._weight else last
