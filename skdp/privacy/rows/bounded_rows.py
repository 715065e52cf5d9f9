"""Blocks of rows: as they came, and brought to public bounds by factors applied on the fly."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from math import ceil
from typing import Any, ClassVar, Self, TypeAlias, TypeVar

import numpy as np
import scipy.sparse as sp
from sklearn.utils.extmath import row_norms

from ...problem.bounds import CountBounds, RowBounds
from ...problem.column_bounds import ColumnScaling
from .score_cache import ScoreCache, times_rows

Rows: TypeAlias = np.ndarray | sp.csr_array | sp.csr_matrix
Sparse = TypeVar("Sparse", sp.csr_array, sp.csc_array)
# Places of entries that are too low, and too high, among some rows, one row behind the other.
Clipped: TypeAlias = tuple[np.ndarray, np.ndarray]
# A function that adds up something over the rows of a block.
BlockKernel: TypeAlias = Callable[["BoundedBlock"], np.ndarray]

# Norms up to this can be computed and used in double precision without overflow.
_LARGEST_NORM = 1e150
_LEAST_NORM = 1e-150
LARGEST_SINGLE = 1e30  # What is kept in single precision is below that, far from its end.
_LEAST_SINGLE = 1e-30  # And what is above that is far from its other end.
# Half a unit in the last place of 1, in double and in single precision.
ROUNDING, SINGLE_ROUNDING = 2.0**-53, 2.0**-24
LARGEST_LOSS = 1e-3  # Share of their bound by which rows may be taken for longer than they are.
_ROUNDED = 1.0 + 2.0**-50  # How far off is what was brought to unit norm.
_LEAST_EXPOSURE = 1e-300  # Whose logarithm is finite, and whose events are none.
LONGEST_CUT = 1 << 16  # Rows of a block. Threads wait for each other where they are few.
LONGEST_RUN = 1 << 13  # Rows added up by themselves; what rounding does to a sum grows with them.
LONGEST_PIECE = 1 << 12  # Rows of a privacy unit that are added up by themselves.
MANY_ROWS = 1 << 20  # Of a table of more rows little is kept for each.
SINGLE_ROWS = 1 << 17  # In a table of more rows each is measured under a map in single precision.
STEPS = 2.0**26  # Of weights between 0 and 1.
MOST_ROWS = LONGEST_RUN * 3 // 2
# Entries that are brought to other coordinates, or sums of units held, at a time, so that they
# stay in cache.
PIECE_ENTRIES = 1 << 17
LEAST_PIECE = 512  # Rows that are brought to other coordinates at a time are at least as many.
_ONE_IN = 64  # Of so many entries one may be clipped for the places of those to be kept.
# Kernels of linear algebra for fewer rows than this may depend on the memory between columns.
_FEW_ROWS = 16
# Numbers of entries with which rows are summed up faster each by itself than by linear algebra,
# where they come from memory: of a table with more entries than a cache has room for.
_FAST_BY_ROW, _CACHED_ENTRIES = range(32, 401), 1 << 21


@dataclass(frozen=True, eq=False, repr=False)
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
        step = max(1, PIECE_ENTRIES // length)
        for i in range(0, self.first.size, step):
            ends = self.ends[i : i + step + 1]
            yield slice(ends[0], ends[-1]), ends - ends[0]


@dataclass(frozen=True, eq=False, repr=False)
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
    of_rows : int, default=0
        Number of rows of the table that it is a part of, public, where these are dense and each is
        a unit: how they are measured, and what is kept of each, follow from it.

    Guarantees
    ----------
    - Norms are those of the rows in double precision, up to rounding; of many rows they are kept in
      single precision, larger by at most 2^-21 of them and 2e-44, and infinite beyond 1e38.
    - Of rows that are measured under a map in single precision, neither the type nor the order of
      X in memory changes them.
    """

    X: Rows
    y: np.ndarray
    weights: np.ndarray | None = None
    shares: np.ndarray | None = None
    units: np.ndarray | None = None
    pieces: Pieces | None = None
    of_rows: int = 0

    @property
    def of_many(self) -> bool:
        """True if there are so many rows that what is kept of each has to be short."""
        return self.of_rows > MANY_ROWS

    @property
    def in_single(self) -> bool:
        """True if rows are measured in single precision under a map; public."""
        return self.of_rows > SINGLE_ROWS

    @property
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
    def exposure(self) -> np.ndarray:
        """The weights within [0, 1], ones if there are none; what is not a number is 0."""
        if self.weights is None:
            return np.ones(len(self.y))
        return np.fmin(np.fmax(self.weights, 0.0), 1.0)

    @cached_property
    def events(self) -> np.ndarray:
        """Targets times exposures: numbers of events, where targets are rates of them."""
        y = widened(self.y)
        return y if self.weights is None else y * self.exposure

    @cached_property
    def norms(self) -> np.ndarray:
        """Norms (l2) of the rows; inf where they are not finite."""
        return self._measured(None, [])

    def norms_on(self, scaling: ColumnScaling) -> np.ndarray:
        """Norms (l2) of the rows with features on another scale; the latest are kept."""
        return self._on(scaling)[1]

    def clipped_on(self, scaling: ColumnScaling) -> list[Clipped | None]:
        """Entries that another scale clips, of each piece of dense rows; kept with the norms."""
        return self._on(scaling)[2]

    def _on(self, scaling: ColumnScaling) -> tuple[ColumnScaling, np.ndarray, list[Clipped | None]]:
        kept: tuple[ColumnScaling, np.ndarray, list[Clipped | None]] | None
        kept = vars(self).get("_kept_on")
        if kept is None or kept[0] is not scaling:
            # Norms of the rows as they came are not asked for again, unless somebody does.
            vars(self).pop("norms", None)
            clipped: list[Clipped | None] = []
            kept = vars(self)["_kept_on"] = scaling, self._measured(scaling, clipped), clipped
        return kept

    def _measured(self, scaling: ColumnScaling | None, clipped: list[Clipped | None]) -> np.ndarray:
        """Norms (l2); what the scale clips of each piece of dense rows goes into the list."""
        X, room = self.X, Scratch()
        with np.errstate(all="ignore"):
            if not isinstance(X, np.ndarray):
                norms = lengths_of(_in_double(X if scaling is None else on_scale(scaling, X)))
            elif (
                scaling is None
                and X.dtype == np.float64
                and (X.flags.c_contiguous or not self.in_single)
            ):
                norms = lengths_of(X)
            else:
                norms = np.empty(len(X))
                for rows in _pieces_of(X):
                    # In one order: what is rounded to single precision would show another.
                    part = _along_rows(X[rows], room)
                    if scaling is not None:
                        centred, part = scaling.centred(part), room.like(part, "held")
                        scaling.held(centred, part)
                        clipped.append(_clipped(centred, part))
                        scaling.multiplied(part)
                    norms[rows] = lengths_of(part)
        norms[np.isnan(norms)] = np.inf
        return rounded_up(norms) if self.of_many else norms

    def over(self, X: Rows | None, **changes: Any) -> RawBlock:
        """A block with X, the same features as they came, in place of its own; None is without.

        Norms that have been asked for are those of both.
        """
        other: Any = replace(self, X=X, **changes)
        vars(other).update({k: v for k, v in vars(self).items() if k in ("norms", "_kept_on")})
        return other

    def cut_to(self, columns: tuple[int, ...]) -> RawBlock:
        """A block of these rows with the given features alone, dense."""
        X = self.X[:, list(columns)]
        X = X if isinstance(X, np.ndarray) else X.toarray()
        return replace(self, X=X)

    def summed(self, kernel: Callable[[RawBlock], np.ndarray]) -> np.ndarray:
        """Sum of the kernel over the rows, over runs of them if they are many."""
        return in_runs(lambda rows: kernel(self._taken(rows)), len(self.y))

    def counted(self, kernel: Callable[[RawBlock], np.ndarray]) -> np.ndarray:
        """Sum of a kernel whose sums are exact in any order, over rows that stay in cache."""
        if not isinstance(self.X, np.ndarray) or not len(self.y):
            return kernel(self)
        first, *others = (kernel(self._taken(rows)) for rows in _pieces_of(self.X))
        for counts in others:
            first += counts
        return first

    def _taken(self, rows: slice) -> RawBlock:
        if rows in (slice(None), slice(0, len(self.y))):
            return self
        of_rows = {name: getattr(self, name) for name in ("weights", "shares", "units")}
        some: dict[str, Any] = {k: None if a is None else a[rows] for k, a in of_rows.items()}
        return replace(self, X=self.X[rows], y=self.y[rows], pieces=None, **some)


