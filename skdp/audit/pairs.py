"""Neighbouring data sets: those that somebody passes in, and a search for some that are far apart.

The search replaces one row by a few others: long ones, which clipping has to shorten, along the row
and across it, along the coefficients of a recorded fit and across them, in a few random directions,
at the ends of all columns, and none, each with targets at either end. The recorded fit is replayed
over each of them, which says how far apart the answers are for each two, and the two that are
farthest apart are taken. Whatever is searched with, an audit of the pair is valid, because the runs
that are counted come later.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from .likelihoods import Answer

__all__ = ["candidates", "check_neighbours", "differing_rows", "farthest", "opposite_targets"]

# Times the bound on rows, or the longest row if there is none.
_LONG = 1e3
# Directions that are tried beside those that follow from the row and from coefficients.
_RANDOM = 8


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
        changed = (np.asarray(other_X) != np.asarray(X)).any(axis=1)
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


def farthest(answers: list[Answer], data_sets: int) -> tuple[int, int]:
    """The two data sets whose answers are farthest apart.

    Parameters
    ----------
    answers : list of Answer
        Under all data sets.
    data_sets : int
        How many there are.
    """
    squares = np.zeros((data_sets, data_sets))
    for answer in answers:
        vectors = np.stack([answer.coordinates(k) for k in range(data_sets)])
        vectors = vectors - vectors[0]
        norms = np.square(vectors).sum(axis=1)
        squares += norms[:, None] + norms - 2 * vectors @ vectors.T
    i, j = np.unravel_index(int(np.argmax(np.triu(squares, 1))), squares.shape)
    return int(i), int(j)


def opposite_targets(estimator: Any, data: tuple[Any, Any]) -> tuple[Any, Any]:
    """Data set with the targets changed: another class, or the other end of the range.

    Parameters
    ----------
    estimator : estimator
        Whose classes or target bounds count.
    data : tuple
        ``(X, y)``.
    """
    X, y = data
    low, high = _ends(estimator, y)[:2]
    if _given(estimator, "classes", 0) != 0:
        return X, np.where(y == low, high, low)
    return X, np.where(y > 0.5 * (low + high), low, high)


def candidates(
    estimator: Any, data: tuple[Any, Any], row: int, coef: np.ndarray | None
) -> list[tuple[Any, Any]]:
    """The data with other rows in place of one.

    Parameters
    ----------
    estimator : estimator
        Whose bounds and classes count.
    data : tuple
        ``(X, y)``.
    row : int
        Which row is replaced.
    coef : ndarray or None
        Coefficients of a fit, if there are any.
    """
    X, y = data
    numeric = _numeric(X)
    values = _dense(X, numeric)
    own = values[row]
    size = np.abs(own).max(initial=0.0)
    # What can be no row is left to the estimator to refuse.
    along = own / size if 0 < size < np.inf else np.ones_like(own)
    along = _unit(along)
    directions = [along]
    if along.size > 1:
        across = np.zeros_like(along)
        across[int(np.abs(along).argmin())] = 1.0
        directions += [across, _unit(along + across)]
        directions += [*map(_unit, np.random.default_rng(0).normal(size=(_RANDOM, along.size)))]
        if coef is not None and coef.size % along.size == 0 and np.isfinite(coef).all():
            fitted = _unit(coef.reshape(-1, along.size)[0])
            directions += [fitted, _unit(along - (along @ fitted) * fitted)]
    length = _given(estimator, "data_norm", None) or _longest(values)
    rows = [sign * _LONG * length * u for u in directions for sign in (1, -1)]
    with np.errstate(all="ignore"):
        ends = _LONG * np.abs(values).max(axis=0, initial=0.0)
    rows += [ends, -ends, np.zeros_like(along)]
    return [_with_row(data, row, numeric, x, t) for x in rows for t in _ends(estimator, y)]


def _given(estimator: Any, name: str, otherwise: Any) -> Any:
    """A parameter of an estimator, or of what it is composed of."""
    params = estimator.get_params(deep=True)
    found = [params[key] for key in params if key.rpartition("__")[2] == name]
    return found[-1] if found else otherwise


def _unit(direction: np.ndarray) -> np.ndarray:
    norm = float(np.linalg.norm(direction))
    return direction / norm if norm > 0 else direction


def _numeric(X: Any) -> np.ndarray:
    """Marks of the columns that hold numbers."""
    if hasattr(X, "iloc"):
        return np.array([kind.kind in "fiu" for kind in X.dtypes], dtype=bool)
    return np.full(X.shape[1], X.dtype.kind in "fiub")


def _dense(X: Any, numeric: np.ndarray) -> np.ndarray:
    if hasattr(X, "iloc"):
        return X.loc[:, numeric].to_numpy(dtype=float)
    if not numeric.all():
        return np.zeros((X.shape[0], 0))
    return np.asarray(X.toarray() if sp.issparse(X) else X, dtype=float)


def _longest(values: np.ndarray) -> float:
    with np.errstate(all="ignore"):
        longest = float(np.linalg.norm(values, axis=1).max())
    return longest if 0 < longest < np.inf else 1.0


def _ends(estimator: Any, y: np.ndarray) -> list[Any]:
    """Two targets that are far apart, and a class that nobody has where classes are read off y."""
    classes = _given(estimator, "classes", 0)
    if classes is None:
        labels = np.unique(y)
        if labels.dtype.kind == "b":
            return [False, True]
        unseen = labels[-1] + 1 if labels.dtype.kind in "iuf" else f"not {labels[-1]}"
        return [labels[0], labels[-1], unseen]
    if not isinstance(classes, int):
        return [np.asarray(classes)[0], np.asarray(classes)[-1]]
    bounds = _given(estimator, "target_bounds", None)
    return [y.min(), y.max()] if bounds is None else [*map(float, bounds)]


def _with_row(
    data: tuple[Any, Any], row: int, numeric: np.ndarray, x: np.ndarray, target: Any
) -> tuple[Any, Any]:
    X, y = data
    if hasattr(X, "iloc"):
        X = X.copy()
        X.iloc[row, np.flatnonzero(numeric)] = x
    elif sp.issparse(X):
        X = sp.csr_array(sp.vstack([X[:row], sp.csr_array(x[None]), X[row + 1 :]]))
    elif numeric.all():
        X = X.copy()
        X[row] = x
    y = y.astype(np.result_type(y.dtype, np.asarray(target).dtype))
    y[row] = target
    return X, y
