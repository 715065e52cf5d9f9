"""Default hyperparameters of descent methods, functions of public facts alone."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import ceil, inf, isinf, sqrt

from ..problem.problem import Problem
from .base import name_of


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
    """

    steps: int
    total_step_size: float
    clip: float
    momentum: float


@dataclass(frozen=True)
class _Family:
    """Constants for a kind of loss.

    ``score_noise`` bounds the standard deviation that noise puts on the score of a row of full
    norm, whatever the dimension; ``stride`` is the largest step at momentum 0.9 times 10, in units
    of the inverse curvature scale, at the default clip and without clipping. Where a derivative is
    unbounded, hardly any row has one beyond ``reach``. ``loosens`` says that the clip grows with
    the evidence. ``long`` is the share of the largest step that steps may take where they are few.
    """

    steps: int
    clip: float
    score_noise: float
    stride: float
    stride_unclipped: float
    reach: float = inf
    loosens: bool = False
    long: float = 0.4


_BINARY = _Family(steps=100, clip=0.3, score_noise=3.0, stride=1000.0, stride_unclipped=80.0)
# The derivative of a row is shared out between the classes.
_SOFTMAX = _Family(
    steps=100, clip=0.1, score_noise=3.0, stride=3000.0, stride_unclipped=40.0, long=0.8
)
# Margins are 1, which is less than the scale of logits, so less noise is borne.
_HINGE = _Family(steps=100, clip=0.5, score_noise=1.0, stride=600.0, stride_unclipped=20.0)
# With longer steps a little is lost where features have heavy tails.
_SQUARED_HINGE = _Family(
    steps=100,
    clip=1.0,
    score_noise=1.0,
    stride=300.0,
    stride_unclipped=10.0,
    reach=4.0,
    long=0.25,
)
# Clipped at all, means of counts would be too small. Their logarithms bear less noise than
# log-odds.
_COUNTS = _Family(steps=100, clip=1.0, score_noise=0.5, stride=10.0, stride_unclipped=10.0)
_RESIDUAL = _Family(
    steps=200, clip=0.1, score_noise=0.6, stride=20.0, stride_unclipped=20.0, loosens=True
)

# Rows times budget from which residuals can be clipped less and less.
_PLENTY = 240.0
# Noise of a score that residuals bear, in units of the evidence for each coefficient; where that is
# below 1.5, at least so much, or in units of the evidence again.
_NOISE_BY_EVIDENCE, _LEAST_NOISE = 0.1, 0.15
# The fewer coefficients, the less can noise be told from a signal: its most in units of their root.
_NOISE_BY_COEFFICIENTS = 0.2

# Where the total step size is short, long steps with less momentum do what many short ones do: at
# least so many.
_LEAST_STEPS = 24
# What few steps go further by for the same total step size, in units of a step; so does noise.
_AHEAD = 1.35


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

    Noise in the score of a row after a total step length tau is at most ``2 clip tau / (n mu)``
    in the units of :class:`DescentRule`, whatever the dimension: the total step size is what keeps
    this at a constant, capped by what the steps can cover stably. Small budgets thus stop early,
    which acts like a ridge. At budgets so large that hardly any privacy is left (mu > 2) the clip
    tends to the Lipschitz constant and steps grow in number and momentum, towards the solution
    without privacy.

    Parameters
    ----------
    problem : Problem
        Loss and public sizes.
    mu : float
        Gaussian-DP parameter of the budget.
    steps, total_step_size, clip, momentum
        Given hyperparameters, see :class:`DescentRule`.
    """
    family = _family(problem)
    growth = max(1.0, mu / 2)
    lipschitz = problem.loss.lipschitz
    evidence = problem.n_samples * mu
    score_noise = family.score_noise
    if clip is None:
        clip = family.clip * growth
        if clip > family.reach:
            clip = sqrt(clip * family.reach)
        if family.loosens:
            # Residuals of several targets are longer by this together.
            together = sqrt(problem.loss.n_scores)
            clip = together * family.clip * sqrt(max(1.0, evidence / _PLENTY))
    if family.loosens:
        each = problem.evidence_for_each(mu)
        least = _LEAST_NOISE * min(1.0, each)
        most = min(score_noise, _NOISE_BY_COEFFICIENTS * sqrt(problem.n_parameters))
        score_noise = min(most, max(least, _NOISE_BY_EVIDENCE * each))
    clip = min(clip, lipschitz)
    if steps is None:
        steps = ceil(family.steps * sqrt(growth))
    if momentum is None:
        momentum = 1 - 0.1 / sqrt(growth)
    if total_step_size is None:
        covered = _largest_step(family, clip, lipschitz) * steps / (1 - momentum)
        afforded = score_noise * evidence / (2 * clip) if clip < inf else covered
        total_step_size = min(covered, afforded)
    return DescentRule(steps, total_step_size, clip, momentum)


def in_few_steps(rule: DescentRule, problem: Problem) -> DescentRule:
    """A rule of fewer and longer steps, whose averaged iterates bear as much noise.

    Momentum is forgotten over the same share of all steps. The total step size is a little shorter,
    because what a long step adds is there at once. There are as many steps as keep each of them
    well below the largest one, and never more than before.

    Parameters
    ----------
    rule : DescentRule
        Of :func:`descent_rule`.
    problem : Problem
        Of the rule.
    """
    family = _family(problem)
    memories = (1 - rule.momentum) * rule.steps
    longest = family.long * _largest_step(family, rule.clip, problem.loss.lipschitz)
    needed = max(_LEAST_STEPS, ceil(sqrt(memories * rule.total_step_size / longest)))
    if needed >= rule.steps:
        return rule
    ahead = _AHEAD * (1 / needed - 1 / rule.steps)
    return replace(
        rule,
        steps=needed,
        momentum=1 - memories / needed,
        total_step_size=(1 - ahead) * rule.total_step_size,
    )


def check_clip(solver: str, clip: float | None, problem: Problem) -> None:
    """Refuse a clip that does not bound the gradients of rows.

    Parameters
    ----------
    solver : str
        Who asks.
    clip : float or None
        The hyperparameter; None stands for a default.
    problem : Problem
        With the loss in question.

    Raises
    ------
    ValueError
        If both the clip and the derivative of the loss are unbounded.
    """
    if clip is not None and isinf(min(clip, problem.loss.lipschitz)):
        raise ValueError(
            f"{solver} needs a finite clip for {name_of(problem.loss)}, whose derivative is "
            "unbounded, got clip=inf. Pass a number, or leave clip out for a default."
        )


def _largest_step(family: _Family, clip: float, lipschitz: float) -> float:
    """Step size without momentum, in units of the inverse curvature scale."""
    share, reach = 0.0, min(lipschitz, family.reach)
    if reach > family.clip:
        share = min(1.0, max(0.0, (clip - family.clip) / (reach - family.clip)))
    return 0.1 * family.stride ** (1 - share) * family.stride_unclipped**share


def _family(problem: Problem) -> _Family:
    loss = problem.loss
    if loss.family == "logistic":
        return _BINARY if loss.n_scores == 1 else _SOFTMAX
    if loss.family != "residuals":
        return {"counts": _COUNTS, "hinge": _HINGE, "squared_hinge": _SQUARED_HINGE}[loss.family]
    # Of residuals, or unknown: their curvature may not fade as scores grow.
    stride = _RESIDUAL.stride / (1.0 if isinf(loss.smoothness) else loss.smoothness)
    return replace(_RESIDUAL, stride=stride, stride_unclipped=stride)
