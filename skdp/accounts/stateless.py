"""Which steps have nothing to account for: a list, so that what is not on it is refused.

A step needs no receipt if ``fit`` takes nothing from the rows but their number, their width and the
names of columns, and if ``transform`` handles each row by itself. The second matters as much: what
subtracts the mean of the rows it is given lets one row move all others, and then no model behind it
protects that row. Classes are compared exactly, because a subclass may do anything.
"""

from __future__ import annotations

from collections.abc import Callable
from numbers import Real
from typing import Any

import numpy as np
from sklearn.feature_extraction import FeatureHasher
from sklearn.feature_extraction.text import (
    CountVectorizer,
    HashingVectorizer,
    TfidfTransformer,
    TfidfVectorizer,
)
from sklearn.impute import MissingIndicator, SimpleImputer
from sklearn.kernel_approximation import (
    AdditiveChi2Sampler,
    PolynomialCountSketch,
    RBFSampler,
    SkewedChi2Sampler,
)
from sklearn.preprocessing import (
    Binarizer,
    FunctionTransformer,
    Normalizer,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    SplineTransformer,
)
from sklearn.random_projection import GaussianRandomProjection, SparseRandomProjection
from sklearn.utils import get_tags

from ..preprocessing.base import FreeTransformer

__all__ = ["assumption", "reason_to_refuse"]

_NO_RECEIPT = (
    "learns from rows and says nothing about what it has spent; use a transformer of "
    "skdp.preprocessing, or one that learns nothing"
)
# What any fit notes: public facts about columns.
_SHAPE = {"n_features_in_", "feature_names_in_"}


def _always(step: Any) -> None:
    del step


def _with_categories(step: Any) -> str | None:
    if isinstance(step.categories, str):
        return "reads its categories off the rows; pass categories=[...]"
    if step.min_frequency is not None or step.max_categories is not None:
        return "counts how often categories occur; leave min_frequency and max_categories out"
    return None


def _with_constant(step: Any) -> str | None:
    if step.strategy != "constant" or not step.keep_empty_features:
        return "needs strategy='constant' and keep_empty_features=True to learn nothing"
    return "notes which columns have gaps; leave add_indicator out" if step.add_indicator else None


def _with_all_features(step: Any) -> str | None:
    return None if step.features == "all" else "notes which columns have gaps; pass features='all'"


def _with_number(step: Any) -> str | None:
    return None if isinstance(step.gamma, Real) else "takes gamma from the rows; pass a number"


def _with_knots(step: Any) -> str | None:
    given = not isinstance(step.knots, str)
    return None if given else "takes knots from the rows; pass an array of knots"


def _with_vocabulary(step: Any) -> str | None:
    if step.vocabulary is None:
        return "reads its vocabulary off the rows; pass vocabulary=[...]"
    return _without_idf(step) if hasattr(step, "use_idf") else None


def _without_idf(step: Any) -> str | None:
    return "counts words over all rows; pass use_idf=False" if step.use_idf else None


# Class: the reason why a step of it is not free, if there is one.
_RULES: dict[type, Callable[[Any], str | None]] = {
    AdditiveChi2Sampler: _always,
    Binarizer: _always,
    CountVectorizer: _with_vocabulary,
    FeatureHasher: _always,
    FunctionTransformer: _always,
    GaussianRandomProjection: _always,
    HashingVectorizer: _always,
    MissingIndicator: _with_all_features,
    Normalizer: _always,
    OneHotEncoder: _with_categories,
    OrdinalEncoder: _with_categories,
    PolynomialCountSketch: _always,
    PolynomialFeatures: _always,
    RBFSampler: _with_number,
    SimpleImputer: _with_constant,
    SkewedChi2Sampler: _always,
    SparseRandomProjection: _always,
    SplineTransformer: _with_knots,
    TfidfTransformer: _without_idf,
    TfidfVectorizer: _with_vocabulary,
}


def reason_to_refuse(step: Any) -> str | None:
    """Why a step without a receipt cannot be taken for free; None if it can.

    Free are the classes of the list with parameters that leave nothing to learn, transformers of
    :mod:`skdp.preprocessing` that learn nothing, and transformers that declare by the tag
    ``requires_fit=False`` that they need no fit and have noted nothing but names and numbers of
    columns.

    Parameters
    ----------
    step : object
        A step of a pipeline that is no estimator of estimators.
    """
    rule = _RULES.get(type(step))
    if rule is not None:
        return rule(step)
    if isinstance(step, FreeTransformer):
        return None
    if not hasattr(step, "transform"):
        return "has no receipt of what it has spent"
    try:
        fitless = not get_tags(step).requires_fit
    except (AttributeError, TypeError):
        fitless = False
    learned = [a for a in vars(step) if a.endswith("_") and not a.startswith("_")]
    return None if fitless and set(learned) <= _SHAPE else _NO_RECEIPT


def assumption(step: Any) -> str | None:
    """What has to be believed of a free step, because it cannot be looked at; None if nothing.

    Parameters
    ----------
    step : object
        One that is not refused.
    """
    functions = [getattr(step, name, None) for name in ("func", "preprocessor", "tokenizer")]
    functions.append(getattr(step, "analyzer", None))
    unknown = [f for f in functions if callable(f) and not isinstance(f, np.ufunc)]
    if not unknown:
        return None
    return "calls a function that is taken to work on each row by itself and to keep nothing"
