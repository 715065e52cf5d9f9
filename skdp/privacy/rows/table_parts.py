"""Parts of a table that is read at each pass, chunks or partitions, without their features.

What is small is kept from the first pass: encoded targets, weights, and what follows from bounds.
It belongs to the rows that were read then, so a later pass has to deliver the same, to the last
bit: features are known again by a checksum of their bytes. Source and reader are honest; the
checksum is there to see a file that somebody writes to, a query without an order, or rows that are
made at random, and 2^-32 of such changes escape it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from typing import Any
from zlib import crc32

import numpy as np
from sklearn.utils import check_array

from ...problem.bounds import RowBounds
from .base import KeptBlocks
from .bounded_rows import PIECE_ENTRIES, BlockKernel, RawBlock, Rows, runs
from .in_memory import rows_of_part
from .privacy_units import PrivacyUnits
from .reading import redacted

CHANGED = (
    "{} needs a source that delivers the same rows at each pass, to the last bit; they have "
    "changed. {}"
)


@dataclass(eq=False, repr=False)
class Part:
    """Targets, weights and units of the rows of a part, and how its features are known again.

    Parameters
    ----------
    y : ndarray of shape (m,) or (m, t)
        Encoded targets.
    weights : ndarray of shape (m,) or None
        Weights of the rows, in units of the largest that counts.
    source : callable
        Returns the very object that the features came in, where that is known not to change and
        is still in memory, else None.
    checksum : int or None
        Of the features, unless they are known by their source alone.
    units : PrivacyUnits, optional
        Privacy units of the rows.
    """

    y: np.ndarray
    weights: np.ndarray | None
    source: Callable[[], Any]
    checksum: int | None
    units: PrivacyUnits | None = None
    _kept: tuple[Hashable, KeptBlocks] | None = field(default=None, init=False)

    def __getstate__(self) -> dict[str, Any]:
        # Elsewhere they are another object, and what is kept is found again.
        return vars(self) | {"source": nowhere, "_kept": None}

    def __sizeof__(self) -> int:
        of_units = () if self.units is None else (self.units.codes, self.units.shares)
        # With what will be kept of bounded rows.
        kept = 40 * len(self.y)
        return kept + sum(map(sys.getsizeof, (self.y, self.weights, *of_units)))

    def let_go(self) -> None:
        """Know the features again by their checksum, and not by where they are."""
        if self.checksum is None:
            self.checksum, self.source = checksum(as_rows(self.source(), finite=False)), nowhere

    def blocks(self, X: Any) -> list[RawBlock] | None:
        """The rows in blocks; None unless they are those that were read first."""
        rows, n = as_rows(X, finite=False), len(self.y)
        if X is not self.source() and (rows.shape[0] != n or checksum(rows) != self.checksum):
            return None
        return list(rows_of_part(rows, self.y, self.weights, self.units).blocks()) if n else []

    def sum(
        self,
        raw: Sequence[RawBlock],
        kernel: BlockKernel,
        name: Hashable,
        bounds: RowBounds,
        *,
        of_rows: int,
        marked: np.ndarray | None = None,
    ) -> np.ndarray:
        """Sum of the kernel over the rows, brought to bounds, which have a name of their own.

        What is small is kept for the next sum over rows that are brought to the same. ``of_rows``
        is the number of rows of the table, and ``marked`` says over which rows, or units, to sum.
        """
        # Nobody else has what is kept while it is used: a sum of a query that was interrupted may
        # be under way.
        kept = vars(self).pop("_kept", None)
        if kept is None or kept[0] != name:
            # Norms are those of the rows as they came, whatever the bounds.
            before = raw if kept is None else kept[1].raw()
            del kept
            # Solvers that move few weights at a time live by what is kept of sparse rows.
            alike = self.units is None and all(isinstance(block.X, np.ndarray) for block in raw)
            both = zip(before, raw, strict=True)
            known = (old.over(new.X, of_rows=of_rows if alike else 0) for old, new in both)
            kept = name, KeptBlocks(known, bounds)
        with kept[1].over(raw) as blocks:
            found = blocks.sum(kernel, marked)
        self._kept = kept
        return found


def checksum(rows: Rows) -> int:
    """Checksum of features by their bytes in the order of rows, however they lie in memory."""
    out = crc32(repr((rows.shape, rows.dtype.char)).encode())
    if not isinstance(rows, np.ndarray):
        for array in (rows.data, rows.indices, rows.indptr):
            out = crc32(np.ascontiguousarray(array).data, out)
        return out
    step = len(rows) if rows.flags.c_contiguous else PIECE_ENTRIES // rows.shape[1]
    for start, stop in runs(len(rows), max(1, step)):
        out = crc32(np.ascontiguousarray(rows[start:stop]).data, out)
    return out


def as_rows(X: Any, *, finite: bool, least: int = 0) -> Any:
    """Features as an array or a CSR matrix of floats; with ``finite`` refused unless all are.

    There are at least so many rows.
    """
    if not finite and type(X) is np.ndarray and X.dtype in (np.float64, np.float32):
        return X
    return redacted(
        check_array,
        X,
        accept_sparse="csr",
        dtype=[np.float64, np.float32],
        ensure_all_finite=finite,
        ensure_min_samples=least,
        input_name="X",
    )


def nowhere() -> None:
    """Stand-in for features that are not here."""
