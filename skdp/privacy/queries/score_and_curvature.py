"""Curvature and score of a loss at a point, for one step of Newton's method, and second moments.

Rows have a bounded influence: they are weighed by their coordinates.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import hypot, inf, sqrt
from typing import ClassVar, NamedTuple

import numpy as np

from ...problem.bounds import CountBounds
from ...problem.influence import InfluenceBounds
from ...problem.losses import Hazard, Logistic, Poisson, Softmax
from ...problem.problem import Problem
from ..adjacency import PrivacyUnit
from ..rounding import of_sum
from ..rows.base import BoundedRows, RowStore
from ..rows.bounded_rows import (
    BoundedBlock,
    added_up,
    by_row,
    lengths_of,
    product_over_rows,
    total_of_rows,
)
from ..rows.threads import total
from .base import LEAST_BOUND, Summed, check_targets_a_row, coded
from .moments import packed, unpacked

# Longer rows are scaled down to this, so that they can be computed with.
_FAR = 1e150
# Rows of a larger squared length in their coordinates count as none, as weights for them may be
# too small to be exact: of at least LEAST_BOUND / _MOST_SQUARE all digits are kept.
_MOST_SQUARE = 1e150
_LARGEST = 1e140
_TINY = 1e-300
# Coordinates of rows for several classes that are held at a time.
_MOST_ENTRIES = 1 << 22
# Least part of the lengths of features and of time that the length of both together counts as.
_LEAST_PART = 1.0 / 16.0
# Scores of rows that are weighted down for their score lie at the bound, up to rounding.
_LONGER = 1 + 1e-9


class WeighedBlock(NamedTuple):
    """Rows of a block under bounds on their influence."""

    # Coordinates u of the rows, (m, k).
    coordinates: np.ndarray
    # Weights omega of the rows, in [0, 1], (m,); those that rows have of their own do not enter.
    weight: np.ndarray
    # Second derivatives h at the model that rows are weighed at, and largest sizes s of a residual.
    curvature: np.ndarray
    largest: np.ndarray


class WeighedClasses(NamedTuple):
    """Rows of a part of a block under bounds on their influence, for several classes."""

    # Places of the rows in the block, and their labels.
    part: slice
    label: np.ndarray
    # Scores that the rows would have with each of the labels, (m, K, k).
    scores: np.ndarray
    # Weights omega of the rows, in [0, 1], (m,); those that rows have of their own do not enter.
    weight: np.ndarray
    # Probabilities of classes at the model that rows are weighed at, (m, K).
    share: np.ndarray


class TimedRows(NamedTuple):
    """Rows of a block under bounds on their influence, for times to an event."""

    # Coordinates U of the features, (m, k), and a of the trend over time, (k,): those of period j
    # are U + s_j a.
    coordinates: np.ndarray
    trend: np.ndarray
    # Weights omega of the rows, in [0, 1], (m,); those that rows have of their own do not enter.
    weight: np.ndarray


def unshortened(rows: RowStore, problem: Problem) -> BoundedRows:
    """The rows with bounded targets and on the scale of their bounds, whatever their norms."""
    return rows.bounded(replace(problem.bounds, data_norm=_FAR))


def check_influence(who: str, problem: Problem, influence: InfluenceBounds) -> None:
    """Refuse a problem and bounds for which nothing is proved."""
    bounded = problem.loss.squared and problem.bounds.target is not None
    counted = isinstance(problem.loss, Poisson) and isinstance(problem.bounds.target, CountBounds)
    if not (bounded or counted or isinstance(problem.loss, Logistic | Softmax | Hazard)):
        raise ValueError(
            f"{who} needs the squared loss with bounded targets, the Poisson loss with bounded "
            f"counts, or the logistic, softmax or hazard loss, got {type(problem.loss).__name__}."
        )
    if problem.bounds.row_map is not None or problem.class_weight is not None:
        raise ValueError(
            f"{who} needs rows that are not mapped and classes without weights; give the "
            "coordinates as the matrix of its bounds."
        )
    p, bounds, shape = problem.n_parameters, influence, problem.shape
    if problem.loss.of_times:
        p += 1
        shape = (p,)
    shapes = bounds.w.shape == shape
    shapes = shapes and bounds.matrix.ndim == 2 and len(bounds.matrix) == p
    finite = shapes and np.isfinite(bounds.w).all() and np.isfinite(bounds.matrix).all()
    positive = all(b > 0 for b in (bounds.curvature, bounds.score, bounds.scale))
    if not (finite and positive):
        raise ValueError(
            f"{who} needs a finite model of shape {shape}, a finite matrix of {p} rows, "
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
        assert isinstance(problem.loss, Logistic | Poisson)
        z = block.scores(influence.w)
        # Scores that are no numbers say nothing about the target.
        z[np.isnan(z)] = 0.0
        h, largest = problem.loss.curvature(z), problem.loss.worst_derivative(z)
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


def timed_scores(problem: Problem, block: BoundedBlock, w: np.ndarray) -> tuple[Hazard, np.ndarray]:
    """The loss with the trend of a model, and scores of some rows, 0 where they are no numbers."""
    assert isinstance(problem.loss, Hazard)
    z = block.scores(w[:-1])
    z[np.isnan(z)] = 0.0
    return problem.loss.tilted(float(w[-1])), z


def timed_rows(problem: Problem, influence: InfluenceBounds, block: BoundedBlock) -> TimedRows:
    """Coordinates and weights of some rows with times to an event.

    Each number is a function of the features of the row itself and of public numbers. A row whose
    length in these coordinates is beyond 1e75 has the coordinates zero, and so has the trend.
    """
    V, (*of_rows, a) = block.rows(), influence.matrix
    a = a if a @ a <= _MOST_SQUARE else np.zeros_like(a)
    U = by_row(V, np.array(of_rows)) if block.apart else V @ np.array(of_rows)
    squares = np.einsum("ij,ij->i", U, U)
    lost = ~(squares <= _MOST_SQUARE)
    U[lost], squares[lost] = 0.0, 0.0
    loss, z = timed_scores(problem, block, influence.w)
    s, along, square = loss.trend, by_row(U, a[:, None])[:, 0], float(a @ a)

    def length(of_row: np.ndarray, of_trend: np.ndarray) -> np.ndarray:
        """Squared lengths of ``of_row U + of_trend a``, and no less than a part of the parts'."""
        parts = of_row**2 * squares[:, None] + of_trend**2 * square
        return np.maximum(parts + 2 * of_row * of_trend * along[:, None], _LEAST_PART**2 * parts)

    # Somebody who is there to the end of each period, or has an event in it.
    left = np.column_stack([np.ones(len(U)), loss.survival(z)])
    drops = np.diff(left)
    gone, gone_late = np.cumsum(drops, axis=1), np.cumsum(s * drops, axis=1)
    largest = length(gone, gone_late).max(axis=1)
    event, event_late = gone - drops + left[:, 1:], gone_late - s * drops + s * left[:, 1:]
    largest = np.sqrt(np.maximum(largest, length(event, event_late).max(axis=1)))
    each = length(np.ones((1, len(s))), s[None])
    curvature = np.einsum("ij,ij->i", loss.slopes(z), each)
    of_score = influence.score / np.maximum(largest, _TINY)
    of_curvature = influence.curvature / np.maximum(curvature, _TINY)
    return TimedRows(U, a, np.minimum(1.0, np.minimum(of_score, of_curvature)))


