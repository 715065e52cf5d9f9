"""Parameters of estimators and solvers: choices among strings, and their check."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils._param_validation import StrOptions, validate_parameter_constraints

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
    # A number in single precision is compared in it, where the end of a range may be infinite.
    with np.errstate(over="ignore"):
        estimator._validate_params()


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
        Naming a hyperparameter that is outside its range.
    """
    # As for estimators.
    with np.errstate(over="ignore"):
        validate_parameter_constraints(constraints, given, caller_name=who)
