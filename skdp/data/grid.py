r"""Blocks of rows on a public grid, on which sums of products are exact in double precision.

Entries of rows are whole multiples of ``g = 2^-20 T``, with T the power of two at or above the
length of a typical row with its intercept entry, and weights of rows r are multiples of
``h = 2^-40 C / g``, with C the power of two at or above a bound on ``|r_i| ||x_i||``. Then every
product ``x_ij r_i``, and every sum of such products over any of the at most 2^13 rows of a block,
is a whole multiple of ``g h`` of size at most

.. math:: \sum_i |x_{ij}| |r_i| \le 2^{13} C = 2^{53} g h,

which double precision represents. So no product, partial sum or fused operation is rounded,
whatever the order in which linear algebra adds. Scores are exact in the same way, with weights of
the model on a grid of ``2^-53 / g`` times a bound on the scores, and so are sums of products of two
features, unless some rows may be more than 2^6 times as long as typical ones.

Rounding is towards zero, which makes no entry larger and no row longer.
"""

from __future__ import annotations

from collections.abc import Iterable
from copy import copy
from dataclasses import replace
from fractions import Fraction
from math import floor, frexp, hypot, inf, isfinite, ldexp

import numpy as np
import scipy.sparse as sp

from ..bounds import RowBounds
from .blocks import Block, BoundedBlock, RawBlock, Rows, compressed, cut
from .limits import Limits
from .mapped import MappedBlock

__all__ = ["GridBlock", "exact_total", "short"]

_BITS = 20
_MOST_ROWS = 1 << 13
_BITS_OF_SUMS = 53
# Rows that are too long after rounding are shortened by this.
_SHORTER = 1.0 - 2.0**-19
_LEAST_NORM = 1e-150
# Whole numbers up to this, times such powers of two, are single precision numbers.
_SINGLE, _LEAST_UNIT, _LARGEST_UNIT = 2.0**24, 2.0**-100, 2.0**90


class GridBlock(BoundedBlock):
    """A run of bounded rows, rounded to a grid; a copy of them in their precision.

    Parameters
    ----------
    raw : RawBlock
        At most 2^13 rows as they came.
    bounds : RowBounds
        What they are brought to.

    Raises
    ------
    ValueError
        If rows are sparse and have to be mapped, which would write them out.

    Guarantees
    ----------
    - No row is longer than ``bounds.row_norm`` or than its ``norms``, in exact arithmetic, whatever
      the data.
    - ``scores``, ``combine`` with a reach, ``gram`` and the rows themselves are exact for what is
      on the grid, and so do not depend on the order of rows, but for entries of w and r so small
      that they leave the range of normal numbers.
    - The row on the grid is a function of that row and of public numbers alone.
    """

    def __init__(self, raw: RawBlock, bounds: RowBounds) -> None:
        if bounds.row_map is not None and not isinstance(raw.X, np.ndarray):
            raise ValueError(
                "GridBlock needs dense rows to map, got sparse ones; use precondition=None."
            )
        plain = (Block if bounds.row_map is None else MappedBlock)(
            raw, replace(bounds, exact=False, intercept_value=0.0)
        )
        largest = bounds.data_norm if bounds.row_map is None else bounds.row_map.norm
        typical = largest if bounds.row_map is None else bounds.row_map.typical or largest
        self._unit = ldexp(_at_or_above(hypot(typical, bounds.intercept_value)), -_BITS)
        self._constant = float(np.trunc(bounds.intercept_value / self._unit)) * self._unit
        # A constant of less than a unit is zero on the grid, and still an entry of each row.
        self._extended = bounds.intercept_value != 0
        self._norm = bounds.row_norm
        self.y, self.weights = plain.y, plain.weights
        if bounds.target is not None:
            self.y = np.trunc(np.ldexp(plain.y, _BITS)) * 2.0**-_BITS
        self._X, squares = _on_grid(_rows_of(plain), largest * (1.0 - _rounding(raw)), self._unit)
        single = raw.X.dtype == np.float32 and _LEAST_UNIT <= self._unit <= _LARGEST_UNIT
        if single and largest <= _SINGLE * self._unit:
            self._X = self._X.astype(np.float32)
        # Rounded up by more than the rounding of these few operations.
        squares += (self._constant / self._unit) ** 2
        norms = np.sqrt(squares) * (self._unit * (1.0 + 2.0**-50 + _rounding(raw)))
        self.norms = np.maximum(norms, _LEAST_NORM)
        self.limits = Limits(self.norms)

    def loaded(self) -> GridBlock:
        """Itself, or a copy in double precision that lives for one use."""
        if self._X.dtype == np.float64:
            return self
        other = copy(self)
        other._X = self._X.astype(np.float64)
        return other

    def over(self, X: Rows | None) -> GridBlock:
        """Refused: these are not the rows as they came."""
        raise TypeError("GridBlock holds rows of its own; rows elsewhere cannot be on its grid.")

    def taken(self, chosen: np.ndarray) -> GridBlock:
        """A copy with these of its rows, by their positions in the block; maybe none."""
        other = copy(self)
        other._X, other.y, other.norms = self._X[chosen], self.y[chosen], self.norms[chosen]
        other.limits = Limits(other.norms)
        if self.weights is not None:
            other.weights = self.weights[chosen]
        return other

    def scores(self, w: np.ndarray) -> np.ndarray:
        """Inner products of the rows with w on its grid; shape (m,) or (m, K)."""
        most = _at_or_above(self._norm * float(np.linalg.norm(w)))
        w = _truncated(w, ldexp(most, -_BITS_OF_SUMS) / self._unit)
        if not self._extended:
            return self._X @ w
        z = self._X @ w[:-1]
        z += self._constant * w[-1]
        return z

    def scores_along(self, w: np.ndarray, shrunk: float) -> np.ndarray:
        """The same, without a shortcut."""
        del shrunk
        return self.scores(w)

    def combine(self, r: np.ndarray, reach: float = inf) -> np.ndarray:
        """Sum of the rows weighted by r on its grid, (m,) or (m, K); has the shape of w."""
        if reach < inf:
            r = _truncated(r, ldexp(_at_or_above(reach), -2 * _BITS) / self._unit)
        g = (self._X.T if isinstance(self._X, np.ndarray) else _columns(self._X)) @ r
        if not self._extended:
            return g
        out = np.empty((len(g) + 1, *g.shape[1:]))
        out[:-1], out[-1] = g, self._constant * np.add.reduce(r)
        return out

    def combine_within(self, r: np.ndarray, bound: float) -> np.ndarray:
        """Sum of the rows, entries clipped to [-bound, bound], weighted by r; not exact."""
        if isinstance(self._X, np.ndarray):
            return np.clip(self._X, -bound, bound).T @ r
        held = _columns(self._X)
        entries = np.clip(held.data, -bound, bound)
        return compressed(sp.csc_array, held.shape, entries, held.indices, held.indptr) @ r

    def rows(self) -> np.ndarray:
        """The rows themselves, dense (m, p)."""
        X = self._X if isinstance(self._X, np.ndarray) else self._X.toarray()
        if not self._extended:
            return X.copy()
        return np.column_stack([X, np.full(len(X), self._constant)])

    def gram(self) -> np.ndarray:
        """Sum over the rows of ``v v'``, shape (p, p)."""
        V = self.rows()
        return V.T @ V


