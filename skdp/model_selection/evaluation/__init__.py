"""Private scores of fitted models on test rows, with intervals and plots."""

from .evaluate import evaluate
from .evaluation_result import CalibrationCurve, ConfusionMatrix, Evaluation, RocCurve, Score
from .pointwise_models import is_pointwise
from .score_estimates import (
    Estimate,
    Mean,
    OutcomeTable,
    difference,
    group_mean_of,
    mean_of,
    of_counts,
    ratio_of,
)

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
