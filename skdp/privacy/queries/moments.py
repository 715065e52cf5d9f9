"""Moments of the bounded rows: their mean, maybe by class, and second moments, with targets."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, sqrt
from typing import ClassVar

import numpy as np

from ...problem.problem import Problem
from ..rounding import of_sum, spread
from ..rows.bounded_rows import BoundedBlock
from ..rows.score_cache import times_rows
from .base import LARGEST_SUM, LEAST_BOUND, Summed, check_targets_a_row, coded, kept

_LARGEST_NORM = 1e150


@dataclass(frozen=True, eq=False)
class RowMeansQuery(Summed):
    r"""``1/n sum_i v_i e_{y_i}^T``: the sum of the bounded rows of each class, divided by n.

    ``v_i`` is the row with its intercept entry, so with an intercept the last row of the answer
    holds the shares of the classes; its shape is (p, K). With one class it is the mean of all rows,
    of shape (p,), which takes no notice of targets. Targets outside of 0, ..., K - 1 count towards
    the nearest class, those that are not numbers towards the first. Where the bounds call for
    non-negative rows, negative features count as zero, whatever the data. A row of weight s in
    [0, 1] adds s times that, as a shorter row would.

    Guarantees
    ----------
    - With R the bound on a row's norm, replacing a row moves the answer by at most ``2 R / n``,
      attained by opposite rows, and by ``sqrt(2) R / n``, attained by orthogonal ones, if entries
      are never negative: if the bounds make negative features zero and their map, if any, keeps
      signs (scales >= 0, no matrix, no shift). Zeroing a row out moves it by at most ``R / n``.
      Proof: theorem M3 of ``docs/proofs/moments.md``.
    """

    name: ClassVar[str] = "row_means"

    n_classes: int = 1

    @property
    def one_sided(self) -> bool:
        """True if no entry of a row can be negative."""
        bounds, row_map = self.problem.bounds, self.problem.bounds.row_map
        keeps_signs = row_map is None or (
            row_map.matrix is None
            and bool(np.all(row_map.scale >= 0) and np.all(row_map.shift == 0))
        )
        return bounds.nonnegative and bounds.intercept_value >= 0 and keeps_signs

    @property
    def rounding(self) -> float:
        """Margin for rounding of a sum of rows, which are mapped after they are added up."""
        bounds = self.problem.bounds
        longer = spread(bounds, 1.0, bounds.row_norm)
        return of_sum(self.problem.n_actual, longer, bounds.mixed_features)

    @property
    def extents(self) -> tuple[float, float]:
        """``sqrt(2) R`` or ``2 R``, and R."""
        norm = kept(self.problem.bounds.row_norm, self.problem.n_samples)
        return (sqrt(2.0) if self.one_sided else 2.0) * norm, norm

    def public(self) -> tuple[object, ...]:
        return (self.problem.bounds.row_norm, self.one_sided, self.n_classes)

    def _of_block(self, block: BoundedBlock) -> np.ndarray:
        m, s = len(block.y), block.masses
        if self.n_classes == 1:
            return block.combine(np.ones(m) if s is None else s.copy())
        check_targets_a_row(type(self).__name__, block)
        members = np.zeros((m, self.n_classes))
        members[np.arange(m), coded(block.y, self.n_classes)] = 1.0 if s is None else s
        return block.combine(members)


@dataclass(frozen=True, eq=False)
class MomentsQuery(Summed):
    r"""Second moments ``mean_i v_i v_i^T`` of the bounded rows; if not ``full`` only two parts.

    ``v_i`` is the row with its intercept entry, so with an intercept the last column holds the
    mean of the features. The parts are the diagonal and that column. A row of weight s in [0, 1]
    adds ``s v_i v_i^T``.

    The symmetric matrix is answered as the vector of its diagonal and of sqrt(2) times its upper
    triangle. Its l2 norm is the Frobenius norm of the matrix, so equal noise on the vector is
    isotropic noise on symmetric matrices.

    Guarantees
    ----------
    - With R the bound on a row's norm, replacing a row moves the answer by at most
      ``sqrt(2) R^2 / n``, attained by orthogonal rows, and zeroing it out by at most ``R^2 / n``. A
      weighted row is as good as the shorter row ``sqrt(s) v``. Proof: theorem M1 of
      ``docs/proofs/moments.md``.
    """

    name: ClassVar[str] = "second_moments"

    full: bool

    @property
    def extents(self) -> tuple[float, float]:
        """``sqrt(2) R^2`` and ``R^2``."""
        square = _kept_square(self.problem)
        return sqrt(2.0) * square, square

    def public(self) -> tuple[object, ...]:
        return (self.problem.bounds.row_norm, self.full)

    def matrix(self, answer: np.ndarray) -> np.ndarray:
        """The symmetric matrix (p, p) of an answer, or its diagonal and last column (2, p)."""
        p = self.problem.n_rows
        if not self.full:
            return np.stack([answer[:p], np.append(answer[p:] / sqrt(2.0), answer[p - 1])])
        return unpacked(answer, p)

    def _of_block(self, block: BoundedBlock) -> np.ndarray:
        return block.gram() if self.full else block.squares_and_last()

    def _finished(self, total: np.ndarray) -> np.ndarray:
        if self.full:
            return packed(total) / self.problem.n_samples
        # Last, because it would take sums off the grid on which they may be exact.
        total[self.problem.n_rows :] *= sqrt(2.0)
        return total / self.problem.n_samples


@dataclass(frozen=True, eq=False)
class NormalEquationsQuery(Summed):
    r"""Moments ``mean_i v_i v_i'`` of the rows and ``mean_i v_i y_i'`` with their targets.

    ``v_i`` is the row with its intercept entry and ``y_i`` in [-1, 1] the bounded target. The
    matrix is answered as in :class:`MomentsQuery`; then comes the other moment, times
    ``R sqrt(2 balance)``, with R the bound on a row's norm. With t targets a row, y_i is the vector
    of them over ``sqrt(t)``, so that ``||y_i|| <= 1``. A row of weight s in [0, 1] counts as
    the row ``sqrt(s) v_i`` with the target ``sqrt(s) y_i``, which is within the same bounds.

    Guarantees
    ----------
    - Replacing a row moves the answer by at most ``sqrt(2) R^2 (1 + c) / n``, which is less than
      two queries with the same noise would cost, whose squares sum to
      ``2 R^4 (1 + 4 c) / n^2``. It is attained. Proof: theorem M2 of ``docs/proofs/moments.md``.
    - Zeroing a row out moves it by at most ``R^2 sqrt(1 + 2 c) / n``.
    """

    name: ClassVar[str] = "normal_equations"

    #: Weight c of the moments with the targets, in (0, 1].
    balance: float

    def __post_init__(self) -> None:
        target = self.problem.bounds.target
        if not (0 < self.balance <= 1 and target is not None):
            raise ValueError(
                "NormalEquationsQuery needs a balance in (0, 1] and bounded targets, got "
                f"balance={self.balance} and {target}."
            )

    @property
    def extents(self) -> tuple[float, float]:
        """``sqrt(2) R^2 (1 + c)`` and ``R^2 sqrt(1 + 2 c)``."""
        c, square = self.balance, _kept_square(self.problem)
        return sqrt(2.0) * (1 + c) * square, sqrt(1 + 2 * c) * square

    def public(self) -> tuple[object, ...]:
        return (self.problem.bounds.row_norm, self.balance)

    @property
    def weight(self) -> float:
        """Factor of the moments with the targets as they are bounded, ``R sqrt(2 c / t)``."""
        return self.problem.bounds.row_norm * sqrt(2 * self.balance / self._n_targets)

    @property
    def _n_targets(self) -> int:
        assert self.problem.bounds.target is not None
        return self.problem.bounds.target.n_targets

    def parts(self, answer: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The symmetric matrix (p, p) and the vector (p,) of an answer; (p, t) for t targets."""
        p, t = self.problem.n_rows, self._n_targets
        cross = answer[-p * t :] / self.weight
        return unpacked(answer[: -p * t], p), cross if t == 1 else cross.reshape(p, t)

    def _of_block(self, block: BoundedBlock) -> np.ndarray:
        check_targets_a_row(type(self).__name__, block, self._n_targets)
        y = block.y.copy() if block.y.ndim == 2 else block.y[:, None].copy()
        return np.column_stack([block.gram(), block.combine(times_rows(y, block.masses))])

    def _finished(self, total: np.ndarray) -> np.ndarray:
        p, mean = self.problem.n_rows, total / self.problem.n_samples
        return np.concatenate([packed(mean[:, :p]), self.weight * mean[:, p:].ravel()])


def _kept_square(problem: Problem) -> float:
    """Square of a bound on rows; infinite where double precision would not keep sums of squares."""
    norm = problem.bounds.row_norm
    square = norm**2 if norm < _LARGEST_NORM else inf
    return square if LEAST_BOUND**2 <= square <= LARGEST_SUM / problem.n_samples else inf


def packed(S: np.ndarray) -> np.ndarray:
    """Diagonal of a symmetric matrix, then sqrt(2) times its upper triangle: of equal l2 norm.

    Of several, (..., p, p), a vector each.
    """
    i, (j, k) = np.arange(S.shape[-1]), np.triu_indices(S.shape[-1], 1)
    return np.concatenate([S[..., i, i], sqrt(2.0) * S[..., j, k]], axis=-1)


def unpacked(vector: np.ndarray, p: int) -> np.ndarray:
    """The symmetric matrices (..., p, p) that :func:`packed` made vectors of."""
    out = np.zeros((*vector.shape[:-1], p, p))
    i, (j, k) = np.arange(p), np.triu_indices(p, 1)
    out[..., j, k] = vector[..., p:]
    out += np.swapaxes(out, -1, -2).copy()
    out /= sqrt(2.0)
    out[..., i, i] = vector[..., :p]
    return out
