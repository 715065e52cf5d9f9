"""Differentially private linear models for scikit-learn."""

from importlib import import_module
from typing import Any

from .bandit import DPContextualBandit
from .estimators import (
    DPLassoRegressor,
    DPLinearRegression,
    DPLogisticRegression,
    DPSVMClassifier,
    load_checkpoint,
    save_checkpoint,
)
from .estimators.fit_plan import FitPlan, plan
from .estimators.forecast import Plan
from .exceptions import BudgetExceededError, PrivacyLeakWarning, SeededNoiseWarning
from .privacy import PrivacySpent
from .privatization import PrivatizePlan, privatize
from .report import PrivacyBudget, TotalSpent, privacy_spent, split_budget

__version__ = "0.1.0.dev0"

__all__ = [
    "BudgetExceededError",
    "DPContextualBandit",
    "DPLassoRegressor",
    "DPLinearRegression",
    "DPLogisticRegression",
    "DPSVMClassifier",
    "FitPlan",
    "Plan",
    "PrivacyBudget",
    "PrivacyLeakWarning",
    "PrivacySpent",
    "PrivatizePlan",
    "SeededNoiseWarning",
    "TotalSpent",
    "load_checkpoint",
    "plan",
    "privacy_spent",
    "privatize",
    "save_checkpoint",
    "split_budget",
]

# Of no use to most fits, so they are loaded when they are named.
_ON_DEMAND = ("audit", "testing")


def __getattr__(name: str) -> Any:
    if name in _ON_DEMAND:
        return import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
