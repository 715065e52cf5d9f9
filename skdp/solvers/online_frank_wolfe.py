"""Frank-Wolfe on a stream: steps towards extreme points along a recursive gradient estimate."""

from __future__ import annotations

from abc import ABC
from dataclasses import dataclass, replace
from math import ceil, inf, isfinite, isinf, log, sqrt
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, ClassVar, final

import numpy as np
from sklearn.utils._param_validation import Interval

from ..privacy.accounting.calculus import Calculus, GaussianDP, ZeroConcentratedDP
from ..privacy.streams.stream_plan import StreamPlan, StreamRequest
from ..problem.axis_vertices import AxisVertices
from ..problem.constraints import L1Ball, L2Ball
from ..problem.problem import Problem
from ..validation import one_of
from .base import Solution
from .defaults import OnlineFrankWolfe as tuned
from .streaming import Learner, StreamingSolver

if TYPE_CHECKING:
    from ..privacy.adjacency import Adjacency


@dataclass(frozen=True)
class OnlineFrankWolfe(StreamingSolver, ABC):
    r"""Frank-Wolfe on a stream. A base of the solver, not one by itself.

    After batch i = 0, 1, ... of m rows, at the model w_i,

    .. math:: G_i = \sum_{j \le i} \sum_{r \in B_j} \mathrm{clip}\bigl( (j + 1) \nabla f_r(w_j)
              - j \nabla f_r(w_{j-1}) \bigr) + \text{noise}, \qquad
              v_i = \arg\min_{v \in W} \langle G_i, v \rangle, \qquad
              w_{i+1} = w_i + \eta_i (v_i - w_i), \quad \eta_i = \frac{1}{i + 1}.

    ``G_i / ((i + 1) m)`` follows the gradient at w_i: what earlier rows said of other models
    is corrected by how their successors see the change. A row's vector is bounded because models
    change by ``||w_j - w_{j-1}|| <= D / j``, D being the diameter, so that its norm is at most
    ``L + beta D`` for an L-Lipschitz and beta-smooth loss; but the bound is enforced by clipping
    the vector as a whole, and privacy depends neither on these constants nor on the steps.

    On balls the running sums are released with correlated Gaussian noise and minimised over
    exactly. On an l1 ball or a simplex a vertex may instead be chosen by Gumbel noise from exact
    sums, with noise of the same scale at all steps. Which of the two has less noise follows from
    public facts: that of sums grows with the root of the number of features where entries of rows
    are bounded one by one, that of choices with the root of the number of steps.

    The intercept, which is not constrained, takes a damped Newton step along what its entry of G_i
    has beyond the noise, with the same eta_i. The penalty has to be smooth; its gradient is added
    without noise. With either of them, sums are released.

    A stream that goes on from another, or from an initial model, estimates the gradient anew, with
    j counted from its own start, and steps as if the model that it begins with came from as many
    updates as are to come; zero counts as half as many where no constraint is given. Steps are then
    shorter than ``1 / (j + 1)``, so the argument for the bound holds.

    Parameters
    ----------
    batch : int, optional
        Rows of a stream between two updates; by default a hundredth of the stream, or a thirtieth
        where vertices are chosen. With 1 every row makes a model, as published.
    stream_clip : float, optional
        Bound on the vector that a row adds, which weighs gradients at two points, in units of
        ``row_norm * max_weight``. 0.5 by default for log-odds and 0.25 for other losses, twice
        that where no constraint is given, which is far below ``L + beta D``; what it distorts is
        less than the noise that it saves.
    noise : {'auto', 'gumbel', 'gaussian'}, default='auto'
        Whether vertices are chosen or sums are released.
    mechanism : {'blt', 'toeplitz', 'tree'}, default='blt'
        How the Gaussian noise of the running sums of a stream is correlated.

    References
    ----------
    Han, Liang, Wang and Zhang (2022); Denisov et al. (2022) and Dvijotham et al. (2024) for the
    noise of running sums; Cesar and Rogers (2021) for the price of choices.
    """

    OF_STREAMS: ClassVar[dict[str, list[Any]]] = {
        "batch": [None, Interval(Integral, 1, None, closed="left")],
        "stream_clip": [None, Interval(Real, 1e-50, 1e50, closed="neither")],
        "noise": [one_of("auto", "gumbel", "gaussian")],
        "mechanism": [one_of("blt", "toeplitz", "tree")],
    }

    batch: int | None = None
    stream_clip: float | None = None
    noise: str = "auto"
    mechanism: str = "blt"

    @final
    def check_stream(self, problem: Problem) -> None:
        """Refuse problems that the streaming rule cannot take."""
        name, problem = type(self).__name__, in_default_ball(problem)
        if not isfinite(problem.diameter):
            raise ValueError(
                f"{name} needs a bounded constraint, got {type(problem.constraint).__name__}; "
                "pass a ball, a box or a simplex, or use the solver 'ftrl'."
            )
        if _smooth_penalty(problem) is None:
            raise ValueError(
                f"{name} needs a smooth penalty for streams, got "
                f"{type(problem.penalty).__name__}; use a ridge penalty, none, or 'ftrl'."
            )
        if self.noise == "gumbel" and not _choosable(problem):
            raise ValueError(
                f"{name} needs an l1 ball or a simplex, no intercept and no penalty for a stream "
                "with noise='gumbel'. Leave noise out."
            )

    @final
    def calculus_for_stream(
        self, problem: Problem, epsilon: float, delta: float, adjacency: Adjacency
    ) -> Calculus:
        """Exact for running sums, zero-concentrated where vertices may be chosen."""
        del epsilon, delta, adjacency
        sums = self.noise == "gaussian" or not _choosable(problem)
        return GaussianDP() if sums else ZeroConcentratedDP()

    @final
    def plan(self, problem: Problem, mu: float) -> StreamPlan:
        """Number of updates, bound and mechanism."""
        del mu
        wider = tuned.WIDER_CLIP if problem.constraint.whole_space else 1.0
        problem = in_default_ball(problem)
        clip = self.stream_clip
        if clip is None:
            of_family = {"logistic": tuned.CLIP_OF_LOG_ODDS, "counts": 1.0}
            clip = wider * of_family.get(problem.loss.family, tuned.CLIP)
        n, chosen = problem.n_samples, self.noise == "gumbel"
        of_choices = self.batch or ceil(n / tuned.ROUNDS_OF_CHOICES)
        if self.noise == "auto":
            chosen = _choices_pay(problem, ceil(n / of_choices))
        rows = of_choices if chosen else self.batch or ceil(n / tuned.ROUNDS_OF_SUMS)
        mechanism = StreamPlan.GUMBEL if chosen else self.mechanism
        return StreamPlan(ceil(n / rows), clip, mechanism, rows)

    @final
    def learner(
        self, problem: Problem, plan: StreamPlan, deviation: float, before: Learner | None
    ) -> Learner:
        """Two models, the last two, and a count."""
        return _Stepping(problem, plan, deviation, before)


