"""Checks of the types of numbers that losses, penalties and constraints are made of."""

from __future__ import annotations

from numbers import Integral, Real

__all__ = ["check_integers", "check_numbers"]


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


def _check(who: str, given: dict[str, object], kind: type, needed: str) -> None:
    for name, value in given.items():
        # True counts as 1 in Python, but nobody means it.
        if not isinstance(value, kind) or isinstance(value, bool):
            raise ValueError(
                f"{who} needs {needed} for {name}, got a {type(value).__name__}; convert it first."
            )
