"""Blocks of rows: as they came, and brought to public bounds by factors applied on the fly."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from math import ceil
from typing import Any, TypeAlias, TypeVar

import numpy as np
import scipy.sparse as sp
from sklearn.utils.extmath import row_norms

from ...problem.bounds import RowBounds
from ...problem.column_bounds import ColumnScaling
from .score_cache import ScoreCache, times_rows

Rows: TypeAlias = np.ndarray | sp.csr_array | sp.csr_matrix
Sparse = TypeVar("Sparse", sp.csr_array, sp.csc_array)

# Norms up to this can be computed and used in double precision without overflow.
_LARGEST_NORM = 1e150
_LEAST_NORM = 1e-150
_ROUNDED = 1.0 + 2.0**-50  # How far off is what was brought to unit norm.
LONGEST_CUT = 1 << 15  # Rows; what rounding does to a sum grows with their number.
LONGEST_PIECE = 1 << 12  # Rows of a privacy unit that are added up by themselves.
STEPS = 2.0**26  # Of weights between 0 and 1.
MOST_ROWS = LONGEST_CUT * 3 // 2
# Entries and rows that are brought to other coordinates at a time, so that they stay in cache.
_PIECE_ENTRIES, _LEAST_PIECE = 1 << 16, 512
# Kernels of linear algebra for fewer rows than this may depend on the memory between columns.
_FEW_ROWS = 16


@dataclass(frozen=True, eq=False)
class Pieces:
    """Pieces of privacy units that a block consists of, each of rows that follow each other.

    Parameters
    ----------
    ends : ndarray of int of shape (k + 1,)
        First row of each piece in the block, and the number of rows of the block.
    first, last : ndarray of bool of shape (k,)
        Whether a unit begins, or ends, with the piece.
    """

    ends: np.ndarray
    first: np.ndarray
    last: np.ndarray

    def runs(self, length: int) -> Iterator[tuple[slice, np.ndarray]]:
        """A few pieces at a time: their rows, and the ends of pieces among these.

        Not too many sums over pieces, of so many entries, are held at a time.
        """
        step = max(1, _PIECE_ENTRIES // length)
        for i in range(0, self.first.size, step):
            ends = self.ends[i : i + step + 1]
            yield slice(ends[0], ends[-1]), ends - ends[0]


@dataclass(frozen=True, eq=False)
class RawBlock:
    """A run of rows as they came.

    Parameters
    ----------
    X : ndarray or CSR matrix of shape (m, d)
        Features.
    y : ndarray of shape (m,) or (m, t)
        Encoded targets, one or several a row.
    weights : ndarray of shape (m,), optional
        Weights of the rows.
    shares : ndarray of shape (m,), optional
        What each row counts of its privacy unit, a multiple of 2^-26; None if every row is a unit.
        How many rows there are before a row, and in the block, is secret then.
    units : ndarray of shape (m,), optional
        Privacy unit of each row, among those of the whole table.
    pieces : Pieces, optional
        Pieces of privacy units, where the rows of each of them lie together.
    """

    X: Rows
    y: np.ndarray
    weights: np.ndarray | None = None
    shares: np.ndarray | None = None
    units: np.ndarray | None = None
    pieces: Pieces | None = None

    @cached_property
    def bounded_weights(self) -> np.ndarray | None:
        """The weights within [0, 1] times the shares; None if every row counts 1.

        Weights that are not numbers are 0.
        """
        w = self.weights
        if w is None:
            return self.shares
        w = np.fmin(np.fmax(w, 0), 1)
        # On a grid, on which sums of weights are exact in any order.
        return np.floor((w if self.shares is None else w * self.shares) * STEPS) / STEPS

    @cached_property
    def norms(self) -> np.ndarray:
        """Norms (l2) of the rows in double precision; inf where they are not finite."""
        with np.errstate(over="ignore", invalid="ignore"):
            norms = lengths_of(_in_double(self.X))
        norms[np.isnan(norms)] = np.inf
        return norms

    def norms_on(self, scaling: ColumnScaling) -> np.ndarray:
        """Norms (l2) of the rows with features on another scale; the latest are kept."""
        kept: tuple[ColumnScaling, np.ndarray] | None = vars(self).get("_norms_on")
        if kept is None or kept[0] is not scaling:
            kept = scaling, RawBlock(on_scale(scaling, self.X), self.y).norms
            vars(self)["_norms_on"] = kept
        return kept[1]

    def cut_to(self, columns: tuple[int, ...]) -> RawBlock:
        """A block of these rows with the given features alone, dense."""
        X = self.X[:, list(columns)]
        X = X if isinstance(X, np.ndarray) else X.toarray()
        return RawBlock(X, self.y, self.weights, self.shares, self.units, self.pieces)


class BoundedBlock(ABC):
    """Rows that respect public bounds.

    Attributes
    ----------
    y : ndarray of shape (m,), or (m, t) for several targets a row
        Bounded targets.
    norms : ndarray of shape (m,)
        Positive bounds on the norms of the rows.
    constant : float
        Intercept entry of each row, 0 without one; public.
    derivative_bounds : DerivativeBounds
        Bounds on the derivatives of the rows, from these norms.
    unit_pieces : Pieces or None
        Pieces of privacy units, where the rows of each of them lie together.
    weights : ndarray of shape (m,) or None
        Weights of the rows within [0, 1], for queries to apply; None if every row weighs 1.
    apart : bool
        Whether places of rows are secret, so that nothing computed for a row may depend on them.
    units : ndarray of shape (m,) or None
        Privacy unit of each row; None if each is one.
    """

    y: np.ndarray
    norms: np.ndarray
    constant: float
    weights: np.ndarray | None
    apart: bool
    units: np.ndarray | None
    unit_pieces: Pieces | None
    derivative_bounds: DerivativeBounds

    @abstractmethod
    def loaded(self) -> BoundedBlock:
        """Itself if its rows can be used where they lie, else a copy that lives for one use."""

    @abstractmethod
    def over(self, X: Rows | None) -> BoundedBlock:
        """A copy with X, the same rows as they came, in place of its own; None takes them out."""

    @abstractmethod
    def taken(self, chosen: np.ndarray) -> BoundedBlock:
        """A copy with these of its rows, by their positions in the block; maybe none."""

    @abstractmethod
    def scores(self, w: np.ndarray) -> np.ndarray:
        """Inner products of the rows with w; shape (m,) or (m, K)."""

    @abstractmethod
    def scores_along(self, w: np.ndarray, shrunk: float) -> np.ndarray:
        """Scores at w, faster if w is ``shrunk`` times the latest w but for few features.

        Latest is known to blocks that stay in memory, and to this method alone.
        """

    @abstractmethod
    def combine(self, r: np.ndarray) -> np.ndarray:
        """Sum of the rows weighted by r, (m,) or (m, K); has the shape of w. Overwrites r."""

    @abstractmethod
    def combine_pieces(self, r: np.ndarray, *, exactly: bool = False) -> Iterator[np.ndarray]:
        """Sums over pieces of units of the rows weighted by r, (m,) or (m, K); some at a time.

        In the order of the pieces, each of p entries or p K, and of a last one: what its rows
        weigh. A sum depends on its own rows alone, to the last bit; in other coordinates, where
        that takes longer, only if ``exactly`` is asked for.
        """

    @abstractmethod
    def combine_within(self, r: np.ndarray, bound: float) -> np.ndarray:
        """Sum of the rows, entries clipped to [-bound, bound], weighted by r, (m,) or (m, K).

        The intercept entry is left out.
        """

    @abstractmethod
    def rows(self) -> np.ndarray:
        """The rows themselves, dense (m, p)."""

    @abstractmethod
    def gram(self) -> np.ndarray:
        """Sum over the rows of ``v v'``, shape (p, p)."""


