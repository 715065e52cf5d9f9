"""Totals of what composed estimators have spent, and the budget that they may not exceed."""

from .budget import PrivacyBudget
from .composition import ParallelComposition, compose
from .filters import FILTERS, Amount, GaussianFilter, RenyiFilter, SumsFilter
from .open_budgets import TOKENS, BudgetedEstimator
from .receipts import Receipt, SpendBound
from .shared_budget import split_budget
from .total import TotalSpent, privacy_spent
from .verdicts import TABLE, Entry, Verdict, check_composed, verdict_of

__all__ = [
    "FILTERS",
    "TABLE",
    "TOKENS",
    "Amount",
    "BudgetedEstimator",
    "Entry",
    "GaussianFilter",
    "ParallelComposition",
    "PrivacyBudget",
    "Receipt",
    "RenyiFilter",
    "SpendBound",
    "SumsFilter",
    "TotalSpent",
    "Verdict",
    "check_composed",
    "compose",
    "privacy_spent",
    "split_budget",
    "verdict_of",
]
