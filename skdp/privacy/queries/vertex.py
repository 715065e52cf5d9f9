"""Along which coordinate to move: the best vertex of an l1 ball or a simplex."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, sqrt
from typing import ClassVar

import numpy as np

from ...problem.losses import Loss
from ...problem.problem import Problem
from ..adjacency import Adjacency
from ..rounding import of_sum
from ..rows.base import RowStore
from ..rows.bounded_rows import BoundedBlock
from .base import GumbelQuery, range_of_scores
from .gradient import GradientQuery, weighted

_EPS = float(np.finfo(np.float64).eps)


@dataclass(frozen=True, eq=False)
class VertexQuery(GumbelQuery):
    r"""The signed coordinate along which the clipped loss falls fastest at w.

    Coordinates are the d K entries of the weights, intercepts left out, in row order. With

    .. math:: g_{jk} = \frac1n \sum_i v_i \frac{c_i}{\max c}\, [x_{ij}]_{-b}^{b}\,
              [l'_i]_{\infty \le c, k}

    going up along a coordinate has the score ``-g_jk`` and going down, if ``two_sided``, the score
    ``g_jk``; up comes first, then down, in the order of the vertices of ``Simplex`` and ``L1Ball``.
    The radius of the set scales scores and noise alike, so it is no part of the query. Rows are
    first scaled down to the bound R on their norm. A derivative is shrunk until its largest entry
    is at most c. What is published is the index alone.

    Parameters
    ----------
    problem : Problem
        Loss, weights of the classes and public bounds.
    w : ndarray
        Where, in the shape of the problem; public.
    clip : float
        The bound c.
    entry : float
        The bound b; the feature bound of the problem, if it has one, applies as well.
    two_sided : bool
        Whether one may go down, too.
    known : ndarray, optional
        Public numbers that are added to the scores, such as what a penalty says. One more than
        there are ways to go is the score of going nowhere, which then is the last candidate.
    shrunk : float, default=1.0
        Factor between the weights that were asked about last and w, for entries that did not move
        else. It saves time where rows are sparse and changes the answer by rounding only.

    Guarantees
    ----------
    - The difference of two scores moves by at most ``4 c e / n`` under replace-one and
      ``2 c e / n`` under zero-out, with ``e = min(b, R)``, or ``e = min(b, R / sqrt(2))`` if there
      is one score a row and one way to go: up and down along one coordinate, or rows ``(e, -e)``
      that give way to their opposites, attain it. Proof: theorem E3 of ``docs/proofs/choices.md``.
    - The bound holds whatever the rows, the targets and w; derivatives that are not numbers count
      as zero.
    """

    name: ClassVar[str] = "vertex"

    problem: Problem
    w: np.ndarray
    clip: float
    entry: float
    two_sided: bool
    known: np.ndarray | None = None
    shrunk: float = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "w", GradientQuery(self.problem, self.w).w)
        own = self.problem.bounds.feature_bound
        object.__setattr__(self, "entry", min(self.entry, inf if own is None else own))
        if self.known is not None:
            ways = self.problem.n_features * self.problem.loss.n_scores * (1 + self.two_sided)
            known = np.array(self.known, dtype=np.float64)
            if known.shape not in ((ways,), (ways + 1,)):
                raise ValueError(
                    f"VertexQuery needs {ways} known numbers, or one more to go nowhere, got an "
                    f"array of shape {known.shape}."
                )
            object.__setattr__(self, "known", known)

    @property
    def rounding(self) -> float:
        """Two scores err at a time, by entries that are clipped one by one."""
        return of_sum(self.problem.n_actual, 1.5)

    def sensitivity(self, adjacency: Adjacency) -> float:
        """``4 c e / n`` under replace-one; infinite where double precision is left.

        Adding what is known rounds the four scores that two data sets and two candidates have, each
        by half a unit in the last place, for which there is room.
        """
        norm, n = self.problem.bounds.features_norm, self.problem.n_samples
        alone = self.problem.loss.n_scores == 1 and not self.two_sided
        product = self.clip * min(self.entry, norm / sqrt(2.0) if alone else norm)
        known = 0.0 if self.known is None else float(np.abs(self.known).max())
        return range_of_scores(product, norm, n, adjacency) + 4 * _EPS * known

    def evaluate(self, rows: RowStore) -> np.ndarray:
        """The exact scores: up, down, nowhere."""
        bounded = rows.bounded(self.problem.bounds)
        g = bounded.sum(self._of_block).ravel() / self.problem.n_samples
        scores = np.concatenate([-g, g]) if self.two_sided else -g
        if self.known is None:
            return scores
        nowhere = np.zeros(self.known.size - scores.size)
        return np.concatenate([scores, nowhere]) + self.known

    def public(self) -> tuple[object, ...]:
        """All that the query says."""
        known = np.empty(0) if self.known is None else self.known
        return (self.w, self.clip, self.entry, self.two_sided, known, self.shrunk)

    def _of_block(self, block: BoundedBlock) -> np.ndarray:
        problem, clip, z = self.problem, self.clip, block.scores_along(self.w, self.shrunk)
        r = Loss.clipped_derivative(problem.loss, block.y, z, inf)
        if r.ndim == 2:
            largest = np.abs(r).max(axis=1, keepdims=True)
            r *= np.divide(clip, largest, out=np.ones_like(largest), where=largest > clip)
        np.clip(r, -clip, clip, out=r)
        return block.combine_within(weighted(problem, block, r, relatively=True), self.entry)
