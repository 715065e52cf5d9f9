"""Estimators: what users import from :mod:`skdp`."""

from .linear_regression import DPLinearRegression
from .logistic_regression import DPLogisticRegression

__all__ = ["DPLinearRegression", "DPLogisticRegression"]
