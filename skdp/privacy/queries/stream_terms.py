"""Terms that the rows of a batch add to a running sum."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, sqrt
from typing import ClassVar

import numpy as np

from ...problem.constraints import L1Ball, Simplex
from ...problem.losses import Loss
from ...problem.problem import Problem
from ..adjacency import Adjacency
from ..rounding import mapped_products, of_sum, spread
from ..rows.base import RowStore
from ..rows.bounded_rows import BoundedBlock
from .base import LARGEST_SUM, LEAST_BOUND, GaussianQuery, GumbelQuery
from .gradient import point, weighted


@dataclass(frozen=True, eq=False)
class StreamTerm:
    r"""The derivative that a row's vector is made of, before it is clipped.

    .. math:: r_i = (k + 1)\, l'(y_i, \langle w, \tilde x_i \rangle)
                    - k\, l'(y_i, \langle w_0, \tilde x_i \rangle)

    The vector is ``v_i c_i x~_i r_i'``, v_i in [0, 1] being the weight of the row and c_i that of
    its class: both gradients of a
    row lie along the row, so the vector of their weighted difference can be clipped as a whole by
    shrinking ``r_i``.

    Parameters
    ----------
    problem : Problem
        Loss and public bounds.
    w : ndarray
        Where; public.
    before : ndarray or None
        The point w_0; public.
    index : float
        The weight k; with 0 the vector is the gradient at w.
    clip : float
        Bound on the vector, in units of ``row_norm * max_weight``.

    Raises
    ------
    ValueError
        If a point is not an array of real numbers in the shape of the problem, or w_0 is missing.
    """

    problem: Problem
    w: np.ndarray
    before: np.ndarray | None
    index: float
    clip: float

    def __post_init__(self) -> None:
        if not (self.index == 0 or (self.before is not None and 0 < self.index < inf)):
            raise ValueError(
                "StreamTerm needs an index of 0, or a positive finite one and a point before, got "
                f"index={self.index}."
            )
        before = (
            point(self.problem, self.before) if self.index and self.before is not None else None
        )
        for name, value in {"w": point(self.problem, self.w), "before": before}.items():
            object.__setattr__(self, name, value)
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

    @property
    def kept(self) -> bool:
        """True if double precision keeps the bounds."""
        problem, scale = self.problem, max(1.0, self.problem.row_norm * self.problem.max_weight)
        least = LEAST_BOUND * scale <= self.clip * min(1.0, problem.row_norm)
        return least and self.clip * problem.n_samples * scale <= LARGEST_SUM

    def public(self) -> tuple[object, ...]:
        """The points, the index and the bound."""
        before = self.w if self.before is None else self.before
        return (self.w, before, self.index, self.clip)


@dataclass(frozen=True, eq=False)
class StreamTermQuery(GaussianQuery):
    r"""Sum over rows of one vector each, clipped in l2, in units of the bound.

    Guarantees
    ----------
    - Under replace-one the exact answer moves by at most 2 in l2, under zero-out by at most 1, for
      any index and any two points, however far apart: the sum has one vector a row, of norm at most
      1, and smoothness of the loss is not relied upon. Both are attained. Proof: theorem X5 of
      ``docs/proofs/streams.md``.
    - The answer for several rows is the sum of those for each, so a batch may be asked in pieces.
    """

    name: ClassVar[str] = "stream_term"
    takes_units: ClassVar[bool] = False

    term: StreamTerm

    @property
    def rounding(self) -> float:
        """Margin for rounding of a sum of rows times derivatives, which is mapped afterwards."""
        problem = self.term.problem
        bound = self.term.clip * problem.row_norm
        longer = spread(problem.bounds, inf, bound)
        return of_sum(problem.n_samples, longer, mapped_products(problem.bounds))

    def sensitivity(self, adjacency: Adjacency) -> float:
        """2 under replace-one; infinite unless double precision keeps the bound."""
        return adjacency.of_sum(1.0) if self.term.kept else inf

    def evaluate(self, rows: RowStore) -> np.ndarray:
        """The exact sum, in the shape of w."""
        return rows.bounded(self.term.problem.bounds).sum(self._of_block)

    def public(self) -> tuple[object, ...]:
        """The points, the index and the bound."""
        return self.term.public()

    def _of_block(self, block: BoundedBlock) -> np.ndarray:
        term = self.term
        # In units of the bound: a derivative of 1 at a row of full norm is ``1 / clip`` of it.
        limit = term.clip * term.problem.row_norm / block.norms
        r = Loss.shrunk(term.derivatives(block), limit)
        r /= term.clip * term.problem.row_norm
        return block.combine(term.weighted(block, r))


@dataclass(frozen=True, eq=False)
class StreamScoresQuery(GumbelQuery):
    r"""Agreement of the rows with a step towards each vertex v: minus ``<sum_i a_i, v>``.

    a_i is the vector of row i with entries bounded one by one: those of the row by e, the
    derivatives by ``clip``. The feasible set is an l1 ball or a simplex of radius D, and scores are
    in units of ``clip e D``.

    Parameters
    ----------
    term : StreamTerm
        What a row adds, before it is clipped. Its problem has a polytope and no intercept, because
        a vertex says nothing of an entry that is not constrained.

    Guarantees
    ----------
    - The difference of two scores moves by at most 4 under replace-one, 2 under zero-out, and with
      a simplex and one score a row, where both are about different features, by that times
      ``row_norm / (sqrt(2) e)`` if it is less than 1. Proof: theorem X5 there. All are attained.
    - The scores for several rows are the sums of those for each.

    Raises
    ------
    ValueError
        If the feasible set is no polytope that it knows, or there is an intercept.
    """

    name: ClassVar[str] = "stream_scores"
    takes_units: ClassVar[bool] = False

    term: StreamTerm

    def __post_init__(self) -> None:
        problem = self.term.problem
        if problem.bounds.intercept_value or not isinstance(problem.constraint, L1Ball | Simplex):
            raise ValueError(
                "StreamScoresQuery needs an l1 ball or a simplex and no intercept, got "
                f"{type(problem.constraint).__name__} and an intercept value of "
                f"{problem.bounds.intercept_value}."
            )

    @property
    def entry(self) -> float:
        """The bound e on entries of rows."""
        problem = self.term.problem
        own = problem.bounds.feature_bound
        return problem.row_norm if own is None else min(own, problem.row_norm)

    @property
    def rounding(self) -> float:
        """Two scores err at a time, by entries that are clipped one by one."""
        return of_sum(self.term.problem.n_samples, 1.5)

    def sensitivity(self, adjacency: Adjacency) -> float:
        """Sensitivity, at most 4 under replace-one; inf unless double precision keeps the bound."""
        problem = self.term.problem
        if not self.term.kept or self.entry < LEAST_BOUND:
            return inf
        pair = 1.0
        if isinstance(problem.constraint, Simplex) and problem.loss.n_scores == 1:
            pair = min(1.0, problem.row_norm / (sqrt(2.0) * self.entry))
        return adjacency.of_sum(2.0 * pair)

    def evaluate(self, rows: RowStore) -> np.ndarray:
        """The exact scores of all vertices, in their order."""
        sums = rows.bounded(self.term.problem.bounds).sum(self._of_block).ravel()
        if isinstance(self.term.problem.constraint, L1Ball):
            return np.concatenate([-sums, sums])
        return -sums

    def public(self) -> tuple[object, ...]:
        """The points, the index and the bounds."""
        return (*self.term.public(), self.entry)

    def _of_block(self, block: BoundedBlock) -> np.ndarray:
        term, entry = self.term, self.entry
        limit = term.clip
        r = np.clip(term.derivatives(block), -limit, limit)
        np.copyto(r, 0.0, where=np.isnan(r))
        r /= limit * entry
        r = term.weighted(block, r)
        if r.ndim == 1:
            return block.combine_within(r, entry)
        return np.stack([block.combine_within(column, entry) for column in r.T], axis=1)
