"""Neighbouring data sets: those that a user passes in, and a search for some that are far apart.

The search replaces one row by a few others: long ones, which clipping has to shorten, along the row
and across it, along the coefficients of a recorded fit and across them, in a few random directions,
at the ends of all columns, and none, each with targets at either end. The recorded fit is replayed
over each of them, which finds leaks and says how far apart the answers are for each two, and the
two that are farthest apart are taken. Whatever is searched with, an audit of the pair is valid,
because the runs that are counted come later.
"""

from __future__ import annotations

from dataclasses import replace
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone

from ..model_selection.base import PrivateSearch
from ..privacy.rows.privacy_units import PrivacyUnits
from ..validation import sized
from .claims import Claim
from .likelihoods import Answer, UnknownLikelihoodError
from .programs import FitProgram, Program, Recording
from .recording import DivergedError

# Times the bound on rows, or the longest row if there is none.
_LONG = 1e3
# Directions that are tried beside those that follow from the row and from coefficients.
_RANDOM = 8


def arrays(X: Any, y: Any) -> tuple[Any, Any]:
    """Arrays, or a dataframe, of which rows can be taken; a sparse matrix becomes CSR.

    Whole numbers become floats, so that a row can be replaced by any other.
    """
    if hasattr(X, "iloc"):
        X = X.astype({name: float for name in X.columns if X[name].dtype.kind in "iu"})
    else:
        X = sp.csr_array(X) if sp.issparse(X) else np.asarray(X)
        if X.dtype.kind == "c":
            raise ValueError("audit needs rows of real numbers, got complex ones.")
        X = X.astype(float) if X.dtype.kind in "iub" else X
    y = np.asarray(y)
    if X.ndim != 2 or y.ndim not in (1, 2) or X.shape[0] != len(y) or not len(y):
        raise ValueError(
            f"audit needs rows in two dimensions and as many targets, got X of shape {X.shape} and "
            f"y of shape {y.shape}."
        )
    return X, y


def with_units(data: tuple[Any, Any], labels: Any) -> tuple[Any, ...]:
    """The data set with the labels of the privacy units of its rows."""
    PrivacyUnits.of(labels).check(*data)
    return (*data, np.asarray(labels))


def second_of(other: Any, data: tuple[Any, ...]) -> tuple[Any, ...]:
    """The second data set, like the first; labels of units are its own or those of the first.

    Parameters
    ----------
    other : tuple
        ``(X, y)``, and the labels of privacy units if it has others.
    data : tuple
        The first data set, with labels if units are protected.
    """
    if not isinstance(other, tuple | list) or len(other) not in (2, len(data)):
        labelled = " or (X, y, privacy_unit)" * (len(data) > 2)
        raise ValueError(
            f"audit needs other=(X, y){labelled}, rows and targets of a neighbour, got "
            f"{sized(other)}; pass other=(other_X, y) if rows alone differ."
        )
    found = arrays(other[0], other[1])
    return found if len(data) == 2 else with_units(found, (*other, data[2])[2])


def rows_in_question(data: tuple[Any, ...], other: tuple[Any, ...] | None, row: int) -> np.ndarray:
    """The rows of the first data set in which neighbours differ.

    Parameters
    ----------
    data : tuple
        ``(X, y)``, where each row is a unit by itself, or ``(X, y, privacy_unit)``.
    other : tuple or None
        Of a neighbour, if one is given, whose unit is the one in which they differ.
    row : int
        A row of the unit, if none is given.
    """
    labels = _labels(data)
    if other is None:
        return np.flatnonzero(labels == labels[row])
    here, there = _by_unit(data), _by_unit(other)
    differ = [key for key in here if key not in there or not _same(here[key], there[key])]
    more = [key for key in there if key not in here]
    if len(here) != len(there) or len(differ) != 1 or len(more) > 1:
        one, all_ = "the rows of one privacy unit", "units"
        if len(data) == 2:
            one, all_ = "one row", "rows"
        raise ValueError(
            f"audit needs neighbours, which differ in {one}, got data of shapes {data[0].shape} "
            f"and {other[0].shape} that differ in {len(differ) + len(more)} {all_}, with "
            f"{len(here)} and {len(there)}."
        )
    return np.flatnonzero(np.array([key == differ[0] for key in labels.tolist()]))


def _labels(data: tuple[Any, ...]) -> np.ndarray:
    """Labels of the units of rows: their places, if each row is a unit by itself."""
    return data[2] if len(data) > 2 else np.arange(len(data[1]))


def _by_unit(data: tuple[Any, ...]) -> dict[Any, tuple[np.ndarray, np.ndarray]]:
    """Rows and targets of each unit, in their order."""
    X, y = data[:2]
    if hasattr(X, "iloc"):
        X = X.to_numpy()
    X = X.toarray() if sp.issparse(X) else X
    places: dict[Any, list[int]] = {}
    for i, label in enumerate(_labels(data).tolist()):
        places.setdefault(label, []).append(i)
    return {label: (X[rows], y[rows]) for label, rows in places.items()}


def _same(one: tuple[np.ndarray, np.ndarray], other: tuple[np.ndarray, np.ndarray]) -> bool:
    return all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))


def farthest(answers: list[Answer], data_sets: int) -> tuple[int, int]:
    """The two data sets whose answers are farthest apart."""
    squares = np.zeros((data_sets, data_sets))
    for answer in answers:
        vectors = np.stack([answer.coordinates(k) for k in range(data_sets)])
        vectors = vectors - vectors[0]
        norms = np.square(vectors).sum(axis=1)
        squares += norms[:, None] + norms - 2 * vectors @ vectors.T
    i, j = np.unravel_index(int(np.argmax(np.triu(squares, 1))), squares.shape)
    return int(i), int(j)


