"""Default hyperparameters of descent methods, functions of public facts alone."""

from __future__ import annotations

from abc import ABC
from dataclasses import dataclass, fields, replace
from math import ceil, inf, isinf, log, sqrt
from typing import Any, final

from ..problem.problem import Problem
from .base import Solver
from .defaults import DescentFamily
from .defaults import DescentRule as tuned


@dataclass(frozen=True)
class DescentRule:
    """Hyperparameters of noisy descent, in units that do not depend on the scale of the rows.

    Parameters
    ----------
    steps : int
        Number of gradients.
    total_step_size : float
        Total step length in units of ``1 / (row_norm**2 * max_weight)``.
    clip : float
        Bound on a row's gradient in units of ``row_norm * max_weight``.
    momentum : float
        Heavy-ball coefficient.
    label_blind : bool, default=False
        Whether rows are bounded by weights that do not depend on their labels, in place of a clip
        that does.
    """

    steps: int
    total_step_size: float
    clip: float
    momentum: float
    label_blind: bool = False


@dataclass(frozen=True)
class DescentSolver(Solver, ABC):
    """Base of solvers by noisy gradients that go by a descent rule.

    Parameters
    ----------
    steps : int, optional
        Number of gradients.
    total_step_size : float, optional
        Total step length, the sum of step sizes divided by 1 - momentum, in units of
        ``1 / (row_norm**2 * max_weight)``.
    clip : float, optional
        Bound on the derivative of the loss of a row of full norm, that is, on a row's gradient in
        units of ``row_norm * max_weight``.
    momentum : float, optional
        Heavy-ball coefficient, in [0, 1).
    """

    steps: int | None = None
    total_step_size: float | None = None
    clip: float | None = None
    momentum: float | None = None

    @property
    def settled(self) -> bool:
        """True without minibatches."""
        return getattr(self, "batch_size", None) is None

    @final
    def rule(self, problem: Problem, mu: float, **changes: Any) -> DescentRule:
        """The rule for these hyperparameters, some of them changed.

        Parameters
        ----------
        problem : Problem
            Loss and public sizes.
        mu : float
            Gaussian-DP parameter of the budget.
        **changes
            Hyperparameters of the rule by name.
        """
        given = {f.name: getattr(self, f.name) for f in fields(DescentSolver)}
        return descent_rule(problem, mu, **given | changes)


def descent_rule(
    problem: Problem,
    mu: float,
    *,
    steps: int | None = None,
    total_step_size: float | None = None,
    clip: float | None = None,
    momentum: float | None = None,
) -> DescentRule:
    """The rule for a problem and a budget; what is given is kept and the rest follows it.

    Noise in the score of a row after a total step length tau is at most ``2 clip tau / (n mu)`` in
    the units of :class:`DescentRule`, whatever the dimension: the total step size is what keeps
    this at a constant, capped by what the steps can cover stably. Small budgets thus stop early,
    which acts like a ridge. At budgets so large that hardly any privacy is left (mu > 2) the clip
    tends to the Lipschitz constant and steps grow in number and momentum, towards the solution
    without privacy, more so in the user's coordinates. An oscillation that momentum has caused
    falls to ``exp(-m / 2)`` within ``m / (1 - momentum)`` steps. Where noise is below that
    constant, because steps cannot cover more, steps are added until the oscillation has fallen by
    as much. A default clip leaves labels out where :func:`blind_for_labels` says so; a clip that is
    given stays one that depends on them.
    """
    family = _family(problem)
    growth = max(1.0, mu / 2)
    # Coordinates that nobody has conditioned hold directions of little variance, which need a
    # longer way. On it, the noise of residuals with wide clips would add up.
    unconditioned = problem.bounds.row_map is None and not family.loosens
    longer = sqrt(growth)
    if unconditioned:
        longer = max(longer, min(growth, tuned.MOST_GROWTH))
    lipschitz = problem.loss.lipschitz
    evidence = problem.n_samples * mu
    score_noise = family.score_noise
    label_blind = clip is None and blind_for_labels(problem, mu)
    if clip is None:
        clip = family.clip * growth
        if clip > family.reach:
            clip = sqrt(clip * family.reach)
        if family.loosens:
            # Residuals of several targets are longer by this together.
            together = sqrt(problem.loss.n_scores)
            clip = together * family.clip * sqrt(max(1.0, evidence / tuned.CLIP_EVIDENCE))
    if family.loosens:
        each = problem.evidence_for_each(mu)
        least = tuned.LEAST_SCORE_NOISE * min(1.0, each)
        most = min(score_noise, tuned.SCORE_NOISE_BY_COEFFICIENTS * sqrt(problem.n_parameters))
        score_noise = min(most, max(least, tuned.SCORE_NOISE_BY_EVIDENCE * each))
    clip = min(clip, lipschitz)
    planned = ceil(family.steps * longer) if steps is None else steps
    if momentum is None:
        momentum = 1 - tuned.FORGETTING / longer
    if total_step_size is None:
        stride = _largest_step(family, clip, lipschitz) / (1 - momentum)
        afforded = score_noise * evidence / (2 * clip) if clip < inf else stride * planned
        if steps is None:
            less_noise = max(1.0, min(growth, afforded / (stride * planned)))
            planned += ceil(2 * log(less_noise) / (1 - momentum))
        total_step_size = min(stride * planned, afforded)
    return DescentRule(planned, total_step_size, clip, momentum, label_blind)


