"""Arrays that need no validation."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["plain"]


def plain(values: Any) -> np.ndarray | None:
    """The values themselves if they are finite numbers in double precision, and need no look.

    Parameters
    ----------
    values : object
        As given by a user.

    Returns
    -------
    ndarray or None
        None where a validation has to say what is wrong, or convert.
    """
    if type(values) is not np.ndarray or values.dtype != np.float64 or not values.size:
        return None
    return values if bool(np.isfinite(values).all()) else None