class BoundedBlock:
    """A run of bounded rows ``[f_i x_i, intercept_value]`` with ``f_i = min(1, R / ||x_i||)``.

    Parameters
    ----------
    raw : RawBlock
        Rows as they came.
    bounds : RowBounds
        What they are brought to; :class:`~skdp.privacy.rows.mapped.MappedBlock` has their map.

    Attributes
    ----------
    y : ndarray of shape (m,), or (m, t) for several targets a row
        Bounded targets.
    constant : float
        Intercept entry of each row, 0 without one; public.
    unit_pieces : Pieces or None
        Pieces of privacy units, where the rows of each of them lie together.
    weights : ndarray of shape (m,) or None
        Weights within [0, 1] of what the loss says of the rows, for queries to apply; None if every
        row weighs 1. Exposures of counts are in their targets and scores, and not in weights.
    masses : ndarray of shape (m,) or None
        Weights within [0, 1] of the features of the rows, exposures included.
    offset : ndarray of shape (m,) or None
        What is added to the inner product of each row to be its score; None for nothing.
    apart : bool
        Whether places of rows are secret, so that nothing computed for a row may depend on them.
    units : ndarray of shape (m,) or None
        Privacy unit of each row; None if each is one.

    Guarantees
    ----------
    - ``norms`` bounds the norm of every row that ``scores`` and ``combine`` work with, up to 2^-50
      of it and the rounding of norms. It is at most ``bounds.row_norm`` up to as much, or, where it
      is rounded up to single precision, up to 2^-21. This holds for any
      entries: a row that is not finite counts as zero.
    - The scores of a row do not depend on the entries of other rows, to the last bit. Otherwise
      one row could move all others across the edges between which a query counts.
    - Mapped targets are in [-1, 1], also after rounding, and weights in [0, 1].
    - Computations are in double precision whatever the type of X.
    - Features on another scale are brought to it entry by entry, so that a row there depends on
      that row alone; norms are of these rows, and what ``scores`` and ``combine`` work with are the
      same numbers.
    """

    _scratch: Scratch | None = None
    # The block that this is a copy of, for one use.
    _origin: BoundedBlock | None = None
    # What there is one of for each row; None stands for what all rows have in common.
    _of_rows: ClassVar = frozenset(
        {"_X", "y", "weights", "masses", "offset", "units", "_factor", "_huge"}
    )

    def __init__(self, raw: RawBlock, bounds: RowBounds) -> None:
        self._scaling, limit = bounds.scaling, bounds.data_norm
        if raw.of_many and not _LEAST_SINGLE <= limit <= LARGEST_SINGLE:
            raw = replace(raw, of_rows=0)
        norms = widened(raw.norms if self._scaling is None else raw.norms_on(self._scaling))
        largest = norms.max(initial=0.0)
        # The factor of the scale is left out where it is a part of the map.
        dense = isinstance(raw.X, np.ndarray)
        self._in_units = dense and bounds.map_in_units is not None
        self._clipped = None if self._scaling is None else raw.clipped_on(self._scaling)
        self._X, self._limit, self._cache = raw.X, limit, ScoreCache()
        # True for rows whose place tells of others.
        self.apart = raw.shares is not None
        # Public, and the same whatever the type of X: copies on a scale are in cache.
        length = raw.X.shape[1]
        fast = length in _FAST_BY_ROW and raw.of_rows * length > _CACHED_ENTRIES
        self._from_memory = dense and fast and self._scaling is None
        self.units, self.unit_pieces = raw.units, raw.pieces
        self._scattered = dense and not _fit_for_blas(raw.X)
        self._huge: np.ndarray | None = None
        if largest > _LARGEST_NORM:
            self._huge = norms > _LARGEST_NORM
            norms = np.where(self._huge, limit, norms)
        # Whether there is a factor depends on other rows; what a row is multiplied by must not.
        longest = limit * _ROUNDED
        self._factor = None if largest <= longest else longest / np.maximum(norms, longest)
        self.constant = bounds.intercept_value
        # Written so that entries that are not numbers count as negative. On another scale any may
        # be, and a look at one row must not decide about others.
        self._signed = bounds.nonnegative and not (
            self._scaling is None and _entries(raw.X).min(initial=0.0) >= 0
        )
        if bounds.row_map is None:
            norms = with_constant(np.minimum(norms, limit), self.constant, limit)
            self.lengths = Lengths(norms)
        target, self.offset = bounds.target, None
        self.weights = self.masses = raw.bounded_weights
        if isinstance(target, CountBounds):
            self.y = np.clip(np.clip(raw.events, 0.0, target.cap) / target.cap, 0.0, 1.0)
            self.weights = raw.shares
            self.offset = np.log(np.maximum(raw.exposure, _LEAST_EXPOSURE)) - target.log_unit
            return
        self.y = widened(raw.y) if raw.y.dtype == np.float32 else raw.y
        if target is not None:
            y = (np.clip(self.y, *target.ends) - target.centre) / target.half_width
            # The centre is rounded, by much where the interval is narrow for its distance from 0.
            self.y = np.clip(y, -1.0, 1.0)

    @cached_property
    def lengths(self) -> Lengths:
        """Bounds on the norms of the rows, and on derivatives by them."""
        raise NotImplementedError

    @property
    def norms(self) -> np.ndarray:
        """Positive bounds on the norms of the rows, (m,), so that bounds can be divided by them."""
        return self.lengths.norms

    def loaded(self, scratch: Scratch | None = None) -> Self:
        """Itself if its rows can be used where they lie, else a copy that lives for one use.

        Features are brought to the scale of the bounds, single precision to double, huge rows to a
        norm that can be computed with, negative features to zero if they count as that, and what
        lies scattered in memory together. A block is small: this happens in cache, and X as a whole
        is not copied. With ``scratch`` the copy is there, until it is used again.
        """
        X = self._X
        if self._scaling is not None:
            X = self._scaled(self._scaling, scratch)
        X = X if X.dtype == np.float64 else _in_double(X, scratch)
        if self._scattered and X is self._X:
            X = X.copy(order="K")
        if self._huge is not None:
            X = _tamed(X, self._huge, self._limit)
        if self._signed:
            X = _without_negatives(X)
        changes: dict[str, Any] = {} if scratch is None else {"_scratch": scratch}
        if X is not self._X:
            changes |= {"_X": X, "_scaling": None, "_huge": None, "_clipped": None}
            changes |= {"_scattered": False, "_signed": False}
        return self._copied(_origin=self, **changes) if changes else self

    def _scaled(self, scaling: ColumnScaling, scratch: Scratch | None) -> Rows:
        """A copy of the rows on the scale, or in their units, in double precision."""
        X = self._X
        if not isinstance(X, np.ndarray):
            return on_scale(scaling, X)
        out, pieces = (Scratch() if scratch is None else scratch).like(X, "block"), _pieces_of(X)
        kept = self._clipped or [None] * len(pieces)
        with np.errstate(all="ignore"):
            for rows, clipped in zip(pieces, kept, strict=True):
                part = out[rows]
                np.copyto(part, X[rows])
                scaling.centred(part)
                if clipped is None:
                    scaling.held(part, part)
                else:
                    _put(part, clipped, scaling.ends_in_units)
                if not self._in_units:
                    scaling.multiplied(part)
        return out

    def over(self, X: Rows | None) -> Self:
        """A copy with X, the same rows as they came, in place of its own; None takes them out."""
        # Without rows it waits for this method again. What is derived from rows goes with them.
        scattered = isinstance(X, np.ndarray) and not _fit_for_blas(X)
        own = self.lengths.taken(slice(None))
        return self._copied(_X=X, _cache=ScoreCache(), _scattered=scattered, lengths=own)

    def taken(self, chosen: np.ndarray) -> Self:
        """A copy with these of its rows, by their positions in the block; maybe none."""
        own = self.lengths.taken(chosen)
        new = {"_scattered": False, "_cache": ScoreCache(), "_clipped": None}
        other = self._copied(apart=True, unit_pieces=None, lengths=own, **new)
        for name in self._of_rows:
            if (of_all := vars(other).get(name)) is not None:
                setattr(other, name, of_all[chosen])
        return other

    def scores(self, w: np.ndarray, *, offset: bool = True) -> np.ndarray:
        """Scores of the rows at w: inner products and any offset; shape (m,) or (m, K)."""
        z = self._scores(w[:-1] if self.constant else w)
        if self.constant:
            z += self.constant * w[-1]
        return z + self.offset if offset and self.offset is not None else z

    def scores_along(self, w: np.ndarray, shrunk: float) -> np.ndarray:
        """Scores at w, faster if w is ``shrunk`` times the latest w but for few features.

        Latest is known to blocks that stay in memory, and to this method alone.
        """
        if self.apart and isinstance(self._X, np.ndarray):
            return self.scores(w)
        features = w[:-1] if self.constant else w
        z = self._cache.scores(self._X, self._factor, features, shrunk)
        if self.constant:
            z += self.constant * w[-1]
        return z if self.offset is None else z + self.offset

    def combine(self, r: np.ndarray) -> np.ndarray:
        """Sum of the rows weighted by r, (m,) or (m, K); has the shape of w. Overwrites r."""
        if not self.constant:
            return self._combined(r)
        last = self.constant * total_of_rows(r)
        g = self._combined(r)
        out = np.empty((len(g) + 1, *g.shape[1:]))
        out[:-1], out[-1] = g, last
        return out

    def combine_pieces(self, r: np.ndarray, *, exactly: bool = False) -> Iterator[np.ndarray]:
        """Sums over pieces of units of the rows weighted by r, (m,) or (m, K); some at a time.

        In the order of the pieces, each of p entries or p K, and of a last one: what its rows
        weigh. A sum depends on its own rows alone, to the last bit; in other coordinates, where
        that takes longer, only if ``exactly`` is asked for.
        """
        for rows, ends, sums in self._sums_of_pieces(r, exactly):
            parts = [sums.reshape(len(sums), -1)]
            if self.constant:
                own = added_up(None, r[rows], ends)
                parts.append(self.constant * own.reshape(len(sums), -1))
            weights = np.ones(len(r[rows])) if self.weights is None else self.weights[rows]
            yield np.concatenate([*parts, added_up(None, weights, ends)], axis=1)

    def combine_within(self, r: np.ndarray, bound: float) -> np.ndarray:
        """Sum of the rows, entries clipped to [-bound, bound], weighted by r, (m,) or (m, K).

        The intercept entry is left out.
        """
        held = self._cache.combine_within(r, bound)
        if held is not None:
            return held
        X, f = self._X, self._factor
        if isinstance(X, np.ndarray):
            clipped = np.clip(X if f is None else X * f[:, None], -bound, bound)
            return product_over_rows(clipped, r)
        entries = X.data if f is None else X.data * np.repeat(f, np.diff(X.indptr))
        entries = np.clip(entries, -bound, bound)
        return compressed(sp.csc_array, X.shape[::-1], entries, X.indices, X.indptr) @ r

    def rows(self) -> np.ndarray:
        """The rows themselves, dense (m, p)."""
        return self.written_out(self.constant)

    def gram(self) -> np.ndarray:
        """Sum over the rows, times their weights, of ``v v'``, shape (p, p)."""
        d, c = self._n_features, self.constant
        out = np.zeros((d + bool(c),) * 2)
        for V, roots in self._weighed_features():
            out[:d, :d] += V.T @ V
            # Without a copy of the rows that has room for the constant column.
            if c:
                out[d, :d] += c * (roots @ V)
                out[d, d] += c * c * (roots @ roots)
        if c:
            out[:d, d] = out[d, :d]
        return out

    def squares_and_last(self) -> np.ndarray:
        """Diagonal (p,) of that sum, then its last column but for the last entry, (p - 1,)."""
        d, c = self._n_features, self.constant
        squares, last = np.zeros(d + bool(c)), np.zeros(d - 1 + bool(c))
        for V, roots in self._weighed_features():
            squares[:d] += np.einsum("ij,ij->j", V, V)
            last += c * (roots @ V) if c else V[:, -1] @ V[:, :-1]
            if c:
                squares[d] += c * c * (roots @ roots)
        return np.concatenate([squares, last])

    def _weighed_features(self) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Some rows at a time without their intercept entries, times roots of weights; the roots.

        Neither is to be changed, and rows are only there until the next ones are.
        """
        for part, V in self._features():
            if self.masses is None:
                yield V, np.ones(len(V))
            else:
                roots = np.sqrt(self.masses[part])
                yield V * roots[:, None], roots

    def _features(self) -> Iterator[tuple[slice, np.ndarray]]:
        """Places of some rows at a time, and these without their intercept entries; likewise."""
        if isinstance(self._X, np.ndarray) and self._factor is None:
            yield from ((rows, self._X[rows]) for rows in row_runs(len(self._X)))
        else:
            yield from self._few_at_a_time()

    def _few_at_a_time(self) -> Iterator[tuple[slice, np.ndarray]]:
        """Places of a few rows at a time, and their features as they are before any map.

        Not to be changed, and only there until the next ones are.
        """
        m, d = self._X.shape
        few = min(MOST_ROWS, max(LEAST_PIECE, PIECE_ENTRIES // d))
        for part in (slice(*ends) for ends in runs(m, few)):
            X = self._X[part]
            if not isinstance(X, np.ndarray):
                X = X.toarray()
            elif self._factor is not None:
                X = _copied_in_double(X, self._scratch, "piece")
            if self._factor is not None:
                times_each(X, self._factor[part])
            yield part, X

    @property
    def _n_features(self) -> int:
        """Number of entries of a row without its intercept entry."""
        return int(self._X.shape[1])

    def along(self, v: np.ndarray) -> np.ndarray:
        """Inner products of the features, as they are before a map, with v; (m,) or (m, K).

        What a row gets does not depend on its place, nor on who else is there. Kernels of linear
        algebra round by the place of a row, which is public for a whole block where each row is a
        privacy unit. Of rows that were drawn it tells who else was drawn, and of rows of units how
        many rows others have, and so each is summed up by itself.
        """
        X = self._X
        one_by_one = self.apart or (self._from_memory and v.ndim == 1 and X.flags.c_contiguous)
        z = by_row(X, v) if one_by_one and isinstance(X, np.ndarray) else X @ v
        return z if self._factor is None else times_rows(z, self._factor)

    def written_out(self, constant: float = 0.0) -> np.ndarray:
        """The features, as they are before a map, dense, and a column of this unless it is 0."""
        m, d = self._X.shape
        out = np.empty((m, d + bool(constant)))
        out[:, d:] = constant
        dense = self._X if isinstance(self._X, np.ndarray) else self._X.toarray()
        factor = 1.0 if self._factor is None else self._factor[:, None]
        np.multiply(dense, factor, out=out[:, :d])
        return out

    def squared_lengths(self, scale: np.ndarray) -> np.ndarray:
        """Squared norms of the features, before a map, times ``scale``; shape (m,)."""
        X = self._X
        if isinstance(X, np.ndarray):
            X = X * scale
        else:
            entries = X.data * scale[X.indices]
            X = compressed(sp.csr_array, X.shape, entries, X.indices, X.indptr)
        squares = row_norms(X, squared=True)
        return squares if self._factor is None else squares * self._factor**2

    def _copied(self, **changes: Any) -> Self:
        other = object.__new__(type(self))
        vars(other).update(vars(self), **changes)
        return other

    def _scores(self, v: np.ndarray) -> np.ndarray:
        """Inner products of the rows without their intercept entries with v."""
        return self.along(v)

    def _combined(self, r: np.ndarray) -> np.ndarray:
        """Sum of the rows without their intercept entries weighted by r, which it overwrites."""
        X, r = self._X, r if self._factor is None else times_rows(r, self._factor)
        return product_over_rows(X, r) if isinstance(X, np.ndarray) else _transposed(X) @ r

    def _sums_of_pieces(
        self, r: np.ndarray, exactly: bool
    ) -> Iterator[tuple[slice, np.ndarray, np.ndarray]]:
        """Rows and ends of some pieces, and sums of the rows without their intercept entries."""
        del exactly
        assert self.unit_pieces is not None
        r = times_rows(r.copy(), self._factor)
        for rows, ends in self.unit_pieces.runs((self._X.shape[1] + 1) * (r.size // len(r))):
            yield rows, ends, added_up(self._X[rows], r[rows], ends)


def cut(n_samples: int, rows: int) -> list[tuple[int, int]]:
    """First rows, and last rows plus one, of blocks of nearly equal size, about ``rows`` each.

    A block may be half as large again, and is never cut for more than ``LONGEST_CUT`` rows.
    """
    rows = min(rows, LONGEST_CUT)
    return runs(n_samples, ceil(n_samples / max(1, round(n_samples / rows))))


def runs(n_samples: int, step: int) -> list[tuple[int, int]]:
    """Ends of runs of so many rows; none has a single row unless there is but one.

    Numpy adds up the entries of a row that is alone in another order. How many rows there are would
    decide about it, which is secret where they are of privacy units.
    """
    starts = list(range(0, n_samples, step))
    if len(starts) > 1 and n_samples - starts[-1] == 1:
        starts.pop()
    return list(pairwise([*starts, n_samples]))


def row_runs(m: int) -> list[slice]:
    """Runs of m rows that are added up by themselves: all of them if they are few.

    So no term passes through more than ``MOST_ROWS`` additions, and one for each run.
    """
    return [slice(None)] if m <= MOST_ROWS else [slice(*ends) for ends in cut(m, LONGEST_RUN)]


def in_runs(part: Callable[[slice], np.ndarray], m: int) -> np.ndarray:
    """Sum over m rows of what a function adds up of a run of them, a fresh array."""
    first, *others = map(part, row_runs(m))
    for sums in others:
        first += sums
    return first


def product_over_rows(U: np.ndarray, V: np.ndarray) -> np.ndarray:
    """``U' V`` of dense rows, (m, p), and (m,) or (m, K): a sum over runs of rows."""
    if len(U) <= MOST_ROWS:
        return U.T @ V
    return in_runs(lambda rows: U[rows].T @ V[rows], len(U))