class Block(BoundedBlock):
    """A run of bounded rows ``[f_i x_i, intercept_value]`` with ``f_i = min(1, R / ||x_i||)``.

    Guarantees
    ----------
    - ``norms`` bounds the norm of every row that ``scores`` and ``combine`` work with, and is at
      most ``bounds.row_norm``, up to 2^-50 of it and the rounding of norms. This holds for any
      entries: a row that is not finite counts as zero.
    - The scores of a row do not depend on the entries of other rows, to the last bit. Otherwise
      one row could move all others across the edges between which a query counts.
    - Mapped targets are in [-1, 1], also after rounding, and weights in [0, 1].
    - Computations are in double precision whatever the type of X.
    - Features on another scale are brought to it entry by entry, so that a row there depends on
      that row alone; norms are of these rows, and what ``scores`` and ``combine`` work with are the
      same numbers.
    """

    def __init__(self, raw: RawBlock, bounds: RowBounds) -> None:
        self._scaling, limit = bounds.scaling, bounds.data_norm
        norms = raw.norms if self._scaling is None else raw.norms_on(self._scaling)
        largest = norms.max(initial=0.0)
        self._X, self._limit, self._cache = raw.X, limit, ScoreCache()
        # True for rows whose place tells of others.
        self.apart = raw.shares is not None
        self.units, self.unit_pieces = raw.units, raw.pieces
        self._scattered = isinstance(raw.X, np.ndarray) and not _fit_for_blas(raw.X)
        self._huge: np.ndarray | None = None
        if largest > _LARGEST_NORM:
            self._huge = norms > _LARGEST_NORM
            norms = np.where(self._huge, limit, norms)
        long = None if largest <= limit * _ROUNDED else ~(norms <= limit * _ROUNDED)
        # Whether there is a factor depends on other rows; what a row is multiplied by must not.
        self._factor = None if long is None else np.where(long, limit / np.maximum(norms, limit), 1)
        self.constant = bounds.intercept_value
        # Written so that entries that are not numbers count as negative. On another scale any may
        # be, and a look at one row must not decide about others.
        settled = self._scaling is None and _entries(raw.X).min(initial=0.0) >= 0
        self._signed = bounds.nonnegative and not settled
        # Positive, so that a bound on a row's contribution can be divided by it.
        self.norms = np.maximum(np.hypot(np.minimum(norms, limit), self.constant), _LEAST_NORM)
        self.derivative_bounds = DerivativeBounds(self.norms)
        self.y, self.weights = raw.y, raw.bounded_weights
        if (target := bounds.target) is not None:
            y = (np.clip(raw.y, *target.ends) - target.centre) / target.half_width
            # The centre is rounded, by much where the interval is narrow for its distance from 0.
            self.y = np.clip(y, -1.0, 1.0)

    def loaded(self) -> Block:
        """Itself if its rows can be used where they lie, else a copy that lives for one use.

        Features are brought to the scale of the bounds, single precision to double, huge rows to a
        norm that can be computed with, negative features to zero if they count as that, and what
        lies scattered in memory together. A block is small: this happens in cache, and X as a whole
        is not copied.
        """
        as_it_lies = self._X.dtype == np.float64 and not self._scattered
        if self._huge is None and not self._signed and self._scaling is None and as_it_lies:
            return self
        other = copy(self)
        if self._scaling is not None:
            other._X, other._scaling, other._scattered = (
                on_scale(self._scaling, self._X),
                None,
                False,
            )
        other._X = _in_double(other._X)
        if other._scattered:
            other._X, other._scattered = other._X.copy(order="K"), False
        if self._huge is not None:
            other._X, other._huge = _tamed(other._X, self._huge, self._limit), None
        if self._signed:
            other._X, other._signed = _without_negatives(other._X), False
        return other

    def over(self, X: Rows | None) -> Block:
        """A copy with X, the same rows as they came, in place of its own; None takes them out."""
        other = copy(self)
        # Without rows it waits for this method again. What is derived from rows goes with them.
        other._X, other._cache, other.derivative_bounds = (
            X,
            ScoreCache(),
            DerivativeBounds(self.norms),
        )
        other._scattered = isinstance(X, np.ndarray) and not _fit_for_blas(X)
        return other

    def taken(self, chosen: np.ndarray) -> Block:
        """A copy with these of its rows, by their positions in the block; maybe none."""
        other = copy(self)
        other._X, other.y, other.norms = self._X[chosen], self.y[chosen], self.norms[chosen]
        other.apart, other.unit_pieces = True, None
        other.units = None if self.units is None else self.units[chosen]
        other._scattered, other._cache, other.derivative_bounds = (
            False,
            ScoreCache(),
            DerivativeBounds(other.norms),
        )
        other.weights = None if self.weights is None else self.weights[chosen]
        if self._factor is not None:
            other._factor = self._factor[chosen]
        if self._huge is not None:
            other._huge = self._huge[chosen]
        return other

    def squared_lengths(self, scale: np.ndarray) -> np.ndarray:
        """Squared norms of the rows times ``scale``, intercept entry left out; shape (m,)."""
        X = self._X
        if isinstance(X, np.ndarray):
            squares = row_norms(X * scale, squared=True)
        else:
            scaled = X.data * scale[X.indices]
            scaled_X = compressed(sp.csr_array, X.shape, scaled, X.indices, X.indptr)
            squares = row_norms(scaled_X, squared=True)
        return squares if self._factor is None else squares * self._factor**2

    def scores(self, w: np.ndarray) -> np.ndarray:
        """Inner products of the rows with w; shape (m,) or (m, K)."""
        if not self.constant:
            return self._scaled(self._products(w))
        z = self._scaled(self._products(w[:-1]))
        z += self.constant * w[-1]
        return z

    def _products(self, w: np.ndarray) -> np.ndarray:
        """Rows times w. What a row gets does not depend on its place, nor on who else is there.

        Kernels of linear algebra round by the place of a row, which is public for a whole block
        where each row is a privacy unit. Of rows that were drawn it tells who else was drawn, and
        of rows of units how many rows others have, and so each is summed up by itself.
        """
        if not self.apart or not isinstance(self._X, np.ndarray):
            return self._X @ w
        return by_row(self._X, w)

    def scores_along(self, w: np.ndarray, shrunk: float) -> np.ndarray:
        """Scores at w, faster if w is ``shrunk`` times the latest w but for few features."""
        if self.apart and isinstance(self._X, np.ndarray):
            return self.scores(w)
        features = w[:-1] if self.constant else w
        z = self._cache.scores(self._X, self._factor, features, shrunk)
        if self.constant:
            z += self.constant * w[-1]
        return z

    def pieces(self) -> Iterator[tuple[slice, np.ndarray]]:
        """Few rows at a time, dense and without the intercept entry, and their places."""
        m, d = self._X.shape
        for part in (slice(*ends) for ends in _runs(m, max(_LEAST_PIECE, _PIECE_ENTRIES // d))):
            X = self._X[part]
            X = X if isinstance(X, np.ndarray) else X.toarray()
            yield part, X if self._factor is None else X * self._factor[part, None]

    def rows(self) -> np.ndarray:
        """The rows themselves, dense (m, p)."""
        m, d = self._X.shape
        out = np.empty((m, d + bool(self.constant)))
        out[:, d:] = self.constant
        dense = self._X if isinstance(self._X, np.ndarray) else self._X.toarray()
        factor = 1.0 if self._factor is None else self._factor[:, None]
        np.multiply(dense, factor, out=out[:, :d])
        return out

    def gram(self) -> np.ndarray:
        """Sum over the rows of ``v v'``, shape (p, p)."""
        if not isinstance(self._X, np.ndarray) or self._factor is not None:
            V = self.rows()
            return V.T @ V
        if not self.constant:
            return self._X.T @ self._X
        # Without a copy of the rows that has room for the constant column.
        m, d = self._X.shape
        out = np.empty((d + 1, d + 1))
        out[:d, :d] = self._X.T @ self._X
        out[d, :d] = out[:d, d] = self.constant * self._X.sum(axis=0)
        out[d, d] = m * self.constant**2
        return out

    def combine(self, r: np.ndarray) -> np.ndarray:
        """Sum of the rows weighted by r, (m,) or (m, K); has the shape of w. Overwrites r."""
        if not self.constant:
            return _transposed(self._X) @ self._scaled(r)
        last = self.constant * np.add.reduce(r)
        g = _transposed(self._X) @ self._scaled(r)
        out = np.empty((len(g) + 1, *g.shape[1:]))
        out[:-1], out[-1] = g, last
        return out

    def combine_pieces(self, r: np.ndarray, *, exactly: bool = False) -> Iterator[np.ndarray]:
        """Sums over pieces of units of the rows weighted by r, (m,) or (m, K); some at a time."""
        del exactly
        for rows, ends, sums in self.sums_of_pieces(r):
            yield with_constants_and_weights(self, sums, r[rows], rows, ends)

    def sums_of_pieces(self, r: np.ndarray) -> Iterator[tuple[slice, np.ndarray, np.ndarray]]:
        """Rows and ends of some pieces, and sums of the rows without their intercept entries."""
        assert self.unit_pieces is not None
        r = self._scaled(r.copy())
        for rows, ends in self.unit_pieces.runs((self._X.shape[1] + 1) * (r.size // len(r))):
            yield rows, ends, added_up(self._X[rows], r[rows], ends)

    def combine_within(self, r: np.ndarray, bound: float) -> np.ndarray:
        """Sum of the rows, entries clipped to [-bound, bound], weighted by r, (m,) or (m, K)."""
        held = self._cache.combine_within(r, bound)
        if held is not None:
            return held
        X, f = self._X, self._factor
        if isinstance(X, np.ndarray):
            clipped = np.clip(X if f is None else X * f[:, None], -bound, bound)
            return clipped.T @ r
        entries = X.data if f is None else X.data * np.repeat(f, np.diff(X.indptr))
        entries = np.clip(entries, -bound, bound)
        return compressed(sp.csc_array, X.shape[::-1], entries, X.indices, X.indptr) @ r

    def _scaled(self, values: np.ndarray) -> np.ndarray:
        return times_rows(values, self._factor)


def cut(n_samples: int, rows: int) -> list[tuple[int, int]]:
    """First rows, and last rows plus one, of blocks of nearly equal size, about ``rows`` each.

    A block may be half as large again, but never has more than ``MOST_ROWS``.
    """
    rows = min(rows, LONGEST_CUT)
    return _runs(n_samples, ceil(n_samples / max(1, round(n_samples / rows))))


def _runs(n_samples: int, step: int) -> list[tuple[int, int]]:
    """Ends of runs of so many rows; none has a single row unless there is but one.

    Numpy adds up the entries of a row that is alone in another order. How many rows there are would
    decide about it, which is secret where they are of privacy units.
    """
    starts = list(range(0, n_samples, step))
    if len(starts) > 1 and n_samples - starts[-1] == 1:
        starts.pop()
    return list(pairwise([*starts, n_samples]))


def compressed(
    kind: type[Sparse], shape: tuple[int, int], data: Any, indices: Any, indptr: Any
) -> Sparse:
    """A sparse array of these parts, which may be views.

    The constructor of scipy would copy views of much larger arrays.
    """
    out = kind(shape, dtype=data.dtype)
    out.data, out.indices, out.indptr = data, indices, indptr
    return out


def with_constants_and_weights(
    block: BoundedBlock, sums: np.ndarray, r: np.ndarray, rows: slice, ends: np.ndarray
) -> np.ndarray:
    """Sums over pieces of units with those of the intercept entries, flat, and then of weights.

    Rows are those of a run of pieces, at these places of the block and with these ends.
    """
    parts = [sums.reshape(len(sums), -1)]
    if block.constant:
        parts.append(block.constant * added_up(None, r, ends).reshape(len(sums), -1))
    weights = np.ones(len(r)) if block.weights is None else block.weights[rows]
    return np.concatenate([*parts, added_up(None, weights, ends)], axis=1)


def added_up(X: Rows | None, r: np.ndarray, ends: np.ndarray) -> np.ndarray:
    """Sums of rows weighted by r over runs of them, each row by row in its order.

    Whatever there is before or behind a run changes nothing, to the last bit. X is dense or CSR,
    (m, d), and None stands for a column of ones; r is (m,) or (m, K). A run begins at each end but
    the last, which is m. The sums are dense, (k, d) or (k, d, K).
    """
    if r.ndim == 2:
        return np.stack([added_up(X, column, ends) for column in r.T], axis=-1)
    m, k = len(r), len(ends) - 1
    X = np.ones((m, 1)) if X is None else X
    # A sparse product adds up row by row, each entry for itself.
    of_runs = compressed(sp.csr_array, (k, m), np.ascontiguousarray(r), np.arange(m), ends)
    sums = of_runs @ X
    return sums if isinstance(sums, np.ndarray) else sums.toarray()


def by_row(X: np.ndarray, w: np.ndarray) -> np.ndarray:
    """Product of dense rows with w, each row summed up by itself, whatever its place."""
    # Its loops are along the entries of a row, and unlike those of linear algebra alike for all.
    m = len(X)
    terms = "ij,j->i" if w.ndim == 1 else "ij,jk->ik"
    X, w = _accompanied(np.ascontiguousarray(X)), np.ascontiguousarray(w)
    return np.asarray(np.einsum(terms, X, w, optimize=False))[:m]


def lengths_of(X: Rows) -> np.ndarray:
    """Norms (l2) of rows, each summed up by itself, whatever its place."""
    if not isinstance(X, np.ndarray):
        return row_norms(X)
    return row_norms(_accompanied(X))[: len(X)]


def _accompanied(X: np.ndarray) -> np.ndarray:
    """The rows, or a single row twice: by itself a long one is summed up in other pieces."""
    return np.repeat(X, 2, axis=0) if len(X) == 1 else X


def _entries(X: Rows) -> np.ndarray:
    return X if isinstance(X, np.ndarray) else X.data


def _fit_for_blas(X: np.ndarray) -> bool:
    """True if products with X are computed like those with a contiguous copy of it."""
    (m, _), (down, along), size = X.shape, X.strides, X.itemsize
    # Part of a longer column-major array, with enough rows that no kernel for few is chosen.
    within_columns = m >= _FEW_ROWS and down == size and along >= m * size and along % size == 0
    return X.flags.aligned and (X.flags.forc or within_columns)


def _without_negatives(X: Rows) -> Rows:
    if isinstance(X, np.ndarray):
        return np.maximum(X, 0.0)
    return compressed(sp.csr_array, X.shape, np.maximum(X.data, 0.0), X.indices, X.indptr)


def on_scale(scaling: ColumnScaling, X: Rows) -> Rows:
    """A copy of X, in double precision, on the scale; dense if zeros do not stay zeros there."""
    if not isinstance(X, np.ndarray) and scaling.shift is not None:
        X = X.toarray()
    if isinstance(X, np.ndarray):
        return scaling.apply(np.array(X, dtype=np.float64, order="K", subok=False))
    entries = X.data.astype(np.float64)
    return scaling.apply(compressed(sp.csr_array, X.shape, entries, X.indices, X.indptr))


def _in_double(X: Rows) -> Rows:
    if X.dtype == np.float64:
        return X
    if isinstance(X, np.ndarray):
        return X.astype(np.float64)
    return compressed(sp.csr_array, X.shape, X.data.astype(np.float64), X.indices, X.indptr)


def _transposed(X: Rows) -> np.ndarray | sp.csc_array:
    if isinstance(X, np.ndarray):
        return X.T
    return compressed(sp.csc_array, X.shape[::-1], X.data, X.indices, X.indptr)


def _tamed(X: Rows, huge: np.ndarray, limit: float) -> Rows:
    """A copy of X, in double precision, in which the huge rows have norm ``limit``.

    Those of them that are not finite become zero.
    """
    out: Rows
    if isinstance(X, np.ndarray):
        # In the order of X: sums in another order would round the other rows differently.
        out = X.copy(order="K")
        rows = (out[i] for i in np.flatnonzero(huge))
    else:
        out = compressed(sp.csr_array, X.shape, X.data.copy(), X.indices, X.indptr)
        rows = (out.data[X.indptr[i] : X.indptr[i + 1]] for i in np.flatnonzero(huge))
    for row in rows:
        if not np.isfinite(row).all():
            row[:] = 0.0
            continue
        # In two steps: the norm itself may be beyond the largest float.
        row /= np.abs(row).max()
        row *= limit / np.sqrt(row @ row)
    return out


class DerivativeBounds:
    """The latest bounds on derivatives of a run of rows, kept between queries.

    Queries with the same clip ask for the same bounds, one after the other.

    Parameters
    ----------
    norms : ndarray of shape (m,)
        Positive bounds on the norms of the rows; not changed while this lives.
    """

    def __init__(self, norms: np.ndarray) -> None:
        self._norms = norms
        self._latest: tuple[float, float, np.ndarray] | None = None

    def of(self, bound: float, most: float) -> np.ndarray:
        """``min(bound / norms, most)``, read-only."""
        latest = self._latest
        if latest is None or latest[:2] != (bound, most):
            bounds = np.divide(bound, self._norms)
            np.minimum(bounds, most, out=bounds)
            bounds.flags.writeable = False
            latest = self._latest = (bound, most, bounds)
        return latest[2]
