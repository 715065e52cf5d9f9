"""Schedules: how a total of mu^2 is shared among the steps of an iterative method.

The share of step t is the fraction of mu^2 that its answer may cost, so its noise variance is
proportional to 1 / share. If the bound on the final error contains sum_t q_t sigma_t^2, where the
influence q_t says how much of the noise of step t survives until the end, then by the
Cauchy-Schwarz inequality

    (sum_t q_t sigma_t^2) (sum_t 1 / sigma_t^2) >= (sum_t sqrt(q_t))^2

with equality exactly if 1 / sigma_t^2 is proportional to sqrt(q_t): late steps, whose noise has had
less time to decay, deserve more budget (Hong, Wang & Zhou 2022, Lemma 4.4).

Guarantees
----------
- Shares depend on public numbers only and are fixed before any data is read. An influence that was
  estimated on the private data would break this.
- Every share is positive, and at least 1e-100 of the largest, so that squared noise scales stay
  finite.
- The sum stays below 1 by a few units of rounding per share: neither an exact nor a running
  sum of the costs, nor the way from share to noise scale and back, exceeds the budget.
"""

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

_Vector = npt.NDArray[np.float64]

_SMALLEST_RATIO = 1e-100
_UNIT_ROUNDOFF = 2.0**-53


def uniform(steps: int) -> _Vector:
    """Equal shares, the best choice when the noise of all steps matters equally.

    Parameters
    ----------
    steps : int
        Number of steps T, at least 1.

    Returns
    -------
    ndarray of shape (T,)
        Shares of mu^2.
    """
    return _normalised(np.ones(steps))


def exponential(steps: int, gamma: float) -> _Vector:
    """Best shares for noisy gradient descent whose error contracts by gamma in each step.

    Noise injected at step t has influence q_t = gamma^(T - t) on the final error, so the share of
    step t is proportional to gamma^((T - t) / 2); gamma = 1 gives equal shares. For a problem with
    smoothness M that satisfies the Polyak-Lojasiewicz condition with constant m, steps of
    length 1 / M contract by gamma = 1 - m / M.

    Parameters
    ----------
    steps : int
        Number of steps T, at least 1.
    gamma : float
        Contraction factor of one step, in (0, 1].

    Returns
    -------
    ndarray of shape (T,)
        Shares of mu^2, increasing.

    Notes
    -----
    Source: Hong, Wang & Zhou (2022), Lemma 4.4, with sigma_t^2 = (1/R) sum_i sqrt(q_i / q_t).
    """
    remaining = np.arange(steps - 1, -1, -1, dtype=float)
    return _from_log_influence(remaining * math.log(gamma))


def momentum(steps: int, gamma: float, beta: float) -> _Vector:
    """Best shares for noisy gradient descent with bias-corrected momentum.

    The step follows the average (1 - beta) / (1 - beta^t) sum_{i <= t} beta^(t - i) g_i of the
    noisy gradients, so noise injected at step i acts in all later steps as well. Its influence is
    its exact coefficient in the noise term U_3 of Hong, Wang & Zhou (2022), Theorem 4.6:

        q_i = sum_{t >= i} gamma^(T - t) (1 - beta)^2 / (1 - beta^t)^2 beta^(2 (t - i)),

    computed by the recursion q_i = c_i + beta^2 q_{i+1} from the last step backwards. Their
    Theorem 4.8 optimises a two-piece upper bound of q_i with unspecified constants; the exact
    coefficient minimises the bound that this was to approximate.

    Parameters
    ----------
    steps : int
        Number of steps T, at least 1.
    gamma : float
        Contraction factor of one step, in (0, 1].
    beta : float
        Momentum, in [0, 1); zero gives `exponential`.

    Returns
    -------
    ndarray of shape (T,)
        Shares of mu^2.
    """
    if beta == 0.0:
        return exponential(steps, gamma)
    log_gamma, log_beta = math.log(gamma), math.log(beta)
    log_influence = np.empty(steps)
    later = -math.inf
    for t in range(steps, 0, -1):
        correction = math.log1p(-beta) - math.log(-math.expm1(t * log_beta))
        own = (steps - t) * log_gamma + 2.0 * correction
        inherited = 2.0 * log_beta + later
        high, low = max(own, inherited), min(own, inherited)
        later = high + math.log1p(math.exp(low - high))
        log_influence[t - 1] = later
    return _from_log_influence(log_influence)


def custom(shape: Sequence[float] | _Vector) -> _Vector:
    """Shares proportional to given positive numbers.

    Parameters
    ----------
    shape : array-like of shape (T,)
        Relative shares of mu^2, positive and finite, in any unit. They must be public. Those that
        minimise sum_t q_t sigma_t^2 for an influence q are its roots, sqrt(q_t).

    Returns
    -------
    ndarray of shape (T,)
        Shares of mu^2.

    Raises
    ------
    ValueError
        If the shape is not a non-empty vector of positive finite numbers.
    """
    vector = np.asarray(shape, dtype=float)
    if vector.ndim != 1 or vector.size == 0:
        raise ValueError(
            "schedules.custom needs shape to be a non-empty vector; "
            f"got shape {vector.shape}. Pass one number per step."
        )
    if not (np.all(vector > 0.0) and np.all(np.isfinite(vector))):
        worst = vector[~((vector > 0.0) & np.isfinite(vector))][0]
        raise ValueError(
            f"schedules.custom needs shape to be positive and finite; got {worst}. "
            "Leave a step out instead of giving it nothing."
        )
    return _normalised(vector)


def _from_log_influence(log_influence: _Vector) -> _Vector:
    # The largest becomes exactly one before exponentials are taken, so long runs cannot underflow
    # as a whole.
    return _normalised(np.exp(0.5 * (log_influence - log_influence.max())))


def _normalised(shape: _Vector) -> _Vector:
    relative = np.maximum(shape / shape.max(), _SMALLEST_RATIO)
    # A running sum of n terms can be off by n roundings; sixteen more cover the products with
    # mu^2, the square root to a noise scale and the way back.
    room = (relative.size + 16) * _UNIT_ROUNDOFF
    return relative * ((1.0 - room) / math.fsum(relative))
