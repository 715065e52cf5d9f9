"""Checks of data whose errors quote nothing of the data."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import sklearn

__all__ = ["in_order", "unquoted", "vigilant"]


@contextmanager
def vigilant() -> Iterator[None]:
    """Context in which data are checked the same way whatever the settings of the process.

    Checks for finite entries cannot be switched off, because bounds on rows rest on them. Numpy
    neither warns nor raises about arithmetic on entries that are valid though extreme, because
    that would tell of single rows.

    Yields
    ------
    None
    """
    with sklearn.config_context(assume_finite=False), np.errstate(all="ignore"):
        yield


def unquoted(check: Callable[..., Any], *args: Any, **options: Any) -> Any:
    """Call a function that validates data, vigilantly, and strip entries from its errors.

    Some messages of numpy and scikit-learn show the entry or the array that they refuse, and
    messages end up in logs that fewer people guard than the data.

    Parameters
    ----------
    check : callable
        For example :func:`sklearn.utils.check_array`.
    *args, **options
        What it is called with.

    Returns
    -------
    object
        What it returns.

    Raises
    ------
    ValueError
        In place of an error that quotes entries, or whose advice costs privacy, with the same
        meaning and without a reference to the original one. Other errors pass as they are.
    """
    if any(map(_holds_dates, args)):
        raise ValueError(
            "Numeric features are needed; X holds dates or times. Turn them into numbers first, "
            "for example into days since a fixed date."
        )
    try:
        with vigilant():
            return check(*args, **options)
    except (TypeError, ValueError, OverflowError) as error:
        message = _without_entries(str(error), options.get("input_name", "X"))
        if message is None:
            raise
    raise ValueError(message)


def in_order(X: Any, y: Any, n_features: int, dtypes: Sequence[Any]) -> bool:
    """Whether data pass scikit-learn's checks as they are, told in a fraction of the time.

    False is no verdict: those checks find what is wrong and say so, or bring it in order.

    Parameters
    ----------
    X, y : object
        Features and targets.
    n_features : int
        Number of features that X should have, and at least one row.
    dtypes : sequence of type
        Types that X may have.

    Returns
    -------
    bool
        True only for plain arrays of these types, of matching shapes, all entries finite.
    """
    return (
        type(X) is np.ndarray
        and type(y) is np.ndarray
        and X.dtype in dtypes
        and X.ndim == 2
        and X.shape[1] == n_features
        and y.shape == (len(X),)
        and len(X) > 0
        and y.dtype.kind in "biuf"
        and bool(np.isfinite(X).all())
        and bool(np.isfinite(y).all())
    )


def _holds_dates(given: Any) -> bool:
    """Whether this is a table with columns of dates, which would be read as huge integers."""
    if len(getattr(given, "shape", ())) != 2:
        return False
    types = getattr(given, "dtypes", [getattr(given, "dtype", None)])
    return any(getattr(t, "kind", None) in ("m", "M") for t in types)


def _without_entries(message: str, name: str) -> str | None:
    """A replacement for a message that should not be shown; None for one that may be."""
    if message.startswith("Input X contains NaN"):
        # The original recommends imputation, most kinds of which learn from the rows.
        return (
            "Input X contains NaN; fill them with a known constant, for example "
            "SimpleImputer(strategy='constant', keep_empty_features=True), or drop the rows."
        )
    if "could not convert" in message or message.startswith("Cannot cast"):
        if name != "X":
            return f"Numbers are needed; {name} holds other entries. Convert them first."
        return (
            "Numeric features are needed; X holds entries that are not numbers. Encode them "
            "first, for example with OneHotEncoder(categories=...)."
        )
    if "too large to convert" in message:
        return "Entries that fit in double precision are needed; some integers are too large."
    if "Complex data not supported" in message:
        return "Complex data not supported; real numbers are needed."
    if "Expected 2D array, got" in message:
        return (
            f"{message.partition('instead')[0]}instead. Reshape your data, with "
            "array.reshape(-1, 1) if it has one feature or array.reshape(1, -1) if it is one row."
        )
    if message.startswith("The 'y_true' parameter"):
        return "An array of targets is needed as y, one a row; got something else."
    if "got scalar" in message:
        return "Input should have at least 1 dimension, got a scalar."
    return None
