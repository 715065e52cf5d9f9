r"""One objective perturbation beside Gaussian releases: from mu to (epsilon, delta) and back.

What is released
----------------
With rows of norm at most R, a public quadratic ``q(w)`` whose Hessian is at least ``Lambda I``, and
noise ``b ~ N(0, s^2 I)``, the minimiser ``w*`` of

    F(w) + <b, w>,    F(w) = sum_i l_i(<w, x_i>) + q(w).

Each l_i is convex, and its derivative is Lipschitz and *one-sided*: up to a sign ``t_i`` that the
label fixes it lies in ``[0, C_i]`` with ``C_i ||x_i|| <= B``. Where it is differentiable, its slope
h satisfies ``h ||x_i||^2 <= S``.

Proof
-----
1. *Density.* ``w* = w`` if and only if ``b = b(w) = -grad F(w)``. The map b is Lipschitz and, as F
   is Lambda-strongly convex, invertible with a Lipschitz inverse. Such maps are differentiable
   almost everywhere and obey the rule for a change of variables, so w* has the density
   ``phi_s(b(w)) |det grad b(w)|``.
2. *Jacobians.* Let D' have the row x2 where D has x1. Both determinants are those of
   ``A + h_k x_k x_k'`` with the same ``A >= Lambda I``, so their ratio is

       (1 + h_1 x_1' A^-1 x_1) / (1 + h_2 x_2' A^-1 x_2) <= 1 + S / Lambda =: e^J.

   A row that is zeroed out has h = 0, so the bound holds for it too, both ways.
3. *Densities of the noise.* ``b' = b + Delta`` at the same w, with
   ``Delta = a_1 u_1 - a_2 u_2``, ``u_k = t_k x_k``, ``a_k in [0, C_k]`` some functions of w. So the
   log-ratio of the densities of w* is at most ``G(a) + J`` with

       G(a) = (2 <b, Delta> + ||Delta||^2) / (2 s^2),

   a convex function of ``(a_1, a_2)``: on the box it is at most its largest value at the vertices,
   whose Delta are ``0``, ``C_1 u_1``, ``-C_2 u_2`` and ``C_1 u_1 - C_2 u_2``, of norms at most 0,
   B, B and 2 B. For a vertex, Delta no longer depends on w.
4. *With Gaussian releases*, before or after, chosen with the answers in view: let ``xi_t`` be the
   standard normal noise of release t and ``d_t`` the move of its exact answer in units of its
   noise. The log-ratio of all that is released is at most ``max_v L_v + J``,

       L_v = <b, Delta_v> / s^2 + ||Delta_v||^2 / (2 s^2) + sum_t <xi_t, d_t> + ||d_t||^2 / 2,

   where ``d_t`` is known before ``xi_t`` is drawn. If squares sum to at most T_v, whatever happens,
   add a release that does nothing else than to bring them to T_v. It adds to L_v an increment g
   with ``E[e^-g] = 1`` given the rest, so that by Jensen's inequality no
   ``E[(1 - e^(e - L_v))_+]`` becomes smaller, and L_v is then normal with mean ``T_v / 2`` and
   variance T_v (its characteristic function is an exponential martingale). Hence, with
   ``HS_e(mu)`` the privacy profile of mu-Gaussian DP,

       delta(epsilon) <= E[(1 - e^(epsilon - J - max_v L_v))_+]
                      <= sum_v HS_(epsilon - J)(sqrt(T_v)).

   Nothing is assumed of how the releases are chosen but the bound on the sum: it may be used as a
   filter.
5. *In one number.* Let the squares of all Gaussian releases sum to ``T - P`` where
   ``P >= (2 B / s)^2`` is the price of the perturbation, let ``P >= T / 2`` and
   ``J <= KAPPA sqrt(P)``. Then ``T_v`` is at most T, twice ``T - 3 P / 4 <= 5 T / 8``, and
   ``T - P <= T / 2``. With ``mu = sqrt(T)`` and ``e = epsilon - KAPPA mu >= 0``,

       delta(epsilon) <= HS_e(mu) + 2 HS_e(sqrt(5/8) mu) + HS_e(sqrt(1/2) mu).

   This holds too if P, or whether there is a perturbation at all, is chosen with earlier answers
   in view. Without one all L_v are the same, and counted once, as the first term; and an L_v that
   is halted where it would exceed its own ``T_v`` is complete wherever there is one.

   For a delta below 0.001 the last two terms are a small fraction of the first. Under zero-out the
   vertices are 0 and ``C_1 u_1``, and ``P >= (B / s)^2`` suffices.

6. *Minimisers are computed.* What is computed is ``w* + e`` with ``||e|| <= gamma / Lambda``, since
   the gradient of the objective there has a norm of at most gamma and the objective is
   Lambda-strongly convex. Given the data, e is a function of b and so of w*. Think of w* as
   released, and then of the computed point with noise ``N(0, s_out^2 I)``: given w*, this is a
   Gaussian release of an answer that moves by at most ``2 gamma / Lambda``, one of those of
   step 4. That w* is not released after all is post-processing. The price of the whole is P plus
   the share ``OUTPUT_SHARE`` of it, so ledgers demand that the whole be at
   least 0.51 T (see ``Event.least_share``), with which P is above T / 2.

A second perturbation would add its own J and multiply the vertices by four. Half of the total each
is more than there is, so the condition on P, made strict, also says that there is one only.

Privacy units of several rows
-----------------------------
Neighbours differ in all rows of a unit, whose weights ``v_i`` sum to 1 (at most 1). The gradients
of a unit move along as many lines as it has rows, and their vertices are too many to be counted.
Steps 1 and 6 stay as they are, and in place of the others:

2'. Both determinants are those of ``A + E_k``, ``E_k = sum_i v_i h_i x_i x_i'`` of a trace of at
    most S. With the p eigenvalues of ``A^-1/2 E_1 A^-1/2``, which sum to at most ``S / Lambda``,
    the ratio is at most ``prod (1 + e_j) <= (1 + S / (p Lambda))^p =: e^J``, by the inequality of
    the means.
3'. ``Delta = sum_i v_i a_i u_i - sum_j v'_j a'_j u'_j``, which is the mean ``sum_ij v_i v'_j
    Delta_ij`` of what single rows would do, ``Delta_ij = a_i u_i - a'_j u'_j``. G is convex in
    Delta, so G is at most the mean of the ``G(Delta_ij)``, each of which is at most its largest
    value at four vertices of its own, by step 3.
4'. So the log-ratio of all that is released is at most ``J`` plus the mean of ``M_ij = max_v
    L_v^ij``. Let Psi be convex, increasing, non-negative and nowhere less than ``psi(x) =
    (1 - e^-x)_+``. Then

        delta(epsilon) <= E[psi(J + mean M_ij - epsilon)] <= mean E[Psi(M_ij - (epsilon - J))]
                       <= max_ij sum_v E[Psi(L_v^ij - (epsilon - J))],

    and a release that brings the squares to T_v adds an increment of mean at least 0, given the
    rest, so that by Jensen's inequality E[Psi] does not become smaller. L_v is then normal with
    mean ``T_v / 2`` and variance T_v. psi is 0 and then concave, so each of its tangents, cut off
    at 0, is such a Psi: ``Psi_y(x) = e^-y (x - y + e^y - 1)_+``, touching at y >= 0. With m the
    mean of a normal and s its deviation, and z = (c - m) / s,

        E[(N - c)_+] = s (phi(z) - z Phi(-z)).

    ``K_e(mu)``, the sum over v with the best y, stands in place of the sum of HS in step 5. Where
    mu is small, excesses over epsilon are small too and a tangent at 0 is nearly psi: at
    epsilon = 1 and delta = 1e-5 noise is 0.15 % more than for rows, and at epsilon = 10 0.6 %.

Moments are bounded in the same way, as ``x -> e^(t x)`` is convex and increases: with J of 2' the
Renyi divergences of rows (:mod:`skdp.privacy.accounting.divergences`) are those of units.

Sources: Chaudhuri, Monteleoni and Sarwate (2011) and Kifer, Smith and Thakurta (2012) for the
mechanism and the Jacobian; Redberg, Koskela and Wang (2023) for accounting by the profile. They
bound the norm of Delta under add/remove, where one vertex is left; the vertices, replace-one and
the composition are derived above.

Guarantees
----------
- `mu` never returns more, and `epsilon` never less, than the exact value of the bound: both leave a
  relative margin of 1e-12 in mu.
"""

