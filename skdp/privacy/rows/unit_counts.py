"""Table of privacy units of rows that come in parts, and of how many rows each of them has."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any, final

import numpy as np
import scipy.sparse as sp

from .base import ResidentRows
from .in_memory import rows_in_memory
from .privacy_units import LabelledRows, PrivacyUnits, one_kind, shares_of


@final
class UnitCounts:
    """Numbers of rows of the units of a table, counted over all of its parts.

    What a row counts depends on how many rows its unit has in *all* parts: a person may have rows
    in several of them. So one pass over the labels comes first. The table takes an entry for each
    unit, and none for rows, and is as secret as they are; the number of units is public.
    """

    def __init__(self) -> None:
        self._places: dict[Hashable, int] = {}
        self._counts = np.zeros(0, dtype=np.int64)
        self._kind: Hashable = None

    @property
    def n_units(self) -> int:
        """Number of units that have a row in a part. Public, once all parts are counted."""
        return len(self._places)

    def add(self, names: list[Hashable], counts: np.ndarray, kind: Hashable) -> None:
        """Count the rows of one more part: who has rows there, each once, and how many.

        Raises
        ------
        ValueError
            If labels are of another kind than those of earlier parts.
        """
        self._kind = one_kind(self._kind, kind)
        places = [self._places.setdefault(name, len(self._places)) for name in names]
        if (missing := self.n_units - self._counts.size) > 0:
            room = max(missing, self._counts.size)
            self._counts = np.concatenate([self._counts, np.zeros(room, dtype=np.int64)])
        self._counts[places] += counts

    def reading(self) -> CountingPass:
        """A pass over the parts, in which each row gets what it counts."""
        return CountingPass(self._places, self._counts[: self.n_units], self._kind)


@dataclass(frozen=True, eq=False)
class NumberedUnits:
    """Privacy units that have rows in a part, by their numbers in the table of all. Secret.

    Parameters
    ----------
    names : list of hashable
        Whose rows are there, each once.
    counts : ndarray of shape (len(names),)
        Number of their rows there.
    places, totals, before : ndarray of shape (len(names),)
        Numbers of the units, and of their rows in all parts and in those before.
    n_units : int
        Number of units of the table.
    """

    names: list[Hashable]
    counts: np.ndarray
    places: np.ndarray
    totals: np.ndarray
    before: np.ndarray
    n_units: int

    def of_rows(self, labelled: LabelledRows) -> PrivacyUnits | None:
        """Units of the rows of the part; None if these are others than were numbered.

        Their shares are those that rows in one place would have: of all parts together those of a
        unit sum to exactly 1.
        """
        if labelled.names != self.names or not np.array_equal(labelled.counts(), self.counts):
            return None
        shares = shares_of(labelled.codes, self.totals, self.before)
        return PrivacyUnits(self.places[labelled.codes], shares, self.n_units)


@final
class CountingPass:
    """One pass over parts that have been counted, in their order. Secret.

    Parameters
    ----------
    places : dict
        Number of each unit by its name.
    counts : ndarray of shape (n_units,)
        Number of its rows in all parts.
    kind : hashable
        Kind of all labels.
    """

    def __init__(self, places: dict[Hashable, int], counts: np.ndarray, kind: Hashable) -> None:
        self._places, self._counts, self._kind = places, counts, kind
        self._read = np.zeros_like(counts)

    @property
    def complete(self) -> bool:
        """True if each unit has had as many rows in this pass as were counted."""
        return bool(np.array_equal(self._read, self._counts))

    def numbered(
        self, names: list[Hashable], counts: np.ndarray, kind: Hashable
    ) -> NumberedUnits | None:
        """The units of the next part; None if there is one that was not counted.

        Names are those who have rows in the part, each once, with the number of them.
        """
        listed = [self._places.get(name, -1) for name in names]
        if -1 in listed or kind not in (self._kind, None):
            return None
        places = np.array(listed, dtype=np.intp)
        before = self._read[places]
        self._read[places] += counts
        totals, n_units = self._counts[places], self._counts.size
        return NumberedUnits(names, counts, places, totals, before, n_units)


def rows_of_part(
    X: Any, y: np.ndarray, weights: np.ndarray | None = None, units: PrivacyUnits | None = None
) -> ResidentRows:
    """A store of the rows of a part of a table.

    How a table is cut may depend on how many rows somebody has, so that with units nothing that is
    computed for a row may depend on what else is in its part, nor on how the part lies in memory.
    There is at least one row; targets are encoded, weights in units of the largest that counts.
    """
    if units is not None and not sp.issparse(X):
        X = np.ascontiguousarray(X)
    if units is not None and len(y) == 1:
        # Numpy adds up the entries of a row that is alone in another order: its copy weighs 0.
        twice = np.zeros(2, dtype=np.intp)
        X, y, weights = X[twice], y[twice], None if weights is None else weights[twice]
        units = PrivacyUnits(units.codes[twice], units.shares * [1.0, 0.0], units.n_units)
    return rows_in_memory(X, y, weights, units)