def blind_for_labels(problem: Problem, mu: float) -> bool:
    """Tell whether the bias of a clip that depends on labels costs more than it saves of noise.

    Of two classes with rows enough, that is, unless these are weighed. It is the other way where
    a rare class has few rows.

    Parameters
    ----------
    problem : Problem
        Loss and public sizes.
    mu : float
        Gaussian-DP parameter of the budget.
    """
    of_two = problem.loss.n_scores == 1 and problem.loss.family in tuned.BLIND_FAMILIES
    alike = of_two and problem.class_weight is None and not problem.wide
    return alike and problem.n_samples * mu >= tuned.BLIND_EVIDENCE


def largest_step(problem: Problem, mu: float, clip: float) -> float:
    """Total step size of one step without momentum, which is the largest stable one.

    Parameters
    ----------
    problem : Problem
        Loss and public sizes.
    mu : float
        Gaussian-DP parameter of the budget.
    clip : float
        Bound on a row's gradient, see :class:`DescentRule`.
    """
    return descent_rule(problem, mu, steps=1, clip=clip, momentum=0.0).total_step_size


def in_few_steps(rule: DescentRule, problem: Problem) -> DescentRule:
    """A rule of fewer and longer steps, whose averaged iterates bear as much noise.

    Momentum is forgotten over the same share of all steps. The total step size is a little shorter,
    because what a long step adds is there at once. There are as many steps as keep each of them
    well below the largest one, and never more than before.
    """
    family = _family(problem)
    memories = (1 - rule.momentum) * rule.steps
    longest = family.long * _largest_step(family, rule.clip, problem.loss.lipschitz)
    needed = max(tuned.LEAST_STEPS, ceil(sqrt(memories * rule.total_step_size / longest)))
    if needed >= rule.steps:
        return rule
    ahead = tuned.AHEAD * (1 / needed - 1 / rule.steps)
    return replace(
        rule,
        steps=needed,
        momentum=1 - memories / needed,
        total_step_size=(1 - ahead) * rule.total_step_size,
    )


def _largest_step(family: DescentFamily, clip: float, lipschitz: float) -> float:
    """Step size without momentum, in units of the inverse curvature scale."""
    share, reach = 0.0, min(lipschitz, family.reach)
    if reach > family.clip:
        share = min(1.0, max(0.0, (clip - family.clip) / (reach - family.clip)))
    return 0.1 * family.stride ** (1 - share) * family.stride_unclipped**share


def _family(problem: Problem) -> DescentFamily:
    loss = problem.loss
    if loss.family == "logistic":
        return tuned.BINARY if loss.n_scores == 1 else tuned.SOFTMAX
    if loss.family != "residuals":
        of = {"counts": tuned.COUNTS, "hinge": tuned.HINGE, "squared_hinge": tuned.SQUARED_HINGE}
        return of[loss.family]
    # Of residuals, or unknown: their curvature may not fade as scores grow.
    stride = tuned.RESIDUAL.stride / (1.0 if isinf(loss.smoothness) else loss.smoothness)
    return replace(tuned.RESIDUAL, stride=stride, stride_unclipped=stride)
