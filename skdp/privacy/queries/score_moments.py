"""Second moments of the scores of single rows, and shares of rows whose influence was bounded."""

from __future__ import annotations

from dataclasses import dataclass
from math import hypot, inf, sqrt
from typing import ClassVar

import numpy as np

from ...problem.influence import InfluenceBounds
from ...problem.problem import Problem
from ..adjacency import Adjacency
from ..rounding import of_sum
from ..rows.base import RowStore
from ..rows.bounded_rows import BoundedBlock
from .base import GaussianQuery
from .moments import packed, unpacked
from .score_and_curvature import check_influence, residuals, unshortened, weighed_block

__all__ = ["ScoreMomentsQuery"]

_LEAST, _LARGEST = 1e-140, 1e140
# Scores of rows that are weighted down for their score lie at the bound, up to rounding.
_LONGER = 1 + 1e-9


@dataclass(frozen=True, eq=False)
class ScoreMomentsQuery(GaussianQuery):
    r"""Mean ``q q'`` of scores ``q = omega r u`` at w, shares of rows weighted down and clipped.

    Coordinates u and weights omega are those of
    :class:`~skdp.problem.influence.InfluenceBounds`, at its own model; residuals r are at w,
    clipped as there, and q is then scaled down to the bound G on scores. It is the middle part of a
    sandwich estimate of the covariance of the model whose score is zero. After the matrix, answered
    as in :class:`~skdp.privacy.queries.moments.MomentsQuery`, come ``of_shares`` times two shares
    of the rows: of those with a weight omega below 1, and of those whose residual or score was
    clipped. A row of weight t in [0, 1] has the score ``t q`` and counts t.

    Parameters
    ----------
    problem : Problem
        Loss and public bounds, without a map of rows or weights of classes.
    influence : InfluenceBounds
        Coordinates, the model at which rows are weighed, and bounds on what a row adds.
    w : ndarray of shape (p,)
        Model at which scores are taken.
    of_shares : float
        Factor of the shares, at least 0.

    Raises
    ------
    ValueError
        If nothing is proved for such a loss or such bounds, or w is not of its shape.

    Guarantees
    ----------
    - Replacing a row moves the answer by at most ``sqrt(2) hypot(G^2, of_shares) / n``: the
      moments by ``|q q' - s s'|_F^2 = |q|^4 + |s|^4 - 2 <q, s>^2 <= 2 G^4``, attained by orthogonal
      scores, and each of the two shares by 1. Zeroing it out moves the moments by G^2 and both
      shares by 1, at most ``hypot(G^2, sqrt(2) of_shares) / n``.
    - The norm of q is taken of the numbers that are added up, so that the bound holds whatever the
      rows, the targets, w and the matrix.
    """

    name: ClassVar[str] = "score_moments"
    # Scores of the rows of a unit would have to be added up before they are squared.
    takes_units: ClassVar[bool] = False

    problem: Problem
    influence: InfluenceBounds
    w: np.ndarray
    of_shares: float

    def __post_init__(self) -> None:
        check_influence(type(self).__name__, self.problem, self.influence)
        shape = self.influence.w.shape
        if not (self.w.shape == shape and np.isfinite(self.w).all() and self.of_shares >= 0):
            raise ValueError(
                f"ScoreMomentsQuery needs a finite model of shape {shape} and a factor of at least "
                f"0, got one of shape {self.w.shape} and {self.of_shares}."
            )

    @property
    def rounding(self) -> float:
        """Margin for rounding of a sum of products of scores; the shares take no more."""
        return of_sum(self.problem.n_actual)

    def sensitivity(self, adjacency: Adjacency) -> float:
        """Most that the answer moves, as above; infinite where double precision ends."""
        if not _LEAST <= self.influence.score <= _LARGEST:
            return inf
        square = self.influence.score**2
        if adjacency is Adjacency.REPLACE_ONE:
            moved = sqrt(2.0) * hypot(square, self.of_shares)
        else:
            moved = hypot(square, sqrt(2.0) * self.of_shares)
        return moved / self.problem.n_samples

    def evaluate(self, rows: RowStore) -> np.ndarray:
        """The exact means as a vector."""
        return unshortened(rows, self.problem).sum(self._of_block) / self.problem.n_samples

    def public(self) -> tuple[object, ...]:
        """Models, coordinates, scale, bounds and the factor."""
        of = self.influence
        return (of.w, of.matrix, of.scale, of.curvature, of.score, self.w, self.of_shares)

    def parts(self, answer: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The moments (k, k) and the two shares of an answer with a positive factor of them."""
        return unpacked(answer[:-2], self.influence.matrix.shape[1]), answer[-2:] / self.of_shares

    def _of_block(self, block: BoundedBlock) -> np.ndarray:
        rows, bound = weighed_block(self.problem, self.influence, block), self.influence.score
        r = residuals(self.problem, self.influence, block, self.w)
        clipped = np.zeros(len(r), dtype=bool)
        if self.problem.loss.squared:
            clipped = np.abs(r) > _LONGER * rows.largest
            r = np.clip(r, -rows.largest, rows.largest)
        q = rows.coordinates * (rows.weight * r)[:, None]
        norms = np.sqrt(np.einsum("ij,ij->i", q, q))
        q *= np.minimum(1.0, bound / np.maximum(norms, bound))[:, None]
        if not self.problem.loss.squared:
            clipped = norms > _LONGER * bound
        counts = np.stack([_LONGER * rows.weight < 1.0, clipped], axis=1).astype(np.float64)
        if block.weights is not None:
            q *= block.weights[:, None]
            counts *= block.weights[:, None]
        return np.concatenate([packed(q.T @ q), self.of_shares * counts.sum(axis=0)])
