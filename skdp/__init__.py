"""Differentially private linear models for scikit-learn."""

from .estimators import (
    DPContextualBandit,
    DPLassoRegressor,
    DPLinearRegression,
    DPLogisticRegression,
    DPSVMClassifier,
    load_checkpoint,
    save_checkpoint,
)
from .exceptions import BudgetExceededError, PrivacyLeakWarning, SeededNoiseWarning
from .planning import Plan, plan
from .privacy import PrivacySpent

__version__ = "0.1.0.dev0"

__all__ = [
    "BudgetExceededError",
    "DPContextualBandit",
    "DPLassoRegressor",
    "DPLinearRegression",
    "DPLogisticRegression",
    "DPSVMClassifier",
    "Plan",
    "PrivacyLeakWarning",
    "PrivacySpent",
    "SeededNoiseWarning",
    "load_checkpoint",
    "plan",
    "save_checkpoint",
]
