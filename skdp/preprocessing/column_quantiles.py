"""Private quantiles of columns, all of them from one release, and the transformers made of them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import lru_cache
from math import sqrt
from typing import final

import numpy as np
from scipy.optimize import isotonic_regression

from ..privacy.accounting.ledger import Spend
from ..privacy.oracle import Oracle
from ..problem.column_bounds import ColumnBounds
from .ranged_transformer import RangedTransformer

# Of the budget, for bounds that are not given. Of .2, .35, .5 and .65 the less were the better, but
# at little budget (2,000 and 20,000 rows of six columns, epsilon .1 to 4).
_RANGE_SHARE = 0.3
# Levels of a tree of 64 cells, and of 256 from this many standard deviations a row and column on.
_LEVELS, _FINE_LEVELS, _RICH = 3, 4, 500.0
# Standard deviations by which missing values have to be seen.
_SEEN = 4.0
# Share of the rows that is spread evenly, so that each share of the rows has one quantile.
_EVENLY = 1e-9


@dataclass(frozen=True, eq=False)
class ColumnDistributions:
    """Noisy distribution of each column, uniform within the cells of its range.

    Parameters
    ----------
    edges : ndarray of shape (d, m + 1)
        Ends of the cells of each column, increasing.
    shares : ndarray of shape (d, m + 1)
        Share of the values of the column below each, increasing from 0 to 1.
    seen : ndarray of shape (d,)
        Whether noise leaves to see that there are values that are not missing.
    """

    edges: np.ndarray
    shares: np.ndarray
    seen: np.ndarray

    def quantiles(self, shares: np.ndarray) -> np.ndarray:
        """Quantiles of each column, shape (k, d), at increasing shares (k,) between 0 and 1."""
        columns = zip(self.shares, self.edges, strict=True)
        found = np.column_stack([np.interp(shares, below, edges) for below, edges in columns])
        return np.maximum.accumulate(found)

    @property
    def resolution(self) -> np.ndarray:
        """Width of the cells of each column, (d,)."""
        return self.edges[:, 1] - self.edges[:, 0]


def private_column_distributions(
    oracle: Oracle, bounds: ColumnBounds, n_samples: int, spend: Spend
) -> ColumnDistributions:
    """Distributions of columns within bounds, from one tree of counts for each of them.

    The counts that are nearest to the noisy ones and add up to the public number of rows, then the
    nearest increasing ones. Missing values are left out, where there are visibly any.

    Parameters
    ----------
    oracle : Oracle
        Asked once.
    bounds : ColumnBounds
        Ranges; values beyond count as the ends.
    n_samples : int
        Public number of rows, or of privacy units.
    spend : Spend
        What it costs.
    """
    oracle.note("quantiles of columns")
    d = bounds.low.size
    rich = n_samples * sqrt(spend.amount / d) > _RICH
    levels = _FINE_LEVELS if rich else _LEVELS
    m = 4**levels
    tree = oracle.column_tree(bounds, levels, spend=spend)
    missing, nodes = tree.value[:, 0], tree.value[:, 1:]
    counts = nodes @ _least_squares(levels).T
    # What is not missing is counted once directly and once by the nodes, with so much of the
    # variance of a count.
    more = 3.0 * m / (m - 1)
    total = n_samples - (more * missing + n_samples - counts.sum(axis=1)) / (more + 1.0)
    least = _SEEN * tree.scale * sqrt(more / (more + 1.0))
    visible, seen = n_samples - total > least, total > least
    total = np.where(visible, np.maximum(total, 1.0), float(n_samples))
    # The nearest counts with this total: all leaves are alike to the tree.
    counts += ((total - counts.sum(axis=1)) / m)[:, None]
    below = np.zeros((d, m + 1))
    for column, found, whole in zip(below, counts, total, strict=True):
        column[1:-1] = np.clip(isotonic_regression(np.cumsum(found)[:-1]).x, 0.0, whole)
        column /= whole
        column[-1] = 1.0
    evenly = np.linspace(0.0, 1.0, m + 1)
    edges = bounds.low[:, None] + np.outer(bounds.high - bounds.low, evenly)
    edges[:, -1] = bounds.high
    return ColumnDistributions(edges, (1.0 - _EVENLY) * below + _EVENLY * evenly, seen)


@lru_cache(maxsize=2)
def _least_squares(levels: int) -> np.ndarray:
    """The matrix that takes counts of all nodes to the counts of the leaves that fit them best."""
    leaves = np.eye(4**levels)
    nodes = [leaves.reshape(4**k, -1, 4**levels).sum(axis=1) for k in range(1, levels + 1)]
    inverse: np.ndarray = np.linalg.pinv(np.concatenate(nodes))
    inverse.flags.writeable = False
    return inverse


class QuantileLearner(RangedTransformer, ABC):
    """A transformer that follows from ranges and quantiles of columns.

    A subclass says in ``_publish`` what it makes of the distributions of columns.

    Parameters
    ----------
    bounds : (low, high) or mapping, optional
        Each a number for all features or one for each feature, known without the data; or a
        dictionary of pairs (low, high) by column name. Bounds that are not given are found with
        three tenths of the budget, or all of it where no quantiles are asked for.

    Attributes
    ----------
    bounds_ : tuple of ndarray
        Low and high ends that were used, given or found, each of shape (`n_features_in_`,).
    """

    @property
    def _by_ranges(self) -> bool:
        """True if parameters ask for no quantile, so that the budget is all for ranges."""
        return False

    @property
    def _range_share(self) -> float:  # type: ignore[override]
        return 1.0 if self._by_ranges else _RANGE_SHARE

    @final
    def _learn(self, oracle: Oracle, n_samples: int) -> None:
        d, bounds = self.n_features_in_, self._find_bounds(oracle, n_samples)
        if self._by_ranges:
            ends = np.stack(self.bounds_, axis=1)
            distributions = ColumnDistributions(
                ends, np.tile([0.0, 1.0], (d, 1)), np.ones(d, dtype=bool)
            )
        else:
            spend = oracle.budget.whole()
            distributions = private_column_distributions(oracle, bounds, n_samples, spend)
        self._publish(distributions)

    @abstractmethod
    def _publish(self, distributions: ColumnDistributions) -> None:
        """Set the public attributes."""
