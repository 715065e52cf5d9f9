"""Registry of scikit-learn's classes: a row a class, read by all who compose or convert them.

A row says which estimators it holds, whether the receipts of these cover it, with which parameters
they do not, what its private counterpart is, and what is public of the columns that it returns.

A private fit protects a row of data if all that surrounds it does, too. Who surrounds it is looked
up by its exact class (a subclass may do anything) and judged by its parameters and by what is
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

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import inf, sqrt
from numbers import Real
from typing import Any, Literal, NamedTuple

import numpy as np
import scipy.special
from sklearn import (
    calibration,
    compose,
    decomposition,
    ensemble,
    feature_extraction,
    feature_selection,
    frozen,
    impute,
    kernel_approximation,
    linear_model,
    model_selection,
    multiclass,
    multioutput,
    pipeline,
    preprocessing,
    random_projection,
    semi_supervised,
    svm,
)
from sklearn.feature_extraction import text

from ..validation import shown
from . import counterparts
from .counterparts import Translation
from .open_budgets import BudgetedEstimator


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


@dataclass(frozen=True)
class Rule:
    """Parameters with which an estimator is not covered, though its class can be.

    Parameters
    ----------
    does : str
        What it does with them; a verb comes first.
    instead : mapping of str to object, or str, default=''
        Parameters to change, and their values; or advice, where no value suits everybody.
    when : callable, optional
        Takes an estimator and returns whether it has them; by default if one of the parameters to
        change has another value.
    kind : {'refused', 'leaks'}
        Verdict on them.
    of_units : bool, default=False
        Whether that tells something under ``privacy_unit`` alone, where the number of rows is
        secret.
    """

    does: str
    instead: Mapping[str, Any] | str = ""
    when: Callable[[Any], bool] | None = None
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

    def broken_by(self, thing: Any) -> bool:
        """Tell whether an estimator has these parameters.

        Parameters
        ----------
        thing : estimator
            Fitted or not.
        """
        if self.when is not None:
            return self.when(thing)
        return any(getattr(thing, name) != value for name, value in self.changes.items())


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
    scaled_later : bool
        Whether whatever follows brings columns to one scale by itself.
    units_forgotten : bool
        Whether what follows makes the same of columns in other units: that, or a scaler.
    width : int or None
        Number of columns, if it is known beforehand.
    partial : bool
        Whether a mapping has the ranges of some columns, by their places.
    """

    bounds: Any = None
    named: bool = True
    norm: float | None = None
    listed: list[Any] | None = None
    beside: bool = False
    given: bool = False
    scaled_later: bool = False
    units_forgotten: bool = False
    width: int | None = None
    partial: bool = False

    @property
    def kept_apart(self) -> Columns:
        """Facts of these columns where what follows may depend on units."""
        return self._replace(scaled_later=False, units_forgotten=False)

    @property
    def known(self) -> bool:
        """True if ranges of all columns are known."""
        return self.bounds is not None and not (self.partial and isinstance(self.bounds, Mapping))

    def range_of(self, place: int) -> tuple[float, float] | None:
        """The range of the column at a place; None if it is not known."""
        if self.common is not None or not isinstance(self.bounds, tuple):
            return self.bounds.get(place) if isinstance(self.bounds, Mapping) else self.common
        low, high = (np.broadcast_to(end, self.width or np.shape(end)) for end in self.bounds)
        return float(low[place]), float(high[place])

    @property
    def common(self) -> tuple[float, float] | None:
        """The range (low, high) of all columns, if one pair of numbers was given for all; else None."""
        given = self.bounds
        if isinstance(given, tuple) and all(isinstance(end, int | float) for end in given):
            low, high = given
            return float(low), float(high)
        return None


