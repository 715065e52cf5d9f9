"""The oracle: the only door to rows.

Every answer goes through one method, ``_release``, which prices the question from its own
sensitivity, charges the ledger, and only then reads rows and adds noise. Who holds an oracle can
ask the questions below and nothing else.
"""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from math import sqrt
from typing import NamedTuple, Self, final

import numpy as np

from ..data.base import RowStore
from ..problem import Problem
from .adjacency import Adjacency
from .ledger import Budget, Ledger, Spend
from .queries.base import Query
from .queries.gradient import GradientNormQuery, GradientQuery
from .queries.gradient_sizes import GradientAndShareQuery, GradientSizesQuery
from .queries.histogram import Histogrammed, HistogramQuery
from .queries.moments import MomentsQuery
from .randomness import SecretNoise

__all__ = ["Oracle", "PrivateOracle"]


class Noisy(NamedTuple):
    """An answer and the standard deviation of its noise."""

    value: np.ndarray
    scale: float


class Oracle(ABC):
    """Turns named questions into queries. Holds no rows.

    Parameters
    ----------
    ledger : Ledger
        Charged for every answer.
    adjacency : Adjacency
        Neighbouring relation under which sensitivities are taken.
    """

    def __init__(self, ledger: Ledger, adjacency: Adjacency) -> None:
        self._ledger = ledger
        self._adjacency = adjacency
        self._problem: Problem | None = None

    @final
    def for_problem(self, problem: Problem) -> Self:
        """The same oracle, answering questions about this problem.

        A problem is public content: loss, bounds, weights and the number of rows to divide by are
        part of the question. Sensitivities are derived from the very problem that is asked about,
        so that a solver may ask about another one than it was given, at the price of that one. It
        must not depend on rows, and its loss must be pointwise.
        """
        other = copy.copy(self)
        other._problem = problem
        return other

    @property
    @final
    def adjacency(self) -> Adjacency:
        """Neighbouring relation under which sensitivities are taken."""
        return self._adjacency

    @property
    @final
    def budget(self) -> Budget:
        """What is left to spend. Public, because charges depend on public facts alone."""
        return Budget(self._ledger.remaining)

    @final
    def gradient(self, w: np.ndarray, *, spend: Spend, clip: float | None = None) -> np.ndarray:
        """Noisy mean gradient of the loss at w, rows clipped to ``clip``; shape of w."""
        return self._release(GradientQuery(self._current(), w, clip), spend)

    @final
    def gradient_norm(self, w: np.ndarray, *, spend: Spend, clip: float | None = None) -> float:
        """Noisy norm of the mean gradient at w. May be negative."""
        query = GradientNormQuery(GradientQuery(self._current(), w, clip))
        return float(self._release(query, spend))

    @final
    def gradient_and_share(
        self, w: np.ndarray, *, spend: Spend, clip: float, of_share: float
    ) -> tuple[np.ndarray, Noisy]:
        """Noisy mean of gradients clipped to ``clip``, and the share of rows not clipped.

        ``of_share``, between 0 and 1, is the part of the spend that goes to the share.
        """
        gradient = GradientQuery(self._current(), w.copy(), clip)
        weight = self._adjacency.of_sum(gradient.bound) * sqrt(of_share / (1 - of_share))
        query = GradientAndShareQuery(gradient, weight)
        answer = self._release(query, spend)
        scale = query.sensitivity(self._adjacency) / (weight * sqrt(spend.amount))
        return answer[:-1].reshape(w.shape), Noisy(answer[-1] / weight, scale)

    @final
    def gradient_sizes(self, w: np.ndarray, edges: np.ndarray, *, spend: Spend) -> Noisy:
        """Noisy counts of rows by the norm of their gradient at w, between increasing edges."""
        query = GradientSizesQuery(self._current(), w.copy(), np.array(edges, dtype=np.float64))
        scale = query.sensitivity(self._adjacency) / sqrt(spend.amount)
        return Noisy(self._release(query, spend), scale)

    @final
    def histogram(self, of: Histogrammed, edges: np.ndarray, *, spend: Spend) -> np.ndarray:
        """Noisy counts of rows between increasing edges, below and above included."""
        return self._release(HistogramQuery(of, np.array(edges, dtype=np.float64)), spend)

    @final
    def second_moments(self, *, full: bool, spend: Spend) -> Noisy:
        """Noisy ``mean_i v_i v_i'`` of the bounded rows, shape (p, p).

        Without ``full`` only its diagonal and its last row and column are asked for; the rest is
        zero. The scale is that of the diagonal; off it the noise is smaller by sqrt(2).
        """
        problem = self._current()
        query = MomentsQuery(problem.bounds, problem.n_samples, problem.n_rows, full)
        scale = query.sensitivity(self._adjacency) / sqrt(spend.amount)
        return Noisy(query.matrix(self._release(query, spend)), scale)

    @abstractmethod
    def _release(self, query: Query, spend: Spend) -> np.ndarray: ...

    @final
    def _current(self) -> Problem:
        if self._problem is None:
            raise RuntimeError(
                "The oracle needs a problem to ask about gradients; call for_problem first."
            )
        return self._problem


@final
class PrivateOracle(Oracle):
    """Where rows, noise and ledger meet, and nowhere else.

    Parameters
    ----------
    rows : RowStore
        The data.
    ledger : Ledger
        Charged before rows are read.
    adjacency : Adjacency
        Neighbouring relation.
    noise : SecretNoise
        Source of the noise.

    Guarantees
    ----------
    - All answers together are (epsilon, delta)-DP with the ledger's epsilon and delta.
    - A question that the ledger refuses reads nothing.
    - A failure after the charge leaves the charge standing.
    - Numerical accidents in single rows neither raise nor warn, whatever ``numpy.seterr`` says.
    - What noise is added to is a plain array of real numbers in double precision, so that nothing
      rides along beside the noise.
    - It can be neither pickled nor deep-copied.
    """

    def __init__(
        self, rows: RowStore, ledger: Ledger, adjacency: Adjacency, noise: SecretNoise
    ) -> None:
        super().__init__(ledger, adjacency)
        self._rows = rows
        self._noise = noise

    def _release(self, query: Query, spend: Spend) -> np.ndarray:
        mechanism = query.mechanism(self._adjacency, spend)
        self._ledger.charge(mechanism.event(query.name))
        # A warning or an exception about one row would tell of it outside the answer.
        with np.errstate(all="ignore"):
            return mechanism.randomize(_plain(query.evaluate(self._rows)), self._noise)


def _plain(exact: object) -> np.ndarray:
    if type(exact) is not np.ndarray or exact.dtype != np.float64:
        raise TypeError(
            "PrivateOracle needs exact answers that are plain arrays of float64, got "
            f"{getattr(exact, 'dtype', 'no dtype')} in {type(exact).__name__}; convert them in the "
            "query."
        )
    return exact
