"""Arguments that a constructor does not take, each answered by a sentence on what to do."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from difflib import get_close_matches
from functools import wraps
from inspect import Parameter, signature
from typing import Any, ParamSpec

from .validation import shown

__all__ = [
    "CLASSIFIERS",
    "EXACT_SOLVERS",
    "REGRESSORS",
    "SCALERS",
    "SEARCHES",
    "refused_parameter",
    "with_advice",
]

P = ParamSpec("P")

_STEPS = (
    "A solver stops after a number of steps that does not depend on the rows: leave it out, or "
    "set that number by an instance such as solver=GD(steps=100)."
)
_SCHEDULE = (
    "Steps follow from the budget and from public facts: leave it out, or pass a configured "
    "instance of a solver, see skdp.solvers."
)
_ONE_PROCESS = (
    "A fit is not divided among processes: leave it out. Dask collections are fitted by the "
    "workers that hold them."
)
_CHOOSES = "DPLassoRegressor(solver=Screening(k=5)) chooses so many features, and pays for it."

# What parameters of scikit-learn's linear models, scalers and searches come to here.
_MODELS = {
    **dict.fromkeys(["max_iter", "tol", "early_stopping", "n_iter_no_change"], _STEPS),
    **dict.fromkeys(["learning_rate", "eta0", "power_t", "shuffle", "average"], _SCHEDULE),
    "validation_fraction": "No rows are held out by a fit: leave it out.",
    "n_jobs": _ONE_PROCESS,
    "max_features": _CHOOSES,
    "n_nonzero_coefs": _CHOOSES,
}
CLASSIFIERS: Mapping[str, str] = {
    **_MODELS,
    "penalty": (
        "The penalty is l2 by default: l1_ratio=1 makes it l1, a share between mixes both, and "
        "C=float('inf') leaves next to none."
    ),
    "l1_ratio": "The penalty is not a mixture: pass penalty='l1' or 'l2'.",
    "alpha": "The strength of the penalty is given by C, about 1 / (alpha * n_samples).",
    "loss": (
        "The class chooses the loss: 'log_loss' is DPLogisticRegression, 'hinge' and "
        "'squared_hinge' are losses of DPSVMClassifier."
    ),
    "dual": "There is one form of the problem: leave it out.",
    "multi_class": "All classes are fitted together, within one budget: leave it out.",
    "positive": "Pass constraint=NonNegative(), from skdp.problem.constraints.",
    "Cs": "DPGridSearchCV(model, {'C': [...]}) compares several, within one budget.",
    "target_bounds": "Classes have no bounds; pass classes=[...], which are known beforehand.",
}
REGRESSORS: Mapping[str, str] = {
    **_MODELS,
    "copy_X": "Rows are never changed: leave it out.",
    "selection": _SCHEDULE,
    "precompute": "Nothing is computed from rows but what is paid for: leave it out.",
    "l1_ratio": (
        "There is no mixture of penalties: DPLassoRegressor has an l1 penalty, DPLinearRegression "
        "an l2 penalty, each of strength alpha."
    ),
    "penalty": (
        "The penalty follows from the class: l2 for DPLinearRegression, l1 for DPLassoRegressor, "
        "each of strength alpha."
    ),
    "C": "The strength of the penalty is alpha, as for scikit-learn's regressors.",
    "loss": "The loss is the squared one; DPLinearRegression(loss='huber') has another.",
    "alphas": "DPGridSearchCV(model, {'alpha': [...]}) compares several, within one budget.",
    "data_bounds": "An l1 penalty is about columns as they are: put BoundsScaler in front.",
    "classes": "Targets are numbers; pass target_bounds=(low, high), if they are known.",
}
SCALERS: Mapping[str, str] = {
    "copy": "Rows are never changed: leave it out.",
    "clip": "Values beyond the bounds are always clipped: leave it out.",
}
SEARCHES: Mapping[str, str] = {
    "cv": (
        "There are no folds, because each would spend anew: leave it out, or pass "
        "validation=0.2 or validation=(X, y)."
    ),
    "refit": "The winner is published as it was fitted, without another fit: leave it out.",
    "verbose": "The number of trials is secret, and so is the progress of a search: leave it out.",
    "pre_dispatch": "Leave it out; n_jobs alone says how many processes there are.",
    "error_score": "A fit that fails has the lowest score there is: leave it out.",
    "return_train_score": "Scores stay secret, all but what has been paid for: leave it out.",
}
# Names of solvers that scikit-learn's linear models take.
EXACT_SOLVERS: Mapping[str, str] = dict.fromkeys(
    (
        *("cholesky", "lbfgs", "liblinear", "lsqr", "newton-cg", "newton-cholesky"),
        *("sag", "saga", "sparse_cg", "svd"),
    ),
    "a solver of scikit-learn, which adds no noise; leave it out for 'auto'.",
)


def with_advice(
    advice: Mapping[str, str] | None = None,
) -> Callable[[Callable[P, None]], Callable[P, None]]:
    """Decorator of a constructor that answers wrong arguments by what to do instead.

    Parameters
    ----------
    advice : mapping, optional
        A sentence for each parameter of others that the constructor may be given.

    Returns
    -------
    callable
        The decorator. What it returns has the signature of the constructor.
    """

    def decorate(init: Callable[P, None]) -> Callable[P, None]:
        _, *parameters = signature(init).parameters.values()

        @wraps(init)
        def answering(*args: P.args, **kwargs: P.kwargs) -> None:
            try:
                return init(*args, **kwargs)
            except TypeError:
                who = type(args[0]).__name__
                refusal = _unnamed(who, parameters, args[1:]) or _unknown(
                    who, parameters, kwargs, advice or {}
                )
                if refusal is None:
                    raise
            raise TypeError(refusal)

        answering.advice = advice or {}  # type: ignore[attr-defined]
        return answering

    return decorate


def refused_parameter(kind: type, given: Mapping[str, Any]) -> str | None:
    """A sentence on a parameter that a class does not have; None if it has all.

    Parameters
    ----------
    kind : type
        With a constructor that is decorated by :func:`with_advice`.
    given : mapping
        Values by name, those of parts (``part__name``) among them.
    """
    init = kind.__init__  # type: ignore[misc]
    _, *parameters = signature(init).parameters.values()
    own = {name: value for name, value in given.items() if "__" not in name}
    return _unknown(kind.__name__, parameters, own, init.advice)


def _unnamed(who: str, parameters: list[Parameter], given: tuple[Any, ...]) -> str | None:
    """A sentence on an argument that should have a name; None if there is no such."""
    by_place = [p.name for p in parameters if p.kind is not Parameter.KEYWORD_ONLY]
    if len(given) <= len(by_place):
        return None
    # Both of what it may be: epsilon, and what scikit-learn's classes take first.
    named = [p.name for p in parameters if p.name not in ("delta", *by_place)]
    after = f" after {' and '.join(by_place)}" if by_place else ""
    return (
        f"{who} needs its arguments{after} by name, got {shown(given[len(by_place)])} without "
        f"one; say which parameter that is, such as {' or '.join(named[:2])}."
    )


def _unknown(
    who: str, parameters: list[Parameter], given: Mapping[str, Any], advice: Mapping[str, str]
) -> str | None:
    """A sentence on an argument that does not exist; None if all do."""
    taken = [p.name for p in parameters]
    for name in given:
        if name not in taken:
            near = get_close_matches(name, taken, n=1)
            listed = f"Did you mean {near[0]}?" if near else f"Its own are {', '.join(taken)}."
            return f"{who} has no parameter {shown(name)}. {advice.get(name, listed)}"
    return None
