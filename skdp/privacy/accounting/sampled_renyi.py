r"""Renyi divergence of one Poisson-sampled Gaussian release.

:mod:`skdp.privacy.accounting.subsampling` proves which pairs of distributions dominate a release:
in units of the bound on a row, with z the noise multiplier and q the rate,

* under replace-one ``(1 - q) N(0) + q N(1)`` against ``(1 - q) N(0) + q N(-1)``, which is its own
  mirror image;
* under zero-out N(0) against ``(1 - q) N(0) + q N(1)``, and the exchange of both,

all with standard deviation z. A pair that dominates all hockey-stick divergences dominates all
Renyi divergences, because these are mixtures of those (Sason and Verdu, 2016). What is left is an
integral in one dimension of a function that is analytic and falls off like a normal density, for
which sums over a regular grid converge faster than any power of its spacing.
"""

from __future__ import annotations

from functools import lru_cache
from math import ceil, log, log1p

import numpy as np
from scipy.special import logsumexp

from ..adjacency import Adjacency

__all__ = ["sampled_renyi"]

# Grid points a standard deviation, and standard deviations beyond the outermost peak.
_FINE, _TAIL = 12, 14.0
# More points are not worth it; who asks for them is told no bound.
_MOST_POINTS = 200_000
# Far above what is left out and rounded, as a part of the integral.
_MARGIN = 1e-9


@lru_cache(maxsize=4096)
def sampled_renyi(rate: float, multiplier: float, order: float, adjacency: Adjacency) -> float:
    """Renyi divergence of an order, the larger of both directions, rounded up.

    Parameters
    ----------
    rate : float
        Sampling rate, in (0, 1].
    multiplier : float
        Standard deviation of the noise in units of the bound on a row, positive.
    order : float
        Above 1.
    adjacency : Adjacency
        Neighbouring relation.

    Returns
    -------
    float
        The divergence; infinite where the integral would take too many points.
    """
    # Where every row is drawn the integrand is a normal density around 2 order - 1; else the
    # centres are nearer. It is analytic up to pi z^2 from the real axis, where a mixture has its
    # zeros.
    reach = 2 * order + 1 + _TAIL * multiplier
    points = ceil(2 * reach / min(multiplier, 3 * multiplier**2) * _FINE)
    if points > _MOST_POINTS:
        return float("inf")
    x = np.linspace(-reach, reach, points)
    with_row, zero = _mixture(x, 1.0, rate, multiplier), -x * x / (2 * multiplier**2)
    against = _mixture(x, -1.0, rate, multiplier)
    pairs = [(with_row, against)]
    if adjacency is Adjacency.ZERO_OUT:
        pairs = [(with_row, zero), (zero, with_row)]
    density = log(x[1] - x[0]) - log(multiplier) - 0.5 * log(2 * np.pi)
    integrals = [float(logsumexp(order * p + (1 - order) * q)) + density for p, q in pairs]
    return (max(0.0, *integrals) + log1p(_MARGIN)) / (order - 1)


def _mixture(x: np.ndarray, centre: float, rate: float, multiplier: float) -> np.ndarray:
    row = -((x - centre) ** 2) / (2 * multiplier**2) + log(rate)
    if rate == 1.0:
        return row
    return np.logaddexp(row, -x * x / (2 * multiplier**2) + log1p(-rate))