import math

import numpy as np
from scipy.optimize import brentq
from scipy.special import erfcx, ndtr

from ...validation import check_delta, check_non_negative
from . import gdp

__all__ = ["KAPPA", "OUTPUT_SHARE", "epsilon", "log_delta", "log_delta_of_units", "mu"]

# Most that the Jacobian may add to epsilon, a unit of mu.
KAPPA = 0.4
# Of the price of a perturbation, for the noise on the computed minimiser.
OUTPUT_SHARE = 1 / 256

_MARGIN = 1e-12
_VERTICES = ((1.0, 1.0), (0.625, 2.0), (0.5, 1.0))
# Where tangents touch, in epsilon. Each is a bound; with the best of these little is lost.
_TOUCH = np.append(0.0, np.geomspace(1e-3, 10.0, 60))


def log_delta(mu: float, epsilon: float, of_units: bool = False) -> float:
    """Logarithm of the delta that a total of mu^2 implies at epsilon.

    Parameters
    ----------
    mu : float
        Root of the total, in [0, inf].
    epsilon : float
        Privacy loss, in [0, inf].
    of_units : bool, default=False
        Whether neighbours differ in all rows of a privacy unit.

    Returns
    -------
    float
        log(delta), at most 0; 0 if epsilon is less than ``KAPPA mu``.

    Raises
    ------
    ValueError
        If mu or epsilon is negative or not a number.
    """
    check_non_negative("perturbation.log_delta", "mu", mu)
    check_non_negative("perturbation.log_delta", "epsilon", epsilon)
    offset = epsilon - KAPPA * mu
    return min(0.0, _log_sum(mu, offset, of_units)) if offset >= 0 else 0.0


