"""Predictions and transformed rows of a dask collection, one partition at a time.

No row is protected from whoever may ask for predictions about it, here as in memory.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from .dask_rows import aligned
from .partitions import Partitions


def lazily(method: Callable[[Any], np.ndarray], X: Any) -> Any:
    """A method of a fitted model, applied to each partition when the result is computed.

    Parameters
    ----------
    method : callable
        Takes features (m, d) with m >= 1 and returns an array with one entry or row for each.
    X : dask array or dataframe
        Features.

    Returns
    -------
    dask array
        Of unknown length if that of X is.
    """
    # Complains here and now about a model that is not fitted, and about other features.
    example = method(made_up(X))[:0]
    of_block = partial(_of_block, method, example)
    if hasattr(X, "map_partitions"):
        return X.map_partitions(of_block, meta=example)
    if X.numblocks[1] > 1:
        X = X.rechunk({1: -1})
    if example.ndim == 1:
        return X.map_blocks(of_block, drop_axis=1, meta=example)
    return X.map_blocks(of_block, chunks=(X.chunks[0], example.shape[1:]), meta=example)


def made_up(X: Any) -> Any:
    """Rows that a dask array or dataframe could have: its columns and types, none of its rows."""
    return X._meta_nonempty if hasattr(X, "map_partitions") else np.zeros((1, X.shape[1]))


def summed(
    per_partition: Callable[[Any, np.ndarray], np.ndarray], X: Any, y: Any, *, tables: bool = False
) -> np.ndarray:
    """The sum over partitions of a function of features and targets, computed now.

    Parameters
    ----------
    per_partition : callable
        Takes features (m, d) and targets (m,), m >= 1, and returns an array.
    X : dask array or dataframe
        Features.
    y : dask array or series
        Targets, in the same partitions.
    tables : bool, default=False
        Whether y may have two dimensions.

    Raises
    ------
    ValueError
        If X and y are of other kinds, in other partitions, or without rows.
    """
    X, y = aligned(X, y, tables=tables)
    parts = Partitions.of(X).map(partial(_of_pair, per_partition), Partitions.of(y))
    found = [part for part in parts.gathered() if part is not None]
    if not found:
        raise ValueError("A score needs at least one row, got partitions without any.")
    return np.sum(found, axis=0)


def check_unweighted(name: str, sample_weight: Any) -> None:
    """Refuse weights of rows where they are not supported.

    Parameters
    ----------
    name : str
        Of the estimator.
    sample_weight : object
        What was passed.

    Raises
    ------
    ValueError
        If it is not None.
    """
    if sample_weight is not None:
        raise ValueError(
            f"{name}.score needs sample_weight=None for dask collections, got a "
            f"{type(sample_weight).__name__}; compute the score from predict(X)."
        )


def _of_block(method: Callable[[Any], np.ndarray], example: np.ndarray, X: Any) -> np.ndarray:
    return method(X) if X.shape[0] else example


def _of_pair(
    per_partition: Callable[[Any, np.ndarray], np.ndarray], X: Any, y: Any
) -> np.ndarray | None:
    if X.shape[0] != len(y):
        raise ValueError(
            f"X and y are needed in the same partitions, got {X.shape[0]} rows of X and {len(y)} "
            "targets in one of them; rechunk y to the chunks of X."
        )
    return per_partition(X, np.asarray(y)) if len(y) else None