def total_of_rows(r: np.ndarray) -> np.ndarray:
    """Sum of numbers of rows, (m,) or (m, K), over runs of rows."""
    if len(r) <= MOST_ROWS:
        return np.asarray(np.add.reduce(r))
    return in_runs(lambda rows: np.atleast_1d(np.add.reduce(r[rows])), len(r)).reshape(r.shape[1:])


def times_each(X: np.ndarray, factor: np.ndarray) -> None:
    """Multiply dense rows by a factor each, in place."""
    some = np.flatnonzero(factor != 1.0)
    # Which of the two it is does not tell: a product with 1 is exact.
    if 4 * some.size < factor.size:
        X[some] *= factor[some, None]
    else:
        X *= factor[:, None]


def compressed(
    kind: type[Sparse], shape: tuple[int, int], data: Any, indices: Any, indptr: Any
) -> Sparse:
    """A sparse array of these parts, which may be views.

    The constructor of scipy would copy views of much larger arrays.
    """
    out = kind(shape, dtype=data.dtype)
    out.data, out.indices, out.indptr = data, indices, indptr
    return out


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


def with_constant(lengths: np.ndarray, constant: float, longest: float) -> np.ndarray:
    """Positive bounds on the norms of rows of these lengths, at most ``longest``, with a constant.

    Positive, so that a bound on a row's contribution can be divided by it.
    """
    if constant:
        # Squares are neither lost nor overflow in between, and a root takes a tenth of the time.
        # Public numbers alone decide, as the two round differently.
        usual = 1e-70 < constant < 1e70 and longest < 1e140
        lengths = np.sqrt(lengths**2 + constant**2) if usual else np.hypot(lengths, constant)
    return np.maximum(lengths, _LEAST_NORM)