def mu(epsilon: float, delta: float, of_units: bool = False) -> float:
    """Largest mu at which a total of mu^2 still implies (epsilon, delta)-DP, rounded down.

    The bound increases with mu. Its root lies below that of its first term and below
    ``epsilon / KAPPA``, and above the level at which four times the first term suffices for half of
    epsilon, the other half paying for the Jacobian; for units above a share of that.

    Parameters
    ----------
    epsilon : float
        Privacy loss, in [0, inf].
    delta : float
        Failure probability, in [4e-300, 1).
    of_units : bool, default=False
        As for :func:`log_delta`.

    Returns
    -------
    float
        The level; infinite if epsilon is.

    Raises
    ------
    ValueError
        If epsilon is negative or not a number, or delta outside its range.
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
    """Smallest epsilon for which a total of mu^2 implies (epsilon, delta)-DP, rounded up.

    Parameters
    ----------
    mu : float
        Root of the total, in [0, inf].
    delta : float
        Failure probability, in [4e-300, 1).
    of_units : bool, default=False
        As for :func:`log_delta`.

    Returns
    -------
    float
        Privacy loss; 0 if mu is zero, infinite if mu is.

    Raises
    ------
    ValueError
        If mu is negative or not a number, or delta outside its range.
    """
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

    Parameters
    ----------
    levels : list of (float, float)
        Of each vertex the level, positive, and the logarithm of how many there are.
    offset : float
        Epsilon less all J.
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
