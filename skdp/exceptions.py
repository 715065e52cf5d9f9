"""Warnings and errors that concern privacy."""

__all__ = ["BudgetExceededError", "PrivacyLeakWarning", "SeededNoiseWarning"]


class PrivacyLeakWarning(UserWarning):
    """Something about the data became public without being paid for.

    Raised, for example, when the set of classes is read off the labels because ``classes`` was
    not given. The fitted model is private only against someone who knew that fact already.
    """


class SeededNoiseWarning(PrivacyLeakWarning):
    """The secret noise comes from a seed, so whoever knows the seed can take it off."""


class BudgetExceededError(RuntimeError):
    """A release would cost more than what is left of the privacy budget; nothing was read."""
