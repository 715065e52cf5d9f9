"""The queries an oracle answers, each with the proof of its sensitivity."""

from .base import GumbelQuery, PerturbedQuery, Query
from .categories import CategoryCountsQuery
from .columns import (
    ColumnCellsQuery,
    ColumnMomentsQuery,
    ColumnTreeQuery,
    MagnitudeVotesQuery,
)
from .counts import HistogramQuery, OutcomeCountsQuery, TargetTableQuery, TotalWeightQuery
from .gradient import GradientNormQuery, GradientQuery, InterceptGradientQuery
from .gradient_difference import GradientDifferenceQuery, around_both
from .gradient_sizes import GradientAndShareQuery, GradientSizesQuery
from .metric_means import (
    GroupMeansQuery,
    MetricMeansQuery,
    RowMetric,
    absolute_error,
    brier_score,
    clipped_target,
    constant_deviance,
    deviance_gain,
    events,
    expected_events,
    exposure,
    interval_coverage,
    log_loss,
    mean_roc_area_term,
    pinball_loss,
    poisson_deviance,
    roc_area_term,
    squared_error,
    squared_r2_term,
)
from .moments import MomentsQuery, NormalEquationsQuery, RowMeansQuery, packed
from .perturbed_minimum import PerturbedMinimumQuery
from .sampled_gradient import SampledGradientQuery
from .score_and_curvature import ScoreAndCurvatureQuery, ScoreMomentsQuery
from .score_scale import ScoreScaleQuery
from .selection import ResidualQuantileQuery, SelectionQuery, VertexQuery
from .site_gradients import SiteGradientsQuery, SiteRequest
from .stream_terms import StreamScoresQuery, StreamTerm, StreamTermQuery

__all__ = [
    "CategoryCountsQuery",
    "ColumnCellsQuery",
    "ColumnMomentsQuery",
    "ColumnTreeQuery",
    "GradientAndShareQuery",
    "GradientDifferenceQuery",
    "GradientNormQuery",
    "GradientQuery",
    "GradientSizesQuery",
    "GroupMeansQuery",
    "GumbelQuery",
    "HistogramQuery",
    "InterceptGradientQuery",
    "MagnitudeVotesQuery",
    "MetricMeansQuery",
    "MomentsQuery",
    "NormalEquationsQuery",
    "OutcomeCountsQuery",
    "PerturbedMinimumQuery",
    "PerturbedQuery",
    "Query",
    "ResidualQuantileQuery",
    "RowMeansQuery",
    "RowMetric",
    "SampledGradientQuery",
    "ScoreAndCurvatureQuery",
    "ScoreMomentsQuery",
    "ScoreScaleQuery",
    "SelectionQuery",
    "SiteGradientsQuery",
    "SiteRequest",
    "StreamScoresQuery",
    "StreamTerm",
    "StreamTermQuery",
    "TargetTableQuery",
    "TotalWeightQuery",
    "VertexQuery",
    "absolute_error",
    "around_both",
    "brier_score",
    "clipped_target",
    "constant_deviance",
    "deviance_gain",
    "events",
    "expected_events",
    "exposure",
    "interval_coverage",
    "log_loss",
    "mean_roc_area_term",
    "packed",
    "pinball_loss",
    "poisson_deviance",
    "roc_area_term",
    "squared_error",
    "squared_r2_term",
]
