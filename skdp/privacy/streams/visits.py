"""Persons who come back to a stream: whose rows are whose, and how often somebody has counted."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, Self, final

import numpy as np

from ..rows.base import ResidentRows
from ..rows.dense_rows import DenseRows
from ..rows.sparse_rows import SparseRows

__all__ = ["CallOfPersons", "Visits"]


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

    def admit(self, labels: Sequence[Hashable], part: int) -> np.ndarray:
        """Note a visit of each of these persons; True for those who count.

        Parameters
        ----------
        labels : sequence of hashable
            Different ones.
        part : int
            Number of the part, not below earlier ones. Who has come to it before counts no more.

        Returns
        -------
        ndarray of bool of shape (len(labels),)
            Secret.
        """
        out = np.zeros(len(labels), dtype=bool)
        for i, label in enumerate(labels):
            count, latest = self._counts.get(label, (0, -1))
            if count < self._max_visits and latest < part:
                self._counts[label] = (count + 1, part)
                out[i] = True
        return out


@final
class CallOfPersons:
    """Rows of one call of a stream, person by person, in the order in which they first appear.

    Neighbours differ in all rows of one person, here and in other calls: whatever their number and
    contents, the person keeps the place among the others. So the number of persons is public, as
    the number of rows is where each is the record of another person; the number of rows, whose
    they are, and who counts are secret.

    Parameters
    ----------
    rows : ResidentRows
        Of the call, as they came.
    ids : array-like of shape (n_rows,)
        Label of the person of each row.

    Raises
    ------
    ValueError
        If there is not one label for each row; nothing of them is quoted.
    """

    def __init__(self, rows: ResidentRows, ids: Any) -> None:
        labels, codes = _first_seen(ids, rows.n_samples)
        order = np.argsort(codes, kind="stable")
        self._labels = labels
        self._rows = rows if bool((np.diff(codes) >= 0).all()) else _taken(rows, order)
        counts = np.bincount(codes, minlength=len(labels))
        self._starts = np.concatenate([[0], np.cumsum(counts)])

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

    @property
    def sizes(self) -> np.ndarray:
        """Number of rows of each person. Secret."""
        return np.diff(self._starts)

    def part(self, start: int, stop: int) -> Self:
        """The persons ``start <= i < stop``, at least one."""
        if stop - start == self.n_samples:
            return self
        first, last = int(self._starts[start]), int(self._starts[stop])
        other = type(self).__new__(type(self))
        other._labels = self._labels[start:stop]
        other._rows = self._rows.part(first, last)
        other._starts = self._starts[start : stop + 1] - first
        return other

    def weighted(self, counting: np.ndarray) -> ResidentRows:
        """The rows, each of which weighs one over the number of rows of its person here, or 0.

        The weights of a person add up to 1 at most, so that what the person adds to a sum over rows
        lies in the convex hull of what one row may add: a convex bound on that, such as a norm,
        holds for persons.

        Parameters
        ----------
        counting : ndarray of bool
            Who counts.
        """
        sizes, rows = self.sizes, self._rows
        weights = np.repeat(counting / sizes, sizes)
        if rows.weights is not None:
            weights *= rows.weights
        store = _store(rows.X, rows.y, weights)
        store.n_samples = self.n_samples
        return store


def _first_seen(ids: Any, n_rows: int) -> tuple[list[Hashable], np.ndarray]:
    """Different labels in the order in which they come, and the number of each row's label."""
    try:
        # In an array of all, one text would make texts of numbers.
        array = np.asarray(ids, dtype=object) if isinstance(ids, list | tuple) else np.asarray(ids)
        if array.dtype.kind == "f" and not np.isfinite(array).all():
            raise ValueError
        listed = array.tolist()
        numbers: dict[Hashable, int] = {}
        if array.shape != (n_rows,) or any(_missing(label) for label in listed):
            raise ValueError
        codes = [numbers.setdefault(label, len(numbers)) for label in listed]
    except Exception:
        numbers = {}
    # Raised here and not on the way, where it would carry an error that quotes a label.
    if not numbers:
        raise ValueError(
            f"privacy_unit needs one label of a person for each of {n_rows} rows, a number, a "
            "string or another hashable, and none missing; it holds something else."
        )
    return list(numbers), np.array(codes, dtype=np.intp)


def _missing(label: Any) -> bool:
    """True for None, NaN and other labels that do not equal themselves."""
    return label is None or bool(label != label)


def _taken(rows: ResidentRows, order: np.ndarray) -> ResidentRows:
    weights = None if rows.weights is None else rows.weights[order]
    return _store(rows.X[order], rows.y[order], weights)


def _store(X: Any, y: np.ndarray, weights: np.ndarray | None) -> ResidentRows:
    kind = DenseRows if isinstance(X, np.ndarray) else SparseRows
    return kind(X, y, weights)
