"""Normal quantiles in integer arithmetic, for the few draws that double precision cannot decide."""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from math import isqrt

# Fixed point: an integer m stands for m / 2^BITS.
BITS = 448
_ONE = 1 << BITS


def refined(start: float | Fraction, tail: int) -> int:
    r"""The x with ``Phi(-x) = tail``, from a start that is right to 40 bits; both in fixed point.

    One step of Newton's method on ``Q(x) = Phi(-x)``, whose error is about ``x/2`` times the square
    of that of the start. Q and its derivative are summed together from

    .. math:: e^{-x^2/2} = \sum_j \frac{(-x^2/2)^j}{j!}, \qquad
              \tfrac12 - Q(x) = \frac{x}{\sqrt{2 \pi}} \sum_j \frac{(-x^2/2)^j}{j!\,(2 j + 1)}.

    The start is between 0 and 14, and the error of x below 2^-75 if that of the start is at most
    2^-40: theorem N7 of ``docs/proofs/finite_precision.md``.
    """
    numerator, denominator = start.as_integer_ratio()
    x = (numerator << BITS) // denominator
    half_square = (x * x) >> (BITS + 1)
    term, sign, density, area, j = _ONE, 1, 0, 0, 0
    while term:
        density += sign * term
        area += sign * (term // (2 * j + 1))
        j += 1
        term = (term * half_square >> BITS) // j
        sign = -sign
    root = _root_of_two_pi()
    # Both without their common factor 1 / sqrt(2 pi).
    excess = ((_ONE >> 1) - tail) * root // _ONE - ((x * area) >> BITS)
    return x + (excess << BITS) // density


@cache
def _root_of_two_pi() -> int:
    """Square root of 2 pi by Machin's formula, with bits to spare."""
    spare = BITS + 32
    pi = 4 * (4 * _arctangent_of_inverse(5, spare) - _arctangent_of_inverse(239, spare))
    return isqrt((2 * pi) << spare) >> 32


def _arctangent_of_inverse(n: int, bits: int) -> int:
    power = (1 << bits) // n
    total, j = power, 1
    while power:
        power //= -n * n
        j += 2
        total += power // j
    return total
