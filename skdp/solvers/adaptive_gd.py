"""Noisy gradient descent whose noise follows the norm of the gradient."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, isinf, log, sqrt
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from ..problem.problem import Problem
from ..validation import count, interval
from .base import Solution
from .defaults import AdaptiveGD as tuned
from .descent_rules import DescentRule, DescentSolver, largest_step

if TYPE_CHECKING:
    from ..privacy.oracle import Oracle


@dataclass(frozen=True)
class AdaptiveGD(DescentSolver):
    r"""Noisy gradient descent that pays for precision in proportion to what a gradient needs.

    .. math:: N_t = \|\nabla F(w_t)\| + N(0, \hat\sigma^2), \qquad
              g_t = \nabla F(w_t) + N(0, \sigma_t^2 I), \quad \sigma_t = \nu N_t

    A noisy norm, a single number, is asked for every few steps, out of a share of the budget that
    is set aside first. The gradient then gets noise proportional to it, so that a step costs
    ``1 / N_t^2``: large gradients buy many cheap steps, small ones few and precise steps. Norms
    that noise hides count as the noise in them, never as negative. The last step takes all that is
    left, so that the budget is met exactly; a step that would leave less than half its own
    price behind is the last. The privacy filter charges every answer by the noise that it did bear.

    Steps are by default as long as their share of the budget. Then their lengths sum to the
    total step size however many there are, and the noise that they put on w together is that of
    ``gd`` with the same total step size, whatever the norms. The answer is a mean of the iterates
    that weighs later ones more, as the number of steps is not known beforehand.

    Works for every loss, every penalty and every constraint.

    When it does not work: where gradients drown in noise, which with many features and few rows is
    the rule, there is no norm to follow, and it is ``gd`` on 95 % of the budget. Under a constraint
    or a penalty the gradient of the loss does not vanish at the solution, and there is little to
    adapt to. Each norm costs a pass over the rows.

    Parameters
    ----------
    steps : int, optional
        Most gradients; by default twice those of ``gd``, and fewer beyond mu = 2.
    fewest : int, optional
        Fewest gradients, which bounds the price of one; by default an eighth of ``steps``, more
        beyond mu = 2, and no fewer than it takes to cover the total step size in stable steps.
    noise : float, optional
        Ratio nu of the noise of an entry to the noisy norm. By default such that a step costs as
        much as in ``gd`` when the norm is half the first one.
    norm_share : float, default=0.05
        Share of mu^2 that is set aside for norms, in (0, 1).
    norms : int, default=40
        Most norms, asked for at even distances in ``steps``.
    step : float, optional
        Length of every step in units of ``1 / (row_norm**2 * max_weight)``, in place of lengths
        that follow the price.
    average : float, default=3.0
        Iterate t has a weight of about ``t**average`` in the answer; inf returns the last one.

    References
    ----------
    Menart et al. (2023), algorithm 3. As printed it is private at twice the stated zCDP parameter
    under replace-one, draws a vector where a number is meant, and charges too little after a
    negative norm and at the last step; shares of a filtered budget have none of these problems.
    Shamir and Zhang (2013) for the mean.

    Examples
    --------
    >>> from skdp.solvers import AdaptiveGD
    >>> AdaptiveGD(norms=20).get_params()["norms"]
    20
    """

    hyperparameters: ClassVar[dict[str, list[Any]]] = {
        "fewest": [None, count()],
        "noise": [None, interval(0, None, "neither")],
        "norm_share": [interval(0, 1, "neither")],
        "norms": [count()],
        "step": [None, interval(0, None, "neither")],
        "average": [interval(0, None, "both")],
    }

    fewest: int | None = None
    noise: float | None = None
    norm_share: float = 0.05
    norms: int = 40
    step: float | None = None
    average: float = 3.0

    @classmethod
    def from_theory(cls, problem: Problem, mu: float, beta: float = 0.1) -> Self:
        r"""The constants of Menart et al. (2023), for a smooth loss with bounded derivative.

        A norm before every step, ``nu = 1 / sqrt(d log(n sqrt(rho) / beta))`` with
        ``rho = mu^2 / 2``, steps of ``1 / (2 L)``, half the budget for norms, at most
        ``n sqrt(rho) / 2`` steps, no clip, no momentum, and the last iterate. Made for proofs:
        at common sizes steps are far too short.

        Parameters
        ----------
        problem : Problem
            What is to be solved.
        mu : float
            Gaussian-DP parameter of the budget.
        beta : float, default=0.1
            Probability with which the error bound may fail.
        """
        root = mu / sqrt(2)
        steps = max(1, ceil(problem.n_samples * root / 2))
        confidence = max(1.0, log(max(1.0, problem.n_samples * root / beta)))
        return cls(
            steps=steps,
            fewest=1,
            noise=1 / sqrt(problem.n_parameters * confidence),
            norm_share=0.5,
            norms=steps,
            step=0.5 / problem.loss.smoothness,
            clip=float("inf"),
            momentum=0.0,
            average=float("inf"),
        )

    def refuse(self, problem: Problem) -> None:
        if self.steps is not None and self.fewest is not None and self.fewest > self.steps:
            raise ValueError(
                f"AdaptiveGD needs fewest <= steps, got fewest={self.fewest} and "
                f"steps={self.steps}."
            )
        if self.step is not None and self.total_step_size is not None:
            raise ValueError(
                f"AdaptiveGD needs a step or a total step size, got step={self.step} and "
                f"total_step_size={self.total_step_size}. Leave one of them out."
            )

    def solve(self, problem: Problem, oracle: Oracle, rng: np.random.Generator) -> Solution:
        self.check(problem)
        budget = oracle.budget
        rule, largest, steps, fewest = self._plan(problem, budget.mu)
        least, most = 1 / steps, 1 / fewest
        scale = problem.row_norm * problem.max_weight
        clip_norm, unit = rule.clip * scale, 1 / (problem.row_norm * scale)
        weight = problem.kept_by(rule.clip)

        apart = ceil(steps / self.norms)
        look = budget.fraction(self.norm_share).split(ceil(steps / apart))[0]
        rest = budget.fraction(1 - self.norm_share)
        hidden = oracle.gradient_scale(spend=look, clip_norm=clip_norm)
        noise_of_all = oracle.gradient_scale(spend=rest.whole(), clip_norm=clip_norm)
        bounds: dict[str, Any] = {"clip_norm": clip_norm, "label_blind": rule.label_blind}
        noise, left = self.noise, 1.0
        w = before = problem.start()
        mean = np.zeros_like(w)
        for t in range(steps):
            if t % apart == 0:
                norm = max(hidden, oracle.gradient_norm(w, spend=look, **bounds))
            if noise is None:
                noise = noise_of_all * sqrt(rule.steps) / max(hidden, tuned.REFERENCE_NORM * norm)
            # Compared before squaring, which could overflow.
            share = max(least, min(sqrt(most), noise_of_all / (noise * norm)) ** 2)
            last = left < 1.5 * share or t == steps - 1
            # What was set aside for norms that were not asked for goes to the last step.
            spend = oracle.budget.whole() if last else rest.fraction(share).whole()
            g = oracle.gradient(w, spend=spend, **bounds)
            share = left if last else share
            step = min((1 - rule.momentum) * rule.total_step_size * share, largest)
            step = unit * (self.step or step)
            moved = w - step * g + rule.momentum * (w - before)
            before, w = w, problem.project(problem.prox(moved, step * weight))
            mean += self._weight(t) * (w - mean)
            left -= share
            if last:
                break
        return Solution(mean, n_iter=t + 1)

    def _weight(self, t: int) -> float:
        """Weight of iterate t in the running mean; 1 at the first."""
        return 1.0 if isinf(self.average) else (self.average + 1) / (t + 1 + self.average)

    def _plan(self, problem: Problem, mu: float) -> tuple[DescentRule, float, int, int]:
        """The rule of even steps, the longest step, and the most and fewest steps."""
        half = None if self.steps is None else ceil(self.steps / 2)
        rule = self.rule(problem, mu, steps=half)
        largest = largest_step(problem, mu, rule.clip)
        steps, fewest = self.steps, self.fewest
        growth = max(1.0, mu / 2)
        if steps is None:
            steps = ceil(rule.steps * (1 + 1 / growth))
        if fewest is None:
            stable = (1 - rule.momentum) * rule.total_step_size / largest
            fewest = min(steps, ceil(max(steps * growth / 8, stable)))
        return rule, largest, steps, fewest
