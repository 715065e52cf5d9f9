"""Row stores: "sum this over the rows", nothing else.

A store never copies X. Every question is one pass over the rows, in blocks small enough to stay in
cache between the product that makes scores and the product that combines rows.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from typing import ClassVar

import numpy as np

from ..bounds import RowBounds
from .blocks import Block, BoundedBlock, RawBlock
from .mapped import MappedBlock

__all__ = ["BoundedRows", "RowStore"]


class RowStore(ABC):
    """Holder of the rows of one fit. Only the oracle has one.

    Attributes
    ----------
    n_samples : int
        Number of rows, public.
    n_features : int
        Number of features, public.
    sparse : bool
        Whether the rows are stored sparsely, public.
    resident : bool
        Whether the blocks stay in memory, so that what is derived from them may be kept.
    """

    resident: ClassVar[bool]
    n_samples: int
    n_features: int
    sparse: bool
    _view: BoundedRows | None = None

    @abstractmethod
    def blocks(self) -> Iterable[RawBlock]:
        """The rows, cut into blocks by public sizes alone."""

    def sum(self, kernel: Callable[[RawBlock], np.ndarray]) -> np.ndarray:
        """Sum of ``kernel`` over all blocks, in a fixed order."""
        return _total(map(kernel, self.blocks()))

    def bounded(self, bounds: RowBounds) -> BoundedRows:
        """The same rows, brought to public bounds; the latest view is kept."""
        if self._view is None or self._view.bounds != bounds:
            self._view = BoundedRows(self, bounds)
        return self._view


class BoundedRows:
    """Rows whose norms and targets respect public bounds.

    Parameters
    ----------
    store : RowStore
        Where the rows come from.
    bounds : RowBounds
        What they are brought to.
    """

    def __init__(self, store: RowStore, bounds: RowBounds) -> None:
        self.bounds = bounds
        self._store = store
        self._kept = [self._block(raw) for raw in store.blocks()] if store.resident else None

    def sum(self, kernel: Callable[[BoundedBlock], np.ndarray]) -> np.ndarray:
        """Sum of ``kernel`` over all blocks, in a fixed order."""
        if self._kept is not None:
            return _total(kernel(block.loaded()) for block in self._kept)
        return self._store.sum(lambda raw: kernel(self._block(raw).loaded()))

    def _block(self, raw: RawBlock) -> BoundedBlock:
        if self.bounds.columns is not None:
            raw = raw.cut_to(self.bounds.columns)
        kind = Block if self.bounds.row_map is None else MappedBlock
        return kind(raw, self.bounds)


def _total(parts: Iterable[np.ndarray]) -> np.ndarray:
    iterator = iter(parts)
    total = next(iterator)
    for part in iterator:
        total += part
    return total