def residuals(
    problem: Problem, influence: InfluenceBounds, block: BoundedBlock, w: np.ndarray
) -> np.ndarray:
    """Residuals of some rows at w in units of the scale, before any clip; not a number is zero."""
    check_targets_a_row("ScoreAndCurvatureQuery", block)
    z = block.scores(w)
    if isinstance(problem.loss, Logistic | Poisson):
        r = block.y - problem.loss.mean(z)
    else:
        r = (block.y - z) / influence.scale
    r[np.isnan(r)] = 0.0
    return r


@dataclass(frozen=True, eq=False)
class ScoreAndCurvatureQuery(Summed):
    r"""Mean curvature ``omega h u u'`` and mean score ``omega r u`` of rows of bounded influence.

    Coordinates u, weights omega, second derivatives h and their bounds are those of
    :class:`~skdp.problem.influence.InfluenceBounds`; ``r`` is the residual, minus the derivative of
    the loss: ``(y - <v, w>) / scale`` clipped to [-C, C] for the squared loss, ``y - p`` for the
    logistic one, and the count less its mean for that of Poisson. For the squared loss the answer
    holds the mean of ``omega r^2`` besides. For the softmax loss they are the mean curvature
    ``omega sum_c p_c g_c g_c'`` and score ``omega g_y``, and for the hazard loss ``omega sum_j e_j
    u_j u_j'`` and ``omega sum_j r_j u_j`` over the periods in which a row was there.

    The symmetric matrix is answered as in :class:`~skdp.privacy.queries.moments.MomentsQuery`,
    then comes the score times ``kappa = sqrt(2 c) alpha / G``, then ``kappa^2 / 2`` times the mean
    square. A row of weight t in [0, 1] adds t times what it would add.

    Guarantees
    ----------
    - Squared loss: replacing a row moves the answer by at most ``sqrt(2) alpha (1 + c) / n``, so
      that the mean square costs nothing; zeroing it out moves it by at most ``alpha (1 + c) / n``.
    - Logistic loss and Poisson's: ``alpha sqrt(max(2 (1 + c)^2, 1 + 8 c)) / n`` and
      ``alpha sqrt(1 + 2 c) / n``.
    - Softmax and hazard loss: ``alpha sqrt(2 + 8 c) / n`` and ``alpha sqrt(1 + 2 c) / n``.
    - Proofs, and rows that attain them: theorems I1, I2, I4 and I5 of
      ``docs/proofs/one_step_inference.md``.
    - The weights are computed from the coordinates that are added up, so that the bounds hold
      whatever the rows, the targets, w and the matrix.
    """

    name: ClassVar[str] = "score_and_curvature"

    #: Of a problem without a map of rows and weights of classes: coordinates, the model, bounds on
    #: what a row adds.
    influence: InfluenceBounds
    #: Weight c of the score beside the curvature, in (0, 1].
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
        # Of features and time the parts may be longer than their sum.
        K = self.problem.loss.n_scores
        if self.problem.loss.of_times:
            K = round(4 / _LEAST_PART**2)
        return of_sum(K * self.problem.n_actual, sqrt(K))

    @property
    def weight(self) -> float:
        """Factor kappa of the score."""
        return sqrt(2 * self.balance) * self.influence.curvature / self.influence.score

    @property
    def extents(self) -> tuple[float, float]:
        alpha, c = self.influence.curvature, self.balance
        sizes = alpha, self.influence.score, self.weight
        if not all(LEAST_BOUND <= size <= _LARGEST for size in sizes):
            return inf, inf
        apart = sqrt(max(2 * (1 + c) ** 2, 1 + 8 * c))
        if self.problem.loss.squared:
            return sqrt(2.0) * (1 + c) * alpha, (1 + c) * alpha
        if self.problem.loss.n_scores > 1 or self.problem.loss.of_times:
            apart = sqrt(2 + 8 * c)
        return apart * alpha, sqrt(1 + 2 * c) * alpha

    def evaluate(self, rows: RowStore) -> np.ndarray:
        return self._finished(unshortened(rows, self.problem).sum(self._of_block))

    def public(self) -> tuple[object, ...]:
        of = self.influence
        return (of.w, of.matrix, of.scale, of.curvature, of.score, self.balance)

    def parts(self, answer: np.ndarray) -> tuple[np.ndarray, np.ndarray, float | None]:
        """Curvature (k, k), score (k,) and, for the squared loss, the mean square of an answer."""
        k = self.influence.matrix.shape[1]
        size = k * (k + 1) // 2
        squares = float(answer[-1]) / (0.5 * self.weight**2) if self.problem.loss.squared else None
        return unpacked(answer[:size], k), answer[size : size + k] / self.weight, squares

    def _of_block(self, block: BoundedBlock) -> np.ndarray:
        if self.problem.loss.n_scores > 1:
            return self._of_classes(block)
        if self.problem.loss.of_times:
            return self._of_times(block)
        rows = weighed_block(self.problem, self.influence, block)
        r = residuals(self.problem, self.influence, block, self.influence.w)
        r = np.clip(r, -rows.largest, rows.largest)
        weight = rows.weight if block.weights is None else rows.weight * block.weights
        U = rows.coordinates
        curvature = product_over_rows(U, U * (weight * rows.curvature)[:, None])
        parts = [packed(curvature), self.weight * product_over_rows(U, weight * r)]
        if self.problem.loss.squared:
            parts.append(np.array([0.5 * self.weight**2 * float(product_over_rows(weight, r**2))]))
        return np.concatenate(parts)

    def _of_classes(self, block: BoundedBlock) -> np.ndarray:
        k = self.influence.matrix.shape[1]
        curvature, score = np.zeros((k, k)), np.zeros(k)
        for rows in weighed_classes(self.problem, self.influence, block):
            weight = rows.weight
            if block.weights is not None:
                weight = weight * block.weights[rows.part]
            own = rows.scores[np.arange(weight.size), rows.label]
            score += product_over_rows(own, weight)
            flat = rows.scores.reshape(-1, k)
            shares = (weight[:, None] * rows.share).reshape(-1, 1)
            curvature += product_over_rows(flat, flat * shares)
        return np.concatenate([packed(curvature), self.weight * score])

    def _of_times(self, block: BoundedBlock) -> np.ndarray:
        rows = timed_rows(self.problem, self.influence, block)
        check_targets_a_row(type(self).__name__, block)
        loss, z = timed_scores(self.problem, block, self.influence.w)
        score, slopes = loss.by_period(block.y, z)
        weight = rows.weight if block.weights is None else rows.weight * block.weights
        U, a = rows.coordinates, rows.trend
        flat, rising, bent = (weight * by_row(slopes, loss.trend**k) for k in range(3))
        mixed = np.outer(product_over_rows(U, rising), a)
        curvature = product_over_rows(U, U * flat[:, None])
        curvature += mixed + mixed.T + bent.sum() * np.outer(a, a)
        late = by_row(score, loss.trend)
        of_rows = product_over_rows(U, weight * score.sum(axis=1))
        of_rows += a * float(product_over_rows(weight, late))
        return np.concatenate([packed(curvature), self.weight * of_rows])


