"""Neighbouring data sets: those that somebody passes in, and a search for some that are far apart.

The search looks at one row and a few that may replace it: long ones, which clipping has to shorten,
in a direction and against it, across it, and none, with targets at either end. Along one recorded
fit it computes how far apart the answers to all questions are for each two of them, and takes the
two that are farthest apart. Whatever is searched with, an audit of the pair is valid, because
the runs that are counted come later.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations
from math import inf
from typing import Any

import numpy as np
import scipy.sparse as sp

from .trials import FitTrial

__all__ = ["check_neighbours", "differing_rows", "farthest_pair", "opposite_targets"]

# Times the bound on rows, or the longest row if there is none.
_LONG = 1e3


def differing_rows(data: tuple[Any, Any], other: tuple[Any, Any]) -> np.ndarray:
    """The rows in which two data sets of the same shape differ.

    Parameters
    ----------
    data, other : tuple
        ``(X, y)`` each.

    Raises
    ------
    ValueError
        If shapes differ.
    """
    (X, y), (other_X, other_y) = data, other
    if X.shape != other_X.shape or y.shape != other_y.shape:
        raise ValueError(
            f"audit needs other data of the same shape, got X of shape {other_X.shape} for "
            f"{X.shape} and y of shape {other_y.shape} for {y.shape}."
        )
    if sp.issparse(X):
        changed = np.diff(sp.csr_array(sp.csr_array(X) - sp.csr_array(other_X)).indptr) > 0
    else:
        changed = (other_X != X).any(axis=1)
    targets = (y != other_y).reshape(len(y), -1).any(axis=1)
    return np.flatnonzero(changed | targets)


def check_neighbours(data: tuple[Any, Any], other: tuple[Any, Any]) -> int:
    """The row in which two data sets differ.

    Parameters
    ----------
    data, other : tuple
        ``(X, y)`` each.

    Raises
    ------
    ValueError
        If it is not one.
    """
    rows = differing_rows(data, other)
    if rows.size != 1:
        raise ValueError(
            f"audit needs neighbours, which differ in one row, got data that differ in {rows.size} "
            "rows. Use method='one_run' for several."
        )
    return int(rows[0])


def farthest_pair(
    estimator: Any,
    data: tuple[Any, Any],
    row: int,
    calls: tuple[slice, ...] | None,
    fit_params: Mapping[str, Any],
) -> tuple[tuple[Any, Any], tuple[Any, Any]]:
    """The data with two candidates for one row whose answers are farthest apart.

    Parameters
    ----------
    estimator : estimator
        What will be audited.
    data : tuple
        ``(X, y)``.
    row : int
        Which row is replaced.
    calls, fit_params
        As for :class:`~skdp.audit.trials.FitTrial`.
    """
    sets = tuple(_with_row(data, row, x, t) for x, t in _candidates(estimator, data, row))
    trial = FitTrial(estimator, sets, row=row, calls=calls, fit_params=fit_params)
    _, notes = trial.witnessed(0, trial.stores())
    pairs = list(combinations(range(len(sets)), 2))
    apart = [sum(note.squared_distance(i, j) for note in notes) for i, j in pairs]
    i, j = pairs[int(np.argmax(apart))]
    return sets[i], sets[j]


def opposite_targets(estimator: Any, data: tuple[Any, Any]) -> tuple[Any, Any]:
    """The same rows, each with another class or with the target at the other end.

    Parameters
    ----------
    estimator : estimator
        Whose classes or target bounds count.
    data : tuple
        ``(X, y)``.
    """
    X, y = data
    low, high = _ends(estimator, y)
    if hasattr(estimator, "classes"):
        return X, np.where(y == low, high, low)
    return X, np.where(y > 0.5 * (low + high), low, high)


def _candidates(estimator: Any, data: tuple[Any, Any], row: int) -> list[tuple[np.ndarray, Any]]:
    X, y = data
    dense = np.asarray(X[[row]].toarray() if sp.issparse(X) else X[[row]], dtype=float)[0]
    size = np.abs(dense).max(initial=0.0)
    # What can be no row is left to the estimator to refuse.
    along = dense / size if 0 < size < inf else np.ones_like(dense)
    along = along / np.linalg.norm(along)
    across = np.zeros_like(along)
    across[int(np.abs(along).argmin())] = 1.0
    length = getattr(estimator, "data_norm", None) or _longest(X)
    rows = [_LONG * length * along, -_LONG * length * along, np.zeros_like(along)]
    if along.size > 1:
        rows += [_LONG * length * across, _LONG * length * (along + across)]
    return [(x, t) for x in rows for t in _ends(estimator, y)]


def _longest(X: Any) -> float:
    with np.errstate(all="ignore"):
        norms = sp.linalg.norm(X, axis=1) if sp.issparse(X) else np.linalg.norm(X, axis=1)
    longest = float(norms.max())
    return longest if 0 < longest < inf else 1.0


def _ends(estimator: Any, y: np.ndarray) -> list[Any]:
    """Two targets that are far apart."""
    if hasattr(estimator, "classes"):
        labels = np.unique(y) if estimator.classes is None else np.asarray(estimator.classes)
        return [labels[0], labels[-1]]
    bounds = getattr(estimator, "target_bounds", None)
    low, high = (float(y.min()), float(y.max())) if bounds is None else bounds
    return [low, high]


def _with_row(data: tuple[Any, Any], row: int, x: np.ndarray, target: Any) -> tuple[Any, Any]:
    X, y = data
    if sp.issparse(X):
        X = sp.csr_array(X)
        X = sp.csr_array(sp.vstack([X[:row], sp.csr_array(x[None]), X[row + 1 :]]))
    else:
        X = X.copy()
        X[row] = x
    y = y.copy()
    y[row] = target
    return X, y
