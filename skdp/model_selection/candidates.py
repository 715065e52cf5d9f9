"""Candidates of a search: their parameters, their private steps, and the budget of each.

All that is public about them is checked here, before anything is charged.
"""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from math import inf
from typing import Any

import numpy as np
from sklearn import get_config
from sklearn.base import OneToOneFeatureMixin, clone
from sklearn.model_selection import ParameterGrid, ParameterSampler
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils import check_array
from sklearn.utils.metadata_routing import process_routing

from ..estimators.base import PrivateLinearModel
from ..estimators.opening import ACCEPTED
from ..preprocessing.base import PrivateTransformer
from ..preprocessing.one_hot_encoder import DPOneHotEncoder
from ..privacy.accounting.calculus import Calculus, GaussianDP, ZeroConcentratedDP
from ..privacy.accounting.default_delta import delta_for
from ..privacy.accounting.events import ExponentialEvent, GaussianEvent, PrefixSumEvent
from ..privacy.accounting.ledger import PrivacySpent
from ..privacy.adjacency import Adjacency, PrivacyUnit
from ..privacy.rows.reading import strict_checks, zero_unless_finite
from ..reporting.composition_verdicts import TABLE, nested_estimators, problems_of, spends
from ..validation import check_parameters, shown
from .accounts import SearchAccount

_LOGGER = logging.getLogger("skdp")
# What the search itself decides, or all candidates have to share.
_TAKEN = ("adjacency", "classes", "delta", "epsilon", "random_state")
# Parameters of whatever is a part of a candidate.
_OF_TRIALS = {"copy": True, "n_jobs": 1, "verbose": False}
# Where scikit-learn's estimators hold their callbacks.
_CALLBACKS = "_skl_callbacks"
# Private steps whose releases are known before a fit.
_LINEAR = (PrivateLinearModel, PrivateTransformer)
# Seeds of trials, in tests, are below.
_SEEDS = 2**31
# Of candidates that are looked at before anything is charged.
_MOST = 2000
# Events that the account of a search relies on; None are all.
_RELIED_ON: dict[str, tuple[type, ...] | None] = {
    "gaussian": (GaussianEvent, PrefixSumEvent),
    "concentrated": (GaussianEvent, PrefixSumEvent, ExponentialEvent),
    "approximate": None,
}


def private_steps(estimator: Any, *, fitted: bool = False) -> dict[str, Any]:
    """Steps that have a privacy budget, by the paths of their parameters, in the order of paths.

    The path of the estimator itself is ``''``. ``fitted`` asks for the steps that were fitted: some
    estimators fit copies of theirs.
    """
    parts = nested_estimators(estimator, "", fitted=fitted, joint="__")
    return dict(sorted((path, part) for path, part in parts if spends(part)))


def check_steps(who: str, estimator: Any, unit: PrivacyUnit) -> list[str]:
    """Refuse an estimator of which not all parts are covered, and name what leaks.

    Returns
    -------
    list of str
        What is public beyond all receipts.

    Raises
    ------
    ValueError
        If no step has a budget, a part is not covered by :data:`skdp.reporting.TABLE` or fits a
        step more than once, or steps differ in their adjacency.
    """
    steps = private_steps(estimator)
    if not steps:
        raise ValueError(
            f"{who} needs a private estimator, or a pipeline with one, which has epsilon and "
            f"delta, got {type(estimator).__name__}."
        )
    refused, leaks = problems_of(estimator, unit)
    refused += [
        f"{name} fits its parts a number of times that is not known beforehand"
        for name, part in nested_estimators(estimator, type(estimator).__name__)
        if type(part) in TABLE and TABLE[type(part)].composed and not TABLE[type(part)].once
    ]
    if refused:
        raise ValueError(
            f"{who} needs steps that say what they spend, or learn nothing, and fit private steps "
            f"once, got others: {'; '.join(refused)}."
        )
    relations = {step.adjacency for step in steps.values()}
    if len(relations) > 1:
        raise ValueError(f"{who} needs private steps of one adjacency, got {sorted(relations)}.")
    return leaks


