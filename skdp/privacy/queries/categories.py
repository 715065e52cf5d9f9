"""Counts of the categories of columns, where nobody has said which categories there are."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import ClassVar

import numpy as np

from ..accounting.ledger import Spend
from ..adjacency import Adjacency
from ..mechanisms.gaussian import ThresholdMechanism
from ..rounding import inflated
from ..rows.base import RowStore
from ..rows.category_rows import CategoryRows, made_anew
from .base import Query


@dataclass(frozen=True, eq=False)
class CategoryCountsQuery(Query):
    """Number of people in each category that occurs in some columns, above a threshold.

    Published are categories with their noisy counts, an object array of shape (k, 3) of the
    column, the category and the count, in the order of columns and categories. Which categories
    there are besides stays secret.

    Guarantees
    ----------
    - A person, whose row or rows weigh 1 in all, is in one category of each of the c columns.
      Replacing the person lowers one count by 1 and raises another by 1 in each: ``sqrt(2 c)`` in
      l2, attained where all of them change. Zeroing out lowers one in each: ``sqrt(c)``.
    - At most c categories are one person's alone, each with a count of 1.
    """

    name: ClassVar[str] = "category_counts"

    #: Columns that are asked about, all different, at least one.
    columns: tuple[int, ...]
    #: Largest probability with which a category is published that one person alone has.
    threshold_delta: float

    def sensitivity(self, adjacency: Adjacency) -> float:
        """``sqrt(2 c)`` under replace-one, ``sqrt(c)`` under zero-out."""
        return sqrt(len(self.columns)) * adjacency.of_histogram()

    def mechanism(self, adjacency: Adjacency, spend: Spend) -> ThresholdMechanism:
        """Gaussian noise for the spend, and the threshold that goes with it."""
        # Counts are whole numbers, and exact.
        computed = inflated(self.sensitivity(adjacency), 0.0)
        return ThresholdMechanism.calibrated(
            computed, len(self.columns), self.threshold_delta, spend
        )

    def evaluate(self, rows: RowStore) -> np.ndarray:
        """The exact counts of the categories that occur. Secret, and so is their number."""
        return np.concatenate([self._counted(rows, j)[1] for j in self.columns])

    def named(self, rows: RowStore, answer: np.ndarray) -> np.ndarray:
        """Columns, categories and counts of what is published: finite entries of an answer."""
        names = [(j, category) for j in self.columns for category in self._counted(rows, j)[0]]
        out = np.empty((int(np.isfinite(answer).sum()), 3), dtype=object)
        for row, k in zip(out, np.flatnonzero(np.isfinite(answer)), strict=True):
            (column, category), count = names[k], float(answer[k])
            row[:] = column, made_anew(category), count
        return out

    def _counted(self, rows: RowStore, column: int) -> tuple[list[tuple[int, object]], np.ndarray]:
        if not isinstance(rows, CategoryRows):
            raise TypeError(
                f"{type(self).__name__} needs rows of categories, got {type(rows).__name__}."
            )
        return rows.category_counts(column)