def rounded_up(values: np.ndarray) -> np.ndarray:
    """Non-negative numbers in single precision, larger by at most 2^-21 of them and 2e-44.

    Those that single precision has no room for are infinite.
    """
    with np.errstate(over="ignore"):
        return (values * (1.0 + 2.0**-22) + 1e-44).astype(np.float32)


def rounded_down(factors: np.ndarray) -> np.ndarray:
    """Factors within [0, 1] in single precision, smaller by as much at most; 1 stays 1."""
    lower = np.maximum(factors * (1.0 - 2.0**-22) - 1e-44, 0.0).astype(np.float32)
    lower[factors == 1.0] = 1.0
    return lower


def widened(values: np.ndarray) -> np.ndarray:
    """The numbers in double precision, themselves if they are."""
    return values.astype(np.float64, copy=False)


def lengths_of(X: Rows) -> np.ndarray:
    """Norms (l2) of rows, each summed up by itself, whatever its place."""
    if not isinstance(X, np.ndarray):
        return row_norms(X)
    # row_norms does the same, but its checks of the array take as long again.
    both = _accompanied(X)
    return np.asarray(np.sqrt(np.einsum("ij,ij->i", both, both)))[: len(X)]


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


def _changed(X: Rows, change: Callable[[np.ndarray], np.ndarray]) -> Rows:
    """X with its entries changed by a function that keeps zeros, those stored if it is sparse."""
    if isinstance(X, np.ndarray):
        return change(X)
    return compressed(sp.csr_array, X.shape, change(X.data), X.indices, X.indptr)


