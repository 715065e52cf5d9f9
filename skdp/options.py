"""Choices among strings, for the parameters of estimators and solvers."""

from __future__ import annotations

from sklearn.utils._param_validation import StrOptions

__all__ = ["one_of"]


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
