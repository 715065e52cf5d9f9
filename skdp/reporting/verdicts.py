"""Verdicts on estimators that are composed with private ones: one table, read by all who compose.

A private fit protects a row if all that surrounds it does, too. Who surrounds it is looked up here
by its exact class (a subclass may do anything) and judged by its parameters and by what is
protected, never by how a fit went: a verdict that depended on the outcome would itself tell of the
rows.

*Covered*: between neighbouring data sets, and given the same answers of the private parts, all that
is public is the same, so that the receipts of the parts add up to all there is. Neighbours differ
in one row, or, under ``privacy_unit``, in all rows of one unit, and so in their number. A test runs
each entry over neighbours with the same answers and compares. All fits count as fits on the same
rows: nothing in scikit-learn's objects proves that two of them had no row in common.

*Leaks*: the same, but for something that is named. Whoever composes it gets a
:class:`~skdp.PrivacyLeakWarning`.

*Refused*: reads rows by itself, or may; also whatever is not in the table.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from numbers import Real
from typing import Any, Literal, NamedTuple

import numpy as np
import scipy.special
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer, TransformedTargetRegressor, make_column_selector
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.ensemble import (
    AdaBoostClassifier,
    AdaBoostRegressor,
    BaggingClassifier,
    BaggingRegressor,
    StackingClassifier,
    StackingRegressor,
    VotingClassifier,
    VotingRegressor,
)
from sklearn.feature_extraction import DictVectorizer, FeatureHasher
from sklearn.feature_extraction.text import (
    CountVectorizer,
    HashingVectorizer,
    TfidfTransformer,
    TfidfVectorizer,
)
from sklearn.feature_selection import (
    RFE,
    RFECV,
    SelectFromModel,
    SelectKBest,
    SelectPercentile,
    SequentialFeatureSelector,
    VarianceThreshold,
)
from sklearn.frozen import FrozenEstimator
from sklearn.impute import KNNImputer, MissingIndicator, SimpleImputer
from sklearn.kernel_approximation import Nystroem, PolynomialCountSketch, RBFSampler
from sklearn.linear_model import RANSACRegressor
from sklearn.model_selection import (
    FixedThresholdClassifier,
    GridSearchCV,
    RandomizedSearchCV,
    TunedThresholdClassifierCV,
)
from sklearn.multiclass import OneVsOneClassifier, OneVsRestClassifier
from sklearn.multioutput import (
    ClassifierChain,
    MultiOutputClassifier,
    MultiOutputRegressor,
    RegressorChain,
)
from sklearn.pipeline import FeatureUnion, Pipeline
from sklearn.preprocessing import (
    Binarizer,
    FunctionTransformer,
    KBinsDiscretizer,
    MaxAbsScaler,
    MinMaxScaler,
    Normalizer,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    PowerTransformer,
    QuantileTransformer,
    RobustScaler,
    SplineTransformer,
    StandardScaler,
    TargetEncoder,
)
from sklearn.random_projection import GaussianRandomProjection, SparseRandomProjection
from sklearn.semi_supervised import SelfTrainingClassifier

from ..exceptions import PrivacyLeakWarning, warn_user
from ..privacy.adjacency import PrivacyUnit
from ..validation import shown
from .open_budgets import BudgetedEstimator

_NOTHING = (None, "passthrough", "drop")


class Verdict(NamedTuple):
    """Privacy of one estimator beside the private ones that it holds.

    Parameters
    ----------
    kind : {'covered', 'leaks', 'refused'}
        See the module.
    why : str
        Rule by which receipts add up; what leaks, and how to avoid it; or what to use instead.
    """

    kind: Literal["covered", "leaks", "refused"]
    why: str


_Parts = Callable[[Any], list[tuple[str, Any]] | None]


def _no_parts(thing: Any) -> list[tuple[str, Any]]:
    del thing
    return []


@dataclass(frozen=True)
class Rule:
    """Parameters with which an estimator is not covered, though its class can be.

    Parameters
    ----------
    when : callable
        Takes an estimator and returns whether it has them.
    does : str
        What it does with them; a verb comes first.
    instead : mapping of str to object, or str, default=''
        Parameters to change, and their values; or advice, where no value suits everybody.
    kind : {'refused', 'leaks'}
        Verdict on them.
    of_units : bool, default=False
        Whether that tells something under ``privacy_unit`` alone, where the number of rows is
        secret.
    """

    when: Callable[[Any], bool]
    does: str
    instead: Mapping[str, Any] | str = ""
    kind: Literal["refused", "leaks"] = "refused"
    of_units: bool = False

    @property
    def changes(self) -> Mapping[str, Any]:
        """Parameters to change, and their values."""
        return {} if isinstance(self.instead, str) else self.instead

    @property
    def verdict(self) -> Verdict:
        """Verdict on whoever has these parameters, with what to do."""
        passed = " and ".join(f"{name}={shown(value)}" for name, value in self.changes.items())
        advice = f"pass {passed}" if passed else self.instead
        return Verdict(self.kind, f"{self.does}; {advice}" if advice else self.does)


@dataclass(frozen=True)
class Entry:
    """Line of the table.

    Parameters
    ----------
    best : Verdict
        With the parameters that suit best.
    rules : tuple of Rule, optional
        Parameters that suit less; the first that applies is the verdict.
    parts : callable, optional
        Takes an estimator and returns the names and estimators that it is going to fit.
    fitted : callable, optional
        Takes a fitted one and returns names and estimators that were fitted; None if it is not.
        By default the same as ``parts``.
    once : bool, default=False
        Whether it fits each part once, under the name of the parameter that holds it.
    """

    best: Verdict
    rules: tuple[Rule, ...] = ()
    parts: _Parts = _no_parts
    fitted: _Parts | None = None
    once: bool = False

    @property
    def composed(self) -> bool:
        """True if the estimator is composed of others."""
        return self.parts is not _no_parts


def verdict_of(estimator: Any, unit: PrivacyUnit = PrivacyUnit.ROW) -> Verdict:
    """Verdict on an estimator by its class and parameters, its parts left aside.

    Parameters
    ----------
    estimator : object
        Fitted or not.
    unit : PrivacyUnit, default=PrivacyUnit.ROW
        What is protected: single rows, whose number is public, or all rows of a unit, whose number
        is not.

    Returns
    -------
    Verdict
        Of the table; estimators of this package are covered by their own receipt.
    """
    if estimator is None or (isinstance(estimator, str) and estimator in _NOTHING):
        return Verdict("covered", "does nothing")
    if isinstance(estimator, BudgetedEstimator):
        return Verdict("covered", "has a receipt of its own")
    entry = TABLE.get(type(estimator))
    if entry is None:
        chooses = hasattr(estimator, "estimator") and hasattr(estimator, "scoring")
        return Verdict("refused", f"{_UNKNOWN}; {_SEARCHES}" if chooses else _UNKNOWN)
    return next((rule.verdict for rule in rules_broken(estimator, unit)), entry.best)


def rules_broken(estimator: Any, unit: PrivacyUnit) -> list[Rule]:
    """Rules about an estimator whose parameters suit less than others.

    Parameters
    ----------
    estimator : object
        Of any class; of one that is not in the table there are no rules.
    unit : PrivacyUnit
        What is protected.
    """
    entry, secret = TABLE.get(type(estimator)), unit is PrivacyUnit.DECLARED
    rules = entry.rules if entry else ()
    return [rule for rule in rules if (secret or not rule.of_units) and rule.when(estimator)]


def spends(estimator: Any) -> bool:
    """Tell whether an estimator has a privacy budget among its parameters.

    Parameters
    ----------
    estimator : object
        Fitted or not.
    """
    made = isinstance(estimator, BudgetedEstimator)
    return made and hasattr(estimator, "epsilon") and hasattr(estimator, "delta")


def fitted_parts(estimator: Any) -> list[tuple[str, Any]] | None:
    """Names and estimators that a composed estimator has fitted; None if it is not fitted.

    Parameters
    ----------
    estimator : object
        Fitted or not.
    """
    entry = TABLE[type(estimator)]
    return (entry.fitted or entry.parts)(estimator)


def nested_estimators(estimator: Any, who: str) -> Iterator[tuple[str, Any]]:
    """All estimators in a composed one, itself first, each under the path that names it.

    Parameters
    ----------
    estimator : object
        Fitted or not.
    who : str
        What to call it.

    Yields
    ------
    tuple of str and object
        Names are joined by dots.
    """
    yield who, estimator
    entry = TABLE.get(type(estimator))
    for name, part in entry.parts(estimator) or [] if entry else []:
        yield from nested_estimators(part, f"{who}.{name}")


def problems_of(estimator: Any, unit: PrivacyUnit) -> tuple[list[str], list[str]]:
    """Sentences about all parts of an estimator that are refused, and about those that leak.

    Parameters
    ----------
    estimator : object
        Not fitted.
    unit : PrivacyUnit
        What is protected.
    """
    found = [
        (name, verdict_of(part, unit))
        for name, part in nested_estimators(estimator, type(estimator).__name__)
    ]
    said = {kind: [f"{n} {v.why}" for n, v in found if v.kind == kind] for kind in _BAD}
    return said["refused"], said["leaks"]


def check_composed(who: str, estimator: Any, unit: PrivacyUnit = PrivacyUnit.ROW) -> None:
    """Look up an estimator and all of its parts before it is fitted.

    Parameters
    ----------
    who : str
        Who is going to fit it.
    estimator : object
        Not fitted.
    unit : PrivacyUnit, default=PrivacyUnit.ROW
        What is protected.

    Raises
    ------
    ValueError
        If one of them is refused, naming all that are.

    Warns
    -----
    PrivacyLeakWarning
        If one of them leaks.
    """
    refused, leaks = problems_of(estimator, unit)
    if refused:
        raise ValueError(
            f"{who} needs parts of which the privacy is known, got others: {'; '.join(refused)}."
        )
    warn_of(who, leaks)


def warn_of(who: str, leaks: list[str]) -> None:
    """Warn of what no receipt covers.

    Parameters
    ----------
    who : str
        Who composes.
    leaks : list of str
        Sentences without the full stop; none, no warning.
    """
    if leaks:
        listed = "; ".join(dict.fromkeys(leaks))
        warn_user(f"{who} does not cover all that is public: {listed}.", PrivacyLeakWarning)


_BAD = ("refused", "leaks")
_UNKNOWN = (
    "is not in the table of estimators whose privacy is known (docs/reference/composition.md)"
)
_SEARCHES = "use skdp.model_selection.DPGridSearchCV or DPRandomizedSearchCV"
_BY_ROW = Verdict("covered", "handles each row by itself and learns nothing")
_SUM = Verdict("covered", "its fits are fits on the same rows, and their receipts are composed")
_SEEDS = (
    "sets random_state of what it fits, from which anyone can compute the noise; fit one model "
    "with the whole budget"
)
_DIRECTIONS = (
    "learns directions from the rows; leave it out, because models find private coordinates by "
    "themselves, or use GaussianRandomProjection(n_components=...)"
)
_BY_TARGETS = "chooses features by exact statistics of the rows; use a model with an l1 penalty"
_QUANTILES = (
    "learns how values are distributed; use FunctionTransformer(np.log1p) for columns with a long "
    "tail"
)
_SEVERAL = "DPLogisticRegression and DPSVMClassifier take several classes by themselves"
_READS_LABELS = "reads the set of labels off y, so that one row can add a label, and a model"


def _refused(why: str) -> Entry:
    return Entry(Verdict("refused", why))


# Composed estimators: what they fit, and what else they do with rows.


def _steps(thing: Any) -> list[tuple[str, Any]]:
    return list(thing.steps)


def _transformers(thing: Any) -> list[tuple[str, Any]]:
    return list(thing.transformer_list)


def _columns(thing: Any) -> list[tuple[str, Any]]:
    return [*((name, step) for name, step, _ in thing.transformers), ("remainder", thing.remainder)]


def _fitted_columns(thing: Any) -> list[tuple[str, Any]] | None:
    if not hasattr(thing, "transformers_"):
        return None
    return [(name, step) for name, step, _ in thing.transformers_]


def _by_function(thing: Any) -> bool:
    """Tell whether a function of the user chooses columns."""
    chosen = [columns for _, _, columns in thing.transformers]
    return any(
        callable(columns) and type(columns) is not make_column_selector for columns in chosen
    )


def _by_type(thing: Any) -> bool:
    """Tell whether the types of columns choose some."""
    return any(type(columns) is make_column_selector for _, _, columns in thing.transformers)


def _layout_varies(thing: Any) -> bool:
    """Tell whether the share of zeros decides between sparse and dense columns."""
    if thing.sparse_threshold == 0 or all(_dense(step) for _, step in _columns(thing)):
        return False
    never = any(_never_full(*given) for given in thing.transformers)
    return not (thing.sparse_threshold == 1 and never)


def _dense(step: Any) -> bool:
    """Tell whether a step returns dense columns whatever it is given."""
    if isinstance(step, BudgetedEstimator):
        return step._always_dense
    if type(step) is OneHotEncoder:
        return not step.sparse_output
    return type(step) is OrdinalEncoder or (isinstance(step, str) and step == "drop")


def _never_full(name: str, step: Any, columns: Any) -> bool:
    """Tell whether a step returns columns that hold a zero in each row."""
    del name
    if type(step) is not OneHotEncoder or isinstance(step.categories, str) or step.drop is not None:
        return False
    # No columns, no zeros: a list of names or numbers says how many there are.
    named = isinstance(columns, list) and not any(isinstance(c, bool) for c in columns)
    several = any(len(categories) > 1 for categories in step.categories)
    return named and len(columns) == len(step.categories) and several


def _target(thing: Any) -> list[tuple[str, Any]]:
    return [("regressor", thing.regressor), ("transformer", thing.transformer)]


def _fitted_target(thing: Any) -> list[tuple[str, Any]] | None:
    if not (hasattr(thing, "regressor_") and hasattr(thing, "transformer_")):
        return None
    return [("regressor", thing.regressor_), ("transformer", thing.transformer_)]


def _named(thing: Any) -> list[tuple[str, Any]]:
    return list(thing.estimators)


def _fitted_named(thing: Any) -> list[tuple[str, Any]] | None:
    fitted = getattr(thing, "named_estimators_", None)
    return None if fitted is None else list(fitted.items())


_CONSTANT = ("sklearn.multiclass", "_ConstantPredictor")


def _same(thing: Any) -> list[tuple[str, Any]]:
    return [("estimator", thing.estimator)]


def _fitted_same(thing: Any) -> list[tuple[str, Any]] | None:
    fitted = getattr(thing, "estimators_", None)
    if fitted is None:
        return None
    # In place of a model of labels that no row has, one-vs-rest holds a constant. Nothing else is
    # left out, whatever the parameter holds by now.
    return [
        (f"estimators_[{k}]", part)
        for k, part in enumerate(fitted)
        if (type(part).__module__, type(part).__name__) != _CONSTANT
    ]


# Parameters by which estimators learn or tell something of rows.


def _elementwise(function: Any) -> bool:
    """Tell whether a function computes entries one by one.

    Any Python function can be made a ufunc, so it has to be one of numpy's or scipy's.
    """
    if function is None:
        return True
    if not isinstance(function, np.ufunc) or function.nin != 1 or function.signature is not None:
        return False
    known = (getattr(module, function.__name__, None) for module in (np, scipy.special))
    return any(function is theirs for theirs in known)


def _believed(step: Any) -> bool:
    plain = _elementwise(step.func) and not step.kw_args and not callable(step.feature_names_out)
    return not plain


def _of_whole_numbers(step: Any) -> bool:
    """Tell whether a function computes otherwise with whole numbers than with the same as floats.

    By examples: integers are divided and squared within 64 bits, or there is no function of floats.
    """
    if step.func is None or not _elementwise(step.func):
        return False
    whole = np.array([0, 1, 2, 3, 10, 2**53, -1, -2, -(2**53)])
    with np.errstate(all="ignore"):
        try:
            first, second = step.func(whole), step.func(whole.astype(float))
        except TypeError:
            return True
    return not np.array_equal(first, second, equal_nan=True)


def _cut(step: Any) -> bool:
    """Tell whether listed categories are other ones in a column of integers."""
    if isinstance(step.categories, str):
        return False
    listed = [list(categories) for categories in step.categories]
    numbers = [c for some in listed for c in some if all(isinstance(c, Real) for c in some)]
    return any(not float(c).is_integer() for c in numbers)


def _calls(*names: str) -> Callable[[Any], bool]:
    return lambda step: any(callable(getattr(step, name)) for name in names)


_BELIEVED = "calls a function that is taken to handle each row by itself and to keep nothing"
_INVERSE = "warns if rows do not come back from its inverse"
_UNCHECKED = {"check_inverse": False}
_QUOTES = "raises an error that quotes a category if a row has one that was not listed"
_INTEGERS = Rule(
    _of_whole_numbers,
    "computes something else of integers than of floats, and one entry can make floats of a column "
    "of integers",
    "use PolynomialFeatures for products, or see that columns are floats",
    "leaks",
)
_SELECTED = (
    Rule(_by_function, "chooses columns by a function, which may look at rows", "list the columns"),
    Rule(
        _by_type,
        "chooses columns by their types, which one entry can turn if they were not declared when "
        "rows were read",
        "list the columns",
        "leaks",
    ),
    Rule(
        _layout_varies,
        "returns sparse or dense columns by the share of zeros, which one row can turn",
        {"sparse_threshold": 0},
        "leaks",
    ),
)
_TARGET = (
    Rule(
        lambda t: t.check_inverse and (t.func is not None or t.transformer is not None),
        *(_INVERSE, _UNCHECKED, "leaks"),
    ),
    Rule(lambda t: not _elementwise(t.func), _BELIEVED, kind="leaks"),
    _INTEGERS,
)
_FUNCTION = (
    Rule(
        lambda s: s.check_inverse and s.func is not None and s.inverse_func is not None,
        *(_INVERSE, _UNCHECKED, "leaks"),
    ),
    Rule(_believed, _BELIEVED, kind="leaks"),
    _INTEGERS,
)
_CATEGORIES = (
    Rule(
        lambda s: isinstance(s.categories, str),
        "reads its categories off the rows",
        "pass categories=[...]",
    ),
    Rule(
        lambda s: s.min_frequency is not None or s.max_categories is not None,
        "counts how often categories occur",
        {"min_frequency": None, "max_categories": None},
    ),
    Rule(
        _cut,
        "cuts listed categories to whole numbers, or fails, if all entries of a column are whole",
        "list whole numbers or texts in categories",
        "leaks",
    ),
)
_ONE_HOT = (
    *_CATEGORIES,
    Rule(lambda s: s.handle_unknown == "error", _QUOTES, {"handle_unknown": "ignore"}, "leaks"),
    Rule(
        lambda s: s.handle_unknown == "warn" or s.drop is not None,
        "warns if a row has a category that was not listed",
        {"handle_unknown": "ignore", "drop": None},
        "leaks",
    ),
)
_ORDINAL = (
    *_CATEGORIES,
    Rule(
        lambda s: s.handle_unknown == "error",
        _QUOTES,
        {"handle_unknown": "use_encoded_value", "unknown_value": -1},
        "leaks",
    ),
)
_IMPUTER = (
    Rule(
        lambda s: s.strategy != "constant",
        "fills gaps by statistics of the rows",
        "pass strategy='constant', a fill_value and keep_empty_features=True",
    ),
    Rule(
        lambda s: not s.keep_empty_features,
        "notes which columns are empty",
        {"keep_empty_features": True},
    ),
    Rule(lambda s: s.add_indicator, "notes which columns have gaps", "leave add_indicator out"),
)
_INDICATOR = (
    Rule(lambda s: s.features != "all", "notes which columns have gaps", {"features": "all"}),
)
_KERNEL = (
    Rule(lambda s: not isinstance(s.gamma, Real), "takes gamma from the rows", "pass a number"),
)
_SPLINES = (
    Rule(
        # What sparse splines put there for the time being stays, but in the first column.
        lambda s: (
            s.sparse_output
            and getattr(s, "handle_missing", "error") == "zeros"
            and s.extrapolation not in ("constant", "linear")
        ),
        "fills gaps by the least entry of a column",
        {"sparse_output": False},
    ),
    Rule(lambda s: isinstance(s.knots, str), "takes knots from the rows", "pass an array of knots"),
    Rule(
        lambda s: s.extrapolation == "error",
        "raises an error for a row outside its knots",
        {"extrapolation": "constant"},
        "leaks",
    ),
)
_PROJECTION = (
    Rule(
        lambda s: isinstance(s.n_components, str),
        "takes its number of components from the number of rows, which is secret with privacy_unit",
        "pass a number as n_components",
        of_units=True,
    ),
)
_COUNTED = (Rule(lambda s: s.use_idf, "counts words over all rows", {"use_idf": False}),)
_HASHED = (
    Rule(_calls("preprocessor", "tokenizer", "analyzer", "strip_accents"), _BELIEVED, kind="leaks"),
)
_WORDS = (
    Rule(
        lambda s: s.vocabulary is None,
        "reads its vocabulary off the rows",
        "pass vocabulary=[...], or use HashingVectorizer",
    ),
    *_HASHED,
)


TABLE: dict[type, Entry] = {
    # Composed of parts, which are looked up in turn.
    Pipeline: Entry(_SUM, parts=_steps, once=True),
    FeatureUnion: Entry(_SUM, parts=_transformers, once=True),
    ColumnTransformer: Entry(_SUM, _SELECTED, _columns, _fitted_columns, once=True),
    TransformedTargetRegressor: Entry(_SUM, _TARGET, _target, _fitted_target, once=True),
    FrozenEstimator: Entry(Verdict("covered", "fits nothing"), parts=_same),
    VotingRegressor: Entry(_SUM, parts=_named, fitted=_fitted_named, once=True),
    MultiOutputRegressor: Entry(_SUM, parts=_same, fitted=_fitted_same),
    MultiOutputClassifier: Entry(_SUM, parts=_same, fitted=_fitted_same),
    OneVsRestClassifier: Entry(
        Verdict("leaks", f"{_READS_LABELS}; {_SEVERAL}"),
        parts=_same,
        fitted=_fitted_same,
    ),
    VotingClassifier: Entry(
        Verdict("leaks", f"{_READS_LABELS}; fit one model with the whole budget"),
        parts=_named,
        fitted=_fitted_named,
    ),
    # Read rows beside the fits.
    AdaBoostClassifier: _refused(
        "weighs rows by whether they were predicted, and publishes exact errors; fit one model "
        "with the whole budget"
    ),
    AdaBoostRegressor: _refused(
        "weighs rows by their errors, and publishes them; fit one model with the whole budget"
    ),
    BaggingClassifier: _refused(_SEEDS),
    BaggingRegressor: _refused(_SEEDS),
    CalibratedClassifierCV: _refused(
        "calibrates on exact scores and labels; use predict_proba of DPLogisticRegression"
    ),
    ClassifierChain: _refused(
        "reads the set of labels off y, and hands targets on as features; use MultiOutputClassifier"
    ),
    FixedThresholdClassifier: _refused(
        "looks at the labels for whether there are two; compare predict_proba with the threshold"
    ),
    GridSearchCV: _refused(
        "chooses by exact scores of rows, and publishes them; use "
        "skdp.model_selection.DPGridSearchCV"
    ),
    OneVsOneClassifier: _refused(
        f"publishes the exact number of rows of each two classes; {_SEVERAL}"
    ),
    RandomizedSearchCV: _refused(
        "chooses by exact scores of rows, and publishes them; use "
        "skdp.model_selection.DPRandomizedSearchCV"
    ),
    RANSACRegressor: _refused(
        "chooses rows by their exact residuals; use DPLinearRegression(loss='huber')"
    ),
    RegressorChain: _refused("hands targets on as features; use MultiOutputRegressor"),
    RFE: _refused("fits a number of times that is not counted; use a model with an l1 penalty"),
    RFECV: _refused("chooses features by exact scores of rows; use a model with an l1 penalty"),
    SelectFromModel: _refused("has not been examined; use a model with an l1 penalty"),
    SelfTrainingClassifier: _refused(
        "labels rows by exact predictions, and publishes which; fit the rows that have labels"
    ),
    SequentialFeatureSelector: _refused(
        "chooses features by exact scores of rows; use a model with an l1 penalty"
    ),
    StackingClassifier: _refused(
        "reads the set of labels off y, and folds that balance them; fit one model with the whole "
        "budget"
    ),
    StackingRegressor: _refused(
        "fits to folds, and its fits were not kept; average models by VotingRegressor"
    ),
    TunedThresholdClassifierCV: _refused(
        "chooses its threshold by exact scores of rows; compare predict_proba with a threshold "
        "that is known beforehand"
    ),
    DictVectorizer: _refused("reads its features off the rows; use FeatureHasher"),
    KBinsDiscretizer: _refused(
        "takes its bins from the rows; use SplineTransformer with an array of knots"
    ),
    KNNImputer: _refused(
        "fills gaps from other rows; use SimpleImputer(strategy='constant', "
        "keep_empty_features=True)"
    ),
    MaxAbsScaler: _refused("learns ranges from the rows; use skdp.preprocessing.DPMinMaxScaler"),
    Nystroem: _refused("takes rows for its components; use RBFSampler(gamma=...)"),
    PCA: _refused(_DIRECTIONS),
    PowerTransformer: _refused(_QUANTILES),
    QuantileTransformer: _refused(_QUANTILES),
    RobustScaler: _refused(
        "learns quantiles from the rows; use skdp.preprocessing.DPStandardScaler"
    ),
    SelectKBest: _refused(_BY_TARGETS),
    SelectPercentile: _refused(_BY_TARGETS),
    TargetEncoder: _refused(
        "learns mean targets of categories; use OneHotEncoder(categories=[...], "
        "handle_unknown='ignore')"
    ),
    TruncatedSVD: _refused(_DIRECTIONS),
    VarianceThreshold: _refused("chooses features by exact variances of the rows; leave it out"),
    MinMaxScaler: _refused("learns ranges from the rows; use skdp.preprocessing.DPMinMaxScaler"),
    StandardScaler: _refused(
        "learns means and variances from the rows; use skdp.preprocessing.DPStandardScaler"
    ),
    # Handle each row by itself.
    Binarizer: Entry(_BY_ROW),
    CountVectorizer: Entry(_BY_ROW, _WORDS),
    FeatureHasher: Entry(_BY_ROW),
    FunctionTransformer: Entry(_BY_ROW, _FUNCTION),
    GaussianRandomProjection: Entry(_BY_ROW, _PROJECTION),
    HashingVectorizer: Entry(_BY_ROW, _HASHED),
    MissingIndicator: Entry(_BY_ROW, _INDICATOR),
    Normalizer: Entry(_BY_ROW),
    OneHotEncoder: Entry(_BY_ROW, _ONE_HOT),
    OrdinalEncoder: Entry(_BY_ROW, _ORDINAL),
    PolynomialCountSketch: Entry(_BY_ROW),
    PolynomialFeatures: Entry(_BY_ROW),
    RBFSampler: Entry(_BY_ROW, _KERNEL),
    SimpleImputer: Entry(_BY_ROW, _IMPUTER),
    SparseRandomProjection: Entry(_BY_ROW, _PROJECTION),
    SplineTransformer: Entry(_BY_ROW, _SPLINES),
    TfidfTransformer: Entry(_BY_ROW, _COUNTED),
    TfidfVectorizer: Entry(_BY_ROW, (*_WORDS, *_COUNTED)),
}
