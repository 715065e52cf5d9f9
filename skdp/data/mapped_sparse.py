"""How long sparse rows are after a shift that would make them dense."""

from __future__ import annotations

import numpy as np

from ..row_map import RowMap
from .blocks import Block

__all__ = ["LEAST_LENGTH", "ROUNDING", "sparse_lengths"]

# Least length of a row that counts, in units of the shift that it may nearly cancel with.
LEAST_LENGTH = 1e-4

# Half a unit in the last place of 1.
ROUNDING = 2.0**-53


def sparse_lengths(block: Block, row_map: RowMap) -> np.ndarray:
    r"""Upper bounds on the norms of ``z_i = a x_i - s``, without writing z out.

    .. math:: \ell_i^2 = \max\bigl(\|a x_i\|^2 - 2 \langle a x_i, s \rangle + \|s\|^2 + \rho t_i,
              \; 10^{-8} \|s\|^2\bigr), \qquad t_i = \|a x_i\|^2 + \|s\|^2

    with ``rho = 8 (d + 8) 2^-53``. The cost is that of the stored entries.

    Parameters
    ----------
    block : Block
        Sparse rows x, loaded, without an intercept entry.
    row_map : RowMap
        Scale a and shift s; without a matrix.

    Returns
    -------
    ndarray of shape (m,)
        The bounds.

    Guarantees
    ----------
    - ``||z_i|| <= l_i``, in spite of cancellation. The three terms are sums of at most d products
      of a few double-precision numbers, so with u = 2^-53 what is computed for them errs by at most
      ``(d + 8) u (||a x||^2 + 2 |a x| . |s| + ||s||^2) <= 2 (d + 8) u t`` (Higham 2002, section
      3.1). That is a quarter of the margin ``rho t``, whose other parts cover its own rounding.
    - Except where a row nearly cancels, ``l_i`` exceeds the norm by rounding only.
    - A row that is shrunk in proportion to ``c / l_i`` contributes at most ``c`` to a sum up to
      about ``4 * 10^4`` units of rounding, although the two parts of its contribution, ``a x`` and
      ``s``, cancel there as well: the floor makes both at most about ``10^4 l_i`` long.
    - Rows whose squares overflow have infinite lengths and count as zero.
    """
    shift = row_map.shift
    with np.errstate(over="ignore", invalid="ignore"):
        own, shifts = block.squared_lengths(row_map.scale), float(shift @ shift)
        total = own + shifts
        squares = own - 2.0 * block.scores(row_map.scale * shift) + shifts
        squares += 8.0 * (shift.size + 8) * ROUNDING * total
        lengths = np.sqrt(np.maximum(squares, LEAST_LENGTH**2 * shifts))
    lengths[np.isnan(lengths)] = np.inf
    return lengths
