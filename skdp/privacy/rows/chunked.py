"""Rows that do not fit in memory, read chunk by chunk at each pass."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
from sklearn.utils import check_consistent_length
from sklearn.utils.validation import _get_feature_names

from ...problem.bounds import RowBounds
from ...validation import shown, telling_sizes
from ..adjacency import PrivacyUnit
from .base import BlockStore, BoundedRows, RowStore
from .bounded_rows import BlockKernel, RawBlock
from .in_memory import rows_in_memory, rows_of_part
from .privacy_units import LabelledRows, UnitCounts
from .reading import columns_of, in_units_of, redacted, strict_checks
from .table_parts import CHANGED, Part, as_rows, checksum, nowhere
from .threads import total

# Bytes for each row beside its features, more or less, and what is kept of a table at most unless
# the caller says otherwise.
_KEPT_OF_A_ROW, _MOST_KEPT = 24, 1 << 32


class Chunks:
    """A data set delivered in chunks, to be passed to ``fit`` in place of X (and without y).

    The first pass validates the rows, before anything is spent. Where they have room within
    ``memory`` they are kept, as they came, and no later pass asks the source. Otherwise each pass
    asks it for all chunks anew, and at most one is in memory, beside a sample of the rows if a fit
    starts on one; only what is small is kept, about 24 bytes a row, if that has room. If not, and
    always with ``privacy_unit=True``, each pass validates the rows again. Models are the same to
    the last bit. (A memory-mapped array needs none of this: pass it to ``fit`` as it is.)

    Parameters
    ----------
    source : callable or re-iterable
        Delivers pairs ``(X_chunk, y_chunk)``, or triples ``(X_chunk, y_chunk, weight_chunk)`` with
        weights of the rows: a function that returns a fresh iterator, or an object that can be
        iterated over many times. The same rows in the same order each time: a checksum of each
        chunk sees it if they are others, and ends the fit. For a fit with
        ``privacy_unit=True`` it delivers ``(X_chunk, y_chunk, weight_chunk, label_chunk)``, with
        None for weights if there are none, and labels of the privacy units of the rows. Those of a
        unit may be in several chunks.
        How rows are cut into chunks, without privacy units, has to be public, as their number is:
        it must not depend on what is in them.
    memory : int, optional
        Bytes that a fit may keep of the rows between its passes; 0 for none. By default 4 GB, and
        at most a quarter of the memory of the machine.

    Raises
    ------
    TypeError
        If the source is an iterator, which could be read only once; in a fit, if it is a function
        that returns something else.
    ValueError
        If ``memory`` is negative or no whole number.

    See Also
    --------
    Chunks.from_parquet : Rows of Parquet files.
    Chunks.from_arrays : Rows of several arrays, such as memory maps.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp import Chunks, DPLinearRegression
    >>> def read():
    ...     for seed in range(3):
    ...         X = np.random.default_rng(seed).uniform(-1, 1, size=(1000, 2))
    ...         yield X, X @ [1.0, -1.0]
    >>> model = DPLinearRegression(epsilon=1.0, data_norm=2.0, target_bounds=(-2, 2))
    >>> model.fit(Chunks(read)).coef_.shape
    (2,)
    """

    # Names of the columns, where the source and not its chunks have them.
    _names: list[str] | None = None
    # Whether chunks are the same objects at each pass, with the same rows in them.
    _lasting = False

    def __init__(
        self,
        source: Callable[[], Iterable[tuple[Any, ...]]] | Iterable[tuple[Any, ...]],
        *,
        memory: int | None = None,
    ) -> None:
        if not callable(source) and (not hasattr(source, "__iter__") or iter(source) is source):
            raise TypeError(
                "Chunks needs a source that can be read many times, got a "
                f"{type(source).__name__}; pass a function that returns a fresh iterator."
            )
        self._source, self._memory = source, memory
        whole = isinstance(memory, Integral) and not isinstance(memory, bool)
        if memory is not None and not (whole and memory >= 0):
            raise ValueError(
                "Chunks needs memory as a whole number of bytes of at least 0, such as "
                f"2_000_000_000, got {shown(memory)}; None keeps up to 4 GB."
            )

    @classmethod
    def from_arrays(
        cls,
        X: Sequence[Any],
        y: Sequence[Any],
        *,
        weights: Sequence[Any] | None = None,
        privacy_unit: Sequence[Any] | None = None,
    ) -> Self:
        """Rows of several arrays, one after the other, which are used where they lie.

        For a table in several memory-mapped files, which together act as one.

        Parameters
        ----------
        X : sequence of arrays or CSR matrices, each of shape (n_rows, n_features)
            Features. While a model is fitted they must not change, as arrays that are passed to
            ``fit``.
        y : sequence of array-likes, each of shape (n_rows,)
            Targets of the rows of each.
        weights, privacy_unit : sequence of array-likes, each of shape (n_rows,), optional
            Weights of the rows of each, and labels of their privacy units; with labels, pass
            ``privacy_unit=True`` to ``fit``.

        Raises
        ------
        ValueError
            If there are not as many of each.

        Examples
        --------
        >>> import numpy as np
        >>> from skdp import Chunks
        >>> X = [np.zeros((1000, 2)), np.ones((500, 2))]  # or np.load(path, mmap_mode="r")
        >>> chunks = Chunks.from_arrays(X, [x[:, 0] for x in X])
        """
        given = {"X": X, "y": y, "weights": weights, "privacy_unit": privacy_unit}
        parts = {name: list(one) for name, one in given.items() if one is not None}
        if len({len(part) for part in parts.values()}) > 1:
            numbers = " and ".join(f"{len(part)} in {name}" for name, part in parts.items())
            raise ValueError(
                f"Chunks.from_arrays needs as many arrays in each sequence, got {numbers}. For one "
                "array pass lists of one, or the array itself to fit."
            )
        if weights is None and privacy_unit is not None:
            parts = {"X": parts["X"], "y": parts["y"], "weights": [None] * len(parts["X"])} | parts
        chunks = cls(list(zip(*parts.values(), strict=True)))
        chunks._lasting = True
        return chunks

    @classmethod
    def from_parquet(
        cls,
        path: Any,
        *,
        target: str | Sequence[str],
        columns: Sequence[str] | None = None,
        weights: str | None = None,
        privacy_unit: str | None = None,
        filters: None = None,
        memory: int | None = None,
    ) -> Self:
        """Rows of a Parquet file, or of all of a folder.

        They are kept as ``memory`` says, and decoded anew at each pass where they have no room; by
        a thread of its own then, while the rows before are summed, if the process may have two.

        Needs pyarrow: ``pip install 'skdp[parquet]'``. Columns have their names, to which
        ``data_bounds`` may refer, in the order of ``columns``.

        Row groups are read one after the other and their rows cut anew into chunks, by the number
        of rows alone. Writers may cut row groups by bytes, so that their sizes depend on what is
        in the rows; no answer does that way. The number of rows is read from the metadata of the
        files, and public unless ``privacy_unit`` is given; statistics of columns in them are not
        used.

        Parameters
        ----------
        path : str, path-like, or list of them
            A file, or a folder with files of the ending ``.parquet``, in the order of their names;
            or an address that :mod:`pyarrow.fs` knows, such as ``s3://bucket/folder``.
        target : str, or list of str
            Column of targets, or several for models that take several: numbers, truth values, or
            texts as labels.
        columns : list of str, optional
            Columns of features: numbers or truth values. By default all others of the files, but
            for the index of a frame that pandas has written.
        weights : str, optional
            Column of weights of the rows.
        privacy_unit : str, optional
            Column of labels of the privacy units of the rows; then pass ``privacy_unit=True`` to
            ``fit``.
        memory : int, optional
            Bytes that a fit may keep of the rows, as for :class:`Chunks`.
        filters : None
            No other value is taken: how many rows pass a filter is a fact about rows, and their
            number is public.

        Raises
        ------
        ImportError
            If pyarrow is missing.
        FileNotFoundError
            If there is no such file.
        TypeError
            If what should be a path or a name is none.
        ValueError
            If a file is not in the format of Parquet; if columns are missing, of other kinds than
            numbers where these are needed, or not the same in all files; if ``filters`` are given,
            or ``memory`` is no whole number; and in a fit, if files have changed since.

        Examples
        --------
        >>> from skdp import Chunks, DPLogisticRegression
        >>> chunks = Chunks.from_parquet("visits", target="returned")  # doctest: +SKIP
        >>> model = DPLogisticRegression(classes=[0, 1], data_bounds=(0, 1))
        >>> model.fit(chunks)  # doctest: +SKIP
        """
        from .parquet import ParquetSource

        source = ParquetSource(path, target, columns, weights, privacy_unit, filters)
        chunks = cls(source, memory=memory)
        chunks._names = source.columns
        return chunks

    def __iter__(self) -> Any:
        delivered = self._source() if callable(self._source) else self._source
        if not hasattr(delivered, "__iter__"):
            raise TypeError(
                "Chunks needs a function that returns an iterator over pairs (X_chunk, y_chunk), "
                f"got one that returns a {type(delivered).__name__}; let it yield them."
            )
        return iter(delivered)


@dataclass(frozen=True, eq=False, repr=False)
class _Chunk:
    """A chunk that is in order, and the object in which its features came."""

    X: Any
    y: np.ndarray
    weights: np.ndarray | None
    names: list[str] | None
    labelled: LabelledRows | None
    came: Any


class ChunkedRows(BlockStore):
    """Reads, checks and encodes chunks at each pass.

    With privacy units the first pass counts the rows of each, over all chunks, and at every later
    one what a row counts follows from its label again: nothing is kept for rows. How a source cuts
    its rows into chunks may depend on how many rows somebody has. So nothing that is computed for a
    row may depend on its chunk: all are sparse, or all dense and brought to one layout; and a chunk
    without rows is passed over.

    Parameters
    ----------
    chunks : Chunks
        The data.
    encode : callable
        Turns a chunk's targets into encoded targets, (m,), or (m, t) for several a row.
    max_weight : float, default=1.0
        Largest weight that counts.
    tables : bool, default=False
        Whether targets of a chunk may have two dimensions.
    of_units : bool, default=False
        Whether chunks deliver labels of privacy units.

    Attributes
    ----------
    feature_names : list of str or None
        String column names that all chunks share, if they have any.

    Raises
    ------
    ValueError
        If a chunk is malformed, columns change their names from chunk to chunk, some chunks have
        weights and others none, or a later pass delivers another number of rows, or rows of others.
        Of chunks with labels nothing says how many rows they have, or how many chunks there are.
    """

    resident: ClassVar[bool] = False

    def __init__(
        self,
        chunks: Chunks,
        encode: Callable[[np.ndarray], np.ndarray],
        max_weight: float = 1.0,
        *,
        tables: bool = False,
        of_units: bool = False,
    ) -> None:
        self._chunks = chunks
        self._encode, self._max_weight, self._tables = encode, max_weight, tables
        self._counts = UnitCounts() if of_units else None
        self.n_samples = self.n_features = 0
        self.sparse = False
        self.feature_names: list[str] | None = None
        # Reading everything once finds malformed chunks before anything is charged.
        parts: list[Part] = []
        checksums: list[int] = []
        room = _room() if chunks._memory is None else chunks._memory
        of_features, held = 0, True
        for chunk in self._checked():
            self.n_features, self.feature_names = chunk.X.shape[1], chunk.names
            self.weighted = chunk.weights is not None
            self.n_samples += chunk.X.shape[0]
            self.sparse |= sp.issparse(chunk.X)
            if self._counts is not None and (labelled := chunk.labelled) is not None:
                self._counts.add(labelled.names, labelled.counts(), labelled.kind)
                continue
            kept = self.n_samples * _KEPT_OF_A_ROW
            of_features += 0 if chunks._lasting else _bytes_of(chunk.X)
            if held and kept + of_features > room and not chunks._lasting:
                # Of all chunks or of none.
                held = False
                for part in parts:
                    part.let_go()
            parts.append(self._part(chunk, held))
            if kept > room:
                checksums += [self._checksum_of(part.checksum, part) for part in parts]
                parts = []
        if self._counts is not None:
            self.n_samples, self.unit = self._counts.n_units, PrivacyUnit.DECLARED
        if self.n_samples == 0:
            raise ValueError("Chunks needs at least one row, got a source without any.")
        self._parts = parts or None
        self._checksums = checksums

    @property
    def steady(self) -> bool:
        """False with privacy units, of whose rows the first to be delivered may weigh 2^-26 more.

        The order may be another one at each pass.
        """
        return self._counts is None

    def blocks(self) -> Iterable[RawBlock]:
        """The rows, cut into blocks chunk by chunk, by the number of rows of each."""
        if self._parts is not None:
            yield from chain.from_iterable(blocks for _, blocks in self.parts())
            return
        expected, reading = iter(self._checksums), None
        if self._counts is not None:
            reading = self._counts.reading()
        for chunk in self._checked():
            X, y, weights, labelled = chunk.X, chunk.y, chunk.weights, chunk.labelled
            if reading is None:
                of_features = None if self._chunks._lasting else checksum(X)
                if next(expected, None) != self._checksum_of(of_features, chunk):
                    raise _changed()
            del chunk
            units = None
            if reading is not None and labelled is not None:
                numbered = reading.numbered(labelled.names, labelled.counts(), labelled.kind)
                units = None if numbered is None else numbered.of_rows(labelled)
                if units is None:
                    raise _changed()
            yield from rows_of_part(X, y, weights, units).blocks()
        # Weights of a unit would sum to something else than 1. Nothing is released after this.
        if next(expected, None) is not None or (reading is not None and not reading.complete):
            raise _changed()

    def _bounded(self, bounds: RowBounds) -> BoundedRows:
        return super()._bounded(bounds) if self._parts is None else _BoundedChunks(self, bounds)

    def _taken(self, positions: np.ndarray) -> RowStore:
        if self._counts is not None:
            return super()._taken(positions)
        start, X, y, weights = 0, [], [], []
        for block in self.blocks():
            first, last = np.searchsorted(positions, (start, start + len(block.y)))
            own = positions[first:last] - start
            start += len(block.y)
            rows = block.X[own]
            X.append(sp.csr_array(rows) if self.sparse else rows)
            y.append(block.y[own])
            if block.weights is not None:
                weights.append(block.weights[own])
            del block
        stacked = sp.vstack(X, format="csr") if self.sparse else np.concatenate(X)
        together = np.concatenate(weights) if weights else None
        return rows_in_memory(stacked, np.concatenate(y), together)

    def parts(self) -> Iterator[tuple[Part, list[RawBlock]]]:
        """Parts that were kept of chunks, and their rows, if those are as they were read first."""
        parts = self._parts or []
        # Where the first of them has its features, all have.
        here = bool(parts) and parts[0].checksum is None
        delivered = iter(()) if here else iter(self._chunks)
        for part in parts:
            chunk = None if here else next(delivered, None)
            X = part.source() if chunk is None else self._parts_of(chunk)[0]
            blocks = None if X is None else part.blocks(X)
            del chunk, X
            if blocks is None:
                raise _changed()
            yield part, blocks
            del blocks
        if next(delivered, None) is not None:
            raise _changed()

    def _part(self, chunk: _Chunk, held: bool) -> Part:
        if self._chunks._lasting:
            return Part(chunk.y, chunk.weights, partial(_itself, chunk.came), None)
        # A reader may use the memory of a chunk for the next one.
        y = chunk.y.copy()
        if not held:
            return Part(y, chunk.weights, nowhere, checksum(chunk.X))
        X = chunk.X.copy(order="K") if isinstance(chunk.X, np.ndarray) else chunk.X.copy()
        return Part(y, chunk.weights, partial(_itself, X), None)

    @staticmethod
    def _checksum_of(of_features: int | None, chunk: _Chunk | Part) -> int:
        """Checksum of all that is read of a chunk; 0 where nothing is read anew."""
        if of_features is None:
            return 0
        columns = [one for one in (chunk.y, chunk.weights) if one is not None]
        return hash((of_features, *(checksum(one.reshape(len(one), -1)) for one in columns)))

    def _checked(self) -> Iterable[_Chunk]:
        for chunk in self._chunks:
            with telling_sizes(self._counts is None):
                checked = self._checked_chunk(chunk)
            if checked is not None:
                yield checked

    def _checked_chunk(self, chunk: Any) -> _Chunk | None:
        """A chunk in order; None if it has no row, where their number is secret."""
        X, y, given, labels = self._parts_of(chunk)
        labelled = None
        if self._counts is not None:
            labelled = LabelledRows.of(labels)
            labelled.check(X, y, given)
            if not labelled.names:
                return None
        came, columns = X, self._chunks._names
        if columns is None:
            columns = redacted(_get_feature_names, X)
        names = None if columns is None else list(columns)
        X = as_rows(X, finite=True, least=1)
        if self.n_features not in (0, X.shape[1]):
            raise ValueError(
                f"Chunks needs {self.n_features} features in every chunk, got {X.shape[1]}."
            )
        if self.n_features and names != self.feature_names:
            raise ValueError(
                "Chunks needs the same column names in the same order in every chunk; they "
                "have changed. Select the columns by name before they are delivered."
            )
        if labelled is not None and self.n_features and sp.issparse(X) != self.sparse:
            raise ValueError(
                "Chunks needs chunks that are all dense or all sparse with privacy_unit=True; got "
                "both kinds."
            )
        y = redacted(np.asarray, y)
        if y.ndim != 1 and not (self._tables and y.ndim == 2):
            raise ValueError(
                f"Chunks needs one target a row, got targets of {y.ndim} dimensions; pass "
                "y_chunk of shape (n_rows,)."
            )
        columns_of_y = columns_of(y)
        if self.n_features and columns_of_y != self.target_columns:
            raise ValueError(
                "Chunks needs targets of one shape in every chunk, but for the number of rows; "
                "the number of their columns has changed."
            )
        self.target_columns = columns_of_y
        with strict_checks():
            y = self._encode(y)
        redacted(check_consistent_length, X, y)
        weights = None
        if given is not None:
            weights = in_units_of(self._max_weight, given, X.shape[0])
        if self.n_features and self.weighted != (weights is not None):
            raise ValueError("Chunks needs weights in every chunk or in none.")
        return _Chunk(X, y, weights, names, labelled, came)

    def _parts_of(self, chunk: Any) -> tuple[Any, Any, Any, Any]:
        """Features, targets, weights and labels, the latter two None where there are none."""
        size = len(chunk) if isinstance(chunk, tuple | list) else 0
        if size not in (2, 3, 4):
            of_so_many = f" of {size}" if isinstance(chunk, tuple | list) else ""
            raise ValueError(
                "Chunks needs pairs (X_chunk, y_chunk), or triples with weights, got a "
                f"{type(chunk).__name__}{of_so_many}. With privacy_unit=True a chunk is "
                "(X_chunk, y_chunk, weight_chunk or None, label_chunk)."
            )
        if (size == 4) != (self._counts is not None):
            raise ValueError(
                "Chunks needs labels of privacy units as the fourth part of every chunk with "
                "privacy_unit=True, and without it there must be none; got chunks of "
                f"{size} parts. Pass both or neither."
            )
        return (*chunk, None, None)[:4]


class _BoundedChunks(BoundedRows):
    """Rows of chunks of which what is small is kept between passes."""

    def __init__(self, store: ChunkedRows, bounds: RowBounds) -> None:
        self.bounds, self._store = bounds, store

    def sum(self, kernel: BlockKernel, marked: np.ndarray | None = None) -> np.ndarray:
        return total(self._sums(kernel, marked))

    def _sums(self, kernel: BlockKernel, marked: np.ndarray | None) -> Iterator[np.ndarray]:
        seen, n = 0, self._store.n_samples
        for part, blocks in self._store.parts():
            here = slice(seen, seen + len(part.y))
            own = None if marked is None else marked[here]
            yield part.sum(blocks, kernel, self.bounds, self.bounds, of_rows=n, marked=own)
            seen = here.stop
            del blocks


def _room() -> int:
    """Bytes that may be kept for the rows of a table beside their features."""
    try:
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):  # Not where there is no such question.
        return _MOST_KEPT
    return min(_MOST_KEPT, memory // 4)


def _bytes_of(X: Any) -> int:
    """Bytes of the features of a chunk."""
    arrays = [X] if isinstance(X, np.ndarray) else [X.data, X.indices, X.indptr]
    return sum(array.nbytes for array in arrays)


def _itself(came: Any) -> Any:
    return came


def _changed() -> ValueError:
    return ValueError(CHANGED.format("Chunks", "Let it read from something that stays as it is."))
