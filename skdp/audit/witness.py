"""An oracle that also notes how its answers look for other data sets than the one it was given."""

from __future__ import annotations

from collections.abc import Callable
from typing import final

import numpy as np

from ..data.base import ResidentRows, RowStore
from ..data.dense import DenseRows
from ..data.sparse import SparseRows
from ..privacy.adjacency import Adjacency
from ..privacy.ledger import Ledger, Spend
from ..privacy.mechanisms.gumbel import GumbelMechanism
from ..privacy.oracle import Oracle, PrivateOracle
from ..privacy.queries.base import Query
from ..privacy.randomness import SecretNoise
from ..privacy.stream_session import StreamAnswers, StreamOpening
from ..stream_plan import StreamQuestion
from .answers import Answer
from .exact_answers import VertexAnswer
from .noting import answer_to
from .running_sums import SumsAnswer

__all__ = ["WitnessOracle", "without"]


@final
class WitnessOracle(Oracle):
    """Answers as a private oracle does, and takes notes that must not be published.

    Parameters
    ----------
    rows, ledger, adjacency, noise
        As for :class:`~skdp.privacy.oracle.PrivateOracle`.
    stores : tuple of RowStore
        The data sets to compare, of which ``rows`` is one.
    row : int or None
        The row in which they differ, where it is one.
    notes : list of Answer
        Where answers are noted.
    """

    def __init__(
        self,
        rows: RowStore,
        ledger: Ledger,
        adjacency: Adjacency,
        noise: SecretNoise,
        *,
        stores: tuple[RowStore, ...],
        row: int | None,
        notes: list[Answer],
    ) -> None:
        super().__init__(ledger, adjacency)
        self._inner = PrivateOracle(rows, ledger, adjacency, noise)
        self._stores, self._row, self._notes = stores, row, notes

    def _release(self, query: Query, spend: Spend) -> np.ndarray:
        answer = self._inner._release(query, spend)
        mechanism = query.mechanism(self._adjacency, spend)
        self._notes.append(answer_to(query, mechanism, self._stores, answer, self._row))
        return answer.copy()

    def _open(self, opening: StreamOpening) -> StreamAnswers:
        return _WitnessedAnswers(opening, self._inner._open(opening), self._stores, self._notes)


@final
class _WitnessedAnswers(StreamAnswers):
    def __init__(
        self,
        opening: StreamOpening,
        inner: StreamAnswers,
        stores: tuple[RowStore, ...],
        notes: list[Answer],
    ) -> None:
        self._opening, self._inner, self._notes = opening, inner, notes
        self._stores, self._start = stores, 0
        self._totals: list[np.ndarray | None] = [None] * len(stores)
        self._sums: SumsAnswer | None = None
        if not opening.plan.chooses_vertices:
            exact: tuple[list[np.ndarray], ...] = tuple([] for _ in stores)
            self._sums = SumsAnswer(opening.sums, opening.noise_scale, exact, [])
            notes.append(self._sums)

    @property
    def deviation(self) -> float:
        """Noise of the last release."""
        return self._inner.deviation

    def answer(self, question: StreamQuestion) -> np.ndarray:
        """The answer of the private oracle."""
        answer = self._inner.answer(question)
        query = self._opening.query(question)
        start, self._start = self._start, self._start + question.rows
        for k, rows in enumerate(self._stores):
            assert isinstance(rows, ResidentRows)
            with np.errstate(all="ignore"):
                term = query.evaluate(rows.part(start, self._start))
            before = self._totals[k]
            self._totals[k] = term if before is None else before + term
        totals = tuple(total.copy() for total in self._totals if total is not None)
        if self._sums is not None:
            for sums, total in zip(self._sums.exact, totals, strict=True):
                sums.append(total)
            self._sums.given.append(answer.copy())
        else:
            of_all = self._opening.gumbel
            once = GumbelMechanism(of_all.sensitivity, of_all.noise_scale, 1)
            self._notes.append(VertexAnswer(once, totals, answer.copy()))
        return answer.copy()


def without(rows: RowStore, left_out: np.ndarray) -> RowStore:
    """A store in which some rows are missing; the public number of rows is the problem's.

    Parameters
    ----------
    rows : RowStore
        In memory.
    left_out : ndarray of int
        Which rows.

    Raises
    ------
    TypeError
        If the rows are not in memory.
    """
    if not isinstance(rows, ResidentRows):
        raise TypeError(
            f"An audit under zero-out needs rows in memory, got {type(rows).__name__}; pass arrays."
        )
    kept = np.setdiff1d(np.arange(rows.n_samples), left_out)
    make: Callable[..., RowStore] = SparseRows if rows.sparse else DenseRows
    weights = None if rows.weights is None else rows.weights[kept]
    return make(rows.X[kept], rows.y[kept], weights)
