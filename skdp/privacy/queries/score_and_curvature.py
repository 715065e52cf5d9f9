"""Curvature and score of a loss at a point, for one step of Newton's method, in one answer."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import inf, sqrt
from typing import ClassVar, NamedTuple

import numpy as np
from scipy.special import expit

from ...problem.influence import InfluenceBounds
from ...problem.losses import Logistic, Softmax
from ...problem.problem import Problem
from ..adjacency import Adjacency
from ..rounding import of_sum
from ..rows.base import BoundedRows, RowStore
from ..rows.bounded_rows import BoundedBlock, by_row, lengths_of
from .base import GaussianQuery, check_targets_a_row
from .moments import packed, unpacked
from .outcome_counts import coded

# Longer rows are scaled down to this, so that they can be computed with.
_FAR = 1e150
# Rows of a larger squared length in their coordinates count as none, as weights for them may be
# too small to be exact: of at least _LEAST / _MOST_SQUARE all digits are kept.
_MOST_SQUARE = 1e150
_LEAST, _LARGEST = 1e-140, 1e140
_TINY = 1e-300
# Coordinates of rows for several classes that are held at a time.
_MOST_ENTRIES = 1 << 22


class WeighedBlock(NamedTuple):
    """Rows of a block under bounds on their influence.

    Parameters
    ----------
    coordinates : ndarray of shape (m, k)
        Coordinates u of the rows.
    weight : ndarray of shape (m,)
        Weights omega of the rows, in [0, 1]; those that rows have of their own do not enter.
    curvature : ndarray of shape (m,)
        Second derivatives h at the model that rows are weighed at.
    largest : ndarray of shape (m,)
        Largest size s of a residual there.
    """

    coordinates: np.ndarray
    weight: np.ndarray
    curvature: np.ndarray
    largest: np.ndarray


class WeighedClasses(NamedTuple):
    """Rows of a part of a block under bounds on their influence, for several classes.

    Parameters
    ----------
    part : slice
        Places of the rows in the block.
    label : ndarray of shape (m,)
        Labels.
    scores : ndarray of shape (m, K, k)
        Scores that the rows would have with each of the labels.
    weight : ndarray of shape (m,)
        Weights omega of the rows, in [0, 1]; those that rows have of their own do not enter.
    share : ndarray of shape (m, K)
        Probabilities of classes at the model that rows are weighed at.
    """

    part: slice
    label: np.ndarray
    scores: np.ndarray
    weight: np.ndarray
    share: np.ndarray


def unshortened(rows: RowStore, problem: Problem) -> BoundedRows:
    """The rows with bounded targets and on the scale of their bounds, whatever their norms."""
    return rows.bounded(replace(problem.bounds, data_norm=_FAR))


def check_influence(who: str, problem: Problem, influence: InfluenceBounds) -> None:
    """Refuse a problem and bounds for which nothing is proved."""
    bounded = problem.loss.squared and problem.bounds.target is not None
    if not (bounded or isinstance(problem.loss, Logistic | Softmax)):
        raise ValueError(
            f"{who} needs the squared loss with bounded targets, or the logistic or softmax loss, "
            f"got {type(problem.loss).__name__}."
        )
    if problem.bounds.row_map is not None or problem.class_weight is not None:
        raise ValueError(
            f"{who} needs rows that are not mapped and classes without weights; give the "
            "coordinates as the matrix of its bounds."
        )
    p, bounds = problem.n_parameters, influence
    shapes = bounds.w.shape == problem.shape
    shapes = shapes and bounds.matrix.ndim == 2 and len(bounds.matrix) == p
    finite = shapes and np.isfinite(bounds.w).all() and np.isfinite(bounds.matrix).all()
    positive = all(b > 0 for b in (bounds.curvature, bounds.score, bounds.scale))
    if not (finite and positive):
        raise ValueError(
            f"{who} needs a finite model of shape {problem.shape}, a finite matrix of {p} rows, "
            "and positive bounds."
        )


def weighed_block(
    problem: Problem, influence: InfluenceBounds, block: BoundedBlock
) -> WeighedBlock:
    """Coordinates and weights of some rows.

    Each number is a function of the row itself and of public numbers. A row whose length in these
    coordinates is beyond 1e75 has the coordinates zero. Rows are those of :func:`unshortened`.
    """
    V = block.rows()
    U = by_row(V, influence.matrix) if block.apart else V @ influence.matrix
    squares = np.einsum("ij,ij->i", U, U)
    lost = ~(squares <= _MOST_SQUARE)
    U[lost], squares[lost] = 0.0, 0.0
    if problem.loss.squared:
        h = np.ones(len(U))
        largest = np.full(len(U), influence.score / sqrt(influence.curvature))
    else:
        share = expit(block.scores(influence.w))
        # Scores that are no numbers say nothing about the class.
        share[np.isnan(share)] = 0.5
        h, largest = share * (1 - share), np.maximum(share, 1 - share)
    of_score = influence.score / np.maximum(largest * np.sqrt(squares), _TINY)
    of_curvature = influence.curvature / np.maximum(h * squares, _TINY)
    return WeighedBlock(U, np.minimum(1.0, np.minimum(of_score, of_curvature)), h, largest)


def class_shares(block: BoundedBlock, w: np.ndarray) -> np.ndarray:
    """Probabilities of classes of some rows at w, (m, K); equal where scores are no numbers."""
    z = block.scores(w)
    with np.errstate(over="ignore", invalid="ignore"):
        share = np.exp(z - z.max(axis=1, keepdims=True))
        share /= share.sum(axis=1, keepdims=True)
    share[np.isnan(share).any(axis=1)] = 1 / share.shape[1]
    return share


def weighed_classes(
    problem: Problem, influence: InfluenceBounds, block: BoundedBlock
) -> Iterator[WeighedClasses]:
    """Scores for each label and weights of some rows, a part of the block at a time.

    Each number is a function of the row itself and of public numbers. A row whose coordinates are
    together longer than 1e75 has the coordinates zero.
    """
    rows, shares = block.rows(), class_shares(block, influence.w)
    k, labels = influence.matrix.shape[1], coded(block.y, shares.shape[1])
    matrix = influence.matrix.reshape(problem.n_rows, -1)
    step = max(1, _MOST_ENTRIES // matrix.shape[1])
    for part in (slice(i, i + step) for i in range(0, len(rows), step)):
        share = shares[part]
        products_of = by_row if block.apart else np.matmul
        U = products_of(rows[part], matrix).reshape(*share.shape, k)
        # The last part may have a single row, as how many others have decides.
        U[~(lengths_of(U.reshape(len(U), -1)) <= sqrt(_MOST_SQUARE))] = 0.0
        U -= np.einsum("ic,icj->ij", share, U)[:, None]
        largest = np.sqrt(np.einsum("icj,icj->ic", U, U).max(axis=1))
        roots = np.sqrt(share)[:, :, None] * U
        products = roots @ roots.transpose(0, 2, 1)
        curvature = np.sqrt(np.einsum("icd,icd->i", products, products))
        of_score = influence.score / np.maximum(largest, _TINY)
        of_curvature = influence.curvature / np.maximum(curvature, _TINY)
        weight = np.minimum(1.0, np.minimum(of_score, of_curvature))
        yield WeighedClasses(part, labels[part], U, weight, share)


def residuals(
    problem: Problem, influence: InfluenceBounds, block: BoundedBlock, w: np.ndarray
) -> np.ndarray:
    """Residuals of some rows at w in units of the scale, before any clip; not a number is zero."""
    check_targets_a_row("ScoreAndCurvatureQuery", block)
    z = block.scores(w)
    r = (block.y - z) / influence.scale if problem.loss.squared else block.y - expit(z)
    r[np.isnan(r)] = 0.0
    return r


@dataclass(frozen=True, eq=False)
class ScoreAndCurvatureQuery(GaussianQuery):
    r"""Mean curvature ``omega h u u'`` and mean score ``omega r u`` of rows of bounded influence.

    Coordinates u, weights omega, second derivatives h and their bounds are those of
    :class:`~skdp.problem.influence.InfluenceBounds`; ``r`` is the residual, minus the derivative of
    the loss: ``(y - <v, w>) / scale`` clipped to [-C, C] for the squared loss, ``y - p`` for the
    logistic one. For the squared loss the answer holds the mean of ``omega r^2`` besides. For the
    softmax loss they are the mean curvature ``omega sum_c p_c g_c g_c'`` and score ``omega g_y``.

    The symmetric matrix is answered as in :class:`~skdp.privacy.queries.moments.MomentsQuery`,
    then comes the score times ``kappa = sqrt(2 c) alpha / G``, then ``kappa^2 / 2`` times the mean
    square. A row of weight t in [0, 1] adds t times what it would add.

    Parameters
    ----------
    problem : Problem
        Loss and public bounds, without a map of rows or weights of classes.
    influence : InfluenceBounds
        Coordinates, the model, and bounds on what a row adds.
    balance : float
        Weight c of the score beside the curvature, in (0, 1].

    Raises
    ------
    ValueError
        If nothing is proved for such a loss, such bounds or such a balance.

    Guarantees
    ----------
    - Squared loss: replacing a row moves the answer by at most ``sqrt(2) alpha (1 + c) / n``, so
      that the mean square costs nothing; zeroing it out moves it by at most ``alpha (1 + c) / n``.
    - Logistic loss: ``alpha sqrt(max(2 (1 + c)^2, 1 + 8 c)) / n`` and ``alpha sqrt(1 + 2 c) / n``.
    - Softmax loss: ``alpha sqrt(2 + 8 c) / n`` and ``alpha sqrt(1 + 2 c) / n``.
    - Proofs, and rows that attain all of them: theorems I1, I2 and I4 of
      ``docs/proofs/one_step_inference.md``.
    - The weights are computed from the coordinates that are added up, so that the bounds hold
      whatever the rows, the targets, w and the matrix.
    """

    name: ClassVar[str] = "score_and_curvature"

    problem: Problem
    influence: InfluenceBounds
    balance: float

    def __post_init__(self) -> None:
        check_influence(type(self).__name__, self.problem, self.influence)
        if not 0 < self.balance <= 1:
            raise ValueError(
                f"ScoreAndCurvatureQuery needs a balance in (0, 1], got {self.balance}."
            )

    @property
    def rounding(self) -> float:
        """Margin for rounding of a sum of products of coordinates and residuals."""
        # For K classes a row adds K products, which are together at most sqrt(K) times as long.
        K = self.problem.loss.n_scores
        return of_sum(K * self.problem.n_actual, sqrt(K))

    @property
    def weight(self) -> float:
        """Factor kappa of the score."""
        return sqrt(2 * self.balance) * self.influence.curvature / self.influence.score

    def sensitivity(self, adjacency: Adjacency) -> float:
        """Most that the answer moves, as above; infinite where double precision ends."""
        alpha, c = self.influence.curvature, self.balance
        sizes = alpha, self.influence.score, self.weight
        if not all(_LEAST <= size <= _LARGEST for size in sizes):
            return inf
        replaced = adjacency is Adjacency.REPLACE_ONE
        if self.problem.loss.squared:
            factor = (sqrt(2.0) if replaced else 1.0) * (1 + c)
        elif self.problem.loss.n_scores > 1:
            factor = sqrt(2 + 8 * c if replaced else 1 + 2 * c)
        else:
            factor = sqrt(max(2 * (1 + c) ** 2, 1 + 8 * c) if replaced else 1 + 2 * c)
        return factor * alpha / self.problem.n_samples

    def evaluate(self, rows: RowStore) -> np.ndarray:
        """The exact means as a vector."""
        of_block = self._of_block if self.problem.loss.n_scores == 1 else self._of_classes
        return unshortened(rows, self.problem).sum(of_block) / self.problem.n_samples

    def public(self) -> tuple[object, ...]:
        """Model, coordinates, scale, bounds and balance."""
        of = self.influence
        return (of.w, of.matrix, of.scale, of.curvature, of.score, self.balance)

    def parts(self, answer: np.ndarray) -> tuple[np.ndarray, np.ndarray, float | None]:
        """Curvature (k, k), score (k,) and, for the squared loss, the mean square of an answer."""
        k = self.influence.matrix.shape[1]
        size = k * (k + 1) // 2
        squares = float(answer[-1]) / (0.5 * self.weight**2) if self.problem.loss.squared else None
        return unpacked(answer[:size], k), answer[size : size + k] / self.weight, squares

    def _of_block(self, block: BoundedBlock) -> np.ndarray:
        rows = weighed_block(self.problem, self.influence, block)
        r = residuals(self.problem, self.influence, block, self.influence.w)
        r = np.clip(r, -rows.largest, rows.largest)
        weight = rows.weight if block.weights is None else rows.weight * block.weights
        U = rows.coordinates
        curvature = U.T @ (U * (weight * rows.curvature)[:, None])
        parts = [packed(curvature), self.weight * (U.T @ (weight * r))]
        if self.problem.loss.squared:
            parts.append(np.array([0.5 * self.weight**2 * float(weight @ r**2)]))
        return np.concatenate(parts)

    def _of_classes(self, block: BoundedBlock) -> np.ndarray:
        k = self.influence.matrix.shape[1]
        curvature, score = np.zeros((k, k)), np.zeros(k)
        for rows in weighed_classes(self.problem, self.influence, block):
            weight = rows.weight
            if block.weights is not None:
                weight = weight * block.weights[rows.part]
            score += weight @ rows.scores[np.arange(weight.size), rows.label]
            flat = rows.scores.reshape(-1, k)
            curvature += flat.T @ (flat * (weight[:, None] * rows.share).reshape(-1, 1))
        return np.concatenate([packed(curvature), self.weight * score])
