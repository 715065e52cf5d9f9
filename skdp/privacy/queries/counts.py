"""Counts of rows, or sums of their weights: by norm, target or outcome of a test; and of all."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import ClassVar, Literal

import numpy as np

from ...problem.column_bounds import ColumnScaling
from ..adjacency import Adjacency
from ..rows.bounded_rows import RawBlock
from ..rows.predicted_rows import PredictedBlock
from .base import CountQuery, check_edges, coded, counted, tallied

Histogrammed = Literal["row_norm", "target", "events"]
Outcome = Literal["correctness", "prediction", "score"]


@dataclass(frozen=True, eq=False)
class HistogramQuery(CountQuery):
    """Number of rows with a value between public edges, or their total weight."""

    name: ClassVar[str] = "histogram"

    #: What is counted: the l2 norm of the features, or the target; both as they came, before any
    #: clipping, but for the scale. Or the target times the row's weight, which does not count
    #: besides then.
    of: Histogrammed
    #: Of shape (m,). Increasing. Bin k holds values in ``[edges[k-1], edges[k])``; bin 0 lies below
    #: all edges and bin m above, so that every row falls in exactly one of m + 1 bins.
    edges: np.ndarray
    #: Public scale that features are brought to before their norm is taken.
    scaling: ColumnScaling | None = None
    #: Which target, where rows have several.
    column: int | None = None

    def __post_init__(self) -> None:
        check_edges(type(self).__name__, self.edges)

    def public(self) -> tuple[object, ...]:
        column = () if self.column is None else (self.column,)
        scale = () if self.scaling is None else self.scaling.facts
        return (self.of, self.edges, *column, *scale)

    def _of_block(self, block: RawBlock) -> np.ndarray:
        if self.of == "row_norm":
            values = block.norms if self.scaling is None else block.norms_on(self.scaling)
        elif self.of == "events":
            return counted(block.events, self.edges, block.shares)
        else:
            values = block.y if self.column is None else block.y[:, self.column]
        return counted(values, self.edges, block.bounded_weights)


@dataclass(frozen=True, eq=False)
class OutcomeCountsQuery(CountQuery):
    """Number of rows for each group, label and outcome, or their total weight.

    Guarantees
    ----------
    - Every row falls in exactly one cell, whatever its entries, since group, label and outcome are
      each one of finitely many. So a histogram over all groups together costs what that of one
      group does, also where a row goes from one group to another.
    - A predicted class that is none of the K, or not a number, counts as a mistake, and a score
      that is not a number as the worst for its label.
    """

    name: ClassVar[str] = "outcome_counts"

    #: Outcomes: whether the predicted class is the label, whatever that is; the predicted class
    #: beside the label; or the bin of the score of one class, beside label 1 for that class and 0
    #: for any other.
    of: Outcome
    #: Number of classes K, encoded 0, ..., K - 1. Labels outside count towards the nearest one,
    #: those that are not numbers towards the first.
    n_classes: int
    #: Number of groups G, encoded likewise. 1 takes no notice of them.
    n_groups: int = 1
    #: Increasing edges of b bins of scores; bin k holds scores in ``[edges[k-1], edges[k])``; shape
    #: (b - 1,).
    edges: np.ndarray | None = None
    #: Class whose score it is.
    of_class: int = 1

    def __post_init__(self) -> None:
        if self.edges is not None:
            check_edges(type(self).__name__, self.edges)

    @property
    def shape(self) -> tuple[int, int, int]:
        """Shape of the answer: groups, labels and outcomes; outcome 1 of two is correct."""
        if self.of == "correctness":
            return self.n_groups, 1, 2
        if self.edges is None:
            return self.n_groups, self.n_classes, self.n_classes
        return self.n_groups, 2, self.edges.size + 1

    def public(self) -> tuple[object, ...]:
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
        return tallied(cells, prod(self.shape), block.bounded_weights).reshape(self.shape)

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


@dataclass(frozen=True, eq=False)
class TargetTableQuery(CountQuery):
    """Number of test rows by bins of the target and of the prediction, or their total weight.

    Guarantees
    ----------
    - Every row falls in exactly one cell, whatever its target and the model say.
    """

    name: ClassVar[str] = "target_table"

    #: Of shape (m,). Increasing. Bins are those of :class:`HistogramQuery`; what is not a number is
    #: above.
    edges_of_targets: np.ndarray
    edges_of_predictions: np.ndarray

    def __post_init__(self) -> None:
        check_edges(type(self).__name__, self.edges_of_targets, self.edges_of_predictions)

    def _of_block(self, block: RawBlock) -> np.ndarray:
        given, edges = PredictedBlock.of(block), (self.edges_of_targets, self.edges_of_predictions)
        rows, columns = (e.size + 1 for e in edges)
        # Numbers that are none are sorted behind all others.
        place = np.searchsorted(edges[0], given.y, side="right") * columns
        place += np.searchsorted(edges[1], given.prediction, side="right")
        return tallied(place, rows * columns, block.bounded_weights).reshape(rows, columns)


@dataclass(frozen=True, eq=False)
class TotalWeightQuery(CountQuery):
    """Sum of the weights of the rows, each in [0, 1]; a number (array of shape ()).

    Guarantees
    ----------
    - It moves by at most 1, both if a row of weight 1 gives way to one of weight 0 and if it is
      zeroed out. Both are attained.
    """

    name: ClassVar[str] = "total_weight"

    def sensitivity(self, adjacency: Adjacency) -> float:
        """1, under both relations."""
        del adjacency
        return 1.0

    def _of_block(self, block: RawBlock) -> np.ndarray:
        weights = block.bounded_weights
        return np.array(float(len(block.y)) if weights is None else float(weights.sum()))
