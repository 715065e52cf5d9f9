"""Transformers that learn within ranges of features, which are given or found privately."""

from __future__ import annotations

from abc import ABC
from collections.abc import Mapping
from typing import Any, ClassVar, final

import numpy as np

from ..exceptions import BudgetWarning, warn_user
from ..privacy.accounting.ledger import Budget
from ..privacy.oracle import Oracle
from ..problem.column_bounds import ColumnBounds, by_index
from ..validation import listed
from .base import PrivateTransformer
from .column_ranges import evidence_of, outlook_of, private_column_ranges, voting


class RangedTransformer(PrivateTransformer, ABC):
    """A transformer that learns from features within ``bounds``, and finds those that are unknown.

    That takes ``_range_share`` of its budget.
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **PrivateTransformer._parameter_constraints,
        "bounds": [None, "array-like"],
    }
    _range_share: float

    bounds: Any

    bounds_: tuple[np.ndarray, np.ndarray]

    def _settle(self) -> None:
        self._known_bounds()

    @property
    def _finds_for_all(self) -> bool:
        """True if columns go on in units of ranges, so that no later step looks for any."""
        return False

    @final
    def _evidence(self, n_samples: int, n_features: int) -> tuple[int, float]:
        """Number of columns that are going to be searched, and see :func:`evidence_of`."""
        pairs = self.bounds.values() if isinstance(self.bounds, Mapping) else [self.bounds]
        known = sum(pair is not None for pair in pairs)
        many = n_features - known if isinstance(self.bounds, Mapping) else n_features * (not known)
        terms, voters = self._terms(n_samples), voting(many, codes=True)
        budget = Budget(terms.ledger().remaining).fraction(self._range_share)
        return many, evidence_of(terms.adjacency, budget, n_samples, voters)

    @final
    def _known_bounds(self) -> tuple[ColumnBounds, tuple[int, ...]]:
        """Bounds that are given, (-1, 1) in place of all others, and columns that have none."""
        who, d, given = type(self).__name__, self.n_features_in_, self.bounds
        names = getattr(self, "feature_names_in_", None)
        given = {} if given is None else given
        bounds = ColumnBounds.of(who, given, d, names=names, partial=True)
        if not isinstance(given, Mapping):
            return bounds, ()
        known = by_index(f"{who} needs bounds", given, d, names)
        return bounds, tuple(j for j in range(d) if known.get(j) is None)

    @final
    def _find_bounds(self, oracle: Oracle, n_samples: int) -> ColumnBounds:
        """The bounds that are given, or else found, as they are published."""
        bounds, unknown = self._known_bounds()
        if unknown:
            share = oracle.budget.fraction(self._range_share)
            bounds = self._ranges_of(oracle, share, n_samples, bounds, unknown)
        self.bounds_ = bounds.low, bounds.high
        return bounds

    @final
    def _ranges_of(
        self,
        oracle: Oracle,
        budget: Budget,
        n_samples: int,
        bounds: ColumnBounds,
        columns: tuple[int, ...],
        *,
        within: bool = False,
    ) -> ColumnBounds:
        """Bounds with those of some columns replaced by ranges that are found.

        Parameters
        ----------
        oracle : Oracle
            Asked for votes and for counts.
        budget : Budget
            Most that is spent on it.
        n_samples : int
            Public number of rows.
        bounds : ColumnBounds
            Of all columns.
        columns : tuple of int
            Those that are searched.
        within : bool, default=False
            Whether the search stays within the bounds.

        Warns
        -----
        BudgetWarning
            If noise hides many ranges, by the budget and the sizes alone.
        """
        searched, low, high = [*columns], bounds.low.copy(), bounds.high.copy()
        voters = voting(len(columns), codes=not within)
        evidence = evidence_of(oracle.adjacency, budget, n_samples, voters)
        if outlook := outlook_of(evidence):
            names = getattr(self, "feature_names_in_", range(self.n_features_in_))
            warn_user(
                f"{type(self).__name__} looks for the ranges of {len(columns):,} columns, of which "
                f"{outlook} in {n_samples:,} rows with epsilon={self.epsilon:g}; those are held to "
                f"{'what bounds gives' if within else '(-1, 1)'}. Pass bounds, a dictionary with "
                "(low, high) for those whose ranges you know, of: "
                f"{listed(names[j] for j in columns)}.",
                BudgetWarning,
            )
        oracle.note("ranges of columns")
        known = ColumnBounds(low[searched], high[searched]) if within else None
        found = private_column_ranges(
            oracle, budget, n_samples, columns, codes=not within, within=known
        ).bounds
        low[searched], high[searched] = found.low, found.high
        return ColumnBounds(low, high)
