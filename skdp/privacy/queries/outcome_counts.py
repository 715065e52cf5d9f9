"""Counts of test rows by label and by what a model says of them, maybe in several groups."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from ..rows.base import RowStore
from ..rows.bounded_rows import RawBlock
from ..rows.predicted_rows import PredictedBlock
from .base import CellsQuery

Outcome = Literal["correctness", "prediction", "score"]


@dataclass(frozen=True, eq=False)
class OutcomeCountsQuery(CellsQuery):
    """Number of rows for each group, label and outcome, or their total weight.

    Parameters
    ----------
    of : {'correctness', 'prediction', 'score'}
        Outcomes: whether the predicted class is the label, whatever that is; the predicted class
        beside the label; or the bin of the score of one class, beside label 1 for that class and 0
        for any other.
    n_classes : int
        Number of classes K, encoded 0, ..., K - 1. Labels outside count towards the nearest one,
        those that are not numbers towards the first.
    n_groups : int, default=1
        Number of groups G, encoded likewise. 1 takes no notice of them.
    edges : ndarray of shape (b - 1,), optional
        Increasing edges of b bins of scores; bin k holds scores in ``[edges[k-1], edges[k])``.
    of_class : int, default=1
        Class whose score it is.

    Guarantees
    ----------
    - Every row falls in exactly one cell, whatever its entries, since group, label and outcome are
      each one of finitely many. So a histogram over all groups together costs what that of one
      group does, also where a row goes from one group to another.
    - A predicted class that is none of the K, or not a number, counts as a mistake, and a score
      that is not a number as the worst for its label.
    """

    name: ClassVar[str] = "outcome_counts"

    of: Outcome
    n_classes: int
    n_groups: int = 1
    edges: np.ndarray | None = None
    of_class: int = 1

    @property
    def shape(self) -> tuple[int, int, int]:
        """Shape of the answer: groups, labels and outcomes."""
        if self.of == "correctness":
            return self.n_groups, 1, 2
        if self.edges is None:
            return self.n_groups, self.n_classes, self.n_classes
        return self.n_groups, 2, self.edges.size + 1

    def evaluate(self, rows: RowStore) -> np.ndarray:
        """The exact counts, of shape (groups, labels, outcomes); outcome 1 of two is correct."""
        return rows.sum(self._of_block)

    def public(self) -> tuple[object, ...]:
        """The kind of outcome, the numbers of classes and groups; the edges and class if any."""
        edges = () if self.edges is None else (self.edges, self.of_class)
        return (self.of, self.n_classes, self.n_groups, *edges)

    def _of_block(self, block: RawBlock) -> np.ndarray:
        given = PredictedBlock.of(block)
        label = coded(given.y, self.n_classes)
        cells = coded(given.group, self.n_groups)
        if self.of == "correctness":
            cells = 2 * cells + (given.prediction == label)
        else:
            if self.of == "score":
                label = (label == self.of_class).astype(np.intp)
                outcome = self._bins(label, given)
            else:
                outcome = self._guess(label, given)
            cells = (cells * self.shape[1] + label) * self.shape[2] + outcome
        size = int(np.prod(self.shape))
        counts = np.bincount(cells, block.bounded_weights, minlength=size)
        return counts.astype(np.float64, copy=False).reshape(self.shape)

    def _guess(self, label: np.ndarray, given: PredictedBlock) -> np.ndarray:
        """The predicted class of each row; another one than the label where there is none."""
        known = np.isin(given.prediction, np.arange(self.n_classes))
        guess = np.where(known, given.prediction, (label + 1) % self.n_classes)
        return guess.astype(np.intp)

    def _bins(self, label: np.ndarray, given: PredictedBlock) -> np.ndarray:
        """Bin of the score of each row; the worst for its label where there is none."""
        score = given.score_of(self.of_class)
        score = np.where(np.isnan(score), np.where(label == 1, -np.inf, np.inf), score)
        assert self.edges is not None
        return np.searchsorted(self.edges, score, side="right")


def coded(values: np.ndarray, size: int) -> np.ndarray:
    """The nearest of the codes 0, ..., size - 1; 0 for what is not a number."""
    return np.clip(np.nan_to_num(values), 0, size - 1).astype(np.intp)
