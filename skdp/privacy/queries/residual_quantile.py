"""A quantile of the residuals, or of their sizes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ...problem.problem import Problem
from ..adjacency import Adjacency
from ..rounding import of_sum
from ..rows.base import RowStore
from ..rows.bounded_rows import BoundedBlock
from .base import GumbelQuery, check_targets_a_row


@dataclass(frozen=True, eq=False)
class ResidualQuantileQuery(GumbelQuery):
    r"""The edge that has the share q of the residuals, or of their sizes, below it.

    Edge e has the score ``-|sum_i ([v_i < e] - q)|``, in rows, where ``v_i`` is the residual
    ``y_i - <w, x~_i>`` or its absolute value; if rows have weights, each term is multiplied by that
    of its row, in [0, 1]. One edge is chosen by the exponential mechanism
    (Smith, 2011): with m edges the share below the choice is off by a few times ``log(m)`` in units
    of the noise.

    Parameters
    ----------
    problem : Problem
        Public bounds.
    w : ndarray
        Where the residuals are taken, in the shape of the problem; public.
    edges : ndarray
        Increasing.
    share : float
        q, in (0, 1).
    sizes : bool
        Whether absolute values are meant.

    Raises
    ------
    ValueError
        If the share is outside its range.

    Guarantees
    ----------
    - Replacing a row moves the difference of two scores by at most 2, attained where edges on
      either side of the quantile lie between the two residuals; zeroing it out moves it by at most
      ``2 max(q, 1 - q)``. Proof: theorem E4 of ``docs/proofs/choices.md``.
    """

    name: ClassVar[str] = "residual_quantile"

    problem: Problem
    w: np.ndarray
    edges: np.ndarray
    share: float
    sizes: bool

    def __post_init__(self) -> None:
        if not 0 < self.share < 1:
            raise ValueError(
                f"ResidualQuantileQuery needs a share in (0, 1), got {self.share}; 0.5 asks for "
                "the median."
            )

    @property
    def rounding(self) -> float:
        """Two scores err at a time."""
        return of_sum(self.problem.n_actual, 1.5)

    def sensitivity(self, adjacency: Adjacency) -> float:
        """2 under replace-one, ``2 max(q, 1 - q)`` under zero-out."""
        if adjacency is Adjacency.REPLACE_ONE:
            return 2.0
        return 2.0 * max(self.share, 1.0 - self.share)

    def evaluate(self, rows: RowStore) -> np.ndarray:
        """The exact score of every edge."""
        return -np.abs(rows.bounded(self.problem.bounds).sum(self._of_block))

    def public(self) -> tuple[object, ...]:
        """All that the query says."""
        return (self.w, self.edges, self.share, self.sizes)

    def _of_block(self, block: BoundedBlock) -> np.ndarray:
        check_targets_a_row(type(self).__name__, block)
        # What is no number sorts last: above all edges.
        v = block.y - block.scores(self.w)
        v = np.abs(v) if self.sizes else v
        if block.weights is None:
            below = np.searchsorted(np.sort(v), self.edges, side="left").astype(np.float64)
            return below - self.share * v.size
        order = np.argsort(v)
        weight_of_first = np.concatenate([[0.0], np.cumsum(block.weights[order])])
        below = weight_of_first[np.searchsorted(v[order], self.edges, side="left")]
        return below - self.share * weight_of_first[-1]
