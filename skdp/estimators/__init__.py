"""Estimators: what users import from :mod:`skdp`."""

from .checkpoints import load_checkpoint, save_checkpoint
from .lasso import DPLassoRegressor
from .linear_regression import DPLinearRegression
from .logistic_regression import DPLogisticRegression
from .partial_fit import Stream
from .svm import DPSVMClassifier

__all__ = [
    "DPLassoRegressor",
    "DPLinearRegression",
    "DPLogisticRegression",
    "DPSVMClassifier",
    "Stream",
    "load_checkpoint",
    "save_checkpoint",
]
