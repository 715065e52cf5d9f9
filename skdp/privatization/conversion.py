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
from sklearn.ensemble import VotingClassifier, VotingRegressor
from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer, TfidfVectorizer
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import GridSearchCV, ParameterGrid, RandomizedSearchCV
from sklearn.multiclass import OneVsRestClassifier
from sklearn.multioutput import MultiOutputClassifier, MultiOutputRegressor
from sklearn.pipeline import FeatureUnion, Pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    RobustScaler,
    StandardScaler,
)

from ..estimators import (
    DPLassoRegressor,
    DPLinearRegression,
    DPLogisticRegression,
    DPSVMClassifier,
)
from ..estimators.base import PrivateLinearModel
from ..estimators.fit_plan import plan
from ..estimators.stages import TargetCheck
from ..model_selection import DPGridSearchCV, DPRandomizedSearchCV
from ..model_selection.base import PrivateSearch
from ..model_selection.candidates import private_steps
from ..preprocessing import BoundsScaler, DPMinMaxScaler, DPStandardScaler
from ..preprocessing.base import PrivateTransformer
from ..privacy.adjacency import PrivacyUnit
from ..privacy.row_scores import ROW_SCORES
from ..reporting.open_budgets import BudgetedEstimator
from ..reporting.verdicts import TABLE, spends, verdict_of
from ..validation import SCALERS, SEARCHES, shown
from .counterparts import (
    Counterpart,
    NoCounterpartError,
    changed_parameters,
    counterpart_of,
    reason_for,
)
from .privatize_plan import PlannedStep, WantedFact, written
from .row_wise_steps import Columns, changes_that_forget, columns_after

