"""Estimators: what users import from :mod:`skdp`."""

from .checkpoints import load_checkpoint, save_checkpoint
from .contextual_bandit import DPContextualBandit
from .lasso import DPLassoRegressor
from .linear_regression import DPLinearRegression
from .logistic_regression import DPLogisticRegression
from .svm import DPSVMClassifier

__all__ = [
    "DPContextualBandit",
    "DPLassoRegressor",
    "DPLinearRegression",
    "DPLogisticRegression",
    "DPSVMClassifier",
    "load_checkpoint",
    "save_checkpoint",
]
