"""Checks of the types of numbers that parts are configured with, such as losses and policies."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from numbers import Integral, Real
from typing import Any

import numpy as np

__all__ = ["check_integers", "check_numbers", "numbers_in", "settle_numbers", "shown", "sized"]

_LONGEST_STRING = 60
_LONGEST_TUPLE = 4
_LARGEST_INTEGER = 10**18
_CONTAINERS = (list, tuple, dict, set, frozenset, range)


def shown(value: object) -> str:
    """Text that a message may say of a parameter, which somebody may have filled with rows.

    Parameters
    ----------
    value : object
        As a user has passed it.

    Returns
    -------
    str
        Plain numbers, None, short strings, short tuples of these, classes, and parts of this
        package that are made of these as they are written; anything else by type and size. No
        code of the value's own is run to print it.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp.arguments import shown
    >>> print(shown(0.5), shown((0, 1)), shown("gd"), shown(np.ones((50, 3))))
    0.5 (0, 1) 'gd' an array of shape (50, 3) and dtype float64
    """
    kind = type(value)
    if kind is tuple and len(value) <= _LONGEST_TUPLE:  # type: ignore[arg-type]
        if all(_is_plain(v) for v in value):  # type: ignore[attr-defined]
            return repr(tuple(_python(v) for v in value))  # type: ignore[attr-defined]
    elif _is_plain(value):
        return repr(_python(value))
    elif isinstance(value, type):
        return f"the class {value.__name__}"
    elif is_dataclass(value) and kind.__module__.startswith("skdp."):
        # Those of users may have a representation of their own.
        listed = (f"{f.name}={shown(getattr(value, f.name))}" for f in fields(value) if f.repr)
        return f"{kind.__name__}({', '.join(listed)})"
    if kind is str or kind is np.str_:
        return f"a string of {len(value)} characters"  # type: ignore[arg-type]
    if kind is int:
        return f"an integer of {value.bit_length()} bits"  # type: ignore[attr-defined]
    return sized(value)


def sized(value: Any) -> str:
    """Type of a value, which may be data, and its size if it is of a usual type.

    Parameters
    ----------
    value : object
        Anything.

    Returns
    -------
    str
        Words that depend on no entry.
    """
    kind = type(value)
    name = kind.__name__
    if kind in _CONTAINERS:
        return f"a {name} of {len(value)} {'item' if len(value) == 1 else 'items'}"
    try:
        shape, dtype = getattr(value, "shape", None), getattr(value, "dtype", None)
    except MemoryError:
        raise
    except Exception:
        shape = dtype = None
    if type(shape) is not tuple or not all(type(size) is int for size in shape):
        return f"a value of type {name}"
    what = "an array" if isinstance(value, np.ndarray) else f"a {name}"
    # Types of pandas list categories, those of records name fields, and those of strings tell how
    # long the longest is.
    if isinstance(dtype, np.dtype) and dtype.kind in "biufcOmM":
        return f"{what} of shape {shape} and dtype {dtype.name}"
    return f"{what} of shape {shape}"


def _is_plain(value: object) -> bool:
    """Whether this is a number, a short string or nothing, and not of a class of the user's."""
    kind = type(value)
    if kind is int:
        return abs(value) <= _LARGEST_INTEGER  # type: ignore[arg-type]
    if kind in (str, np.str_):
        return len(value) <= _LONGEST_STRING  # type: ignore[arg-type]
    number = isinstance(value, np.number | np.bool_) and kind.__module__ == "numpy"
    return value is None or kind in (bool, float, complex) or number


def _python(value: Any) -> Any:
    """The same without the name of a type of numpy."""
    return value.item() if isinstance(value, np.generic) else value


def check_numbers(who: str, **given: object) -> None:
    """Refuse what is not a real number.

    Parameters
    ----------
    who : str
        Who needs them.
    **given : object
        The arguments by name.

    Raises
    ------
    ValueError
        If one is of another type. The message names the type, not the value, which could be data.
    """
    _check(who, given, Real, "a number")


def check_integers(who: str, **given: object) -> None:
    """Refuse what is not an integer.

    Parameters
    ----------
    who : str
        Who needs them.
    **given : object
        The arguments by name.

    Raises
    ------
    ValueError
        If one is of another type.
    """
    _check(who, given, Integral, "an integer")


def settle_numbers(thing: Any) -> None:
    """Refuse fields that are not real numbers, and keep others in double precision.

    A float32 would compute in single precision, and a fraction not at all with arrays.

    Parameters
    ----------
    thing : object
        A frozen dataclass, all of whose fields are numbers; its class is who needs them.

    Raises
    ------
    ValueError
        If one is of another type, or finite but beyond double precision.
    """
    who = type(thing).__name__
    for field in fields(thing):
        value = getattr(thing, field.name)
        check_numbers(who, **{field.name: value})
        try:
            double = float(value)
        except OverflowError:
            raise ValueError(
                f"{who} needs a number for {field.name} that is at most 1.8e308, got a larger "
                f"{type(value).__name__}; pass a float."
            ) from None
        if type(value) not in (int, float):
            object.__setattr__(thing, field.name, double)


def numbers_in(given: object) -> np.ndarray | None:
    """An array-like of real numbers as an array of float64; None if it is something else.

    Words are not read as numbers, so that no message can quote them.

    Parameters
    ----------
    given : object
        As a user has passed it.

    Returns
    -------
    ndarray or None
        Entries may be missing or infinite.
    """
    try:
        found = np.asarray(given)
        return found.astype(float) if found.dtype.kind in "biufO" else None
    except MemoryError:
        raise
    except Exception:
        # Objects that make arrays of themselves raise what they like.
        return None


def _check(who: str, given: dict[str, object], kind: type, needed: str) -> None:
    for name, value in given.items():
        # True counts as 1 in Python, but nobody means it.
        if not isinstance(value, kind) or isinstance(value, bool):
            raise ValueError(
                f"{who} needs {needed} for {name}, got a {type(value).__name__}; convert it first."
            )
