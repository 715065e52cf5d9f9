"""Plans also of scripts that are not private yet."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import wraps
from inspect import signature
from typing import Any, TypeVar, cast

from sklearn.base import BaseEstimator

from ..estimators import fit_plan
from ..model_selection.candidates import private_steps
from .privatize import privatize

_Plans = TypeVar("_Plans", bound=Callable[..., Any])
_TAKEN = {*signature(privatize).parameters} - {"estimator", "return_plan"}
# What is said of a fit in its call.
_OF_FITS = {"classes", "privacy_unit"}


def _also_of_scripts(planned: _Plans) -> _Plans:
    """A function that plans, and makes estimators private first that are not."""

    @wraps(planned)
    def plan(*args: Any, **facts: Any) -> Any:
        script = args[0] if args and isinstance(args[0], BaseEstimator) else None
        settled = sorted((_TAKEN & {*facts}) - _OF_FITS)
        if script is None or (private_steps(script) and not settled):
            return planned(*args, **facts)
        if private_steps(script):
            raise TypeError(
                f"plan needs {' and '.join(settled)} left out for a {type(script).__name__} that "
                "is private already, because its parameters say it. Pass the "
                "script as it was before privatize, or set its parameters."
            )
        told = {"epsilon": 1.0} | {name: facts[name] for name in _TAKEN & {*facts}}
        made, found = privatize(script, **told, return_plan=True)
        known = {name: facts[name] for name in facts if name not in _TAKEN}
        known |= {"privacy_unit": True} if told.get("privacy_unit") else {}
        missing = tuple(map(str, found.wanted))
        return replace(planned(made, *args[1:], **known), missing_facts=missing)

    return cast(_Plans, plan)


plan = _also_of_scripts(fit_plan.plan)