class _Stepping(Learner):
    """See :class:`OnlineFrankWolfe`."""

    def __init__(
        self, problem: Problem, plan: StreamPlan, deviation: float, before: Learner | None
    ) -> None:
        self._problem = in_default_ball(problem)
        self._plan, self._deviation = plan, deviation
        self._unit = plan.clip * problem.row_norm * problem.max_weight
        self._steps = self._taken = 0
        self.solution = Solution(self._problem.start(), 0)
        if problem.constraint.whole_space:
            self._taken = ceil(tuned.WEIGHT_OF_ZERO * plan.releases)
        if before is not None:
            w = self._problem.project(before.solution.w)
            self.solution = Solution(w, before.solution.n_iter)
        if before is not None or problem.initial is not None:
            # What there is counts as much as what is to come; in parts it rests on as many rows.
            self._taken = plan.releases
        self._before = self.solution.w

    def request(self) -> StreamRequest:
        """The recursive term, from the last two models."""
        n, k = self._problem.n_samples, self._steps
        rows, before = self._plan.end(k + 1, n) - self._plan.end(k, n), self._before if k else None
        return StreamRequest(rows, self.solution.w, before, k)

    def learn(self, answer: np.ndarray) -> None:
        """One step towards an extreme point."""
        problem, w, d = self._problem, self.solution.w, self._problem.n_features
        self._steps += 1
        self._taken += 1
        target = w.copy()
        if self._plan.chooses_vertices:
            j, value = AxisVertices.of(problem.constraint).point(int(answer[0]), w[:d].shape)
            target[:d] = 0.0
            target[:d].reshape(-1)[j] = value
        else:
            of_batch = self._plan.end(1, problem.n_samples)
            scale = self._unit / (self._steps * of_batch)
            slope = answer * scale
            penalty = _smooth_penalty(problem)
            assert penalty is not None
            target[:d] = problem.constraint.linear_minimizer(slope[:d] + penalty * w[:d])
            # What noise alone may bring about is no reason to move an intercept, which no
            # constraint brings back; and no mean of bounded entries is larger than the bound.
            least = tuned.VISIBLE_SLOPE * self._deviation * scale
            steep = np.clip(np.abs(slope[d:]) - least, 0.0, self._unit)
            target[d:] -= np.copysign(steep, slope[d:]) / self._curvature
        self._before = w
        self.solution = Solution(w + (target - w) / self._taken, self.solution.n_iter + 1)

    @property
    def _curvature(self) -> float:
        """Upper bound on the curvature of the loss along an intercept."""
        problem = self._problem
        smoothness = 1.0 if isinf(problem.loss.smoothness) else problem.loss.smoothness
        return smoothness * problem.max_weight * problem.bounds.intercept_value**2


