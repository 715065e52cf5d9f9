"""Rows of many calls, gathered in one store."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from .base import ResidentRows
from .bounded_rows import compressed
from .in_memory import DenseRows, SparseRows

# Numbers. Room that is not written to costs nothing, and its growing copies all that is held, so
# all that will be needed is asked for; what systems refuse to promise, or addresses cannot name, is
# asked for as it fills.
_LEAST_ROOM, _ROOM_IF_REFUSED, _MOST_ROOM = 64, 2**24, 2**44


class RowBuffer:
    """Copies rows as they come into arrays with room for all, or else that grow by doubling.

    A row is copied at most three times on average, however few come at a time, and rows take at
    most twice the memory that they need. Sparse rows stay sparse: whether the buffer is sparse is
    decided when it is made, and rows of the other kind are converted. Entries are kept in single
    precision as long as all of them are. Either all rows have weights or none has. Rows whose copy
    was interrupted are not held: they would lend their features to the labels of others.

    Parameters
    ----------
    n_features : int
        Number of features of each row.
    sparse : bool
        How rows are kept.
    expected : int, default=0
        Number of rows that will come, public, for which there is room from the start.
    """

    def __init__(self, n_features: int, sparse: bool, expected: int = 0) -> None:
        self._n_features, self._sparse = n_features, sparse
        self._y, self._weights = _Growing(expected), _Growing(expected)
        self._X = _Growing(0 if sparse else expected * n_features)
        self._indices, self._ends = _Growing(), _Growing()
        # Rows and entries that are copied as a whole.
        self._held = 0, 0

    @property
    def n_samples(self) -> int:
        """Number of rows held."""
        return self._held[0]

    def append(self, rows: ResidentRows) -> None:
        """Copy these rows, at least one, behind those held."""
        X: Any = rows.X
        self._drop_interrupted()
        if not self._sparse:
            self._X.extend((X if isinstance(X, np.ndarray) else X.toarray()).reshape(-1))
        else:
            X = sp.csr_array(X)
            self._ends.extend(X.indptr[1:].astype(np.int64) + self._X.size)
            self._indices.extend(X.indices)
            self._X.extend(X.data)
        if rows.weights is not None:
            self._weights.extend(rows.weights)
        self._y.extend(rows.y)
        self._held = self._y.size, self._X.size

    def rows(self) -> ResidentRows:
        """A store of the rows held, which lie where they are: nothing may be appended after."""
        self._drop_interrupted()
        weights = self._weights.filled() if self._weights.size else None
        if not self._sparse:
            X = self._X.filled().reshape(-1, self._n_features)
            return DenseRows(X, self._y.filled(), weights)
        ends, shape = np.append(0, self._ends.filled()), (self.n_samples, self._n_features)
        # Both have to be of one kind, small integers if these are large enough.
        kind = np.int32 if ends[-1] <= np.iinfo(np.int32).max else np.int64
        parts = (self._X.filled(), self._indices.filled().astype(kind, copy=False))
        X = compressed(sp.csr_array, shape, *parts, ends.astype(kind))
        return SparseRows(X, self._y.filled(), weights)

    def _drop_interrupted(self) -> None:
        self._y.size, self._X.size = self._held
        self._weights.size = min(self._weights.size, self._y.size)
        if self._sparse:
            self._ends.size, self._indices.size = self._held


class _Growing:
    """A vector with room at its end."""

    def __init__(self, expected: int = 0) -> None:
        self._expected = max(_LEAST_ROOM, min(expected, _MOST_ROOM))
        self._room: np.ndarray | None = None
        self.size = 0

    def extend(self, values: np.ndarray) -> None:
        room, size = self._room, self.size + values.size
        if room is None:
            try:
                room = np.empty(max(self._expected, size), dtype=values.dtype)
            except MemoryError:
                room = np.empty(
                    max(min(self._expected, _ROOM_IF_REFUSED), size), dtype=values.dtype
                )
        dtype = np.promote_types(room.dtype, values.dtype)
        if size > room.size or dtype != room.dtype:
            larger = np.empty(max(size, room.size * (1 + (size > room.size))), dtype=dtype)
            larger[: self.size] = room[: self.size]
            room = larger
        room[self.size : size] = values
        self._room, self.size = room, size

    def filled(self) -> np.ndarray:
        assert self._room is not None
        return self._room[: self.size]
