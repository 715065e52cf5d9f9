"""From a composed estimator to the receipts of all fits in it.

What is composed by scikit-learn is taken apart by a table with one entry for each class; classes
are compared exactly, and what is not in the table counts as a single step. A step has a receipt, or
needs none (:mod:`skdp.accounts.stateless`), or is refused.

All fits of a composed estimator count as fits on the same rows. Those that were fitted to parts of
the rows without a row in common would compose in parallel, and cost what the costliest does; but
nothing in scikit-learn's objects proves that parts had no row in common, so it is never assumed.
Inside of a stream of ``partial_fit``, whose own receipt says so, it is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from sklearn.base import is_classifier
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer, TransformedTargetRegressor, make_column_selector
from sklearn.ensemble import (
    BaggingClassifier,
    BaggingRegressor,
    StackingClassifier,
    StackingRegressor,
    VotingClassifier,
    VotingRegressor,
)
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import (
    FixedThresholdClassifier,
    GridSearchCV,
    RandomizedSearchCV,
    TunedThresholdClassifierCV,
)
from sklearn.multiclass import OneVsRestClassifier
from sklearn.multioutput import MultiOutputClassifier, MultiOutputRegressor
from sklearn.pipeline import FeatureUnion, Pipeline

from ..privacy.receipts import Receipt
from .bags import in_bags
from .declared import declared, spends
from .findings import Findings
from .folds import folds_of
from .searches import in_search
from .stateless import assumption, reason_to_refuse

__all__ = ["found_in", "planned_in"]

_NOTHING = (None, "passthrough", "drop")


def found_in(thing: Any, who: str) -> Findings:
    """All fits in a fitted estimator.

    Parameters
    ----------
    thing : object
        Fitted.
    who : str
        Its name, for the report.
    """
    handler = _FITTED.get(type(thing))
    if handler is not None:
        return handler(thing, who)
    if hasattr(thing, "privacy_ledger_") and hasattr(thing, "privacy_spent_"):
        found = Findings([Receipt.of(thing, who)])
        if getattr(thing, "random_state", None) is not None:
            found.leaks.append(f"{who} has a seed that tells its noise")
        return found
    if spends(thing):
        return Findings(refused=[f"{who} is not fitted"])
    return _step(thing, who)


def planned_in(thing: Any, who: str) -> Findings:
    """What an estimator would spend in one fit, at most, by its parameters.

    Parameters
    ----------
    thing : object
        Fitted or not.
    who : str
        Its name, for the report.
    """
    handler = _PLANNED.get(type(thing))
    if handler is not None:
        return handler(thing, who)
    if type(thing) in _FITTED:
        return Findings(refused=[f"{who} fits several times, and its fits were not kept"])
    return Findings([declared(thing, who)]) if spends(thing) else _step(thing, who)


def _step(thing: Any, who: str) -> Findings:
    if thing is None or (isinstance(thing, str) and thing in _NOTHING):
        return Findings()
    reason = reason_to_refuse(thing)
    if reason is not None:
        return Findings(refused=[f"{who} {_of_wrappers(thing) or reason}"])
    believed = assumption(thing)
    return Findings(leaks=[] if believed is None else [f"{who} {believed}"])


def _of_wrappers(thing: Any) -> str | None:
    """Why something that fits private estimators is refused; None if it does not."""
    if isinstance(thing, type) or not hasattr(thing, "get_params"):
        return None
    if not any(map(spends, thing.get_params(deep=True).values())):
        return None
    reason = (
        "fits private estimators, and how often is not known here; open a skdp.PrivacyBudget "
        "around its fit, which counts them"
    )
    if hasattr(thing, "best_params_"):
        reason += (
            ". It has also chosen its parameters by exact scores, which no receipt covers; search "
            "with skdp.model_selection"
        )
    return reason


def _all(parts: Iterable[tuple[str, Any]], who: str, look: Callable[..., Findings]) -> Findings:
    found = Findings()
    for name, part in parts:
        found.join(look(part, f"{who}.{name}"))
    return found


def _numbered(parts: Iterable[Any]) -> list[tuple[str, Any]]:
    return [(f"estimators_[{k}]", part) for k, part in enumerate(parts)]


def _pipeline(thing: Pipeline, who: str) -> Findings:
    return _all(thing.steps, who, found_in)


def _union(thing: FeatureUnion, who: str) -> Findings:
    return _all(thing.transformer_list, who, found_in)


def _columns(thing: ColumnTransformer, who: str) -> Findings:
    fitted = getattr(thing, "transformers_", None)
    if fitted is None:
        return Findings(refused=[f"{who} is not fitted"])
    found = _all([(name, step) for name, step, _ in fitted], who, found_in)
    if getattr(thing, "sparse_output_", False):
        found.leaks += _density(thing, who)
    found.refused += _selectors(thing, who)
    return found


def _selectors(thing: ColumnTransformer, who: str) -> list[str]:
    chosen = [(name, columns) for name, _, columns in thing.transformers if callable(columns)]
    return [
        f"{who}.{name} chooses columns by a function, which may look at rows"
        for name, columns in chosen
        if type(columns) is not make_column_selector
    ]


def _density(thing: ColumnTransformer, who: str) -> list[str]:
    if not 0 < thing.sparse_threshold < 1:
        return []
    return [
        f"{who} compares how many entries are zero with sparse_threshold, which one row may turn; "
        "pass sparse_threshold=0 or 1"
    ]


def _estimators(thing: Any, who: str) -> Findings:
    fitted = getattr(thing, "estimators_", None)
    if fitted is None:
        return Findings(refused=[f"{who} is not fitted"])
    return _all(_numbered(fitted), who, found_in)


def _stacking(thing: Any, who: str) -> Findings:
    found = _estimators(thing, who)
    if found.refused:
        return found
    found.join(found_in(thing.final_estimator_, f"{who}.final_estimator"))
    if thing.cv == "prefit":
        return found
    try:
        folds = folds_of(thing.cv, None, classifier=is_classifier(thing))
    except ValueError as unknown:
        return Findings(refused=[f"{who}: {unknown}"])
    named = [(name, part) for name, part in thing.estimators if part != "drop"]
    dropped = _all(named, who, planned_in)
    dropped.receipts = [r.times(folds.fits) for r in dropped.receipts if folds.fits]
    if folds.look_at_rows:
        dropped.leaks.append(
            f"{who} makes folds that depend on labels, so that one row moves others; pass cv=KFold"
        )
    found.join(dropped)
    return found


def _target(thing: TransformedTargetRegressor, who: str) -> Findings:
    parts = [("regressor", "regressor_"), ("transformer", "transformer_")]
    return _all([(name, getattr(thing, part, None)) for name, part in parts], who, found_in)


def _held(attribute: str) -> Callable[[Any, str], Findings]:
    def handler(thing: Any, who: str) -> Findings:
        if not hasattr(thing, attribute):
            return Findings(refused=[f"{who} is not fitted"])
        return found_in(getattr(thing, attribute), who)

    return handler


def _never(reason: str) -> Callable[[Any, str], Findings]:
    def handler(thing: Any, who: str) -> Findings:
        del thing
        return Findings(refused=[f"{who} {reason}"])

    return handler


def _bagging(thing: Any, who: str) -> Findings:
    return in_bags(thing, who, found_in)


def _search(thing: Any, who: str) -> Findings:
    return in_search(thing, who, found_in, planned_in)


_FITTED: dict[type, Callable[[Any, str], Findings]] = {
    BaggingClassifier: _bagging,
    BaggingRegressor: _bagging,
    CalibratedClassifierCV: _never("calibrates on exact scores and labels"),
    ColumnTransformer: _columns,
    FeatureUnion: _union,
    FixedThresholdClassifier: _held("estimator_"),
    FrozenEstimator: _held("estimator"),
    GridSearchCV: _search,
    MultiOutputClassifier: _estimators,
    MultiOutputRegressor: _estimators,
    OneVsRestClassifier: _estimators,
    Pipeline: _pipeline,
    RandomizedSearchCV: _search,
    StackingClassifier: _stacking,
    StackingRegressor: _stacking,
    TransformedTargetRegressor: _target,
    TunedThresholdClassifierCV: _never("chooses its threshold by exact scores"),
    VotingClassifier: _estimators,
    VotingRegressor: _estimators,
}


def _planned_columns(thing: ColumnTransformer, who: str) -> Findings:
    parts = [(name, step) for name, step, _ in thing.transformers]
    found = _all([*parts, ("remainder", thing.remainder)], who, planned_in)
    found.refused += _selectors(thing, who)
    return found


def _planned_pipeline(thing: Pipeline, who: str) -> Findings:
    return _all(thing.steps, who, planned_in)


def _planned_union(thing: FeatureUnion, who: str) -> Findings:
    return _all(thing.transformer_list, who, planned_in)


_PLANNED: dict[type, Callable[[Any, str], Findings]] = {
    ColumnTransformer: _planned_columns,
    FeatureUnion: _planned_union,
    Pipeline: _planned_pipeline,
}
