"""The walk through an estimator that puts private steps in the places of those that read rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from inspect import signature
from math import sqrt
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, is_regressor
from sklearn.compose import ColumnTransformer, TransformedTargetRegressor
from sklearn.ensemble import VotingRegressor
from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer, TfidfVectorizer
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import GridSearchCV, ParameterGrid, RandomizedSearchCV
from sklearn.pipeline import FeatureUnion, Pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
)

from .. import estimators, preprocessing
from ..estimators.base import PrivateLinearModel
from ..estimators.fit_plan import plan
from ..estimators.stages import TargetCheck
from ..model_selection import DPGridSearchCV, DPRandomizedSearchCV
from ..model_selection.base import PrivateSearch
from ..model_selection.candidates import private_steps
from ..preprocessing.base import PrivateTransformer
from ..privacy.adjacency import PrivacyUnit
from ..privacy.row_scores import ROW_SCORES
from ..reporting import verdicts
from ..reporting.counterparts import Counterpart, Given, NoCounterpartError
from ..reporting.open_budgets import BudgetedEstimator
from ..reporting.registry import SCALERS, TABLE, Columns
from ..validation import SEARCHES, shown
from .privatize_plan import PlannedStep, WantedFact, written

_TEXT = (CountVectorizer, HashingVectorizer, TfidfVectorizer)
# Share of the budget for scalers. Between a tenth and three tenths models hardly differ, but with
# 3,750 rows of 100 columns a tenth does not find the ranges that a lasso needs.
_SCALER_SHARE = 0.2
# A grid of so few points is tried in full, see docs/how_to/model_selection.md.
_FEW_POINTS = 3
# Functions that keep the order of targets, so that bounds of targets can go through them.
_INCREASING = (
    *(np.arcsinh, np.cbrt, np.exp, np.expm1, np.log, np.log10, np.log1p, np.log2, np.sqrt),
    *(np.sinh, np.tanh, np.arctan),
)
# Parameters that tie a model to the columns as they come.
_GIVEN = ("data_bounds", "data_norm")
_TIES = ("l1_ratio", "penalty", "positive", "constraint", *_GIVEN)
_SCALING_MODELS = (
    estimators.DPLinearRegression,
    estimators.DPLogisticRegression,
    estimators.DPSVMClassifier,
)
# Of a data set with rows enough for all that a fit does where there are enough.
_USUAL_SIZE = 1_000_000, 10
_METHOD = "calls a method of an estimator, which may have been fitted; put that in its place"
_OF_SEARCHES = {
    **SEARCHES,
    "scoring": "On private rows a score is a mean over rows of a bounded number.",
    "random_state": "A seed would make the noise known.",
}

_Made = tuple[Any, Columns]
_Reasons = list[tuple[str, str]]


@dataclass
class Conversion:
    """One privatization on its way: the public facts that were given, and what was found.

    Parameters
    ----------
    bounds, classes, target_bounds, categories : object
        Public facts as given to :func:`skdp.privatize`; None if not.
    adjacency : str
        Neighbouring relation of all private steps.
    unit : PrivacyUnit
        What fits are going to protect.
    """

    bounds: Any
    classes: Any
    target_bounds: Any
    categories: Mapping[Any, Any] | None
    adjacency: str
    unit: PrivacyUnit
    steps: list[PlannedStep] = field(default_factory=list, init=False)
    wanted: list[WantedFact] = field(default_factory=list, init=False)
    refused: list[str] = field(default_factory=list, init=False)
    tied: bool = field(default=False, init=False)
    used: set[str] = field(default_factory=set, init=False)
    used_categories: set[Any] = field(default_factory=set, init=False)

    def whole(self, estimator: Any) -> Any:
        """The counterpart of an estimator, without a budget.

        Parameters
        ----------
        estimator : estimator
            A clone, of which parts may be used anew.
        """
        known = Columns(self.bounds, given=self.bounds is not None)
        return self._converted(estimator, "", known)[0]

    def _converted(self, thing: Any, path: str, known: Columns) -> _Made:
        """The counterpart of a part, and public facts about the columns that come out of it."""
        if verdicts.does_nothing(thing):
            return thing, known
        if isinstance(thing, BudgetedEstimator):
            return self._ours(thing, path, known)
        if type(thing) in _WALKS:
            return _WALKS[type(thing)](self, thing, path, known)
        try:
            found = verdicts.counterpart_of(thing)
        except NoCounterpartError as failure:
            return self._refuse(thing, path, str(failure))
        if found is None:
            return self._row_wise(thing, path, known)
        if type(thing) in SCALERS:
            return self._scaler(found, thing, path, known)
        return self._model(found, thing, path, known), Columns()

    def _refuse(self, thing: Any, path: str, why: str) -> _Made:
        kind = type(thing).__name__
        self.refused.append(f"{kind} {why}" if not path else f"{path}: {kind} {why}")
        return thing, Columns(named=False)

    def _note(self, path: str, thing: Any, after: str, **facts: Any) -> None:
        before = repr(thing) if isinstance(thing, str) else type(thing).__name__
        facts = {name: tuple(v) if isinstance(v, list) else v for name, v in facts.items()}
        self.steps.append(PlannedStep(path or before, before, after, **facts))

    def _want(self, path: str, argument: str, saves: str) -> None:
        self.wanted.append(WantedFact(argument, path or "the model", saves))

    # What holds other estimators.

    def _pipeline(self, thing: Pipeline, path: str, known: Columns) -> _Made:
        if thing.memory is not None:
            thing.memory = None
            self._note(
                path, thing, "kept", changed=[("memory=None", "A cache would hold rows on disk.")]
            )
        made, otherwise = [], known.scaled_later
        for k, (name, step) in enumerate(thing.steps):
            scales = _first_scales(thing.steps[k + 1 :])
            later = not self.tied and (otherwise if scales is None else scales)
            known = known._replace(scaled_later=later)
            new, known = self._converted(step, _joined(path, name), known)
            made.append((name, new))
        thing.steps = made
        return thing, known

    def _parallel(self, thing: Any, path: str, known: Columns) -> _Made:
        """Parts that see all columns, or those that are listed for each, side by side."""
        attribute = TABLE[type(thing)].children[0]
        made, outs = [], []
        for name, part, *listed in getattr(thing, attribute):
            at = _joined(path, name)
            # Parts that see the same columns are to have them on different scales.
            own = self._own(known, listed[0], at) if listed else known._replace(scaled_later=False)
            ranges = own.given and own.bounds is not None
            if listed and own.scaled_later and ranges and _is(part, "passthrough"):
                new, out = self._bounded(part, at, own, (-1.0, 1.0))
            else:
                new, out = self._converted(part, at, own)
            made.append((name, new, *listed))
            outs += [] if _is(part, "drop") else [out]
        setattr(thing, attribute, made)
        if type(thing) is ColumnTransformer:
            outs += self._remainder(thing, path, known)
        weighted = getattr(thing, "transformer_weights", None)
        return thing, Columns(named=False) if weighted else _side_by_side(outs)

    def _remainder(self, thing: ColumnTransformer, path: str, known: Columns) -> list[Columns]:
        """The columns of a ColumnTransformer that no part has, and the layout of all."""
        outs = []
        if not _is(thing.remainder, "drop"):
            others = known._replace(bounds=known.common, named=False, norm=None, listed=None)
            at = _joined(path, "remainder")
            thing.remainder, out = self._converted(
                thing.remainder, at, others._replace(beside=True)
            )
            outs.append(out)
        wanted = 1.0 if any(_makes_text(step) for _, step, _ in thing.transformers) else 0.0
        if thing.sparse_threshold != wanted:
            thing.sparse_threshold = wanted
            why = "Else one row can turn the layout."
            self._note(path, thing, "kept", changed=[(f"sparse_threshold={wanted:g}", why)])
        return outs

    def _own(self, known: Columns, columns: Any, at: str) -> Columns:
        """Public facts about the columns that one part of a ColumnTransformer gets."""
        given, names = known.bounds, _listed(columns)
        unknown = known._replace(bounds=None, norm=None, listed=names, beside=True)
        if names is None or given is None or known.common is not None:
            return unknown._replace(bounds=known.common)
        if isinstance(given, Mapping):
            lacking = [c for c in names if c not in given]
            if len(lacking) == len(names):
                return unknown
            if lacking:
                raise ValueError(
                    f"privatize needs bounds for all columns of {at} or for none, got none for "
                    f"{', '.join(map(str, lacking[:3]))}{', ...' if len(lacking) > 3 else ''}; "
                    "add them, or make two steps of it."
                )
            pairs = [given[c] for c in names]
            return unknown._replace(bounds=([low for low, _ in pairs], [high for _, high in pairs]))
        if not all(isinstance(c, int) for c in names):
            return unknown
        ends = [[float(np.ravel(end)[c if np.ndim(end) else 0]) for c in names] for end in given]
        return unknown._replace(bounds=(ends[0], ends[1]))

    def _target(self, thing: TransformedTargetRegressor, path: str, known: Columns) -> _Made:
        if _of_an_estimator(thing.func) or _of_an_estimator(thing.inverse_func):
            return self._refuse(thing, path, _METHOD)
        changed = []
        if type(thing.transformer) in SCALERS:
            thing.transformer = None
            why = "Targets are brought to one scale by target_bounds."
            changed.append(("transformer=None", why))
        at = _joined(path, "transformer")
        thing.transformer, _ = self._converted(thing.transformer, at, Columns())
        if thing.check_inverse and (thing.func is not None or thing.transformer is not None):
            thing.check_inverse = False
            changed.append(("check_inverse=False", "The check warns of rows."))
        bounds = self.target_bounds
        self.target_bounds = self._bounds_within(thing, bounds)
        if bounds is not None and self.target_bounds is None:
            why = "They are not known of what the function returns; the fit finds others."
            changed.append(("target_bounds=None", why))
        if changed:
            self._note(path, thing, "kept", changed=changed)
        at, known = _joined(path, "regressor"), known._replace(scaled_later=False)
        thing.regressor, known = self._converted(_regressor_of(thing), at, known)
        self.target_bounds = bounds
        return thing, known

    def _bounds_within(self, thing: TransformedTargetRegressor, bounds: Any) -> Any:
        """The bounds of targets as the regressor within sees them."""
        if bounds is None or (thing.func is None and thing.transformer is None):
            return bounds
        self.used.add("target_bounds")
        if thing.func in _INCREASING:
            with np.errstate(all="ignore"):
                low, high = (float(thing.func(end)) for end in bounds)
            if np.isfinite(low) and np.isfinite(high):
                return low, high
        return None

    def _search(self, thing: Any, path: str, known: Columns) -> _Made:
        name, listed = _spaces(thing)
        notes: _Reasons = []
        translated = [self._space(thing.estimator, space, path, notes) for space in listed]
        at, outer = _joined(path, "estimator"), self.tied
        # Candidates that take columns as they come need scalers, and so do the others then.
        self.tied = self.tied or _ties(key for space in listed for key in space)
        inner, _ = self._converted(thing.estimator, at, known._replace(scaled_later=False))
        self.tied = outer
        translated = [space for space in translated if space]
        if not translated:
            why = "nothing is left to choose from, so that the whole budget is for one fit"
            self._note(path, thing, "its estimator", why=why, left_out=notes)
            return inner, Columns()
        spaces = translated if len(translated) > 1 else translated[0]
        given = Given(thing, {})
        given.same("estimator", name)
        kept: dict[str, Any] = {}
        kind: type = DPRandomizedSearchCV
        if type(thing) is GridSearchCV:
            kind = DPGridSearchCV
            kept = {"exhaustive": True} if len(ParameterGrid(spaces)) <= _FEW_POINTS else {}
        kept |= given.same("n_jobs", "n_iter")
        if isinstance(thing.scoring, str) and thing.scoring in ROW_SCORES:
            kept |= given.same("scoring")
        steps = weights_of_steps(inner)
        if len(steps) > 1:
            kept["step_shares"] = steps
        for left, value in given.left.items():
            notes.append((f"{left}={shown(value)}", _OF_SEARCHES.get(left, SEARCHES["refit"])))
        if is_regressor(inner) and self.target_bounds is None:
            self.refused.append(
                f"{path or type(thing).__name__}: {type(thing).__name__} compares errors, which "
                "have to be bounded; pass target_bounds=(low, high)"
            )
        names = ", ".join(dict.fromkeys(key for space in translated for key in space))
        self._note(path, thing, f"{written(kind.__name__, kept)} over {names}", left_out=notes)
        return kind(inner, **{name: spaces}, **kept), Columns()

    def _space(
        self, estimator: Any, space: Mapping[str, Any], path: str, notes: _Reasons
    ) -> dict[str, Any]:
        """Candidates of a search in parameters of the counterparts; notes what was left out."""
        parts = {"": estimator, **estimator.get_params(deep=True)}
        found: dict[str, Any] = {}
        for key, values in space.items():
            at, _, last = key.rpartition("__")
            several = values if isinstance(values, list) else []
            if not (isinstance(values, list | tuple | np.ndarray) or hasattr(values, "rvs")):
                self.refused.append(
                    f"{_joined(path, key)}: a search needs a list of values, or a distribution, "
                    f"got {shown(values)}"
                )
            elif any(isinstance(v, BaseEstimator) for v in (parts.get(key), *several)):
                self.refused.append(
                    f"{_joined(path, key)}: a search over whole steps has no private counterpart; "
                    "make one search for each of them, or settle the step"
                )
            elif type(parts.get(at)) in SCALERS:
                notes.append((key, "Scalers are no part of the private search."))
            else:
                ours, why = _values(parts.get(at), last, values)
                found |= {_joined(at, name): listed for name, listed in ours.items()}
                notes += [] if ours else [(key, why)]
        return found

    # Single steps.

    def _ours(self, thing: Any, path: str, known: Columns) -> _Made:
        """A step that is of this package already."""
        if isinstance(thing, PrivateSearch):
            at = _joined(path, "estimator")
            inner = known._replace(scaled_later=False)
            thing.estimator, _ = self._converted(thing.estimator, at, inner)
        has, changed = thing.get_params(deep=False), []
        changes: dict[str, Any] = {}
        if has.get("random_state") is not None:
            changes["random_state"] = None
            changed.append(("random_state=None", "A seed would make the noise known."))
        if has.get("adjacency", self.adjacency) != self.adjacency:
            changes["adjacency"] = self.adjacency
            changed.append((f"adjacency={self.adjacency!r}", "It is that of the whole."))
        lacks = [fact for fact in ("classes", "target_bounds") if has.get(fact, "no") is None]
        changes |= {fact: given for fact in lacks if (given := self._given(fact)) is not None}
        if isinstance(thing, PrivateLinearModel) and not any(
            has.get(name) is not None for name in (*_GIVEN, "feature_bound")
        ):
            changes |= self._facts_of_rows(type(thing), has, known, path)
        thing.set_params(**changes)
        self._wants_of(thing, path)
        why = (
            "private already; its budget is its share of the whole"
            if verdicts.spends(thing)
            else ""
        )
        self._note(path, thing, type(thing).__name__, why=why, changed=changed)
        return thing, _columns_after(thing, known)

    def _model(self, found: Counterpart, thing: Any, path: str, known: Columns) -> Any:
        kind, given = getattr(estimators, found.kind), dict(found.parameters)
        classifies = kind in (estimators.DPLogisticRegression, estimators.DPSVMClassifier)
        fact = "classes" if classifies else "target_bounds"
        facts = {fact: self._given(fact), **self._facts_of_rows(kind, given, known, path)}
        given |= {name: value for name, value in facts.items() if value is not None}
        model = kind(**given, adjacency=self.adjacency)
        self._wants_of(model, path)
        after = written(found.kind, given)
        self._note(path, thing, after, why=found.remark, left_out=found.left_out)
        return model

    def _facts_of_rows(
        self, kind: type, parameters: Mapping[str, Any], known: Columns, path: str
    ) -> dict[str, Any]:
        """Parameters of a model that follow from what is known about its columns."""
        if known.norm is not None:
            return {"data_norm": known.norm}
        if known.bounds is None:
            return {}
        if kind is estimators.DPLassoRegressor:
            return {"feature_bound": _largest(self._usable(known, path))}
        if self.tied or _tied(parameters):
            return {}
        return {"data_bounds": self._usable(known, path)}

    def _given(self, fact: str) -> Any:
        self.used.add(fact)
        return getattr(self, fact)

    def _usable(self, known: Columns, path: str) -> Any:
        """Bounds that a step can be given, which go by name only where columns have names."""
        if isinstance(known.bounds, Mapping) and not known.named:
            raise ValueError(
                f"privatize needs bounds=(low, high) in the order of the columns for {path}, "
                "because a step in front of it returns columns without names, got a dictionary."
            )
        if known.bounds is self.bounds:
            self.used.add("bounds")
        return known.bounds

    def _wants_of(self, model: Any, path: str) -> None:
        """Note the facts that a model would be better off with."""
        if not isinstance(model, PrivateLinearModel):
            return
        has, lasso = model.get_params(deep=False), isinstance(model, estimators.DPLassoRegressor)
        if has.get("classes", "none") is None:
            why = "a leak, of which fit warns: the set of labels is read off y"
            self._want(path, "classes=[...]", why)
        shares = dict(_usual_plan(model))
        shares.pop(TargetCheck.bound, None)
        targets, columns = shares.pop("target_bounds", None), sum(shares.values())
        known = any(has.get(name) is not None for name in (*_GIVEN, "feature_bound"))
        if columns and not known and (lasso or not (self.tied or _tied(has))):
            tells = ", and noise where features are selected"
            why = tells if lasso else "; for columns without a long tail"
            self._want(path, "bounds=(low, high)", f"{columns:.0%} of its budget{why}")
        if targets:
            why = f"{targets:.0%} of its budget, up to 25% where rows are few"
            self._want(path, "target_bounds=(low, high)", why)

    def _scaler(self, found: Counterpart, thing: Any, path: str, known: Columns) -> _Made:
        # Ranges of some of the columns cannot be told to the model behind.
        ranges = known.given and known.bounds is not None
        if known.scaled_later and not (known.beside and ranges):
            why = "the model behind brings columns to one scale by itself"
            self._note(path, thing, "'passthrough'", why=why)
            return "passthrough", known
        if ranges:
            range_ = found.parameters.get("feature_range", (-1.0, 1.0))
            return self._bounded(thing, path, known, range_)
        self._want(path, "bounds=(low, high)", "all of its budget")
        after = written(found.kind, found.parameters)
        self._note(path, thing, after, left_out=found.left_out)
        kind = getattr(preprocessing, found.kind)
        made = _like(thing, kind(**found.parameters, adjacency=self.adjacency))
        return made, _columns_after(made, known)

    def _bounded(self, thing: Any, path: str, known: Columns, range_: tuple[float, float]) -> _Made:
        """A scaler by ranges that are known, which is free."""
        bounds = self._usable(known, path)
        self.used.add("bounds")
        made = preprocessing.BoundsScaler(bounds, feature_range=range_)
        after = written("BoundsScaler", {"bounds": bounds, "feature_range": range_})
        self._note(path, thing, after, why="free, by ranges that you know")
        return _like(thing, made), _columns_after(made, known)

    def _row_wise(self, thing: Any, path: str, known: Columns) -> _Made:
        """A step that learns nothing if its parameters are right; all others are refused."""
        changed: _Reasons = []
        if type(thing) in (OneHotEncoder, OrdinalEncoder) and isinstance(thing.categories, str):
            listed = self._categories_of(known.listed)
            if listed is None:
                return self._refuse(thing, path, _wanted_categories(known.listed))
            thing.categories = listed
            changed.append(("categories", "As given."))
        if type(thing) is FunctionTransformer and _of_an_estimator(thing.func):
            return self._refuse(thing, path, _METHOD)
        changed += self._told_to_forget(thing)
        verdict = verdicts.verdict_of(thing, self.unit)
        if verdict.kind == "refused":
            return self._refuse(thing, path, _advice(thing, verdict.why))
        why = verdict.why if verdict.kind == "leaks" else ""
        self._note(path, thing, type(thing).__name__, why=why, changed=changed)
        after = verdicts.columns_after(thing, known)
        if type(thing) is PolynomialFeatures and after.bounds is not None:
            # Of the ranges that were given follow those of products.
            self.used.add("bounds")
        return thing, after

    def _told_to_forget(self, step: Any) -> _Reasons:
        """Change parameters so that a step learns and tells nothing, and say which and why."""
        now, changes = step.get_params(deep=False), {}
        for rule in verdicts.rules_broken(step, self.unit):
            for name, value in rule.changes.items():
                if type(now[name]) is not type(value) or now[name] != value:
                    changes[name] = value, f"It {rule.does}."
        if type(step) is HashingVectorizer and step.alternate_sign:
            why = "Signs cancel words, and private models lose more by it."
            changes["alternate_sign"] = False, why
        step.set_params(**{name: value for name, (value, _) in changes.items()})
        return [(f"{name}={shown(value)}", why) for name, (value, why) in changes.items()]

    def _categories_of(self, names: list[Any] | None) -> list[Any] | None:
        """Categories of the columns of an encoder, if they were all given."""
        given = self.categories
        if given is None or names is None or any(name not in given for name in names):
            return None
        self.used_categories.update(names)
        return [list(given[name]) for name in names]


_WALKS: Mapping[type, Callable[[Conversion, Any, str, Columns], _Made]] = {
    Pipeline: Conversion._pipeline,
    FeatureUnion: Conversion._parallel,
    ColumnTransformer: Conversion._parallel,
    TransformedTargetRegressor: Conversion._target,
    VotingRegressor: Conversion._parallel,
    GridSearchCV: Conversion._search,
    RandomizedSearchCV: Conversion._search,
}


def weights_of_steps(estimator: Any) -> dict[str, float]:
    """Share of the budget of each private step, by default.

    Parameters
    ----------
    estimator : estimator
        Private.
    """
    steps = private_steps(estimator)
    scalers = [path for path, step in steps.items() if isinstance(step, PrivateTransformer)]
    others = len(steps) - len(scalers)
    if not (scalers and others):
        return dict.fromkeys(steps, 1 / max(1, len(steps)))
    return {
        path: _SCALER_SHARE / len(scalers) if path in scalers else (1 - _SCALER_SHARE) / others
        for path in steps
    }


def _joined(path: str, name: str) -> str:
    return f"{path}__{name}" if path else name


def _is(step: Any, word: str) -> bool:
    return isinstance(step, str) and step == word


def _first_scales(steps: Iterable[tuple[str, Any]]) -> bool | None:
    """Tell whether the first step that does more than scale brings columns to one scale."""
    told = (_scales(step) for _, step in steps)
    return next((scales for scales in told if scales is not None), None)


def _scales(thing: Any) -> bool | None:
    """Tell whether a model brings columns to one scale; None of a step that only does that."""
    kind = type(thing)
    if verdicts.does_nothing(thing) or kind in SCALERS:
        return None
    if kind is Pipeline:
        return _first_scales(thing.steps)
    if kind is TransformedTargetRegressor:
        return bool(_scales(_regressor_of(thing)))
    if kind is VotingRegressor:
        return all(_scales(part) is not False for _, part in thing.estimators)
    if kind in (GridSearchCV, RandomizedSearchCV):
        names = (key for space in _spaces(thing)[1] for key in space)
        return not _ties(names) and bool(_scales(thing.estimator))
    if isinstance(thing, BudgetedEstimator):
        return kind in _SCALING_MODELS and not _tied(thing.get_params(deep=False))
    found = _possible_counterpart(thing)
    if found is None or getattr(estimators, found.kind) not in _SCALING_MODELS:
        return False
    return not _tied(found.parameters)


def _regressor_of(target: TransformedTargetRegressor) -> Any:
    return LinearRegression() if target.regressor is None else target.regressor


def _possible_counterpart(thing: Any, **others: Any) -> Counterpart | None:
    """The counterpart of a model, and None also where it is refused."""
    try:
        return verdicts.counterpart_of(thing, **others)
    except NoCounterpartError:
        return None


def _spaces(search: Any) -> tuple[str, list[Mapping[str, Any]]]:
    """Name of the parameter that holds the space of a search, and its parts."""
    name = "param_grid" if type(search) is GridSearchCV else "param_distributions"
    spaces = getattr(search, name)
    return name, [spaces] if isinstance(spaces, Mapping) else list(spaces)


def _ties(names: Iterable[str]) -> bool:
    """Tell whether a search may try models that take columns as they come."""
    return any(name.rpartition("__")[2] in _TIES for name in names)


def _tied(parameters: Mapping[str, Any]) -> bool:
    """Tell whether a model takes columns as they come, because something is about their units."""
    return bool(
        parameters.get("l1_ratio")
        or parameters.get("penalty") == "l1"
        or parameters.get("positive")
        or any(parameters.get(name) is not None for name in ("constraint", *_GIVEN))
    )


def _columns_after(ours: Any, before: Columns) -> Columns:
    """Public facts about the columns that come out of a step of this package."""
    kind = type(ours)
    if kind is preprocessing.RowNormClipper:
        return Columns(None, False, float(ours.max_norm))
    if kind in (preprocessing.BoundsScaler, preprocessing.DPMinMaxScaler):
        low, high = map(float, ours.feature_range)
        clips = kind is preprocessing.BoundsScaler or ours.clip
        return before._replace(bounds=(low, high) if clips else None, named=False, norm=None)
    if kind is preprocessing.DPStandardScaler:
        return before._replace(bounds=None, named=False, norm=None)
    return Columns(named=False)


def _side_by_side(parts: list[Columns]) -> Columns:
    """Public facts about the columns of several parts together."""
    ranges = [part.common for part in parts]
    norms = [part.norm for part in parts]
    bounds, norm = None, None
    if parts and None not in ranges:
        bounds = min(r[0] for r in ranges if r), max(r[1] for r in ranges if r)
    if parts and None not in norms:
        norm = sqrt(sum(n * n for n in norms if n))
    return Columns(bounds, False, norm)


def _makes_text(step: Any) -> bool:
    """Tell whether a step counts words, of which there are too many to be stored densely."""
    if type(step) is Pipeline:
        return any(_makes_text(part) for _, part in step.steps)
    return isinstance(step, _TEXT)


def _of_an_estimator(function: Any) -> bool:
    """Tell whether a function is a method of an estimator, which may have been fitted."""
    return isinstance(getattr(getattr(function, "func", function), "__self__", None), BaseEstimator)


def _listed(columns: Any) -> list[Any] | None:
    """Names or numbers of columns in a list; None if they are chosen in another way."""
    if isinstance(columns, str | int):
        return [columns]
    if callable(columns) or not isinstance(columns, Iterable):
        return None
    names = columns.tolist() if hasattr(columns, "tolist") else list(columns)
    return None if any(isinstance(name, bool) for name in names) else names


def _wanted_categories(names: list[Any] | None) -> str:
    if names is None:
        return (
            "reads its categories off the rows; pass them to the encoder, categories=[...], or "
            "name its columns in a list, in a ColumnTransformer, and pass categories by name"
        )
    listed = ", ".join(f"{name!r}: [...]" for name in names)
    return f"reads its categories off the rows; pass those that may occur, categories={{{listed}}}"


def _largest(bounds: Any) -> float:
    """Size of the largest entry within bounds."""
    ends = bounds.values() if isinstance(bounds, Mapping) else bounds
    return float(max(np.max(np.abs(np.asarray(end, dtype=float))) for end in ends))


def _usual_plan(model: PrivateLinearModel) -> tuple[tuple[str, float], ...]:
    """Bounds that the model is going to pay for where rows are many, with their shares."""
    classes = [0, 1] if getattr(model, "classes", 0) is None else None
    try:
        return plan(model, *_USUAL_SIZE, classes=classes).bounds
    except ValueError:
        # A model of the user's, which asks for what is not usual.
        return ()


def _values(part: Any, name: str, values: Any) -> tuple[dict[str, Any], str]:
    """Values of a parameter in a search in terms of the counterpart, or why there are none."""
    found = _possible_counterpart(part)
    if found is None:
        # Steps that stay have the same parameters.
        return {name: values}, ""
    if hasattr(values, "rvs"):
        probe = verdicts.counterpart_of(part, **{name: 0.5})
        if probe is not None and probe.parameters.get(name) == 0.5:
            return {name: values}, ""
        return {}, "A distribution means the same for few parameters; list values."
    try:
        made = [verdicts.counterpart_of(part, **{name: value}) for value in values]
    except NoCounterpartError as failure:
        return {}, f"A value {failure}."
    each = [one.parameters for one in made if one is not None]
    if any(one is not None and one.kind != found.kind for one in made):
        return {}, "Its values stand for different models; make a search for each."
    moved = {p for p in set().union(*each) if any(e.get(p) != each[0].get(p) for e in each)}
    if len(moved) != 1:
        return {}, found.reason_for(name)
    (ours,) = moved
    default = signature(getattr(estimators, found.kind)).parameters[ours].default
    listed: list[Any] = []
    for one in each:
        value = one.get(ours, default)
        listed += [] if value in listed else [value]
    return {ours: listed}, ""


def _like(old: Any, new: Any) -> Any:
    """The new step, with the kind of output that was set for the old one."""
    output = getattr(old, "_sklearn_output_config", None)
    if output is not None:
        new._sklearn_output_config = dict(output)
    return new


def _advice(thing: Any, why: str) -> str:
    """Words on a step that is refused, also if the table does not know it."""
    if type(thing) in TABLE:
        return why
    if hasattr(thing, "scoring") and hasattr(thing, "estimator"):
        return "has no private counterpart; use GridSearchCV or RandomizedSearchCV, which have"
    if isinstance(thing, ClassifierMixin):
        return "has no private counterpart; use LogisticRegression, which has"
    if isinstance(thing, RegressorMixin):
        return "has no private counterpart; use Ridge or Lasso, which have"
    if not type(thing).__module__.startswith("sklearn."):
        return (
            "is not known to learn nothing; if it handles each row by itself, use "
            "FunctionTransformer(function), which is believed"
        )
    return "may learn from the rows; use a step that does not, see docs/reference/composition.md"
