"""The walk through an estimator that puts private steps in the places of those that read rows."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from inspect import signature
from math import fsum, sqrt
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, is_regressor
from sklearn.compose import ColumnTransformer, TransformedTargetRegressor, make_column_selector
from sklearn.ensemble import VotingRegressor
from sklearn.feature_extraction.text import (
    CountVectorizer,
    HashingVectorizer,
    TfidfTransformer,
    TfidfVectorizer,
)
from sklearn.feature_selection import SelectKBest
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import GridSearchCV, ParameterGrid, RandomizedSearchCV
from sklearn.pipeline import FeatureUnion, Pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    TargetEncoder,
)

from .. import estimators, preprocessing
from ..estimators.base import PrivateLinearModel
from ..estimators.fit_plan import plan
from ..estimators.stages import TargetCheck
from ..model_selection import DPGridSearchCV, DPRandomizedSearchCV
from ..model_selection.base import PrivateSearch
from ..model_selection.candidates import private_steps
from ..preprocessing.base import PrivateTransformer
from ..preprocessing.column_categories import N_BUCKETS
from ..privacy.adjacency import PrivacyUnit
from ..privacy.row_scores import ROW_SCORES
from ..reporting import composition_verdicts as verdicts
from ..reporting.counterparts import Counterpart, Given, NoCounterpartError
from ..reporting.open_budgets import BudgetedEstimator
from ..reporting.registry import SCALERS, TABLE, Columns
from ..solvers.defaults import Stages
from ..validation import SEARCHES, meant, shown
from .facts import Facts
from .privatize_plan import PlannedStep, WantedFact, written

_TEXT = (CountVectorizer, HashingVectorizer, TfidfVectorizer)
# Share of the budget for steps that learn in front of a model. Of scalers between a tenth and three
# tenths hardly differ, but with 3,750 rows of 100 columns a tenth does not find the ranges that a
# lasso needs. More than a tenth finds categories that bring more noise than they tell. Imputers do
# as well with a twentieth: mostly areas under the curve differ by less than their errors.
_SHARES, _OTHER_SHARE, _MOST_SHARE = {"DPOneHotEncoder": 0.1, "DPSimpleImputer": 0.1}, 0.2, 0.4
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
    estimators.DPPoissonRegressor,
    estimators.DPQuantileRegressor,
    estimators.DPSVMClassifier,
)
# Of a data set with rows enough for all that a fit does where there are enough, and of a small one.
_USUAL_SIZE, _SMALL_SIZE = (1_000_000, 10), (500, 10)
# Number of columns that words are hashed to.
_WORDS = 2**12
# Columns of words up to which rows beside others are dense, so that no row can turn the layout.
_FEW_WORDS = 2**9
_HASHED = "words are hashed, because a vocabulary would be read off the rows"
_FINDS = (
    f"Columns without a list are hashed into {N_BUCKETS} public buckets where rows are too few to "
    "find categories."
)
_ONCE = "It finds ranges once for all steps behind it, where columns are in units of these."
_OF_ROWS = "It is about words of all rows."
_MEANS = "each category has a column, and the model learns what its mean target would tell"
_NO_MEANS = "No means are made."
_METHOD = "calls a method of an estimator, which may have been fitted; put that in its place"
_OF_SEARCHES = {
    **SEARCHES,
    "scoring": "On private rows a score is a mean over rows of a bounded number.",
    "random_state": "A seed would make the noise known.",
}

# Steps behind which ranges are others, and such as make several columns of each.
_OTHER_UNITS = (
    *(preprocessing.DPStandardScaler, preprocessing.DPRobustScaler),
    preprocessing.DPQuantileTransformer,
)
_BASES = (
    *(preprocessing.DPKBinsDiscretizer, preprocessing.DPOneHotEncoder),
    preprocessing.DPSplineTransformer,
)

# Ranges of ranks, and what hardly any of a normal distribution is beyond.
_OF_RANKS = {"uniform": (0.0, 1.0), "normal": (-3.0, 3.0)}
# Steps that make the same of columns in whatever units.
_OF_ANY_UNITS = (
    *(preprocessing.DPKBinsDiscretizer, preprocessing.DPQuantileTransformer),
    preprocessing.DPSplineTransformer,
)

_Made = tuple[Any, Columns]
_Reasons = list[tuple[str, str]]


@dataclass
class Conversion:
    """One privatization on its way: the public facts that were given, and what was found.

    Parameters
    ----------
    facts : Facts
        What is public of the columns.
    target : object
        Name of the target among the facts; None if they do not tell of it.
    classes, target_bounds : object
        As given to :func:`skdp.privatize`; None if not.
    adjacency : str
        Neighbouring relation of all private steps.
    unit : PrivacyUnit
        What fits are going to protect.
    """

    facts: Facts
    target: Any
    classes: Any
    target_bounds: Any
    adjacency: str
    unit: PrivacyUnit
    steps: list[PlannedStep] = field(default_factory=list, init=False)
    wanted: list[WantedFact] = field(default_factory=list, init=False)
    refused: list[str] = field(default_factory=list, init=False)
    tied: bool = field(default=False, init=False)
    used: set[str] = field(default_factory=set, init=False)
    # Columns of which the model finds ranges.
    raw: dict[Any, None] = field(default_factory=dict, init=False)

    def whole(self, estimator: Any) -> Any:
        """The counterpart of an estimator, without a budget.

        Parameters
        ----------
        estimator : estimator
            A clone, of which parts may be used anew.
        """
        facts = self.facts
        if self.classes is None:
            self.classes = facts.categories_of(self.target)
        if self.target_bounds is None:
            self.target_bounds = facts.range_of(self.target)
        known = Columns(facts.ranges, listed=facts.names, given=facts.ranges is not None)
        if facts.names is not None:
            known = self._of_columns(known, facts.names)
        return self._converted(estimator, "", known)[0]

    def _converted(self, thing: Any, path: str, known: Columns) -> _Made:
        """The counterpart of a part, and public facts about the columns that come out of it."""
        if verdicts.does_nothing(thing):
            return thing, known
        if isinstance(thing, type):
            return self._refuse(thing, path, f"is a class; make one of it, {thing.__name__}()")
        if isinstance(thing, BudgetedEstimator):
            return self._ours(thing, path, known)
        if type(thing) in _WALKS:
            return _WALKS[type(thing)](self, thing, path, known)
        changed = self._list_categories(thing, known) + _drop_from_lists(thing)
        try:
            found = verdicts.counterpart_of(thing)
        except NoCounterpartError as failure:
            return self._refuse(thing, path, str(failure))
        if found is None:
            return self._row_wise(thing, path, known, changed)
        if type(thing) in SCALERS:
            return self._scaler(found, thing, path, known)
        if hasattr(preprocessing, found.kind):
            return self._learner(found, thing, path, known)
        return self._model(found, thing, path, known), Columns()

    def _refuse(self, thing: Any, path: str, why: str) -> _Made:
        kind = (thing if isinstance(thing, type) else type(thing)).__name__
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
            cached = {"memory": (None, "A cache would hold rows on disk.")}
            self._note(path, thing, "kept", changed=_change(thing, cached))
        made, outer = [], known
        for k, (name, step) in enumerate(thing.steps):
            scales = _scales(Pipeline(thing.steps[k + 1 :]))
            later = not self.tied and (outer.scaled_later if scales is None else scales)
            forgotten = later or _rescaled(thing, k) or (scales is None and outer.units_forgotten)
            known = known._replace(scaled_later=later, units_forgotten=forgotten)
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
            listed = [self._chosen(columns, at) for columns in listed]
            if listed and _listed(listed[0]) == []:
                # Nothing is fitted to no columns, so that nothing is paid.
                self._note(at, part, "'drop'", why="it has no columns")
                part = "drop"
            # Parts that see the same columns are to have them on different scales.
            own = self._own(known, listed[0], at) if listed else known.kept_apart
            ranges = own.given and own.known
            if listed and own.scaled_later and ranges and part == "passthrough":
                new, out = self._bounded(part, at, own, "auto")
            else:
                new, out = self._converted(part, at, own)
            made.append((name, new, *listed))
            outs += [] if part == "drop" else [out]
        setattr(thing, attribute, made)
        if type(thing) is ColumnTransformer:
            outs += self._remainder(thing, path, known)
        weighted = getattr(thing, "transformer_weights", None)
        return thing, Columns(named=False) if weighted else _side_by_side(outs)

    def _remainder(self, thing: ColumnTransformer, path: str, known: Columns) -> list[Columns]:
        """The columns of a ColumnTransformer that no part has, and the layout of all."""
        outs = []
        if thing.remainder != "drop":
            at = _joined(path, "remainder")
            others: Any = slice(None)
            taken = [_listed(columns) for _, _, columns in thing.transformers]
            if known.listed is not None and None not in taken:
                named = {_named(c, known.listed, at) for some in taken for c in some or []}
                others = [name for name in known.listed if name not in named]
            if others == []:
                thing.remainder = "drop"
            else:
                own = self._own(known, others, at)._replace(named=False, norm=None)
                thing.remainder, out = self._converted(thing.remainder, at, own)
                outs.append(out)
        wanted = 1.0 if any(_makes_text(step) for _, step, _ in thing.transformers) else 0.0
        if thing.sparse_threshold != wanted:
            thing.sparse_threshold = wanted
            why = "Else one row can turn the layout."
            self._note(path, thing, "kept", changed=[(f"sparse_threshold={wanted:g}", why)])
        return outs

    def _chosen(self, columns: Any, at: str) -> Any:
        """The columns of a part of a ColumnTransformer, listed if public types choose them."""
        if type(columns) is not make_column_selector:
            return columns
        listed = self.facts.chosen_by(columns)
        if listed is None and self.facts.given:
            raise ValueError(
                f"privatize needs types of all columns to find out which {at} takes, got facts "
                "without; add the types of a frame, facts=[X.dtypes, {...}], which reads no rows, "
                "or list the columns."
            )
        return columns if listed is None else listed

    def _own(self, known: Columns, columns: Any, at: str) -> Columns:
        """Public facts about the columns that one part of a ColumnTransformer gets."""
        given, names = known.bounds, _listed(columns)
        if names is not None and known.listed is not None:
            names = [_named(name, known.listed, at) for name in names]
        own = known._replace(bounds=known.common, norm=None, beside=True, width=None)
        if names is None:
            return own._replace(listed=None)
        own = own._replace(listed=names, width=len(names))
        if given is None or known.common is not None:
            return own
        if isinstance(given, Mapping) and known.listed is None:
            return self._of_columns(own._replace(bounds=given), names)
        if known.listed is None and not all(isinstance(c, int) for c in names):
            return own
        places = names if known.listed is None else map(known.listed.index, names)
        ranges = _in_order([known.range_of(place) for place in places])
        return own._replace(bounds=ranges, partial=True)

    def _of_columns(self, known: Columns, names: list[Any]) -> Columns:
        """Public facts about columns whose names are known, with ranges in their order."""
        known = known._replace(width=len(names))
        if not isinstance(known.bounds, Mapping):
            return known
        ranges = _in_order([known.bounds.get(name) for name in names])
        known = known._replace(bounds=ranges, partial=True)
        if known.bounds is not None and not known.known:
            # They reach the model, or whatever else finds the others.
            self._take_ranges(known)
        return known

    def _target(self, thing: TransformedTargetRegressor, path: str, known: Columns) -> _Made:
        if _of_an_estimator(thing.func) or _of_an_estimator(thing.inverse_func):
            return self._refuse(thing, path, _METHOD)
        changed = []
        if type(thing.transformer) in SCALERS:
            why = "Targets are brought to one scale by target_bounds."
            changed += _change(thing, {"transformer": (None, why)})
        at = _joined(path, "transformer")
        thing.transformer, _ = self._converted(thing.transformer, at, Columns())
        if thing.check_inverse and (thing.func is not None or thing.transformer is not None):
            changed += _change(thing, {"check_inverse": (False, "The check warns of rows.")})
        bounds = self.target_bounds
        if bounds is not None and (thing.func is not None or thing.transformer is not None):
            self.used.add("target_bounds")
            with np.errstate(all="ignore"):
                ends = map(thing.func, bounds) if thing.func in _INCREASING else [np.nan]
                seen = tuple(map(float, ends))
            self.target_bounds = seen if np.isfinite(seen).all() else None
        if bounds is not None and self.target_bounds is None:
            why = "They are not known of what the function returns; the fit finds others."
            changed.append(("target_bounds=None", why))
        if changed:
            self._note(path, thing, "kept", changed=changed)
        at, known = _joined(path, "regressor"), known.kept_apart
        thing.regressor, known = self._converted(_regressor_of(thing), at, known)
        self.target_bounds = bounds
        return thing, known

    def _search(self, thing: Any, path: str, known: Columns) -> _Made:
        name, listed = _spaces(thing)
        notes: _Reasons = []
        translated = [self._space(thing.estimator, space, path, notes) for space in listed]
        at, outer = _joined(path, "estimator"), self.tied
        # Candidates that take columns as they come need scalers, and so do the others then.
        self.tied = self.tied or _ties(key for space in listed for key in space)
        inner, _ = self._converted(thing.estimator, at, known.kept_apart)
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
        known = {} if isinstance(estimator, type) else estimator.get_params(deep=True)
        parts = {"": estimator, **known}
        found: dict[str, Any] = {}
        for key, values in space.items():
            at, _, last = key.rpartition("__")
            several = values if isinstance(values, list) else []
            if key not in parts:
                self.refused.append(
                    f"{_joined(path, key)}: no part has such a parameter.{meant(key, parts)}"
                )
            elif not (isinstance(values, list | tuple | np.ndarray) or hasattr(values, "rvs")):
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
            thing.estimator, _ = self._converted(thing.estimator, at, known.kept_apart)
        has = thing.get_params(deep=False)
        changes: dict[str, tuple[Any, str]] = {}
        if has.get("random_state") is not None:
            changes["random_state"] = None, "A seed would make the noise known."
        if has.get("adjacency", self.adjacency) != self.adjacency:
            changes["adjacency"] = self.adjacency, "It is that of the whole."
        changed = _change(thing, changes)
        self._complete(thing, path, known)
        paid = "private already; its budget is its share of the whole"
        why = paid if verdicts.spends(thing) else ""
        self._note(path, thing, type(thing).__name__, why=why, changed=changed)
        return thing, _columns_after(thing, known)

    def _model(self, found: Counterpart, thing: Any, path: str, known: Columns) -> Any:
        model = getattr(estimators, found.kind)(**found.parameters, adjacency=self.adjacency)
        given = found.parameters | self._complete(model, path, known)
        self._note_counterpart(found, given, thing, path)
        return model

    def _note_counterpart(
        self, found: Counterpart, given: dict[str, Any], thing: Any, path: str, also: str = ""
    ) -> None:
        why = " ".join(filter(None, (found.remark, also)))
        self._note(path, thing, written(found.kind, given), why=why, left_out=found.left_out)

    def _complete(self, model: Any, path: str, known: Columns) -> dict[str, Any]:
        """Give a model the facts that it can use, which are returned, and note what it lacks."""
        has, ours = model.get_params(deep=False), isinstance(model, PrivateLinearModel)
        lacks = [fact for fact in ("classes", "target_bounds") if has.get(fact, "no") is None]
        facts = {fact: self._given(fact) for fact in lacks}
        if ours and not _bounds_columns(has):
            facts |= self._facts_of_rows(type(model), has, known, path)
        facts = {name: value for name, value in facts.items() if value is not None}
        model.set_params(**facts)
        if ours:
            self._want_facts(model, has | facts, path)
        return facts

    def _facts_of_rows(
        self, kind: type, parameters: Mapping[str, Any], known: Columns, path: str
    ) -> dict[str, Any]:
        """Parameters of a model that follow from what is known about its columns."""
        if known.norm is not None:
            return {"data_norm": known.norm}
        if known.bounds is None:
            return {}
        if kind is estimators.DPLassoRegressor:
            if not known.known:
                return {}
            bounds = self._usable(known, path)
            ends = bounds.values() if isinstance(bounds, Mapping) else bounds
            return {"feature_bound": float(max(np.max(np.abs(end)) for end in ends))}
        if self.tied or _tied(parameters):
            return {}
        return {"data_bounds": self._usable(known, path)}

    def _given(self, fact: str) -> Any:
        self.used.add(fact)
        found = getattr(self, fact)
        if found is not None and self.target is not None:
            self.facts.take(self.target, "categories" if fact == "classes" else "range")
        return found

    def _usable(self, known: Columns, path: str) -> Any:
        """Bounds that a step can be given, which go by name only where columns have names."""
        if isinstance(known.bounds, Mapping) and not (known.named or known.partial):
            raise ValueError(
                f"privatize needs the order of the columns for {path}, because a step in front of "
                "it returns columns without names, got ranges by name alone; add the types of a "
                "frame, facts=[X.dtypes, {...}], or pass ([low, ...], [high, ...])."
            )
        self._take_ranges(known)
        return known.bounds

    def _take_ranges(self, known: Columns) -> None:
        """Note ranges that a step relies on, if they are those that the user has given."""
        if known.given and self.facts.common is not None:
            self.facts.take(None, "range")
        elif known.given:
            for name in known.listed or self.facts.ranges:
                if self.facts.range_of(name) is not None:
                    self.facts.take(name, "range")

    def _want_facts(self, model: Any, has: Mapping[str, Any], path: str) -> None:
        """Note the facts that a model would be better off with."""
        lasso = isinstance(model, estimators.DPLassoRegressor)
        if has.get("classes", "none") is None:
            why = "a leak, of which fit warns: the set of labels is read off y"
            self._want(path, "classes=[...]", why)
        shares, few = _usual_plan(model, *_USUAL_SIZE), _usual_plan(model, *_SMALL_SIZE)
        targets, columns = shares.pop("target_bounds", None), sum(shares.values())
        few.pop("target_bounds", None)
        unknown = self.raw or not _bounds_columns(has)
        if columns and unknown and (lasso or not (self.tied or _tied(has))):
            tells = ", and noise where features are selected"
            why = tells if lasso else f", up to {sum(few.values()):.0%} where rows are few"
            argument = _by_name(list(self.raw), "(low, high)")
            self._want(path, argument, f"{columns:.0%} of its budget{why}")
        if targets:
            most = f"{Stages.MOST_TARGET_SHARE:.0%}"
            why = f"{targets:.0%} of its budget, up to {most} where rows are few"
            self._want(path, "target_bounds=(low, high)", why)

    def _scaler(self, found: Counterpart, thing: Any, path: str, known: Columns) -> _Made:
        ranges = known.given and known.known
        if known.scaled_later and not (known.beside and ranges):
            why = "what follows brings columns to one scale by itself"
            self._note(path, thing, "'passthrough'", why=why)
            if not known.known:
                self.raw |= dict.fromkeys(self._without_range(known))
            return "passthrough", known
        if ranges:
            range_ = found.parameters.get("feature_range", "auto")
            return self._bounded(thing, path, known, range_)
        return self._learner(found, thing, path, known)

    def _learner(self, found: Counterpart, thing: Any, path: str, known: Columns) -> _Made:
        """A step that learns privately, by a budget of its own and the facts that it takes."""
        kind, given = getattr(preprocessing, found.kind), dict(found.parameters)
        takes = signature(kind).parameters
        if "categories" in takes:
            # Of a whole table without a list of its columns those that facts name are known.
            names = known.listed or ([] if known.beside or not known.named else self.facts.given)
            told = {name: self.facts.categories_of(name) for name in names}
            listed = [name for name, categories in told.items() if categories is not None]
            if listed:
                given["categories"] = [*told.values()] if known.listed else told
            for name in listed:
                self.facts.take(name, "categories")
            argument = _by_name([name for name in told if name not in listed], "[...]")
            self._want(path, argument, "what it spends, and categories of few rows")
        elif "bounds" not in takes or given.get("strategy") == "most_frequent":
            pass
        else:
            if known.bounds is not None:
                given["bounds"] = self._usable(known, path)
            if not known.known:
                saves = "all of its budget" if type(thing) in SCALERS else "half of its budget"
                saves = "a quarter of its budget" if "target_bounds" in takes else saves
                if kind is preprocessing.DPSimpleImputer and known.units_forgotten:
                    given["scale"], saves = True, "most of its budget"
                lacking = self._without_range(known)
                self._want(path, _by_name(lacking, "(low, high)"), saves)
        if "target_bounds" in takes:
            about = {fact: self._given(fact) for fact in ("classes", "target_bounds")}
            given |= {fact: value for fact, value in about.items() if value is not None}
            if not any(fact in given for fact in about):
                why = "needs what is known of the target; pass classes or target_bounds"
                return self._refuse(thing, path, why)
        made = _like(thing, kind(**given, adjacency=self.adjacency))
        finds = _FINDS if "categories" in takes else ""
        finds = _ONCE if given.get("scale") else finds
        self._note_counterpart(found, given, thing, path, finds)
        return made, _columns_after(made, known)

    def _without_range(self, known: Columns) -> list[Any]:
        """Names of columns whose ranges nobody has given, if names are known."""
        return [name for name in known.listed or [] if self.facts.range_of(name) is None]

    def _bounded(self, thing: Any, path: str, known: Columns, range_: Any) -> _Made:
        """A scaler by ranges that are known, which is free."""
        given = {"bounds": self._usable(known, path), "feature_range": range_}
        made = preprocessing.BoundsScaler(**given)
        why = "free, by ranges that you know"
        self._note(path, thing, written("BoundsScaler", given), why=why)
        return _like(thing, made), _columns_after(made, known)

    def _row_wise(self, thing: Any, path: str, known: Columns, changed: _Reasons) -> _Made:
        """A step that learns nothing if its parameters are right; all others are refused."""
        if type(thing) is FunctionTransformer and _of_an_estimator(thing.func):
            return self._refuse(thing, path, _METHOD)
        now, changes = thing.get_params(deep=False), {}
        for rule in verdicts.rules_broken(thing, self.unit):
            for name, value in rule.changes.items():
                if type(now[name]) is not type(value) or now[name] != value:
                    changes[name] = value, f"It {rule.does}."
        if type(thing) is HashingVectorizer and thing.alternate_sign:
            why = "Signs cancel words, and private models lose more by it."
            changes["alternate_sign"] = False, why
        changed += _change(thing, changes)
        verdict = verdicts.verdict_of(thing, self.unit)
        if verdict.kind == "refused":
            return self._refuse(thing, path, _advice(thing, verdict.why))
        why = verdict.why if verdict.kind == "leaks" else ""
        self._note(path, thing, type(thing).__name__, why=why, changed=changed)
        after = verdicts.columns_after(thing, known)
        if type(thing) is PolynomialFeatures and after.bounds is not None:
            # Of the ranges that were given follow those of products.
            self._take_ranges(known)
        return thing, after

    def _list_categories(self, thing: Any, known: Columns) -> _Reasons:
        """Let an encoder have the categories of its columns, if facts list them all."""
        if type(thing) not in (OneHotEncoder, OrdinalEncoder) or not known.listed:
            return []
        listed = [self.facts.categories_of(name) for name in known.listed]
        if not isinstance(thing.categories, str) or None in listed:
            return []
        thing.categories = listed
        for name in known.listed:
            self.facts.take(name, "categories")
        return [("categories", "As given.")]

    def _words(self, thing: Any, path: str, known: Columns) -> _Made:
        """Counts of words, hashed where they would be looked up in a vocabulary of the rows."""
        if thing.vocabulary is not None:
            return self._row_wise(thing, path, known, [])
        given = Given(thing, {})
        of_words = given.same(*sorted({*HashingVectorizer().get_params()} - {"norm"}))
        size = {"n_features": thing.max_features or _WORDS}
        made: Any = HashingVectorizer(norm=None, **size, **of_words)
        if type(thing) is TfidfVectorizer:
            weights = TfidfTransformer(use_idf=False, **given.same("norm", "sublinear_tf"))
            made = Pipeline([("words", made), ("weights", weights)])
        left = [(f"{name}={shown(value)}", _OF_ROWS) for name, value in given.left.items()]
        self._note(path, thing, written("HashingVectorizer", size), why=_HASHED, left_out=left)
        return self._converted(_like(thing, made), path, known)

    def _target_codes(self, thing: TargetEncoder, path: str, known: Columns) -> _Made:
        """A column for each category, of which the model learns what mean targets would tell."""
        given = Given(thing, {})
        made = OneHotEncoder(handle_unknown="ignore", **given.same("categories"))
        left = [(f"{name}={shown(value)}", _NO_MEANS) for name, value in given.left.items()]
        self._note(path, thing, "OneHotEncoder", why=_MEANS, left_out=left)
        return self._converted(_like(thing, made), path, known)


_WALKS: Mapping[type, Callable[[Conversion, Any, str, Columns], _Made]] = {
    Pipeline: Conversion._pipeline,
    TransformedTargetRegressor: Conversion._target,
    **dict.fromkeys((FeatureUnion, ColumnTransformer, VotingRegressor), Conversion._parallel),
    **dict.fromkeys((GridSearchCV, RandomizedSearchCV), Conversion._search),
    **dict.fromkeys((CountVectorizer, TfidfVectorizer), Conversion._words),
    TargetEncoder: Conversion._target_codes,
}


def weights_of_steps(estimator: Any) -> dict[str, float]:
    """Share of the budget of each private step, by default.

    Parameters
    ----------
    estimator : estimator
        Private.
    """
    steps = private_steps(estimator)
    kinds = {
        path: "" if getattr(step, "scale", False) else type(step).__name__
        for path, step in steps.items()
        if isinstance(step, PrivateTransformer)
    }
    kinds = {path: kind if kind in _SHARES else "" for path, kind in kinds.items()}
    if not kinds or len(kinds) == len(steps):
        return dict.fromkeys(steps, 1 / max(1, len(steps)))
    # Steps of one kind share what one of them would get.
    counts = Counter(kinds.values())
    found = {p: _SHARES.get(kind, _OTHER_SHARE) / counts[kind] for p, kind in kinds.items()}
    least = min(1.0, _MOST_SHARE / fsum(found.values()))
    found = {path: share * least for path, share in found.items()}
    left = (1 - fsum(found.values())) / (len(steps) - len(found))
    return {path: found.get(path, left) for path in steps}


def _joined(path: str, name: str) -> str:
    return f"{path}__{name}" if path else name


def _scales(thing: Any) -> bool | None:
    """Tell whether a model brings columns to one scale; None for steps that no scale changes."""
    kind = type(thing)
    # A private choice of columns brings them to one scale by itself, and statistics that fill gaps
    # are in the units of their columns.
    fills = kind is SimpleImputer and thing.strategy != "constant"
    if verdicts.does_nothing(thing) or kind in SCALERS or kind is SelectKBest or fills:
        return None
    if kind is Pipeline:
        # The first step that does more than scale.
        told = (_scales(step) for _, step in thing.steps)
        return next((scales for scales in told if scales is not None), None)
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
    if found is not None and getattr(preprocessing, found.kind, None) in _OF_ANY_UNITS:
        return True
    if found is None or getattr(estimators, found.kind, None) not in _SCALING_MODELS:
        return False
    return not _tied(found.parameters)


def _rescaled(thing: Pipeline, k: int) -> bool:
    """Tell whether what first follows step k, but for gaps, is a scaler by moments or quantiles."""
    following = (step for _, step in thing.steps[k + 1 :] if not verdicts.does_nothing(step))
    found = _possible_counterpart(next(following, None))
    return found is not None and found.kind in ("DPStandardScaler", "DPRobustScaler")


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
    told = [parameters.get(name) for name in ("constraint", *_GIVEN)]
    by_units = parameters.get("l1_ratio") or parameters.get("positive")
    # The penalty of quantiles is l1.
    by_units = by_units or ("quantile" in parameters and parameters.get("alpha"))
    return bool(by_units or parameters.get("penalty") == "l1" or any(v is not None for v in told))


def _bounds_columns(parameters: Mapping[str, Any]) -> bool:
    """Tell whether a model has been told how large entries of rows may be."""
    return any(parameters.get(name) is not None for name in (*_GIVEN, "feature_bound"))


def _drop_from_lists(thing: Any) -> _Reasons:
    """Leave out of lists which categories an encoder drops, so that it need not warn of others.

    A category without a column is zero in all of them, and so is one that was not listed. The only
    one of a column stays.
    """
    listed = type(thing) is OneHotEncoder and not isinstance(thing.categories, str)
    if not listed or thing.drop is None:
        return []
    lists = [list(some) for some in thing.categories]
    if isinstance(thing.drop, str):
        every = thing.drop == "first"
        dropped = [some[:1] if every or len(some) == 2 else [] for some in lists]
    else:
        dropped = [[category] for category in thing.drop]
    pairs = [*zip(lists, dropped, strict=False)]
    if len(dropped) != len(lists) or any({*out} - {*some} for some, out in pairs):
        # What is not listed cannot be dropped.
        return []
    kept = [[category for category in some if category not in out] or some for some, out in pairs]
    why = "What it drops is not listed, which makes the same columns and warns of no row."
    return _change(thing, {"categories": (kept, why), "drop": (None, why)})


def _change(step: Any, changes: Mapping[str, tuple[Any, str]]) -> _Reasons:
    """Set parameters, each with the reason; the plan's words on that."""
    step.set_params(**{name: value for name, (value, _) in changes.items()})
    return [(f"{name}={shown(value)}", why) for name, (value, why) in changes.items()]


