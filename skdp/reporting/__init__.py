"""Totals of what composed estimators have spent, and the budget that they may not exceed."""

from .composition import RULES, ParallelComposition, compose
from .composition_verdicts import check_composed, verdict_of
from .divergences import CHOICE_AS_GAUSSIAN, gaussian_price, grouped, renyi
from .number_of_trials import NumberOfTrials
from .open_budgets import TOKENS, BudgetedEstimator
from .privacy_budget import PrivacyBudget
from .privacy_filters import (
    FILTERS,
    Amount,
    GaussianFilter,
    RenyiFilter,
    SumsFilter,
    ThresholdFilter,
)
from .privacy_ledger import QUERIES, PrivacyLedger, Releases, releases, words_of
from .privacy_report import SCHEMA, PrivacyReport, report
from .receipts import Receipt, SpendBound
from .registry import TABLE, Columns, Entry, Rule, Verdict
from .split_budget import split_budget
from .total import TotalSpent, privacy_spent
from .versions import show_versions

__all__ = [
    "CHOICE_AS_GAUSSIAN",
    "FILTERS",
    "QUERIES",
    "RULES",
    "SCHEMA",
    "TABLE",
    "TOKENS",
    "Amount",
    "BudgetedEstimator",
    "Columns",
    "Entry",
    "GaussianFilter",
    "NumberOfTrials",
    "ParallelComposition",
    "PrivacyBudget",
    "PrivacyLedger",
    "PrivacyReport",
    "Receipt",
    "Releases",
    "RenyiFilter",
    "Rule",
    "SpendBound",
    "SumsFilter",
    "ThresholdFilter",
    "TotalSpent",
    "Verdict",
    "check_composed",
    "compose",
    "gaussian_price",
    "grouped",
    "privacy_spent",
    "releases",
    "renyi",
    "report",
    "show_versions",
    "split_budget",
    "verdict_of",
    "words_of",
]
