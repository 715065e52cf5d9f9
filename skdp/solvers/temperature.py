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
from math import inf, isinf, sqrt
from typing import TYPE_CHECKING

import numpy as np
from scipy.optimize import isotonic_regression

from ..problem.problem import Problem
from .defaults import Temperature as tuned
from .preconditioning.class_frequencies import curvature_at_start
from .shrinkage import score_size

if TYPE_CHECKING:
    from ..privacy.oracle import Oracle


@dataclass(frozen=True)
class Temperature:
    """The plan of one query for the temperature of a model, from public facts.

    Parameters
    ----------
    share : float
        What the query costs, as a share of what it and the solver have together (of mu^2); 0 if
        nothing is asked, and scores are only brought to what public facts let expect.
    reach : float
        Range of scores beyond which they count as at its ends, if they are as large; the noise
        grows with it. Of text, and where a penalty takes part, whatever their size.
    penalised : bool
        Whether the penalty takes part, because the user asked for it. One that is there for the
        sake of the noise alone says nothing about the scale.
    evidence : float, default=inf
        Number of rows times mu, where the scale that noise gives to scores is known from it.
    rough : bool, default=False
        Whether rows are so few that not much is known of the scale beforehand.
    """

    share: float
    reach: float
    penalised: bool
    evidence: float = inf
    rough: bool = False

    def expected(self, problem: Problem) -> float:
        """Temperature by public facts alone, at most 1; for text, whose scores are mostly noise.

        Parameters
        ----------
        problem : Problem
            Its initial point holds the log-odds of the classes.
        """
        if isinf(self.evidence):
            return 1.0
        curvature = curvature_at_start(problem)
        if curvature < tuned.CURVATURE_OF_RARE:
            curvature = min(tuned.MOST_CURVATURE_OF_RARE, curvature)
        return min(1.0, self.evidence * curvature / tuned.EVIDENCE_OF_TEXT)

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
        problem = problem.unshortened
        spend = oracle.budget.whole()
        reach, variance = self.reach, tuned.VARIANCE
        # A shortened range would not balance a penalty.
        if not (self.penalised or problem.wide):
            reach = min(reach, max(tuned.SHORTEST_REACH, score_size(problem, w)))
        if self.rough:
            variance = tuned.VARIANCE_IF_ROUGH
        answer, noise = oracle.for_problem(problem).score_scale(
            w, tuned.SCALES, reach=reach, spend=spend
        )
        # A normal prior for the logarithm of the temperature, in units of the noise.
        prior = noise**2 / (
            tuned.SLOPE * max(tuned.LEAST_CURVATURE, curvature_at_start(problem)) * variance
        )
        steady = (prior + 1e-12) * np.log(tuned.SCALES / expected)
        found = _root(isotonic_regression(answer).x + steady)
        if self.penalised:
            # The penalty asks for less, and for more so the longer w is, noise in it included. What
            # it makes up for in the solution of the problem stays, so 1 is kept if it lies between.
            answer = answer + _slopes_of_penalty(problem, w) / problem.max_weight
            least = _root(isotonic_regression(answer).x + steady)
            found = min(max(1.0, least), found)
        return found * w

    def _draws(self, problem: Problem) -> bool:
        """Tell whether scores are drawn to the log-odds of the classes, and nothing is asked."""
        if not (
            self.expected(problem) < 1 and curvature_at_start(problem) < tuned.CURVATURE_OF_RARE
        ):
            return False
        # An earlier model knows more than they do.
        return not problem.start()[:-1].any()


def plan_temperature(problem: Problem, mu: float, *, penalised: bool) -> Temperature | None:
    """The plan for a problem, or None where there is no temperature to ask for.

    That is the case for losses whose scores are not log-odds, within a constraint, which a factor
    could leave, and where noise would hide the answer: below ``n mu`` of 40. Up to about 300 for
    two classes and 400 for more the answer is rough, and none for a penalty that the user asked
    for. Scores of text of two classes, which are mostly noise then, are brought to the scale that
    public facts let expect, unless the user asked for the penalty.

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
    reach = min(tuned.MOST_REACH, max(tuned.LEAST_REACH, evidence / tuned.EVIDENCE_A_UNIT))
    spread = tuned.SPREAD_OF_TWO if problem.loss.n_scores == 1 else tuned.SPREAD_OF_SEVERAL
    noise = spread * reach * sqrt(tuned.SCALES.size) / evidence
    aim = tuned.NOISE_OF_TEXT if problem.wide else tuned.NOISE
    share = min(tuned.MOST_SHARE, max(tuned.LEAST_SHARE, (noise / aim) ** 2))
    drowned = noise**2 / share > tuned.DROWNED_VARIANCE * tuned.SLOPE * tuned.VARIANCE
    alike = problem.loss.n_scores > 1 or penalised or not problem.wide
    found = Temperature(share, reach, penalised, inf if alike else evidence)
    if not drowned:
        return found
    if evidence >= tuned.ROUGH_EVIDENCE and not (problem.wide or penalised):
        return replace(found, share=tuned.MOST_SHARE, rough=True)
    return replace(found, share=0.0) if found.evidence < tuned.EVIDENCE_OF_TEXT else None


def _slopes_of_penalty(problem: Problem, w: np.ndarray) -> np.ndarray:
    """Derivatives of the penalty of a w with respect to the factor a, at each of the scales."""
    value, v = problem.penalty.value, w[: problem.n_features]
    # Penalties are quadratic or homogeneous, for which central differences are exact.
    return np.array([(value(1.1 * a * v) - value(0.9 * a * v)) / (0.2 * a) for a in tuned.SCALES])


def _root(increasing: np.ndarray) -> float:
    """Scale at which answers cross zero, by interpolation in log a, or the nearer end."""
    return float(np.exp(np.interp(0.0, increasing, np.log(tuned.SCALES))))