@dataclass(frozen=True)
class Entry:
    """Row of the table.

    Parameters
    ----------
    best : Verdict
        With the parameters that suit best.
    rules : tuple of Rule, optional
        Parameters that suit less; the first that applies is the verdict.
    children : tuple of str, optional
        Attributes that hold the estimators that it is going to fit: one, or several with names.
    fitted : tuple of str, optional
        Attributes that hold those that it has fitted; by default the same.
    once : bool, default=False
        Whether it fits each of them once, under the name of the parameter that holds it.
    counterpart : callable or str, optional
        Translation into a private class; or why there is none, and what to use instead.
    remark : str, default=''
        What is different of the counterpart by nature.
    after : callable, optional
        Takes a step and public facts about the columns that it is given, and returns those about
        the columns that it makes of them; nothing is known of them by default.
    """

    best: Verdict
    rules: tuple[Rule, ...] = ()
    children: tuple[str, ...] = ()
    fitted: tuple[str, ...] = ()
    once: bool = False
    counterpart: Translation | str | None = None
    remark: str = ""
    after: Callable[[Any, Columns], Columns] | None = None

    @property
    def composed(self) -> bool:
        """True if the estimator is composed of others."""
        return bool(self.children)

    def parts(self, thing: Any) -> list[tuple[str, Any]]:
        """Names and estimators that an estimator is going to fit.

        Parameters
        ----------
        thing : estimator
            Of this class.
        """
        return _held(thing, self.children) or []

    def fitted_parts(self, thing: Any) -> list[tuple[str, Any]] | None:
        """Names and estimators that an estimator has fitted; None if it is not fitted.

        Parameters
        ----------
        thing : estimator
            Of this class.
        """
        return _held(thing, self.fitted or self.children)


# In place of a model of labels that no row has, one-vs-rest holds a constant. Nothing else is left
# out, whatever the parameter holds by now.
_CONSTANT = ("sklearn.multiclass", "_ConstantPredictor")


def _held(thing: Any, attributes: tuple[str, ...]) -> list[tuple[str, Any]] | None:
    """Named estimators in some attributes; None if one of the attributes is missing."""
    found: list[tuple[str, Any]] = []
    for attribute in attributes:
        if not hasattr(thing, attribute):
            return None
        held = getattr(thing, attribute)
        if isinstance(held, Mapping):
            held = list(held.items())
        if not isinstance(held, list | tuple):
            held = [(attribute.removesuffix("_"), held)]
        for k, part in enumerate(held):
            if isinstance(part, list | tuple):
                # To no columns of a ColumnTransformer nothing is fitted.
                columns = part[2] if len(part) > 2 else None
                empty = isinstance(columns, list | tuple | np.ndarray) and len(columns) == 0
                found += [] if empty else [(part[0], part[1])]
            elif (type(part).__module__, type(part).__name__) != _CONSTANT:
                found.append((f"{attribute}[{k}]", part))
    return found


# Parameters by which estimators learn or tell something of rows.


def _by_function(thing: Any) -> bool:
    """Tell whether a function of the user chooses columns."""
    chosen = [columns for _, _, columns in thing.transformers]
    return any(callable(c) and type(c) is not compose.make_column_selector for c in chosen)


def _by_type(thing: Any) -> bool:
    """Tell whether the types of columns choose some."""
    return any(type(c) is compose.make_column_selector for _, _, c in thing.transformers)


def _layout_varies(thing: Any) -> bool:
    """Tell whether the share of zeros decides between sparse and dense columns."""
    steps = [thing.remainder, *(step for _, step, _ in thing.transformers)]
    if thing.sparse_threshold == 0 or all(map(_dense, steps)):
        return False
    never = any(_never_full(step, columns) for _, step, columns in thing.transformers)
    return not (thing.sparse_threshold == 1 and never)


def _dense(step: Any) -> bool:
    """Tell whether a step returns dense columns whatever it is given."""
    if isinstance(step, BudgetedEstimator):
        return step._always_dense
    if type(step) is preprocessing.OneHotEncoder:
        return not step.sparse_output
    return type(step) is preprocessing.OrdinalEncoder or (isinstance(step, str) and step == "drop")


