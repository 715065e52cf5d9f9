"""Blocks of rows in public coordinates, never written out as a whole."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Self

import numpy as np

from ...problem.bounds import RowBounds, RowMap
from .bounded_rows import (
    LARGEST_SINGLE,
    BoundedBlock,
    DerivativeBounds,
    RawBlock,
    Rows,
    added_up,
    by_row,
    lengths_of,
    product_over_rows,
    rounded_down,
    rounded_up,
    times_each,
    total_of_rows,
    widened,
    with_constant,
)
from .score_cache import times_rows


@dataclass(repr=False)
class Measured:
    """Lengths of mapped rows, and what follows from them, as far as it has been asked for.

    Parameters
    ----------
    lengths : ndarray of shape (m,), optional
        Upper bounds on the norms of the rows before they are scaled down.
    shrink : ndarray of shape (m,), optional
        Factors by which they are scaled down; None beside norms if that is 1 for all.
    norms : ndarray of shape (m,), optional
        Positive bounds on their norms after that, with the intercept entry.
    derivative_bounds : DerivativeBounds, optional
        Bounds on derivatives from these norms.
    """

    lengths: np.ndarray | None = None
    shrink: np.ndarray | None = None
    norms: np.ndarray | None = None
    derivative_bounds: DerivativeBounds | None = None

    def taken(self, chosen: np.ndarray | slice) -> Measured:
        """Measures of some of the rows, with bounds on derivatives of their own."""
        of_all = self.lengths, self.shrink, self.norms
        lengths, shrink, norms = (None if a is None else a[chosen] for a in of_all)
        return Measured(lengths, shrink, norms, None if norms is None else DerivativeBounds(norms))

    def shortened(self, longest: float) -> Measured | None:
        """Factors and norms, in single precision if it has room; None if they are unknown."""
        if self.norms is None:
            return None
        if longest > LARGEST_SINGLE:
            return Measured(None, self.shrink, self.norms)
        shrink = None if self.shrink is None else rounded_down(self.shrink)
        return Measured(None, shrink, rounded_up(self.norms))

    def widened(self) -> Measured:
        """Factors and norms in double precision."""
        assert self.norms is not None
        norms = widened(self.norms)
        shrink = None if self.shrink is None else widened(self.shrink)
        return Measured(None, shrink, norms, DerivativeBounds(norms))


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
    measured : Measured, optional
        What ``kept`` of an earlier block of these rows was.

    Guarantees
    ----------
    - ``norms`` bounds the norm of every row that ``scores`` and ``combine`` work with, and is at
      most ``bounds.row_norm``, whatever the data and whatever the map, up to rounding that does
      not grow with the condition of the map; in a table of many rows, where norms are rounded up
      and factors down to single precision, up to 2^-21.
    """

    def __init__(self, raw: RawBlock, bounds: RowBounds, measured: Measured | None = None) -> None:
        assert bounds.row_map is not None
        super().__init__(raw, bounds)
        self._map = bounds.row_map
        self._dense = isinstance(raw.X, np.ndarray) or self._map.mixes
        self._margin = 8.0 * (raw.X.shape[1] + 8) * ROUNDING * self._map.longest(bounds.data_norm)
        # By all copies of these rows, whichever is asked first.
        self._measured = Measured() if measured is None else measured.widened()

    def _measure(self) -> None:
        if self._measured.norms is None:
            lengths, longest = self._lengths, self._map.norm
            within = lengths.max(initial=0.0) <= longest
            self._measured.shrink = None if within else longest / np.maximum(lengths, longest)
            norms = with_constant(np.minimum(lengths, longest), self.constant, longest)
            self._measured.norms = norms
            self._measured.derivative_bounds = DerivativeBounds(norms)

    def over(self, X: Rows | None) -> Self:
        """A copy with X, the same rows as they came, in place of its own; None takes them out."""
        self._measure()
        return super().over(X)

    def taken(self, chosen: np.ndarray) -> Self:
        """A copy with these of its rows, by their positions in the block; maybe none."""
        self._measure()
        other = super().taken(chosen)
        other._measured = self._measured.taken(chosen)
        return other

    def _renew(self) -> None:
        self._measured = self._measured.taken(slice(None))

    def _mapped(self, X: np.ndarray) -> np.ndarray:
        """Dense rows in these coordinates; what becomes of one does not tell of others."""
        if self.apart:
            return self._map.apply(X, by_row)
        if self._scratch is None:
            return self._map.apply(X)
        room = self._scratch.rows(len(X), self._map.n_features, "mapped")
        return self._map.apply(X, partial(np.matmul, out=room))

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

    @property
    def _lengths(self) -> np.ndarray:
        """Upper bounds on the norms of the rows before they are scaled down, (m,)."""
        if self._measured.lengths is None:
            inner = super()._copied(**self._brought())
            if not self._dense:
                self._measured.lengths = sparse_lengths(inner, self._map)
            else:
                parts = [self._lengths_of(self._mapped(X)) for _, X in inner._few_at_a_time()]
                self._measured.lengths = np.concatenate(parts or [np.empty(0)])
        return self._measured.lengths

    @property
    def _shrink(self) -> np.ndarray | None:
        """Factors by which mapped rows are scaled down; None if that is 1 for all."""
        self._measure()
        return self._measured.shrink

    @property
    def norms(self) -> np.ndarray:  # type: ignore[override]
        """Positive bounds on the norms of the rows, so that bounds can be divided by them."""
        self._measure()
        assert self._measured.norms is not None
        return self._measured.norms

    @property
    def derivative_bounds(self) -> DerivativeBounds:  # type: ignore[override]
        """Bounds on the derivatives of the rows, from these norms."""
        self._measure()
        assert self._measured.derivative_bounds is not None
        return self._measured.derivative_bounds

    @property
    def measured(self) -> bool:
        """True if the rows have been measured."""
        return self._measured.norms is not None

    @property
    def kept(self) -> Measured | None:
        """Measures that are kept of many rows until the next query, if they have been taken."""
        return self._measured.shortened(max(self._map.norm, self.constant))

    def scores_along(self, w: np.ndarray, shrunk: float) -> np.ndarray:
        """Scores of the rows at w, without a shortcut."""
        del shrunk
        return self.scores(w)

    def _scores(self, v: np.ndarray) -> np.ndarray:
        z = self.along(self._map.pull_back(v))
        z -= self._map.shift @ v
        return times_rows(z, self._shrink)

    def _combined(self, r: np.ndarray) -> np.ndarray:
        shift, total = self._map.shift, total_of_rows(times_rows(r, self._shrink))
        g = self._map.push_forward(super()._combined(r))
        g -= shift * total if r.ndim == 1 else np.outer(shift, total)
        return g

    def _sums_of_pieces(
        self, r: np.ndarray, exactly: bool
    ) -> Iterator[tuple[slice, np.ndarray, np.ndarray]]:
        shift, scaled = self._map.shift, times_rows(r.copy(), self._shrink)
        for rows, ends, inner in super()._sums_of_pieces(scaled, exactly):
            k, d = inner.shape[:2]
            # One after another for the classes of a sum, each as a row.
            own = np.moveaxis(inner, 1, -1).reshape(-1, d)
            totals = np.moveaxis(added_up(None, scaled[rows], ends), 1, -1).reshape(-1, 1)
            if exactly:
                sums = self._map.apply(own, by_row) - (totals - 1.0) * shift
            else:
                # Rounds by the place of a piece, for which margins allow.
                sums = self._map.push_forward(own.T).T - totals * shift
            yield rows, ends, np.moveaxis(sums.reshape(k, *r.shape[1:], -1), -1, 1)

    def combine_within(self, r: np.ndarray, bound: float) -> np.ndarray:
        """Sum of the rows, entries clipped to [-bound, bound], weighted by r, (m,) or (m, K)."""
        return product_over_rows(np.clip(self.rows()[:, : self._map.n_features], -bound, bound), r)

    def rows(self) -> np.ndarray:
        """The rows themselves, dense (m, p)."""
        # In memory of their own: what is mapped to be measured, now or later, would overwrite them.
        Z = self._map.apply(self.written_out(), by_row if self.apart else np.matmul)
        times_rows(Z, self._shrink)
        return Z if not self.constant else np.column_stack([Z, np.full(len(Z), self.constant)])

    def _features(self) -> Iterator[tuple[slice, np.ndarray]]:
        longest = self._map.norm
        for part, X in self._few_at_a_time():
            V = self._mapped(X)
            # Rows need not have been measured, which would bring them to the coordinates as well.
            lengths = self._lengths_of(V) if self._dense else self._lengths[part]
            times_each(V, longest / np.maximum(lengths, longest))
            yield part, V

    @property
    def _n_features(self) -> int:
        return self._map.n_features


# Least length of a row that counts, in units of the shift that it may nearly cancel with.
LEAST_LENGTH = 1e-4

# Half a unit in the last place of 1.
ROUNDING = 2.0**-53


def sparse_lengths(block: BoundedBlock, row_map: RowMap) -> np.ndarray:
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
        squares = own - 2.0 * block.along(row_map.scale * shift) + shifts
        squares += 8.0 * (shift.size + 8) * ROUNDING * total
        lengths = np.sqrt(np.maximum(squares, LEAST_LENGTH**2 * shifts))
    lengths[np.isnan(lengths)] = np.inf
    return lengths
