"""Norms of the gradients of single rows: a histogram, and a share beside the gradient."""

from __future__ import annotations

from dataclasses import dataclass
from math import hypot
from typing import ClassVar

import numpy as np

from ...problem.losses import Loss
from ...problem.problem import Problem
from ..adjacency import Adjacency, PrivacyUnit
from ..rows.base import RowStore
from ..rows.bounded_rows import BoundedBlock, lengths_of
from .base import CountQuery, GaussianQuery, check_edges, counted, kept
from .gradient import GradientQuery


@dataclass(frozen=True, eq=False)
class GradientSizesQuery(CountQuery):
    """Number, or total weight, of rows with a gradient whose norm lies between public edges.

    The norm is ``c_i ||l'(y_i, <w, x~_i>)|| ||x~_i||`` before any clipping of gradients, and before
    it is multiplied by the weight of the row, which it counts by. The m edges increase: bin k
    holds norms in ``[edges[k-1], edges[k])``, bin 0 lies below all edges and bin m above, so that
    every row falls in exactly one of m + 1 bins.

    With ``whole_units`` privacy units are counted, by the norm of the mean gradient of their rows,
    and not rows; gradients of rows are cut to 16 times the last edge first.

    Guarantees
    ----------
    - A derivative that is not a number counts as zero.
    - All rows of a privacy unit together count at most 1. With ``whole_units`` in one bin, which
      depends on nobody else's rows, to the last bit.
    """

    name: ClassVar[str] = "gradient_sizes"

    problem: Problem
    w: np.ndarray
    edges: np.ndarray
    whole_units: bool = False

    def __post_init__(self) -> None:
        check_edges(type(self).__name__, self.edges)

    def evaluate(self, rows: RowStore) -> np.ndarray:
        """The exact counts, floats of shape (m + 1,)."""
        last = float(self.edges[-1]) if self.edges.size else None
        whole = self.whole_units and last is not None
        gradient = GradientQuery(self.problem, self.w, last, whole)
        return gradient.summed(rows, self._of_block, self._of_units, exactly=True)

    def _of_units(self, sums: np.ndarray) -> np.ndarray:
        norms, weights = _norms_of_units(sums)
        return counted(norms, self.edges, weights)

    def _of_block(self, block: BoundedBlock) -> np.ndarray:
        r = Loss.clipped_derivative(self.problem.loss, block.y, block.scores(self.w), np.inf)
        return counted(_sizes(self.problem, block, r), self.edges, block.weights)


@dataclass(frozen=True, eq=False)
class GradientAndShareQuery(GaussianQuery):
    r"""The mean of clipped gradients and, after it, ``weight`` times the share of rows left whole.

    A row is whole if the norm of its gradient is at most the clip. One pass answers both, and the
    answer, a vector of the entries of the gradient and one more, takes noise of one scale; the
    weight says how precise the share is beside the gradient. If rows have weights v_i of their own,
    the share is ``usual + sum_i v_i ([row i is whole] - usual) / n``: it exceeds ``usual`` if and
    only if more than that much of the weight is on rows left whole, whatever all of it is.

    Guarantees
    ----------
    - Replacing a row moves the gradient by at most ``2 C / n`` and the share by at most ``1 / n``,
      together at most ``hypot(2 C, weight) / n`` in l2; zeroing it out moves them by at most
      ``hypot(C, weight) / n``. Both are attained, the latter by rows without weights. The part of a
      weighted row in the share, or of a unit, is between ``-usual`` and ``1 - usual``, which are 1
      apart and both at most ``max(usual, 1 - usual)`` in size. The price is thus at most that of a
      release of the gradient plus that of a release of the share.
    - All rows of a privacy unit together move it by no more. If the gradient is one of
      ``whole_units``, a unit is whole or not as the mean of its rows is, which depends on nobody
      else's rows, to the last bit.
    """

    name: ClassVar[str] = "gradient_and_share"

    #: The gradient in question, with a clip.
    gradient: GradientQuery
    #: Factor of the share, > 0.
    weight: float
    #: The share that is compared with, in [0, 1]; it matters for weighted rows only.
    usual: float = 0.5

    def __post_init__(self) -> None:
        if not 0 <= self.usual <= 1:
            raise ValueError(
                f"GradientAndShareQuery needs a usual share in [0, 1], got {self.usual}."
            )

    @property
    def problem(self) -> Problem:
        """Loss and public bounds."""
        return self.gradient.problem

    @property
    def rounding(self) -> float:
        """Margin for rounding of the gradient; the share takes no more."""
        return self.gradient.rounding

    def sensitivity(self, adjacency: Adjacency) -> float:
        """``hypot(2 C, weight) / n`` under replace-one; infinite if doubles do not keep it."""
        # A share of rows moves by 1 / n under both relations, as each row adds 0 or 1.
        n = self.gradient.problem.n_samples
        return hypot(self.gradient.sensitivity(adjacency), kept(self.weight, n) / n)

    def evaluate(self, rows: RowStore) -> np.ndarray:
        """The exact answer, of shape (entries of w + 1,)."""
        answer = self.gradient.summed(rows, self._of_block, self._of_units, exactly=True)
        answer /= self.gradient.problem.n_samples
        if rows.weighted or rows.unit is PrivacyUnit.DECLARED:
            answer[-1] += self.weight * self.usual
        return answer

    def public(self) -> tuple[object, ...]:
        return (*self.gradient.public(), self.weight, self.usual)

    def _of_block(self, block: BoundedBlock) -> np.ndarray:
        gradient = self.gradient
        loss, z = gradient.problem.loss, block.scores(gradient.w)
        r = Loss.clipped_derivative(loss, block.y, z, np.inf)
        left_whole = _sizes(gradient.problem, block, r) <= gradient.bound
        whole = float(np.count_nonzero(left_whole))
        if block.weights is not None:
            whole = float(block.weights @ (left_whole - self.usual))
        whole *= self.weight
        r = gradient.weighted(block, Loss.shrunk(r, gradient.derivative_bounds(block)))
        return np.append(block.combine(r), whole)

    def _of_units(self, sums: np.ndarray) -> np.ndarray:
        norms, weights = _norms_of_units(sums)
        whole = weights @ ((norms <= self.gradient.bound) - self.usual)
        return np.append(self.gradient.of_units(sums), self.weight * whole)


def _norms_of_units(sums: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Norms of the mean gradients of units, and their weights, from (k, p + 1) sums over rows."""
    norms, weights = lengths_of(np.ascontiguousarray(sums[:, :-1])), np.minimum(sums[:, -1], 1.0)
    return norms / np.where(weights > 0, weights, 1.0), weights


def _sizes(problem: Problem, block: BoundedBlock, r: np.ndarray) -> np.ndarray:
    """Norms of the rows' gradients, from their derivatives before any clip."""
    sizes = np.abs(r) if r.ndim == 1 else np.sqrt(np.einsum("ij,ij->i", r, r))
    sizes *= block.lengths.norms
    if problem.class_weight is not None:
        sizes *= np.take(problem.class_weight, block.y.astype(np.intp), mode="clip")
    return sizes
