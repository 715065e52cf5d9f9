"""What an example of a query is."""

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from kinds_of_rows import LAYOUTS, STORES, largest_move, table_of, units_of

from skdp.privacy.queries import Query


@dataclass(frozen=True)
class Example:
    """A query, and two data sets of the same shape of which neighbours are made."""

    # Rows stay where they are, at sites that keep their sizes.
    at_sites: ClassVar[bool] = False

    query: Query
    X: np.ndarray
    y: np.ndarray
    other_X: np.ndarray
    other_y: np.ndarray
    weights: np.ndarray | None = field(default=None, kw_only=True)
    other_weights: np.ndarray | None = field(default=None, kw_only=True)

    @property
    def asked(self):
        """What moves by the declared sensitivity at most: the answer, or what noise is added to."""
        return self.query

    def without(self, units, i):
        """Units, each a tuple of its rows, without what unit i contributes."""
        return [*units[:i], *units[i + 1 :]]

    def check(self, adjacency):
        """Largest move in any layout when one row changes, as a share of the sensitivity."""
        sides = units_of(self)

        def of_rows(layout):
            return lambda units: STORES[layout](table_of(units))

        return max(largest_move(self, sides, adjacency, of_rows(layout)) for layout in LAYOUTS)
