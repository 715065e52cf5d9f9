"""The queries an oracle answers, one file a query, with the proof of its sensitivity."""

from .base import GumbelQuery, PerturbedQuery, Query
from .column_counts import ColumnCountsQuery
from .column_moments import ColumnMomentsQuery
from .gradient import GradientNormQuery, GradientQuery
from .gradient_difference import GradientDifferenceQuery, around_both
from .gradient_sizes import GradientAndShareQuery, GradientSizesQuery
from .histogram import HistogramQuery
from .intercept_gradient import InterceptGradientQuery
from .metric_means import (
    AbsoluteError,
    BrierScore,
    GroupMeansQuery,
    LogLoss,
    MeanRocAreaTerm,
    MetricMeansQuery,
    RocAreaTerm,
    RowMetric,
    SquaredError,
    SquaredR2Term,
    Target,
)
from .moments import MomentsQuery, packed
from .normal_equations import NormalEquationsQuery
from .outcome_counts import OutcomeCountsQuery
from .perturbed_minimum import PerturbedMinimumQuery
from .residual_quantile import ResidualQuantileQuery
from .row_means import RowMeansQuery
from .sampled_gradient import SampledGradientQuery
from .score_and_curvature import ScoreAndCurvatureQuery
from .score_moments import ScoreMomentsQuery
from .score_scale import ScoreScaleQuery
from .selection import SelectionQuery
from .site_gradients import SiteGradientsQuery, SiteRequest
from .stream_terms import StreamScoresQuery, StreamTerm, StreamTermQuery
from .total_weight import TotalWeightQuery
from .vertex import VertexQuery

__all__ = [
    "AbsoluteError",
    "BrierScore",
    "ColumnCountsQuery",
    "ColumnMomentsQuery",
    "GradientAndShareQuery",
    "GradientDifferenceQuery",
    "GradientNormQuery",
    "GradientQuery",
    "GradientSizesQuery",
    "GroupMeansQuery",
    "GumbelQuery",
    "HistogramQuery",
    "InterceptGradientQuery",
    "LogLoss",
    "MeanRocAreaTerm",
    "MetricMeansQuery",
    "MomentsQuery",
    "NormalEquationsQuery",
    "OutcomeCountsQuery",
    "PerturbedMinimumQuery",
    "PerturbedQuery",
    "Query",
    "ResidualQuantileQuery",
    "RocAreaTerm",
    "RowMeansQuery",
    "RowMetric",
    "SampledGradientQuery",
    "ScoreAndCurvatureQuery",
    "ScoreMomentsQuery",
    "ScoreScaleQuery",
    "SelectionQuery",
    "SiteGradientsQuery",
    "SiteRequest",
    "SquaredError",
    "SquaredR2Term",
    "StreamScoresQuery",
    "StreamTerm",
    "StreamTermQuery",
    "Target",
    "TotalWeightQuery",
    "VertexQuery",
    "around_both",
    "packed",
]