def _never_full(step: Any, columns: Any) -> bool:
    """Tell whether a step returns columns that hold a zero in each row."""
    listed = type(step) is preprocessing.OneHotEncoder and not isinstance(step.categories, str)
    if not listed or step.drop is not None:
        return False
    # No columns, no zeros: a list of names or numbers says how many there are.
    named = isinstance(columns, list) and not any(isinstance(c, bool) for c in columns)
    several = any(len(categories) > 1 for categories in step.categories)
    return named and len(columns) == len(step.categories) and several


def _inverted(target: Any) -> bool:
    """Tell whether targets are transformed, and the inverse is checked on rows."""
    transformed = target.func is not None or target.transformer is not None
    return bool(target.check_inverse and transformed)


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
    """Tell whether a column of integers would change the listed categories."""
    if isinstance(step.categories, str):
        return False
    listed = [list(categories) for categories in step.categories]
    numbers = [c for some in listed for c in some if all(isinstance(c, Real) for c in some)]
    return any(not float(c).is_integer() for c in numbers)


def _believed(step: Any) -> bool:
    """Tell whether a function, or an argument of it, is the user's and has to be trusted."""
    return not _elementwise(step.func) or step.kw_args or callable(step.feature_names_out)


def _splits(step: Any) -> bool:
    """Tell whether a vectorizer calls functions of the user."""
    return any(
        map(callable, (step.preprocessor, step.tokenizer, step.analyzer, step.strip_accents))
    )


def _filled_by_rows(step: Any) -> bool:
    """Tell whether sparse splines keep what they put into gaps for the time being.

    Scikit-learn takes it away from the first column alone.
    """
    gaps = step.sparse_output and getattr(step, "handle_missing", "error") == "zeros"
    return bool(gaps and step.extrapolation not in ("constant", "linear"))


# A row of a table is a line, however long.
# fmt: off
_BELIEVED = "calls a function that is taken to handle each row by itself and to keep nothing"
_INVERSE = "warns if rows do not come back from its inverse", {"check_inverse": False}
_QUOTES = "raises an error that quotes a category if a row has one that was not listed"
_INTEGERS = Rule("computes something else of integers than of floats, and one entry can make floats of a column of integers", "use PolynomialFeatures for products, or see that columns are floats", _of_whole_numbers, "leaks")
_COUNTED = Rule("counts words over all rows", {"use_idf": False})
_SPLIT = Rule(_BELIEVED, "", _splits, "leaks")
_WORDS = Rule("reads its vocabulary off the rows", "pass vocabulary=[...], or use HashingVectorizer", lambda s: s.vocabulary is None)
_COMPONENTS = Rule("takes its number of components from the number of rows, which is secret with privacy_unit", "pass a number as n_components", lambda s: isinstance(s.n_components, str), of_units=True)
_SELECTED = (
    Rule("chooses columns by a function, which may look at rows", "list the columns", _by_function),
    Rule("chooses columns by their types, which one entry can turn if they were not declared when rows were read", "list the columns, or pass facts=X.dtypes to skdp.privatize", _by_type, "leaks"),
    Rule("returns sparse or dense columns by the share of zeros, which one row can turn", {"sparse_threshold": 0}, _layout_varies, "leaks"),
)
_CATEGORIES = (
    Rule("reads its categories off the rows", "pass categories=[...], or use skdp.preprocessing.DPOneHotEncoder", lambda s: isinstance(s.categories, str)),
    Rule("counts how often categories occur", {"min_frequency": None, "max_categories": None}),
    Rule("cuts listed categories to whole numbers, or fails, if all entries of a column are whole", "list whole numbers or texts in categories", _cut, "leaks"),
)
_ONE_HOT = (
    Rule(_QUOTES, {"handle_unknown": "ignore"}, lambda s: s.handle_unknown == "error", "leaks"),
    Rule("warns if a row has a category that was not listed", {"handle_unknown": "ignore"}, lambda s: s.handle_unknown == "warn", "leaks"),
    Rule("drops a category, for which it is enough not to list it, and warns if a row has another that was not listed", {"drop": None}, lambda s: s.drop is not None, "leaks"),
)
_IMPUTER = (
    Rule("fills gaps by statistics of the rows", "pass strategy='constant', a fill_value and keep_empty_features=True, or use skdp.preprocessing.DPSimpleImputer", lambda s: s.strategy != "constant"),
    Rule("notes which columns are empty", {"keep_empty_features": True}),
    Rule("notes which columns have gaps", "leave add_indicator out", lambda s: s.add_indicator),
)
_SPLINES = (
    Rule("fills gaps by the least entry of a column", {"sparse_output": False}, _filled_by_rows),
    Rule("takes knots from the rows", "pass an array of knots, or use skdp.preprocessing.DPSplineTransformer", lambda s: isinstance(s.knots, str)),
    Rule("raises an error for a row outside its knots", {"extrapolation": "constant"}, lambda s: s.extrapolation == "error", "leaks"),
)
# fmt: on