def adjacency_of(estimator: Any) -> Adjacency:
    """Neighbouring relation of the private steps, if :func:`check_steps` accepts them."""
    found = {Adjacency(step.adjacency) for step in private_steps(estimator).values()}
    return Adjacency.ZERO_OUT if Adjacency.ZERO_OUT in found else Adjacency.REPLACE_ONE


@dataclass(frozen=True, eq=False)
class Candidate:
    """Estimator that a trial is going to fit, with its parameters, as drawn or listed.

    ``budgets`` are those of its private steps, in the order of paths, and ``calculus`` is the one
    by which the account of the search counts trials. ``seed`` is of the noise on the score, in
    tests; None draws from the operating system.
    """

    params: dict[str, Any]
    estimator: Any
    calculus: str
    budgets: list[PrivacySpent]
    seed: int | None = None

    def seeded(self, public_rng: np.random.RandomState) -> Candidate:
        """The candidate with seeds for its steps, in place, and for its score."""
        for step in private_steps(self.estimator).values():
            if "random_state" in step.get_params(deep=False):
                step.set_params(random_state=int(public_rng.randint(_SEEDS)))
        return replace(self, seed=int(public_rng.randint(_SEEDS)))

    def covers(self, model: Any) -> bool:
        """True if a fitted model has kept to budgets and calculus, by its receipts."""
        relied_on = _RELIED_ON[self.calculus]
        steps = private_steps(model, fitted=True).values()
        for step, (epsilon, delta) in zip(steps, self.budgets, strict=True):
            spent = step.privacy_spent_
            if spent[0] > epsilon or spent[1] > delta:
                return False
            if relied_on and not all(isinstance(e, relied_on) for e in step.privacy_ledger_):
                return False
        return True


