"""Base of the queries to the oracle."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, fields
from math import inf, sqrt
from typing import Any, ClassVar, final

import numpy as np

from ...problem.problem import Problem
from ...validation import shown
from ..accounting.ledger import Spend
from ..adjacency import Adjacency
from ..mechanisms.base import Mechanism, PerturbingMechanism
from ..mechanisms.gaussian import GaussianMechanism
from ..mechanisms.gumbel import GumbelMechanism
from ..rounding import inflated, of_sum
from ..rows.base import RowStore
from ..rows.bounded_rows import BoundedBlock
from ..rows.reading import reached

# Squares of what is below the first are lost, and sums above the second overflow.
LEAST_BOUND, LARGEST_SUM = 1e-140, 1e300


@dataclass(frozen=True, eq=False)
class Query(ABC):
    """A query: its public content, its exact answer, and how far that answer can move.

    The fields are public; rows are an argument of ``evaluate``, which only the oracle calls.
    ``takes_units`` says that the theorem of :mod:`skdp.privacy.rows.privacy_units` covers it, so
    that its sensitivity holds for all rows of a privacy unit together.
    """

    name: ClassVar[str]
    takes_units: ClassVar[bool] = True

    @property
    def holds_for_units(self) -> bool:
        """True if what is said of neighbours holds for all rows of a privacy unit together."""
        return self.takes_units

    @abstractmethod
    def sensitivity(self, adjacency: Adjacency) -> float:
        """Most that the exact answer can move between neighbours, in the measure of the mechanism.

        Infinite if it is unbounded.
        """

    @abstractmethod
    def mechanism(self, adjacency: Adjacency, spend: Spend) -> Mechanism:
        """The mechanism that makes the answer private for at most this spend."""

    @abstractmethod
    def evaluate(self, rows: RowStore) -> np.ndarray:
        """The exact answer. Secret."""

    def public(self) -> tuple[object, ...]:
        """The content of the query, for transcripts: all that it says of itself but the problem."""
        return tuple(getattr(self, f.name) for f in fields(self) if f.name != "problem")


@dataclass(frozen=True, eq=False)
class GaussianQuery(Query):
    """A query answered with Gaussian noise; its sensitivity is in l2."""

    @property
    @abstractmethod
    def rounding(self) -> float:
        """Most that rounding adds to a move between neighbours, in units of the sensitivity.

        See :mod:`skdp.privacy.rounding`.
        """

    @final
    def mechanism(self, adjacency: Adjacency, spend: Spend) -> GaussianMechanism:
        """The least Gaussian noise for the spend, with the margin for finite precision.

        Those that have been made are kept, also for queries that differ in their point alone.
        """
        made: dict[object, GaussianMechanism] = vars(self).setdefault("_made", {})
        if (asked := (adjacency, spend.amount, self.rounding)) not in made:
            computed = inflated(self.sensitivity(adjacency), asked[-1])
            made[asked] = GaussianMechanism.calibrated(computed, spend)
        return made[asked]


@dataclass(frozen=True, eq=False)
class Summed(GaussianQuery):
    """The sum over the rows of a bounded vector of each, divided by their public number.

    Guarantees
    ----------
    - Replacing a row moves the answer by at most the largest distance of two vectors over n,
      zeroing it out by at most the largest norm over n. Subclasses prove both extents, for rows of
      any weight in [0, 1].
    """

    #: What rows are brought to, and their public numbers: n to divide by and, if rows are weighted,
    #: that of all of them.
    problem: Problem

    @property
    @abstractmethod
    def extents(self) -> tuple[float, float]:
        """Largest distance of two rows' vectors, and largest norm of one.

        Infinite beyond the range of double precision.
        """

    @property
    def rounding(self) -> float:
        return of_sum(self.problem.n_actual)

    def sensitivity(self, adjacency: Adjacency) -> float:
        """Most that the answer moves: an extent over n."""
        apart, longest = self.extents
        moved = apart if adjacency is Adjacency.REPLACE_ONE else longest
        return moved / self.problem.n_samples

    def evaluate(self, rows: RowStore) -> np.ndarray:
        return self._finished(rows.bounded(self.problem.bounds).sum(self._of_block))

    def _of_block(self, block: BoundedBlock) -> np.ndarray:
        """Sum over the rows of a block; of no use to queries that take sums in another way."""
        raise NotImplementedError

    def _finished(self, total: np.ndarray) -> np.ndarray:
        """The answer, of the sum over all rows."""
        return total / self.problem.n_samples


@dataclass(frozen=True, eq=False)
class CountQuery(GaussianQuery):
    """A query for counts of rows or sums of their weights, which are exact in any order.

    Guarantees
    ----------
    - Where each row is in exactly one cell of each of k tables, replacing it moves one count of a
      table down and one up by 1, together sqrt(2 k) in l2. Zeroing it out moves one count of each:
      sqrt(k). Rows that count by weights v and u in [0, 1] move a table by at most
      ``sqrt(v^2 + u^2)``, or ``|v - u|`` within a cell, which is no more.
    """

    @property
    @final
    def rounding(self) -> float:
        """None, as sums of weights and of halves of them are exact."""
        return 0.0

    @property
    def tables(self) -> int:
        """Number k of tables in which a row is counted; one, unless a query says otherwise."""
        return 1

    def sensitivity(self, adjacency: Adjacency) -> float:
        """``sqrt(2 k)`` under replace-one, ``sqrt(k)`` under zero-out."""
        return adjacency.of_histogram() * sqrt(self.tables)

    def evaluate(self, rows: RowStore) -> np.ndarray:
        return rows.sum(self._of_block)

    @abstractmethod
    def _of_block(self, block: Any) -> np.ndarray:
        """Counts of the rows of a block, raw or bounded."""


@dataclass(frozen=True, eq=False)
class GumbelQuery(Query):
    """A query for the best candidates; the exact answer is a score for each.

    Its sensitivity is a range: the most that the difference of two candidates' scores can move.
    """

    @property
    def choices(self) -> int:
        """Number of candidates that are chosen: one, unless a query says otherwise."""
        return 1

    @property
    @abstractmethod
    def rounding(self) -> float:
        """Most that rounding adds to the move of a difference of scores; as for Gaussian noise."""

    @final
    def mechanism(self, adjacency: Adjacency, spend: Spend) -> GumbelMechanism:
        """The least Gumbel noise for the spend, with the margin for finite precision."""
        computed = inflated(self.sensitivity(adjacency), self.rounding)
        return GumbelMechanism.calibrated(computed, self.choices, spend)


@dataclass(frozen=True, eq=False)
class PerturbedQuery(Query):
    """A query that is private because noise enters its computation.

    The oracle lets the mechanism draw the noise and hands it to ``evaluate_under`` together with
    the rows; both stay behind the oracle. ``evaluate`` is the answer without noise.
    """

    @abstractmethod
    def mechanism(self, adjacency: Adjacency, spend: Spend) -> PerturbingMechanism:
        """The mechanism that draws the noise, for at most this spend."""

    @abstractmethod
    def evaluate_under(self, rows: RowStore, perturbation: np.ndarray) -> np.ndarray:
        """The answer under this noise. Secret until the mechanism has randomized it."""


def counted(values: np.ndarray, edges: np.ndarray, weights: np.ndarray | None) -> np.ndarray:
    """Numbers of values, or their weights, between edges, below all and above all; floats."""
    return tallied(reached(edges, values), edges.size + 1, weights)


def tallied(cells: np.ndarray, size: int, weights: np.ndarray | None) -> np.ndarray:
    """Number of rows, or their weight, in each of so many cells; floats."""
    # Without any rows bincount returns integers.
    return np.bincount(cells, weights, minlength=size).astype(np.float64, copy=False)


def kept(bound: float, n: int) -> float:
    """The bound on what a row adds to a sum over n; infinite beyond what doubles can hold."""
    return bound if bound >= LEAST_BOUND and bound * n <= LARGEST_SUM else inf


def coded(values: np.ndarray, size: int) -> np.ndarray:
    """The nearest of the codes 0, ..., size - 1; 0 for what is not a number."""
    return np.clip(np.nan_to_num(values), 0, size - 1).astype(np.intp)


def range_of_scores(product: float, norm: float, n: int, adjacency: Adjacency) -> float:
    """Most that the difference of two scores moves, each a sum of products over n.

    A product is that of an entry of a row, whose norm is bounded, and another number, and is at
    most ``product``. Infinite beyond the range of double precision.
    """
    # Rows whose squares are lost could not be brought to a norm below.
    least = norm >= LEAST_BOUND and product >= LEAST_BOUND**2
    if not (least and 4 * product * n <= LARGEST_SUM):
        return inf
    return adjacency.of_sum(2 * product) / n


def check_edges(who: str, *edges: np.ndarray) -> None:
    """Refuse edges that do not increase.

    Among such the end of a search depends on the values that are looked for before, and so the bin
    of a row on other rows.
    """
    for each in edges:
        if not (each.ndim == 1 and np.all(each[1:] >= each[:-1]) and not np.isnan(each).any()):
            raise ValueError(f"{who} needs edges that increase, got {shown(each)}; sort them.")


def check_targets_a_row(who: str, block: BoundedBlock, needed: int = 1) -> None:
    """Refuse rows with another number of targets than the sensitivity is proved for.

    The shape of the targets, which alone is looked at, is public.
    """
    given = 1 if block.y.ndim == 1 else block.y.shape[1]
    if given != needed:
        raise ValueError(f"{who} needs rows with {needed} target(s) each, got {given}.")
