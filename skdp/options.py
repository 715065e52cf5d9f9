"""Parameters of estimators and solvers: choices among strings, and their check."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils._param_validation import (
    InvalidParameterError,
    StrOptions,
    validate_parameter_constraints,
)

from .arguments import shown

__all__ = ["check_hyperparameters", "check_parameters", "one_of"]


def one_of(*options: str) -> StrOptions:
    """The constraint that a parameter is one of these; errors list them alphabetically.

    Parameters
    ----------
    *options : str
        The valid strings.
    """
    # Messages list options in the order of iteration. That of a set differs from run to run, that
    # of the keys of a dict, which serve as a set in all else, is the one in which they came.
    return StrOptions(dict.fromkeys(sorted(options)).keys())


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
        :func:`~skdp.arguments.shown`, because it may be rows.
    """
    for name, value in given.items():
        refusal = _refusal(constraints, name, value, who)
        # Raised here and not on the way, where it would carry an error that quotes the value.
        if refusal is not None:
            raise InvalidParameterError(refusal)


def _refusal(constraints: dict[str, list[Any]], name: str, value: Any, who: str) -> str | None:
    """A sentence on a parameter that is outside its range; None if it is within."""
    try:
        # A number in single precision is compared in it, where the end of a range may be infinite.
        with np.errstate(over="ignore"):
            validate_parameter_constraints(constraints, {name: value}, caller_name=who)
    except InvalidParameterError as error:
        needed = str(error).partition(" Got ")[0]
    except MemoryError:
        raise
    except Exception:
        # Of a value that can be neither compared nor printed.
        needed = f"The {name!r} parameter of {who} must be of another kind."
    else:
        return None
    return f"{needed} Got {shown(value)} instead."
