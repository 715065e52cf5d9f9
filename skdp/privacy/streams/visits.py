"""Persons who come back to a stream: whose rows are whose, and how often somebody has counted."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import replace
from itertools import repeat
from typing import Any, Self, final

import numpy as np

from ..rows.base import ResidentRows
from ..rows.dense_rows import DenseRows
from ..rows.privacy_units import PrivacyUnits
from ..rows.sparse_rows import SparseRows

__all__ = ["CallOfUnits", "Visits", "labels_of_rows"]


@final
class Visits:
    """Table of the parts of a stream in which the rows of each person have counted.

    A part is whatever is answered by itself: a batch of a running sum, a block, or a call. A person
    counts in at most ``max_visits`` parts, the first ones, and nothing says whether a person still
    does. The table is as secret as the rows: it holds who came and how often. It lies in the
    session of a stream, which goes into secret checkpoints and into no pickle.

    Parameters
    ----------
    max_visits : int
        Most parts in which a person counts, at least 1.
    """

    def __init__(self, max_visits: int) -> None:
        self._max_visits = max_visits
        self._counts: dict[Hashable, tuple[int, int]] = {}

    @property
    def max_visits(self) -> int:
        """Most parts in which a person counts. Public."""
        return self._max_visits

    def admit(self, labels: list[Hashable], parts: int | Iterable[int]) -> np.ndarray:
        """Note visits of persons; True for those that count.

        Parameters
        ----------
        labels : list of hashable
            Whose visits they are.
        parts : int or iterable of int
            Number of the part of all visits, or of each, not below earlier ones. Somebody counts in
            a part once.

        Returns
        -------
        ndarray of bool of shape (len(labels),)
            Secret.
        """
        out = np.zeros(len(labels), dtype=bool)
        of_visits = repeat(parts) if isinstance(parts, int) else parts
        for i, (label, part) in enumerate(zip(labels, of_visits, strict=False)):
            count, latest = self._counts.get(label, (0, -1))
            if count < self._max_visits and latest < part:
                self._counts[label] = (count + 1, part)
                out[i] = True
        return out


@final
class CallOfUnits:
    """Rows of one call of a stream, person by person, in the order in which they first appear.

    Neighbours differ in all rows of one person, here and in other calls: whatever their number and
    contents, the person keeps the place among the others. So the number of persons is public, as
    the number of rows is where each is the record of another person; the number of rows, whose
    they are, and who counts are secret.

    Parameters
    ----------
    rows : ResidentRows
        Of the call, as they came.
    labels : array-like of shape (n_rows,)
        Label of the person of each row.

    Raises
    ------
    ValueError
        If labels are missing or cannot be compared; nothing of them is quoted.
    """

    def __init__(self, rows: ResidentRows, labels: Any) -> None:
        self._labels, codes = _first_seen(labels)
        if bool((np.diff(codes) < 0).any()):
            order = np.argsort(codes, kind="stable")
            weights = None if rows.weights is None else rows.weights[order]
            rows = _store(rows.X[order], rows.y[order], weights)
        self._rows, self._sizes = rows, np.bincount(codes)

    @property
    def n_samples(self) -> int:
        """Number of persons. Public."""
        return len(self._labels)

    @property
    def n_features(self) -> int:
        """Number of features. Public."""
        return self._rows.n_features

    @property
    def sparse(self) -> bool:
        """True if rows are stored sparsely. Public."""
        return self._rows.sparse

    @property
    def weighted(self) -> bool:
        """True if rows have weights of their own. Public."""
        return self._rows.weighted

    @property
    def dtype(self) -> np.dtype:
        """Type of the features. Public."""
        return self._rows.X.dtype

    @property
    def labels(self) -> list[Hashable]:
        """Labels of the persons. Secret."""
        return self._labels

    @property
    def rows(self) -> ResidentRows:
        """All rows. Secret, and so is their number."""
        return self._rows

    def part(self, start: int, stop: int) -> Self:
        """The persons ``start <= i < stop``, at least one."""
        if stop - start == self.n_samples:
            return self
        first = int(self._sizes[:start].sum())
        other = type(self).__new__(type(self))
        other._labels, other._sizes = self._labels[start:stop], self._sizes[start:stop]
        other._rows = self._rows.part(first, first + int(other._sizes.sum()))
        return other

    def row_labels(self) -> list[Hashable]:
        """Label of the person of each of ``rows``. Secret."""
        return [
            label
            for label, size in zip(self._labels, self._sizes, strict=True)
            for _ in range(size)
        ]

    def counting(self, admitted: np.ndarray) -> ResidentRows:
        """A store in which the rows of these persons share the weight of one row, others have none.

        So :mod:`skdp.privacy.rows.privacy_units` holds for it: what a person adds to a sum lies in
        the convex hull of what one row may add, and 0. All persons are among its units.

        Parameters
        ----------
        admitted : ndarray of bool of shape (n_samples,)
            Who counts.
        """
        units = PrivacyUnits.of(np.repeat(np.arange(self.n_samples), self._sizes))
        units = replace(units, shares=units.shares * admitted[units.codes])
        return _store(self._rows.X, self._rows.y, self._rows.weights, units)


def labels_of_rows(labels: Any) -> list[Hashable]:
    """Labels of rows, each of which is a visit by itself.

    Parameters
    ----------
    labels : array-like of shape (n_rows,)
        Label of the person of each row.

    Raises
    ------
    ValueError
        If labels are missing or cannot be compared; nothing of them is quoted.
    """
    PrivacyUnits.of(labels)
    return np.asarray(labels).tolist() if hasattr(labels, "__array__") else list(labels)


def _first_seen(labels: Any) -> tuple[list[Hashable], np.ndarray]:
    """Different labels in the order in which they come, and the number of each row's label."""
    codes, listed = PrivacyUnits.of(labels).codes, labels_of_rows(labels)
    first = np.unique(codes, return_index=True)[1]
    rank = np.empty(first.size, dtype=np.intp)
    rank[np.argsort(first)] = np.arange(first.size)
    return [listed[i] for i in np.sort(first)], rank[codes]


def _store(
    X: Any, y: np.ndarray, weights: np.ndarray | None, units: PrivacyUnits | None = None
) -> ResidentRows:
    return (DenseRows if isinstance(X, np.ndarray) else SparseRows)(X, y, weights, units)