# Columns that come out of steps.


def _range(step: Any, before: Columns) -> Columns:
    return Columns((0.0, 1.0), False)


def _norm(step: Any, before: Columns) -> Columns:
    width = getattr(step, "n_features", before.width)
    if step.norm not in ("l1", "l2"):
        return Columns(None, False, width=width)
    return Columns((-1.0, 1.0), False, 1.0, width=width)


def _codes(step: Any, before: Columns) -> Columns:
    listed = [] if isinstance(step.categories, str) else step.categories
    width = sum(map(len, listed)) if step.drop is None else 0
    return Columns((0.0, 1.0), False, sqrt(len(listed)) or None, width=width or None)


def _places(step: Any, before: Columns) -> Columns:
    """Numbers of listed categories; -1 stands for others."""
    listed = [] if isinstance(step.categories, str) else step.categories
    ends = [-1.0] * len(listed), [max(1.0, len(categories) - 1.0) for categories in listed]
    return Columns(ends if listed else None, False, width=len(listed) or None)


def _products(step: Any, before: Columns) -> Columns:
    """Ranges of products of columns, which stay within [-1, 1], or within [0, 1]."""
    low, high = before.common or (-inf, inf)
    return Columns((0.0 if low >= 0 else -1.0, 1.0) if low >= -1 and high <= 1 else None, False)


# Rows of one kind.


def _refused(why: str, counterpart: Translation | None = None, remark: str = "") -> Entry:
    """Entry of a class that reads rows of data by itself, or has not been examined."""
    return Entry(Verdict("refused", why), counterpart=counterpart, remark=remark)


def _free(*rules: Rule, **facts: Any) -> Entry:
    """Entry of a step that handles each row of data by itself, unless parameters say otherwise."""
    why = "handles each row by itself and learns nothing"
    return Entry(Verdict("covered", why), rules, **facts)


def _sums(*rules: Rule, **facts: Any) -> Entry:
    """Entry of an estimator that publishes nothing but its private fits."""
    why = "its fits are fits on the same rows, and their receipts are composed"
    return Entry(Verdict("covered", why), rules, **facts)


def _model(counterpart: Translation | str, remark: str = "") -> Entry:
    """Entry of a linear model of scikit-learn's, which adds no noise."""
    why = "adds no noise; skdp.privatize makes a private model of it, or says what to use instead"
    return Entry(Verdict("refused", why), counterpart=counterpart, remark=remark)


# fmt: off
_ONE_MODEL = "fit one model with the whole budget"
_L1 = "use a model with an l1 penalty"
_READS_LABELS = "reads the set of labels off y, so that one row can add a label, and a model"
_SEVERAL = "DPLogisticRegression and DPSVMClassifier take several classes by themselves"
_SEEDS = f"sets random_state of what it fits, from which anyone can compute the noise; {_ONE_MODEL}"
_DIRECTIONS = "learns directions from the rows; leave it out, because models find private coordinates by themselves, or use skdp.preprocessing."
_QUANTILES = "learns how values are distributed; use skdp.preprocessing.DPQuantileTransformer"
_SEARCH = "chooses by exact scores of rows, and publishes them; use skdp.model_selection."
_ONE_BY_ONE = "fits one model for each target, and how many there are is not known here; make one private model for each target, with budgets by skdp.split_budget"
_PATH = "follows a path by exact correlations; use Lasso"
_PENALISED = "There is no penalty unless alpha is set, in place of 1.0."
_COUNTS = "Targets count up to a cap; with another deviance means are fitted by that of Poisson."
_TASKS = "has several targets; use one Lasso for each of them"
_FOLLOWS = "The penalty is no stronger than the budget asks for, which needs no search."
_CHOOSES = "It selects features by the budget."
_NAMED: Any = {"children": ("estimators",), "fitted": ("named_estimators_",)}
_MANY: Any = {"children": ("estimator",), "fitted": ("estimators_",)}