_NOTHING = (None, "passthrough", "drop")
_SCALERS = (MaxAbsScaler, MinMaxScaler, RobustScaler, StandardScaler)
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
_TARGETS_ONE_BY_ONE = (
    "fits one model for each target, and how many there are is not known here; make one private "
    "model for each target, with budgets by skdp.split_budget"
)
# Parameters that tie a model to the columns as they come.
_TIES = ("l1_ratio", "penalty", "positive", "constraint", "data_norm", "data_bounds")
_SCALING_MODELS = (DPLinearRegression, DPLogisticRegression, DPSVMClassifier)
_GIVEN = ("data_bounds", "data_norm")
# Of a data set with rows enough for all that a fit does where there are enough.
_USUAL_SIZE = 1_000_000, 10
# Estimators that hold others, and are neither walked through nor refused by the table.
_WRAPPERS = {
    FrozenEstimator: "keeps what it has learned from rows; pass the estimator that it holds",
    MultiOutputClassifier: _TARGETS_ONE_BY_ONE,
    MultiOutputRegressor: _TARGETS_ONE_BY_ONE,
    OneVsRestClassifier: (
        "fits one model for each label that it finds; pass the model that it holds, whose private "
        "counterpart takes several classes within one budget"
    ),
    VotingClassifier: "reads the set of labels off y; use one of its models",
}
_METHOD = "calls a method of an estimator, which may have been fitted; put that in its place"
_SCALES_ITSELF = "the model behind brings columns to one scale by itself"


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
        made, _ = self._converted(estimator, "", known, False)
        return made

    def _converted(
        self, thing: Any, path: str, known: Columns, scales: bool
    ) -> tuple[Any, Columns]:
        """The counterpart of a part, and public facts about the columns that come out of it.

        ``scales`` says that whatever follows brings columns to one scale by itself.
        """
        if thing is None or (isinstance(thing, str) and thing in _NOTHING):
            return thing, known
        walk = _WALKS.get(type(thing))
        if walk is not None:
            return walk(self, thing, path, known, scales)
        if isinstance(thing, BudgetedEstimator):
            return self._ours(thing, path, known)
        if type(thing) in _SCALERS:
            return self._scaler(thing, path, known, scales)
        try:
            found = counterpart_of(thing)
        except NoCounterpartError as failure:
            return self._refuse(thing, path, str(failure))
        if found is not None:
            return self._model(found, thing, path, known), Columns()
        return self._row_wise(thing, path, known)

    def _refuse(self, thing: Any, path: str, why: str) -> tuple[Any, Columns]:
        kind = type(thing).__name__
        self.refused.append(f"{kind} {why}" if not path else f"{path}: {kind} {why}")
        return thing, Columns(named=False)

    def _note(self, path: str, thing: Any, after: str, **facts: Any) -> None:
        before = repr(thing) if isinstance(thing, str) else type(thing).__name__
        self.steps.append(PlannedStep(path or before, before, after, **facts))

    def _want(self, path: str, argument: str, saves: str) -> None:
        self.wanted.append(WantedFact(argument, path or "the model", saves))

    # What holds other estimators.

    def _pipeline(
        self, thing: Pipeline, path: str, known: Columns, scales: bool
    ) -> tuple[Any, Columns]:
        if thing.memory is not None:
            self._note(
                path, thing, "kept", changed=(("memory=None", "A cache would hold rows on disk."),)
            )
            thing.memory = None
        made = []
        for k, (name, step) in enumerate(thing.steps):
            behind = not self.tied and _scaled_by([s for _, s in thing.steps[k + 1 :]], scales)
            new, known = self._converted(step, _joined(path, name), known, behind)
            made.append((name, new))
        thing.steps = made
        return thing, known

    def _union(
        self, thing: FeatureUnion, path: str, known: Columns, scales: bool
    ) -> tuple[Any, Columns]:
        del scales
        made, outs = [], []
        for name, step in thing.transformer_list:
            # Each of the parts sees all columns, on scales that are to be different.
            new, out = self._converted(step, _joined(path, name), known, False)
            made.append((name, new))
            if not (isinstance(step, str) and step == "drop"):
                outs.append(out)
        thing.transformer_list = made
        return thing, Columns(named=False) if thing.transformer_weights else _side_by_side(outs)

    def _columns(
        self, thing: ColumnTransformer, path: str, known: Columns, scales: bool
    ) -> tuple[Any, Columns]:
        made, outs = [], []
        for name, step, columns in thing.transformers:
            at = _joined(path, name)
            own = self._own(known, columns, at)
            idle = isinstance(step, str) and step == "passthrough"
            if scales and idle and own.given and own.bounds is not None:
                new, out = self._bounded(step, at, own, (-1.0, 1.0))
            else:
                new, out = self._converted(step, at, own, scales)
            made.append((name, new, columns))
            if not (isinstance(step, str) and step == "drop"):
                outs.append(out)
        thing.transformers = made
        rest = thing.remainder
        if not (isinstance(rest, str) and rest == "drop"):
            others = Columns(known.common, False, beside=True, given=known.given)
            thing.remainder, out = self._converted(rest, _joined(path, "remainder"), others, scales)
            outs.append(out)
        wanted = 1.0 if any(_makes_text(step) for _, step, _ in thing.transformers) else 0.0
        if thing.sparse_threshold != wanted:
            thing.sparse_threshold = wanted
            why = "Else one row can turn the layout."
            self._note(path, thing, "kept", changed=((f"sparse_threshold={wanted:g}", why),))
        return thing, _side_by_side(outs)

    def _own(self, known: Columns, columns: Any, at: str) -> Columns:
        """Public facts about the columns that one part of a ColumnTransformer gets."""
        given, names = known.bounds, _listed(columns)
        unknown = Columns(None, known.named, listed=names, beside=True, given=known.given)
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

    def _target(
        self, thing: TransformedTargetRegressor, path: str, known: Columns, scales: bool
    ) -> tuple[Any, Columns]:
        del scales
        if _of_an_estimator(thing.func) or _of_an_estimator(thing.inverse_func):
            return self._refuse(thing, path, _METHOD)
        changed = []
        if type(thing.transformer) in _SCALERS:
            why = "Targets are brought to one scale by target_bounds."
            thing.transformer = None
            changed.append(("transformer=None", why))
        elif thing.transformer is not None:
            at = _joined(path, "transformer")
            thing.transformer, _ = self._converted(thing.transformer, at, Columns(), False)
        if thing.check_inverse and (thing.func is not None or thing.transformer is not None):
            thing.check_inverse = False
            changed.append(("check_inverse=False", "The check warns of rows."))
        bounds = self.target_bounds
        self.target_bounds = self._bounds_within(thing, bounds)
        if bounds is not None and self.target_bounds is None:
            why = "They are not known of what the function returns; the fit finds others."
            changed.append(("target_bounds=None", why))
        if changed:
            self._note(path, thing, "kept", changed=tuple(changed))
        if thing.regressor is None:
            thing.regressor = LinearRegression()
        at = _joined(path, "regressor")
        thing.regressor, known = self._converted(thing.regressor, at, known, False)
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

    def _voting(
        self, thing: VotingRegressor, path: str, known: Columns, scales: bool
    ) -> tuple[Any, Columns]:
        del scales
        thing.estimators = [
            (name, self._converted(part, _joined(path, name), known, False)[0])
            for name, part in thing.estimators
        ]
        return thing, Columns(named=False)

    def _search(self, thing: Any, path: str, known: Columns, scales: bool) -> tuple[Any, Columns]:
        del scales
        name, listed = _spaces(thing)
        translated, notes = [], []
        for space in listed:
            space, dropped = self._space(thing.estimator, space, path)
            translated.append(space)
            notes += dropped
        at, outer = _joined(path, "estimator"), self.tied
        # Candidates that take columns as they come need scalers, and so do the others then.
        self.tied = self.tied or _ties(key for space in listed for key in space)
        inner, _ = self._converted(thing.estimator, at, known, False)
        self.tied = outer
        if not any(translated):
            self._note(
                path,
                thing,
                "its estimator",
                why="nothing is left to choose from, so that the whole budget is for one fit",
                left_out=tuple(notes),
            )
            return inner, Columns()
        translated = [space for space in translated if space]
        spaces = translated if len(translated) > 1 else translated[0]
        kept: dict[str, Any] = {name: spaces}
        kind: type = DPRandomizedSearchCV
        if type(thing) is GridSearchCV:
            kind = DPGridSearchCV
            if len(ParameterGrid(spaces)) <= _FEW_POINTS:
                kept["exhaustive"] = True
        left = changed_parameters(thing)
        for same in ("n_jobs", "n_iter"):
            if same in left:
                kept[same] = left.pop(same)
        if isinstance(thing.scoring, str) and thing.scoring in ROW_SCORES:
            kept["scoring"] = left.pop("scoring")
        steps = weights_of_steps(inner)
        if len(steps) > 1:
            kept["step_shares"] = steps
        reasons = {
            **SEARCHES,
            "scoring": "On private rows a score is a mean over rows of a bounded number.",
            "random_state": "A seed would make the noise known.",
        }
        for gone in ("estimator", name):
            left.pop(gone, None)
        notes += [(f"{p}={shown(v)}", reasons.get(p, SEARCHES["refit"])) for p, v in left.items()]
        if is_regressor(inner) and self.target_bounds is None and "validation" not in kept:
            self.refused.append(
                f"{path or type(thing).__name__}: {type(thing).__name__} compares errors, which "
                "have to be bounded; pass target_bounds=(low, high)"
            )
        names = ", ".join(dict.fromkeys(key for space in translated for key in space))
        shown_ = {p: v for p, v in kept.items() if p != name}
        after = f"{written(kind.__name__, shown_)} over {names}"
        self._note(path, thing, after, left_out=tuple(notes))
        return kind(inner, **kept), Columns()

    def _space(
        self, estimator: Any, space: Mapping[str, Any], path: str
    ) -> tuple[dict[str, Any], list[tuple[str, str]]]:
        """Candidates of a search in parameters of the counterparts, and what was left out."""
        parts = {"": estimator, **estimator.get_params(deep=True)}
        found: dict[str, Any] = {}
        left: list[tuple[str, str]] = []
        for key, values in space.items():
            at, _, last = key.rpartition("__")
            part = parts.get(at)
            if not (isinstance(values, list | tuple | np.ndarray) or hasattr(values, "rvs")):
                self.refused.append(
                    f"{_joined(path, key)}: a search needs a list of values, or a distribution, "
                    f"got {shown(values)}"
                )
                continue
            if isinstance(parts.get(key), BaseEstimator) or any(
                isinstance(v, BaseEstimator) for v in (values if isinstance(values, list) else [])
            ):
                self.refused.append(
                    f"{_joined(path, key)}: a search over whole steps has no private counterpart; "
                    "make one search for each of them, or settle the step"
                )
            elif type(part) in _SCALERS:
                left.append((key, "Scalers are no part of the private search."))
            else:
                ours, why = _values(part, last, values)
                for name, listed in ours.items():
                    found[f"{at}__{name}" if at else name] = listed
                if not ours:
                    left.append((key, why))
        return found, left

    # Single steps.

    def _ours(self, thing: Any, path: str, known: Columns) -> tuple[Any, Columns]:
        """A step that is of this package already."""
        if isinstance(thing, PrivateSearch):
            at = _joined(path, "estimator")
            thing.estimator, _ = self._converted(thing.estimator, at, known, False)
        has, changed = thing.get_params(deep=False), []
        changes: dict[str, Any] = {}
        if has.get("random_state") is not None:
            changes["random_state"] = None
            changed.append(("random_state=None", "A seed would make the noise known."))
        if has.get("adjacency", self.adjacency) != self.adjacency:
            changes["adjacency"] = self.adjacency
            changed.append((f"adjacency={self.adjacency!r}", "It is that of the whole."))
        if "classes" in has and has["classes"] is None and self.classes is not None:
            changes["classes"] = self._given("classes")
        if "target_bounds" in has and has["target_bounds"] is None:
            changes["target_bounds"] = self._given("target_bounds")
        if isinstance(thing, PrivateLinearModel) and not any(
            has.get(name) is not None for name in (*_GIVEN, "feature_bound")
        ):
            changes |= self._facts_of_rows(type(thing), has, known, path)
        thing.set_params(**changes)
        self._wants_of(thing, path)
        why = "private already; its budget is its share of the whole" if spends(thing) else ""
        self._note(path, thing, type(thing).__name__, why=why, changed=tuple(changed))
        return thing, columns_after(thing, known)

    def _model(self, found: Counterpart, thing: Any, path: str, known: Columns) -> Any:
        kind, given = found.kind, dict(found.parameters)
        facts: dict[str, Any] = {}
        if kind in (DPLogisticRegression, DPSVMClassifier):
            facts["classes"] = self._given("classes")
        else:
            facts["target_bounds"] = self._given("target_bounds")
        facts |= self._facts_of_rows(kind, given, known, path)
        given |= {name: value for name, value in facts.items() if value is not None}
        model = kind(**given, adjacency=self.adjacency)
        self._wants_of(model, path)
        self._note(
            path,
            thing,
            written(kind.__name__, given),
            why=found.remark,
            left_out=tuple(
                (f"{name}={shown(value)}", found.left_out[name])
                for name, value in changed_parameters(thing).items()
                if name in found.left_out
            ),
        )
        return model

    def _facts_of_rows(
        self, kind: type, parameters: Mapping[str, Any], known: Columns, path: str
    ) -> dict[str, Any]:
        """Parameters of a model that follow from what is known about its columns."""
        if known.norm is not None:
            return {"data_norm": known.norm}
        if known.bounds is None:
            return {}
        if kind is DPLassoRegressor:
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
        if known.bounds is not None and known.bounds is not self.bounds:
            return known.bounds
        return self._given("bounds")

    def _wants_of(self, model: Any, path: str) -> None:
        """Note the facts that a model would be better off with."""
        if not isinstance(model, PrivateLinearModel):
            return
        has = model.get_params(deep=False)
        if "classes" in has and has["classes"] is None:
            why = "a leak, of which fit warns: the set of labels is read off y"
            self._want(path, "classes=[...]", why)
        shares = dict(_usual_plan(model))
        shares.pop(TargetCheck.bound, None)
        targets, columns = shares.pop("target_bounds", None), sum(shares.values())
        known = [has.get(name) for name in ("data_bounds", "data_norm", "feature_bound")]
        wanted = isinstance(model, DPLassoRegressor) or not (self.tied or _tied(has))
        if columns and wanted and known == [None, None, None]:
            why = f"{columns:.0%} of its budget; for columns without a long tail"
            if isinstance(model, DPLassoRegressor):
                why = f"{columns:.0%} of its budget, and noise where features are selected"
            self._want(path, "bounds=(low, high)", why)
        if targets:
            why = f"{targets:.0%} of its budget, up to 25% where rows are few"
            self._want(path, "target_bounds=(low, high)", why)

    def _scaler(self, thing: Any, path: str, known: Columns, scales: bool) -> tuple[Any, Columns]:
        # Ranges of some of the columns cannot be told to the model behind.
        ranges = known.given and known.bounds is not None
        if scales and not (known.beside and ranges):
            self._note(path, thing, "'passthrough'", why=_SCALES_ITSELF)
            return "passthrough", known
        range_ = tuple(map(float, getattr(thing, "feature_range", (-1.0, 1.0))))
        if ranges:
            return self._bounded(thing, path, known, range_)
        given: dict[str, Any]
        new: type
        if isinstance(thing, MinMaxScaler | MaxAbsScaler):
            new, given = DPMinMaxScaler, {"feature_range": range_}
        else:
            names = {"with_centering": "with_mean", "with_scaling": "with_std"}
            new = DPStandardScaler
            given = {
                names.get(name, name): value
                for name, value in changed_parameters(thing).items()
                if names.get(name, name) in ("with_mean", "with_std")
            }
        self._want(path, "bounds=(low, high)", "all of its budget")
        lost = [
            (f"{name}={shown(value)}", SCALERS.get(name, "The private scaler has no such choice."))
            for name, value in changed_parameters(thing).items()
            if name not in ("with_mean", "with_std", "with_centering", "with_scaling")
            and name not in given
        ]
        self._note(path, thing, written(new.__name__, given), left_out=tuple(lost))
        made = _like(thing, new(**given, adjacency=self.adjacency))
        return made, columns_after(made, known)

    def _bounded(
        self, thing: Any, path: str, known: Columns, range_: tuple[float, ...]
    ) -> tuple[Any, Columns]:
        """A scaler by ranges that are known, which is free."""
        bounds, low, high = self._usable(known, path), *range_
        self.used.add("bounds")
        made = BoundsScaler(bounds, feature_range=(low, high))
        given = {"bounds": bounds, "feature_range": (low, high)}
        self._note(path, thing, written("BoundsScaler", given), why="free, by ranges that you know")
        return _like(thing, made), columns_after(made, known)

    def _row_wise(self, thing: Any, path: str, known: Columns) -> tuple[Any, Columns]:
        """A step that learns nothing if its parameters are right; all others are refused."""
        if type(thing) in _WRAPPERS:
            return self._refuse(thing, path, _WRAPPERS[type(thing)])
        changed = []
        if type(thing) in (OneHotEncoder, OrdinalEncoder) and isinstance(thing.categories, str):
            listed = self._categories_of(known.listed)
            if listed is None:
                return self._refuse(thing, path, _wanted_categories(known.listed))
            thing.categories = listed
            changed.append(("categories", "As given."))
        if type(thing) is FunctionTransformer and _of_an_estimator(thing.func):
            return self._refuse(thing, path, _METHOD)
        changes = changes_that_forget(thing, self.unit)
        if changes:
            thing.set_params(**{name: value for name, (value, _) in changes.items()})
            changed += [(f"{name}={shown(value)}", why) for name, (value, why) in changes.items()]
        verdict = verdict_of(thing, self.unit)
        if verdict.kind == "refused":
            return self._refuse(thing, path, _advice(thing, verdict.why))
        self._note(
            path,
            thing,
            type(thing).__name__,
            why=verdict.why if verdict.kind == "leaks" else "",
            changed=tuple(changed),
        )
        after = columns_after(thing, known)
        if type(thing) is PolynomialFeatures and after.bounds is not None:
            # Of the ranges that were given follow those of products.
            self.used.add("bounds")
        return thing, after

    def _categories_of(self, names: list[Any] | None) -> list[Any] | None:
        """Categories of the columns of an encoder, if they were all given."""
        given = self.categories
        if given is None or names is None or any(name not in given for name in names):
            return None
        self.used_categories.update(names)
        return [list(given[name]) for name in names]


