r"""Temperature: the scale of a model's scores at which its probabilities are honest.

Clipping gradients leaves the direction of a model hardly changed, but makes its scores too large or
too small. One paid answer mends that: mean residuals along the model's own scores at a few scales
(:class:`~skdp.privacy.queries.score_scale.ScoreScaleQuery`), whose root is the factor by which
scores have to be multiplied. A penalty that the user asked for takes part, as a function of the
factor, so that a solution of the user's problem is left as it is: the factor is the one nearest to
1 between what the labels ask for with the penalty and without it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import inf, sqrt
from typing import TYPE_CHECKING

import numpy as np
from sklearn.isotonic import isotonic_regression

from ..problem.problem import Problem
from .preconditioning.class_prior import curvature_at_start

if TYPE_CHECKING:
    from ..privacy.oracle import Oracle

# Scales at which residuals are asked for; the answer lies between the first and the last.
_SCALES = np.array([0.3, 0.55, 1.0, 1.8, 3.3])
# Bounds on the range of scores that count, and n mu a unit of it.
_LEAST_REACH, _MOST_REACH, _EVIDENCE_A_UNIT = 2.0, 8.0, 4600.0
# Sensitivity of the answer in units of the length of its largest value, roughly.
_SPREAD_OF_TWO, _SPREAD_OF_SEVERAL = 1.2, 1.6
# Noise of the answer that is aimed at, and the shares of mu^2 that it may cost.
_NOISE, _LEAST_SHARE, _MOST_SHARE = 0.005, 0.01, 0.05
# Noise that is aimed at for text, where the steps make more of the budget than the answer does.
_NOISE_OF_TEXT = 0.05
# Typical slope of the answer in log a for balanced classes, and the variance that the logarithm of
# the temperature is expected to have. Nothing is asked where noise in log a, by that slope, would
# have more than this multiple of it.
_SLOPE, _VARIANCE, _DROWNED = 0.1, 0.25, 0.25
# n mu, for balanced classes, from which scores of text are about as large as they should be. Noise
# makes them too large below, about in inverse proportion, as measured.
_EVIDENCE_OF_TEXT = 400.0
# Rare classes flatten the answer, but scores vary among their rows all the same.
_LEAST_CURVATURE = 0.1
# Curvature at the start, in units of that for balanced classes, below which one of two is rare (at
# 13 % of rows), and the most of it that counts for the scale of scores of text then.
_OF_RARE, _MOST_OF_RARE = 0.45, 0.2


@dataclass(frozen=True)
class Temperature:
    """The plan of one query for the temperature of a model, from public facts.

    Parameters
    ----------
    share : float
        What the query costs, as a share of what it and the solver have together (of mu^2); 0 if
        nothing is asked, and scores are only brought to what public facts let expect.
    reach : float
        Range of scores beyond which they count as at its ends.
    penalised : bool
        Whether the penalty takes part, because the user asked for it. One that is there for the
        sake of the noise alone says nothing about the scale.
    evidence : float, default=inf
        Number of rows times mu, where the scale that noise gives to scores is known from it.
    """

    share: float
    reach: float
    penalised: bool
    evidence: float = inf

    def expected(self, problem: Problem) -> float:
        """Temperature by public facts alone, at most 1; for text, whose scores are mostly noise.

        Parameters
        ----------
        problem : Problem
            Its initial point holds the log-odds of the classes.
        """
        curvature = curvature_at_start(problem)
        if curvature < _OF_RARE:
            curvature = min(_MOST_OF_RARE, curvature)
        return min(1.0, self.evidence * curvature / _EVIDENCE_OF_TEXT)

    def kept(self, problem: Problem) -> float:
        """Share that the solver has to leave, once classes are counted: 0 if nothing is asked.

        Were a share left over instead, what a fit has spent would depend on the answers.

        Parameters
        ----------
        problem : Problem
            To be solved; its initial point holds the log-odds of the classes.
        """
        return 0.0 if self._draws(problem) else self.share

    def apply(self, problem: Problem, oracle: Oracle, w: np.ndarray) -> np.ndarray:
        """Solution times its temperature, which is asked for with all that the oracle has left.

        Parameters
        ----------
        problem : Problem
            That w was found for.
        oracle : Oracle
            With what was set aside for this query.
        w : ndarray
            The solver's answer; public.

        Returns
        -------
        ndarray
            In the shape of w. No prediction of a class is changed by a positive factor. Where
            noise makes the scores of text and one of two classes is rare, nothing is asked, and
            scores are brought nearer to the log-odds of the classes instead of to zero.
        """
        expected = self.expected(problem)
        if self._draws(problem):
            return expected * w + (1 - expected) * problem.start()
        if not self.share:
            return expected * w
        problem = problem.unshortened()
        spend = oracle.budget.whole()
        answer, noise = oracle.for_problem(problem).score_scale(
            w, _SCALES, reach=self.reach, spend=spend
        )
        # A normal prior for the logarithm of the temperature, in units of the noise.
        prior = noise**2 / (_SLOPE * max(_LEAST_CURVATURE, curvature_at_start(problem)) * _VARIANCE)
        steady = (prior + 1e-12) * np.log(_SCALES / expected)
        found = _root(isotonic_regression(answer) + steady)
        if self.penalised:
            # The penalty asks for less, and for more so the longer w is, noise in it included. What
            # it makes up for in the solution of the problem stays, so 1 is kept if it lies between.
            answer = answer + _slopes_of_penalty(problem, w) / problem.max_weight
            least = _root(isotonic_regression(answer) + steady)
            found = min(max(1.0, least), found)
        return found * w

    def _draws(self, problem: Problem) -> bool:
        """Tell whether scores are drawn to the log-odds of the classes, and nothing is asked."""
        if not (self.expected(problem) < 1 and curvature_at_start(problem) < _OF_RARE):
            return False
        # An earlier model knows more than they do.
        return not problem.start()[:-1].any()


def plan_temperature(problem: Problem, mu: float, *, penalised: bool) -> Temperature | None:
    """The plan for a problem, or None where there is no temperature to ask for.

    That is the case for losses whose scores are not log-odds, within a constraint, which a factor
    could leave, and where noise would hide the answer: below ``n mu`` of about 300 for two classes
    and 400 for more. Scores of text of two classes, which are mostly noise then, are brought to the
    scale that public facts let expect, unless the user asked for the penalty.

    Parameters
    ----------
    problem : Problem
        To be solved.
    mu : float
        Budget of solver and temperature together.
    penalised : bool
        Whether the user asked for the penalty of the problem.
    """
    if not (problem.loss.log_odds and problem.constraint.whole_space):
        return None
    evidence = problem.n_samples * mu
    reach = min(_MOST_REACH, max(_LEAST_REACH, evidence / _EVIDENCE_A_UNIT))
    spread = _SPREAD_OF_TWO if problem.loss.n_scores == 1 else _SPREAD_OF_SEVERAL
    noise = spread * reach * sqrt(_SCALES.size) / evidence
    aim = _NOISE_OF_TEXT if problem.wide else _NOISE
    share = min(_MOST_SHARE, max(_LEAST_SHARE, (noise / aim) ** 2))
    drowned = noise**2 / share > _DROWNED * _SLOPE * _VARIANCE
    alike = problem.loss.n_scores > 1 or penalised or not problem.wide
    found = Temperature(share, reach, penalised, inf if alike else evidence)
    if not drowned:
        return found
    return replace(found, share=0.0) if found.evidence < _EVIDENCE_OF_TEXT else None


def _slopes_of_penalty(problem: Problem, w: np.ndarray) -> np.ndarray:
    """Derivatives of the penalty of a w with respect to the factor a, at each of the scales."""
    value, v = problem.penalty.value, w[: problem.n_features]
    # Penalties are quadratic or homogeneous, for which central differences are exact.
    return np.array([(value(1.1 * a * v) - value(0.9 * a * v)) / (0.2 * a) for a in _SCALES])


def _root(increasing: np.ndarray) -> float:
    """Scale at which answers cross zero, by interpolation in log a, or the nearer end."""
    return float(np.exp(np.interp(0.0, increasing, np.log(_SCALES))))
