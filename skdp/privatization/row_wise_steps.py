"""Steps that learn nothing from rows: parameters with which that is so, and what comes out."""

from __future__ import annotations

from math import inf, sqrt
from typing import Any, NamedTuple

from sklearn.feature_extraction.text import HashingVectorizer, TfidfTransformer, TfidfVectorizer
from sklearn.impute import MissingIndicator, SimpleImputer
from sklearn.kernel_approximation import RBFSampler
from sklearn.preprocessing import (
    Binarizer,
    Normalizer,
    OneHotEncoder,
    PolynomialFeatures,
)

from ..preprocessing import BoundsScaler, DPMinMaxScaler, DPStandardScaler, RowNormClipper
from ..privacy.adjacency import PrivacyUnit
from ..reporting.verdicts import rules_broken


class Columns(NamedTuple):
    """Public facts about the columns that a step is given.

    Parameters
    ----------
    bounds : (low, high), mapping or None
        Ranges, in the form of ``data_bounds``.
    named : bool
        Whether columns have the names that they had at first.
    norm : float or None
        Bound on the l2 norm of a row.
    listed : list or None
        Names or numbers of the columns at first, if a ColumnTransformer lists them.
    beside : bool
        Whether a ColumnTransformer puts other columns beside them.
    given : bool
        Whether the ranges are those that the user knows of these columns.
    """

    bounds: Any = None
    named: bool = True
    norm: float | None = None
    listed: list[Any] | None = None
    beside: bool = False
    given: bool = False

    @property
    def common(self) -> tuple[float, float] | None:
        """One range that holds all columns, if ranges are given for all of them together."""
        given = self.bounds
        if isinstance(given, tuple) and all(isinstance(end, int | float) for end in given):
            low, high = given
            return float(low), float(high)
        return None


def changes_that_forget(step: Any, unit: PrivacyUnit) -> dict[str, tuple[Any, str]]:
    """Parameters to change so that a step learns and tells nothing, with the reasons.

    Parameters
    ----------
    step : estimator
        A step that handles each row by itself, given the right parameters.
    unit : PrivacyUnit
        What is protected.
    """
    now, changes = step.get_params(deep=False), {}
    for rule in rules_broken(step, unit):
        for name, value in rule.changes.items():
            if type(now[name]) is not type(value) or now[name] != value:
                changes[name] = value, f"It {rule.does}."
    if type(step) is HashingVectorizer and step.alternate_sign:
        changes["alternate_sign"] = False, "Signs cancel words, and private models lose more by it."
    return changes


def columns_after(step: Any, before: Columns) -> Columns:
    """Public facts about the columns that come out of a step.

    Parameters
    ----------
    step : estimator
        With parameters as they are going to be.
    before : Columns
        About those that it is given.
    """
    kind, unnamed = type(step), Columns(named=False)
    if kind is Normalizer:
        return Columns((-1.0, 1.0), False, 1.0 if step.norm in ("l1", "l2") else None)
    if kind in (HashingVectorizer, TfidfTransformer, TfidfVectorizer):
        return Columns(None, False, 1.0 if step.norm in ("l1", "l2") else None)
    if kind is RowNormClipper:
        return Columns(None, False, float(step.max_norm))
    if kind is OneHotEncoder:
        listed = not isinstance(step.categories, str)
        return Columns((0.0, 1.0), False, sqrt(len(step.categories)) if listed else None)
    if kind in (Binarizer, MissingIndicator):
        return Columns((0.0, 1.0), False)
    if kind is RBFSampler:
        # Each of the components is sqrt(2 / n_components) times a cosine.
        return Columns(None, False, sqrt(2.0))
    if kind in (BoundsScaler, DPMinMaxScaler):
        clips = kind is BoundsScaler or step.clip
        low, high = step.feature_range
        bounds = (float(low), float(high)) if clips else None
        return before._replace(bounds=bounds, named=False, norm=None)
    if kind is PolynomialFeatures:
        low, high = before.common or (-inf, inf)
        # Products of such are such.
        within = low >= -1 and high <= 1
        return Columns((0.0 if low >= 0 else -1.0, 1.0), False) if within else unnamed
    if kind is SimpleImputer:
        # A model holds what is filled in to the range of the column, too.
        return before._replace(named=False, norm=None)
    if kind is DPStandardScaler:
        return before._replace(bounds=None, named=False, norm=None)
    return unnamed
