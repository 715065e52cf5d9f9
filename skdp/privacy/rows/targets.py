"""Targets of rows: checked without quoting any, and turned into numbers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from ...validation import shown, sized
from .bounded_rows import MANY_ROWS
from .dask_rows import is_collection
from .reading import places_among, zeroes


def checked_classes(
    who: str, labels: Any, *, parameter: str = "classes", least: int = 0
) -> np.ndarray:
    """Labels of classes, sorted.

    Parameters
    ----------
    who : str
        Whose parameter they are.
    labels : array-like of shape (n_classes,)
        Public.
    parameter : str, default='classes'
        Its name.
    least : int, default=0
        How many different ones there have to be.

    Raises
    ------
    ValueError
        If they are no list of different labels of one kind, or too few.
    """
    try:
        given = np.asarray(labels)
        classes = np.unique(given)
        # Not a number is not equal to itself, so no row could have that label.
        usable = given.ndim == 1 and bool(np.all(classes == classes))
        # Numpy writes numbers among strings as strings, which no number in y is equal to.
        usable &= given.dtype.kind != "U" or all(isinstance(c, str) for c in labels)
        usable &= classes.size >= least
    except MemoryError:
        raise
    except Exception:
        usable = False
    if not usable:
        raise ValueError(
            f"{who} needs {parameter} to be a list of {f'at least {least} ' * bool(least)}labels "
            f"of one kind, numbers or strings, got {shown(labels)}."
        )
    if classes.size < given.size:
        raise ValueError(
            f"{who} needs each label once in {parameter}, got {shown(labels)}, some of them alike; "
            "pass those that are known without looking at y."
        )
    return classes


@dataclass(frozen=True, eq=False)
class ClassEncoder:
    """A function from labels to their places among sorted classes, which refuses others.

    Parameters
    ----------
    who : str
        For whom it calls.
    classes : ndarray of shape (K,)
        The classes. Places are floats for two of them, and else whole numbers.
    """

    who: str
    classes: np.ndarray

    def __call__(self, y: np.ndarray) -> np.ndarray:
        """Places of these labels."""
        code = places_among(self.classes, y)
        if code is None:
            raise ValueError(
                f"{self.who} needs labels among the {self.classes.size} classes; y holds others. "
                "Add them to classes=[...], with the type that they have in y, or remove the "
                "rows. (Inside VotingClassifier, StackingClassifier, BaggingClassifier or "
                "cross_val_predict of probabilities labels are 0..k-1, and inside "
                "OneVsRestClassifier 0 and 1.)"
            )
        return code.astype(np.float64) if self.classes.size == 2 else code


def encoded_targets(y: Any, encode: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
    """Encoded targets; those of many rows some at a time, in the shortest type that has room.

    It follows from types alone, and holds every target exactly.
    """
    exact = isinstance(encode, ClassEncoder)
    if not (isinstance(y, np.ndarray) and len(y) > MANY_ROWS):
        return encode(y)
    if not (exact or np.can_cast(y.dtype, np.float32)):
        return encode(y)
    out: np.ndarray | None = None
    for start in range(0, len(y), MANY_ROWS):
        part = encode(y[start : start + MANY_ROWS])
        if out is None:
            short = np.float32 if part.dtype == np.float64 else np.int32
            out = np.empty((len(y), *part.shape[1:]), dtype=short)
        out[start : start + len(part)] = part
    assert out is not None
    return out


def signed_times(name: str, y: Any) -> Any:
    """Times to an event as numbers: of an event as it is, of a last sight without one negative.

    Parameters
    ----------
    name : str
        Whom they are for.
    y : structured array, frame of two columns, or array-like of shape (n_samples,)
        In a structured array the field of booleans says whether there was an event and the other
        one when, as in scikit-survival; in a frame likewise, whatever the order, or else the first
        column says whether. One number a row is taken as it is.

    Raises
    ------
    ValueError
        If it is none of these.
    """
    frame = hasattr(y, "columns") and hasattr(y, "dtypes") and not is_collection(y)
    fields = getattr(getattr(y, "dtype", None), "names", None)
    if frame:
        parts = [np.asarray(y.iloc[:, k]) for k in range(y.shape[1])]
    elif fields is not None and np.ndim(y) == 1:
        parts = [y[field] for field in fields]
    elif _has_columns(y) or getattr(getattr(y, "dtype", None), "kind", None) == "b":
        raise ValueError(
            f"{name} needs events beside times: y as a structured array of the two, for example "
            "np.rec.fromarrays([event, time], names='event, time'), as a frame of two columns, or "
            f"as one number a row, minus the time where there was no event; got {sized(y)}."
        )
    else:
        return y
    logical = [part.dtype.kind == "b" for part in parts]
    if len(parts) == 2 and logical == [False, True]:
        parts.reverse()
    numbers = len(parts) == 2 and all(part.dtype.kind in "buif" for part in parts)
    event, time = parts if numbers else (np.zeros(1), np.full(1, np.nan))
    zero_one = bool(np.all((event == 0) | (event == 1)))
    if not (numbers and zero_one and np.all(np.isfinite(time)) and np.all(time >= 0)):
        raise ValueError(
            f"{name} needs y with a field or column of True or False, or a first one of 1 and 0, "
            "whether there was an event, and one of finite times of at least 0, when that was or "
            "somebody was last seen; y holds others. Drop rows without a time, if their number may "
            "be known."
        )
    # Zero has no sign that would last.
    time = np.maximum(time.astype(np.float64), np.finfo(np.float64).tiny)
    return np.where(event == 1, time, -time)


def _has_columns(y: Any) -> bool:
    """True for several numbers a row, as in a table, pairs, or a pair of vectors."""
    if isinstance(y, list | tuple):
        return bool(y) and isinstance(y[0], list | tuple | np.ndarray)
    shape: tuple[int, ...] = getattr(y, "shape", ())
    return len(shape) == 2 and shape[-1] != 1


# Not a method: what is sent to the workers of a cluster must not hold the seed of the noise.
def as_numbers(name: str, y: np.ndarray) -> np.ndarray:
    """Targets as finite numbers, for whom this name calls."""
    numbers = None
    if sp.issparse(y):
        raise ValueError(f"{name} needs targets in a dense array, got a sparse one.")
    # Times would be counted in units that y happens to have, and missing ones be finite.
    if np.asarray(y).dtype.kind not in "mM":
        try:
            numbers = np.asarray(y).astype(np.float64, copy=False)
        except MemoryError:
            raise
        except Exception:
            numbers = None
    # Raised here and not on the way, where it would carry an error that quotes a target.
    if numbers is None:
        raise ValueError(f"{name} needs numeric targets; y holds other values.")
    if not np.all(np.isfinite(numbers)):
        raise ValueError(
            f"{name} needs finite targets; input y contains NaN or infinity. Drop those rows, if "
            "their number may be known."
        )
    # A table of one column is one target a row.
    return numbers[:, 0] if numbers.ndim == 2 and numbers.shape[1] == 1 else numbers


def as_counts(name: str, y: np.ndarray) -> np.ndarray:
    """Targets as finite numbers of at least 0, for whom this name calls.

    Where a function of targets may have made negative ones in a search, these are 0.
    """
    numbers = as_numbers(name, y)
    if zeroes():
        return np.maximum(numbers, 0.0)
    if np.any(numbers < 0):
        raise ValueError(
            f"{name} needs targets of at least 0, numbers or rates of events; y holds others. Drop "
            "those rows, if their number may be known, or use DPLinearRegression."
        )
    return numbers
