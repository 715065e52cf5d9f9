"""Targets of rows: checked without quoting any, and turned into numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp

from ...validation import shown
from .reading import places_among


def checked_classes(who: str, labels: Any) -> np.ndarray:
    """Labels of classes, sorted.

    Parameters
    ----------
    who : str
        Whose parameter ``classes`` they are.
    labels : array-like of shape (n_classes,)
        Public.

    Raises
    ------
    ValueError
        If they are no list of labels of one kind.
    """
    try:
        given = np.asarray(labels)
        classes = np.unique(given)
        # Not a number is not equal to itself, so no row could have that label.
        usable = given.ndim == 1 and bool(np.all(classes == classes))
        # Numpy writes numbers among strings as strings, which no number in y is equal to.
        usable &= given.dtype.kind != "U" or all(isinstance(c, str) for c in labels)
    except MemoryError:
        raise
    except Exception:
        usable = False
    if not usable:
        raise ValueError(
            f"{who} needs classes to be a list of labels of one kind, numbers or strings, got "
            f"{shown(labels)}."
        )
    return classes


def encoder_of_classes(who: str, classes: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
    """A function from labels to their places among sorted classes, which refuses others."""

    def encode(y: np.ndarray) -> np.ndarray:
        code = places_among(classes, y)
        if code is None:
            raise ValueError(
                f"{who} needs labels among the {classes.size} classes; y holds others. "
                "Add them to classes=[...], with the type that they have in y, or remove the "
                "rows. (Inside VotingClassifier, StackingClassifier, BaggingClassifier or "
                "cross_val_predict of probabilities labels are 0..k-1, and inside "
                "OneVsRestClassifier 0 and 1.)"
            )
        return code.astype(np.float64) if classes.size == 2 else code

    return encode


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
    """Targets as finite numbers of at least 0, for whom this name calls."""
    numbers = as_numbers(name, y)
    if np.any(numbers < 0):
        raise ValueError(
            f"{name} needs targets of at least 0, numbers or rates of events; y holds others. Drop "
            "those rows, if their number may be known, or use DPLinearRegression."
        )
    return numbers
