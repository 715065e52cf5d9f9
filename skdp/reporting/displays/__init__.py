"""Displays of private models, drawn as scikit-learn draws its own. They need matplotlib."""

from .budget_display import BudgetDisplay
from .calibration_display import CalibrationDisplay
from .coefficient_display import CoefficientDisplay
from .epsilon_curve_display import EpsilonCurveDisplay

__all__ = ["BudgetDisplay", "CalibrationDisplay", "CoefficientDisplay", "EpsilonCurveDisplay"]