TABLE: dict[type, Entry] = {
    # Composed of parts, which are looked up in turn.
    pipeline.Pipeline: _sums(children=("steps",), once=True),
    pipeline.FeatureUnion: _sums(children=("transformer_list",), once=True),
    compose.ColumnTransformer: _sums(*_SELECTED, children=("transformers", "remainder"), fitted=("transformers_",), once=True),
    compose.TransformedTargetRegressor: _sums(Rule(*_INVERSE, _inverted, "leaks"), Rule(_BELIEVED, "", lambda t: not _elementwise(t.func), "leaks"), _INTEGERS, children=("regressor", "transformer"), fitted=("regressor_", "transformer_"), once=True),
    ensemble.VotingRegressor: _sums(**_NAMED, once=True),
    frozen.FrozenEstimator: Entry(Verdict("covered", "fits nothing"), children=("estimator",), counterpart="keeps what it has learned from rows; pass the estimator that it holds"),
    multioutput.MultiOutputRegressor: _sums(**_MANY, counterpart=_ONE_BY_ONE),
    multioutput.MultiOutputClassifier: _sums(**_MANY, counterpart=_ONE_BY_ONE),
    multiclass.OneVsRestClassifier: Entry(Verdict("leaks", f"{_READS_LABELS}; {_SEVERAL}"), **_MANY, counterpart="fits one model for each label that it finds; pass the model that it holds, whose private counterpart takes several classes within one budget"),
    ensemble.VotingClassifier: Entry(Verdict("leaks", f"{_READS_LABELS}; {_ONE_MODEL}"), **_NAMED, counterpart="reads the set of labels off y; use one of its models"),
    # Read rows beside the fits.
    ensemble.AdaBoostClassifier: _refused(f"weighs rows by whether they were predicted, and publishes exact errors; {_ONE_MODEL}"),
    ensemble.AdaBoostRegressor: _refused(f"weighs rows by their errors, and publishes them; {_ONE_MODEL}"),
    ensemble.BaggingClassifier: _refused(_SEEDS),
    ensemble.BaggingRegressor: _refused(_SEEDS),
    calibration.CalibratedClassifierCV: _refused("calibrates on exact scores and labels; use predict_proba of DPLogisticRegression"),
    multioutput.ClassifierChain: _refused("reads the set of labels off y, and hands targets on as features; use MultiOutputClassifier"),
    model_selection.FixedThresholdClassifier: _refused("looks at the labels for whether there are two; compare predict_proba with the threshold"),
    model_selection.GridSearchCV: _refused(f"{_SEARCH}DPGridSearchCV"),
    multiclass.OneVsOneClassifier: _refused(f"publishes the exact number of rows of each two classes; {_SEVERAL}"),
    model_selection.RandomizedSearchCV: _refused(f"{_SEARCH}DPRandomizedSearchCV"),
    linear_model.RANSACRegressor: _refused("chooses rows by their exact residuals; use DPLinearRegression(loss='huber')"),
    multioutput.RegressorChain: _refused("hands targets on as features; use MultiOutputRegressor"),
    feature_selection.RFE: _refused(f"fits a number of times that is not counted; {_L1}"),
    feature_selection.RFECV: _refused(f"chooses features by exact scores of rows; {_L1}"),
    feature_selection.SelectFromModel: _refused(f"has not been examined; {_L1}"),
    semi_supervised.SelfTrainingClassifier: _refused("labels rows by exact predictions, and publishes which; fit the rows that have labels"),
    feature_selection.SequentialFeatureSelector: _refused(f"chooses features by exact scores of rows; {_L1}"),
    ensemble.StackingClassifier: _refused(f"reads the set of labels off y, and folds that balance them; {_ONE_MODEL}"),
    ensemble.StackingRegressor: _refused("fits to folds, and its fits were not kept; average models by VotingRegressor"),
    model_selection.TunedThresholdClassifierCV: _refused("chooses its threshold by exact scores of rows; compare predict_proba with a threshold that is known beforehand"),
    # Learn from rows.
    feature_extraction.DictVectorizer: _refused("reads its features off the rows; use FeatureHasher"),
    preprocessing.KBinsDiscretizer: _refused("takes its bins from the rows; use skdp.preprocessing.DPKBinsDiscretizer", counterparts.bins),
    impute.KNNImputer: _refused("fills gaps from other rows; use SimpleImputer(strategy='constant', keep_empty_features=True)"),
    preprocessing.MaxAbsScaler: _refused("learns ranges from the rows; use skdp.preprocessing.DPMinMaxScaler", counterparts.range_scaler),
    kernel_approximation.Nystroem: _refused("takes rows for its components; use RBFSampler(gamma=...)"),
    decomposition.PCA: _refused(f"{_DIRECTIONS}DPPCA", counterparts.components),
    preprocessing.PowerTransformer: _refused(_QUANTILES, counterparts.powers, "Quantiles take the place of the power: columns become normal all the same."),
    preprocessing.QuantileTransformer: _refused(_QUANTILES, counterparts.quantiles),
    preprocessing.RobustScaler: _refused("learns quantiles from the rows; use skdp.preprocessing.DPRobustScaler", counterparts.robust_scaler),
    feature_selection.SelectKBest: _refused("chooses features by exact statistics of the rows; use skdp.preprocessing.DPSelectKBest, or a model with an l1 penalty", counterparts.best_columns, "It scores columns by covariances with the target."),
    feature_selection.SelectPercentile: _refused(f"chooses features by exact statistics of the rows; {_L1}"),
    preprocessing.TargetEncoder: _refused("learns mean targets of categories, of which each category would need its own noise; use skdp.preprocessing.DPOneHotEncoder, whose coefficients are such means"),
    decomposition.TruncatedSVD: _refused(f"{_DIRECTIONS}DPTruncatedSVD", counterparts.singular_vectors),
    feature_selection.VarianceThreshold: _refused("chooses features by exact variances of the rows; leave it out"),
    preprocessing.MinMaxScaler: _refused("learns ranges from the rows; use skdp.preprocessing.DPMinMaxScaler", counterparts.range_scaler),
    preprocessing.StandardScaler: _refused("learns means and variances from the rows; use skdp.preprocessing.DPStandardScaler", counterparts.standard_scaler),
    # Handle each row by itself.
    preprocessing.Binarizer: _free(after=_range),
    text.CountVectorizer: _free(_WORDS, _SPLIT),
    feature_extraction.FeatureHasher: _free(),
    preprocessing.FunctionTransformer: _free(Rule(*_INVERSE, lambda s: s.check_inverse and s.func is not None and s.inverse_func is not None, "leaks"), Rule(_BELIEVED, "", _believed, "leaks"), _INTEGERS),
    random_projection.GaussianRandomProjection: _free(_COMPONENTS),
    text.HashingVectorizer: _free(_SPLIT, after=_norm),
    impute.MissingIndicator: _free(Rule("notes which columns have gaps", {"features": "all"}), after=_range),
    preprocessing.Normalizer: _free(after=lambda step, before: _norm(step, before)._replace(bounds=(-1.0, 1.0))),
    preprocessing.OneHotEncoder: _free(*_CATEGORIES, *_ONE_HOT, counterpart=counterparts.one_hot, after=_codes),
    preprocessing.OrdinalEncoder: _free(*_CATEGORIES, Rule(_QUOTES, {"handle_unknown": "use_encoded_value", "unknown_value": -1}, lambda s: s.handle_unknown == "error", "leaks"), counterpart=counterparts.ordinal, remark="Without a list categories have no order: each has a column.", after=_places),
    kernel_approximation.PolynomialCountSketch: _free(),
    preprocessing.PolynomialFeatures: _free(after=_products),
    # Each of the components is sqrt(2 / n_components) times a cosine.
    kernel_approximation.RBFSampler: _free(Rule("takes gamma from the rows", "pass a number", lambda s: not isinstance(s.gamma, Real)), after=lambda step, before: Columns(None, False, sqrt(2.0))),
    # A model holds what is filled in to the range of the column, too.
    impute.SimpleImputer: _free(*_IMPUTER, counterpart=counterparts.imputer, after=lambda step, before: before._replace(named=False, norm=None)),
    random_projection.SparseRandomProjection: _free(_COMPONENTS),
    preprocessing.SplineTransformer: _free(*_SPLINES, counterpart=counterparts.splines),
    text.TfidfTransformer: _free(_COUNTED, after=_norm),
    text.TfidfVectorizer: _free(_WORDS, _SPLIT, _COUNTED, after=_norm),
    # Linear models.
    linear_model.LogisticRegression: _model(counterparts.logistic),
    linear_model.LogisticRegressionCV: _model(counterparts.logistic, _FOLLOWS),
    linear_model.Perceptron: _model(counterparts.sgd_classifier, "Its loss is the hinge, which also asks for a gap."),
    linear_model.RidgeClassifier: _model(counterparts.ridge_classifier, "Its loss is the squared hinge: squares of labels, but for rows that are right by far."),
    linear_model.RidgeClassifierCV: _model(counterparts.ridge_classifier, "Its loss is the squared hinge."),
    linear_model.SGDClassifier: _model(counterparts.sgd_classifier),
    svm.LinearSVC: _model(counterparts.linear_svm),
    svm.SVC: _model(counterparts.kernel_svm),
    linear_model.ElasticNet: _model(counterparts.elastic_net, "Of both penalties it keeps the l1."),
    linear_model.ElasticNetCV: _model(counterparts.lasso, _CHOOSES),
    linear_model.HuberRegressor: _model(counterparts.huber),
    linear_model.Lasso: _model(counterparts.lasso),
    linear_model.LassoCV: _model(counterparts.lasso, _CHOOSES),
    linear_model.LinearRegression: _model(counterparts.ridge),
    linear_model.Ridge: _model(counterparts.ridge),
    linear_model.RidgeCV: _model(counterparts.ridge, _FOLLOWS),
    **dict.fromkeys((linear_model.GammaRegressor, linear_model.PoissonRegressor, linear_model.TweedieRegressor), _model(counterparts.counts, _COUNTS)),
    linear_model.QuantileRegressor: _model(counterparts.quantile, _PENALISED),
    linear_model.SGDRegressor: _model(counterparts.sgd_regressor),
    **dict.fromkeys((linear_model.ARDRegression, linear_model.BayesianRidge), _model("learns its penalty from rows; use Ridge")),
    **dict.fromkeys((linear_model.Lars, linear_model.LarsCV, linear_model.LassoLars, linear_model.LassoLarsCV, linear_model.LassoLarsIC), _model(_PATH)),
    **dict.fromkeys((linear_model.OrthogonalMatchingPursuit, linear_model.OrthogonalMatchingPursuitCV), _model(_PATH)),
    **dict.fromkeys((svm.LinearSVR, svm.SVR), _model("has no private counterpart; use HuberRegressor")),
    linear_model.TheilSenRegressor: _model("takes medians over subsets of rows; use HuberRegressor"),
    **dict.fromkeys((linear_model.MultiTaskElasticNet, linear_model.MultiTaskElasticNetCV, linear_model.MultiTaskLasso, linear_model.MultiTaskLassoCV), _model(_TASKS)),
}
# Scalers, each with a private one in its place.
SCALERS = {kind for kind, entry in TABLE.items() if entry.counterpart in (counterparts.range_scaler, counterparts.robust_scaler, counterparts.standard_scaler)}
# fmt: on
