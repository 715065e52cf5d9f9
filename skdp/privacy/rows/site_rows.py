"""Rows site by site: the same kernel for each site, with weights of its own."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from itertools import pairwise

import numpy as np
import scipy.sparse as sp

from ...problem.bounds import RowBounds
from ...problem.sites import Sites
from ..adjacency import PrivacyUnit
from .base import BlockStore, RowStore, bounded_block
from .bounded_rows import (
    LONGEST_RUN,
    MOST_ROWS,
    BoundedBlock,
    RawBlock,
    Rows,
    cut,
)
from .threads import PairwiseSum, total

# Entries of small sites that are handled at once, so that they stay in cache.
_BUNCH_ENTRIES = 1 << 17

# A function that returns the derivatives of the rows of a block, which may lack their features, at
# given scores. Its last argument are the positions of the rows in the order of the sites.
SiteKernel = Callable[[BoundedBlock, np.ndarray, np.ndarray], np.ndarray]


class SiteSums(ABC):
    """Source of sums over the rows of each site: this process, or workers."""

    @abstractmethod
    def sums(self, active: np.ndarray, W: np.ndarray, kernel: SiteKernel) -> np.ndarray:
        """Sums over the rows of each active site, weighted by the kernel at its own scores.

        Numbers of active sites increase, and W has the weights of each. The kernel takes a block,
        scores, and the positions of the rows in the order of the sites, and returns weights of
        rows, in the shape of the scores.
        """


class SiteRows(SiteSums):
    """Rows in memory, brought together by site.

    Large sites are used by themselves. Small dense ones are written out in bunches, so that a
    thousand of them take a few operations on arrays and not a thousand.

    Parameters
    ----------
    raw : list of RawBlock
        All rows.
    bounds : RowBounds
        What they are brought to.
    sites : Sites
        Where rows lie. If they have to be put into order, they are copied once.
    """

    def __init__(
        self,
        raw: list[RawBlock],
        bounds: RowBounds,
        sites: Sites,
    ) -> None:
        starts = np.concatenate([[0], np.cumsum(sites.sizes)])
        X, y = _joined([b.X for b in raw]), np.concatenate([b.y for b in raw])
        # All rows are weighted or none is.
        parts = [b.weights for b in raw if b.weights is not None]
        weights = np.concatenate(parts) if parts else None
        if sites.order is not None:
            X, y = X[sites.order], y[sites.order]
            weights = None if weights is None else weights[sites.order]
        # As few as the margins for rounding count in a sum that is not cut.
        per_site = min(max(1, _BUNCH_ENTRIES // X.shape[1]), MOST_ROWS)
        dense = isinstance(X, np.ndarray)
        self._bunches: list[_Bunch | _Single] = []
        first = 0
        while first < sites.n_sites:
            last = first + 1
            while dense and last < sites.n_sites and starts[last + 1] - starts[first] <= per_site:
                last += 1
            start, stop = int(starts[first]), int(starts[last])
            ends = cut(stop - start, LONGEST_RUN) if last - first == 1 else [(0, stop - start)]
            blocks = []
            for i, j in ends:
                here = slice(start + i, start + j)
                own = None if weights is None else weights[here]
                blocks.append(bounded_block(RawBlock(X[here], y[here], own), bounds))
            if last - first == 1:
                self._bunches.append(_Single(first, start, blocks))
            else:
                local = starts[first : last + 1] - start
                self._bunches.append(_Bunch(first, start, local, blocks[0]))
            first = last

    def sums(self, active: np.ndarray, W: np.ndarray, kernel: SiteKernel) -> np.ndarray:
        """Sums over the rows of each active site; see :class:`SiteSums`."""
        out = np.empty(W.shape)
        for bunch in self._bunches:
            i, j = np.searchsorted(active, [bunch.first, bunch.last])
            if i < j:
                out[i:j] = bunch.sums(active[i:j] - bunch.first, W[i:j], kernel)
        return out


class SiteChunks(SiteSums):
    """Rows that are read anew at each pass.

    Parameters
    ----------
    blocks : callable
        Delivers the raw blocks of one pass.
    bounds : RowBounds
        What they are brought to.
    sites : Sites
        Where rows lie.
    """

    def __init__(
        self,
        blocks: Callable[[], Iterable[RawBlock]],
        bounds: RowBounds,
        sites: Sites,
    ) -> None:
        self._blocks, self._bounds = blocks, bounds
        self._of_rows = sites.of_rows()
        self._positions = np.arange(sites.n_samples)
        if sites.order is not None:
            self._positions = np.argsort(sites.order)

    def sums(self, active: np.ndarray, W: np.ndarray, kernel: SiteKernel) -> np.ndarray:
        """Sums over the rows of each active site; see :class:`SiteSums`."""
        found, seen = [PairwiseSum() for _ in active], 0
        for raw in self._blocks():
            here = slice(seen, seen + raw.y.size)
            seen += raw.y.size
            block, of_row = bounded_block(raw, self._bounds), self._of_rows[here]
            positions = self._positions[here]
            for k in np.flatnonzero(np.isin(active, of_row)):
                chosen = np.flatnonzero(of_row == active[k])
                part = block.taken(chosen).loaded()
                z = part.scores(W[k])
                found[k].add(part.combine(kernel(part, z, positions[chosen])))
        return np.stack([of_site.result() for of_site in found])


def site_sums(rows: RowStore, bounds: RowBounds, sites: Sites) -> SiteSums:
    """The rows, brought to public bounds and together by site; the latest is kept by the store.

    Raises
    ------
    TypeError
        If rows are elsewhere, or belong to privacy units.
    """
    if not isinstance(rows, BlockStore):
        raise TypeError(
            f"Sites need rows that this process holds, got {type(rows).__name__}; pass arrays."
        )
    if rows.unit is not PrivacyUnit.ROW:
        raise TypeError("Sites need rows each of which is a privacy unit; others lie at several.")
    kept: tuple[RowBounds, Sites, SiteSums] | None = vars(rows).get("_sites_kept")
    if kept is not None and kept[0] == bounds and kept[1] is sites:
        return kept[2]
    sums: SiteSums
    if rows.resident:
        sums = SiteRows(list(rows.blocks()), bounds, sites)
    else:
        sums = SiteChunks(rows.blocks, bounds, sites)
    vars(rows)["_sites_kept"] = bounds, sites, sums
    return sums


class _Single:
    """A site by itself, in as many blocks as its number of rows asks for."""

    def __init__(self, first: int, start: int, blocks: list[BoundedBlock]) -> None:
        self.first, self.last = first, first + 1
        ends = np.cumsum([start, *(block.y.size for block in blocks)])
        places = [np.arange(i, j) for i, j in pairwise(ends)]
        self._blocks = list(zip(blocks, places, strict=True))

    def sums(self, chosen: np.ndarray, W: np.ndarray, kernel: SiteKernel) -> np.ndarray:
        del chosen

        def of_block(block: BoundedBlock, places: np.ndarray) -> np.ndarray:
            block = block.loaded()
            return block.combine(kernel(block, block.scores(W[0]), places))

        return total(of_block(*block) for block in self._blocks)[None]


class _Bunch:
    """Some small sites, one after the other, written out densely."""

    def __init__(self, first: int, start: int, starts: np.ndarray, block: BoundedBlock) -> None:
        self.first, self.last = first, first + len(starts) - 1
        self._sizes = np.diff(starts)
        self._starts = starts[:-1]
        self._V = block.loaded().rows()
        self._facts = block.over(None)
        self._positions = np.arange(start, start + block.y.size)

    def sums(self, chosen: np.ndarray, W: np.ndarray, kernel: SiteKernel) -> np.ndarray:
        V, facts, positions, sizes = self._V, self._facts, self._positions, self._sizes
        starts = self._starts
        if chosen.size < sizes.size:
            sizes = sizes[chosen]
            ends = np.cumsum(sizes)
            # Positions within the bunch of the rows of the chosen sites.
            rows = np.arange(ends[-1]) + np.repeat(starts[chosen] - (ends - sizes), sizes)
            starts = ends - sizes
            V, positions = V[rows], positions[rows]
            facts = facts.taken(rows)
        of_row = np.repeat(np.arange(sizes.size), sizes)
        if W.ndim == 2:
            z = np.einsum("ij,ij->i", V, W[of_row])
            z = z if facts.offset is None else z + facts.offset
            r = kernel(facts, z, positions)
            return np.add.reduceat(V * r[:, None], starts, axis=0)
        r = kernel(facts, np.einsum("ij,ijk->ik", V, W[of_row]), positions)
        return np.add.reduceat(V[:, :, None] * r[:, None, :], starts, axis=0)


def _joined(parts: list[Rows]) -> Rows:
    if len(parts) == 1:
        return parts[0]
    if all(isinstance(part, np.ndarray) for part in parts):
        return np.concatenate(parts)
    return sp.csr_array(sp.vstack(parts, format="csr"))
