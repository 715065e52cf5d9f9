"""Terms that the rows of a batch add to a running sum."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from math import inf, sqrt
from typing import ClassVar

import numpy as np

from ...problem.constraints import L1Ball, Simplex
from ...problem.losses import Loss
from ...problem.problem import Problem
from ..adjacency import Adjacency
from ..rounding import of_sum, spread
from ..rows.base import RowStore
from ..rows.bounded_rows import BoundedBlock
from .base import LARGEST_SUM, LEAST_BOUND, GaussianQuery, GumbelQuery, Query
from .gradient import point, weighted


@dataclass(frozen=True, eq=False)
class StreamTerm(Query):
    r"""A sum over the rows of a batch of one vector each, made of this derivative.

    .. math:: r_i = (k + 1)\, l'(y_i, \langle w, \tilde x_i \rangle)
                    - k\, l'(y_i, \langle w_0, \tilde x_i \rangle)

    The vector is ``v_i c_i x~_i r_i'``, v_i in [0, 1] being the weight of the row and c_i that of
    its class: both gradients of a
    row lie along the row, so the vector of their weighted difference can be clipped as a whole by
    shrinking ``r_i``. The answer for several rows is the sum of those for each, so a batch may be
    asked in pieces.
    """

    takes_units: ClassVar[bool] = False

    #: Loss and public bounds.
    problem: Problem
    #: Where; public.
    w: np.ndarray
    #: The point w_0; public.
    before: np.ndarray | None
    #: The weight k; with 0 the vector is the gradient at w.
    index: float
    #: Bound on the vector, in units of ``row_norm * max_weight``.
    clip: float

    def __post_init__(self) -> None:
        if not (self.index == 0 or (self.before is not None and 0 < self.index < inf)):
            raise ValueError(
                "StreamTerm needs an index of 0, or a positive finite one and a point before, got "
                f"index={self.index}."
            )
        object.__setattr__(self, "w", point(self.problem, self.w))
        before = None
        if self.index and self.before is not None:
            before = point(self.problem, self.before)
        object.__setattr__(self, "before", before)
        object.__setattr__(self, "clip", float(self.clip))

    def derivatives(self, block: BoundedBlock) -> np.ndarray:
        """The derivatives r of some rows; not numbers where scores are not."""
        loss = self.problem.loss
        r = np.asarray(loss.derivative(block.y, block.scores(self.w)), dtype=np.float64)
        if self.before is not None:
            r *= self.index + 1.0
            r -= self.index * loss.derivative(block.y, block.scores(self.before))
        return r

    def weighted(self, block: BoundedBlock, r: np.ndarray) -> np.ndarray:
        """Derivatives times the weights of rows, and of their classes in units of the heaviest."""
        return weighted(self.problem, block, r, relatively=True)

    def public(self) -> tuple[object, ...]:
        before = self.w if self.before is None else self.before
        return (self.w, before, self.index, self.clip)

    def evaluate(self, rows: RowStore) -> np.ndarray:
        """The exact sum, in the shape of w."""
        return rows.bounded(self.problem.bounds).sum(self._of_block)

    @abstractmethod
    def _of_block(self, block: BoundedBlock) -> np.ndarray:
        """Sum over the rows of a block."""

    @property
    def kept(self) -> bool:
        """True if double precision keeps the bounds."""
        norm, clip = self.problem.row_norm, self.clip
        scale = max(1.0, norm * self.problem.max_weight)
        bounded = clip * self.problem.n_samples * scale <= LARGEST_SUM
        return bounded and LEAST_BOUND * scale <= clip * min(1.0, norm)


@dataclass(frozen=True, eq=False)
class StreamTermQuery(StreamTerm, GaussianQuery):
    r"""Sum over rows of one vector each, clipped in l2, in units of the bound; in the shape of w.

    Guarantees
    ----------
    - Under replace-one the exact answer moves by at most 2 in l2, under zero-out by at most 1, for
      any index and any two points, however far apart: the sum has one vector a row, of norm at most
      1, and smoothness of the loss is not relied upon. Both are attained. Proof: theorem X5 of
      ``docs/proofs/streams.md``.
    """

    name: ClassVar[str] = "stream_term"

    @property
    def rounding(self) -> float:
        """Margin for rounding of a sum of rows times derivatives, which is mapped afterwards."""
        problem = self.problem
        longer = spread(problem.bounds, inf, self.clip * problem.row_norm)
        return of_sum(problem.n_samples, longer, problem.bounds.mixed_features)

    def sensitivity(self, adjacency: Adjacency) -> float:
        """2 under replace-one; infinite unless double precision keeps the bound."""
        return adjacency.of_sum(1.0) if self.kept else inf

    def _of_block(self, block: BoundedBlock) -> np.ndarray:
        # In units of the bound: a derivative of 1 at a row of full norm is ``1 / clip`` of it.
        limit = self.clip * self.problem.row_norm / block.norms
        r = Loss.shrunk(self.derivatives(block), limit)
        r /= self.clip * self.problem.row_norm
        return block.combine(self.weighted(block, r))


@dataclass(frozen=True, eq=False)
class StreamScoresQuery(StreamTerm, GumbelQuery):
    r"""Agreement of the rows with a step towards each vertex v: minus ``<sum_i a_i, v>``.

    a_i is the vector of row i with entries bounded one by one: those of the row by e, the
    derivatives by ``clip``. The feasible set is an l1 ball or a simplex of radius D, and scores are
    in units of ``clip e D``. There is no intercept, because a vertex says nothing of an entry that
    is not constrained.

    Guarantees
    ----------
    - The difference of two scores moves by at most 4 under replace-one, 2 under zero-out, and with
      a simplex and one score a row, where both are about different features, by that times
      ``row_norm / (sqrt(2) e)`` if it is less than 1. Proof: theorem X5 there. All are attained.
    """

    name: ClassVar[str] = "stream_scores"

    def __post_init__(self) -> None:
        super().__post_init__()
        problem = self.problem
        if problem.bounds.intercept_value or not isinstance(problem.constraint, L1Ball | Simplex):
            raise ValueError(
                "StreamScoresQuery needs an l1 ball or a simplex and no intercept, got "
                f"{type(problem.constraint).__name__} and an intercept value of "
                f"{problem.bounds.intercept_value}."
            )

    @property
    def entry(self) -> float:
        """The bound e on entries of rows."""
        problem = self.problem
        own = problem.bounds.feature_bound
        return problem.row_norm if own is None else min(own, problem.row_norm)

    @property
    def rounding(self) -> float:
        """Two scores err at a time, by entries that are clipped one by one."""
        return of_sum(self.problem.n_samples, 1.5)

    def sensitivity(self, adjacency: Adjacency) -> float:
        """Sensitivity, at most 4 under replace-one; inf unless double precision keeps the bound."""
        problem = self.problem
        if not self.kept or self.entry < LEAST_BOUND:
            return inf
        pair = 1.0
        if isinstance(problem.constraint, Simplex) and problem.loss.n_scores == 1:
            pair = min(1.0, problem.row_norm / (sqrt(2.0) * self.entry))
        return adjacency.of_sum(2.0 * pair)

    def evaluate(self, rows: RowStore) -> np.ndarray:
        """The exact scores of all vertices, in their order."""
        sums = super().evaluate(rows).ravel()
        if isinstance(self.problem.constraint, L1Ball):
            return np.concatenate([-sums, sums])
        return -sums

    def public(self) -> tuple[object, ...]:
        return (*super().public(), self.entry)

    def _of_block(self, block: BoundedBlock) -> np.ndarray:
        limit, entry = self.clip, self.entry
        r = np.clip(self.derivatives(block), -limit, limit)
        np.copyto(r, 0.0, where=np.isnan(r))
        r /= limit * entry
        r = self.weighted(block, r)
        if r.ndim == 1:
            return block.combine_within(r, entry)
        return np.stack([block.combine_within(column, entry) for column in r.T], axis=1)
