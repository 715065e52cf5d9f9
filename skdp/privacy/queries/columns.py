"""Queries about single features: sizes, places, trees of counts, means of values and squares."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from math import sqrt
from typing import ClassVar

import numpy as np
import scipy.sparse as sp

from ...problem.column_bounds import ColumnBounds, long_rows
from ..adjacency import Adjacency
from ..rounding import of_sum
from ..rows.base import RowStore
from ..rows.bounded_rows import STEPS, RawBlock
from .base import CountQuery, GaussianQuery, tallied

# Entries vote for powers of 2 of their sizes, from the first to the second.
LEAST_EXPONENT, LARGEST_EXPONENT = -50, 50
EXPONENTS = LARGEST_EXPONENT - LEAST_EXPONENT + 1
# A double is a sign, the bits of its exponent, and a mantissa of so many bits, which is 0 for a
# power of 2. What is taken off the exponent for the e of 2^(e-1) <= |x| < 2^e.
_MANTISSA_BITS, _MANTISSA, _INFINITE, _BIAS = 52, (1 << 52) - 1, 0x7FF, 1022
# Cell of a vote by sign and exponent, as a number that may be negative; the last is for none.
# Subnormal numbers are below the least power all the same.
_NO_VOTE = 2 * EXPONENTS
_POWERS = np.clip(np.arange(_INFINITE + 1) - _BIAS, LEAST_EXPONENT, LARGEST_EXPONENT)
_CELLS = np.concatenate([_POWERS, _POWERS + EXPONENTS]) - LEAST_EXPONENT
_CELLS[[_INFINITE, 2 * _INFINITE + 1]] = _NO_VOTE
_WEIGHT = sqrt(2.0)
_OFFSET = 0.75
# Weight of an entry that is missing: as long as the longest that is not.
_MISSING = sqrt(1.125)
# A square and the offset, which cancel, are together longer than what is left, by up to this.
_SPREAD = 3.0


class _EntryCounts(CountQuery):
    """A query for counts that looks at each entry: what it takes for that stays in cache."""

    def evaluate(self, rows: RowStore) -> np.ndarray:
        return rows.sum(partial(RawBlock.counted, kernel=self._of_block))


@dataclass(frozen=True, eq=False)
class MagnitudeVotesQuery(_EntryCounts):
    r"""Votes of the entries for their features' signs and powers of 2, of shape (k, 2, 101).

    An entry x that is finite and none of 0, 1 and -1 votes for the cell of its feature, its sign
    and the e in [-50, 50] with ``2^(e-1) <= |x| < 2^e``, the nearest if there is none. In a row
    with m such entries each vote counts ``v / sqrt(m)``, for the weight v of the row.

    Guarantees
    ----------
    - A row adds a non-negative vector of length at most v <= 1. Two such vectors are at most
      ``sqrt(2)`` apart, whatever the number of features: replacing a row moves the answer by at
      most that, attained by rows that vote for different cells, and zeroing it out by at most 1.
      Rows of a privacy unit count by their shares, so that together they add such a vector, too.
      Proof: theorem C5 of ``docs/proofs/columns_and_metrics.md``.
    - Features that are not asked about do not move the answer.
    """

    name: ClassVar[str] = "magnitude_votes"

    #: The k features that may vote, all different.
    columns: tuple[int, ...]

    def _of_block(self, block: RawBlock) -> np.ndarray:
        (m, k), stored = (len(block.y), len(self.columns)), entries_of(block.X, self.columns)
        cells = _cells_of_votes(stored.values)
        lost = stored.rows_of(np.flatnonzero(cells == _NO_VOTE))
        entries = stored.numbers(m) - np.bincount(lost, minlength=m)
        of_rows = divided_votes(entries, block.bounded_weights)
        stored.place(cells, _NO_VOTE + 1)
        # Sums are exact: votes of one size may as well be counted.
        alike = m > 0 and bool((of_rows == of_rows[0]).all())
        out = tallied(cells.ravel(), k * (_NO_VOTE + 1), None if alike else stored.spread(of_rows))
        out = out.reshape(k, _NO_VOTE + 1)[:, :_NO_VOTE].reshape(k, 2, EXPONENTS)
        return out * of_rows[0] if alike else out


@dataclass(frozen=True, eq=False)
class ColumnCellsQuery(_EntryCounts):
    """Numbers of rows, or their total weight, by cell of each of k features; of shape (k, m + 4).

    Each feature has m cells of one length, from which values of exactly 0 are left out; then come
    the cells of values below, of values above, of zeros and of what is not a number.

    Guarantees
    ----------
    - A row adds its weight to one cell of each feature. Replacing it moves each feature's part by
      at most ``sqrt(2)`` and the answer by ``sqrt(2 k)``, attained where all features change their
      cells; zeroing it out by ``sqrt(k)``. Features that are not asked about do not move it.
    """

    name: ClassVar[str] = "column_cells"

    #: Ends of the intervals that are cut into cells; shape (k,).
    low: np.ndarray
    high: np.ndarray
    #: Number m of cells of each.
    cells: int
    #: The k features, all different.
    columns: tuple[int, ...]

    @property
    def tables(self) -> int:
        """One for each feature."""
        return len(self.columns)

    def _of_block(self, block: RawBlock) -> np.ndarray:
        m, k, v = self.cells, len(self.columns), block.bounded_weights
        stored, step = entries_of(block.X, self.columns), (self.high - self.low) / self.cells
        # Below comes first, and above behind the others.
        zeros, first = np.flatnonzero(stored.values == 0), (m + 4) * np.arange(k)
        for values, columns in stored.by_column(stored.values):
            values -= self.low[columns]
            values /= step[columns]
            np.floor(np.clip(values, -1.0, m, out=values), out=values)
            values += 1.0 + first[columns]
        cells = stored.values.reshape(-1)
        missing = np.flatnonzero(np.isnan(cells))
        for cell, places in ((m + 3, missing), (m + 2, zeros)):
            cells[places] = cell + first[stored.columns_of(places)]
        weights = None if v is None else stored.spread(v)
        out = tallied(cells.astype(np.intp), k * (m + 4), weights)
        out = out.reshape(k, m + 4)[:, [*range(1, m + 1), 0, m + 1, m + 2, m + 3]]
        # What sparse rows do not store is zero.
        out[:, m + 2] += (len(block.y) if v is None else v.sum()) - out.sum(axis=1)
        return out


def _cells_of_votes(values: np.ndarray) -> np.ndarray:
    """Cell of each value by its sign and its power of 2, or ``_NO_VOTE``."""
    bits = values.view(np.int64)
    cells = _CELLS[bits >> _MANTISSA_BITS]
    # 0, 1 and -1 are among the powers of 2, which are few unless there are codes.
    powers = np.flatnonzero((bits & _MANTISSA) == 0)
    sizes = np.abs(values.reshape(-1)[powers])
    cells.reshape(-1)[powers[(sizes == 0) | (sizes == 1)]] = _NO_VOTE
    return cells


def divided_votes(entries: np.ndarray, weights: np.ndarray | None) -> np.ndarray:
    """Size of each vote of a row: its weight over the root of the number of its entries.

    On the grid of weights, on which sums are exact in any order.
    """
    root = np.sqrt(np.maximum(entries, 1))
    # Upwards unless it is exact, so that no row becomes longer than its weight.
    root[root != np.rint(root)] *= 1.0 + 2.0**-50
    return np.floor((1.0 if weights is None else weights) * STEPS / root) / STEPS


@dataclass(frozen=True, eq=False, repr=False)
class Entries:
    """Entries of some columns of a few rows, all of dense rows or those that sparse ones store.

    Parameters
    ----------
    values : ndarray of shape (m, k) or (n,)
        Their values in double precision, a copy; a table if rows are dense.
    rows, columns : ndarray of int
        Row of each, and its place among the columns; of shapes (m, 1) and (k,) for a table.
    """

    values: np.ndarray
    rows: np.ndarray
    columns: np.ndarray

    def by_column(self, of: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray | slice]]:
        """Views of what there is of each entry, and the columns of these as an index."""
        return long_rows(of) if of.ndim == 2 else iter([(of, self.columns)])

    def place(self, cells: np.ndarray, each: int) -> np.ndarray:
        """Cells of entries, of so many a column, moved to where those of their columns are."""
        first = each * np.arange(self.columns.max(initial=0) + 1)
        for own, columns in self.by_column(cells):
            own += first[columns]
        return cells

    def rows_of(self, places: np.ndarray) -> np.ndarray:
        """Rows of the entries in these places."""
        return places // max(1, self.columns.size) if self.values.ndim == 2 else self.rows[places]

    def columns_of(self, places: np.ndarray) -> np.ndarray:
        """Columns of the entries in these places."""
        return self.columns[places % self.columns.size if self.values.ndim == 2 else places]

    def numbers(self, m: int) -> np.ndarray:
        """Numbers of entries of m rows, (m,)."""
        if self.values.ndim == 2:
            return np.full(m, self.columns.size)
        return np.bincount(self.rows, minlength=m)

    def spread(self, of_rows: np.ndarray) -> np.ndarray:
        """Numbers of rows, one for each entry."""
        return np.broadcast_to(of_rows[self.rows], self.values.shape).ravel()


def entries_of(X: np.ndarray | sp.csr_array | sp.csr_matrix, columns: tuple[int, ...]) -> Entries:
    """The entries of these columns."""
    if isinstance(X, np.ndarray):
        some = X if columns == tuple(range(X.shape[1])) else X[:, list(columns)]
        values = np.array(some, dtype=np.float64, order="C")
        return Entries(values, np.arange(len(X))[:, None], np.arange(len(columns)))
    place = np.full(X.shape[1], -1)
    place[list(columns)] = np.arange(len(columns))
    rows, places = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr)), place[X.indices]
    asked = places >= 0
    return Entries(X.data[asked].astype(np.float64), rows[asked], places[asked])


@dataclass(frozen=True, eq=False)
class ColumnTreeQuery(_EntryCounts):
    r"""Number of rows in each node of a tree over the range of each feature, or their total weight.

    The range is cut into ``4 ** levels`` cells of one width, the leaves; each four neighbours have
    a parent, up to four nodes at the top. The answer has the shape (d, 1 + 4 + ... + 4^levels):
    missing values first, then the nodes from the top down.

    Guarantees
    ----------
    - A row is in one node of each level for each feature, or in the place of what is missing.
      Replacing it moves the answer by at most ``sqrt(2 levels d)``, attained where every feature
      goes from one end of its range to the other; zeroing it out by at most ``sqrt(levels d)``.
      Proof: ``docs/proofs/histograms_and_counts.md``.
    """

    name: ClassVar[str] = "column_tree"

    #: Range of each of the d features. Values beyond count in the cell at the end.
    bounds: ColumnBounds
    #: Number of levels of nodes.
    levels: int

    @property
    def tables(self) -> int:
        """One for each level of each feature."""
        return self.levels * self.bounds.low.size

    def public(self) -> tuple[object, ...]:
        return (self.bounds.low, self.bounds.high, self.levels)

    def _of_block(self, block: RawBlock) -> np.ndarray:
        (m, d), v = block.X.shape, block.bounded_weights
        weights, size = np.ones(m) if v is None else v, 4**self.levels + 1
        every = np.arange(d)
        stored = entries_of(block.X, tuple(range(d)))
        cells = stored.place(self._cells(stored.values, stored.columns), size)
        counts = tallied(cells.ravel(), d * size, stored.spread(weights)).reshape(d, size)
        # Zeros that sparse rows do not store are counted, not looked at.
        counts[every, self._cells(np.zeros(d), every)] += weights.sum() - counts.sum(axis=1)
        cut = counts[:, 1:]
        nodes = (cut.reshape(d, 4**k, -1).sum(axis=2) for k in range(1, self.levels + 1))
        return np.column_stack([counts[:, 0], *nodes])

    def _cells(self, values: np.ndarray, features: np.ndarray) -> np.ndarray:
        """Cell of each value, from 1 on; 0 if it is missing. Overwrites the values."""
        low, half = self.bounds.low[features], self.bounds.half_width[features]
        missing, last = np.isnan(values), 4**self.levels - 1
        # Clipped first: a difference of huge numbers may be beyond the largest float.
        np.clip(values, low, self.bounds.high[features], out=values)
        values = (values - low) / half * (0.5 * 4**self.levels)
        values[missing] = -1.0
        return 1 + np.minimum(values, last).astype(np.intp)


class UnitMoments(GaussianQuery):
    r"""Means over the rows of d numbers u in [-1, 1] each, and of ``sqrt(2) (u^2 - 3/4)``.

    All have noise of one scale, so each number takes the same share of what the joint answer, of
    shape (2, d), costs, whatever its units.

    Guarantees
    ----------
    - Replacing a row moves the answer by at most ``2 sqrt(d) / n`` in l2, as much as the means
      alone, so the squares come for free; attained where every number goes from one end to the
      other. A weight above 1.67 would cost more. Zeroing a row out moves the answer by at most
      ``sqrt(9 d / 8) / n``: the offset 3/4 makes a number in the middle as long as one at an end.
      Proof: theorem C1 of ``docs/proofs/columns_and_metrics.md``.
    - Rows of a privacy unit count by their shares. Weights of their own do not count here: with
      less than 1 for a unit the offset would not be taken off whole.
    """

    n_samples: int

    @property
    @abstractmethod
    def entries(self) -> int:
        """The number d."""

    @abstractmethod
    def _of_block(self, block: RawBlock) -> np.ndarray: ...

    def sensitivity(self, adjacency: Adjacency) -> float:
        """``2 sqrt(d) / n`` under replace-one, ``sqrt(9 d / 8) / n`` under zero-out."""
        square = 4.0 if adjacency is Adjacency.REPLACE_ONE else 1.125
        return sqrt(square * self.entries) / self.n_samples

    @property
    def rounding(self) -> float:
        """Margin for rounding of sums of squares and offsets, before they cancel."""
        return of_sum(self.n_samples, _SPREAD)

    def evaluate(self, rows: RowStore) -> np.ndarray:
        """The exact answer, of shape (2, d)."""
        return rows.sum(self._of_block) / self.n_samples

    def moments(self, answer: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The means of ``u`` and of ``u^2``, each of shape (d,), from an answer."""
        return answer[0], answer[1] / _WEIGHT + _OFFSET

    def of_scaled(self, u: np.ndarray, shares: np.ndarray | None = None) -> np.ndarray:
        """Sums over rows of u and of ``sqrt(2) (u^2 - 3/4)``, shape (2, d), for u in [-1, 1].

        Rows of privacy units count by their shares.
        """
        if shares is None:
            squares = np.einsum("ij,ij->j", u, u)
            return np.stack([u.sum(axis=0), _WEIGHT * (squares - _OFFSET * len(u))])
        squares = np.einsum("i,ij,ij->j", shares, u, u)
        return np.stack([shares @ u, _WEIGHT * (squares - _OFFSET * shares.sum())])


