"""Weights of rows, checked and brought to units of the largest that counts."""

from __future__ import annotations

from contextlib import suppress
from math import inf
from numbers import Real
from typing import Any

import numpy as np
from sklearn.utils import check_array

from .reading import redacted


def in_units_of(largest: float, sample_weight: Any, n_samples: int) -> np.ndarray:
    """Weights divided by the largest that counts, and at most 1; (n_samples,).

    Weights are as secret as the rows that have them. Larger ones count as the largest, without a
    warning, which would tell that there is one. There is one weight for each row, or one for all;
    the largest that counts is public and positive.

    Raises
    ------
    ValueError
        If they are not numbers, negative, not finite, or of another shape; nothing of them is
        quoted. Weights that are all zero are none of that.
    """
    if isinstance(sample_weight, Real):
        value = inf
        with suppress(Exception):
            value = float(sample_weight)
        weights = np.full(n_samples, value)
    else:
        weights = _as_numbers(sample_weight)
    if weights.ndim != 1:
        raise ValueError(
            f"Sample weights must be 1D array or scalar, got {weights.ndim} dimensions; pass one "
            "weight for each row."
        )
    if weights.shape != (n_samples,):
        raise ValueError(
            f"sample_weight.shape == {weights.shape}, expected {(n_samples,)}; pass one weight for "
            "each row."
        )
    if not np.isfinite(weights).all():
        raise ValueError("sample_weight contains NaN or infinity; finite weights are needed.")
    if (weights < 0).any():
        raise ValueError("Negative values in data passed to `sample_weight`; 0 is the least.")
    return np.minimum(weights, largest) / largest


def _as_numbers(sample_weight: Any) -> np.ndarray:
    options: dict[str, Any] = {"dtype": np.float64, "ensure_2d": False, "ensure_all_finite": False}
    numbers = None
    # Times would be counted in units that they happen to have.
    if getattr(getattr(sample_weight, "dtype", None), "kind", "f") not in "mM":
        try:
            numbers = redacted(
                check_array, sample_weight, allow_nd=True, ensure_min_samples=0, **options
            )
        except MemoryError:
            raise
        except Exception:
            numbers = None
    # Raised here and not on the way, where it would carry an error that quotes a weight.
    if numbers is None:
        raise ValueError("sample_weight needs numbers, one for each row; it holds other values.")
    return numbers