@dataclass(frozen=True, eq=False)
class Candidates:
    """Candidates of a search: all that is public about them.

    Parameters
    ----------
    who : str
        Name of the search, for messages.
    estimator : estimator
        What is searched over.
    spaces : list of dict
        Parts of the space, each with lists of values, or distributions, by name.
    classes : ndarray or None
        Labels for private steps that do not know theirs.
    unit : PrivacyUnit
        What is protected.
    n_samples : int, default=1
        Number of rows that a trial is fitted to, or of what is protected.
    n_features : int, default=1
        Number of features before the first step.
    sparse, weighted : bool, default=False
        Whether rows are stored sparsely, and whether they have weights.
    """

    who: str
    estimator: Any
    spaces: list[dict[str, Any]]
    classes: np.ndarray | None
    unit: PrivacyUnit
    n_samples: int = 1
    n_features: int = 1
    sparse: bool = False
    weighted: bool = False

    def stand_ins(self) -> list[Any]:
        """Candidates that stand for all, by parameters alone.

        Raises
        ------
        ValueError
            If a candidate has parameters that do not suit, or parts that are not covered.
        """
        paths = private_steps(self.estimator)
        for name in (name for space in self.spaces for name in space):
            path, _, last = name.rpartition("__")
            if path in paths and last in _TAKEN:
                raise ValueError(
                    f"{self.who} cannot search over {name!r}: the search derives budgets and draws "
                    "noise itself, and adjacency and classes have to be the same for all "
                    "candidates."
                )
        found = [self.built(params) for params in _outlines(self.spaces)]
        relation = adjacency_of(self.estimator)
        if {adjacency_of(made) for made in found} - {relation}:
            raise ValueError(f"{self.who} needs candidates of one adjacency, {shown(relation)}.")
        return found

    def built(self, params: Mapping[str, Any]) -> Any:
        """Unfitted copy of the estimator with these parameters, ready for a budget.

        It is silent, and nobody listens to it: what steps say, and what scikit-learn's callbacks
        hear, would tell how many trials there are, and of which candidates. So would the cache of a
        pipeline, a folder with the fitted steps of all trials and the rows that they have
        transformed; it also hands the noise of one trial to the next. There is none, whatever
        ``memory`` says. Its parts are fitted where the trial is, and to copies of rows that others
        go on to use.
        """
        made = clone(self.estimator).set_params(**clone(dict(params), safe=False))
        check_steps(self.who, made, self.unit)
        for step in private_steps(made).values():
            known = step.get_params(deep=False)
            changes: dict[str, Any] = {"random_state": None} if "random_state" in known else {}
            if self.classes is not None and known.get("classes", 0) is None:
                changes["classes"] = self.classes
            step.set_params(**changes)
        for part in (made, *made.get_params(deep=True).values()):
            # Clones keep the callbacks of the original, as the very same objects.
            if not isinstance(part, type):
                getattr(part, "__dict__", {}).pop(_CALLBACKS, None)
            if isinstance(part, Pipeline):
                part.memory = None
        names = [(name, name.rpartition("__")[2]) for name in made.get_params()]
        of_trials = {name: _OF_TRIALS[end] for name, end in names if end in _OF_TRIALS}
        return made.set_params(**of_trials)

    def calculi(self, made: Any, y: Any) -> list[Calculus | None]:
        """Calculus of each private step; None if only its (epsilon, delta) is to be relied on.

        Classifiers with known classes read nothing of ``y``.

        Raises
        ------
        ValueError
            If parameters of a step are invalid, or clash in a way that public facts tell.
        """
        return [
            self._calculus(step, y, _keeps_features(made, path))
            for path, step in private_steps(made).items()
        ]

    def _calculus(self, step: Any, y: Any, same_features: bool) -> Calculus | None:
        if not isinstance(step, _LINEAR):
            return None
        check_parameters(step)
        if isinstance(step, PrivateTransformer):
            return None if step._set_aside(1.0) else GaussianDP()
        probe = clone(step)
        probe.delta_ = delta_for(probe.delta, self.n_samples)
        if same_features:
            probe._tell_columns(self.n_features)
            probe._prepare_targets(y)
            kind: dict[str, Any] = {"weighted": self.weighted, "unit": self.unit}
            found = probe._plan(self.n_samples, self.sparse, **kind).calculus
        else:
            found = probe._claim().calculus
        return found if isinstance(found, GaussianDP | ZeroConcentratedDP) else None

    def drawn(
        self,
        params: dict[str, Any],
        y: Any,
        account: SearchAccount,
        step_shares: dict[str, float] | None,
        fit_share: float,
    ) -> Candidate:
        """The candidate of a trial, whose private steps have the budgets of one.

        ``fit_share`` is the share of a trial that is for fits. Steps that ``step_shares`` leaves
        out have weight 1.

        Raises
        ------
        ValueError
            If weights are not positive and finite.
        """
        made = self.built(params)
        kinds, given, steps = self.calculi(made, y), step_shares or {}, private_steps(made)
        weights = [float(given.get(path, 1.0)) for path in steps]
        if not all(0 < weight < inf for weight in weights):
            raise ValueError(
                f"{self.who} needs positive finite step_shares, got {shown(step_shares)}."
            )
        whole = sum(weights)
        budgets = [
            account.of_trial(fit_share * (w / whole), kind)
            for w, kind in zip(weights, kinds, strict=True)
        ]
        for step, (epsilon, delta) in zip(steps.values(), budgets, strict=True):
            step.set_params(epsilon=epsilon, delta=delta)
        return Candidate(params, made, account.calculus, budgets)

    # Refusals of what would fail each trial, or some by what is in the rows.

    def check_targets(self, made: Any, y: Any) -> None:
        """Refuse targets that this candidate would refuse, as the model does before it spends.

        In a trial a row with such a target would fail the candidate, and so make others win.

        Raises
        ------
        ValueError
            If labels are not among the classes, or targets of a regression are no finite numbers,
            or those of counts are negative.
        """
        last = last_step(made)
        if isinstance(last, PrivateLinearModel):
            check_parameters(last)
            with strict_checks():
                clone(last)._prepare_targets(y)(np.asarray(y))

    def check_fit(self, made: Any) -> None:
        """Refuse a candidate of which weights or labels of privacy units would not get to steps.

        Raises
        ------
        ValueError
            If, under metadata routing, no step has requested the weights, one has not said whether
            it wants them, or a private step has not requested the labels; or if a private step is
            inside of another one than a pipeline.
        """
        routed = get_config()["enable_metadata_routing"] and isinstance(made, Pipeline)
        if self.weighted and routed:
            try:
                # Routing looks at names; these are no weights of anybody.
                process_routing(made, "fit", sample_weight=np.ones(1))
            except (TypeError, ValueError) as failure:
                raise ValueError(
                    f"{self.who} with sample_weight and enable_metadata_routing=True needs steps "
                    "that say whether they want weights, and one that does; call "
                    "set_fit_request(sample_weight=True) on the step that is to be weighted."
                ) from failure
        if self.unit is PrivacyUnit.ROW:
            return
        steps = private_steps(made)
        if routed:
            requests = [step.get_metadata_routing().fit.requests for step in steps.values()]
            reached = all(asked.get("privacy_unit") is True for asked in requests)
        else:
            reached = not any("__" in path for path in steps)
            reached &= isinstance(made, Pipeline) or "" in steps
        if not reached:
            raise ValueError(
                f"{self.who} needs privacy_unit to reach every private step, which are "
                f"{', '.join(map(repr, steps))}. Search over a model or a pipeline of steps; under "
                "metadata routing call set_fit_request(privacy_unit=True) on each of them."
            )

    def check_rows(self, X: Any) -> None:
        """Refuse rows that a step refuses which comes before all private ones.

        In a trial such a row would fail the candidate, and so make others win. Candidates stay
        unfitted.

        Raises
        ------
        ValueError
            If there is such a row. It says nothing else.
        """
        spaces = [_without_private(self.estimator, space) for space in self.spaces]
        for made in map(self.built, _outlines(spaces)):
            try:
                with silence(), zero_unless_finite():
                    _taken_by(clone(made), X)
            except MemoryError:
                raise
            except Exception:
                pass
            else:
                continue
            raise ValueError(
                f"{self.who} needs candidates whose steps take all rows, because a trial that "
                "fails would tell of a row by who wins; steps of a candidate refuse a row, or "
                "a column for its type. Give them parameters with which they take any, such as "
                "handle_unknown='ignore', leave out columns of dates, or clean the rows one by one "
                "beforehand."
            )


