"""Second moments of the scores of single rows, and shares of rows whose influence was bounded."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import hypot, inf, sqrt
from typing import ClassVar

import numpy as np

from ...problem.influence import InfluenceBounds
from ...problem.problem import Problem
from ..adjacency import Adjacency, PrivacyUnit
from ..rounding import of_sum
from ..rows.base import RowStore, total
from ..rows.bounded_rows import BoundedBlock, added_up
from .base import GaussianQuery
from .moments import packed, unpacked
from .score_and_curvature import (
    check_influence,
    class_shares,
    residuals,
    unshortened,
    weighed_block,
    weighed_classes,
)

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

    Where privacy units have several rows it is the mean over units of ``s s'``, with s the mean of
    the scores of a unit's rows, the middle part of a cluster-robust sandwich: the score of the
    model is the mean of the P independent s, however alike the rows of a unit are.

    Parameters
    ----------
    problem : Problem
        Loss and public bounds, without a map of rows or weights of classes.
    influence : InfluenceBounds
        Coordinates, the model at which rows are weighed, and bounds on what a row adds.
    w : ndarray of shape (p,) or (p, K)
        Model at which scores are taken.
    of_shares : float
        Factor of the shares, at least 0.

    Raises
    ------
    ValueError
        If nothing is proved for such a loss or such bounds, or w is not of its shape.

    Guarantees
    ----------
    - Replacing a row moves the answer by at most ``sqrt(2) hypot(G^2, of_shares) / n``, attained by
      orthogonal scores, and zeroing it out by at most ``hypot(G^2, sqrt(2) of_shares) / n``. Proof:
      theorem I3 of ``docs/proofs/one_step_inference.md``.
    - The norm of q is taken of the numbers that are added up, so that the bound holds whatever the
      rows, the targets, w and the matrix.
    - All rows of a unit together move it by as much, with the number of units for n: theorem U2 of
      ``docs/proofs/people.md``.
    """

    name: ClassVar[str] = "score_moments"

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
        scored = self._scored if self.problem.loss.n_scores == 1 else self._scored_of_classes
        if rows.unit is PrivacyUnit.ROW:
            summed = unshortened(rows, self.problem).sum(
                lambda block: total(map(self._summed, scored(block)))
            )
        else:
            bounded = unshortened(rows.by_unit(), self.problem)
            summed = bounded.sum_of_units(
                lambda block: _by_piece(block, scored(block)), self._of_units
            )
        return summed / self.problem.n_samples

    def public(self) -> tuple[object, ...]:
        """Models, coordinates, scale, bounds and the factor."""
        of = self.influence
        return (of.w, of.matrix, of.scale, of.curvature, of.score, self.w, self.of_shares)

    def parts(self, answer: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The moments (k, k) and the two shares of an answer with a positive factor of them."""
        return unpacked(answer[:-2], self.influence.matrix.shape[1]), answer[-2:] / self.of_shares

    def _scored(self, block: BoundedBlock) -> Iterator[np.ndarray]:
        """Scores of the rows, and both marks, in columns, times the weights of the rows."""
        rows, bound = weighed_block(self.problem, self.influence, block), self.influence.score
        r = residuals(self.problem, self.influence, block, self.w)
        beyond = np.abs(r) > _LONGER * rows.largest
        if self.problem.loss.squared:
            r = np.clip(r, -rows.largest, rows.largest)
        q = rows.coordinates * (rows.weight * r)[:, None]
        longer = _shorten(q, bound)
        clipped = beyond if self.problem.loss.squared else longer
        yield _marked(q, rows.weight, clipped, block.weights)

    def _scored_of_classes(self, block: BoundedBlock) -> Iterator[np.ndarray]:
        """Scores for several classes, of the rows of one part of the block after another."""
        shares = class_shares(block, self.w)
        for rows in weighed_classes(self.problem, self.influence, block):
            q = rows.scores[np.arange(rows.label.size), rows.label]
            q = q - np.einsum("ic,icj->ij", shares[rows.part], rows.scores)
            q *= rows.weight[:, None]
            clipped = _shorten(q, self.influence.score)
            own = None if block.weights is None else block.weights[rows.part]
            yield _marked(q, rows.weight, clipped, own)

    def _summed(self, scored: np.ndarray) -> np.ndarray:
        """Sums of q q' and of both marks."""
        q, marks = scored[:, :-2], scored[:, -2:]
        return np.concatenate([packed(q.T @ q), self.of_shares * marks.sum(axis=0)])

    def _of_units(self, sums: np.ndarray) -> np.ndarray:
        """Sums of q q' and of both marks, of sums over the rows of whole units."""
        # Their weights sum to at most 1 and their scores are at most G long, up to rounding.
        _shorten(sums[:, :-2], self.influence.score)
        np.minimum(sums[:, -2:], 1.0, out=sums[:, -2:])
        return self._summed(sums)


def _marked(
    q: np.ndarray, weight: np.ndarray, clipped: np.ndarray, own: np.ndarray | None
) -> np.ndarray:
    scored = np.column_stack([q, _LONGER * weight < 1.0, clipped])
    return scored if own is None else scored * own[:, None]


def _by_piece(block: BoundedBlock, scored: Iterator[np.ndarray]) -> Iterator[np.ndarray]:
    """Sums of the columns over the pieces of units."""
    assert block.unit_pieces is not None
    columns = np.concatenate(list(scored))
    for rows, ends in block.unit_pieces.runs(columns.shape[1]):
        yield added_up(columns[rows], np.ones(len(columns[rows])), ends)


def _shorten(q: np.ndarray, bound: float) -> np.ndarray:
    """Scale scores down to the bound, in place, and tell which were longer."""
    norms = np.sqrt(np.einsum("ij,ij->i", q, q))
    q *= np.minimum(1.0, bound / np.maximum(norms, bound))[:, None]
    return norms > _LONGER * bound