def candidates(
    estimator: Any, data: tuple[Any, ...], row: np.ndarray, coef: np.ndarray | None
) -> list[tuple[Any, ...]]:
    """The data with other rows in place of one, or of all those of a privacy unit.

    Parameters
    ----------
    estimator : estimator
        Whose bounds and classes count.
    data : tuple
        ``(X, y)``, and the labels of privacy units if there are any.
    row : ndarray of int
        Which rows are replaced, all by the same.
    coef : ndarray or None
        Coefficients of a fit, if there are any.
    """
    X, y = data[:2]
    numeric = _numeric(X)
    values = _dense(X, numeric)
    own = values[row[0]]
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
    data: tuple[Any, ...], row: np.ndarray, numeric: np.ndarray, x: np.ndarray, target: Any
) -> tuple[Any, ...]:
    X, y, *labels = data
    if hasattr(X, "iloc"):
        X = X.copy()
        X.iloc[row, np.flatnonzero(numeric)] = np.tile(x, (len(row), 1))
    elif sp.issparse(X):
        taken = np.arange(X.shape[0])
        taken[row] = X.shape[0]
        X = sp.csr_array(sp.vstack([X, sp.csr_array(x[None])]))[taken]
    elif numeric.all():
        X = X.copy()
        X[row] = x
    y = y.astype(np.result_type(y.dtype, np.asarray(target).dtype))
    y[row] = target
    return X, y, *labels


class Found(NamedTuple):
    """A program with two data sets, and what is known before it is run over and over."""

    #: With the two.
    program: Program
    #: Of a run.
    claim: Claim
    #: That a run takes.
    seconds: float
    #: Those of a recorded fit under both, or why there are none.
    answers: list[Answer] | UnknownLikelihoodError
    #: What differs at the boundary.
    leaks: list[str]


def replayed(program: Program, row: np.ndarray) -> Found:
    """Record a run, and replay it over the other data set, or over all that may be.

    Parameters
    ----------
    program : Program
        With one data set, or two.
    row : ndarray of int
        The row in which others differ, or all those of a privacy unit.
    """
    began = perf_counter()
    claim = Claim.of(program.run(0))
    seconds = perf_counter() - began
    try:
        recording = program.record()
    except UnknownLikelihoodError as unknown:
        return Found(program, claim, seconds, unknown, [])
    asked = {name for name, _, _ in recording.tape.asked} | recording.tape.streams
    why = "a stream that is open over several calls"
    try:
        if isinstance(program, FitProgram) and not claim.queries <= asked:
            raise DivergedError(why)
        tried, accepted, leaks = _neighbours(program, recording, row)
    except DivergedError as failure:
        if str(failure) != why:
            why = "queries that differ when a run is repeated"
        if len(program.data) == 1:
            sets = candidates(program.estimator, program.data[0], row, None)
            program = replace(program, data=(sets[0], sets[1]))
        return Found(program, claim, seconds, UnknownLikelihoodError(why), [])
    if leaks:
        return Found(tried, claim, seconds, [], leaks)
    try:
        answers = recording.tape.answers()
    except UnknownLikelihoodError as unknown:
        pair = (tried.data[accepted[0]], tried.data[accepted[-1]])
        return Found(replace(program, data=pair), claim, seconds, unknown, [])
    i, j = (0, 1) if len(accepted) == 2 else farthest(answers, len(accepted))
    program = replace(program, data=(tried.data[accepted[i]], tried.data[accepted[j]]))
    return Found(program, claim, seconds, [answer.between(i, j) for answer in answers], [])


def _neighbours(
    program: Program, recording: Recording, row: np.ndarray
) -> tuple[Program, list[int], list[str]]:
    """Replay a recorded run over all neighbours: the program with them, those taken, and leaks."""
    zero_out = isinstance(program, FitProgram) and program.left_out is not None
    tried, accepted = program, [0]
    if isinstance(program, FitProgram) and (zero_out or len(program.data) == 1):
        sets = candidates(program.estimator, program.data[0], row, _coefficients(recording))
        tried = replace(program, data=(program.data[0], *sets), left_out=None)
        for k in range(1, len(tried.data)):
            try:
                leaks = tried.replay(recording, k)
            except DivergedError:
                raise
            except Exception:
                # Which rows are refused is part of no claim.
                continue
            if leaks:
                return tried, [], leaks
            accepted.append(k)
            if zero_out:
                recording.tape.forget()
        if not zero_out:
            return tried, accepted, []
    try:
        return program, [0, 1], program.replay(recording, 1)
    except DivergedError:
        raise
    except Exception as failure:
        return program, [], [f"{type(failure).__name__} is raised for the second data set alone"]


def winners_of(program: Program, row: np.ndarray) -> Found:
    """Run a search once, on neighbours that are far apart for what is searched over."""
    if len(program.data) == 1:
        estimator = program.estimator
        params = estimator.get_params(deep=True).items()
        inner = {name: part.estimator for name, part in params if isinstance(part, PrivateSearch)}
        if isinstance(estimator, PrivateSearch):
            searched = estimator.estimator
        else:
            searched = clone(estimator).set_params(**inner)
        found = replayed(replace(program, estimator=searched), row)
        program = replace(program, data=found.program.data[-2:])
    began = perf_counter()
    claim = Claim.of(program.run(0))
    unknown = UnknownLikelihoodError(type(program.estimator).__name__)
    return Found(program, claim, perf_counter() - began, unknown, [])


def _coefficients(recording: Recording) -> np.ndarray | None:
    coef = getattr(recording.model, "coef_", None)
    return None if coef is None else np.asarray(coef, dtype=float)
