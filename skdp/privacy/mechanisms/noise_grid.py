r"""Gaussian noise on a grid.

Floating-point noise has holes, which an observer who knows the answer up to two candidates can look
for in the last bits of a sum. Here the answer is rounded to whole multiples of a public power of
two g, ``a' = g k``, and what is published is ``g (k + m)`` with m a draw of ``round(N / g)``, N
normal. As k is whole,

.. math:: g (k + m) = g \,\mathrm{round}\bigl((a' + N) / g\bigr),

which is post-processing of real normal noise on ``a'``. Rounding moves answers of neighbours apart
by at most ``g sqrt(p)`` for p entries; g is chosen so that this is at most ``2^-16`` of the
sensitivity. Dividing by g, multiplying with it and adding m lose nothing in doubles either:
theorem N6 of ``docs/proofs/finite_precision.md``. What is left is the law of m, see
:class:`~skdp.privacy.randomness.SystemNoise`.
"""

from __future__ import annotations

from functools import lru_cache
from math import frexp, isfinite, ldexp, sqrt

import numpy as np

from ..randomness import SecretNoise
from ..rounding import GRID

# The noise is at least so many grid points wide, so that rounding it widens it by little.
_FINER_THAN_NOISE = 2.0**-10
_LEAST, _LARGEST = 2.0**-1000, 2.0**900


@lru_cache(maxsize=256)
def spacing(sensitivity: float, noise_scale: float, entries: int) -> float:
    """The grid of an answer of so many entries: a power of two, a function of public numbers."""
    longest = min(GRID * sensitivity / sqrt(max(1, entries)), _FINER_THAN_NOISE * noise_scale)
    # The power of two at or below, and within what can be divided by.
    return ldexp(0.5, frexp(min(max(longest, _LEAST), _LARGEST))[1])


def on_grid(values: np.ndarray, g: float) -> np.ndarray:
    """Values rounded to whole multiples of g, a power of two; a fresh array.

    For running sums and their noise: terms on the grid have sums on it, which lose nothing.
    """
    # The reciprocal of a power of two is exact, too.
    out = np.asarray(values * (1.0 / g))
    np.rint(out, out=out)
    out *= g
    return out


def noisy_on_grid(
    value: np.ndarray,
    sensitivity: float,
    noise_scale: float,
    noise: SecretNoise,
    *,
    stretch: float = 1.0,
    counts: bool = False,
) -> np.ndarray:
    """The answer on its grid plus fresh noise on the grid; a fresh array.

    The sensitivity has the margin of the grid. ``stretch`` is a factor of the noise, which may be
    random and secret: the grid does not depend on it. Neither does it depend on the number of
    entries if these are ``counts``, whole numbers, which are on every grid of spacing 1 or less.
    """
    g = spacing(sensitivity, noise_scale, 1 if counts else value.size)
    out = np.asarray(value * (1.0 / g))
    np.rint(out, out=out)
    added = noise.rounded(value.shape, stretch * noise_scale / g)
    if added.dtype == object:
        # Doubles of this size are not all whole numbers: the exact sum is rounded, once.
        pairs = zip(out.ravel().tolist(), added.ravel(), strict=True)
        whole = [int(k) + m if isfinite(k) else k for k, m in pairs]
        out = np.array(whole, dtype=np.float64).reshape(value.shape)
    else:
        out += added
    out *= g
    return out
