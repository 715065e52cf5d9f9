"""Private scores of fitted models on test rows, with intervals and plots."""

from .displays import CalibrationDisplay, ConfusionMatrixDisplay, GroupDisplay, RocCurveDisplay
from .evaluate import evaluate, is_pointwise
from .scores import CalibrationCurve, ConfusionMatrix, Evaluation, RocCurve, Score

__all__ = [
    "CalibrationCurve",
    "CalibrationDisplay",
    "ConfusionMatrix",
    "ConfusionMatrixDisplay",
    "Evaluation",
    "GroupDisplay",
    "RocCurve",
    "RocCurveDisplay",
    "Score",
    "evaluate",
    "is_pointwise",
]
