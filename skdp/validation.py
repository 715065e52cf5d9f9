"""Checks of parameters and arguments, and messages that never quote what may be data.

At the end: arguments that a constructor does not take, each answered by a sentence on what to do.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import fields, is_dataclass
from difflib import get_close_matches
from functools import wraps
from inspect import Parameter, signature
from math import inf
from numbers import Integral, Real
from typing import Any, ParamSpec

import numpy as np
from sklearn.utils._param_validation import (
    Interval,
    InvalidParameterError,
    Options,
    StrOptions,
    make_constraint,
    validate_parameter_constraints,
)

P = ParamSpec("P")


class _Pair(Options):
    """Constraint that a parameter holds two ends; their owner checks what they are."""

    def __init__(self, *, by_name: bool = False) -> None:
        # Of the classes that scikit-learn lets others derive constraints from, the plainest.
        super().__init__(tuple, frozenset())
        self.by_name = by_name

    def is_satisfied_by(self, val: object) -> bool:
        if isinstance(val, Mapping):
            return self.by_name and all(isinstance(name, str) for name in val)
        return isinstance(val, tuple | list | np.ndarray) and getattr(val, "ndim", 1) == 1

    def __str__(self) -> str:
        return "a pair of numbers (low, high)"


PAIR = _Pair()
# Or such pairs by names of columns.
PAIRS = _Pair(by_name=True)


class _Infinite(Options):
    """Constraint that an epsilon is infinite: a fit without noise."""

    def __init__(self) -> None:
        super().__init__(Real, {inf})

    def __str__(self) -> str:
        return "inf for a fit without privacy"


INFINITE = _Infinite()

_PURE = (
    "which only fits of DPLogisticRegression, DPSVMClassifier and DPLinearRegression take; leave "
    "delta out."
)


class _Names(StrOptions):
    """Constraint that a parameter is one of some strings."""

    def __init__(
        self, options: Iterable[str], unlisted: Iterable[str], advice: Mapping[str, str]
    ) -> None:
        super().__init__(frozenset(options))
        self.listed = sorted(self.options - frozenset(unlisted))
        self.advice = advice

    def __str__(self) -> str:
        return f"a str among {{{', '.join(map(repr, self.listed))}}}"


def one_of(
    *options: str, unlisted: Iterable[str] = (), advice: Mapping[str, str] | None = None
) -> StrOptions:
    """The constraint that a parameter is one of these; errors list them alphabetically.

    Parameters
    ----------
    *options : str
        The valid strings.
    unlisted : iterable of str, optional
        Those that errors leave out, because something else refuses them in most cases.
    advice : mapping, optional
        Words on strings that are not valid but likely to be given.
    """
    return _Names(options, unlisted, advice or {})


def interval(low: float | None, high: float | None, closed: str) -> Interval:
    """The constraint that a parameter is a real number in an interval.

    Parameters
    ----------
    low, high : float or None
        Ends; None for none.
    closed : {'both', 'left', 'neither', 'right'}
        Which of them belong to it.
    """
    return Interval(Real, low, high, closed=closed)


def count(least: int = 1, most: int | None = None) -> Interval:
    """The constraint that a parameter is a whole number.

    Parameters
    ----------
    least : int, default=1
        The smallest valid one.
    most : int, optional
        The largest; None for none.
    """
    return Interval(Integral, least, most, closed="left" if most is None else "both")


def check_parameters(estimator: Any) -> None:
    """Check parameters against the constraints of the class of an estimator.

    Parameters
    ----------
    estimator : estimator
        Of scikit-learn's kind.

    Raises
    ------
    ValueError
        Naming a parameter that is outside its range.
    """
    given = estimator.get_params(deep=False)
    check_hyperparameters(estimator._parameter_constraints, given, type(estimator).__name__)


def check_hyperparameters(
    constraints: dict[str, list[Any]], given: dict[str, Any], who: str
) -> None:
    """Check hyperparameters of a solver against the constraints that its file states.

    Parameters
    ----------
    constraints : dict
        For each hyperparameter what it may be.
    given : dict
        What it is.
    who : str
        The solver.

    Raises
    ------
    ValueError
        Naming a hyperparameter that is outside its range. What it is instead is said by
        :func:`~skdp.validation.shown`, because it may be rows.
    """
    for name, value in given.items():
        # In place of a truth value that is none of a parameter that is a number.
        checked = object() if _no_number(constraints.get(name), value) else value
        try:
            # A number in single precision is compared in it, where a range may end at infinity.
            with np.errstate(over="ignore"):
                validate_parameter_constraints(constraints, {name: checked}, caller_name=who)
            continue
        except InvalidParameterError as error:
            needed = str(error).partition(" Got ")[0]
        except MemoryError:
            raise
        except Exception:
            # Of a value that can be neither compared nor printed.
            needed = f"The {name!r} parameter of {who} must be of another kind."
        # Raised here and not on the way, where it would carry an error that quotes the value.
        raise InvalidParameterError(_refusal(constraints, name, value, needed))


def _no_number(taken: list[Any] | None, value: Any) -> bool:
    """Tell whether a truth value is given that would be taken for the number 0 or 1.

    Scikit-learn takes it for one, because Python does, but nobody means it.
    """
    if taken is None or not isinstance(value, bool):
        return False
    kinds = map(make_constraint, taken)
    return not any(kind.is_satisfied_by(value) for kind in kinds if not _of_numbers(kind))


def _of_numbers(kind: Any) -> bool:
    return isinstance(kind, Interval | Options) and issubclass(kind.type, Real)


def _refusal(constraints: dict[str, list[Any]], name: str, value: Any, needed: str) -> str:
    """A sentence on a parameter that is outside its range, of which ``needed`` tells."""
    kinds = tuple(kind for kind in constraints[name] if isinstance(kind, type))
    if isinstance(value, type) and issubclass(value, kinds):
        return f"{needed} Got {shown(value)}; pass an instance of it, {value.__name__}(...)."
    number = isinstance(value, int | float | np.number) and not isinstance(value, bool)
    if name == "delta" and number and value == 0:
        return f"{needed} Got {shown(value)}, {_PURE}"
    if type(value) is str:
        for names in constraints[name]:
            if isinstance(names, _Names) and value in names.advice:
                return f"{needed} Got {shown(value)}, {names.advice[value]}"
            # A mistyped name among many needs those that it may have been, not all.
            many = isinstance(names, _Names) and "auto" in names.listed
            if many and (near := get_close_matches(value, names.listed, n=2)):
                such = " or ".join(map(repr, dict.fromkeys(("auto", *near))))
                needed = needed.replace(str(names), f"a str such as {such},")
    return f"{needed} Got {shown(value)} instead."


_LONGEST_STRING = 60
_LONGEST_TUPLE = 4
_LARGEST_INTEGER = 10**18
_CONTAINERS = (list, tuple, dict, set, frozenset, range)


def shown(value: object) -> str:
    """Text that a message may say of a parameter, which somebody may have filled with rows.

    Parameters
    ----------
    value : object
        As a user has passed it.

    Returns
    -------
    str
        Plain numbers, None, short strings, short tuples of these, classes, and parts of this
        package that are made of these as they are written; anything else by type and size. No
        code of the value's own is run to print it.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp.validation import shown
    >>> print(shown(0.5), shown((0, 1)), shown("gd"), shown(np.ones((50, 3))))
    0.5 (0, 1) 'gd' an array of shape (50, 3) and dtype float64
    """
    kind = type(value)
    if kind is tuple and len(value) <= _LONGEST_TUPLE:  # type: ignore[arg-type]
        if all(_is_plain(v) for v in value):  # type: ignore[attr-defined]
            return repr(tuple(_python(v) for v in value))  # type: ignore[attr-defined]
    elif _is_plain(value):
        return repr(_python(value))
    elif isinstance(value, type):
        return f"the class {value.__name__}"
    elif is_dataclass(value) and kind.__module__.startswith("skdp."):
        # Those of users may have a representation of their own.
        listed = (f"{f.name}={shown(getattr(value, f.name))}" for f in fields(value) if f.repr)
        return f"{kind.__name__}({', '.join(listed)})"
    if kind is str or kind is np.str_:
        return f"a string of {len(value)} characters"  # type: ignore[arg-type]
    if kind is int:
        return f"an integer of {value.bit_length()} bits"  # type: ignore[attr-defined]
    return sized(value)


_MOST_LISTED = 3


def listed(names: Iterable[object]) -> str:
    """Names for a message, the first few of many.

    Examples
    --------
    >>> from skdp.validation import listed
    >>> print(listed("abc"), listed(range(7)), sep="; ")
    a, b, c; 0, 1, 2 and 4 more
    """
    every = [str(name) for name in names]
    more = len(every) - _MOST_LISTED
    return ", ".join(every[:_MOST_LISTED]) + (f" and {more} more" if more > 0 else "")


def meant(name: object, names: Iterable[object]) -> str:
    """A question after the name that was probably meant; empty if none is near.

    Parameters
    ----------
    name : object
        As a user wrote it.
    names : iterable
        Those that there are. One with a prefix, as ColumnTransformer makes it, is near its end.

    Examples
    --------
    >>> from skdp.validation import meant
    >>> print(meant("Age", ["num__age", "sex"]))
     Did you mean 'num__age'?
    """
    every = list(names)
    ends = {str(other).rpartition("__")[2].lower(): other for other in every}
    ends |= {str(other).lower(): other for other in every}
    near = get_close_matches(str(name).lower(), ends, n=1)
    return f" Did you mean {shown(ends[near[0]])}?" if near else ""


_sizes_told: ContextVar[bool] = ContextVar("sizes_told", default=True)


@contextmanager
def telling_sizes(told: bool) -> Iterator[None]:
    """Context in which messages about data say how large they are, or leave it out.

    Parameters
    ----------
    told : bool
        False where numbers of rows are secret.

    Yields
    ------
    None
    """
    token = _sizes_told.set(told and _sizes_told.get())
    try:
        yield
    finally:
        _sizes_told.reset(token)


def sizes_told() -> bool:
    """Tell whether messages may say how large data are; see :func:`telling_sizes`."""
    return _sizes_told.get()


def sized(value: Any) -> str:
    """Type of a value, which may be data, and its size if it is of a usual type.

    Sizes are left out where :func:`telling_sizes` says so.

    Parameters
    ----------
    value : object
        Anything.

    Returns
    -------
    str
        Words that depend on no entry.
    """
    kind = type(value)
    name = kind.__name__
    if not sizes_told():
        return f"a value of type {name}"
    if kind in _CONTAINERS:
        return f"a {name} of {len(value)} {'item' if len(value) == 1 else 'items'}"
    try:
        shape, dtype = getattr(value, "shape", None), getattr(value, "dtype", None)
    except MemoryError:
        raise
    except Exception:
        shape = dtype = None
    if type(shape) is not tuple or not all(type(size) is int for size in shape):
        return f"a value of type {name}"
    what = "an array" if isinstance(value, np.ndarray) else f"a {name}"
    # Types of pandas list categories, those of records name fields, and those of strings tell how
    # long the longest is.
    if isinstance(dtype, np.dtype) and dtype.kind in "biufcOmM":
        return f"{what} of shape {shape} and dtype {dtype.name}"
    return f"{what} of shape {shape}"


def _is_plain(value: object) -> bool:
    """Tell whether this is a number, a short string or None, and of no class of the user's."""
    kind = type(value)
    if kind is int:
        return abs(value) <= _LARGEST_INTEGER  # type: ignore[arg-type]
    if kind in (str, np.str_):
        return len(value) <= _LONGEST_STRING  # type: ignore[arg-type]
    number = isinstance(value, np.number | np.bool_) and kind.__module__ == "numpy"
    return value is None or kind in (bool, float, complex) or number


