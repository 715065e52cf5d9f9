"""Targets that models were fitted to, known by their place in memory, not by what they say."""

from __future__ import annotations

from typing import Any, NamedTuple
from weakref import WeakKeyDictionary, ref

import numpy as np

from .composition_verdicts import nested_estimators
from .open_budgets import BudgetedEstimator


class _Place(NamedTuple):
    """Addresses of an array within a block of memory, as long as that lives."""

    owner: ref[np.ndarray]
    first: int
    end: int

    @classmethod
    def of(cls, array: np.ndarray) -> _Place:
        owner = array
        while isinstance(owner.base, np.ndarray):
            owner = owner.base
        steps = [(n - 1) * step for n, step in zip(array.shape, array.strides, strict=True)]
        start = array.__array_interface__["data"][0]
        first, last = start + sum(min(s, 0) for s in steps), start + sum(max(s, 0) for s in steps)
        return cls(ref(owner), first, last + array.itemsize)

    def overlaps(self, other: _Place) -> bool:
        same = self.owner() is not None and self.owner() is other.owner()
        return same and self.first < other.end and other.first < self.end


_places: WeakKeyDictionary[Any, _Place] = WeakKeyDictionary()


def remember_targets(model: Any, y: Any) -> None:
    """Note what a model is being fitted to, as long as somebody else keeps it.

    Parameters
    ----------
    model : estimator
        Private.
    y : object
        Targets as ``fit`` was given them, which pipelines hand on as they are.
    """
    _places.pop(model, None)
    if (array := _array_of(y)) is not None:
        _places[model] = _Place.of(array)


def was_fitted_to(estimator: Any, y: Any) -> bool:
    """Tell whether a part of an estimator was fitted to some of these targets, in this process.

    No target is read: they lie at the same place in memory, or they are taken for others.

    Parameters
    ----------
    estimator : estimator
        Fitted; a pipeline, say.
    y : object
        Targets.
    """
    array = _array_of(y)
    if array is None or not array.size:
        return False
    parts = (part for _, part in nested_estimators(estimator, "", fitted=True))
    private = [part for part in parts if isinstance(part, BudgetedEstimator)]
    found = [_places[part] for part in private if part in _places]
    return any(place.overlaps(_Place.of(array)) for place in found)


def _array_of(y: Any) -> np.ndarray | None:
    """The array that holds targets, of which pandas makes views; None for lists and others."""
    if type(y).__module__.startswith("pandas."):
        # Arrays of its own, without a frame or series around them, have none.
        y = getattr(y, "values", None)
    return y if isinstance(y, np.ndarray) else None
