"""Rows that do not fit in memory, read chunk by chunk at each pass."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, ClassVar, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.utils import check_array, check_consistent_length
from sklearn.utils.validation import _get_feature_names

from ...validation import telling_sizes
from ..adjacency import PrivacyUnit
from .base import BlockStore
from .bounded_rows import RawBlock
from .in_memory import rows_of_part
from .privacy_units import LabelledRows, UnitCounts
from .reading import columns_of, in_units_of, redacted, strict_checks

_CHANGED = "Chunks needs a source that delivers the same rows at each pass; {} changed."


class Chunks:
    """A data set delivered in chunks, to be passed to ``fit`` in place of X (and without y).

    Every pass over the data asks the source for all chunks anew, so at most one chunk is in
    memory. (A memory-mapped array needs none of this: pass it to ``fit`` as it is.)

    Parameters
    ----------
    source : callable or re-iterable
        Delivers pairs ``(X_chunk, y_chunk)``, or triples ``(X_chunk, y_chunk, weight_chunk)`` with
        weights of the rows: a function that returns a fresh iterator, or an object that can be
        iterated over many times. The same rows in the same order each time. For a fit with
        ``privacy_unit=True`` it delivers ``(X_chunk, y_chunk, weight_chunk, label_chunk)``, with
        None for weights if there are none, and labels of the privacy units of the rows. Those of a
        unit may be in several chunks.

    Raises
    ------
    TypeError
        If the source is an iterator, which could be read only once; in a fit, if it is a function
        that returns something else.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp import DPLinearRegression
    >>> from skdp.privacy.rows import Chunks
    >>> def read():
    ...     for seed in range(3):
    ...         X = np.random.default_rng(seed).uniform(-1, 1, size=(1000, 2))
    ...         yield X, X @ [1.0, -1.0]
    >>> model = DPLinearRegression(epsilon=1.0, data_norm=2.0, target_bounds=(-2, 2))
    >>> model.fit(Chunks(read)).coef_.shape
    (2,)
    """

    def __init__(
        self, source: Callable[[], Iterable[tuple[Any, ...]]] | Iterable[tuple[Any, ...]]
    ) -> None:
        if not callable(source) and (not hasattr(source, "__iter__") or iter(source) is source):
            raise TypeError(
                "Chunks needs a source that can be read many times, got a "
                f"{type(source).__name__}; pass a function that returns a fresh iterator."
            )
        self._source = source

    def __iter__(self) -> Any:
        delivered = self._source() if callable(self._source) else self._source
        if not hasattr(delivered, "__iter__"):
            raise TypeError(
                "Chunks needs a function that returns an iterator over pairs (X_chunk, y_chunk), "
                f"got one that returns a {type(delivered).__name__}; let it yield them."
            )
        return iter(delivered)


class _Chunk(NamedTuple):
    """A chunk that is in order."""

    X: Any
    y: np.ndarray
    weights: np.ndarray | None
    names: list[str] | None
    labelled: LabelledRows | None


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
        for X, _, weights, names, labelled in self._checked():
            self.n_features, self.feature_names = X.shape[1], names
            self.weighted = weights is not None
            self.n_samples += X.shape[0]
            self.sparse |= sp.issparse(X)
            if self._counts is not None and labelled is not None:
                self._counts.add(labelled.names, labelled.counts(), labelled.kind)
        if self._counts is not None:
            self.n_samples, self.unit = self._counts.n_units, PrivacyUnit.DECLARED
        if self.n_samples == 0:
            raise ValueError("Chunks needs at least one row, got a source without any.")

    @property
    def steady(self) -> bool:
        """False with privacy units, of whose rows the first to be delivered may weigh 2^-26 more.

        The order may be another one at each pass.
        """
        return self._counts is None

    def blocks(self) -> Iterable[RawBlock]:
        """The rows, cut into blocks chunk by chunk, by the number of rows of each."""
        seen, reading = 0, None if self._counts is None else self._counts.reading()
        for X, y, weights, _, labelled in self._checked():
            seen, units = seen + X.shape[0], None
            if reading is not None and labelled is not None:
                numbered = reading.numbered(labelled.names, labelled.counts(), labelled.kind)
                units = None if numbered is None else numbered.of_rows(labelled)
                if units is None:
                    raise ValueError(_CHANGED.format("labels of privacy units have"))
            yield from rows_of_part(X, y, weights, units).blocks()
        if reading is None and seen != self.n_samples:
            raise ValueError(_CHANGED.format("the number of rows has"))
        # Weights of a unit would sum to something else than 1. Nothing is released after this.
        if reading is not None and not reading.complete:
            raise ValueError(_CHANGED.format("numbers of rows of privacy units have"))

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
        columns = redacted(_get_feature_names, X)
        names = None if columns is None else list(columns)
        X = redacted(
            check_array, X, accept_sparse="csr", dtype=[np.float64, np.float32], input_name="X"
        )
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
        return _Chunk(X, y, weights, names, labelled)

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
