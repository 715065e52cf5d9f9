"""Warnings and errors that concern privacy, and a warning that points at the caller's line."""

from __future__ import annotations

import sys
import warnings


class PrivacyLeakWarning(UserWarning):
    """Warning that something about the data became public without being paid for.

    Raised, for example, when the set of classes is read off the labels because ``classes`` was
    not given. The fitted model is private only against someone who knew that fact already.
    """


class SeededNoiseWarning(PrivacyLeakWarning):
    """The secret noise comes from a seed, so whoever knows the seed can take it off."""


class NoPrivacyWarning(PrivacyLeakWarning):
    """Epsilon is infinite, so there is no noise, and nothing that is published is private."""


class BudgetWarning(UserWarning):
    """Warning that a privacy budget promises little, or is too small to learn from the rows.

    Decided by parameters and public facts alone, before anything is asked about the rows.
    """


class UnresolvedWarning(UserWarning):
    """Standard errors of a fit are missing, or may be too small, as released numbers tell."""


class BudgetExceededError(RuntimeError):
    """A release would cost more than what is left of the privacy budget; nothing was read."""


# Scikit-learn's decorator for callbacks, and the context in which rows are read, stand between a
# method and who called it.
_WITHIN = (__name__.partition(".")[0] + ".", "sklearn.callback.", "contextlib.")


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
    while frame.f_back is not None and f"{frame.f_globals.get('__name__')}.".startswith(_WITHIN):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)
