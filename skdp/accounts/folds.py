"""How often a row takes part in the fits of a cross-validation.

A row that is in one test fold alone is left out of that fold's fit. If the folds do not depend on
what rows say, neighbours have the same folds, and the fit that leaves the row out has the same law
for both: it is post-processing for that row, whatever it releases. So of k fits those k - 1 compose
that hold the row. Folds that balance classes or groups look at labels: exchange one row, and others
change places. Then all k fits count, and even that takes the places for public.
"""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral
from typing import Any

from sklearn.model_selection import (
    KFold,
    LeaveOneOut,
    LeavePOut,
    PredefinedSplit,
    RepeatedKFold,
    ShuffleSplit,
    TimeSeriesSplit,
)

__all__ = ["Folds", "folds_of"]

# Each row is in one test fold of each repetition.
_PARTITIONS = (KFold, LeaveOneOut, RepeatedKFold)
_BLIND = (*_PARTITIONS, LeavePOut, PredefinedSplit, ShuffleSplit, TimeSeriesSplit)
_DEFAULT = 5


@dataclass(frozen=True)
class Folds:
    """How often a row takes part in the fits of a cross-validation.

    Parameters
    ----------
    fits : int
        How many of the fits of one candidate hold a row.
    look_at_rows : bool
        Whether which rows are where may depend on what rows say.
    """

    fits: int
    look_at_rows: bool


def folds_of(cv: Any, n_splits: int | None, *, classifier: bool) -> Folds:
    """The folds that scikit-learn makes of its parameter ``cv``.

    Parameters
    ----------
    cv : object
        The parameter.
    n_splits : int or None
        How many there were, if that is known.
    classifier : bool
        Whether folds of a number balance classes.

    Raises
    ------
    ValueError
        If it cannot be told how many folds there were.
    """
    if cv is None or isinstance(cv, Integral):
        count = n_splits or (_DEFAULT if cv is None else int(cv))
        return Folds(count, True) if classifier else Folds(count - 1, False)
    if n_splits is None:
        n_splits = getattr(cv, "n_splits", None)
        if n_splits is None:
            raise ValueError(f"there is no telling how many folds {type(cv).__name__} made")
    if type(cv) in _PARTITIONS:
        return Folds(n_splits - int(getattr(cv, "n_repeats", 1)), False)
    return Folds(n_splits, type(cv) not in _BLIND)