@dataclass(frozen=True, eq=False)
class ScoreMomentsQuery(Summed):
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

    #: Of a problem without a map of rows or weights of classes: coordinates, the model at which
    #: rows are weighed, and bounds on what a row adds.
    influence: InfluenceBounds
    #: Model at which scores are taken; shape (p,).
    w: np.ndarray
    #: Factor of the shares, at least 0.
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
    def extents(self) -> tuple[float, float]:
        """Most that vectors are apart and long, as above; shares take no more for rounding."""
        if not LEAST_BOUND <= self.influence.score <= _LARGEST:
            return inf, inf
        square, share = self.influence.score**2, self.of_shares
        return sqrt(2.0) * hypot(square, share), hypot(square, sqrt(2.0) * share)

    def evaluate(self, rows: RowStore) -> np.ndarray:
        if rows.unit is PrivacyUnit.ROW:
            return self._finished(unshortened(rows, self.problem).sum(self._of_block))
        bounded = unshortened(rows.by_unit(), self.problem)
        return self._finished(bounded.sum_of_units(self._by_piece, self._of_units))

    def public(self) -> tuple[object, ...]:
        of = self.influence
        return (of.w, of.matrix, of.scale, of.curvature, of.score, self.w, self.of_shares)

    def parts(self, answer: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The moments (k, k) and the two shares of an answer with a positive factor of them."""
        return unpacked(answer[:-2], self.influence.matrix.shape[1]), answer[-2:] / self.of_shares

    def _of_block(self, block: BoundedBlock) -> np.ndarray:
        return total(map(self._summed, self._scored(block)))

    def _scored(self, block: BoundedBlock) -> Iterator[np.ndarray]:
        """Scores of the rows, and both marks, in columns, times the weights of the rows."""
        if self.problem.loss.n_scores > 1:
            yield from self._scored_of_classes(block)
            return
        if self.problem.loss.of_times:
            yield self._scored_of_times(block)
            return
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

    def _scored_of_times(self, block: BoundedBlock) -> np.ndarray:
        """Scores for times to an event."""
        rows = timed_rows(self.problem, self.influence, block)
        check_targets_a_row(type(self).__name__, block)
        loss, z = timed_scores(self.problem, block, self.w)
        score, _ = loss.by_period(block.y, z)
        # Whether a score counts as clipped must not depend on the place of its row.
        late = by_row(score, loss.trend)
        q = rows.coordinates * score.sum(axis=1)[:, None] + np.outer(late, rows.trend)
        q *= rows.weight[:, None]
        clipped = _shorten(q, self.influence.score)
        return _marked(q, rows.weight, clipped, block.weights)

    def _summed(self, scored: np.ndarray) -> np.ndarray:
        """Sums of q q' and of both marks."""
        q, marks = scored[:, :-2], scored[:, -2:]
        return np.concatenate(
            [packed(product_over_rows(q, q)), self.of_shares * total_of_rows(marks)]
        )

    def _by_piece(self, block: BoundedBlock) -> Iterator[np.ndarray]:
        """Sums of the columns over the pieces of units."""
        assert block.unit_pieces is not None
        columns = np.concatenate(list(self._scored(block)))
        for rows, ends in block.unit_pieces.runs(columns.shape[1]):
            yield added_up(columns[rows], np.ones(len(columns[rows])), ends)

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


def _shorten(q: np.ndarray, bound: float) -> np.ndarray:
    """Scale scores down to the bound, in place, and tell which were longer."""
    norms = np.sqrt(np.einsum("ij,ij->i", q, q))
    q *= np.minimum(1.0, bound / np.maximum(norms, bound))[:, None]
    return norms > _LONGER * bound
