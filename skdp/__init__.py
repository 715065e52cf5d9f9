"""Differentially private linear models for scikit-learn."""

from .estimators import DPLinearRegression, DPLogisticRegression
from .exceptions import BudgetExceededError, PrivacyLeakWarning, SeededNoiseWarning
from .privacy import PrivacySpent

__version__ = "0.1.0.dev0"

__all__ = [
    "BudgetExceededError",
    "DPLinearRegression",
    "DPLogisticRegression",
    "PrivacyLeakWarning",
    "PrivacySpent",
    "SeededNoiseWarning",
]