def _without_negatives(X: Rows) -> Rows:
    return _changed(X, lambda entries: np.maximum(entries, 0.0))


def on_scale(scaling: ColumnScaling, X: Rows, scratch: Scratch | None = None) -> Rows:
    """A copy of X, in double precision, on the scale; dense if zeros do not stay zeros there."""
    if not isinstance(X, np.ndarray) and scaling.shift is not None:
        X = X.toarray()
    return scaling.apply(_copied_in_double(X, scratch))


def _pieces_of(X: np.ndarray) -> list[slice]:
    """Runs of dense rows of which a copy in double precision stays in cache."""
    few = max(LEAST_PIECE, PIECE_ENTRIES // max(1, X.shape[1]))
    return [slice(*ends) for ends in runs(len(X), few)]


def _in_double(X: Rows, scratch: Scratch | None = None) -> Rows:
    return X if X.dtype == np.float64 else _copied_in_double(X, scratch)


def _clipped(centred: np.ndarray, held: np.ndarray) -> Clipped | None:
    """Places of the entries of a few rows that are below and above the ends they are held to.

    None if they are many: to clip all takes less time, and less memory, than to keep these.
    """
    places = np.flatnonzero(held != centred)
    if places.size * _ONE_IN > held.size:
        return None
    before, after = centred.reshape(-1)[places], held.reshape(-1)[places]
    below, above = (places[some].astype(np.int32) for some in (before < after, before > after))
    return below, above


def _put(rows: np.ndarray, clipped: Clipped, ends: tuple[np.ndarray, np.ndarray]) -> None:
    """Put the lower and the upper ends of columns in their places, in any order in memory."""
    for places, end in zip(clipped, ends, strict=True):
        at, columns = np.divmod(places, rows.shape[1])
        rows[at, columns] = end[columns]


def _along_rows(X: np.ndarray, scratch: Scratch) -> np.ndarray:
    """A copy of dense rows in double precision, one behind the other in memory."""
    m, d = X.shape
    out = scratch.rows(m, d, "block")
    np.copyto(out, X)
    return out


def _copied_in_double(X: Rows, scratch: Scratch | None, use: str = "block") -> Rows:
    """A copy in double precision, along columns if X lies along columns."""
    if isinstance(X, np.ndarray) and scratch is not None:
        out = scratch.like(X, use)
        np.copyto(out, X)
        return out
    return _changed(X, lambda entries: np.array(entries, dtype=np.float64, order="K", subok=False))


class Scratch(dict[str, np.ndarray]):
    """Memory for what lives until the next block, or the next part of one, takes its place.

    Fresh memory for each would take longer than all else that is done with a block.
    """

    def like(self, X: np.ndarray, use: str) -> np.ndarray:
        """An array in double precision of the shape and the order of X, with any entries."""
        m, d = X.shape
        along_rows = d == 1 or abs(X.strides[1]) <= abs(X.strides[0])
        return self.rows(m, d, use) if along_rows else self.rows(d, m, use).T

    def rows(self, m: int, d: int, use: str) -> np.ndarray:
        """A C-contiguous array in double precision of this shape, with any entries."""
        room = self.get(use)
        if room is None or room.size < m * d:
            room = self[use] = np.empty(m * d)
        return room[: m * d].reshape(m, d)


def _transposed(X: sp.csr_array | sp.csr_matrix) -> sp.csc_array:
    return compressed(sp.csc_array, X.shape[::-1], X.data, X.indices, X.indptr)


def _tamed(X: Rows, huge: np.ndarray, limit: float) -> Rows:
    """A copy of X, in double precision, in which the huge rows have norm ``limit``.

    Those of them that are not finite become zero.
    """
    # In the order of X: sums in another order would round the other rows differently.
    out = _changed(X, lambda entries: entries.copy(order="K"))
    places = np.flatnonzero(huge)
    if isinstance(out, np.ndarray):
        rows = (out[i] for i in places)
    else:
        rows = (out.data[out.indptr[i] : out.indptr[i + 1]] for i in places)
    for row in rows:
        if not np.isfinite(row).all():
            row[:] = 0.0
            continue
        # In two steps: the norm itself may be beyond the largest float.
        row /= np.abs(row).max()
        row *= limit / np.sqrt(row @ row)
    return out


class Lengths:
    """Bounds on the norms of a run of rows, and the latest bounds on derivatives made of them.

    Queries with the same clip ask for the same bounds, one after the other.

    Parameters
    ----------
    norms : ndarray of shape (m,)
        Positive bounds on the norms of the rows; not changed while this lives.
    shrink : ndarray of shape (m,), optional
        Factors by which rows are scaled down after a map; None if that is 1 for all.
    """

    def __init__(self, norms: np.ndarray, shrink: np.ndarray | None = None) -> None:
        self.norms, self.shrink = norms, shrink
        self._latest: tuple[float, float, np.ndarray] | None = None

    def derivative_bounds(self, bound: float, most: float) -> np.ndarray:
        """``min(bound / norms, most)``, read-only."""
        latest = self._latest
        if latest is None or latest[:2] != (bound, most):
            bounds = np.divide(bound, self.norms)
            np.minimum(bounds, most, out=bounds)
            bounds.flags.writeable = False
            latest = self._latest = (bound, most, bounds)
        return latest[2]

    def taken(self, chosen: np.ndarray | slice) -> Lengths:
        """Lengths of some of the rows, as yet without bounds on derivatives."""
        shrink = None if self.shrink is None else self.shrink[chosen]
        return Lengths(self.norms[chosen], shrink)

    def shortened(self, longest: float) -> Lengths:
        """A copy in single precision, norms rounded up and factors down, if none is too large."""
        if longest > LARGEST_SINGLE:
            return Lengths(self.norms, self.shrink)
        shrink = None if self.shrink is None else rounded_down(self.shrink)
        return Lengths(rounded_up(self.norms), shrink)

    def widened(self) -> Lengths:
        """A copy in double precision, as yet without bounds on derivatives."""
        shrink = None if self.shrink is None else widened(self.shrink)
        return Lengths(widened(self.norms), shrink)
