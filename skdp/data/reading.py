"""Checks of data whose errors quote nothing of the data."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import sklearn

__all__ = ["unquoted", "vigilant"]


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
    try:
        with vigilant():
            return check(*args, **options)
    except (ValueError, OverflowError) as error:
        message = _without_entries(str(error))
        if message is None:
            raise
    raise ValueError(message)


def _without_entries(message: str) -> str | None:
    """A replacement for a message that should not be shown; None for one that may be."""
    if message.startswith("Input X contains NaN"):
        # The original recommends imputation, most kinds of which learn from the rows.
        return (
            "Input X contains NaN; fill them with a known constant, for example "
            "SimpleImputer(strategy='constant'), or drop the rows."
        )
    if "could not convert" in message:
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
    return None