def _python(value: Any) -> Any:
    """Plain Python value of a numpy scalar; other values as they are."""
    return value.item() if isinstance(value, np.generic) else value


def check_numbers(who: str, kind: type = Real, /, **given: object) -> None:
    """Refuse what is not a number.

    Parameters
    ----------
    who : str
        Who needs them.
    kind : {Real, Integral}, default=Real
        Of which numbers.
    **given : object
        The arguments by name.

    Raises
    ------
    ValueError
        If one is of another type. The message names the type, not the value, which could be data.
    """
    needed = "an integer" if kind is Integral else "a number"
    for name, value in given.items():
        # True counts as 1 in Python, but nobody means it.
        if not isinstance(value, kind) or isinstance(value, bool):
            raise ValueError(
                f"{who} needs {needed} for {name}, got a {type(value).__name__}; convert it first."
            )


def settle_numbers(thing: Any) -> None:
    """Refuse fields that are not real numbers, and keep others in double precision.

    A float32 would compute in single precision, and a fraction not at all with arrays.

    Parameters
    ----------
    thing : object
        A frozen dataclass, all of whose fields are numbers; its class is who needs them.

    Raises
    ------
    ValueError
        If one is of another type, or finite but beyond double precision.
    """
    who = type(thing).__name__
    for field in fields(thing):
        value = getattr(thing, field.name)
        check_numbers(who, **{field.name: value})
        try:
            double = float(value)
        except OverflowError:
            raise ValueError(
                f"{who} needs a number for {field.name} that is at most 1.8e308, got a larger "
                f"{type(value).__name__}; pass a float."
            ) from None
        if type(value) not in (int, float):
            object.__setattr__(thing, field.name, double)


