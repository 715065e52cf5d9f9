"""Private scores of fitted models on test rows, with intervals and plots."""

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
    "ConfusionMatrix",
    "Estimate",
    "Evaluation",
    "Mean",
    "OutcomeTable",
    "RocCurve",
    "Score",
    "difference",
    "evaluate",
    "group_mean_of",
    "is_pointwise",
    "mean_of",
    "of_counts",
    "ratio_of",
]
