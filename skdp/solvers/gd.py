"""Noisy full-batch gradient descent with heavy-ball momentum."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from math import sqrt
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from ..privacy.accounting.calculus import Calculus
from ..problem.problem import Problem
from ..validation import interval, one_of
from . import schedules
from .base import Solution, name_of
from .defaults import GD as tuned
from .descent import Descent, clips_whole_units
from .descent_rules import DescentRule, DescentSolver, in_few_steps
from .minibatch_noise import reserve
from .shrinkage import Course, at_honest_scale, towards_start

if TYPE_CHECKING:
    from ..privacy.adjacency import Adjacency
    from ..privacy.oracle import Oracle


@dataclass(frozen=True)
class GD(DescentSolver):
    r"""Noisy gradient descent: T noisy full gradients, heavy-ball momentum, prox and projection.

    .. math:: w_{t+1} = \Pi\,\mathrm{prox}_{\eta r}\bigl(w_t - \eta g_t
              + \beta (w_t - w_{t-1})\bigr), \qquad g_t = \nabla F(w_t) + N(0, \sigma_t^2 I)

    The gradient of each row is clipped in closed form, which for a convex loss is the gradient of
    a convex Huberised loss. The answer is the mean of the last iterates. Momentum, step size, prox,
    projection and averaging are post-processing and cost nothing.

    With even noise the noise accumulated over T steps of size eta depends on the *total step size*
    eta T only, so more and smaller steps cost nothing but time. By default there are as few as keep
    them stable. All defaults are functions of public facts
    (:func:`~skdp.solvers.descent_rules.descent_rule` and
    :func:`~skdp.solvers.descent_rules.in_few_steps`).

    With the default's steps a regression starts at a noisy mean of the targets, if the estimator
    asks for one, and the solution is taken back towards the start as far as noise explains it
    (:func:`skdp.solvers.shrinkage.towards_start`). Log-odds of classes are taken back likewise
    (:func:`skdp.solvers.shrinkage.at_honest_scale`).

    Works for every loss, smooth or not, every penalty and every constraint. Slow where the features
    are badly conditioned: directions of second moment below 1 / total step size are not learned.

    Parameters
    ----------
    steps : int, optional
        Number of gradients T; that of the shares if ``schedule`` is a tuple. By default 24 to 100
        for classes and 24 to 200 for residuals, the fewer the smaller the budget, and more at
        budgets beyond mu = 2. It is the largest of these where ``total_step_size``, ``momentum``,
        a schedule that is not even or a ``batch_size`` is given.
    clip : float, optional
        Bound on the derivative of the loss of a row of full norm, that is, on a row's gradient in
        units of ``row_norm * max_weight``; at least 1e-50. ``inf`` stands for the
        Lipschitz constant of the loss. In other coordinates a row of full norm is one of typical
        length, and gradients of longer rows are clipped all the same. Below it, the penalty is
        scaled down alike, so that clipping does not change the balance between loss and penalty.
    average : float, default=0.5
        Share of the last iterates that are averaged, in [0, 1]; 0 returns the last one.
    schedule : {'uniform', 'exponential', 'momentum'} or tuple of float, default='uniform'
        How mu^2 is shared between the steps (Hong, Wang and Zhou, 2022): evenly, by the influence
        ``decay**(T - t)`` of the noise of step t on the final loss, by its influence under
        momentum, or in proportion to the numbers given, one a step.
    decay : float, default=0.99
        Contraction gamma of the loss a step that the dynamic schedules assume, in (0, 1].
    batch_size : int, optional
        Rows that a gradient is taken over on average; None takes all. Needs dp-accounting.

    label_blind : bool, optional
        Whether rows are bounded by weights that do not depend on their labels, in place of a clip
        that does. It makes the solution of the hinge and logistic losses that of a weighted loss,
        which is nearer to the one without privacy where classes overlap; where one is rare and
        rows are few, or labels may be wrong for rows that are easy to tell, the clip is better. For
        losses of classes. By default, as in the other solvers by gradients, if ``clip`` is left
        out, classes are two and not weighed, rows are not sparse with many features, and n mu is
        10,000 or more.

    Notes
    -----
    *Minibatches.* With a ``batch_size`` this is private SGD, with a dynamic schedule that of Hong,
    Wang and Zhou. Each gradient is over a fresh secret sample, each row in it with probability
    ``batch_size / n``; who is drawn, and how many, is never released. All steps are reserved when
    the ledger opens, out of nine tenths of the budget. The other tenth is for what is asked before
    (bounds, class counts, private coordinates), or after (the scale of the scores). Noise of a
    schedule is rounded to 8 levels. It is least from about ``n mu / sqrt(steps)`` rows on; below,
    it grows like ``1 / batch_size``, and a fit warns before anything is charged. A batch saves
    time, never noise, and adds the error of a sample. The accounting is in
    :mod:`skdp.privacy.accounting.subsampling`.

    References
    ----------
    Wang, Ye and Xu (2017), algorithm 4, with exact accounting; Hong, Wang and Zhou (2022),
    lemma 4.4 and theorem 4.6, for the schedules.

    Examples
    --------
    >>> from skdp.solvers import GD
    >>> GD(steps=50).get_params()["steps"]
    50
    """

    descends: ClassVar[bool] = True

    hyperparameters: ClassVar[dict[str, list[Any]]] = {
        "schedule": [one_of("exponential", "momentum", "uniform"), tuple, list],
        "decay": [interval(0, 1, "right")],
    }

    average: float = 0.5
    schedule: str | tuple[float, ...] = "uniform"
    decay: float = 0.99
    batch_size: int | None = None
    label_blind: bool | None = None

    def refuse(self, problem: Problem) -> None:
        if self.label_blind and problem.loss.of_residuals:
            raise ValueError(
                "GD needs label_blind=False for targets that are no labels, got label_blind=True "
                f"for {name_of(problem.loss)}."
            )
        if isinstance(self.schedule, str):
            return
        shares = schedules.custom(self.schedule)
        if self.steps not in (None, shares.size):
            raise ValueError(
                f"GD needs one share a step, got steps={self.steps} and {shares.size} shares in "
                "schedule. Leave steps out."
            )

    def calculus_for(
        self, problem: Problem, epsilon: float, delta: float, adjacency: Adjacency
    ) -> Calculus:
        """A block of sampled gradients, if there are minibatches."""
        if self.batch_size is None:
            return self.calculus
        rule = self._rule(problem, sqrt(self.calculus.limit(epsilon, delta)))
        sizes = self.batch_size, self._shares(rule), tuned.FREE_SHARE
        return reserve("GD", *sizes, problem, epsilon, delta, adjacency)

    def solve(self, problem: Problem, oracle: Oracle, rng: np.random.Generator) -> Solution:
        self.check(problem)
        if self.batch_size is None:
            rule = self._rule(problem, oracle.budget.mu)
            spends = tuple(oracle.budget.split(self._shares(rule)))
        else:
            block = oracle.reserved
            rule = self._rule(problem, block.mu, len(block.spends))
            spends = block.spends
        descent = Descent(problem, rule, self.average)
        # Long rows in other coordinates need not be shortened: their gradients are.
        oracle = oracle.for_problem(problem.unshortened)
        blind = rule.label_blind if self.label_blind is None else self.label_blind
        ask = partial(oracle.gradient, label_blind=blind, sampled=True)
        if self.batch_size is None:
            ask = partial(ask, sampled=False, whole_units=clips_whole_units(problem))
        oracle.note(planned=len(spends))
        for spend in spends:
            descent.move(ask(descent.w, spend=spend, clip_norm=descent.clip_norm))
        w = descent.mean()
        if self.shrinks:
            scale = oracle.gradient_scale(spend=spends[0], clip_norm=descent.clip_norm)
            scales = [scale] * rule.steps
            course = Course([descent.step] * rule.steps, rule.momentum, scales, self.average)
            if problem.loss.of_residuals:
                ratios = {"whole": tuned.WHOLE_SHARE, "noise_ratio": tuned.NOISE_RATIO}
                w = towards_start(problem, w, course, length=problem.row_norm, **ratios)
            elif problem.loss.log_odds and not problem.wide:
                w = at_honest_scale(problem, w, course)
        return Solution(w, n_iter=rule.steps)

    @property
    def shrinks(self) -> bool:
        """True if steps are the default's, by which a solution for residuals is shrunk."""
        given = (self.steps, self.total_step_size, self.momentum, self.batch_size)
        return self.schedule == "uniform" and all(value is None for value in given)

    def _rule(self, problem: Problem, mu: float, steps: int | None = None) -> DescentRule:
        if steps is None:
            steps = self.steps if isinstance(self.schedule, str) else len(self.schedule)
        rule = self.rule(problem, mu, steps=steps)
        # Samples of rows average out over many steps, and a schedule speaks of as many.
        return in_few_steps(rule, problem) if self.shrinks else rule

    def _shares(self, rule: DescentRule) -> np.ndarray:
        if not isinstance(self.schedule, str):
            return schedules.custom(self.schedule)
        if self.schedule == "uniform":
            return schedules.uniform(rule.steps)
        if self.schedule == "exponential":
            return schedules.exponential(rule.steps, self.decay)
        return schedules.momentum(rule.steps, self.decay, rule.momentum)