def _columns_after(ours: Any, before: Columns) -> Columns:
    """Public facts about the columns that come out of a step of this package."""
    kind, same = type(ours), before._replace(named=False, norm=None)
    if kind is preprocessing.RowNormClipper:
        return Columns(None, False, float(ours.max_norm))
    if kind in (preprocessing.BoundsScaler, preprocessing.DPMinMaxScaler):
        auto = isinstance(ours.feature_range, str)
        low, high = map(float, (-1.0, 1.0) if auto else ours.feature_range)
        clips = kind is preprocessing.BoundsScaler or ours.clip
        return same._replace(bounds=(low, high) if clips else None)
    if kind in _OTHER_UNITS:
        ends = _OF_RANKS.get(getattr(ours, "output_distribution", ""))
        return same._replace(bounds=ends, given=False)
    if kind is preprocessing.DPSimpleImputer:
        width = before.width and before.width * (1 + ours.add_indicator)
        if ours.scale:
            return same._replace(bounds=(-1.0, 1.0), given=False, partial=False, width=width)
        return Columns(named=False, width=width) if ours.add_indicator else same
    codes = getattr(ours, "encode", "onehot") != "ordinal"
    bounded = getattr(ours, "extrapolation", "constant") in ("constant", "periodic")
    if kind in _BASES and codes and bounded:
        # Of each column they add up to 1.
        norm = sqrt(len(before.listed)) if before.listed else None
        return Columns((0.0, 1.0), False, norm)
    return Columns(named=False, width=getattr(ours, "n_components", None))


