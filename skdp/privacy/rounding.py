r"""Rounding errors of sums over rows, and the margins that sensitivities get for them.

Sums of products over rows are computed in double precision, ``u = 2^-53``, by linear algebra that
may add in any order. A sum to which each of n rows contributes a vector of norm at most B, and in
which a term passes through at most h additions, is off by at most ``gamma_{h+1} n B`` in l2,
``gamma_k = k u / (1 - k u)``; hence the relative margin ``2 n gamma``, times ``spread`` where what
is added up is longer than what a row contributes, as it is under a map that is applied afterwards.
h does not depend on n: at most 12,288 additions within a run of rows, those of the runs of a block
and of blocks in pairs, and a few more. Theorem N5 of ``docs/proofs/finite_precision.md`` counts
them and has the proof.

What enters products is a function of the row itself and of public numbers, whatever its rounding.
Only the norm of what a row contributes has to be right, to a relative ``2^-24``. Answers are then
rounded to a public grid (:mod:`skdp.privacy.mechanisms.noise_grid`), which takes ``2^-16`` of the
sensitivity; all of this is within ``2^-15``, the margin of every query.
"""

from __future__ import annotations

from functools import lru_cache
from math import inf

from ..problem.bounds import RowBounds
from .rows.bounded_rows import MOST_ROWS, ROUNDING
from .rows.mapped import LEAST_LENGTH

UNIT = 2.0**-53
# Grid in units of the sensitivity, and what it and the norms of rows may take of it.
GRID, _COMMON = 2.0**-16, 2.0**-15
# That a term of a sum may pass through, whatever the number of rows.
_ADDITIONS = MOST_ROWS + 16 * 48 + 64


def gamma(roundings: float) -> float:
    """``k u / (1 - k u)``: bound on the relative error that k roundings add up to."""
    return roundings * UNIT / (1.0 - roundings * UNIT)


@lru_cache(maxsize=256)
def of_sum(n: int, spread: float = 1.0, products: int = 0) -> float:
    """Relative margin for a sum over rows: ``2 n gamma`` times the spread.

    n is the number of rows, or of privacy units: what all rows weigh together at most. ``spread``
    bounds the length of the products that are added up for a row, in units of the bound on what it
    contributes, and ``products`` counts what is added up after the rows, the ``mixed_features`` of
    bounds with a map. The margin is the most that rounding adds to the move between neighbours, in
    units of the sensitivity.
    """
    return 2.0 * n * gamma(_ADDITIONS + products) * spread


def spread(bounds: RowBounds, steepest: float, bound: float) -> float:
    r"""Bound on the length of what is added up for a row, in units of what the row contributes.

    Without a map the two are the same. With one, ``z = x B - s``, sums are taken of x, and B and s
    are applied to the sums. What is added up for a row with derivative r, shrunk by the factor f,
    is then at most ``f |r| l`` long after B, with l the bound on the length of any mapped row. r is
    at most ``steepest``, and at most the bound divided by the length of the row with its intercept
    entry, which is at least that entry and, as lengths are computed with a margin, at least

    .. math:: f \min(\mathrm{norm},\; 10^{-4} \|s\| + 8 (d + 8) u\, l).
    """
    row_map = bounds.row_map
    if row_map is None:
        return 1.0
    longest = bounds.longest
    least = LEAST_LENGTH * row_map.shift_length
    least += 8.0 * (row_map.scale.size + 8) * ROUNDING * longest
    least = max(abs(bounds.intercept_value), min(row_map.norm, least))
    largest = min(steepest / bound if bound else inf, 1.0 / least if least else inf)
    return max(1.0, longest * largest)


def inflated(sensitivity: float, rounding: float) -> float:
    """The sensitivity of the computed answer.

    ``rounding`` is a relative margin for sums over rows.
    """
    return sensitivity * (1.0 + _COMMON + rounding)
