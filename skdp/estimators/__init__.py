"""Estimators: what users import from :mod:`skdp`."""

from .announcements import Announcements
from .base import PrivateLinearModel
from .checkpoints import load_checkpoint, save_checkpoint
from .fit_history import EarlierModel
from .forecast import REGIMES
from .hazard_regression import DPHazardRegressor
from .lasso import DPLassoRegressor
from .linear_regression import DPLinearRegression
from .logistic_regression import DPLogisticRegression
from .poisson_regression import DPPoissonRegressor
from .quantile_regression import DPQuantileRegressor
from .range_finding import (
    private_data_norm,
    private_target_bounds,
    unseen_targets,
)
from .solver_choice import choose, choose_for_stream, choose_preconditioner
from .stages import (
    ClassCounts,
    Coordinates,
    DataNorm,
    Pilot,
    ScoreScale,
    Solve,
    Stage,
    TargetMean,
    TotalWeight,
    drawn,
)
from .svm import DPSVMClassifier

__all__ = [
    "REGIMES",
    "Announcements",
    "ClassCounts",
    "Coordinates",
    "DPHazardRegressor",
    "DPLassoRegressor",
    "DPLinearRegression",
    "DPLogisticRegression",
    "DPPoissonRegressor",
    "DPQuantileRegressor",
    "DPSVMClassifier",
    "DataNorm",
    "EarlierModel",
    "Pilot",
    "PrivateLinearModel",
    "ScoreScale",
    "Solve",
    "Stage",
    "TargetMean",
    "TotalWeight",
    "choose",
    "choose_for_stream",
    "choose_preconditioner",
    "drawn",
    "load_checkpoint",
    "private_data_norm",
    "private_target_bounds",
    "save_checkpoint",
    "unseen_targets",
]
