"""Warnings that point at the line of the user's code."""

from __future__ import annotations

import sys
import warnings

__all__ = ["warn_user"]

_PACKAGE = __name__.partition(".")[0]


def warn_user(message: str, category: type[Warning]) -> None:
    """Warn, and let the warning point at the code outside the package that led here.

    Parameters
    ----------
    message : str
        What is said.
    category : type
        The kind of warning.
    """
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and _within(frame.f_globals.get("__name__", "")):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)


def _within(module: str) -> bool:
    # Scikit-learn's decorator for callbacks stands between a fit and who called it.
    return module == _PACKAGE or module.startswith((_PACKAGE + ".", "sklearn.callback."))