def _side_by_side(parts: list[Columns]) -> Columns:
    """Public facts about the columns of several parts together."""
    ranges, norms = [part.common for part in parts], [part.norm for part in parts]
    widths, norm = [part.width for part in parts], None
    if parts and None not in norms:
        norm = sqrt(sum(n * n for n in norms if n))
    # Behind a part of unknown width nobody knows the places of columns.
    counted = widths.index(None) if None in widths else len(parts)
    pairs = [part.range_of(j) for part in parts[:counted] for j in range(part.width or 0)]
    width = len(pairs) if counted == len(parts) else None
    if parts and None not in ranges:
        common = min(r[0] for r in ranges if r), max(r[1] for r in ranges if r)
        return Columns(common, False, norm, width=width)
    bounds = dict(enumerate(pairs)) if any(pairs) else None
    bounds = bounds if width is None else _in_order(pairs)
    return Columns(bounds, False, norm, width=width, partial=True)


def _makes_text(step: Any) -> bool:
    """Tell whether a step counts words, of which there are too many to be stored densely."""
    if type(step) is Pipeline:
        return any(_makes_text(part) for _, part in step.steps)
    return isinstance(step, _TEXT) and getattr(step, "n_features", _WORDS) > _FEW_WORDS


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


def _named(column: Any, names: list[Any], at: str) -> Any:
    """Name of a column that a ColumnTransformer lists by name or number."""
    if column in names:
        return column
    if isinstance(column, int) and -len(names) <= column < len(names):
        return names[column]
    raise ValueError(
        f"privatize needs columns that facts name for {at}, got {shown(column)}; correct it, or "
        "name it among the facts."
    )


