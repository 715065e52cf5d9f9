"""The mean gradient of the loss, and its norm."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ...data.base import RowStore
from ...data.blocks import Block
from ...problem import Problem
from ..adjacency import Adjacency
from .base import Query

__all__ = ["GradientNormQuery", "GradientQuery"]

_LEAST_WEIGHT = 1e-150


@dataclass(frozen=True, eq=False)
class GradientQuery(Query):
    """Mean over the rows of the gradient of the weighted loss at w, each row clipped.

    The gradient of row i is ``c_i l'(y_i, <w, x~_i>) x~_i^T`` with l2 (Frobenius) norm
    ``c_i ||l'|| ||x~_i||``; ``l'`` is shrunk until this norm is at most ``clip``, in closed form.

    Parameters
    ----------
    problem : Problem
        Loss and public bounds.
    w : ndarray
        Where; public.
    clip : float or None
        Bound on the norm of one row's gradient; None stands for the Lipschitz constant of the
        problem, with which clipping changes nothing.

    Guarantees
    ----------
    - Under replace-one the exact answer moves by at most ``2 min(clip, lipschitz) / n`` in l2,
      under zero-out by half of it: the sum has one vector of norm at most that bound a row
      (see ``Adjacency.of_sum``), and n is public. Both are attained.
    - The bound holds whatever the rows, the targets and w, even if the loss declared a wrong
      Lipschitz constant, because the clip is applied in any case.
    """

    name: ClassVar[str] = "gradient"

    problem: Problem
    w: np.ndarray
    clip: float | None = None

    @property
    def bound(self) -> float:
        """Bound on the norm of one row's gradient."""
        lipschitz = self.problem.lipschitz
        return lipschitz if self.clip is None else min(self.clip, lipschitz)

    def sensitivity(self, adjacency: Adjacency) -> float:
        """``2 bound / n`` under replace-one."""
        return adjacency.of_sum(self.bound) / self.problem.n_samples

    def evaluate(self, rows: RowStore) -> np.ndarray:
        """The exact mean of clipped gradients, in the shape of w."""
        total = rows.bounded(self.problem.bounds).sum(self._of_block)
        total /= self.problem.n_samples
        return total

    def public(self) -> tuple[object, ...]:
        """w and the bound."""
        return (self.w, self.bound)

    def _of_block(self, block: Block) -> np.ndarray:
        loss, z = self.problem.loss, block.scores(self.w)
        if self.problem.class_weight is None:
            return block.combine(loss.clipped_derivative(block.y, z, self.bound / block.norms))
        weight = np.take(self.problem.class_weight, block.y.astype(np.intp))
        limit = self.bound / (block.norms * np.maximum(weight, _LEAST_WEIGHT))
        r = loss.clipped_derivative(block.y, z, limit)
        return block.combine(r * (weight if r.ndim == 1 else weight[:, None]))


@dataclass(frozen=True, eq=False)
class GradientNormQuery(Query):
    """Norm (l2) of the mean of clipped gradients, a number (array of shape ()).

    Parameters
    ----------
    gradient : GradientQuery
        The gradient in question.

    Guarantees
    ----------
    - It moves by no more than the gradient itself, by the reverse triangle inequality.
    """

    name: ClassVar[str] = "gradient_norm"

    gradient: GradientQuery

    def sensitivity(self, adjacency: Adjacency) -> float:
        """That of the gradient."""
        return self.gradient.sensitivity(adjacency)

    def evaluate(self, rows: RowStore) -> np.ndarray:
        """The exact norm."""
        return np.asarray(np.linalg.norm(self.gradient.evaluate(rows)))

    def public(self) -> tuple[object, ...]:
        """w and the bound."""
        return self.gradient.public()