def short(raw: RawBlock) -> Iterable[RawBlock]:
    """The rows of a block in runs of at most 2^13.

    Parameters
    ----------
    raw : RawBlock
        Any number of rows, at least one.
    """
    m = raw.y.size
    for i, j in cut(m, _MOST_ROWS * 2 // 3):
        weights = None if raw.weights is None else raw.weights[i:j]
        yield RawBlock(raw.X[i:j], raw.y[i:j], weights)


def exact_total(parts: Iterable[np.ndarray]) -> np.ndarray:
    """The sum of at least one array, rounded once, if all are multiples of one grid.

    What an addition loses is known exactly (Knuth) and is added up beside the sum. It is a multiple
    of the grid as well, at most a unit in the last place of the sum for each part, so that adding
    it up is exact for any number of parts that there can be.

    Parameters
    ----------
    parts : iterable of ndarray
        Fresh arrays of one shape.
    """
    iterator = iter(parts)
    total = next(iterator)
    lost = np.zeros_like(total)
    for part in iterator:
        both = total + part
        moved = both - total
        lost += (total - (both - moved)) + (part - moved)
        total = both
    # Where a sum is not finite, so is what it lost not.
    total += np.where(np.isfinite(lost), lost, 0.0)
    return total


def _rounding(raw: RawBlock) -> float:
    """Relative error of sums of squares, where they are too large to be exact."""
    return (raw.X.shape[1] + 8) * 2.0**-52


def _at_or_above(x: float) -> float:
    """The least power of two that is not below x; 1 if x is not a positive number."""
    if not (x > 0 and isfinite(x)):
        return 1.0
    mantissa, exponent = frexp(x)
    return ldexp(1.0, exponent - (mantissa == 0.5))


def _truncated(a: np.ndarray, unit: float) -> np.ndarray:
    out = a / unit
    np.trunc(out, out=out)
    out *= unit
    return out


def _rows_of(plain: Block | MappedBlock) -> Rows:
    loaded = plain.loaded()
    return loaded.scaled() if isinstance(loaded, Block) else loaded.rows()


def _on_grid(V: Rows, largest: float, unit: float) -> tuple[Rows, np.ndarray]:
    """Rows on the grid, none longer than ``largest``, and their exact squared norms in units."""
    if isinstance(V, np.ndarray):
        counts, stored = np.full(len(V), V.shape[1]), V.ravel()
    else:
        counts, stored = np.diff(V.indptr), V.data
    entries = np.trunc(stored / unit)
    most = floor(Fraction(largest) ** 2 / Fraction(unit) ** 2)

    def squares_of(k: np.ndarray) -> np.ndarray:
        # Sums of whole numbers up to 2^53 are exact.
        if isinstance(V, np.ndarray):
            k = k.reshape(V.shape)
            return np.einsum("ij,ij->i", k, k)
        sums = np.bincount(np.repeat(np.arange(len(counts)), counts), k * k, len(counts))
        # Integers if nothing is stored, whatever the weights.
        return sums.astype(np.float64, copy=False)

    squares = squares_of(entries)
    while (longer := squares > most).any():
        shorter = np.trunc(entries * _SHORTER)
        entries = np.where(np.repeat(longer, counts), shorter, entries)
        squares = squares_of(entries)
    entries *= unit
    if isinstance(V, np.ndarray):
        return entries.reshape(V.shape), squares
    return compressed(sp.csr_array, V.shape, entries, V.indices, V.indptr), squares


def _columns(X: sp.csr_array) -> sp.csc_array:
    return compressed(sp.csc_array, X.shape[::-1], X.data, X.indices, X.indptr)
