"""Rows that do not fit in memory, read chunk by chunk at each pass."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.utils import check_array, check_consistent_length
from sklearn.utils.validation import _get_feature_names

from .base import BlockStore
from .bounded_rows import RawBlock
from .dense_rows import DenseRows
from .reading import columns_of, redacted, strict_checks
from .sparse_rows import SparseRows
from .weights import in_units_of

__all__ = ["ChunkedRows", "Chunks"]


class Chunks:
    """A data set delivered in chunks, to be passed to ``fit`` in place of X (and without y).

    Every pass over the data asks the source for all chunks anew, so at most one chunk is in
    memory. (A memory-mapped array needs none of this: pass it to ``fit`` as it is.)

    Parameters
    ----------
    source : callable or re-iterable
        Delivers pairs ``(X_chunk, y_chunk)``, or triples ``(X_chunk, y_chunk, weight_chunk)`` with
        weights of the rows: a function that returns a fresh iterator, or an object that can be
        iterated over many times. The same rows in the same order each time.

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


class ChunkedRows(BlockStore):
    """Reads, checks and encodes chunks at each pass.

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

    Attributes
    ----------
    feature_names : list of str or None
        String column names that all chunks share, if they have any.

    Raises
    ------
    ValueError
        If a chunk is malformed, columns change their names from chunk to chunk, some chunks have
        weights and others none, or a later pass delivers another number of rows.
    """

    resident: ClassVar[bool] = False

    def __init__(
        self,
        chunks: Chunks,
        encode: Callable[[np.ndarray], np.ndarray],
        max_weight: float = 1.0,
        *,
        tables: bool = False,
    ) -> None:
        self._chunks = chunks
        self._encode, self._max_weight, self._tables = encode, max_weight, tables
        self.n_samples = self.n_features = 0
        self.sparse = False
        self.feature_names: list[str] | None = None
        # Reading everything once finds malformed chunks before anything is charged.
        for X, _, weights, names in self._checked():
            self.n_features, self.feature_names = X.shape[1], names
            self.weighted = weights is not None
            self.n_samples += X.shape[0]
            self.sparse |= sp.issparse(X)
        if self.n_samples == 0:
            raise ValueError("Chunks needs at least one row, got a source without any.")

    def blocks(self) -> Iterable[RawBlock]:
        """The rows, cut into blocks by public sizes alone."""
        seen = 0
        for X, y, weights, _ in self._checked():
            seen += X.shape[0]
            yield from (SparseRows if sp.issparse(X) else DenseRows)(X, y, weights).blocks()
        if seen != self.n_samples:
            raise ValueError(
                "Chunks needs a source that delivers the same rows at each pass; "
                "the number of rows has changed."
            )

    def _checked(
        self,
    ) -> Iterable[tuple[Any, np.ndarray, np.ndarray | None, list[str] | None]]:
        for chunk in self._chunks:
            if not isinstance(chunk, tuple | list) or len(chunk) not in (2, 3):
                raise ValueError(
                    "Chunks needs pairs (X_chunk, y_chunk), or triples with weights, got a "
                    f"{type(chunk).__name__}"
                    f"{f' of {len(chunk)}' if isinstance(chunk, tuple | list) else ''}."
                )
            X, y = chunk[:2]
            columns = redacted(_get_feature_names, X)
            names = None if columns is None else list(columns)
            X = redacted(
                check_array,
                X,
                accept_sparse="csr",
                dtype=[np.float64, np.float32],
                input_name="X",
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
            if len(chunk) == 3:
                weights = in_units_of(self._max_weight, chunk[2], X.shape[0])
            if self.n_features and self.weighted != (weights is not None):
                raise ValueError("Chunks needs weights in every chunk or in none.")
            yield X, y, weights, names