_Walk = Callable[[Conversion, Any, str, Columns, bool], tuple[Any, Columns]]
_WALKS: Mapping[type, _Walk] = {
    Pipeline: Conversion._pipeline,
    FeatureUnion: Conversion._union,
    ColumnTransformer: Conversion._columns,
    TransformedTargetRegressor: Conversion._target,
    VotingRegressor: Conversion._voting,
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


def _scaled_by(steps: Iterable[Any], otherwise: bool) -> bool:
    """Tell whether the first of these steps that does something brings columns to one scale."""
    for step in steps:
        if not _only_scales(step):
            return _scales_itself(step)
    return otherwise


def _only_scales(step: Any) -> bool:
    if type(step) is Pipeline:
        return all(_only_scales(part) for _, part in step.steps)
    if step is None or isinstance(step, str):
        return step in _NOTHING
    return type(step) in _SCALERS


def _scales_itself(thing: Any) -> bool:
    kind = type(thing)
    if kind is Pipeline:
        return _scaled_by([step for _, step in thing.steps], False)
    if kind is TransformedTargetRegressor:
        return thing.regressor is None or _scales_itself(thing.regressor)
    if kind is VotingRegressor:
        return all(_scaled_by([part], True) for _, part in thing.estimators)
    if kind in (GridSearchCV, RandomizedSearchCV):
        names = (key for space in _spaces(thing)[1] for key in space)
        return not _ties(names) and _scales_itself(thing.estimator)
    if isinstance(thing, BudgetedEstimator):
        return kind in _SCALING_MODELS and not _tied(thing.get_params(deep=False))
    try:
        found = counterpart_of(thing)
    except NoCounterpartError:
        return False
    return found is not None and found.kind in _SCALING_MODELS and not _tied(found.parameters)


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


def _side_by_side(parts: list[Columns]) -> Columns:
    """Public facts about the columns of several parts together."""
    ranges = [part.common for part in parts]
    bounds = None
    if parts and None not in ranges:
        bounds = min(r[0] for r in ranges if r), max(r[1] for r in ranges if r)
    norms = [part.norm for part in parts]
    norm = None
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
    try:
        found = counterpart_of(part)
    except NoCounterpartError:
        found = None
    if found is None:
        # Steps that stay have the same parameters.
        return {name: values}, ""
    if hasattr(values, "rvs"):
        probe = counterpart_of(part, **{name: 0.5})
        if probe is not None and probe.parameters.get(name) == 0.5:
            return {name: values}, ""
        return {}, "A distribution means the same for few parameters; list values."
    try:
        made = [counterpart_of(part, **{name: value}) for value in values]
    except NoCounterpartError as failure:
        return {}, f"A value {failure}."
    each = [one.parameters for one in made if one is not None]
    if any(one is not None and one.kind is not found.kind for one in made):
        return {}, "Its values stand for different models; make a search for each."
    moved = {p for p in set().union(*each) if any(e.get(p) != each[0].get(p) for e in each)}
    if len(moved) != 1:
        return {}, found.left_out.get(name) or reason_for(found.kind, name)
    (ours,) = moved
    default = signature(found.kind).parameters[ours].default
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
