"""Verdicts on an estimator and its parts, and its private counterpart, by the registry."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

from sklearn.pipeline import Pipeline

from ..exceptions import PrivacyLeakWarning, warn_user
from ..privacy.adjacency import PrivacyUnit
from .counterparts import Counterpart, Given, NoCounterpartError
from .open_budgets import BudgetedEstimator
from .registry import TABLE, Columns, Rule, Verdict

_NOTHING = (None, "passthrough", "drop")
_UNKNOWN = (
    "is not in the table of estimators whose privacy is known (docs/reference/composition.md)"
)
_SEARCHES = "use skdp.model_selection.DPGridSearchCV or DPRandomizedSearchCV"


def does_nothing(step: Any) -> bool:
    """Tell whether a step is none, or the word of scikit-learn's for one that does nothing.

    Parameters
    ----------
    step : object
        Estimator, word or None.
    """
    return step is None or (isinstance(step, str) and step in _NOTHING)


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
    if does_nothing(estimator):
        return Verdict("covered", "does nothing")
    if isinstance(estimator, BudgetedEstimator):
        return Verdict("covered", "has a receipt of its own")
    entry = TABLE.get(type(estimator))
    if entry is None:
        chooses = hasattr(estimator, "estimator") and hasattr(estimator, "scoring")
        why = f"(of {type(estimator).__module__}) {_UNKNOWN}"
        return Verdict("refused", f"{why}; {_SEARCHES}" if chooses else why)
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
    return [rule for rule in rules if (secret or not rule.of_units) and rule.broken_by(estimator)]


def columns_after(step: Any, before: Columns) -> Columns:
    """Public facts about the columns that come out of a step of scikit-learn's.

    Parameters
    ----------
    step : object
        With parameters as they are going to be.
    before : Columns
        About those that it is given.
    """
    entry = TABLE.get(type(step))
    return entry.after(step, before) if entry and entry.after else Columns(named=False)


def counterpart_of(model: Any, **others: Any) -> Counterpart | None:
    """Private counterpart of a model or transformer of scikit-learn's; None if it learns nothing.

    Parameters
    ----------
    model : object
        Only its class and its parameters are read, and no attribute that a fit has left.
    **others
        Parameters that are to replace those of the model.

    Raises
    ------
    NoCounterpartError
        If it has none, with a sentence on what to use instead.
    """
    entry = TABLE.get(type(model))
    if entry is None or entry.counterpart is None:
        return None
    if isinstance(entry.counterpart, str):
        raise NoCounterpartError(entry.counterpart)
    given = Given(model, others)
    found = entry.counterpart(given)
    return None if found is None else Counterpart(*found, given.left, entry.remark)


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
        Fitted or not; of a class that is not in the table nothing is known.
    """
    entry = TABLE.get(type(estimator))
    return entry.fitted_parts(estimator) if entry else []


def nested_estimators(
    estimator: Any, who: str, *, fitted: bool = False, joint: str = "."
) -> Iterator[tuple[str, Any]]:
    """All estimators in a composed one, itself first, each under the path that names it.

    Parameters
    ----------
    estimator : object
        Fitted or not.
    who : str
        What to call it; if it is empty, paths begin with the names of its parts.
    fitted : bool, default=False
        Whether those are wanted that were fitted: some estimators fit copies of theirs.
    joint : str, default='.'
        What is put between names.

    Yields
    ------
    tuple of str and object
        Path and estimator.
    """
    yield who, estimator
    if (entry := TABLE.get(type(estimator))) is not None:
        parts = entry.fitted_parts(estimator) if fitted else entry.parts(estimator)
        for name, part in parts or []:
            path = f"{who}{joint}{name}" if who else name
            yield from nested_estimators(part, path, fitted=fitted, joint=joint)


def problems_of(estimator: Any, unit: PrivacyUnit) -> tuple[list[str], list[str]]:
    """Sentences about all parts of an estimator that are refused, and about those that leak.

    Parameters
    ----------
    estimator : object
        Not fitted.
    unit : PrivacyUnit
        What is protected.
    """
    said: dict[str, list[str]] = {"covered": [], "leaks": [], "refused": []}
    for name, part in nested_estimators(estimator, type(estimator).__name__):
        verdict = verdict_of(part, unit)
        said[verdict.kind].append(f"{name} {verdict.why}")
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


def warn_of_steps_around(unit: PrivacyUnit) -> None:
    """Warn of steps that learn from rows for free, in the pipeline whose ``fit`` led here.

    A model is not told what stands in front of it; the stack shows it.

    Parameters
    ----------
    unit : PrivacyUnit
        What is protected.

    Warns
    -----
    PrivacyLeakWarning
        If a step is known to publish what it has learned from rows.
    """
    pipeline = _pipeline_around()
    if pipeline is None:
        return
    # Of steps that are not in the table nothing is known, and the user may know it.
    known = [(n, s) for n, s in nested_estimators(pipeline, "", joint="__") if type(s) in TABLE]
    verdicts = {name: verdict_of(step, unit) for name, step in known if step is not pipeline}
    free = [f"{name} {v.why}" for name, v in verdicts.items() if v.kind == "refused"]
    if free:
        warn_user(
            f"The pipeline publishes more than its private model: {'; '.join(free)}. "
            "skdp.privatize makes a whole pipeline private.",
            PrivacyLeakWarning,
        )


def _pipeline_around() -> Pipeline | None:
    """The innermost pipeline whose ``fit`` is on the stack."""
    file, frame = sys.modules[Pipeline.__module__].__file__, sys._getframe(1)
    while frame.f_code.co_filename != file:
        if frame.f_back is None:
            return None
        frame = frame.f_back
    found = frame.f_locals.get("self")
    return found if isinstance(found, Pipeline) else None


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
