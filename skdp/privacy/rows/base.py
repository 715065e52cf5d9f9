"""Row stores: "sum this over the rows", nothing else.

A store never copies X, but for tables of moderate size whose features are brought to another
scale: these are written out once, and not at each pass. Every query is one pass over the rows, in
blocks small enough to stay in cache between the product that makes scores and the product that
combines rows. Rows that this process can reach are in a :class:`BlockStore`.

Blocks are independent: what is computed for one depends on no other, and nothing but the order in
which they are delivered and in which their sums are added is common to them. So threads work on
them at the same time, and the sum is the same to the last bit (:mod:`skdp.privacy.rows.threads`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar, Self, TypeVar, final

import numpy as np

from ...problem.bounds import RowBounds
from ...problem.column_bounds import ColumnScaling
from ..adjacency import PrivacyUnit
from .bounded_rows import (
    LONGEST_PIECE,
    LONGEST_RUN,
    BlockKernel,
    BoundedBlock,
    Lengths,
    Pieces,
    RawBlock,
    Rows,
    Scratch,
    cut,
    on_scale,
)
from .mapped import MappedBlock
from .privacy_units import PrivacyUnits
from .threads import SingleThreadedAlgebra, total, total_over

Block = TypeVar("Block", "RawBlock", "BoundedBlock", "_KeptBlock")

# Entries, in double precision a quarter of a gigabyte.
_MOST_ENTRIES_WRITTEN_OUT = 1 << 25


class RowStore(ABC):
    """Holder of the rows of one fit. Only the oracle has one.

    Attributes
    ----------
    n_samples : int
        Number of privacy units, public: of rows, if each is one. Otherwise that of rows is secret.
    n_features : int
        Number of features, public.
    sparse : bool
        Whether the rows are stored sparsely, public.
    weighted : bool
        Whether the rows have weights of their own, public; the weights are as secret as the rows.
    unit : PrivacyUnit
        Whether each row is a privacy unit, or users have said whose rows are one, public.
    target_columns : int or None
        Number of columns of targets that came as a table, public; None for one target a row.
    """

    n_samples: int
    n_features: int
    sparse: bool
    weighted: bool = False
    unit: PrivacyUnit = PrivacyUnit.ROW
    target_columns: int | None = None
    _view: BoundedRows | None = None
    _sample: tuple[np.ndarray, RowStore] | None = None

    @abstractmethod
    def sum(self, kernel: Callable[[RawBlock], np.ndarray]) -> np.ndarray:
        """Sum of ``kernel`` over all blocks, in a fixed order."""

    @abstractmethod
    def _bounded(self, bounds: RowBounds) -> BoundedRows:
        """A view of the rows, brought to public bounds."""

    @final
    def bounded(self, bounds: RowBounds) -> BoundedRows:
        """A view of the rows, brought to public bounds; the latest one is kept."""
        if self._view is None or self._view.bounds != bounds:
            self._view = self._bounded(bounds)
        return self._view

    @final
    def sample(self, positions: np.ndarray) -> RowStore:
        """A store of the rows at these public positions, kept until another sample is asked for.

        Positions have to increase, so that no row is in the sample twice.
        """
        if self._sample is None or not np.array_equal(self._sample[0], positions):
            ends = np.concatenate([[-1], positions, [self.n_samples]]).astype(np.intp)
            if not positions.size or np.any(np.diff(ends) < 1):
                raise ValueError(
                    f"{type(self).__name__} needs positions of rows that increase, from 0 to "
                    "n_samples - 1, for a sample."
                )
            self._sample = positions.copy(), self._taken(positions)
        return self._sample[1]

    def _taken(self, positions: np.ndarray) -> RowStore:
        """A store of the rows at these positions."""
        raise TypeError(f"{type(self).__name__} cannot be sampled by the positions of rows.")

    @property
    def steady(self) -> bool:
        """True if a row weighs the same at each pass; public."""
        return True

    @property
    def whole_units(self) -> bool:
        """True if the mean over the rows of each privacy unit can be computed; public."""
        return False

    def by_unit(self) -> RowStore:
        """A store of the same rows in which those of each privacy unit lie together."""
        raise TypeError(f"{type(self).__name__} has no privacy units of several rows.")


class BoundedRows(ABC):
    """Rows whose norms and targets respect public bounds.

    Attributes
    ----------
    bounds : RowBounds
        What they are brought to.
    """

    bounds: RowBounds

    @abstractmethod
    def sum(self, kernel: BlockKernel, marked: np.ndarray | None = None) -> np.ndarray:
        """Sum of ``kernel`` over all blocks, in a fixed order.

        With ``marked``, an array of bool of shape (n_samples,), over the rows of the units that are
        marked in each block, maybe none.
        """

    def sum_of_units(
        self,
        kernel: Callable[[BoundedBlock], Iterable[np.ndarray]],
        of_units: Callable[[np.ndarray], np.ndarray],
    ) -> np.ndarray:
        """Sum over privacy units of what ``of_units`` makes of their own sums.

        The kernel sums over the pieces of units of a block, some at a time along the first axis.
        ``of_units`` takes sums over some whole units, which it may overwrite, and sums a function
        of each.
        """
        raise TypeError(f"{type(self).__name__} has no rows that lie together by unit.")


class BlockStore(RowStore):
    """Rows that this process can reach, in blocks.

    Attributes
    ----------
    resident : bool
        Whether the blocks stay in memory, so that what is derived from them may be kept.
    """

    resident: ClassVar[bool]

    @abstractmethod
    def blocks(self) -> Iterable[RawBlock]:
        """The rows, cut into blocks by their number alone."""

    @final
    def sum(self, kernel: Callable[[RawBlock], np.ndarray]) -> np.ndarray:
        """Sum of ``kernel`` over all blocks, in a fixed order."""
        entries = self.n_samples * self.n_features
        return total_over(lambda block, _: block.summed(kernel), self.blocks(), entries)

    def _bounded(self, bounds: RowBounds) -> BoundedRows:
        if bounds.scaling is not None and (scaled := self.on(bounds.scaling)) is not None:
            view = scaled._bounded(replace(bounds, scaling=None))
            view.bounds = bounds
            return view
        return KeptBlocks(self.blocks(), bounds) if self.resident else _BlocksAsRead(self, bounds)

    def on(self, scaling: ColumnScaling) -> BlockStore | None:
        """A store of these rows on another scale, if there is room to write them out; else None."""
        del scaling
        return None


class ResidentRows(BlockStore):
    """Rows that stay in memory, or in a memory-mapped file, and can be taken apart.

    Parameters
    ----------
    X : ndarray, csr_array or csr_matrix of shape (n_samples, n_features)
        Features, float64 or float32.
    y : ndarray of shape (n_samples,), or (n_samples, t) for several targets a row
        Encoded targets.
    weights : ndarray of shape (n_samples,), optional
        Weights of the rows, in units of the largest that counts; without them every row weighs 1.
    units : PrivacyUnits, optional
        Privacy units of the rows; without them every row is one.

    Attributes
    ----------
    X, y, weights, units
        As given, features of a sparse matrix in canonical form.
    """

    resident: ClassVar[bool] = True
    X: Rows
    y: np.ndarray
    weights: np.ndarray | None
    units: PrivacyUnits | None

    _on_scale: tuple[ColumnScaling, Self] | None = None
    _by_unit: Self | None = None

    @final
    def __init__(
        self,
        X: Rows,
        y: np.ndarray,
        weights: np.ndarray | None = None,
        units: PrivacyUnits | None = None,
    ) -> None:
        self.X, self.y, self.weights, self.units = self._usable(X), y, weights, units
        self.n_samples, self.n_features = self.X.shape
        self.weighted = weights is not None
        if units is not None:
            self.n_samples, self.unit = units.n_units, PrivacyUnit.DECLARED
        self._blocks = self._cut(*self._lengths())

    @final
    def blocks(self) -> Iterable[RawBlock]:
        """The rows, cut into blocks by their number alone."""
        return self._blocks

    @final
    def on(self, scaling: ColumnScaling) -> Self | None:
        """A store of these rows on another scale, if they are few enough to write out; else None.

        The latest is kept. What is in a file, and so may be larger than memory, is not written out.
        """
        if len(self.y) * self.n_features > _MOST_ENTRIES_WRITTEN_OUT or _in_a_file(self.X):
            return None
        if self._on_scale is None or self._on_scale[0] is not scaling:
            rows = on_scale(scaling, self.X)
            same_kind = isinstance(rows, np.ndarray) == isinstance(self.X, np.ndarray)
            if not same_kind:
                return None
            self._on_scale = scaling, type(self)(rows, self.y, self.weights, self.units)
        return self._on_scale[1]

    @property
    @final
    def whole_units(self) -> bool:
        """True for rows of privacy units, unless they are in a file that memory may not hold."""
        return self.units is not None and not _in_a_file(self.X)

    @final
    def by_unit(self) -> Self:
        """A store of the same rows in which those of each privacy unit lie together; kept.

        Itself if they do and X is contiguous. Otherwise the rows are copied.
        """
        if self.units is None:
            raise TypeError(f"{type(self).__name__} has no privacy units of several rows.")
        # Whether they do is secret. A copy has rows of another layout in its own, in which norms
        # round differently, and that must not tell: one person could move all scores.
        if self.units.together and _as_copied(self.X):
            return self
        if self._by_unit is None:
            order, weights = self.units.order(), self.weights
            weights = None if weights is None else weights[order]
            parts = _taken(self.X, order), self.y[order], weights, self.units.sorted()
            self._by_unit = type(self)(*parts)
        return self._by_unit

    @final
    def _taken(self, positions: np.ndarray) -> RowStore:
        if self.units is not None:
            return super()._taken(positions)
        weights = None if self.weights is None else self.weights[positions]
        # Copied into memory, even if they lie in a file.
        X = _taken(self.X, positions)
        X = np.asarray(X) if isinstance(X, np.ndarray) else X
        return type(self)(X, self.y[positions], weights)

    @final
    def _cut(self, rows: int, longest: int) -> list[RawBlock]:
        """Blocks of about so many rows; of units that lie together in pieces of at most so many."""
        if self.units is None or not self.units.together:
            return [self._block(i, j) for i, j in cut(len(self.y), rows)]
        blocks = self.units.blocks(min(rows, LONGEST_RUN), min(longest, LONGEST_PIECE))
        return [self._block(*block) for block in blocks]

    @final
    def _block(self, start: int, stop: int, pieces: Pieces | None = None) -> RawBlock:
        rows = self._rows(start, stop)
        if self.units is None:
            # Solvers that move few weights at a time live by what is kept of sparse rows.
            return RawBlock(*rows, of_rows=0 if self.sparse else len(self.y))
        shares, units = self.units.shares[start:stop], self.units.codes[start:stop]
        return RawBlock(*rows, shares, units, pieces)

    @final
    def part(self, start: int, stop: int) -> Self:
        """The rows ``start <= i < stop``, not copied, as a store of their own; at least one."""
        if self.units is not None:
            raise TypeError(f"{type(self).__name__} of privacy units cannot be taken apart.")
        return type(self)(*self._rows(start, stop))

    @final
    def _rows(self, start: int, stop: int) -> tuple[Rows, np.ndarray, np.ndarray | None]:
        weights = None if self.weights is None else self.weights[start:stop]
        return self._features(start, stop), self.y[start:stop], weights

    def _usable(self, X: Rows) -> Rows:
        """Features that blocks can be views of; a copy only where it must be."""
        return X

    @abstractmethod
    def _lengths(self) -> tuple[int, int]:
        """About how many rows a block holds, and a piece of a unit at most, by public sizes."""

    @abstractmethod
    def _features(self, start: int, stop: int) -> Rows:
        """Features of the rows ``start <= i < stop``, not copied."""


class _KeptBlock:
    """A block that is kept, brought to public bounds by the thread that first asks.

    Of a table of many rows only what takes long to find again is kept of each. Features may be
    taken out and put back between queries.
    """

    def __init__(self, raw: RawBlock, bounds: RowBounds) -> None:
        self.raw, self._bounds = raw, bounds
        self.y, self.units = raw.y, raw.units
        self._block: BoundedBlock | None = None
        self._measured: Lengths | None = None

    def ask(
        self, scratch: Scratch, kernel: BlockKernel, chosen: np.ndarray | None = None
    ) -> np.ndarray:
        """The kernel of the block, or of these of its rows."""
        block = self._block or self.block()
        found = kernel((block if chosen is None else block.taken(chosen)).loaded(scratch))
        if self.raw.of_many and self._measured is None and isinstance(block, MappedBlock):
            self._measured = block.kept
        return found

    def block(self) -> BoundedBlock:
        """The block, yet to be loaded."""
        block = self._block or bounded_block(self.raw, self._bounds, self._measured)
        if not self.raw.of_many:
            self._block = block
        return block

    def put(self, X: Rows | None) -> None:
        """Put the same features as before in place of those that are there; None takes them out."""
        self.raw = self.raw.over(X)
        if X is None and isinstance(self._block, MappedBlock) and not self._block.measured:
            # What nobody has asked for is not found out for being kept.
            self._block = None
        if self._block is not None:
            columns = self._bounds.columns
            own = X if X is None or columns is None else self.raw.cut_to(columns).X
            self._block = self._block.over(own)


class KeptBlocks(BoundedRows):
    """Blocks brought to public bounds, of which what is small is kept between queries."""

    def __init__(self, raw: Iterable[RawBlock], bounds: RowBounds) -> None:
        self.bounds = bounds
        self._blocks = [_KeptBlock(block, bounds) for block in raw]
        self._entries = sum(block.raw.X.shape[0] * block.raw.X.shape[1] for block in self._blocks)

    def __sizeof__(self) -> int:
        # Two numbers a row beside its target, or five of few rows.
        return sum(len(kept.raw.y) * (8 if kept.raw.of_many else 40) for kept in self._blocks)

    def sum(self, kernel: BlockKernel, marked: np.ndarray | None = None) -> np.ndarray:
        """Sum of ``kernel`` over the blocks, or over what is marked of each."""
        if marked is None:
            ask = partial(_KeptBlock.ask, kernel=kernel)
            return total_over(ask, self._blocks, self._entries)
        marked_blocks = list(with_marks(self._blocks, marked))
        return total_over(_of_marked(kernel), marked_blocks, self._entries)

    def sum_of_units(
        self,
        kernel: Callable[[BoundedBlock], Iterable[np.ndarray]],
        of_units: Callable[[np.ndarray], np.ndarray],
    ) -> np.ndarray:
        pieces = (run for kept in self._blocks for run in _with_ends(kernel, kept.block()))
        with SingleThreadedAlgebra():
            return total(of_units(sums) for sums in _of_whole_units(pieces))

    def raw(self) -> list[RawBlock]:
        """The blocks as they came, with what has been found out about them."""
        return [kept.raw for kept in self._blocks]

    @contextmanager
    def over(self, raw: Sequence[RawBlock]) -> Iterator[Self]:
        """Context in which the blocks have the features of these, the same as before."""
        try:
            for kept, block in zip(self._blocks, raw, strict=True):
                kept.put(block.X)
            yield self
        finally:
            for kept in self._blocks:
                kept.put(None)


@final
class _BlocksAsRead(BoundedRows):
    """Blocks that are read anew for each query, of which nothing is kept."""

    def __init__(self, store: BlockStore, bounds: RowBounds) -> None:
        self.bounds, self._store = bounds, store

    def sum(self, kernel: BlockKernel, marked: np.ndarray | None = None) -> np.ndarray:
        # One block at a time: nothing here holds on to it while the next one is read.
        blocks = map(partial(_KeptBlock, bounds=self.bounds), self._store.blocks())
        entries = self._store.n_samples * self._store.n_features
        if marked is None:
            return total_over(partial(_KeptBlock.ask, kernel=kernel), blocks, entries)
        return total_over(_of_marked(kernel), with_marks(blocks, marked), entries)


def _of_marked(
    kernel: BlockKernel,
) -> Callable[[tuple[_KeptBlock, np.ndarray], Scratch], np.ndarray]:
    """A kernel for pairs of a block and positions in it, of which it loads only those rows."""
    return lambda block, scratch: block[0].ask(scratch, kernel, block[1])


def _with_ends(
    kernel: Callable[[BoundedBlock], Iterable[np.ndarray]], block: BoundedBlock
) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Sums over pieces of units, some at a time, and whether each is its unit's first, or last."""
    place, pieces = 0, block.unit_pieces
    assert pieces is not None
    for sums in kernel(block.loaded()):
        here = slice(place, place + len(sums))
        yield sums, pieces.first[here], pieces.last[here]
        place += len(sums)