@dataclass(frozen=True, eq=False)
class ColumnMomentsQuery(UnitMoments):
    """Moments of the d features on the scale of their public bounds, and what is missing of each.

    ``u_j = clip((x_j - c_j) / h_j, -1, 1)``, with ``c_j`` the middle and ``h_j`` half the width of
    the interval of feature j. Entries that are not numbers add nothing to the moments, and
    ``sqrt(9 / 8)`` to the third line of the answer, which has the shape (3, d).

    Guarantees
    ----------
    - The third line costs nothing, under either relation: an entry that is missing is as long as
      the longest, and ``3 / 2`` from any other, where two others may be 2 apart. Proof: theorem C1
      of ``docs/proofs/columns_and_metrics.md``.
    """

    name: ClassVar[str] = "column_moments"

    bounds: ColumnBounds
    n_samples: int

    @property
    def entries(self) -> int:
        """Number of features."""
        return self.bounds.low.size

    def public(self) -> tuple[object, ...]:
        return (self.bounds.low, self.bounds.high)

    def missing(self, answer: np.ndarray) -> np.ndarray:
        """Share of the rows in which each feature is missing, from an answer.

        Its noise is that of a mean divided by ``sqrt(9 / 8)``.
        """
        return answer[2] / _MISSING

    def _of_block(self, block: RawBlock) -> np.ndarray:
        X, shares = block.X, block.shares
        if isinstance(X, np.ndarray):
            u = self._scaled(X.astype(np.float64), slice(None))
            out, lost = self.of_scaled(u, shares), np.isnan(X)
            missing = lost.sum(axis=0) if shares is None else shares @ lost
        else:
            sums, squares, missing = self._of_stored(X, shares)
            rows = len(block.y) if shares is None else float(shares.sum())
            out = np.stack([sums, _WEIGHT * (squares - _OFFSET * rows)])
        out[1] += _WEIGHT * _OFFSET * missing
        return np.vstack([out, _MISSING * missing])

    def _of_stored(
        self, X: sp.csr_array | sp.csr_matrix, shares: np.ndarray | None
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Sums of u and of its square for sparse rows, and numbers of missing entries.

        Zeros are counted, not looked at.
        """
        m, d = X.shape
        u = self._scaled(X.data.astype(np.float64), X.indices)
        at_zero = self._scaled(np.zeros(d), slice(None))
        s = np.ones(m) if shares is None else shares
        of_entry = np.repeat(s, np.diff(X.indptr))
        zeros = s.sum() - np.bincount(X.indices, of_entry, minlength=d)
        sums = np.bincount(X.indices, of_entry * u, minlength=d) + zeros * at_zero
        squares = np.bincount(X.indices, of_entry * u * u, minlength=d) + zeros * at_zero**2
        return sums, squares, np.bincount(X.indices, of_entry * np.isnan(X.data), minlength=d)

    def _scaled(self, values: np.ndarray, features: np.ndarray | slice) -> np.ndarray:
        """Values of these features on the scale of their bounds. Overwrites them."""
        # Clipped first: a difference of huge numbers may be beyond the largest float.
        np.clip(values, self.bounds.low[features], self.bounds.high[features], out=values)
        values -= self.bounds.centre[features]
        values /= self.bounds.half_width[features]
        np.clip(values, -1.0, 1.0, out=values)
        values[np.isnan(values)] = 0.0
        return values
