"""The questions of an oracle about single features."""

from __future__ import annotations

from abc import ABC, abstractmethod
from math import sqrt
from typing import NamedTuple, final

import numpy as np

from ..column_bounds import ColumnBounds
from .adjacency import Adjacency
from .ledger import Spend
from .queries.base import Query
from .queries.column_counts import ColumnCountsQuery
from .queries.column_moments import ColumnMomentsQuery
from .rounding import inflated

__all__ = ["AsksColumns", "ColumnMoments"]


class ColumnMoments(NamedTuple):
    """Noisy moments of features on the scale of their bounds, which is [-1, 1].

    Parameters
    ----------
    means, squares : ndarray of shape (d,)
        Means of the values and of their squares.
    scale : float
        Standard deviation of the noise of a mean; that of a square is smaller by sqrt(2).
    """

    means: np.ndarray
    squares: np.ndarray
    scale: float


class AsksColumns(ABC):
    """Turns named questions about features into queries. Holds no rows and needs no problem."""

    _adjacency: Adjacency

    @final
    def column_moments(
        self, bounds: ColumnBounds, n_samples: int, *, spend: Spend
    ) -> ColumnMoments:
        """Noisy means and mean squares of features that are clipped to their bounds.

        See :class:`ColumnMomentsQuery`; the squares cost nothing beside the means.
        """
        query = ColumnMomentsQuery(bounds, n_samples)
        scale = inflated(query.sensitivity(self._adjacency), query.rounding) / sqrt(spend.amount)
        return ColumnMoments(*query.moments(self._release(query, spend)), scale)

    @final
    def column_counts(self, edges: np.ndarray, n_samples: int, *, spend: Spend) -> np.ndarray:
        """Noisy numbers of rows whose feature is below its edges, (d, k) like the edges."""
        query = ColumnCountsQuery(np.array(edges, dtype=np.float64))
        return self._release(query, spend) + 0.5 * n_samples

    @final
    def column_counts_scale(self, n_edges: int, *, spend: Spend) -> float:
        """Standard deviation of the noise of so many counts in all; costs nothing."""
        query = ColumnCountsQuery(np.zeros((1, n_edges)))
        return inflated(query.sensitivity(self._adjacency), query.rounding) / sqrt(spend.amount)

    @abstractmethod
    def _release(self, query: Query, spend: Spend) -> np.ndarray: ...
