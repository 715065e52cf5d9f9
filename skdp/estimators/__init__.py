"""Estimators: what users import from :mod:`skdp`."""

from .lasso import DPLassoRegressor
from .linear_regression import DPLinearRegression
from .logistic_regression import DPLogisticRegression
from .svm import DPSVMClassifier

__all__ = ["DPLassoRegressor", "DPLinearRegression", "DPLogisticRegression", "DPSVMClassifier"]
