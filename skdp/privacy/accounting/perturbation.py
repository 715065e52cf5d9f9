r"""One objective perturbation beside Gaussian releases: from mu to (epsilon, delta) and back.

What is released
----------------
With rows of norm at most R, a public quadratic ``q(w)`` whose Hessian is at least ``Lambda I``, and
noise ``b ~ N(0, s^2 I)``, the minimiser ``w*`` of

    F(w) + <b, w>,    F(w) = sum_i l_i(<w, x_i>) + q(w).

Each l_i is convex, and its derivative is Lipschitz and *one-sided*: up to a sign ``t_i`` that the
label fixes it lies in ``[0, C_i]`` with ``C_i ||x_i|| <= B``. Where it is differentiable, its slope
h satisfies ``h ||x_i||^2 <= S``.

The price
---------
Let all that the ledger holds sum to at most T in mu^2, where the perturbation has the price
``P >= (2 B / s)^2`` (under zero-out ``(B / s)^2``), let ``P >= T / 2``, and let
``J = log(1 + S / Lambda)``, the most by which Jacobians of neighbours differ, be at most
``KAPPA sqrt(P)``. Gaussian releases come before or after, chosen with the answers in view. With
``mu = sqrt(T)``, ``e = epsilon - KAPPA mu >= 0`` and ``HS_e(mu)`` the privacy profile of
mu-Gaussian DP,

    delta(epsilon) <= HS_e(mu) + 2 HS_e(sqrt(5/8) mu) + HS_e(sqrt(1/2) mu).

Nothing is assumed of how releases are chosen but the bound on the sum: it may be used as a filter.
The minimiser is computed with a gradient of norm at most gamma, and a Gaussian release hides how
far it is off, ``gamma / Lambda`` at most. The price of the whole is P plus the share
``OUTPUT_SHARE`` of it, so ledgers demand that the whole be at least 0.51 T (see
``Event.least_share``), with which P is above T / 2, and which a second perturbation could not be as
well. Proof: theorem O1 of ``docs/proofs/objective_perturbation.md``.

Privacy units of several rows
-----------------------------
Neighbours differ in all rows of a unit, whose weights sum to at most 1, and whose gradients move
along as many lines as it has rows. The price holds with ``J = p log(1 + S / (p Lambda))`` in p
dimensions and, in place of ``HS_e(mu)``, with the least over y >= 0 of

    K_e(mu) = e^-y E[(N - e - y + e^y - 1)_+],    N ~ N(mu^2 / 2, mu^2),

by theorem U3 of ``docs/proofs/people.md``. Renyi divergences (:mod:`skdp.reporting.divergences`)
are, with this J, those of units.

Sources: Chaudhuri, Monteleoni and Sarwate (2011) and Kifer, Smith and Thakurta (2012) for the
mechanism and the Jacobian; Redberg, Koskela and Wang (2023) for accounting by the profile.

Guarantees
----------
- `mu` never returns more, and `epsilon` never less, than the exact value of the bound: both leave a
  relative margin of 1e-12 in mu.

``log_delta``, ``mu`` and ``epsilon`` take mu and epsilon in [0, inf] and delta in [4e-300, 1), and
raise a ``ValueError`` for others; ``of_units`` says that neighbours differ in all rows of a unit.
"""

import math

import numpy as np
from scipy.optimize import brentq
from scipy.special import erfcx, ndtr

from ...validation import check_delta, check_non_negative
from . import gdp

# Most that the Jacobian may add to epsilon, a unit of mu.
KAPPA = 0.4
# Of the price of a perturbation, for the noise on the computed minimiser.
OUTPUT_SHARE = 1 / 256

_MARGIN = 1e-12
_VERTICES = ((1.0, 1.0), (0.625, 2.0), (0.5, 1.0))
# Where tangents touch, in epsilon. Each is a bound; with the best of these little is lost.
_TOUCH = np.append(0.0, np.geomspace(1e-3, 10.0, 60))


def log_delta(mu: float, epsilon: float, of_units: bool = False) -> float:
    """Logarithm of the delta that a total of mu^2 implies; 0 if epsilon is below ``KAPPA mu``."""
    check_non_negative("perturbation.log_delta", "mu", mu)
    check_non_negative("perturbation.log_delta", "epsilon", epsilon)
    if mu == 0:
        return -math.inf
    offset = epsilon - KAPPA * mu
    return min(0.0, _log_sum(mu, offset, of_units)) if offset >= 0 else 0.0