def spaces_of(who: str, name: str, given: Any) -> list[dict[str, Any]]:
    """Parts of the space that a parameter of a search gives, in the words of scikit-learn.

    Parameters
    ----------
    who : str
        Name of the search.
    name : {'param_grid', 'param_distributions'}
        Name of the parameter.
    given : object
        Its value.

    Raises
    ------
    ValueError
        If that is no dict of values, or no list of such dicts, or leaves nothing to choose from.
    """
    try:
        made = ParameterGrid(given) if name == "param_grid" else ParameterSampler(given, 1)
    except MemoryError:
        raise
    except Exception:
        # What scikit-learn says would quote the values.
        made = None
    if made is None:
        drawn = " or a distribution" * (name == "param_distributions")
        raise ValueError(
            f"{who} needs {name} to be a dict with a list of values{drawn} for each parameter, or "
            f"a list of such dicts, got {shown(given)}."
        )
    spaces = list(getattr(made, name))
    # Distributions have no length.
    empty = [n for s in spaces for n, v in s.items() if not hasattr(v, "rvs") and not len(v)]
    if empty or not spaces:
        raise ValueError(
            f"{who} needs something to choose from in {name}, got "
            f"{'no values for ' + ', '.join(map(repr, empty)) if empty else 'an empty list'}."
        )
    return spaces


