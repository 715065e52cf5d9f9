"""Transformers that learn within ranges of features, which are given or found privately."""

from __future__ import annotations

from abc import ABC
from typing import Any, ClassVar, final

import numpy as np

from ..exceptions import BudgetWarning, warn_user
from ..privacy.accounting.ledger import Budget
from ..privacy.oracle import Oracle
from ..problem.column_bounds import ColumnBounds
from .base import PrivateTransformer
from .column_ranges import POOR, ROUGH, evidence_of, private_column_ranges, voting


class RangedTransformer(PrivateTransformer, ABC):
    """A transformer that learns from features within ``bounds``, which it finds if none are given.

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
        if self.bounds is not None:
            self._given_bounds(self.bounds)

    @final
    def _find_bounds(self, oracle: Oracle, n_samples: int) -> ColumnBounds:
        """The bounds that are given, or else found, as they are published."""
        if self.bounds is None:
            share = oracle.budget.fraction(self._range_share)
            bounds = ranges_of_all(oracle, share, n_samples, self.n_features_in_)
        else:
            bounds = self._given_bounds(self.bounds)
        self.bounds_ = bounds.low, bounds.high
        return bounds


def ranges_of_all(
    oracle: Oracle,
    budget: Budget,
    n_samples: int,
    n_features: int,
    *,
    within: ColumnBounds | None = None,
) -> ColumnBounds:
    """Ranges of all features; see :func:`private_column_ranges`.

    Parameters
    ----------
    oracle : Oracle
        Asked for votes and for counts.
    budget : Budget
        Most that is spent on it.
    n_samples, n_features : int
        Public sizes.
    within : ColumnBounds, optional
        Bounds that are known; the search stays within.

    Warns
    -----
    BudgetWarning
        If noise hides most ranges, by the budget and the sizes alone.
    """
    searched = voting(n_features, codes=within is None)
    evidence = evidence_of(oracle.adjacency, budget, n_samples, searched)
    if evidence < ROUGH:
        few = "most ranges" if evidence < POOR else "up to a half of the ranges"
        instead = "(-1, 1)" if within is None else "what bounds gives"
        warn_user(
            f"{few.capitalize()} of {n_features} features will not be found in {n_samples:,} rows "
            f"with this epsilon; {instead} is used for those. Pass bounds if you know them, or a "
            "larger epsilon.",
            BudgetWarning,
        )
    oracle.note("ranges of columns")
    columns = tuple(range(n_features))
    sizes, codes = (n_samples, columns), within is None
    return private_column_ranges(oracle, budget, *sizes, codes=codes, within=within).bounds
