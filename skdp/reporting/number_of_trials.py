r"""Privacy of the best of a secret, random number of trials.

A search runs a mechanism Q, which trains a model and releases a noisy score with it, K times, with
K secret, and returns the outcome of the highest score. Let p be the probability, under Q, that a
trial beats the outcome y; ties are broken at random, which makes p well defined. With the
generating function f(q) = E[q^K], the search returns y with density f'(1 - p) Q(y).

Let R bound f'(1 - p) / f'(1 - p') over neighbours and outcomes, where p' is the probability for the
neighbour. Then a search A beside any releases satisfies

    delta_A(epsilon) <= E[K] delta_P(epsilon - log R),

with P a single trial in the place of the search, beside the same releases; R follows from the
profile of a trial alone.

Proofs: theorems R1 and R2 of ``docs/proofs/search.md``. Liu and Talwar (2019) began this, Papernot
and Steinke (2022) treat Renyi divergences, and Koskela, Redberg and Wang (2024) have this form with
R bounded by one point of the profile.

Guarantees
----------
- All functions here err on the safe side: the ratio is bounded over cells, not sampled.
- The divergences of :meth:`NumberOfTrials.renyi` are those of Papernot and Steinke; they are for
  totals that hold more than this module covers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import expm1, inf, log, sqrt
from typing import final

import numpy as np
from scipy.optimize import brentq
from scipy.special import ndtr

# Means beyond would ask for more trials than anybody waits for.
_LARGEST_MEAN = 1e6
# Probability left when a draw stops adding up: below the resolution of the uniform number.
_NOTHING = 1e-18
# Distributions of a smaller log(E[K]) are taken to be a single trial.
_NO_SPREAD = 1e-9
# Outcomes are told apart up to this quantile of the standard normal distribution.
_REACH = 9.0
_QUANTILES = 8000
_LOSSES = (0.0, *np.geomspace(1e-3, 30.0, 80).tolist())
# The least that accountants take.
_LEAST_DELTA = 1e-300
# Far above the rounding of the sums below, as a relative change of the answers.
_MARGIN = 1e-9


@final
@dataclass(frozen=True)
class NumberOfTrials:
    r"""Logarithmic distribution of the number of trials K >= 1 of a search.

    .. math:: P[K = k] = \frac{(1 - \gamma)^k}{k \log(1 / \gamma)}

    Its generating function f has f'(1 - p) = E[K] / (1 + p (1 - gamma) / gamma). It is the
    truncated negative binomial distribution of Papernot and Steinke with eta = 0.

    Parameters
    ----------
    mean : float
        Expected number of trials, in [1, 1e6].

    Raises
    ------
    ValueError
        If the mean is outside its range.

    References
    ----------
    Papernot and Steinke, "Hyperparameter tuning with Renyi differential privacy", 2022.
    """

    mean: float

    def __post_init__(self) -> None:
        if not 1 <= self.mean <= _LARGEST_MEAN:
            raise ValueError(
                f"{type(self).__name__} needs a mean in [1, 1e6], got {self.mean}; let n_iter be "
                "in this range."
            )

    @cached_property
    def log_gamma(self) -> float:
        """log(gamma) for which E[K] = (1 / gamma - 1) / log(1 / gamma) is the mean."""
        target = log(self.mean)
        if target < _NO_SPREAD:
            return 0.0

        def excess(g: float) -> float:
            return log(-expm1(g)) - g - log(-g) - target

        low, high = -1.0, -1e-12
        while excess(low) < 0:
            low, high = 2 * low, low
        return float(brentq(excess, low, high, xtol=1e-13))

    @cached_property
    def odds(self) -> float:
        """(1 - gamma) / gamma, by one more than which f'(1) exceeds f'(0) as a factor."""
        return expm1(-self.log_gamma)

    @property
    def once(self) -> float:
        """Probability of a single trial, f'(0)."""
        return self.mean / (1 + self.odds)

    def slope(self, beaten: np.ndarray) -> np.ndarray:
        """f'(1 - p) for probabilities p of being beaten, in [0, 1]; decreases from the mean."""
        return self.mean / (1 + self.odds * beaten)

    def renyi(self, order: float, rho: float) -> float:
        """Renyi divergence of a search whose trials are rho-zCDP.

        Theorem 2 of Papernot and Steinke (2022), at the best second order.

        Parameters
        ----------
        order : float
            Order a > 1.
        rho : float
            Level of zero-concentrated differential privacy of a trial, that is, a bound rho a on
            its divergence of every order a.
        """
        if not 0 < rho < inf:
            return 0.0 if rho == 0 else inf
        # (1 - 1/b) b rho + log(1/gamma) / b is least over b >= 1 at this b.
        second = max(1.0, sqrt(-self.log_gamma / rho))
        growth = (second - 1) * rho - self.log_gamma / second
        # Divergences increase with the order, so that one of a larger order will do.
        larger = max(order, 1 + sqrt(log(self.mean) / rho))
        return min(a * rho + growth + log(self.mean) / (a - 1) for a in (order, larger))

    def draw(self, uniform: float) -> int:
        """Number of trials, by inversion of a uniform number in (0, 1).

        Parameters
        ----------
        uniform : float
            Secret.
        """
        k, share = 1, self.once
        below = share
        while below < uniform and (k < self.mean or share > _NOTHING):
            share *= -expm1(self.log_gamma) * k / (k + 1)
            below += share
            k += 1
        return k


def epsilon(
    delta: float,
    trials: NumberOfTrials,
    trial: Callable[[float], float],
    together: Callable[[float], float],
    losses: Sequence[float] | None = None,
) -> float:
    """Epsilon for which a search is (epsilon, delta)-DP together with other releases.

    Parameters
    ----------
    delta : float
        Failure probability of all together, in (0, 1).
    trials : NumberOfTrials
        Distribution of the number of trials.
    trial : callable
        The delta of a trial of any kind, its score included, for a given epsilon >= 0.
    together : callable
        The epsilon at a given delta of a single trial and the other releases.
    losses : sequence of float, optional
        Epsilons at which ``trial`` is asked; a list that suits most trials if there is none.
    """
    single = delta / trials.mean * (1 - _MARGIN)
    if single < _LEAST_DELTA:
        return inf
    return (log(largest_ratio(trials, trial, losses)) + together(single)) * (1 + _MARGIN)


def largest_ratio(
    trials: NumberOfTrials, trial: Callable[[float], float], losses: Sequence[float] | None = None
) -> float:
    """Most by which f'(1 - p) can exceed its value for a neighbour, whatever the outcome.

    For every x, p' <= e^x p + delta(x) and 1 - p <= e^x (1 - p') + delta(x). ``losses`` are the x
    to use; by default many between 0 and 30.
    """
    p = ndtr(np.linspace(-_REACH, _REACH, _QUANTILES))
    # A cell is judged by the p at its left and the p' at its right end.
    left, right = np.append(0.0, p), np.append(p, 1.0)
    other = np.ones_like(right)
    for x in _LOSSES if losses is None else losses:
        slack = trial(x)
        np.minimum(other, np.exp(x) * right + slack, out=other)
        np.minimum(other, 1 - np.exp(-x) * (1 - right - slack), out=other)
    return float(np.max(trials.slope(left) / trials.slope(np.minimum(other, 1.0))))
