"""Blocks of rows in public coordinates, never written out as a whole."""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from dataclasses import replace
from functools import cached_property

import numpy as np

from ...problem.bounds import RowBounds, RowMap
from .bounded_rows import (
    Block,
    BoundedBlock,
    DerivativeBounds,
    RawBlock,
    Rows,
    added_up,
    by_row,
    lengths_of,
    with_constants_and_weights,
)
from .score_cache import times_rows


class MappedBlock(BoundedBlock):
    """A run of rows ``[f_i z_i, intercept_value]`` with ``z_i`` the map of a bounded row.

    ``f_i = min(1, norm / ||z_i||)``. Products go through the map instead of the rows:
    ``<z, v> = <x, B v> - <shift, v>``.

    Parameters
    ----------
    raw : RawBlock
        Rows as they came.
    bounds : RowBounds
        With a row map.

    Guarantees
    ----------
    - ``norms`` bounds the norm of every row that ``scores`` and ``combine`` work with, and is at
      most ``bounds.row_norm``, whatever the data and whatever the map, up to rounding that does
      not grow with the condition of the map.
    """

    def __init__(self, raw: RawBlock, bounds: RowBounds) -> None:
        assert bounds.row_map is not None
        self._map = bounds.row_map
        self.constant = bounds.intercept_value
        inner = replace(bounds, intercept_value=0.0, row_map=None, columns=None)
        self._inner = Block(raw, inner)
        self._dense = isinstance(raw.X, np.ndarray) or self._map.mixes
        self._margin = 8.0 * (raw.X.shape[1] + 8) * ROUNDING * self._map.longest(bounds.data_norm)
        self.y, self.weights, self.apart = self._inner.y, self._inner.weights, self._inner.apart
        self.units, self.unit_pieces = raw.units, raw.pieces

    @cached_property
    def _lengths(self) -> np.ndarray:
        """Upper bounds on the norms of the rows before they are scaled down, (m,)."""
        inner = self._inner.loaded()
        if not self._dense:
            return sparse_lengths(inner, self._map)
        parts = [self._lengths_of(self._mapped(X)) for _, X in inner.pieces()]
        return np.concatenate(parts or [np.empty(0)])

    def _mapped(self, X: np.ndarray) -> np.ndarray:
        """Dense rows in these coordinates; what becomes of one does not tell of others."""
        return self._map.apply(X, by_row) if self.apart else self._map.apply(X)

    def _lengths_of(self, Z: np.ndarray) -> np.ndarray:
        lengths = lengths_of(Z)
        # A row that nearly cancels with the shift does so in sums as well, up to rounding,
        # which must not be blown up by a bound that is divided by a tiny length.
        np.maximum(lengths, LEAST_LENGTH * self._map.shift_length, out=lengths)
        # An entry of z is a sum of d products and the shift, which errs by at most d + 2 units
        # of rounding of the sum of their sizes; over all entries that sum is the longest length
        # in l2, or less. Rows along directions that the map hardly keeps are not clipped less.
        lengths += self._margin
        return lengths

    @cached_property
    def _factor(self) -> np.ndarray | None:
        longest = self._map.norm
        all_within = self._lengths.max(initial=0.0) <= longest
        return None if all_within else longest / np.maximum(self._lengths, longest)

    @cached_property
    def norms(self) -> np.ndarray:  # type: ignore[override]
        """Positive bounds on the norms of the rows, so that bounds can be divided by them."""
        clipped = np.minimum(self._lengths, self._map.norm)
        return np.maximum(np.hypot(clipped, self.constant), 1e-150)

    @cached_property
    def derivative_bounds(self) -> DerivativeBounds:  # type: ignore[override]
        """Bounds on the derivatives of the rows, from these norms."""
        return DerivativeBounds(self.norms)

    def loaded(self) -> MappedBlock:
        """Itself, or a copy that lives for one use."""
        inner = self._inner.loaded()
        if inner is self._inner:
            return self
        return self._with(inner)

    def over(self, X: Rows | None) -> MappedBlock:
        """A copy with X, the same rows as they came, in place of its own; None takes them out."""
        other = self._with(self._inner.over(X))
        other.derivative_bounds = DerivativeBounds(self.norms)
        return other

    def _with(self, inner: Block) -> MappedBlock:
        """A copy around another block of the same rows; they are measured once for both."""
        _ = self._factor, self.derivative_bounds
        other = copy(self)
        other._inner = inner
        return other

    def taken(self, chosen: np.ndarray) -> MappedBlock:
        """A copy with these of its rows, by their positions in the block; maybe none."""
        other = self._with(self._inner.taken(chosen))
        other.y, other.weights, other.apart = other._inner.y, other._inner.weights, True
        other.units, other.unit_pieces = other._inner.units, None
        other._lengths, other.norms = self._lengths[chosen], self.norms[chosen]
        other.derivative_bounds = DerivativeBounds(other.norms)
        if self._factor is not None:
            other._factor = self._factor[chosen]
        return other

    def scores(self, w: np.ndarray) -> np.ndarray:
        """Inner products of the rows with w; shape (m,) or (m, K)."""
        v = w[:-1] if self.constant else w
        z = self._inner.scores(self._map.pull_back(v))
        z -= self._map.shift @ v
        z = self._scaled(z)
        if self.constant:
            z += self.constant * w[-1]
        return z

    def scores_along(self, w: np.ndarray, shrunk: float) -> np.ndarray:
        """Scores of the rows at w, without a shortcut."""
        del shrunk
        return self.scores(w)

    def combine(self, r: np.ndarray) -> np.ndarray:
        """Sum of the rows weighted by r, (m,) or (m, K); has the shape of w. Overwrites r."""
        total = np.add.reduce(r)
        last = self.constant * total
        if self._factor is not None:
            total = np.add.reduce(self._scaled(r))
        shift = self._map.shift
        g = self._map.push_forward(self._inner.combine(r))
        g -= shift * total if r.ndim == 1 else np.outer(shift, total)
        return g if not self.constant else np.concatenate([g, last[None]])

    def combine_pieces(self, r: np.ndarray, *, exactly: bool = False) -> Iterator[np.ndarray]:
        """Sums over pieces of units of the rows weighted by r, (m,) or (m, K); some at a time."""
        shift, scaled = self._map.shift, self._scaled(r.copy())
        for rows, ends, inner in self._inner.sums_of_pieces(scaled):
            k, d = inner.shape[:2]
            # One after another for the classes of a sum, each as a row.
            own = np.moveaxis(inner, 1, -1).reshape(-1, d)
            totals = np.moveaxis(added_up(None, scaled[rows], ends), 1, -1).reshape(-1, 1)
            if exactly:
                sums = self._map.apply(own, by_row) - (totals - 1.0) * shift
            else:
                # Rounds by the place of a piece, for which margins allow.
                sums = self._map.push_forward(own.T).T - totals * shift
            sums = np.moveaxis(sums.reshape(k, *r.shape[1:], -1), -1, 1)
            yield with_constants_and_weights(self, sums, r[rows], rows, ends)

    def combine_within(self, r: np.ndarray, bound: float) -> np.ndarray:
        """Sum of the rows, entries clipped to [-bound, bound], weighted by r, (m,) or (m, K)."""
        return np.clip(self.rows()[:, : self._map.n_features], -bound, bound).T @ r

    def rows(self) -> np.ndarray:
        """The rows themselves, dense (m, p)."""
        Z = self._mapped(self._inner.rows())
        if self._factor is not None:
            Z *= self._factor[:, None]
        return Z if not self.constant else np.column_stack([Z, np.full(len(Z), self.constant)])

    def gram(self) -> np.ndarray:
        """Sum over the rows of ``v v'``, shape (p, p)."""
        out = np.zeros((self._map.n_features + bool(self.constant),) * 2)
        for part, X in self._inner.pieces():
            V = self._mapped(X)
            # Rows need not have been measured, which would bring them to the coordinates as well.
            lengths = self._lengths_of(V) if self._dense else self._lengths[part]
            V *= (self._map.norm / np.maximum(lengths, self._map.norm))[:, None]
            if self.constant:
                V = np.column_stack([V, np.full(len(V), self.constant)])
            out += V.T @ V
        return out

    def _scaled(self, values: np.ndarray) -> np.ndarray:
        return times_rows(values, self._factor)


# Least length of a row that counts, in units of the shift that it may nearly cancel with.
LEAST_LENGTH = 1e-4

# Half a unit in the last place of 1.
ROUNDING = 2.0**-53


def sparse_lengths(block: Block, row_map: RowMap) -> np.ndarray:
    r"""Upper bounds on the norms of ``z_i = a x_i - s``, without writing z out.

    .. math:: \ell_i^2 = \max\bigl(\|a x_i\|^2 - 2 \langle a x_i, s \rangle + \|s\|^2 + \rho t_i,
              \; 10^{-8} \|s\|^2\bigr), \qquad t_i = \|a x_i\|^2 + \|s\|^2

    with ``rho = 8 (d + 8) 2^-53``. The cost is that of the stored entries. Rows x are loaded and
    without an intercept entry; the map has a scale a and a shift s, and no matrix.

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
