"""Private scores of fitted models on test rows, with intervals and plots."""

from .displays import CalibrationDisplay, ConfusionMatrixDisplay, GroupDisplay, RocCurveDisplay
from .estimates import (
    Estimate,
    Mean,
    OutcomeTable,
    difference,
    group_mean_of,
    mean_of,
    of_counts,
    ratio_of,
)
from .evaluate import evaluate
from .pointwise_models import is_pointwise
from .scores import CalibrationCurve, ConfusionMatrix, Evaluation, RocCurve, Score

__all__ = [
    "CalibrationCurve",
    "CalibrationDisplay",
    "ConfusionMatrix",
    "ConfusionMatrixDisplay",
    "Estimate",
    "Evaluation",
    "GroupDisplay",
    "Mean",
    "OutcomeTable",
    "RocCurve",
    "RocCurveDisplay",
    "Score",
    "difference",
    "evaluate",
    "group_mean_of",
    "is_pointwise",
    "mean_of",
    "of_counts",
    "ratio_of",
]
