"""Steps in front of a model: what they spend, and how many columns they make of others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from math import inf
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.compose import ColumnTransformer, TransformedTargetRegressor
from sklearn.pipeline import FeatureUnion, Pipeline
from sklearn.preprocessing import OrdinalEncoder

from ..preprocessing import (
    DPPCA,
    DPKBinsDiscretizer,
    DPOneHotEncoder,
    DPSimpleImputer,
    DPSplineTransformer,
    DPTruncatedSVD,
    RangedTransformer,
)
from ..reporting.composition_verdicts import does_nothing, nested_estimators, spends
from ..solvers.defaults import Forecast as tuned

# Rows of zeros by which a step that learns nothing is tried.
_TRIED = 2


class StepsInFront(NamedTuple):
    """A model inside of a pipeline, and public facts about what is in front of it.

    Parameters
    ----------
    model : estimator
        The model.
    n_features : int
        Number of columns that it gets.
    spending : tuple of str
        Sentences about the other private steps.
    assumption : str or None
        Sentence on what had to be assumed.
    evidence : (int, float)
        Number of columns whose ranges a step finds for the model, and the least evidence of these;
        see :func:`skdp.preprocessing.evidence_of`.
    """

    model: Any
    n_features: int
    spending: tuple[str, ...]
    assumption: str | None
    evidence: tuple[int, float]

    @classmethod
    def of(cls, estimator: Any, n_samples: int, n_features: int) -> StepsInFront:
        """Facts about the model at the end of a pipeline.

        Parameters
        ----------
        estimator : estimator
            A pipeline, or what holds one model otherwise.
        n_samples : int
            Number of rows, or of privacy units.
        n_features : int
            Number of columns before the first step.

        Raises
        ------
        ValueError
            If public facts do not tell how many columns a step makes.
        """
        model, width = estimator, n_features
        untold = _Untold(n_samples)
        while True:
            if type(model) is Pipeline and model.steps:
                for _, step in model.steps[:-1]:
                    width = untold.made(step, width)
                model = model.steps[-1][1]
            elif type(model) is TransformedTargetRegressor:
                model = model.regressor
            else:
                break
        spending = tuple(
            f"{path} ({type(step).__name__}, epsilon = {step.epsilon:.4g})"
            for path, step in nested_estimators(estimator, "", joint="__")
            if spends(step) and step is not model
        )
        said = [
            f"{many} in each of {k} columns without a list" for many, k in untold.columns.items()
        ]
        return cls(model, width, spending, "; ".join(said) or None, untold.evidence)


class _Untold:
    """Counter of the columns that steps make, which notes those whose categories are not listed.

    Parameters
    ----------
    n_samples : int
        Number of rows, or of privacy units.
    """

    def __init__(self, n_samples: int) -> None:
        self._n_samples = n_samples
        # How many columns, by what becomes of them.
        self.columns: Counter[str] = Counter()
        self.evidence = (0, inf)

    def made(self, step: Any, width: int) -> int:
        """Number of columns that a step makes of others."""
        if does_nothing(step):
            return 0 if step == "drop" else width
        if type(step) is Pipeline:
            for _, part in step.steps:
                width = self.made(part, width)
            return width
        if type(step) is FeatureUnion:
            return sum(self.made(part, width) for _, part in step.transformer_list)
        if type(step) is ColumnTransformer:
            counts = [_chosen(columns, width, name) for name, _, columns in step.transformers]
            parts = [(part, k) for (_, part, _), k in zip(step.transformers, counts, strict=True)]
            parts.append((step.remainder, max(0, width - sum(counts))))
            return sum(self.made(part, k) for part, k in parts if k)
        if isinstance(step, RangedTransformer) and step._finds_for_all:
            (many, least), (more, other) = self.evidence, step._evidence(self._n_samples, width)
            self.evidence = many + more, min(least, other)
        if (listed := getattr(step, "categories", None)) is not None:
            return self._of_categories(step, listed, width)
        if hasattr(step, "n_features"):
            return int(step.n_features)
        found = _BY_PARAMETERS.get(type(step))
        if found is not None:
            return found(step, width)
        if spends(step):
            return width
        try:
            return int(clone(step).fit_transform(np.zeros((_TRIED, width))).shape[1])
        except (TypeError, ValueError):
            raise ValueError(
                f"plan needs steps whose number of columns is known beforehand, got a "
                f"{type(step).__name__}; pass the model alone, and the number of its columns."
            ) from None

    def _of_categories(self, step: Any, listed: Any, width: int) -> int:
        """Number of columns that come out of an encoder."""
        if type(step) is OrdinalEncoder:
            return width
        if isinstance(listed, str):
            listed = []
        each = [*listed.values()] if isinstance(listed, Mapping) else [*listed]
        known = [
            len(categories)
            for categories in each
            if categories is not None and not isinstance(categories, str)
        ]
        unknown, many, said = (
            width - len(known),
            tuned.CATEGORIES,
            f"{tuned.CATEGORIES} categories found",
        )
        if type(step) is DPOneHotEncoder and step._hashes(unknown, self._n_samples):
            many = step._n_buckets
            said = f"too few rows to find categories: {many} public buckets"
        if unknown:
            self.columns[said] += unknown
        return sum(known) + unknown * many


def _chosen(columns: Any, width: int, name: str) -> int:
    """Number of columns that a part of a ColumnTransformer takes."""
    if isinstance(columns, str | int):
        return 1
    if isinstance(columns, slice) and all(
        end is None or isinstance(end, int) for end in (columns.start, columns.stop)
    ):
        return len(range(*columns.indices(width)))
    if callable(columns) or not hasattr(columns, "__len__"):
        raise ValueError(
            f"plan needs to know how many columns {name!r} takes, got a {type(columns).__name__}, "
            "which chooses when it sees the table; list them, or pass facts=[X.dtypes, ...] to "
            "skdp.privatize, which does, and reads no rows."
        )
    flags = np.asarray(columns)
    return int(flags.sum()) if flags.dtype == bool else len(columns)


def _bins(step: Any, width: int) -> int:
    each = np.broadcast_to(step.n_bins, width).sum() if step.encode != "ordinal" else width
    return int(each)


_BY_PARAMETERS: Mapping[type, Callable[[Any, int], int]] = {
    DPKBinsDiscretizer: _bins,
    DPPCA: lambda step, width: step.n_components or width,
    DPTruncatedSVD: lambda step, width: step.n_components,
    DPSimpleImputer: lambda step, width: width * (1 + step.add_indicator),
    DPSplineTransformer: lambda step, width: (
        width * (step.n_knots + step.degree - 1 - (not step.include_bias))
    ),
}