def numbers_in(given: object) -> np.ndarray | None:
    """An array-like of real numbers as an array of float64; None if it is something else.

    Words are not read as numbers, so that no message can quote them.

    Parameters
    ----------
    given : object
        As a user has passed it.

    Returns
    -------
    ndarray or None
        Entries may be missing or infinite.
    """
    try:
        found = np.asarray(given)
        return found.astype(float) if found.dtype.kind in "biufO" else None
    except MemoryError:
        raise
    except Exception:
        # Objects that make arrays of themselves raise what they like.
        return None


# Below, subnormal numbers would break the guarantee.
_SMALLEST_DELTA = 1e-300


def check_non_negative(who: str, name: str, value: float) -> None:
    """Refuse what is negative or not a number."""
    if not (isinstance(value, Real) and value >= 0.0):
        raise ValueError(
            f"{who} needs {name} in [0, inf]; got {shown(value)}. Pass a non-negative {name}."
        )


def check_delta(who: str, delta: float) -> None:
    """Refuse a delta that is no probability strictly between 0 and 1."""
    if not (isinstance(delta, Real) and _SMALLEST_DELTA <= delta < 1.0):
        raise ValueError(
            f"{who} needs delta strictly between 0 and 1 (at least 1e-300); got {shown(delta)}. "
            "Choose delta well below one over the number of rows."
        )


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
    **dict.fromkeys(["neighbors", "neighbours"], "adjacency says which data sets are neighbours."),
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
    "loss": (
        "The loss is the squared one; DPLinearRegression(loss='huber') has another, and "
        "DPQuantileRegressor the pinball loss."
    ),
    "alphas": "DPGridSearchCV(model, {'alpha': [...]}) compares several, within one budget.",
    "data_bounds": "An l1 penalty is about columns as they are: put BoundsScaler in front.",
    "solver_options": "Pass a configured solver, such as solver=QuantileGD(steps=10).",
    "classes": "Targets are numbers; pass target_bounds=(low, high), if they are known.",
}
SCALERS: Mapping[str, str] = {
    "copy": "Rows are never changed: leave it out.",
    "clip": "Values beyond the bounds are always clipped: leave it out.",
}
SELECTORS: Mapping[str, str] = {
    "score_func": "Columns are ranked by covariances with the target: leave it out.",
}
IMPUTERS: Mapping[str, str] = {
    **SCALERS,
    "missing_values": "Missing are NaN and None: replace what else stands for them.",
    "keep_empty_features": "No column is left out, as it would tell which have no values.",
}
ENCODERS: Mapping[str, str] = {
    "drop": "No category is dropped, which a penalty makes up for: leave it out.",
    "feature_name_combiner": "Names are those of scikit-learn: leave it out.",
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


def keep_parameters(estimator: Any, given: Mapping[str, Any]) -> None:
    """Set the arguments of a constructor as attributes of the same names, and do nothing else.

    Parameters
    ----------
    estimator : estimator
        Whose constructor it is.
    given : mapping
        Its ``locals()``.
    """
    vars(estimator).update((name, value) for name, value in given.items() if name != "self")


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
            others = f"Did you mean {near[0]}?" if near else f"Its own are {', '.join(taken)}."
            return f"{who} has no parameter {shown(name)}. {advice.get(name, others)}"
    return None
