"""Buffered linear Toeplitz noise with columns of equal norm: near the best, from few buffers."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import log, sqrt

import numpy as np
from scipy.linalg import solve_banded

from .prefix_sums import Correlator, PrefixSumMechanism

# Far above the rounding of sums of a few positive numbers, and of the recursion that makes noise.
_ROUND_UP = 1 + 1e-9
# Steps whose scales, or whose variances, are computed at once.
_CHUNK, _BLOCK = 256, 1 << 15


class _Buffers(Correlator):
    """The noise of the last sum, and decaying sums of all normals, each with a rate of its own."""

    def __init__(self, mechanism: BLT, size: int) -> None:
        self._mechanism = mechanism
        self._weights, rates = mechanism.inverse
        self._decay = 1 - rates[:, np.newaxis]
        self._buffers = np.zeros((len(rates), size))
        self._sum = np.zeros(size)
        self._t = 0
        self._scales = np.empty(0)

    def step(self, z: np.ndarray) -> np.ndarray:
        if self._t % _CHUNK == 0:
            ahead = np.arange(self._t, min(self._t + _CHUNK, self._mechanism.length))
            self._scales = self._mechanism.scales(ahead + 1)
        term = z - self._weights @ self._buffers
        self._buffers *= self._decay
        self._buffers += z
        term *= self._scales[self._t % _CHUNK]
        self._sum += term
        self._t += 1
        return self._sum.copy()


@dataclass(frozen=True)
class BLT(PrefixSumMechanism):
    r"""Prefix sums by a buffered linear Toeplitz matrix with normalised columns.

    The matrix T is lower triangular with constant diagonals (Dvijotham et al., 2024), whose
    entries and those of its inverse are the coefficients of

    .. math:: T(x) = \prod_{i=1}^m \frac{1 - (1 - b_i) x}{1 - (1 - a_i) x}, \qquad
              0 < a_1 < b_1 < a_2 < \dots < b_m < 1.

    As the rates interlace, in partial fractions all weights are positive: with k = 1, 2, ...,

    .. math:: T_0 = 1, \quad T_k = \sum_i \omega_i (1 - a_i)^{k-1}, \quad
              \omega_i = \frac{\prod_j (b_j - a_i)}{\prod_{j \ne i} (a_j - a_i)}, \\
              (T^{-1})_0 = 1, \quad (T^{-1})_k = -\sum_i \kappa_i (1 - b_i)^{k-1}, \quad
              \kappa_i = -\frac{\prod_j (a_j - b_i)}{\prod_{j \ne i} (b_j - b_i)}.

    Entries of T decrease, so its first column has the largest norm and the others are shorter:
    they end earlier. Longer columns there cost nothing, so C is T with every column scaled to the
    norm of the first (Henzinger, Kalinin and Upadhyay, 2026, for another T):

    .. math:: C = T D^{-1}, \qquad B = A D T^{-1}, \qquad
              D_{tt}^2 = \frac{\sum_{k \le n - t} T_k^2}{\sum_{k < n} T_k^2} \le 1,

    and B C = A. So the noise of step t adds the vector :math:`D_{tt} y_t` to that of step t - 1,
    where

    .. math:: y_t = z_t - \sum_i \kappa_i v_{i,t}, \qquad v_{i,t+1} = (1 - b_i) v_{i,t} + z_t.

    Each buffer :math:`v_i` forgets; only their sum does not, and errors of rounding enter it once
    per step, so they stay at the rounding of the noise times the root of the number of steps.

    The squared norm of a sum of columns is bounded by the largest product of two columns at each
    distance: theorem X6 of ``docs/proofs/streams.md``. For a few visits to a long stream that is
    the norm of the sum of its first columns, but for about 1 %.

    Rates for a length come from a table for the largest error without D. With four buffers that
    error is within 2% of the least possible one up to 10^6 terms (see
    :class:`~skdp.privacy.mechanisms.toeplitz.Toeplitz`); D takes off another 3% to 7%, and 20% at
    the end of the stream. Memory is that of six terms.

    Guarantees
    ----------
    - See :class:`PrefixSumMechanism`; every term has the same price, that of ``column_norm``.
    """

    @property
    def column_norm(self) -> float:
        """Norm of the first column of T, and so of every column of C."""
        return sqrt(self._sum_of_squares(np.array([self.length]))[0]) * _ROUND_UP

    def _squared_norms(self, most: int) -> np.ndarray:
        """Upper bounds, from the largest product of two columns at each distance."""
        n = self.length
        entries = self._entries(n)
        squares = np.cumsum(entries**2)
        products = np.zeros(most)
        for apart in range(1, most):
            sums = np.cumsum(entries[: n - apart] * entries[apart:])
            cosines = sums / np.sqrt(squares[: n - apart] * squares[apart:])
            products[apart] = float(cosines.max()) * squares[-1]
        # For j columns the distance s counts 2 (j - s) times.
        pairs = np.cumsum(np.cumsum(products))
        visits = np.arange(1, most + 1)
        return (visits * squares[-1] + 2 * pairs) * _ROUND_UP

    def scales(self, steps: np.ndarray) -> np.ndarray:
        """The entries of D at these steps, 1, ..., length."""
        whole = self._sum_of_squares(np.array([self.length]))
        return np.sqrt(self._sum_of_squares(self.length + 1 - np.asarray(steps)) / whole)

    @property
    def inverse(self) -> tuple[np.ndarray, np.ndarray]:
        """Weights ``kappa`` and rates ``b`` of the inverse of T, each (4,)."""
        a, b = self._rates
        return -np.prod(a - b[:, np.newaxis], axis=1) / _gaps(b), b

    def variances(self, steps: np.ndarray) -> np.ndarray:
        """Squared norms of rows of B, from the first to the last that is asked for.

        They come from the covariances of y_t, of the buffers, and of the noise before t.
        """
        steps = np.asarray(steps)
        last = int(steps.max())
        weights, rates = self.inverse
        with_buffers = np.zeros(len(rates))
        out = np.empty(last)
        for start in range(0, last, _BLOCK):
            earlier = np.arange(start, min(start + _BLOCK, last))
            scales = self.scales(earlier + 1)
            of_term, with_sum = np.ones(len(earlier)), np.zeros(len(earlier))
            for i, (weight, rate) in enumerate(zip(weights, rates, strict=True)):
                of_buffer = -_power_sums(rate, rates, earlier) @ weights
                of_term -= weight * of_buffer
                # A buffer's covariance with the sum: each step it forgets, and meets a new term.
                gained = np.append(with_buffers[i], scales * (1 + (1 - rate) * of_buffer))
                bands = np.ones((2, len(gained)))
                bands[1] = rate - 1
                covariances = solve_banded((1, 0), bands, gained)
                with_sum -= weight * covariances[:-1]
                with_buffers[i] = covariances[-1]
            out[earlier] = scales**2 * of_term + 2 * scales * with_sum
        return np.cumsum(out)[steps - 1]

    def correlator(self, size: int) -> Correlator:
        """The buffers and the noise of the last sum."""
        return _Buffers(self, size)

    def _entries(self, count: int) -> np.ndarray:
        """The first entries of T."""
        a, b = self._rates
        weights = np.prod(b - a[:, np.newaxis], axis=1) / _gaps(a)
        powers = np.exp(np.multiply.outer(np.arange(count - 1), np.log1p(-a)))
        return np.append(1.0, powers @ weights)

    def _sum_of_squares(self, entries: np.ndarray) -> np.ndarray:
        """Sum of squares of the first entries of T."""
        a, b = self._rates
        weights = np.prod(b - a[:, np.newaxis], axis=1) / _gaps(a)
        out = np.ones(len(entries))
        for weight, rate in zip(weights, a, strict=True):
            out += weight * (_power_sums(rate, a, entries - 1) @ weights)
        return out

    @cached_property
    def _rates(self) -> tuple[np.ndarray, np.ndarray]:
        return decay_rates(self.length)


def _gaps(rates: np.ndarray) -> np.ndarray:
    """Product of all others' distances from each rate, with their signs."""
    differences = rates - rates[:, np.newaxis]
    np.fill_diagonal(differences, 1.0)
    return np.prod(differences, axis=1)


