"""Blocks of rows in public coordinates, never written out as a whole."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property, partial

import numpy as np

from ...problem.bounds import RowBounds, RowMap
from ...problem.column_bounds import long_rows
from .bounded_rows import (
    LARGEST_LOSS,
    LEAST_PIECE,
    PIECE_ENTRIES,
    ROUNDING,
    SINGLE_ROUNDING,
    BoundedBlock,
    Lengths,
    RawBlock,
    added_up,
    by_row,
    lengths_of,
    product_over_rows,
    runs,
    times_each,
    total_of_rows,
    widened,
    with_constant,
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
    measured : Lengths, optional
        What ``kept`` of an earlier block of these rows was.

    Guarantees
    ----------
    - ``norms`` bounds the norm of every row that ``scores`` and ``combine`` work with, and is at
      most ``bounds.row_norm``, whatever the data and whatever the map, up to rounding that does
      not grow with the condition of the map; in a table of many rows, where norms are rounded up
      and factors down to single precision, up to 2^-21.
    """

    def __init__(self, raw: RawBlock, bounds: RowBounds, measured: Lengths | None = None) -> None:
        assert bounds.row_map is not None
        super().__init__(raw, bounds)
        self._map = (bounds.map_in_units if self._in_units else None) or bounds.row_map
        self._dense = isinstance(raw.X, np.ndarray) or self._map.mixes
        self._longest = bounds.longest
        self._single = raw.in_single and not self.apart and fits_in_single(bounds)
        if measured is not None:
            self.lengths = measured.widened()

    @cached_property
    def lengths(self) -> Lengths:
        """Bounds on the norms of the rows, and factors by which mapped rows are scaled down."""
        before, longest = self._lengths(), self._map.norm
        within = before.max(initial=0.0) <= longest
        shrink = None if within else longest / np.maximum(before, longest)
        norms = with_constant(np.minimum(before, longest), self.constant, longest)
        lengths = Lengths(norms, shrink)
        if self._origin is not None:
            # Rows are measured once, by the first copy of them that needs it.
            vars(self._origin)["lengths"] = lengths
        return lengths

    def _mapped(self, X: np.ndarray) -> np.ndarray:
        """Dense rows in these coordinates; what becomes of one does not tell of others."""
        if self.apart:
            return self._map.apply(X, by_row)
        if self._scratch is None:
            return self._map.apply(X)
        room = self._scratch.rows(len(X), self._map.n_features, "mapped")
        return self._map.apply(X, partial(np.matmul, out=room), room)

    def _lengths_of(self, Z: np.ndarray) -> np.ndarray:
        lengths = widened(lengths_of(Z))
        # A row that nearly cancels with the shift does so in sums as well, up to rounding,
        # which must not be blown up by a bound that is divided by a tiny length.
        np.maximum(lengths, LEAST_LENGTH * self._map.shift_length, out=lengths)
        # An entry of z is a sum of d products and the shift, which errs by at most d + 2 units
        # of rounding of the sum of their sizes; over all entries that sum is the longest length
        # in l2, or less. Rows along directions that the map hardly keeps are not clipped less.
        unit = ROUNDING if Z.dtype == np.float64 else SINGLE_ROUNDING
        lengths += 8.0 * (self._map.scale.size + 8) * unit * self._longest
        return lengths

    def _lengths(self) -> np.ndarray:
        """Upper bounds on the norms of the rows before they are scaled down, (m,)."""
        inner = self.loaded()
        if not self._dense:
            return sparse_lengths(inner, self._map)
        if self._single:
            return inner._lengths_in_single()
        parts = [self._lengths_of(self._mapped(X)) for _, X in inner._few_at_a_time()]
        return np.concatenate(parts or [np.empty(0)])

    def _lengths_in_single(self) -> np.ndarray:
        """These bounds, computed in single precision; the type and order of X do not matter.

        In coordinates that are as long, and to each of which only the features from it on add.
        """
        m, d = self._X.shape
        matrix, shift = (a.astype(np.float32) for a in self._map.turned)
        k, lengths = shift.size, np.empty(m)
        columns = [slice(j, j + _COORDINATES) for j in range(0, k, _COORDINATES)]
        parts = [(here, np.ascontiguousarray(matrix[here.start :, here])) for here in columns]
        with np.errstate(over="ignore", invalid="ignore"):
            few = max(LEAST_PIECE, PIECE_ENTRIES // d)
            rows, mapped = (np.empty((min(m, few + 1), length), np.float32) for length in (d, k))
            for part in (slice(*ends) for ends in runs(m, few)):
                X, Z = (room[: part.stop - part.start] for room in (rows, mapped))
                np.copyto(X, self._X[part], casting="same_kind")
                for here, part_of_matrix in parts:
                    np.matmul(X[:, here.start :], part_of_matrix, out=Z[:, here])
                if self._factor is not None:
                    times_each(Z, self._factor[part])
                for entries, coordinates in long_rows(Z):
                    entries -= shift[coordinates]
                lengths[part] = self._lengths_of(Z)
        # Of rows that are not finite, or that single precision has no room for before the factor.
        lengths[~np.isfinite(lengths)] = self._longest
        return lengths

    @property
    def measured(self) -> bool:
        """True if the rows have been measured."""
        return "lengths" in vars(self)

    @property
    def kept(self) -> Lengths | None:
        """Lengths in short form, to be kept between queries; None as long as nobody needed any."""
        longest = max(self._map.norm, self.constant)
        return self.lengths.shortened(longest) if self.measured else None

    def scores_along(self, w: np.ndarray, shrunk: float) -> np.ndarray:
        """Scores of the rows at w, without a shortcut."""
        del shrunk
        return self.scores(w)

    def _scores(self, v: np.ndarray) -> np.ndarray:
        z = self.along(self._map.pull_back(v))
        z -= self._map.shift @ v
        shrink = self.lengths.shrink
        return z if shrink is None else times_rows(z, shrink)

    def _combined(self, r: np.ndarray) -> np.ndarray:
        shift, shrink = self._map.shift, self.lengths.shrink
        total = total_of_rows(r if shrink is None else times_rows(r, shrink))
        g = self._map.push_forward(super()._combined(r))
        g -= shift * total if r.ndim == 1 else np.outer(shift, total)
        return g

    def _sums_of_pieces(
        self, r: np.ndarray, exactly: bool
    ) -> Iterator[tuple[slice, np.ndarray, np.ndarray]]:
        shift, scaled = self._map.shift, times_rows(r.copy(), self.lengths.shrink)
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
        times_rows(Z, self.lengths.shrink)
        return Z if not self.constant else np.column_stack([Z, np.full(len(Z), self.constant)])

    def _features(self) -> Iterator[tuple[slice, np.ndarray]]:
        longest = self._map.norm
        for part, X in self._few_at_a_time():
            V = self._mapped(X)
            # Rows need not have been measured, which would bring them to the coordinates as well.
            if self._dense:
                times_each(V, longest / np.maximum(self._lengths_of(V), longest))
            elif (shrink := self.lengths.shrink) is not None:
                times_each(V, shrink[part])
            yield part, V

    @property
    def _n_features(self) -> int:
        return self._map.n_features


# Coordinates that features are added up to at a time.
_COORDINATES = 16
# Least length of a row that counts, in units of the shift that it may nearly cancel with.
LEAST_LENGTH = 1e-4


def fits_in_single(bounds: RowBounds) -> bool:
    r"""Tell whether single precision is enough for bounds on the lengths of mapped rows.

    Public facts alone decide, so that how a row is measured does not depend on other rows.

    Parameters
    ----------
    bounds : RowBounds
        With a row map.

    Guarantees
    ----------
    - Where it is true, lengths of ``f x B - s`` that are computed with ``u = 2^-24``, from rounded
      x, f and turned B and s, are too small by less than ``8 (d + 8) u l``, with l the longest
      length of any mapped row. An entry passes through at most ``d + 5`` roundings of what is
      added up, whose sizes are together at most l long, and squares and their sum add
      ``(k + 4) u / 2`` of a length, with ``k <= d + 1`` entries (Higham 2002, section 3.1).
      The rest of the margin, more than ``2^-20 l``, covers what is lost below the least normal
      number: of rows at most 1e-22 l, as no map makes their norm larger by more than ``l / 1e-15``,
      and of products and squares at most ``1e-18 sqrt(d)``, where l is at least 1e-6. Where the
      factor of a scale is a part of the map, entries are larger or smaller by at most 1e10.
    - The margin is at most a thousandth of the bound that mapped rows are scaled down to.
    """
    row_map, longest = bounds.row_map, bounds.longest
    if row_map is None or row_map.matrix is None or row_map.sketch is not None:
        return False
    d, k = row_map.matrix.shape
    return (
        k <= d + 1
        and 1e-15 <= bounds.data_norm <= 1e15
        and 1e-6 <= longest <= 1e15
        and 8.0 * (d + 8) * SINGLE_ROUNDING * longest <= LARGEST_LOSS * row_map.norm
    )


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
