"""The square root of the matrix that adds up: least error, at a memory of all terms."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import sqrt

import numpy as np
from scipy.fft import irfft, rfft
from scipy.linalg import toeplitz

from .prefix_sums import Correlator, PrefixSumMechanism

# Far above the rounding of a cumulative product and of transforms.
_ROUND_UP = 1 + 1e-9
# Shorter convolutions are faster as products of matrices.
_DIRECT = 64


class _Convolution(Correlator):
    """``w_t = sum_s c_(t-s) z_s``, of which each step adds what becomes known.

    Where 2^j is the lowest bit of t, the last 2^j normals are convolved into the next 2^j sums.
    Every pair of a normal and a later sum meets once that way: it is the usual cut of a triangle
    into squares. The row of a past step is its normal, the row of a future step what its sum has
    so far.
    """

    def __init__(self, coefficients: np.ndarray, size: int) -> None:
        self._c = coefficients
        self._rows = np.zeros((len(coefficients), size))
        self._t = 0
        self._kernels: dict[int, np.ndarray] = {}

    def step(self, z: np.ndarray) -> np.ndarray:
        rows = self._rows
        out = rows[self._t] + self._c[0] * z
        rows[self._t] = z
        self._t += 1
        span = self._t & -self._t
        future = rows[self._t : self._t + span]
        if len(future):
            future += self._convolved(rows[self._t - span : self._t])[: len(future)]
        return out

    def _convolved(self, past: np.ndarray) -> np.ndarray:
        span = len(past)
        if span not in self._kernels:
            self._kernels[span] = self._kernel(span)
        kernel = self._kernels[span]
        if span <= _DIRECT:
            return kernel @ past
        # Twice the span is enough: only what is thrown away wraps around.
        return irfft(kernel * rfft(past, 2 * span, axis=0), 2 * span, axis=0)[span:]

    def _kernel(self, span: int) -> np.ndarray:
        c = np.zeros(2 * span)
        known = self._c[: 2 * span]
        c[: len(known)] = known
        if span <= _DIRECT:
            return toeplitz(c[span:], c[span:0:-1])
        return rfft(c)[:, np.newaxis]


@dataclass(frozen=True)
class Toeplitz(PrefixSumMechanism):
    r"""Prefix sums by the square root of A (Henzinger, Upadhyay and Upadhyay, 2023).

    B = C is lower triangular with constant diagonals, whose entries are the coefficients of
    :math:`(1 - x)^{-1/2}`,

    .. math:: c_0 = 1, \qquad c_k = c_{k-1} \frac{2 k - 1}{2 k}.

    The largest error is :math:`\sum_{k<n} c_k^2`, Landau's constant; no factors B and C with
    constant diagonals have a smaller one. Of all sets of j terms the first j, next to each other,
    move most. Proofs: theorems X3 and X6 of ``docs/proofs/streams.md``.

    Memory is that of all terms, so this is for short streams. Time for the whole stream is
    ``O(n log(n)^2)`` times the size of a term.
    """

    @property
    def column_norm(self) -> float:
        """Norm of the first column of C."""
        return sqrt(self._coefficients @ self._coefficients) * _ROUND_UP

    def _squared_norms(self, most: int) -> np.ndarray:
        """Exact: of sums of the first columns."""
        out, column_sum = np.empty(most), np.zeros(self.length)
        for j in range(most):
            column_sum[j:] += self._coefficients[: self.length - j]
            out[j] = column_sum @ column_sum
        return out * _ROUND_UP

    def variances(self, steps: np.ndarray) -> np.ndarray:
        return self._sums[np.asarray(steps) - 1]

    def correlator(self, size: int) -> Correlator:
        """All normals so far, and what they add to the sums to come."""
        return _Convolution(self._coefficients, size)

    @cached_property
    def _coefficients(self) -> np.ndarray:
        k = np.arange(1, self.length)
        return np.cumprod(np.append(1.0, (2 * k - 1) / (2 * k)))

    @cached_property
    def _sums(self) -> np.ndarray:
        return np.cumsum(self._coefficients**2)
