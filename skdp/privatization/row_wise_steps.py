"""Steps that learn nothing from rows: parameters with which that is so, and what comes out."""

from __future__ import annotations

from math import inf, sqrt
from typing import Any, NamedTuple

from sklearn.feature_extraction.text import HashingVectorizer, TfidfTransformer, TfidfVectorizer
from sklearn.impute import MissingIndicator, SimpleImputer
from sklearn.kernel_approximation import RBFSampler
from sklearn.preprocessing import (
    Binarizer,
    FunctionTransformer,
    Normalizer,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    SplineTransformer,
)

from ..preprocessing import BoundsScaler, DPMinMaxScaler, DPStandardScaler, RowNormClipper

_COUNTS = "It counts how often categories occur."
_QUOTES = "An error would quote a category that was not listed."
_IDF = "It counts words over all rows."


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


def changes_that_forget(step: Any) -> dict[str, tuple[Any, str]]:
    """Parameters to change so that a step learns and tells nothing, with the reasons.

    Parameters
    ----------
    step : estimator
        A step that handles each row by itself, given the right parameters.
    """
    kind, changes = type(step), {}

    def change(name: str, value: Any, why: str, *, unless: Any = None) -> None:
        if getattr(step, name) not in (value, unless):
            changes[name] = value, why

    if kind in (OneHotEncoder, OrdinalEncoder):
        change("min_frequency", None, _COUNTS)
        change("max_categories", None, _COUNTS)
    if kind is OneHotEncoder:
        change("handle_unknown", "ignore", _QUOTES, unless="infrequent_if_exist")
        if step.drop is not None:
            changes["drop"] = None, "A category that was not listed would be warned of."
    if kind is OrdinalEncoder and step.handle_unknown == "error":
        changes["handle_unknown"] = "use_encoded_value", _QUOTES
        changes["unknown_value"] = -1, _QUOTES
    if kind is SimpleImputer and step.strategy == "constant":
        change("keep_empty_features", True, "It notes which columns are empty.")
    if kind is MissingIndicator:
        change("features", "all", "It notes which columns have gaps.")
    if kind is FunctionTransformer and step.func is not None and step.inverse_func is not None:
        change("check_inverse", False, "The check warns of rows.")
    if kind is HashingVectorizer:
        change("alternate_sign", False, "Signs cancel words, and private models lose more by it.")
    if kind is TfidfTransformer or (kind is TfidfVectorizer and step.vocabulary is not None):
        change("use_idf", False, _IDF)
    if kind is SplineTransformer:
        extrapolation = "constant"
        if step.extrapolation == "error":
            changes["extrapolation"] = extrapolation, "An error would tell of a row."
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
