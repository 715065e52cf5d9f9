"""What an example of a query is."""

from dataclasses import dataclass

import numpy as np

from skdp.privacy.queries import Query
from skdp.testing import check_sensitivity


@dataclass(frozen=True)
class Example:
    """A query, and two data sets of the same shape of which neighbours are made."""

    query: Query
    X: np.ndarray
    y: np.ndarray
    other_X: np.ndarray
    other_y: np.ndarray

    def check(self, adjacency, *weights):
        """Largest move as a share of the declared sensitivity; rows may have weights."""
        data = self.X, self.y, self.other_X, self.other_y
        return check_sensitivity(self.query, *data, adjacency, *weights)
