"""Models whose predictions are known to be of one row each, by all that they are made of."""

from __future__ import annotations

from enum import Enum
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.dummy import DummyClassifier

# Modules whose classes predict and transform one row at a time, without drawing random numbers,
# if all that they hold does. A class that is handed functions may be among them.
_MODULES = (
    "skdp.", "sklearn._loss.", "sklearn.calibration.", "sklearn.compose.",
    "sklearn.discriminant_analysis.", "sklearn.dummy.", "sklearn.ensemble.",
    "sklearn.feature_selection.", "sklearn.frozen.", "sklearn.impute._base.",
    "sklearn.linear_model.", "sklearn.multiclass.", "sklearn.naive_bayes.", "sklearn.neighbors.",
    "sklearn.pipeline.", "sklearn.preprocessing.", "sklearn.svm.", "sklearn.tree.",
    "sklearn.utils._bunch.",
)  # fmt: skip
_PLAIN = (type(None), bool, int, float, complex, str, bytes, slice, range)
_ARRAYS = (np.ndarray, np.ma.MaskedArray)
_CONTAINERS = (dict, list, tuple, set, frozenset)
_TYPES = (bool, int, float, object, str)
# The others draw random numbers.
_STRATEGIES = ("prior", "most_frequent", "constant")


def is_pointwise(model: Any) -> bool:
    """Tell whether a model is known to predict rows one by one, whatever rows come together.

    All that it holds is walked, what was fitted included. A function, or an object of a class that
    is not known, makes the answer False.

    Parameters
    ----------
    model : estimator
        Fitted or not.
    """
    # By identity; kept, so that none is used twice.
    seen: dict[int, Any] = {}
    waiting = [model]
    while waiting:
        part = waiting.pop()
        if id(part) in seen:
            continue
        seen[id(part)] = part
        held = _held(part)
        if held is None:
            return False
        waiting += held
    return True


def _held(part: Any) -> list[Any] | None:
    """Contents of an object; None if its class is not known, or it is a function."""
    kind = type(part)
    module = f"{kind.__module__}."
    if kind in _PLAIN or isinstance(part, Enum | np.dtype) or sp.issparse(part):
        return []
    if isinstance(part, type):
        scalar = part in _TYPES or (issubclass(part, np.generic) and part.__module__ == "numpy")
        return [] if scalar else None
    if (module == "numpy." and isinstance(part, np.generic)) or module.startswith("numpy.random."):
        return []
    if kind in _ARRAYS:
        return part.ravel().tolist() if part.dtype.hasobject else []
    if not (kind in _CONTAINERS or module.startswith(_MODULES)):
        return None
    if isinstance(part, DummyClassifier) and part.strategy not in _STRATEGIES:
        return None
    held = list(vars(part).values()) if hasattr(part, "__dict__") else []
    if isinstance(part, dict):
        held += [*part, *part.values()]
    elif isinstance(part, list | tuple | set | frozenset):
        held += part
    return held
