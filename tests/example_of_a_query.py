"""What an example of a query is."""

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from kinds_of_rows import LAYOUTS, STORES, largest_move, table_of, units_of

from skdp.privacy.queries import Query


def rows_of_all_sizes(rng, n=4, d=3):
    """Rows of all sizes, zero, tiny and huge ones among them."""
    X = rng.normal(size=(n, d)) * 10.0 ** rng.uniform(-3, 3, size=(n, 1))
    X[rng.random((n, d)) < 0.2] = 0.0
    special = [0.0, 1e300, 1e-300, 1e160, 1e-170]
    for i in np.flatnonzero(rng.random(n) < 0.3):
        X[i] *= special[rng.integers(len(special))]
    return np.clip(X, -1e305, 1e305)


def targets_of(loss, rng, n=4):
    """Codes of classes, or targets of all sizes."""
    if loss.log_means:
        return 10.0 ** rng.uniform(-2, 3, n) * rng.integers(0, 2, n)
    if loss.of_residuals or loss.of_times:
        return 10.0 ** rng.uniform(-2, 3, n) * rng.choice([-1.0, 1.0], n)
    return rng.integers(0, max(2, loss.n_scores), n).astype(float)


def data_of(loss, rng):
    """Random rows with targets, and others that come in."""
    return [part for _ in range(2) for part in (rows_of_all_sizes(rng), targets_of(loss, rng))]


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
