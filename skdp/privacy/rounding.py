r"""Rounding errors of sums over rows, and the margins that sensitivities get for them.

Sums of products over rows are computed in double precision, ``u = 2^-53``, by linear algebra that
may add in any order and fuse products with additions. A term of a sum that passes through at most
h additions is off by at most ``gamma_{h+1}`` of its size, ``gamma_k = k u / (1 - k u)``, so that a
sum to which each of n rows contributes a vector of norm at most B is off by at most
``gamma_{h+1} n B`` in l2 (theorem N5 of ``docs/proofs/finite_precision.md``). It holds for either
of two neighbouring data sets, hence the relative margin ``2 n gamma`` for one row's vector being
computed from factors that are no longer than it is. Where they are up to ``spread`` times as long
the margin is that many times as large: sums of x, mapped afterwards by a matrix under which they
cancel, are the case in point.

What a term passes through: a block holds at most 49,152 rows (``cut``), so h counts at most that
many additions in it; blocks are then added in pairs, and partitions sixteen at a time, with at most
``16 log2(N)`` additions for N rows, of which no computer holds ``2^48``; a few more are left for
divisions, intercepts and constants. So h is a constant, and only the sum of what rows may
contribute grows with n: of rows that weigh less than 1, or of privacy units of many rows, n is what
all weigh together at most. Sums that are mapped by a matrix, or by a sketch, pass through the
products for an entry as well.

What enters products is a function of the row itself and of public numbers, whatever its rounding:
scores, derivatives, clips. Only the norm of what a row contributes has to be right, and the bounds
it is clipped by are computed with at most ``d + 16`` roundings for d entries, a relative
``2^-24`` for up to ``2^28`` of them.

Answers are then rounded to a public grid (see :mod:`skdp.privacy.mechanisms.noise_grid`), which
moves neighbours apart by at most ``2^-16`` of the sensitivity. With ``2^-24`` and rounding of these
numbers themselves it makes ``2^-15``, the margin of every query that is answered on a grid.
"""

from __future__ import annotations

from functools import lru_cache
from math import inf

import numpy as np

from ..problem.bounds import RowBounds
from .rows.bounded_rows import MOST_ROWS
from .rows.mapped import LEAST_LENGTH, ROUNDING

__all__ = ["GRID", "UNIT", "gamma", "inflated", "mapped_products", "of_sum", "spread"]

UNIT = 2.0**-53
# Grid in units of the sensitivity, and what it and the norms of rows may take of it.
GRID, _COMMON = 2.0**-16, 2.0**-15
# That a term of a sum may pass through, whatever the number of rows.
_ADDITIONS = MOST_ROWS + 16 * 48 + 64


def gamma(roundings: float) -> float:
    """``k u / (1 - k u)``: bound on the relative error that k roundings add up to.

    Parameters
    ----------
    roundings : float
        Their number k.
    """
    return roundings * UNIT / (1.0 - roundings * UNIT)


@lru_cache(maxsize=256)
def of_sum(n: int, spread: float = 1.0, products: int = 0) -> float:
    """Relative margin for a sum over rows: ``2 n gamma`` times the spread.

    Parameters
    ----------
    n : int
        Number of rows, or of privacy units: what all rows weigh together at most.
    spread : float, default=1.0
        Bound on the length of the products that are added up for a row, in units of the bound on
        what it contributes.
    products : int, default=0
        Number of entries of a sum that are added up after the rows, see :func:`mapped_products`.

    Returns
    -------
    float
        Most that rounding adds to the move between neighbours, in units of the sensitivity.
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

    Parameters
    ----------
    bounds : RowBounds
        With the map, if any.
    steepest : float
        Bound on derivatives that does not depend on the row; may be infinite.
    bound : float
        Bound on what a row contributes.
    """
    row_map = bounds.row_map
    if row_map is None:
        return 1.0
    longest = row_map.longest(bounds.data_norm)
    shift = float(np.linalg.norm(row_map.shift))
    least = LEAST_LENGTH * shift + 8.0 * (row_map.scale.size + 8) * ROUNDING * longest
    least = max(abs(bounds.intercept_value), min(row_map.norm, least))
    largest = min(steepest / bound if bound else inf, 1.0 / least if least else inf)
    return max(1.0, longest * largest)


def mapped_products(bounds: RowBounds) -> int:
    """Number of entries of a sum over rows that an entry of it is made of in other coordinates.

    Parameters
    ----------
    bounds : RowBounds
        With the map, if any; 0 without one, or where it mixes no features.
    """
    row_map = bounds.row_map
    return row_map.scale.size if row_map is not None and row_map.mixes else 0


def inflated(sensitivity: float, rounding: float) -> float:
    """The sensitivity of the computed answer.

    Parameters
    ----------
    sensitivity : float
        That of the exact answer.
    rounding : float
        Relative margin for sums over rows.
    """
    return sensitivity * (1.0 + _COMMON + rounding)
