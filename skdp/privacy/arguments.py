"""Checks of the arguments that both calculi take."""

from __future__ import annotations

from numbers import Real

from ..arguments import shown

__all__ = ["check_delta", "check_non_negative"]

# Below, subnormal numbers would break the guarantee.
_SMALLEST_DELTA = 1e-300


def check_non_negative(who: str, name: str, value: float) -> None:
    """Refuse what is negative or not a number."""
    if not (isinstance(value, Real) and value >= 0.0):
        raise ValueError(
            f"{who} needs {name} in [0, inf]; got {shown(value)}. Pass a non-negative {name}."
        )


def check_delta(who: str, delta: float) -> None:
    """Refuse a delta that is no probability strictly between 0 and 1."""
    if not (isinstance(delta, Real) and _SMALLEST_DELTA <= delta < 1.0):
        raise ValueError(
            f"{who} needs delta strictly between 0 and 1 (at least 1e-300); got {shown(delta)}. "
            "Choose delta well below one over the number of rows."
        )