def last_step(estimator: Any) -> Any:
    """The last step of a pipeline, and any other estimator itself.

    Parameters
    ----------
    estimator : estimator
        Fitted or not.
    """
    return estimator.steps[-1][1] if isinstance(estimator, Pipeline) else estimator


def _outlines(spaces: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Candidates that stand for all others, as far as kinds and validity are concerned.

    All combinations of listed values. Where there is a distribution in place of a list, with
    ``rvs``, one draw stands for it.

    Raises
    ------
    ValueError
        If there are too many combinations.
    """
    found: list[dict[str, Any]] = []
    for space in spaces:
        grid = ParameterGrid({name: _values(value) for name, value in space.items()})
        if len(grid) > _MOST:
            raise ValueError(
                f"A private search needs at most {_MOST:,} combinations of listed values, because "
                f"each is looked at before anything is spent, got {len(grid):,}. Numbers may come "
                "from a distribution, in DPRandomizedSearchCV."
            )
        found += grid
    return found


def _without_private(estimator: Any, space: Mapping[str, Any]) -> dict[str, Any]:
    """Space without the parameters of private steps, which change no row in front of them.

    Where the space has a private step replaced, nothing of that step is left out.
    """
    within = tuple(
        path and f"{path}__"
        for path in private_steps(estimator)
        if not any(f"{path}__".startswith(f"{name}__") for name in space)
    )
    return {name: values for name, values in space.items() if not name.startswith(within)}


def _values(value: Any) -> list[Any]:
    if hasattr(value, "rvs"):
        return [value.rvs(random_state=np.random.RandomState(0))]
    return list(value)


def _keeps_features(estimator: Any, path: str) -> bool:
    """True if the step at the path sees as many features as there are at first."""
    if not path:
        return True
    if not isinstance(estimator, Pipeline) or "__" in path:
        return False
    before = [step for name, step in estimator.steps[: [n for n, _ in estimator.steps].index(path)]]
    names = OneToOneFeatureMixin.get_feature_names_out
    # Those that make other features have names of their own for them.
    return all(
        step in (None, "passthrough") or getattr(type(step), "get_feature_names_out", None) is names
        for step in before
    )


def _taken_by(part: Any, X: Any) -> Any:
    """Rows as they come out of a part, if private steps leave them as they are."""
    inside = private_steps(part)
    if part is None or isinstance(part, str):
        return X
    if "" in inside:
        return _read_by(part, X)
    if isinstance(part, Pipeline):
        for _, step in part.steps:
            X = _taken_by(step, X)
            if private_steps(step):
                # What comes next is given something else.
                break
        return X
    if hasattr(part, "predict"):
        for _, inner in TABLE[type(part)].parts(part) or []:
            # Others are for targets.
            if hasattr(inner, "predict"):
                _taken_by(inner, X)
        return X
    readers = {path: FunctionTransformer(partial(_read_by, step)) for path, step in inside.items()}
    return part.set_params(**readers).fit(X).transform(X)


def _read_by(step: Any, X: Any) -> Any:
    """Rows as a private step reads them, in place of what it would make of them."""
    if isinstance(step, PrivateTransformer):
        read = clone(step)._checked(X, reset=True)
        if isinstance(read, np.ndarray):
            return np.nan_to_num(read)
        if isinstance(read, list):
            # Columns of words, which an encoder turns into numbers and an imputer leaves.
            n_samples = step._stored(read, None, None).n_samples
            return np.zeros((n_samples, 1)) if isinstance(step, DPOneHotEncoder) else X
        return read
    return check_array(X, **ACCEPTED) if isinstance(step, PrivateLinearModel) else X


@contextmanager
def silence() -> Iterator[None]:
    """Keep warnings and logs back: they would tell how many trials there are, and of which kind."""

    def nothing(record: logging.LogRecord) -> bool:
        del record
        return False

    # Each search takes away its own, so that of two at a time none lets the other's trials speak.
    _LOGGER.addFilter(nothing)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        _LOGGER.removeFilter(nothing)
