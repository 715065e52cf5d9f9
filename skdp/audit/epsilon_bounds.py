r"""Lower bounds on epsilon from errors of a test of two data sets.

A test says "second" where a statistic of what was published is above a threshold. With alpha the
probability that it says so of the first data set, and beta that it does not of the second one,

- (epsilon, delta)-DP means ``1 - beta <= exp(epsilon) alpha + delta`` and
  ``1 - alpha <= exp(epsilon) beta + delta`` (Kairouz, Oh and Viswanath, 2015);
- mu-GDP means ``mu >= Phi^-1(1 - alpha) - Phi^-1(beta)`` (Dong, Roth and Su, 2022).

For epsilon, both sides are monotone in alpha and beta, so upper limits on the two, each right with
probability ``1 - failure / 2``, give a lower bound that is right with probability ``1 - failure``.
For mu, whatever the threshold, ``(alpha + beta) / 2 >= Phi(-mu / 2)``, so an upper limit on the
share of errors among as many runs on either data set is enough. The errors of the two are
binomial with different probabilities; their sum has lighter tails than a binomial of the mean
probability (Hoeffding, 1956, theorem 4: for counts at least 1 away from the mean), so the limit of
Clopper and Pearson holds for it. Both hold for a statistic and a threshold that were fixed before
the runs counted here, or chosen by other runs.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import log
from typing import Literal

import numpy as np
from scipy.special import ndtri
from scipy.stats import beta as beta_law

from ..privacy.accounting import gdp

# "clopper_pearson": for any (epsilon, delta) claim. "gaussian": for claims of Gaussian DP.
Bound = Literal["clopper_pearson", "gaussian"]

# Thresholds that are tried on the runs set aside for that.
_CANDIDATES = 200
# Epsilons beyond this leave no privacy to be refuted.
_LARGEST, _STEP = 60.0, 0.25


@dataclass(frozen=True)
class Counts:
    """Error counts of a test that tells two data sets apart.

    Parameters
    ----------
    false_positives : int
        How often it said "second" of the first data set.
    of_first : int
        Number of runs on the first data set.
    false_negatives : int
        How often it said "first" of the second data set.
    of_second : int
        Number of runs on the second data set.
    """

    false_positives: int
    of_first: int
    false_negatives: int
    of_second: int

    def limits(self, failure: float) -> tuple[float, float]:
        """Upper limits on alpha and beta that are both right with probability ``1 - failure``."""
        return (
            upper_limit(self.false_positives, self.of_first, failure / 2),
            upper_limit(self.false_negatives, self.of_second, failure / 2),
        )

    def epsilon(self, delta: float, failure: float) -> float:
        """Lower bound on epsilon at this delta; too high with probability ``failure`` at most."""
        alpha, beta = self.limits(failure)
        gains = [(1 - b - delta) / a for a, b in ((alpha, beta), (beta, alpha))]
        return max([0.0, *(log(gain) for gain in gains if gain > 0)])

    def mu(self, failure: float) -> float:
        """Lower bound on mu of Gaussian DP; too high with probability ``failure`` at most."""
        wrong = self.false_positives + self.false_negatives
        # At more than a quarter the limit could lie between the mean and the count next to it.
        share = upper_limit(wrong, self.of_first + self.of_second, min(failure, 0.25))
        return max(0.0, -2.0 * float(ndtri(share)))

    def bound(self, bound: Bound, delta: float, failure: float) -> float:
        """The epsilon of one of the two bounds."""
        if bound == "gaussian":
            return gdp.epsilon(self.mu(failure), delta)
        return self.epsilon(delta, failure)


def upper_limit(successes: int, trials: int, failure: float) -> float:
    """Upper limit on a probability by Clopper and Pearson (1934).

    Parameters
    ----------
    successes : int
        How often something happened.
    trials : int
        In how many independent trials.
    failure : float
        Probability with which the limit may be below the true probability.

    Returns
    -------
    float
        In (0, 1].
    """
    if successes >= trials:
        return 1.0
    return float(beta_law.isf(failure, successes + 1, trials - successes))


def count(first: np.ndarray, second: np.ndarray, threshold: float) -> Counts:
    """Count the errors of a threshold.

    Parameters
    ----------
    first, second : ndarray
        The statistic in runs on the two data sets.
    threshold : float
        Above it the test says "second".
    """
    # The same decision for the same number, also for one that is none.
    said = [values > threshold for values in (first, second)]
    return Counts(int(said[0].sum()), len(first), int((~said[1]).sum()), len(second))


def best_threshold(
    first: np.ndarray, second: np.ndarray, bound: Bound, delta: float, failure: float
) -> float:
    """The threshold with the largest bound on these runs, which must not be counted again.

    Parameters
    ----------
    first, second : ndarray
        The statistic in runs that were set aside.
    bound : {'clopper_pearson', 'gaussian'}
        Which bound.
    delta, failure : float
        As for the bound.
    """
    both = np.concatenate([first, second])
    candidates = np.unique(np.quantile(both, np.linspace(0, 1, _CANDIDATES), method="lower"))
    found = [count(first, second, c).bound(bound, delta, failure) for c in candidates]
    # The middle of those that do as well, for a statistic with few values and for ties at 0.
    best = np.flatnonzero(np.array(found) >= max(found) - 1e-12)
    return float(candidates[best[best.size // 2]])