def _power_sums(rate: float, rates: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Sums of ``((1 - rate) (1 - rates))**k`` over k < count, (counts, rates)."""
    # Accurate also where a rate is near the rounding of one minus it.
    both = rate + rates - rate * rates
    return -np.expm1(np.multiply.outer(counts, np.log1p(-both))) / both


# For lengths 4^2, 4^3, ..., 4^15: rates a_1 < b_1 < a_2 < b_2 < ... in the notation of BLT, found
# by minimising the largest error over them and rounded. Privacy does not rest on them: the norm of
# a column is computed from whatever rates are used.
_FIRST, _BASE = 2, 4
_RATES = (
    (0.02096, 0.08323, 0.1848, 0.3218, 0.4868, 0.6654, 0.8327, 0.9549),
    (0.007595, 0.03175, 0.07734, 0.1545, 0.2786, 0.4626, 0.6946, 0.9093),
    (0.002524, 0.01117, 0.03009, 0.06941, 0.1499, 0.3047, 0.5589, 0.8556),
    (0.0007707, 0.003644, 0.0111, 0.0301, 0.07816, 0.1942, 0.4372, 0.7961),
    (0.0002252, 0.001141, 0.00395, 0.01266, 0.03948, 0.1195, 0.3316, 0.7308),
    (6.543e-05, 0.0003578, 0.001416, 0.005358, 0.01997, 0.07291, 0.2476, 0.6646),
    (1.922e-05, 0.0001147, 0.0005213, 0.002324, 0.01027, 0.04476, 0.184, 0.6004),
    (5.738e-06, 3.801e-05, 0.0001991, 0.001041, 0.005409, 0.02787, 0.137, 0.5403),
    (1.723e-06, 1.289e-05, 7.823e-05, 0.0004774, 0.002903, 0.01755, 0.1023, 0.4846),
    (5.124e-07, 4.379e-06, 3.093e-05, 0.0002202, 0.001564, 0.01107, 0.07609, 0.4324),
    (1.502e-07, 1.474e-06, 1.216e-05, 0.0001011, 0.0008396, 0.006954, 0.05632, 0.3836),
    (4.358e-08, 4.921e-07, 4.749e-06, 4.618e-05, 0.0004486, 0.004351, 0.04148, 0.3384),
    (1.255e-08, 1.633e-07, 1.847e-06, 2.102e-05, 0.000239, 0.002715, 0.03045, 0.2971),
    (3.605e-09, 5.409e-08, 7.167e-07, 9.549e-06, 0.0001272, 0.001692, 0.0223, 0.2599),
)


def decay_rates(length: int) -> tuple[np.ndarray, np.ndarray]:
    """Rates for this number of terms, by interpolation of logarithms.

    Beyond the ends of the table its first or last row is taken. Interlaced rows have interlaced
    averages, so what is returned interlaces as well. Both a and b have the shape (4,) and entries
    in (0, 1), with ``a[0] < b[0] < a[1] < b[1] < ...``.
    """
    table = np.log(_RATES)
    rows = np.arange(len(table))
    place = log(length, _BASE) - _FIRST
    rates = np.exp([np.interp(place, rows, column) for column in table.T])
    # As the running code will see them: 1 minus a decay factor in double precision.
    rates = 1 - (1 - rates)
    return rates[0::2], rates[1::2]
