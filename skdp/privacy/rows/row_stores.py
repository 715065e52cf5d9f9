"""Rows laid in the store for their kind, which the kernel alone looks into."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .base import ResidentRows, RowStore
from .chunked import ChunkedRows, Chunks
from .dask_rows import DaskRows, is_collection
from .in_memory import rows_in_memory
from .privacy_units import PrivacyUnits
from .reading import columns_of, in_units_of, strict_checks
from .targets import encoded_targets


def resident_rows(
    X: Any,
    y: Any,
    encode: Callable[[np.ndarray], np.ndarray],
    sample_weight: Any = None,
    max_weight: float = 1.0,
    units: PrivacyUnits | None = None,
) -> ResidentRows:
    """Rows that are in memory, or mapped into it.

    Features are valid. ``encode`` turns targets into numbers, and refuses others; weights are
    brought to units of ``max_weight``, the largest that counts.
    """
    with strict_checks():
        encoded = encoded_targets(y, encode)
    weights = None
    if sample_weight is not None:
        weights = in_units_of(max_weight, sample_weight, X.shape[0])
    rows = rows_in_memory(X, encoded, weights, units)
    rows.target_columns = columns_of(y)
    return rows


def row_store(
    X: Any,
    y: Any,
    encode: Callable[[np.ndarray], np.ndarray],
    sample_weight: Any = None,
    max_weight: float = 1.0,
    units: PrivacyUnits | None = None,
    *,
    tables: bool = False,
    privacy_unit: Any = None,
) -> RowStore:
    """Rows of any kind; see :func:`resident_rows`.

    Features are valid unless they are chunks or collections, which are checked when they are read;
    Chunks hold targets and weights themselves. With ``tables`` targets of both may come as tables
    of several columns. ``privacy_unit`` are labels of the rows of a collection, or True for chunks
    that deliver them.
    """
    if isinstance(X, Chunks):
        of_units = privacy_unit is not None
        return ChunkedRows(X, encode, max_weight, tables=tables, of_units=of_units)
    if any(map(is_collection, (X, y, sample_weight, privacy_unit))):
        return DaskRows(X, y, encode, sample_weight, max_weight, privacy_unit, tables=tables)
    return resident_rows(X, y, encode, sample_weight, max_weight, units)
