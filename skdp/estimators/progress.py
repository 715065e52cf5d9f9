"""What a model knows of the rows it has been given, all of it public."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from ..bounds import RowBounds, RowMap
from ..privacy.parts import Parts
from ..problem import Problem

if TYPE_CHECKING:
    from .base import PrivateLinearModel

__all__ = ["Progress", "Released"]

# They decide neither what a model promises nor what it was fitted to.
_FREE = {"random_state", "clip_predictions", "warm_start", "verbose"}
# What may still be decided when a stream goes on from a fit.
_OF_STREAMS = {"horizon", "buffer", "solver"}


@dataclass(frozen=True, eq=False)
class Released:
    """What the next part may know of the parts before it, all of it published.

    Parameters
    ----------
    bounds : RowBounds
        Bounds given, or paid for once.
    coef : ndarray of shape (n_features, n_scores)
        The latest model, in the units of the problem, for features as they come.
    intercept : ndarray of shape (n_scores,)
        Its intercepts.
    row_map : RowMap, optional
        Coordinates that its part was conditioned to.
    """

    bounds: RowBounds
    coef: np.ndarray
    intercept: np.ndarray
    row_map: RowMap | None = None

    def start(self, problem: Problem) -> np.ndarray:
        """The same model in the coordinates of a problem of the same units."""
        return problem.from_user_coordinates(self.coef, self.intercept)

    def coordinates(self, bounds: RowBounds) -> RowMap | None:
        """Coordinates that rows within these bounds may be conditioned to at once."""
        return self.row_map if bounds == self.bounds else None


class Progress:
    """What a model knows of the rows it has been given; nothing that is not public.

    Parameters
    ----------
    model : estimator
        Whose parameters are noted, so that a change is noticed.

    Attributes
    ----------
    parts : Parts
        The receipts.
    released : Released or None
        None before the first release.
    seen : int
        Number of rows that were taken.
    streaming : bool
        Whether a stream has begun.
    secretive : bool
        Whether the stream cannot go on without what pickles leave behind.
    weighted : bool
        Whether the rows of the stream have weights.
    """

    def __init__(self, model: PrivateLinearModel) -> None:
        self._settings = {name: copy(getattr(model, name)) for name in _noted(type(model))}
        self.parts = Parts()
        self.released: Released | None = None
        self.seen = 0
        self.streaming = self.secretive = self.weighted = False

    def begun(self, model: PrivateLinearModel, *, secretive: bool, weighted: bool) -> Progress:
        """The record of a stream that goes on from here."""
        other = copy(self)
        other._settings = Progress(model)._settings
        other.parts = copy(self.parts)
        other.streaming, other.secretive, other.weighted = True, secretive, weighted
        return other

    def same(self, model: PrivateLinearModel, name: str) -> bool:
        """Whether a parameter is as it was."""
        value = getattr(model, name)
        return _same(value, self._settings.get(name, value))

    def check_unchanged(self, model: PrivateLinearModel) -> None:
        """Refuse parameters that differ from those that the record began with.

        Raises
        ------
        ValueError
            Naming them.
        """
        changed = [
            name
            for name, value in self._settings.items()
            if not _same(getattr(model, name), value)
            and (self.streaming or name not in _OF_STREAMS)
        ]
        if changed:
            raise ValueError(
                f"{type(model).__name__}.partial_fit needs the parameters with which the model "
                f"began, got other values of {', '.join(changed)}: what was promised about rows "
                "that were taken cannot change. Set them back, call fit to start anew, or use a "
                "clone for a new stream."
            )


@cache
def _noted(kind: type[PrivateLinearModel]) -> tuple[str, ...]:
    """Names of the parameters that are noted; to look them up takes long for a small fit."""
    return tuple(name for name in kind._get_param_names() if name not in _FREE)


def _same(value: Any, noted: Any) -> bool:
    if value is noted:
        return True
    if isinstance(value, np.ndarray) or isinstance(noted, np.ndarray):
        return bool(np.array_equal(value, noted))
    try:
        return type(value) is type(noted) and bool(value == noted)
    except ValueError:
        return False
