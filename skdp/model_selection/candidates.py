"""Candidates of a search: estimators with parameters set, all that is public about them checked."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from numbers import Number
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import ParameterGrid
from sklearn.pipeline import Pipeline

from .steps import check_steps, private_steps

__all__ = ["built", "check_names", "made_of", "outlines"]

# What the search itself decides, or all candidates have to share.
_TAKEN = ("adjacency", "classes", "delta", "epsilon", "random_state")
# Where scikit-learn's estimators hold their callbacks.
_CALLBACKS = "_skl_callbacks"
# Of candidates that are looked at before anything is charged.
_MOST = 2000


def built(who: str, estimator: Any, params: Mapping[str, Any], classes: np.ndarray | None) -> Any:
    """An unfitted copy of the estimator with these parameters, ready for a budget.

    It is silent, and nobody listens to it: what steps say, and what scikit-learn's callbacks hear,
    would tell how many runs there are, and of which candidates. So would the cache of a pipeline,
    a folder with the fitted steps of all runs and the rows that they have transformed; it also
    hands the noise of one run to the next. There is none, whatever ``memory`` says.

    Parameters
    ----------
    who : str
        The search.
    estimator : estimator
        The base.
    params : mapping
        Of the candidate.
    classes : ndarray or None
        Labels for the private steps that do not know theirs.
    """
    made = clone(estimator).set_params(**clone(dict(params), safe=False))
    check_steps(who, made)
    for step in private_steps(made).values():
        known = step.get_params(deep=False)
        changes: dict[str, Any] = {"random_state": None} if "random_state" in known else {}
        if classes is not None and known.get("classes", 0) is None:
            changes["classes"] = classes
        step.set_params(**changes)
    for part in (made, *made.get_params(deep=True).values()):
        # Clones keep the callbacks of the original, as the very same objects.
        if not isinstance(part, type):
            getattr(part, "__dict__", {}).pop(_CALLBACKS, None)
        if isinstance(part, Pipeline):
            part.memory = None
    talkative = [name for name in made.get_params() if name.rpartition("__")[2] == "verbose"]
    return made.set_params(**dict.fromkeys(talkative, False))


def check_names(who: str, estimator: Any, names: Iterable[str]) -> None:
    """Refuse parameters that cannot be searched over.

    Parameters
    ----------
    who : str
        The search.
    estimator : estimator
        The base.
    names : iterable of str
        Of parameters.
    """
    paths = private_steps(estimator)
    for name in names:
        path, _, last = name.rpartition("__")
        if path in paths and last in _TAKEN:
            raise ValueError(
                f"{who} cannot search over {name!r}: the search derives budgets and draws noise "
                "itself, and adjacency and classes have to be the same for all candidates."
            )


def made_of(kind: Callable[..., Any], *args: Any, **options: Any) -> Any:
    """A set of candidates of scikit-learn's; None if it cannot be made of these values.

    Its errors would quote them.

    Parameters
    ----------
    kind : type
        ParameterGrid or ParameterSampler.
    *args, **options
        What it is made of.
    """
    try:
        return kind(*args, **options)
    except MemoryError:
        raise
    except Exception:
        return None


def outlines(spaces: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Candidates that stand for all others, as far as kinds and validity are concerned.

    All combinations of listed values, if there are not too many; otherwise all combinations of
    those that are no numbers, and each number once. Where there is a distribution in place of a
    list, one draw stands for it.

    Parameters
    ----------
    spaces : list of dict
        For each name a list of values, or a distribution with ``rvs``.
    """
    found: list[dict[str, Any]] = []
    for space in spaces:
        listed = {name: _values(value) for name, value in space.items()}
        if np.prod([float(len(values)) for values in listed.values()]) <= _MOST:
            found += ParameterGrid(listed)
            continue
        kinds = {
            name: values if _kinds_differ(values) else values[:1] for name, values in listed.items()
        }
        found += [*ParameterGrid(kinds)][:_MOST]
        first = {name: values[0] for name, values in listed.items()}
        found += [first | {name: v} for name, values in listed.items() for v in values]
    return found


def _values(value: Any) -> list[Any]:
    if hasattr(value, "rvs"):
        return [value.rvs(random_state=np.random.RandomState(0))]
    return list(value)


def _kinds_differ(values: list[Any]) -> bool:
    return not all(isinstance(v, Number) and not isinstance(v, bool) for v in values)
