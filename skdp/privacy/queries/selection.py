"""Private selection of features by their correlation with the residuals."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, sqrt
from typing import ClassVar

import numpy as np

from ...problem.problem import Problem
from ..adjacency import Adjacency
from ..rounding import of_sum
from ..rows.base import RowStore
from ..rows.bounded_rows import BoundedBlock
from .base import GumbelQuery, check_targets_a_row, range_of_scores


@dataclass(frozen=True, eq=False)
class SelectionQuery(GumbelQuery):
    r"""The features with the largest clipped correlation with the residuals at w.

    Feature j has the score

    .. math:: \frac{1}{n} \Bigl|\sum_i [x_{ij}]_{-b}^{b}\, [y_i - \langle w, \tilde x_i \rangle]
              _{-c}^{c} \Bigr|

    or, if ``signed``, the same without the absolute value, with each term times the weight of its
    row, in [0, 1], if rows are weighted. Rows are first scaled down to the
    bound on their norm. A small c leaves hardly more than the sign of the residuals: noise falls
    with it and the correlation of the signs stays.

    Parameters
    ----------
    problem : Problem
        Public bounds: R on the norm of rows, the feature bound b (else infinite), targets.
    w : ndarray
        Where the residuals are taken, in the shape of the problem; public.
    clip : float
        Bound c on a residual, in the units of bounded targets.
    candidates : ndarray of int
        Features to choose from; public.
    k : int
        How many to choose; all if there are fewer.
    signed : bool, default=False
        Whether only positive correlations count.

    Guarantees
    ----------
    - With ``e = min(b, R / sqrt(2))`` the difference of two scores moves by at most ``4 c e / n``
      under replace-one and ``2 c e / n`` under zero-out. Both are attained. Proof: theorem E2 of
      ``docs/proofs/choices.md``.
    - The bound holds whatever the rows, the targets and w; residuals that are not numbers count
      as zero.
    """

    name: ClassVar[str] = "selection"

    problem: Problem
    w: np.ndarray
    clip: float
    candidates: np.ndarray
    k: int
    signed: bool = False

    @property
    def choices(self) -> int:
        """Number of choices: as many as there are candidates, at most k."""
        return min(self.k, self.candidates.size)

    @property
    def entry(self) -> float:
        """The bound e on entries."""
        own, norm = self.problem.bounds.feature_bound, self.problem.bounds.features_norm
        return min(inf if own is None else own, norm / sqrt(2.0))

    @property
    def rounding(self) -> float:
        """Two scores err at a time, by entries that are clipped one by one."""
        return of_sum(self.problem.n_actual, 1.5)

    def sensitivity(self, adjacency: Adjacency) -> float:
        """``4 c e / n`` under replace-one; infinite where double precision is left."""
        norm, n = self.problem.bounds.features_norm, self.problem.n_samples
        return range_of_scores(self.clip * self.entry, norm, n, adjacency)

    def evaluate(self, rows: RowStore) -> np.ndarray:
        """The exact scores of the candidates."""
        sums = rows.bounded(self.problem.bounds).sum(self._of_block)[self.candidates]
        sums /= self.problem.n_samples
        return sums if self.signed else np.abs(sums)

    def public(self) -> tuple[object, ...]:
        """All that the query says."""
        return (self.w, self.clip, self.entry, self.candidates, self.k, self.signed)

    def _of_block(self, block: BoundedBlock) -> np.ndarray:
        check_targets_a_row(type(self).__name__, block)
        r = np.clip(block.y - block.scores(self.w), -self.clip, self.clip)
        r[np.isnan(r)] = 0.0
        if block.weights is not None:
            r *= block.weights
        feature_bound = self.problem.bounds.feature_bound
        return block.combine_within(r, inf if feature_bound is None else feature_bound)
