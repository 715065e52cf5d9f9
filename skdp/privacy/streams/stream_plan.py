"""Plans that streaming solvers declare before the first row, and queries about each batch.

Plain public facts, which solvers write and the trusted session reads; neither knows of the other.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import ClassVar

import numpy as np


@dataclass(frozen=True)
class StreamPlan:
    """Plan of a whole stream, fixed so that it can be paid for before any row is read."""

    #: Number of batches, after each of which there is one answer.
    releases: int
    #: Bound on what one row adds, in units of ``row_norm * max_weight``: positive and finite.
    #: Answers are in units of this bound.
    clip: float
    #: How running sums are answered: ``'blt'``, ``'toeplitz'`` or ``'tree'`` for the sums with
    #: correlated Gaussian noise, ``'gumbel'`` for a vertex of the feasible polytope chosen by
    #: Gumbel noise.
    mechanism: str = "blt"
    #: Rows of a batch but the last; without it batches are as even as can be.
    batch: int | None = None

    GUMBEL: ClassVar[str] = "gumbel"

    def __post_init__(self) -> None:
        if not (self.releases >= 1 and 0 < self.clip < inf):
            raise ValueError(
                "StreamPlan needs at least 1 release and a positive finite clip, got "
                f"{self.releases} and {self.clip}."
            )

    def end(self, k: int, n_samples: int) -> int:
        """Number of rows in the first k batches of a stream of so many."""
        if self.batch is not None:
            return min(k * self.batch, n_samples)
        return n_samples * k // self.releases

    @property
    def chooses_vertices(self) -> bool:
        """True if answers are numbers of vertices."""
        return self.mechanism == self.GUMBEL


@dataclass(frozen=True, eq=False)
class StreamRequest:
    r"""Query about the rows of the next batch: a sum of one clipped vector a row.

    .. math:: \mathrm{clip}\bigl( (k + 1) \nabla f_i(w) - k \nabla f_i(w_0) \bigr)

    with f_i the weighted loss of row i. With ``k = 0`` it is the gradient at w.
    """

    #: Size of the batch, at least 1.
    rows: int
    #: Where, in the shape of the problem.
    w: np.ndarray
    #: The point w_0; needed if k is not 0.
    before: np.ndarray | None = None
    #: The weight k, not negative.
    index: float = 0.0
