"""Checks of the types of numbers that parts are configured with, such as losses and policies."""

from __future__ import annotations

from dataclasses import fields
from numbers import Integral, Real
from typing import Any

import numpy as np

__all__ = ["check_integers", "check_numbers", "numbers_in", "settle_numbers"]


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
        if not isinstance(value, int | float):
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
    except (OverflowError, TypeError, ValueError):
        return None


def _check(who: str, given: dict[str, object], kind: type, needed: str) -> None:
    for name, value in given.items():
        # True counts as 1 in Python, but nobody means it.
        if not isinstance(value, kind) or isinstance(value, bool):
            raise ValueError(
                f"{who} needs {needed} for {name}, got a {type(value).__name__}; convert it first."
            )