def default_radius(problem: Problem) -> float:
    """Radius of the ball that stands in where nothing bounds the coefficients.

    ``3 sqrt(d K) / data_norm`` for d features and K scores a row: public, and in units of bounded
    targets for a regression. That of a lasso is no larger than what holds its solution: with
    targets in [-1, 1] the objective at zero is at most 1/2, so ``alpha ||w*||_1 <= 1/2``.
    """
    root = sqrt(problem.n_features * problem.loss.n_scores)
    usual = tuned.RADIUS * root / problem.bounds.data_norm
    return min(usual, _radius_of_lasso(problem))


def _radius_of_lasso(problem: Problem) -> float:
    """Radius of an l1 ball that holds the solution; infinite if that is no lasso's."""
    l1 = problem.penalty.l1
    lasso = problem.loss.squared and problem.bounds.target is not None and l1 > 0
    return 0.5 / l1 if lasso else inf


def in_default_ball(problem: Problem) -> Problem:
    """The problem within the default ball, or as it is if it has a constraint.

    It is an l2 ball, or an l1 ball to go with an l1 penalty.

    Parameters
    ----------
    problem : Problem
        With its constraint and penalty.
    """
    if not problem.constraint.whole_space:
        return problem
    kind = L1Ball if problem.penalty.l1 > 0 else L2Ball
    return replace(problem, constraint=kind(default_radius(problem)))


def words_on_radius(problem: Problem) -> str | None:
    """A sentence on the default ball, where it takes the place of a constraint; else None."""
    held = default_radius(problem) >= _radius_of_lasso(problem)
    if held or not problem.constraint.whole_space:
        return None
    return (
        "'frank_wolfe' needs a bounded set and was given none, so it keeps coefficients in a ball "
        f"of radius {tuned.RADIUS:g} sqrt(n_features) / data_norm, which decides how well it fits. "
        "Pass a constraint such as L2Ball(radius), or use the solver 'gd', which needs none."
    )


def _smooth_penalty(problem: Problem) -> float | None:
    """Its strength as a ridge penalty; None if it is of another kind."""
    penalty = problem.penalty
    return penalty.strong_convexity if penalty.isotropic else None


def _choosable(problem: Problem) -> bool:
    bare = not problem.bounds.intercept_value and _smooth_penalty(problem) == 0.0
    return bare and problem.constraint.axis_vertices


def _choices_pay(problem: Problem, updates: int) -> bool:
    """True if chosen vertices have less noise than minimising over noisy sums.

    A row of l2 norm R and entries of at most e, at a derivative of 1: for the same budget, sums
    have noise of ``2 R c`` an entry over mu, c being the error of the mechanism, whose maximum over
    the vertices is ``sqrt(2 log v)`` times that; choices have Gumbel noise of scale
    ``2 e sqrt(updates)`` over mu, with a maximum of ``log v`` times that. Measured, choices have to
    be three times better by this count, since what a bound on entries cuts off is more.
    """
    if not _choosable(problem):
        return False
    own = problem.bounds.feature_bound
    entry = problem.row_norm if own is None else min(own, problem.row_norm)
    vertices = log(max(3, 2 * problem.n_features * problem.loss.n_scores))
    of_sums = problem.row_norm * tuned.ERROR_OF_SUMS * sqrt(2.0 * vertices)
    return tuned.LOSS_OF_CHOICES * entry * sqrt(updates) * vertices < of_sums
