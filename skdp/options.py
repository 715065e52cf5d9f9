"""Parameters of estimators and solvers: choices among strings, and their check."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils._param_validation import StrOptions

__all__ = ["check_parameters", "one_of"]


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
