"""Noisy selection of features and a private fit on those alone, for sparse regression."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import ceil, sqrt
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from ..privacy.accounting.calculus import Calculus, GaussianDP, ZeroConcentratedDP
from ..problem.bounds import RowBounds
from ..problem.constraints import Unconstrained
from ..problem.penalties import NoPenalty
from ..problem.problem import Problem
from ..validation import count, interval, shown
from .base import Solution, Solver
from .defaults import Screening as tuned
from .gd import GD
from .preconditioning.iterative_whitening import IterativeWhitening
from .preconditioning.target_mean import share_of_mean, with_target_mean
from .tracked_gd import TrackedGD

if TYPE_CHECKING:
    from ..privacy.adjacency import Adjacency
    from ..privacy.oracle import Oracle

# The fit works with matrices of this size.
_MOST_SELECTED = 1000
_CENTRES = np.linspace(-2, 2, 4001)
_SIZES = np.geomspace(2.0**-14, 2.0, 31)
# Value of a constant column, in units of the bound on rows, that adds nothing to their norm.
_HARDLY = 1e-3
# Standard deviation of a Gumbel variable.
_GUMBEL_SD = 1.2825
# Steps of the descent that applies a penalty to what was fitted, and the move at which it ends.
_STEPS, _CLOSE = 5000, 1e-12


@dataclass(frozen=True)
class Screening(Solver):
    r"""Select a few features by noisy correlations, fit on them, select some more, fit again.

    Noise in all d directions drowns a sparse signal. Choosing k features costs noise that grows
    with log(d) only, and a fit on k features is free of the noise in the others. In each round

    1. the median of the residuals, and then a quantile c of their sizes, are found privately;
    2. the features j outside the selection with the largest
       :math:`|\sum_i [x_{ij}]_{-b}^{b} [r_i]_{-c}^{c}|` join it. A small c costs little noise,
       while the signs of the residuals tell nearly as much as the residuals. The answer has Gumbel
       noise (:class:`skdp.privacy.queries.selection.SelectionQuery`) or, where no good bound b on
       single entries is known, Gaussian noise on the whole vector of sums;
    3. the coefficients of the selected features are fitted anew by
       :class:`skdp.solvers.preconditioning.IterativeWhitening` and
       :class:`skdp.solvers.TrackedGD`, with rows cut to these features and hence as short as
       ``b sqrt(k)``, from a noisy mean of the targets where that is cheap.

    Penalty and constraint are applied last, without further cost, to the quadratic function whose
    minimum is the fit and whose curvature is the moment matrix that the looks have released. If
    all features can be selected there is no selection, and the noise is Gaussian alone; nor if
    there are up to ``4 k`` and n mu is below 100, too little for looks. Where looks would tell too
    little, :class:`skdp.solvers.GD` fits the features, from the starting point or, without one,
    the mean; else a starting point is not used.

    It does badly where many features matter a little.

    Parameters
    ----------
    k : int, optional
        How many features are selected in all. By default ``0.6 sqrt(n mu)``, at most 1000.
    rounds : int, default=2
        Number of selections, each followed by a fit.
    share : float, default=0.5
        Share of the budget for selecting, in (0, 1); the rest goes to the fits.

    References
    ----------
    Durfee and Rogers (2019) for choosing k at once.

    Examples
    --------
    >>> from skdp.solvers import Screening
    >>> Screening(k=20).get_params()["k"]
    20
    """

    hyperparameters: ClassVar[dict[str, list[Any]]] = {
        "k": [None, count()],
        "rounds": [count()],
        "share": [interval(0, 1, "neither")],
    }

    k: int | None = None
    rounds: int = 2
    share: float = 0.5

    calculus: ClassVar[Calculus] = ZeroConcentratedDP()
    selects: ClassVar[bool] = True
    preconditions: ClassVar[bool] = True

    def refuse(self, problem: Problem) -> None:
        name = type(problem.loss).__name__
        if problem.loss.vector_targets:
            raise ValueError(
                "Screening needs one target a row, whose features it selects, got "
                f"{problem.loss.n_scores}. Fit one target at a time, each with a part of the "
                "budget, or use the solver 'gd'."
            )
        if not problem.loss.squared:
            raise ValueError(f"Screening needs the squared loss, got {name}. Use the solver 'gd'.")
        box = problem.constraint
        if not box.separable or box.start((1,)).any():
            raise ValueError(
                "Screening needs a constraint on each coefficient alone that allows zero, such as "
                f"NonNegative(), or none, got {shown(box)}. Use the solver 'gd'."
            )
        if problem.bounds.scaling is not None:
            raise ValueError(
                "Screening needs features in the user's units, of which it fits some alone, got "
                "data_bounds, which bring each to a scale of its own. Pass data_norm in place of "
                "them, put BoundsScaler in front of the model, or use the solver 'tracked_gd'."
            )
        penalty = problem.penalty
        if problem.bounds.row_map is not None or (penalty.quadratic and not penalty.separable):
            raise ValueError(
                "Screening needs the user's features, which it selects, got rows in other "
                "coordinates. Pass precondition=None."
            )

    def calculus_for(
        self, problem: Problem, epsilon: float, delta: float, adjacency: Adjacency
    ) -> Calculus:
        """Exact for Gaussian noise if no budget would select features, else zero-concentrated.

        It must not depend on the budget, which searches derive from it. By default 6 features are
        never selected from: n mu of 100 or more is enough for all of them, and with less they are
        few.
        """
        all_fit = (tuned.ALWAYS_ALL if self.k is None else self.k) >= problem.n_features
        return GaussianDP() if all_fit else ZeroConcentratedDP()

    def solve(self, problem: Problem, oracle: Oracle, rng: np.random.Generator) -> Solution:
        self.check(problem)
        budget, d = oracle.budget, problem.n_features
        evidence, k = problem.n_samples * budget.mu, self.k
        if k is None:
            k = 2 * ceil(tuned.SELECTED * sqrt(evidence))
        k = min(k, d, _MOST_SELECTED)
        if evidence < IterativeWhitening().least and d <= tuned.FEW_FEATURES * k:
            return _descended(problem, oracle, rng)
        if k == d:
            return self._fitted(problem, oracle, rng, np.arange(d))
        selected, w, n_iter = np.arange(0), np.zeros(problem.n_rows), 0
        rounds = min(self.rounds, k)
        ends = [ceil(k * (t + 1) / rounds) for t in range(rounds)]
        for end in ends:
            part = oracle.within(budget.fraction(self.share / rounds))
            more = _more_features(problem, part, w, selected, end - selected.size)
            selected = np.sort(np.append(selected, more))
            fit = oracle if end == k else oracle.within(budget.fraction((1 - self.share) / rounds))
            solution = self._fitted(problem, fit, rng, selected)
            w, n_iter = solution.w, n_iter + solution.n_iter
        return Solution(w, n_iter)

    @staticmethod
    def _fitted(
        problem: Problem, oracle: Oracle, rng: np.random.Generator, selected: np.ndarray
    ) -> Solution:
        """The fit on some features alone, as a w of the whole problem."""
        k, constant = selected.size, problem.bounds.intercept_value
        penalised = _restricted(problem, selected)
        plain = replace(penalised, penalty=NoPenalty(), constraint=Unconstrained())
        whitening = IterativeWhitening()
        if whitening.acts(plain, oracle.budget.mu, known=False):
            plain = _from_target_mean(plain, oracle, conditioned=True)
        oracle.note("coordinates of the features")
        conditioned = whitening.prepare(plain, oracle.for_problem(plain), rng)
        row_map = conditioned.bounds.row_map
        oracle.note("coefficients")
        if row_map is None:
            solution = _descended(penalised, oracle.for_problem(penalised), rng)
        else:
            solution = TrackedGD().solve(conditioned, oracle.for_problem(conditioned), rng)
        v = solution.w
        if row_map is not None:
            matrix = row_map.jacobian()
            if constant:
                last = -row_map.shift / plain.bounds.intercept_value
                matrix = np.vstack([matrix, last])
            v = minimise_model(penalised, matrix @ v, matrix)
        w = np.zeros(problem.n_rows)
        w[selected] = v[:k]
        if constant:
            w[-1] = plain.bounds.intercept_value / constant * v[-1]
        return Solution(w, solution.n_iter)


def _descended(problem: Problem, oracle: Oracle, rng: np.random.Generator) -> Solution:
    """Descent without looks, from the mean of the targets, which meets the penalty on the way."""
    problem = _from_target_mean(problem, oracle, conditioned=False)
    oracle.note("coefficients")
    return GD().solve(problem, oracle.for_problem(problem), rng)


def _from_target_mean(problem: Problem, oracle: Oracle, *, conditioned: bool) -> Problem:
    """The problem with a start at the mean of the targets, where it is worth asking for.

    Gradients of rows that are long in private coordinates, as those of rare categories, are cut so
    short that their coefficients would not come back from what the way from the middle of the
    bounds to the mean makes of them.
    """
    if problem.initial is not None or not problem.bounds.intercept_value:
        return problem
    share = share_of_mean(problem, oracle.budget.mu, conditioned=conditioned)
    if not share:
        return problem
    oracle.note("mean of the targets")
    return with_target_mean(problem, oracle, share)


def _restricted(problem: Problem, selected: np.ndarray) -> Problem:
    """The problem on some features alone."""
    bounds, k = problem.bounds, selected.size
    norm = bounds.data_norm
    if bounds.feature_bound is not None:
        norm = min(norm, bounds.feature_bound * sqrt(k))
    all_of_them = k == problem.n_features and not problem.sparse
    return replace(
        problem,
        n_features=k,
        sparse=False,
        initial=None,
        bounds=RowBounds(
            norm,
            bounds.intercept_value / bounds.data_norm * norm,
            bounds.target,
            columns=None if all_of_them else tuple(selected.tolist()),
        ),
    )


def _more_features(
    problem: Problem, oracle: Oracle, w: np.ndarray, selected: np.ndarray, k: int
) -> np.ndarray:
    """Features beside the selected ones that go along with the residuals at w."""
    oracle.note("choice of the features")
    oracle, budget = oracle.for_problem(problem), oracle.budget
    constant, signed = problem.bounds.intercept_value, _rises_only(problem)
    if constant:
        # Residuals on one side would select the features with the largest means.
        spend = budget.fraction(tuned.CENTRE_SHARE).whole()
        centre = oracle.residual_quantile(w, _CENTRES, 0.5, sizes=False, spend=spend)
        w = w.copy()
        w[-1] += centre / constant
    candidates = np.setdiff1d(np.arange(problem.n_features), selected)
    share = 1 - (1 - tuned.QUANTILE) / max(1.0, budget.mu / 2)
    spend = budget.fraction(tuned.SIZE_SHARE).whole()
    bounds = problem.bounds
    entry = bounds.data_norm / sqrt(2)
    if bounds.feature_bound is not None:
        entry = min(entry, bounds.feature_bound)
    if _GUMBEL_SD * entry * sqrt(k) <= bounds.data_norm:
        clip = oracle.residual_quantile(w, _SIZES, share, sizes=True, spend=spend)
        rest = oracle.budget.whole()
        return oracle.select(w, candidates, k, clip=clip, spend=rest, signed=signed)
    if constant:
        # Nearly the same rows and the same residuals, without an intercept to spend noise on.
        small = _HARDLY * bounds.data_norm
        asked = replace(problem, bounds=replace(bounds, intercept_value=small))
        oracle = oracle.for_problem(asked)
        w[-1] *= constant / small
    # Gradients are rows times residuals, and few reach the clip if rows are shorter than they may.
    edges = bounds.data_norm * _SIZES
    counts = np.cumsum(oracle.gradient_sizes(w, edges, spend=spend).value)[:-1]
    enough = np.flatnonzero(counts >= share * problem.n_samples)
    clip_norm = float(edges[enough[0] if enough.size else -1])
    scores = -oracle.gradient(w, clip_norm=clip_norm, spend=oracle.budget.whole())[candidates]
    if not signed:
        scores = np.abs(scores)
    return candidates[np.argsort(-scores, kind="stable")[:k]]


def _rises_only(problem: Problem) -> bool:
    """True if no coefficient may be negative."""
    return not problem.constraint.project(-np.ones(1)).any()


def minimise_model(problem: Problem, fitted: np.ndarray, whitening: np.ndarray) -> np.ndarray:
    r"""The minimum of a quadratic loss around a fit, with the problem's penalty and constraint.

    .. math:: \min_w \tfrac12 (w - \hat w)^\top (M M^\top)^{-1} (w - \hat w) + r(w), \quad w \in C

    With squared loss this is the penalised problem itself if :math:`\hat w` is its minimum without
    penalty and :math:`M^\top \Sigma M = I` for the rows' second moment. It uses only what has been
    released, so it costs nothing. Accelerated proximal gradient with restarts (O'Donoghue and
    Candes, 2015; Beck and Teboulle, 2009).

    Parameters
    ----------
    problem : Problem
        With a penalty and a constraint on each coefficient alone.
    fitted : ndarray of shape (p,)
        Minimum of the loss.
    whitening : ndarray of shape (p, p)
        M, such that rows times M are white.

    Returns
    -------
    ndarray of shape (p,)
        Feasible; the fit itself if there is neither penalty nor constraint.
    """
    inverse = np.linalg.inv(whitening)
    moments = inverse.T @ inverse
    step = 1.0 / float(np.linalg.norm(moments, 2))

    def improved(v: np.ndarray) -> np.ndarray:
        return problem.project(problem.prox(v - step * (moments @ (v - fitted)), step))

    w = improved(fitted)
    ahead, pace = w, 1.0
    for _ in range(_STEPS):
        moved = improved(ahead)
        change = moved - w
        if float(np.abs(change).max()) <= _CLOSE * float(np.abs(fitted).max()):
            return moved
        if float((ahead - moved) @ change) > 0:
            ahead, pace = w, 1.0
            continue
        faster = (1 + np.sqrt(1 + 4 * pace**2)) / 2
        ahead, pace, w = moved + (pace - 1) / faster * change, faster, moved
    return w