def _by_name(names: list[Any], form: str) -> str:
    """Words of the argument that gives facts about some columns, or about all."""
    if names:
        return f"facts={{{', '.join(f'{name!r}: {form}' for name in names)}}}"
    return "facts=(low, high)" if form == "(low, high)" else f"facts={{column: {form}}}"


def _in_order(pairs: list[tuple[float, float] | None]) -> Any:
    """Ranges as ``data_bounds``: of all columns, or by place, with None for those to be found."""
    known = [pair for pair in pairs if pair is not None]
    if pairs and len(known) == len(pairs):
        return [low for low, _ in known], [high for _, high in known]
    return dict(enumerate(pairs)) if known else None


def _usual_plan(model: PrivateLinearModel, n_samples: int, n_features: int) -> dict[str, float]:
    """Bounds that the model is going to pay for by the size of the data, with their shares."""
    classes = [0, 1] if getattr(model, "classes", 0) is None else None
    try:
        with warnings.catch_warnings(action="ignore"):
            # What a plan warns of is about rows of the fit, and these sizes are examples.
            shares = dict(plan(model, n_samples, n_features, classes=classes).bounds)
    except ValueError:
        # A model of the user's, which asks for what is not usual.
        return {}
    shares.pop(TargetCheck.bound, None)
    return shares


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
    each = [one.parameters for one in made if one is not None and one.kind == found.kind]
    if len(each) < len(made):
        return {}, "Its values stand for different classes; make a search for each."
    moved = {p for p in set().union(*each) if any(e.get(p) != each[0].get(p) for e in each)}
    if len(moved) != 1:
        return {}, found.reason_for(name)
    (ours,) = moved
    kind = getattr(estimators, found.kind, None) or getattr(preprocessing, found.kind)
    default = signature(kind).parameters[ours].default
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
