"""The mean derivative of the loss in its scores."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import ClassVar

import numpy as np

from ...problem.losses import Loss
from ...problem.problem import Problem
from ..adjacency import Adjacency
from ..rounding import of_sum
from ..rows.base import RowStore
from ..rows.bounded_rows import BoundedBlock
from .base import GaussianQuery
from .gradient import GradientQuery, weighted

_LEAST_CLIP, _LARGEST_SUM = 1e-140, 1e300


@dataclass(frozen=True, eq=False)
class InterceptGradientQuery(GaussianQuery):
    r"""``1/n sum_i v_i c_i/max(c) [l'(y_i, <w, x~_i>)]_clip``: the gradient along the intercept.

    It has K entries, far fewer than a gradient, and its noise does not grow with the rows.

    Parameters
    ----------
    problem : Problem
        Loss, weights of the classes and public bounds.
    w : ndarray
        Where, in the shape of the problem; public.
    clip : float
        Bound on the l2 norm of the derivative of a row.
    shrunk : float, default=1.0
        As for :class:`skdp.privacy.queries.vertex.VertexQuery`.

    Guarantees
    ----------
    - Under replace-one the exact answer moves by at most ``2 clip / n`` in l2, under zero-out by
      half of it: the sum has one vector a row, of norm at most ``clip``, because the weight of its
      class is at most the largest one, and its own weight ``v_i`` at most 1 (see
      ``Adjacency.of_sum``). Both are attained, by rows on the wrong side whose labels differ.
    - The bound holds whatever the rows, the targets and w.
    """

    name: ClassVar[str] = "intercept_gradient"

    problem: Problem
    w: np.ndarray
    clip: float
    shrunk: float = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "w", GradientQuery(self.problem, self.w).w)

    @property
    def rounding(self) -> float:
        """Margin for rounding of a sum of derivatives."""
        return of_sum(self.problem.n_actual)

    def sensitivity(self, adjacency: Adjacency) -> float:
        """``2 clip / n`` under replace-one; infinite where double precision is left."""
        n, clip = self.problem.n_samples, min(self.clip, self.problem.loss.lipschitz)
        if not (clip >= _LEAST_CLIP and clip * n <= _LARGEST_SUM):
            return inf
        return adjacency.of_sum(clip) / n

    def evaluate(self, rows: RowStore) -> np.ndarray:
        """The exact mean, of shape (K,)."""
        bounded = rows.bounded(self.problem.bounds)
        return bounded.sum(self._of_block) / self.problem.n_samples

    def public(self) -> tuple[object, ...]:
        """Public inputs: weights, clip and shrinkage."""
        return (self.w, self.clip, self.shrunk)

    def _of_block(self, block: BoundedBlock) -> np.ndarray:
        problem, z = self.problem, block.scores_along(self.w, self.shrunk)
        r = Loss.clipped_derivative(
            problem.loss, block.y, z, min(self.clip, problem.loss.lipschitz)
        )
        r = weighted(problem, block, r, relatively=True)
        return np.atleast_1d(r.sum(axis=0))
