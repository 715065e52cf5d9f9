"""Checks of data whose errors quote nothing of the data."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["unquoted"]


def unquoted(check: Callable[..., Any], *args: Any, **options: Any) -> Any:
    """Call a function that validates data, and strip entries of the data from its errors.

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
        In place of an error that quotes entries, with the same meaning and without a reference to
        the original one. Other errors pass as they are.
    """
    try:
        return check(*args, **options)
    except (ValueError, OverflowError) as error:
        message = _without_entries(str(error))
        if message is None:
            raise
    raise ValueError(message)


def _without_entries(message: str) -> str | None:
    """A replacement for a message that quotes entries; None for one that does not."""
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
