"""How large the gradients of single rows are: a histogram, and a share beside the gradient."""

from __future__ import annotations

from dataclasses import dataclass
from math import hypot
from typing import ClassVar

import numpy as np

from ...data.base import RowStore
from ...data.blocks import BoundedBlock
from ...losses import Loss
from ...problem import Problem
from ..adjacency import Adjacency
from .base import GaussianQuery
from .gradient import GradientQuery

__all__ = ["GradientAndShareQuery", "GradientSizesQuery"]


@dataclass(frozen=True, eq=False)
class GradientSizesQuery(GaussianQuery):
    """How many rows have a gradient whose norm lies between public edges.

    The norm is ``c_i ||l'(y_i, <w, x~_i>)|| ||x~_i||`` before any clipping of gradients.

    Parameters
    ----------
    problem : Problem
        Loss and public bounds.
    w : ndarray
        Where; public.
    edges : ndarray of shape (m,)
        Increasing. Bin k holds norms in ``[edges[k-1], edges[k])``; bin 0 lies below all edges
        and bin m above, so that every row falls in exactly one of m + 1 bins.

    Guarantees
    ----------
    - Replacing a row moves one count down and one up by 1: sqrt(2) in l2. Zeroing it out moves
      one count: 1. A derivative that is not a number counts as zero.
    """

    name: ClassVar[str] = "gradient_sizes"

    problem: Problem
    w: np.ndarray
    edges: np.ndarray

    def sensitivity(self, adjacency: Adjacency) -> float:
        """``sqrt(2)`` under replace-one, 1 under zero-out."""
        return adjacency.of_histogram()

    def evaluate(self, rows: RowStore) -> np.ndarray:
        """The exact counts, floats of shape (m + 1,)."""
        return rows.bounded(self.problem.bounds).sum(self._of_block)

    def public(self) -> tuple[object, ...]:
        """w and the edges."""
        return (self.w, self.edges)

    def _of_block(self, block: BoundedBlock) -> np.ndarray:
        sizes = _sizes(self.problem, block, block.scores(self.w))
        bins = np.searchsorted(self.edges, sizes, side="right")
        return np.bincount(bins, minlength=self.edges.size + 1).astype(np.float64)


@dataclass(frozen=True, eq=False)
class GradientAndShareQuery(GaussianQuery):
    r"""The mean of clipped gradients and, after it, ``weight`` times the share of rows left whole.

    A row is whole if the norm of its gradient is at most the clip. One pass answers both, and the
    answer, a vector of the entries of the gradient and one more, takes noise of one scale; the
    weight says how precise the share is beside the gradient.

    Parameters
    ----------
    gradient : GradientQuery
        The gradient in question, with a clip.
    weight : float
        Factor of the share, > 0.

    Guarantees
    ----------
    - Replacing a row moves the gradient by at most ``2 C / n`` and the share by at most ``1 / n``,
      together at most ``hypot(2 C, weight) / n`` in l2; zeroing it out moves them by at most
      ``hypot(C, weight) / n``. Both are attained. The price is thus that of a release of the
      gradient plus that of a release of the share.
    """

    name: ClassVar[str] = "gradient_and_share"

    gradient: GradientQuery
    weight: float

    def sensitivity(self, adjacency: Adjacency) -> float:
        """``hypot(2 C, weight) / n`` under replace-one."""
        # A share of rows moves by 1 / n under both relations, as each row adds 0 or 1.
        n = self.gradient.problem.n_samples
        return hypot(self.gradient.sensitivity(adjacency), self.weight / n)

    def evaluate(self, rows: RowStore) -> np.ndarray:
        """The exact answer, of shape (entries of w + 1,)."""
        problem = self.gradient.problem
        return rows.bounded(problem.bounds).sum(self._of_block) / problem.n_samples

    def public(self) -> tuple[object, ...]:
        """w, the clip and the weight."""
        return (*self.gradient.public(), self.weight)

    def _of_block(self, block: BoundedBlock) -> np.ndarray:
        z = block.scores(self.gradient.w)
        sizes = _sizes(self.gradient.problem, block, z)
        whole = self.weight * np.count_nonzero(sizes <= self.gradient.bound)
        return np.append(self.gradient.of_block(block, z), whole)


def _sizes(problem: Problem, block: BoundedBlock, z: np.ndarray) -> np.ndarray:
    """Norms of the rows' gradients."""
    with np.errstate(over="ignore", invalid="ignore"):
        r = Loss.clipped_derivative(problem.loss, block.y, z, np.inf)
        sizes = block.norms * (np.abs(r) if r.ndim == 1 else np.sqrt(np.einsum("ij,ij->i", r, r)))
    if problem.class_weight is not None:
        sizes *= np.take(problem.class_weight, block.y.astype(np.intp), mode="clip")
    return sizes
