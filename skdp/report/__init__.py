"""Totals of what composed estimators have spent, and the budget that they may not exceed."""

from .budget import PrivacyBudget
from .total import TotalSpent, privacy_spent
from .verdicts import TABLE, Entry, Verdict, check_composed, verdict_of

__all__ = [
    "TABLE",
    "Entry",
    "PrivacyBudget",
    "TotalSpent",
    "Verdict",
    "check_composed",
    "privacy_spent",
    "verdict_of",
]
