"""The range to which features are brought."""

from __future__ import annotations

from math import inf
from typing import Any

from ..arguments import check_numbers, shown

__all__ = ["FEATURE_RANGE", "checked_range"]

FEATURE_RANGE: list[Any] = [tuple, list]


def checked_range(who: str, given: Any) -> tuple[float, float]:
    """The two ends that a parameter ``feature_range`` gives.

    Parameters
    ----------
    who : str
        Whose parameter it is.
    given : (float, float)
        The ends.

    Raises
    ------
    ValueError
        If these are not two finite numbers, the first less than the second.
    """
    if len(given) == 2:
        a, b = given
        check_numbers(who, **{"the low end of feature_range": a, "its high end": b})
        if a < b and float(b) - float(a) < inf:
            return float(a), float(b)
    raise ValueError(
        f"{who} needs feature_range=(low, high), finite with low < high, got {shown(given)}; "
        "(0, 1) and (-1, 1) are usual."
    )