def _of_whole_units(
    runs: Iterable[tuple[np.ndarray, np.ndarray, np.ndarray]],
) -> Iterator[np.ndarray]:
    """Sums over whole units. Those of the pieces of a unit are added up in their order."""
    begun: np.ndarray | None = None
    for sums, first, last in runs:
        whole = first & last
        if whole.all():
            yield sums
            continue
        ended = []
        for i in np.flatnonzero(~whole):
            begun = sums[i] if begun is None else begun + sums[i]
            if last[i]:
                ended.append(begun)
                begun = None
        if ended or whole.any():
            yield np.concatenate([sums[whole], *(one[None] for one in ended)])


def _taken(X: Rows, order: np.ndarray) -> Rows:
    """A copy of the rows in this order, along columns if they lie along columns."""
    if isinstance(X, np.ndarray) and X.flags.f_contiguous and not X.flags.c_contiguous:
        return np.asfortranarray(X[order])
    return X[order]


def _as_copied(X: Rows) -> bool:
    """True if the rows lie in memory as they would in a copy."""
    return not isinstance(X, np.ndarray) or (X.flags.forc and X.flags.aligned)


def _in_a_file(X: Rows) -> bool:
    """True if the entries are mapped from a file."""
    entries: Any = X if isinstance(X, np.ndarray) else X.data
    while entries is not None:
        if isinstance(entries, np.memmap):
            return True
        entries = getattr(entries, "base", None)
    return False


def bounded_block(
    raw: RawBlock, bounds: RowBounds, measured: Lengths | None = None
) -> BoundedBlock:
    """A block brought to public bounds; of mapped rows, maybe, with what was kept of them."""
    if bounds.columns is not None:
        raw = raw.cut_to(bounds.columns)
    if bounds.row_map is None:
        return BoundedBlock(raw, bounds)
    return MappedBlock(raw, bounds, measured=measured)


def with_marks(blocks: Iterable[Block], marked: np.ndarray) -> Iterator[tuple[Block, np.ndarray]]:
    """Blocks in their order, each with the positions of its marked rows.

    There is a mark for each row, or for each privacy unit where blocks say whose each row is.
    """
    start = 0
    for block in blocks:
        stop = start + len(block.y)
        own = marked[start:stop] if block.units is None else marked[block.units]
        yield block, np.flatnonzero(own)
        start = stop
        del block
