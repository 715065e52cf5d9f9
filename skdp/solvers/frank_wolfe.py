"""Frank-Wolfe: feasible without projections, a vertex at a time."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, isinf, log, sqrt
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from ..privacy.accounting.calculus import Calculus, GaussianDP, ZeroConcentratedDP
from ..problem.axis_vertices import AxisVertices
from ..problem.problem import Problem
from ..validation import interval, shown
from .base import Solution, name_of
from .defaults import FrankWolfe as tuned
from .online_frank_wolfe import (
    OnlineFrankWolfe,
    default_radius,
    in_default_ball,
    words_on_radius,
)

if TYPE_CHECKING:
    from ..privacy.adjacency import Adjacency
    from ..privacy.oracle import Oracle


@dataclass(frozen=True)
class FrankWolfe(OnlineFrankWolfe):
    r"""A step towards the extreme point that looks best, again and again.

    .. math:: v_t \approx \arg\min_{v \in W} \langle \nabla F(w_t), v \rangle, \qquad
              w_{t+1} = (1 - \gamma_t) w_t + \gamma_t v_t

    W is the constraint if it is bounded. Where there is none, W is an l2 ball of radius
    ``3 sqrt(d) / data_norm``, or for an l1 penalty an l1 ball, which is enough to
    run and is warned of: the radius decides how far it gets.

    Under :class:`skdp.problem.constraints.L1Ball` and :class:`skdp.problem.constraints.Simplex`
    each step touches one coefficient, so that w has at most ``steps`` of them that are not zero,
    and only the number of the vertex need be released: it is chosen by Gumbel noise
    (:class:`skdp.privacy.queries.selection.VertexQuery`), which grows with the logarithm of the
    number of features. Single entries of rows and derivatives are clipped for it. The intercept,
    which no constraint binds, takes a damped Newton step before
    each choice, along a noisy mean of the derivatives that costs 5 % of the budget. Under other
    bounded sets, and where few features make entries as large as rows, noisy gradients are
    released, averaged and minimised over exactly. With K scores a row the set holds all d K
    coefficients at once.

    Gumbel noise it is if ``entry sqrt(log(2 d K) / 2) < 0.3``. On equal budgets, with derivatives
    of at most c and rows of at most R, the best of 2 d K noisy scores is off by about
    ``2 c entry R log(2 d K) / (n mu)`` under Gumbel noise and by
    ``2 c R sqrt(2 log(2 d K)) / (n mu)`` under Gaussian noise, of which averaging leaves about 0.3.

    A lasso (squared loss with an l1 penalty alpha, without a constraint) is solved in the ball that
    holds its solution: with targets in [-1, 1] the objective at zero is at most 1/2, so
    ``||w*||_1 <= 1 / (2 alpha)``, or in the default ball where alpha is so weak that this is
    smaller, and zero is one of the points to go to. The ridge part of a
    penalty enters by its gradient.

    Started at zero, w is blown up rather: ``w_{t+1} = w_t + v_t / T``, which follows the solutions
    in smaller sets. Where that would move a score by more than 1/2 over the smoothness of the loss,
    steps are shorter and w stays inside. Simplices and warm starts take the classical steps, of
    ``1 / (t + 1)`` and with much to spend ``2 / (t + 2)``. Beyond mu = 2 averaging and clips fade.

    On sparse rows a step costs their stored entries, whatever the number of features: scores
    change by the entries of one column, and a choice takes about ``2 sqrt(2 d K)`` random numbers.

    Under an l1 ball it mostly does better than projected or mirror descent in the same ball, least
    so with few features and little budget. It does not work where many coefficients matter a
    little: on text it stays far behind 'dual_averaging' without a ball, and of rare classes it
    learns next to nothing. The radius decides how far it gets, and no default is right for all.
    docs/how_to/choosing_a_solver.md has figures.

    Parameters
    ----------
    batch : int, optional
        Rows of a stream between two updates; see :class:`OnlineFrankWolfe`.
    stream_clip : float, optional
        Bound on the vector of a row of a stream, as for ``online_frank_wolfe``.
    noise : {'auto', 'gumbel', 'gaussian'}, default='auto'
        Whether vertices are chosen or gradients, of a stream their sums, are released.
    mechanism : {'blt', 'toeplitz', 'tree'}, default='blt'
        How the Gaussian noise of the running sums of a stream is correlated.
    steps : int, optional
        Number of steps T for a data set. By default what balances ``s^2 / T``, s being how far a
        step can move a score, against the noise; fewer if the noise would hide what 15 % of the
        rows agree on.
    clip : float, optional
        Bound on the derivative of the loss of a row of full norm, that is, on a row's gradient in
        units of ``row_norm * max_weight``. Where vertices are chosen it bounds the largest entry
        of the derivative, of shorter rows as well. 0.1 by default, more with much evidence.
    entry : float, optional
        Bound on entries of rows where vertices are chosen, in units of ``data_norm``, in (0, 1].
        By default 0.07 for sparse rows of more than a thousand features, ``2 / sqrt(d)`` for
        others, and more beyond mu = 2. Entries beyond it count as the bound when a vertex is
        chosen; the scores of rows are what they are.

    References
    ----------
    Frank and Wolfe (1956), Jaggi (2013); Talwar, Thakurta and Zhang (2015) for private choices of
    vertices; Raff, Khanna and Lu (2023) for steps that cost what is stored; Han et al. (online,
    2022) for streams.

    Examples
    --------
    >>> from skdp import DPLogisticRegression
    >>> from skdp.problem.constraints import L1Ball
    >>> model = DPLogisticRegression(solver="frank_wolfe", constraint=L1Ball(30.0))
    """

    hyperparameters: ClassVar[dict[str, list[Any]]] = {
        "entry": [None, interval(1e-50, 1, "right")],
        **OnlineFrankWolfe.OF_STREAMS,
    }

    steps: int | None = None
    clip: float | None = None
    entry: float | None = None

    calculus: ClassVar[Calculus] = ZeroConcentratedDP()
    selects: ClassVar[bool] = True
    bounded_streams: ClassVar[bool] = True

    def refuse(self, problem: Problem) -> None:
        name, problem = type(self).__name__, in_default_ball(problem)
        vertices = axis_vertices_of(problem)
        if problem.bounds.row_map is not None or not problem.penalty.separable:
            raise ValueError(
                f"{name} needs the user's coordinates, in which its set has vertices, got others. "
                "Pass precondition=None."
            )
        if vertices is None and isinf(problem.diameter):
            raise ValueError(
                f"{name} needs a bounded constraint, such as L1Ball(10.0), got "
                f"{shown(problem.constraint)}. Use the solver 'gd'."
            )
        if isinf(problem.loss.smoothness):
            raise ValueError(
                f"{name} needs a smooth loss, got {name_of(problem.loss)}. Use the solver 'gd'."
            )
        if vertices is None and problem.penalty.l1 > 0:
            raise ValueError(
                f"{name} needs an L1Ball or a Simplex to go with an l1 penalty, got "
                f"{shown(problem.constraint)}. Use the solver 'gd'."
            )
        if vertices is None and self.noise == "gumbel":
            raise ValueError(
                f"{name} needs an L1Ball or a Simplex to choose vertices of, got "
                f"{shown(problem.constraint)}. Leave noise out."
            )

    def calculus_for(
        self, problem: Problem, epsilon: float, delta: float, adjacency: Adjacency
    ) -> Calculus:
        """Exact for Gaussian noise, zero-concentrated for choices."""
        chooses = self._chooses(in_default_ball(problem))
        return ZeroConcentratedDP() if chooses else GaussianDP()

    def assumption(self, problem: Problem) -> str | None:
        """A sentence on the ball that stands in for a constraint."""
        return words_on_radius(problem)

    def solve(self, problem: Problem, oracle: Oracle, rng: np.random.Generator) -> Solution:
        self.check(problem)
        problem = in_default_ball(problem)
        vertices, plan = axis_vertices_of(problem), self._step_plan(problem, oracle.budget.mu)
        if vertices is not None and self._chooses(problem):
            return _by_vertices(problem, oracle, vertices, plan)
        return _by_gradients(problem, oracle, vertices, plan)

    def _step_plan(self, problem: Problem, mu: float) -> StepPlan:
        growth = max(1.0, mu / 2)
        clip = _clip_for(problem, mu)
        if self.clip is not None:
            clip = min(problem.loss.lipschitz, self.clip)
        entry = _entry_for(problem, growth) if self.entry is None else self.entry
        vertices, reach = axis_vertices_of(problem), problem.row_norm * problem.diameter / 2
        if vertices is not None:
            reach = entry * problem.bounds.data_norm * vertices.radius
        steps = steps_for(problem, mu, reach, clip) if self.steps is None else self.steps
        return StepPlan(
            steps, clip, entry, growth, tuned.STRIDE / (problem.loss.smoothness * reach)
        )

    def _chooses(self, problem: Problem) -> bool:
        """True if vertices are chosen by Gumbel noise, by facts that hold before bounds are known.

        See the docstring of the class for the rule.
        """
        vertices = axis_vertices_of(problem)
        if vertices is None or self.noise == "gaussian":
            return False
        p = problem.n_features * problem.loss.n_scores
        entry = _entry_for(problem, 1.0) if self.entry is None else self.entry
        return self.noise == "gumbel" or entry * sqrt(log(2 * p) / 2) < tuned.AVERAGED_NOISE


@dataclass(frozen=True)
class StepPlan:
    """Number and length of the steps, and the bounds on derivatives and entries."""

    #: Number of steps.
    steps: int
    #: Bound on the derivative of the loss of a row.
    clip: float
    #: Bound on entries of rows, in units of ``data_norm``.
    entry: float
    #: How much more than at ordinary budgets there is to spend; 1 or more.
    growth: float
    #: Most of the way from zero to a vertex that a single step should go.
    stride: float

    def lengths(self, t: int, start: np.ndarray, *, warm: bool) -> tuple[float, float]:
        """Factor of w in step t = 0, 1, ..., and factor of the vertex that is added to it.

        From zero w is the sum of vertices over T, so that it grows through the solutions in smaller
        sets (forward stagewise; Rosset, Zhu and Hastie, 2004). Few steps to the end of a wide set
        would overshoot and take each other back; they are cut short, and w stays inside. With much
        to spend, or from elsewhere, it is the classical step: a mean of all vertices that tends to
        ``2 / (t + 2)``. A ``warm`` start counts as one of the vertices.
        """
        if not start.any():
            return 1.0, min(1 / self.steps, self.stride)
        weight = 2 - 1 / self.growth
        length = weight / (t + warm + weight)
        return 1 - length, length


def steps_for(problem: Problem, mu: float, reach: float, clip: float) -> int:
    """Number of steps that balances the optimisation error against the noise of each step.

    After T steps the objective is ``L s^2 / T`` from its minimum, with L the smoothness of the loss
    (at most 1/4 is counted) and s the most that a score moves along the way (``reach``), but for
    noise of ``s clip sqrt(T) log(2 p) / (n mu)``: both are as large at
    ``T = (L s n mu / (clip log(2 p)))**(2/3)``. No more, though, than leave noise on scores of
    ``2 clip entry sqrt(T) log(2 p) / (n mu)`` below what 15 % of the rows can make of them,
    ``0.15 clip entry``.

    Parameters
    ----------
    problem : Problem
        Loss and sizes.
    mu : float
        Gaussian-DP parameter of the budget.
    reach : float
        Most that a score moves from one end of the set to its middle.
    clip : float
        Bound on derivatives.
    """
    plenty = _evidence(problem, mu)
    curved = min(problem.loss.smoothness, tuned.CURVATURE_OF_RESIDUALS) * reach
    balanced = tuned.STEPS_A_SIGNAL * (curved * plenty / clip) ** (2 / 3)
    return ceil(min(tuned.MOST_STEPS, balanced, (tuned.AGREEING_SHARE * plenty / 2) ** 2))


def _evidence(problem: Problem, mu: float) -> float:
    """Rows times mu, over the logarithm of the number of vertices to go to."""
    p = problem.n_features * problem.loss.n_scores
    return problem.n_samples * mu / log(2 * p + 1)


def _clip_for(problem: Problem, mu: float) -> float:
    """Bound on derivatives: their signs with little evidence, their sizes with much."""
    # Clipped at all, means of counts would be too small.
    if problem.loss.log_means:
        return problem.loss.lipschitz
    if problem.bounds.target is not None:
        # The signs of residuals say nearly as much as their sizes.
        return min(tuned.CLIP * max(1.0, mu / 2), problem.loss.lipschitz)
    more = max(1.0, _evidence(problem, mu) / tuned.CLIP_EVIDENCE)
    clip = max(tuned.CLIP * (sqrt(more) if problem.wide else more), tuned.CLIP * mu / 2)
    return min(clip, problem.loss.lipschitz)


def _entry_for(problem: Problem, growth: float) -> float:
    """Bound on entries of rows that costs little signal, in units of ``data_norm``.

    For the growth see :class:`StepPlan`.
    """
    usual = tuned.ENTRY_OF_TEXT if problem.wide else tuned.ENTRY / sqrt(problem.n_features)
    return min(1.0, usual * growth)


def axis_vertices_of(problem: Problem) -> AxisVertices | None:
    """The set of signed coordinates that a problem is about, or None.

    Besides an l1 ball and a simplex it is the ball that holds the solution of a lasso.

    Parameters
    ----------
    problem : Problem
        With its constraint and penalty.
    """
    constraint, l1 = problem.constraint, problem.penalty.l1
    if constraint.axis_vertices:
        return AxisVertices.of(constraint, penalised=l1 > 0)
    lasso = problem.loss.squared and problem.bounds.target is not None and l1 > 0
    if lasso and constraint.cone and constraint.separable:
        return AxisVertices(default_radius(problem), constraint.whole_space, True)
    return None


def _by_vertices(
    problem: Problem, oracle: Oracle, vertices: AxisVertices, plan: StepPlan
) -> Solution:
    """Go to vertices that are chosen by Gumbel noise, for the whole budget of the oracle."""
    d, constant, loss = problem.n_features, problem.bounds.intercept_value, problem.loss
    share = tuned.INTERCEPT_SHARE if constant else 0.0
    parts = [share, 1 - share] if constant else [1.0]
    oracle.note(planned=plan.steps)
    spends = oracle.budget.split([part / plan.steps for part in parts] * plan.steps)
    entry = plan.entry * problem.bounds.data_norm
    slope_clip = min(loss.lipschitz, max(tuned.LARGEST_SLOPE, plan.clip))
    penalty = _Penalty.of(problem, plan.clip)
    w, shrunk = _start(problem, vertices), 1.0
    start, warm = w[:d].copy(), problem.initial is not None and bool(w[:d].any())
    for t in range(plan.steps):
        if constant:
            slope = oracle.intercept_gradient(
                w, spend=spends[2 * t], clip=slope_clip, shrunk=shrunk
            )
            w[-1] -= slope.value.reshape(w[-1:].shape)[0] / (loss.smoothness * constant)
            shrunk = 1.0
        index = oracle.vertex(
            w,
            clip=plan.clip,
            entry=entry,
            two_sided=vertices.two_sided,
            spend=spends[len(parts) * (t + 1) - 1],
            known=penalty.scores(w[:d], vertices),
            shrunk=shrunk,
        )
        shrunk, length = plan.lengths(t, start, warm=warm)
        w[:d] *= shrunk
        j, value = vertices.point(index, w[:d].shape)
        w[:d].reshape(-1)[j] += length * value
    return Solution(w, n_iter=plan.steps)


def _by_gradients(
    problem: Problem, oracle: Oracle, vertices: AxisVertices | None, plan: StepPlan
) -> Solution:
    """Go to minimisers of noisy gradients, averaged as long as there is noise.

    The whole budget of the oracle is spent. Without ``vertices`` at signed coordinates, they are
    those of the constraint.
    """
    d, constant = problem.n_features, problem.bounds.intercept_value
    scale = problem.row_norm * problem.max_weight
    penalty = _Penalty.of(problem, plan.clip)
    w = _start(problem, vertices)
    start, warm = w[:d].copy(), problem.initial is not None and bool(w[:d].any())
    mean = np.zeros_like(w)
    oracle.note(planned=plan.steps)
    for t, spend in enumerate(oracle.budget.split(plan.steps)):
        g = oracle.gradient(w, spend=spend, clip_norm=plan.clip * scale)
        if constant:
            curvature = problem.loss.smoothness * problem.max_weight * constant**2
            w[-1] -= g[-1] / curvature
        kept = (1 - 2 / (t + 2)) / plan.growth
        mean = kept * mean + (1 - kept) * g
        slopes = mean[:d] + penalty.ridge * w[:d]
        shrunk, length = plan.lengths(t, start, warm=warm)
        w[:d] *= shrunk
        if vertices is None:
            w[:d] += length * problem.constraint.linear_minimizer(slopes)
        else:
            best = int(vertices.scores(slopes, penalty.l1).argmax())
            j, value = vertices.point(best, slopes.shape)
            w[:d].reshape(-1)[j] += length * value
    return Solution(w, n_iter=plan.steps)


@dataclass(frozen=True)
class _Penalty:
    """``ridge / 2 ||w||^2 + l1 ||w||_1``, scaled down as clipping scales the loss."""

    ridge: float
    l1: float
    heaviest: float

    @classmethod
    def of(cls, problem: Problem, clip: float) -> _Penalty:
        weight, ridge = problem.kept_by(clip), problem.penalty.strong_convexity
        return cls(weight * ridge, weight * problem.penalty.l1, problem.max_weight)

    def scores(self, w: np.ndarray, vertices: AxisVertices) -> np.ndarray | None:
        """Part of the scores of vertices that the penalty adds, in the units of the oracle."""
        if self.ridge == 0 and not vertices.zero:
            return None
        return vertices.scores(self.ridge * w, self.l1) / self.heaviest


def _start(problem: Problem, vertices: AxisVertices | None) -> np.ndarray:
    """The public start, brought to the set if that is smaller than the constraint says."""
    w = problem.start()
    if vertices is not None:
        d = problem.n_features
        size = float(np.abs(w[:d]).sum())
        if size > vertices.radius:
            w[:d] *= vertices.radius / size
    return w
