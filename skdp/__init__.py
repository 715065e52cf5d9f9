"""Differentially private linear models for scikit-learn."""

from .estimators import (
    DPLassoRegressor,
    DPLinearRegression,
    DPLogisticRegression,
    DPSVMClassifier,
)
from .exceptions import BudgetExceededError, PrivacyLeakWarning, SeededNoiseWarning
from .planning import Plan, plan
from .privacy import PrivacySpent

__version__ = "0.1.0.dev0"

__all__ = [
    "BudgetExceededError",
    "DPLassoRegressor",
    "DPLinearRegression",
    "DPLogisticRegression",
    "DPSVMClassifier",
    "Plan",
    "PrivacyLeakWarning",
    "PrivacySpent",
    "SeededNoiseWarning",
    "plan",
]