def mu(epsilon: float, delta: float, of_units: bool = False) -> float:
    """Largest mu at which a total of mu^2 still implies (epsilon, delta)-DP, rounded down.

    The bound increases with mu. Its root lies below that of its first term and below
    ``epsilon / KAPPA``, and above the level at which four times the first term suffices for half of
    epsilon, the other half paying for the Jacobian; for units above a share of that.
    """
    check_non_negative("perturbation.mu", "epsilon", epsilon)
    check_delta("perturbation.mu", 0.25 * delta)
    check_delta("perturbation.mu", delta)
    if epsilon == 0 or math.isinf(epsilon):
        return float(epsilon)
    high = min(gdp.mu(epsilon, delta) * (1 + 1e-9), epsilon / KAPPA)
    low = min(gdp.mu(0.5 * epsilon, 0.25 * delta), 0.5 * epsilon / KAPPA) * (1 - 1e-9)
    goal = math.log(delta)

    def excess(level: float) -> float:
        return _log_sum(level, max(0.0, epsilon - KAPPA * level), of_units) - goal

    if excess(high) <= 0:
        return high * (1 - _MARGIN)
    while of_units and excess(low) > 0:
        low /= 2
    return float(brentq(excess, low, high, xtol=1e-16 * high, rtol=1e-14)) * (1 - _MARGIN)


def epsilon(mu: float, delta: float, of_units: bool = False) -> float:
    """Smallest epsilon for which a total of mu^2 implies (epsilon, delta)-DP, rounded up."""
    check_non_negative("perturbation.epsilon", "mu", mu)
    check_delta("perturbation.epsilon", 0.25 * delta)
    check_delta("perturbation.epsilon", delta)
    if mu == 0 or math.isinf(mu):
        return float(mu)
    level, goal = mu * (1 + _MARGIN), math.log(delta)

    def excess(offset: float) -> float:
        return _log_sum(level, offset, of_units) - goal

    offset = 0.0
    if excess(0.0) > 0:
        # The sum is at least its first term and at most four times it.
        low = gdp.epsilon(level, delta) * (1 - 1e-9)
        high = gdp.epsilon(level, 0.25 * delta) * (1 + 1e-9)
        while of_units and excess(high) > 0:
            high *= 2
        offset = float(brentq(excess, low, high, xtol=1e-16 * high, rtol=1e-14))
    return offset + KAPPA * level


def _log_sum(mu: float, offset: float, of_units: bool) -> float:
    levels = [(math.sqrt(share) * mu, math.log(copies)) for share, copies in _VERTICES]
    if of_units:
        return log_delta_of_units(levels, offset)
    return float(np.logaddexp.reduce([gdp.log_delta(m, offset) + n for m, n in levels]))


def log_delta_of_units(levels: list[tuple[float, float]], offset: float) -> float:
    """Logarithm of the best bound by a tangent, for vertices of these levels.

    Of each vertex there is the level, positive, and the logarithm of how many there are; the offset
    is epsilon less all J.
    """
    cuts = offset + _TOUCH - np.expm1(_TOUCH)
    terms = [_log_excess(m, cuts) + n for m, n in levels]
    return float((np.logaddexp.reduce(terms, axis=0) - _TOUCH).min())


def _log_excess(mu: float, cuts: np.ndarray) -> np.ndarray:
    """``log E[(N - c)_+]`` for a normal of mean ``mu^2 / 2`` and variance ``mu^2``."""
    z = cuts / mu - 0.5 * mu
    # phi(z) - z Phi(-z) is phi(z) (1 - z r) with r = Phi(-z) / phi(z), and next to 1 / z^2 of it,
    # where the difference has lost its digits, less than that.
    r = math.sqrt(0.5 * math.pi) * erfcx(np.maximum(z, 0.0) / math.sqrt(2.0))
    rest = np.log1p(-np.minimum(z * r, 1 - 1e-12))
    far = np.where(z > 100.0, -2 * np.log(np.maximum(z, 1.0)), rest)
    density = -0.5 * z * z - 0.5 * math.log(2 * math.pi)
    near = np.minimum(z, 0.0)
    below = np.log(np.exp(-0.5 * near * near) / math.sqrt(2 * math.pi) - near * ndtr(-near))
    return np.asarray(math.log(mu) + np.where(z > 0, density + far, below))
